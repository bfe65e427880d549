//! Runs the service on a listener: bounds, health, reflection, and an end that loses nothing.
//!
//! At the end: health says NOT_SERVING first, then no new connections, then what is in flight has a
//! while to finish.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use proto::v1::memory_service_server::MemoryServiceServer;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tracing::{info, warn};

use crate::identity::Identity;
use crate::rpc::Service;
use crate::settings::Limits;
use crate::shared::Memory;

/// Between health saying NOT_SERVING and the end of new connections.
const NOTICE: Duration = Duration::from_millis(200);
/// How often an idle connection is asked whether it lives, and how long it may take to say so.
const KEEPALIVE: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(10));
/// How old a connection may get, and how long its last calls may take.
const CONNECTION_AGE: (Duration, Duration) = (Duration::from_secs(30 * 60), Duration::from_secs(30));

/// Serves until `shutdown`, then ends gracefully.
///
/// # Errors
/// When the network fails.
pub async fn run(
    listener: TcpListener,
    memory: Arc<Memory>,
    identity: Arc<Identity>,
    limits: Limits,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_service_status(proto::SERVICE_NAME, tonic_health::ServingStatus::Serving).await;
    let service = MemoryServiceServer::new(Service::new(Arc::clone(&memory), identity, limits.calls_max))
        .max_decoding_message_size(limits.request_bytes_max)
        .max_encoding_message_size(limits.answer_bytes_max);
    let (stop, stopping) = watch::channel(false);
    let refresher = tokio::spawn(refresh(memory, limits.refresh_interval, stopping.clone()));
    let goodbye = async move {
        shutdown.await;
        info!("stopping");
        for name in ["", proto::SERVICE_NAME] {
            health.set_service_status(name, tonic_health::ServingStatus::NotServing).await;
        }
        tokio::time::sleep(NOTICE).await;
        let _ = stop.send(true);
    };
    let goodbye = tokio::spawn(goodbye);
    let served = bounded(&limits)
        .add_service(health_service)
        .add_service(described().build_v1().context("describing the service")?)
        .add_service(described().build_v1alpha().context("describing the service")?)
        .add_service(service)
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), stopped(stopping.clone()));
    tokio::select! {
        served = served => served.context("serving")?,
        () = overdue(stopping, limits.drain_timeout) => warn!("calls in flight took too long and were cut"),
    }
    goodbye.abort();
    refresher.abort();
    Ok(())
}

/// A tonic server with every bound that it has no good default for.
fn bounded(limits: &Limits) -> Server {
    Server::builder()
        .concurrency_limit_per_connection(limits.calls_per_connection_max)
        .load_shed(true)
        .timeout(limits.call_timeout)
        .max_concurrent_streams(limits.streams_max)
        .http2_max_header_list_size(limits.header_bytes_max)
        .http2_max_pending_accept_reset_streams(Some(limits.reset_streams_max))
        .http2_keepalive_interval(Some(KEEPALIVE.0))
        .http2_keepalive_timeout(Some(KEEPALIVE.1))
        .max_connection_age(CONNECTION_AGE.0)
        .max_connection_age_grace(CONNECTION_AGE.1)
        .tcp_nodelay(true)
}

/// What reflection tells of: our contract and the health service.
fn described() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Looks for versions that other processes committed.
async fn refresh(memory: Arc<Memory>, interval: Duration, mut stopping: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            _ = stopping.wait_for(|stop| *stop) => return,
        }
        let memory = Arc::clone(&memory);
        match tokio::task::spawn_blocking(move || memory.refresh().map(drop)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                warn!(error = %crate::code::chain(&error), "cannot look for a newer version")
            }
            Err(_) => return,
        }
    }
}

async fn stopped(mut stopping: watch::Receiver<bool>) {
    // A sender that is gone means the same as one that says stop.
    let _ = stopping.wait_for(|stop| *stop).await;
}

async fn overdue(stopping: watch::Receiver<bool>, drain_timeout: Duration) {
    stopped(stopping).await;
    tokio::time::sleep(drain_timeout).await;
}

/// Resolves when the process is asked to stop: SIGINT, and SIGTERM where there is one.
///
/// # Errors
/// When the machine lets nobody listen for signals.
pub fn asked_to_stop() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt()).context("listening for SIGINT")?;
        let mut terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    {
        Ok(async {
            let _ = tokio::signal::ctrl_c().await;
        })
    }
}
