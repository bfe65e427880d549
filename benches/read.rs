//! How fast exports are read: bytes a second and peak memory of the readers alone, on one thread.
//!
//! Writes an export of `--mib` or `--gib` into a temporary folder, reads it, and reads it again with `serde_json`'s own
//! streaming. `--shape chatgpt` is a ChatGPT export, `--shape array` one line that is an array of messages.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use read::{DraftBody, Event, Input, Met};
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::{Value, json};
use strata_benches::bench_store::Result;
use strata_benches::{argument, machine, require_release, rounded};

/// Messages of one conversation.
const MESSAGES: usize = 40;
/// What is said, in turns: prose, code with escapes, a script that needs more bytes a character.
const WORDS: [&str; 3] = [
    "The harbour was quiet that morning and the ferry lay at its pier with nobody on deck. We talked about the lamp \
     that had gone out, about who had seen it last, and whether the keeper had written anything down. ",
    "Try this:\n\n```python\nfor name in names:\n\tprint(f\"{name}\\n\")\n```\n\nIt prints one name a line. ",
    "Die Fähre fährt um acht, sagte sie – und die Möwen schrien. 港は静かだった。 ",
];

fn main() -> Result<()> {
    require_release()?;
    let number = |name: &str| argument(name).map(|text| text.parse::<u64>()).transpose();
    let n_bytes = number("--gib")?.map(|gib| gib << 30).or(number("--mib")?.map(|mib| mib << 20)).unwrap_or(256 << 20);
    let shapes = argument("--shape").map_or(vec!["chatgpt".to_owned(), "array".to_owned()], |shape| vec![shape]);
    for shape in shapes {
        println!("{}", measured(&shape, n_bytes)?);
    }
    Ok(())
}

fn measured(shape: &str, n_bytes: u64) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join(if shape == "array" { "messages.json" } else { "conversations.json" });
    write(&path, shape, n_bytes)?;
    let n_bytes = path.metadata()?.len();
    // Once through, so that both read from memory.
    std::io::copy(&mut File::open(&path)?, &mut std::io::sink())?;
    let (started, cpu_started) = (Instant::now(), machine::thread_seconds());
    let (n_sources, n_turns, text_bytes, n_troubles) = read_all(&path)?;
    let (seconds, cpu_seconds) = (started.elapsed().as_secs_f64(), machine::thread_seconds() - cpu_started);
    let peak_bytes = machine::peak_bytes();
    let (started, cpu_started) = (Instant::now(), machine::thread_seconds());
    let n_records = peer(&path)?;
    let (peer_seconds, peer_cpu_seconds) = (started.elapsed().as_secs_f64(), machine::thread_seconds() - cpu_started);
    let rate = |seconds: f64| rounded(n_bytes as f64 / 1e6 / seconds, 1);
    Ok(json!({
        "bench": "read",
        "shape": shape,
        "bytes": n_bytes,
        "sources": n_sources,
        "turns": n_turns,
        "text_bytes": text_bytes,
        "troubles": n_troubles,
        "seconds": rounded(seconds, 2),
        "cpu_seconds": rounded(cpu_seconds, 2),
        "mb_per_second": rate(seconds),
        "mb_per_cpu_second": rate(cpu_seconds),
        "peak_bytes": peak_bytes,
        "serde_json": {
            "records": n_records,
            "seconds": rounded(peer_seconds, 2),
            "cpu_seconds": rounded(peer_cpu_seconds, 2),
            "mb_per_second": rate(peer_seconds),
            "mb_per_cpu_second": rate(peer_cpu_seconds),
            "peak_bytes": machine::peak_bytes(),
        },
        "ratio": rounded(peer_cpu_seconds / cpu_seconds, 2),
        "machine": machine::describe(),
    }))
}

