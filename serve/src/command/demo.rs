//! `strata demo`: a small archive, imported, served and asked, from nothing to answers.
//!
//! The archive is built into the program, so the demo runs anywhere. It fails where a question's
//! expected source does not come first.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use index::Store;
use index::model::Scope;
use ingest::{ImportSettings, Tools};
use proto::v1;
use serde::Deserialize;
use serde_json::json;

use super::place::{DeviceArgs, ModelArgs, OutArgs};
use super::{DONE, FAILED};
use crate::desk::{Client, connect};
use crate::identity::{Caller, Identity};
use crate::print::progress::Bar;
use crate::print::{Out, hit};
use crate::server;
use crate::settings::Limits;
use crate::shared::{Memory, Model, now};

/// How many answers are shown for a question.
const SHOWN: u32 = 2;

macro_rules! sample {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../../tests/data/sample/", $path)))),*]
    };
}

/// The archive: path and content of each file.
const ARCHIVE: &[(&str, &[u8])] = sample![
    "notes/greenhouse-plan.md",
    "notes/lofoten-trip.md",
    "notes/minutes-2024-05-14.md",
    "notes/red-lentil-soup.txt",
    "notes/tomato-ja.md",
    "notes/umzug-de.txt",
    "chats/friends.jsonl",
    "chats/sourdough.txt",
];

/// What is asked of it.
const QUESTIONS: &str = include_str!("../../../tests/data/sample/questions.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Questions {
    ask: Vec<Ask>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    question: String,
    /// The end of the key of the source that must come first.
    source: String,
    #[serde(default)]
    unit: Option<String>,
}

/// See it work: import a small archive, serve it, ask it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to put archive and store [default: a new folder for temporary files]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    out: OutArgs,
}

/// Imports, serves, asks, prints.
///
/// # Errors
/// When the model cannot be fetched, or the machine refuses.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let folder = args
        .folder
        .unwrap_or_else(|| std::env::temp_dir().join(format!("strata-demo-{}", uuid::Uuid::new_v4().simple())));
    let archive = folder.join("archive");
    write_archive(&archive)?;
    let model = Model::new(args.model.embedder).on(args.device.device());
    let store_folder = folder.join("store");
    let store = Store::open_or_create(&store_folder)?;
    import(&store, &model, &archive)?;
    let questions: Questions = toml::from_str(QUESTIONS).context("reading the demo's questions")?;
    let memory = Memory::new(store, model)?;
    let mut out = Out::new(args.out.json);
    let runtime = tokio::runtime::Runtime::new().context("starting the network's runtime")?;
    let n_missed = runtime.block_on(serve_and_ask(memory, &questions, &mut out))?;
    go_on(&store_folder);
    if n_missed > 0 {
        crate::note!("{n_missed} of {} questions did not find their source first", questions.ask.len());
        return Ok(FAILED);
    }
    Ok(DONE)
}

fn write_archive(folder: &Path) -> anyhow::Result<()> {
    for (path, content) in ARCHIVE {
        let file = folder.join(path);
        let parent = file.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
        fs::write(&file, content).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

fn import(store: &Store, model: &Model, archive: &Path) -> anyhow::Result<()> {
    let device = model.device()?;
    let embedder = model.open_or_pull(store.snapshot()?.embedder())?;
    let tools = Tools { embedder: embedder.as_ref(), backend: device.backend.as_ref(), now: &now };
    let mut settings = ImportSettings::standard(Scope::local());
    settings.collection = Some("sample".to_owned());
    settings.actor = Caller::local_human().actor();
    let bar = Bar::new();
    let report = ingest::import(store, &tools, &settings, &[archive.to_owned()], &bar, &AtomicBool::new(false));
    bar.finish();
    let totals = report?.totals;
    crate::note!(
        "imported {} sources on {}: {} sentences, {} chunks",
        totals.sources,
        device.name,
        totals.sentences,
        totals.chunks
    );
    Ok(())
}

/// Serves the memory on a free port and asks over the network; how many questions missed.
async fn serve_and_ask(memory: Memory, questions: &Questions, out: &mut Out) -> anyhow::Result<usize> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.context("listening on a free port")?;
    let address = listener.local_addr().context("asking for the bound address")?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let shutdown = async move {
        let _ = stopped.await;
    };
    let identity = Arc::new(Identity::LocalHuman);
    let server = tokio::spawn(server::run(listener, Arc::new(memory), identity, Limits::STANDARD, shutdown));
    crate::note!("asking a server on {address}");
    let mut client = connect(&format!("http://{address}"), None).await?;
    let mut n_missed = 0;
    for ask in &questions.ask {
        n_missed += usize::from(!ask_one(&mut client, ask, out).await?);
    }
    drop(client);
    let _ = stop.send(());
    server.await.context("waiting for the server")??;
    Ok(n_missed)
}

/// Asks one question and prints its answers; whether the expected source came first.
async fn ask_one(client: &mut Client, ask: &Ask, out: &mut Out) -> anyhow::Result<bool> {
    let unit = match ask.unit.as_deref() {
        Some("turn") => v1::Unit::Turn,
        Some("session") => v1::Unit::Session,
        Some("source") => v1::Unit::Source,
        _ => v1::Unit::Chunk,
    };
    let request =
        v1::SearchRequest { question: ask.question.clone(), k: SHOWN, unit: unit.into(), ..Default::default() };
    let answer = client.search(request).await.context("asking")?.into_inner();
    let first = answer.hits.first().and_then(|hit| hit.source.as_ref());
    let found = first.is_some_and(|source| source.key.ends_with(&ask.source));
    if out.is_json() {
        out.value(&json!({
            "question": ask.question,
            "expected": ask.source,
            "first": first.map(|source| &source.key),
            "score": answer.hits.first().map(|hit| hit::number(hit.score)),
            "found": found,
        }))?;
        return Ok(found);
    }
    let mark = if found { "✓" } else { "✗" };
    out.line("")?;
    out.line(format!("{mark} {}", out.bold(&ask.question)))?;
    for (idx, found) in answer.hits.iter().enumerate() {
        hit::show(out, &(idx + 1).to_string(), found)?;
    }
    if !found {
        out.line(format!("    expected {} first", ask.source))?;
    }
    Ok(found)
}

fn go_on(store: &Path) {
    let store = store.display();
    crate::note!();
    crate::note!("go on with:");
    crate::note!("  strata search --store {store} \"what does Mira eat?\"");
    crate::note!("  strata context --store {store} --max-tokens 800 \"the Lofoten trip\"");
    crate::note!("  strata sources --store {store}");
    crate::note!("  strata import YOUR_NOTES_OR_CHATS        into your own store");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_expects_a_source_of_the_archive() {
        let questions: Questions = toml::from_str(QUESTIONS).unwrap();
        assert!(questions.ask.len() >= 6);
        for ask in &questions.ask {
            let named = ARCHIVE.iter().any(|(path, _)| path.ends_with(&ask.source));
            let needle = ask.source.as_bytes();
            let said = ARCHIVE.iter().any(|(_, content)| content.windows(needle.len()).any(|part| part == needle));
            assert!(named || said, "{} is nowhere in the archive", ask.source);
        }
    }
}
