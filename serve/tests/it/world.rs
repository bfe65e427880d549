//! A private server over an empty store, without a real model.

use std::path::PathBuf;
use std::sync::Arc;

use proto::v1;
use serve::desk::{Client, connect};
use serve::identity::{ActorKind, Identity, TokenFile, Verb, new_token};
use serve::settings::Limits;
use serve::shared::{Memory, Model};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The server, its folder, and the way to end it.
pub struct World {
    /// Where the store and other files are.
    pub folder: tempfile::TempDir,
    /// `http://HOST:PORT`.
    pub url: String,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<anyhow::Result<()>>,
}

impl World {
    /// A server that takes everyone for the local human.
    pub async fn open() -> Self {
        Self::start(tempfile::tempdir().unwrap(), Identity::LocalHuman).await
    }

    /// A server with a token for each principal: `(principal, scopes, verbs)`. The tokens in order.
    pub async fn with_tokens(holders: &[(&str, &[&str], &[Verb])]) -> (Self, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let mut tokens = Vec::new();
        let mut file = TokenFile::default();
        for (principal, scopes, verbs) in holders {
            let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
            let (token, entry) = new_token(principal, ActorKind::Agent, scopes, verbs.to_vec());
            tokens.push(token);
            file.token.push(entry);
        }
        let path = folder.path().join("tokens.toml");
        std::fs::write(&path, toml::to_string(&file).unwrap()).unwrap();
        let identity = Identity::from_file(&path).unwrap();
        (Self::start(folder, identity).await, tokens)
    }

    async fn start(folder: tempfile::TempDir, identity: Identity) -> Self {
        let store = index::Store::open_or_create(&folder.path().join("store")).unwrap();
        let memory = Memory::new(store, Model::new(Some("hashed".to_owned()))).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move {
            let _ = stopped.await;
        };
        let server = tokio::spawn(serve::server::run(
            listener,
            Arc::new(memory),
            Arc::new(identity),
            Limits::STANDARD,
            shutdown,
        ));
        Self { folder, url, stop: Some(stop), server }
    }

    /// The store's folder.
    pub fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// A client that shows no token.
    pub async fn client(&self) -> Client {
        connect(&self.url, None).await.unwrap()
    }

    /// A client that shows `token`.
    pub async fn client_of(&self, token: &str) -> Client {
        connect(&self.url, Some(token)).await.unwrap()
    }

    /// Ends the server as SIGTERM would and waits for it.
    pub async fn stop(mut self) -> tempfile::TempDir {
        let _ = self.stop.take().unwrap().send(());
        self.server.await.unwrap().unwrap();
        self.folder
    }
}

/// A document to add.
pub fn document(key: &str, text: &str) -> v1::AddSourceRequest {
    v1::AddSourceRequest { key: key.to_owned(), title: key.to_owned(), text: text.to_owned(), ..Default::default() }
}

/// A conversation to add: `(id, author, text)` each turn, a minute apart.
pub fn conversation(key: &str, turns: &[(&str, &str, &str)]) -> v1::AddSourceRequest {
    v1::AddSourceRequest { key: key.to_owned(), title: key.to_owned(), turns: new_turns(turns), ..Default::default() }
}

/// Turns to add, a minute apart.
pub fn new_turns(turns: &[(&str, &str, &str)]) -> Vec<v1::NewTurn> {
    let at =
        |idx: usize| prost_types::Timestamp { seconds: 1_700_000_000 + 60 * i64::try_from(idx).unwrap(), nanos: 0 };
    let turn = |(idx, (id, author, text)): (usize, &(&str, &str, &str))| v1::NewTurn {
        id: (*id).to_owned(),
        author: (*author).to_owned(),
        role: v1::Role::User.into(),
        said_at: Some(at(idx)),
        text: (*text).to_owned(),
        ..Default::default()
    };
    turns.iter().enumerate().map(turn).collect()
}

/// A question with everything else left out.
pub fn question(text: &str) -> v1::SearchRequest {
    v1::SearchRequest { question: text.to_owned(), k: 5, ..Default::default() }
}