/// Reads all of it through the door: sources, turns, bytes of text, lines of trouble.
fn read_all(path: &Path) -> Result<(u64, u64, u64, u64)> {
    let listing = read::list(&[path.to_owned()], None, Path::new("/no/store"));
    let (mut n_sources, mut n_turns, mut n_bytes, mut n_troubles) = (0, 0, 0, 0);
    let read = read::meet(&listing.files, None, &mut |met| match met {
        Met::Item(item) => {
            let input = Input::new(&item.parts, &item.relative, 64 << 20);
            item.reader.read(&input, &mut |event| {
                match event {
                    Event::Draft(draft) => {
                        n_sources += 1;
                        if let DraftBody::Turns(turns) = &draft.body {
                            n_turns += turns.len() as u64;
                            n_bytes += turns.iter().map(|turn| turn.text.len() as u64).sum::<u64>();
                        }
                    }
                    Event::Trouble(_) => n_troubles += 1,
                    Event::Aside => {}
                }
                Ok(())
            })
        }
        Met::Trouble { .. } => {
            n_troubles += 1;
            Ok(())
        }
        Met::Aside | Met::Done(..) => Ok(()),
    });
    read.map_err(|_| "stopped")?;
    Ok((n_sources, n_turns, n_bytes, n_troubles))
}

/// Reads the array element by element with `serde_json` from a reader; how many there are.
fn peer(path: &Path) -> Result<u64> {
    struct Each;
    impl<'de> Visitor<'de> for Each {
        type Value = u64;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> std::result::Result<u64, A::Error> {
            let mut n = 0;
            while array.next_element::<Value>()?.is_some() {
                n += 1;
            }
            Ok(n)
        }
    }
    let reader = BufReader::with_capacity(256 << 10, File::open(path)?);
    Ok(serde_json::Deserializer::from_reader(reader).deserialize_seq(Each)?)
}

/// Writes an export of at least `n_bytes`, record by record.
fn write(path: &Path, shape: &str, n_bytes: u64) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut n_written = 0;
    let mut n_records = 0;
    while n_written < n_bytes {
        let record = match shape {
            "chatgpt" => conversation(n_records),
            // A message names its chat; a chat has a thousand, so that no source is over its bound.
            "array" => message(n_records),
            other => return Err(format!("no shape is called {other}: chatgpt or array").into()),
        };
        let record = serde_json::to_string(&record)?;
        write!(out, "{}{record}", if n_records == 0 { "[" } else { "," })?;
        n_written += record.len() as u64 + 1;
        n_records += 1;
    }
    out.write_all(b"]")?;
    Ok(out.flush()?)
}

fn words(n: u64) -> String {
    (0..1 + n % 9).map(|at| WORDS[((n + at) % 3) as usize]).collect()
}

fn message(n: u64) -> Value {
    json!({
        "id": format!("m{n}"),
        "conversation_id": format!("c{}", n / 1000),
        "role": if n.is_multiple_of(2) { "user" } else { "assistant" },
        "timestamp": 1_700_000_000 + n,
        "content": words(n),
    })
}

/// A conversation as ChatGPT exports it, with what its messages say of themselves.
fn conversation(n: u64) -> Value {
    let id = |at: usize| format!("aaa{n:08x}-{at:04x}-4000-8000-00000000{at:04x}");
    let mut mapping = serde_json::Map::new();
    for at in 0..MESSAGES {
        let is_person = at % 2 == 0;
        let children: Vec<String> = (at + 1 < MESSAGES).then(|| id(at + 1)).into_iter().collect();
        let node = json!({
            "id": id(at),
            "message": {
                "id": id(at),
                "author": { "role": if is_person { "user" } else { "assistant" }, "name": null, "metadata": {} },
                "create_time": 1_700_000_000.25 + (n as usize * MESSAGES + at) as f64,
                "update_time": null,
                "content": { "content_type": "text", "parts": [words(n + at as u64)] },
                "status": "finished_successfully",
                "end_turn": true,
                "weight": 1.0,
                "metadata": {
                    "request_id": format!("{n:016x}-{at:04x}"),
                    "message_type": null,
                    "model_slug": "gpt-4o",
                    "default_model_slug": "auto",
                    "parent_id": id(at.saturating_sub(1)),
                    "timestamp_": "absolute",
                    "finish_details": { "type": "stop", "stop_tokens": [200_002] },
                    "citations": [],
                    "content_references": [],
                },
                "recipient": "all",
                "channel": null,
            },
            "parent": (at > 0).then(|| id(at - 1)),
            "children": children,
        });
        mapping.insert(id(at), node);
    }
    json!({
        "title": format!("Conversation {n}"),
        "create_time": 1_700_000_000.5,
        "update_time": 1_700_000_900.5,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": id(MESSAGES - 1),
        "conversation_id": format!("aaa{n:08x}-0000-4000-8000-000000000000"),
        "default_model_slug": "gpt-4o",
        "is_archived": false,
        "safe_urls": [],
    })
}
