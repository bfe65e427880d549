//! Files to drafts: what an archive says of its sources, before anything is derived from it.
//!
//! | reader | takes | a source is | key |
//! |---|---|---|---|
//! | `markdown` | `.md`, `.markdown` | a file | label/path |
//! | `chat` | our chat JSONL (docs/chat-jsonl.md) | a conversation | `conversation` |
//! | `locomo` | LoCoMo's JSON array of samples | a sample | `sample_id` |
//! | `transcript` | text with `User:`-like prefixes | a file | label/path |
//! | `text` | `.txt`, `.rst`, `.log`, …, anything when forced | a file | label/path |
//!
//! To add one: a file here, a line in [`READERS`], an example with its `.expected` twin in `tests/data`.

mod chat;
mod chat_line;
mod locomo;
mod markdown;
mod text;
mod transcript;

pub(crate) use markdown::options as markdown_options;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use index::model::{IdHasher, Role, SourceKind, TimeOrigin, Timestamp};

use crate::decode::{self, Decoded, Trouble};
use crate::error::Result;
use crate::files::unreadable;

/// One message as an archive gives it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DraftTurn {
    /// The archive's message id, or one derived from what the message says.
    pub id: String,
    /// The author as the archive names them; empty where it does not.
    pub author: String,
    /// Who speaks.
    pub role: Role,
    /// When it was said.
    pub said_at: Option<Timestamp>,
    /// Where that time comes from.
    pub origin: TimeOrigin,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// The session, where the archive has sessions.
    pub session: Option<u32>,
    /// The body.
    pub text: String,
    /// What else the archive says of it.
    pub metadata: BTreeMap<String, String>,
}

/// The body of a draft.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DraftBody {
    /// A document's retained text.
    Text(String),
    /// A conversation's messages in the archive's order.
    Turns(Vec<DraftTurn>),
}

/// How a text is marked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines and paragraphs.
    Plain,
    /// CommonMark with tables.
    Markdown,
}

/// One source as an archive gives it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    /// The archive's own id; `None` takes the file's key.
    pub key: Option<String>,
    /// For people.
    pub title: String,
    /// Document or conversation.
    pub kind: SourceKind,
    /// How its text is marked up.
    pub form: Form,
    /// When the archive was exported, where it says so.
    pub exported_at: Option<Timestamp>,
    /// What else the archive says of it.
    pub metadata: BTreeMap<String, String>,
    /// Characters replaced while decoding.
    pub n_replaced: u64,
    /// Nothing of it was left out: a mirrored import may remove what it lacks.
    pub is_complete: bool,
    /// Its text or turns.
    pub body: DraftBody,
}

/// What a reader hands on: a source, or why something is none.
pub(crate) enum Event {
    /// A source.
    Draft(Draft),
    /// Something that was left out, with its place.
    Trouble(Trouble),
}

/// Takes a reader's events; an error from it ends the reading.
pub(crate) type Emit<'a> = dyn FnMut(Event) -> Result<()> + 'a;

/// A file to read, and the bounds.
pub(crate) struct Input<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// Its name for people: the path within the import.
    pub name: &'a str,
    /// A source with more bytes is left out.
    pub source_bytes_max: u64,
}

/// SEAM: a source format.
pub(crate) trait Reader: Sync {
    /// Its name: part of a source's identity.
    fn name(&self) -> &'static str;
    /// How sure it is, 0 to 100, that a file named `name` and starting with `head` is its own.
    fn recognises(&self, head: &[u8], name: &str) -> u8;
    /// Whether its sources have keys of their own, so that several files may hold parts of one.
    fn has_keys(&self) -> bool {
        false
    }
    /// Reads a file source by source; memory is bounded by the largest source.
    ///
    /// # Errors
    /// Only what `emit` returns: what is wrong with the file goes through `emit`.
    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()>;
}

/// Every reader; among equally sure ones the first is taken.
pub(crate) const READERS: &[&dyn Reader] =
    &[&chat::Chat, &locomo::Locomo, &markdown::Markdown, &transcript::Transcript, &text::Text];

/// The names of the readers, for `--format`.
pub fn names() -> Vec<&'static str> {
    READERS.iter().map(|reader| reader.name()).collect()
}

/// The reader called `name`.
pub(crate) fn reader(name: &str) -> Option<&'static dyn Reader> {
    READERS.iter().copied().find(|reader| reader.name() == name)
}

/// Whether a file of this name may hold sources with keys of their own, whatever is in it now.
pub(crate) fn may_have_keys(name: &str) -> bool {
    matches!(extension(name).as_str(), "jsonl" | "ndjson" | "json")
}

/// The reader that is surest of a file, or why there is none.
pub(crate) fn choose(path: &Path, name: &str) -> std::result::Result<&'static dyn Reader, Trouble> {
    let head = head(path)?;
    if head.is_empty() {
        return Err(empty());
    }
    if let Some(trouble) = decode::not_a_text(&head) {
        return Err(trouble);
    }
    let mut best: Option<(u8, &'static dyn Reader)> = None;
    for reader in READERS.iter().copied() {
        let sure = reader.recognises(&head, name);
        if sure > best.map_or(0, |(sure, _)| sure) {
            best = Some((sure, reader));
        }
    }
    best.map(|(_, reader)| reader).ok_or_else(|| {
        Trouble::new("", "no reader knows this format", "name one with --format, for example --format text")
    })
}

fn head(path: &Path) -> std::result::Result<Vec<u8>, Trouble> {
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(decode::HEAD_BYTES as u64).read_to_end(&mut head))
        .map_err(|error| unreadable(&error))?;
    Ok(head)
}

/// The trouble of a file without text.
pub(crate) fn empty() -> Trouble {
    Trouble::new("", "empty", "nothing to do: there is nothing to remember in it")
}

/// The trouble of a source that is over the bound.
pub(crate) fn too_large(place: &str, n_bytes: u64, bytes_max: u64) -> Trouble {
    Trouble::new(
        place,
        format!("{n_bytes} bytes, a source holds at most {bytes_max}"),
        "split it into smaller files, or convert it to chat JSONL with several conversations (docs/chat-jsonl.md)",
    )
}

/// Reads and decodes the whole of a file within the bound.
pub(crate) fn whole(input: &Input<'_>) -> std::result::Result<Decoded, Trouble> {
    let mut file = File::open(input.path).map_err(|error| unreadable(&error))?;
    let n_bytes = file.metadata().map_err(|error| unreadable(&error))?.len();
    if n_bytes > input.source_bytes_max {
        return Err(too_large("", n_bytes, input.source_bytes_max));
    }
    let mut bytes = Vec::new();
    // A file that grows while it is read stays within the bound too.
    file.by_ref().take(input.source_bytes_max).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let decoded = decode::decode(bytes)?;
    if decoded.text.trim().is_empty() {
        return Err(empty());
    }
    Ok(decoded)
}

/// Reads a name of a role as archives write it.
pub(crate) fn role_named(name: &str) -> Role {
    match name.to_lowercase().as_str() {
        "user" | "human" | "me" => Role::User,
        "assistant" | "ai" | "bot" | "model" | "chatgpt" | "claude" => Role::Assistant,
        "system" | "developer" => Role::System,
        "tool" | "function" => Role::Tool,
        _ => Role::Unknown,
    }
}

/// Gives turns without an id one that says what they are: digest of (author, role, time, text, n-th of these).
///
/// Two exports of one conversation then agree on it, which is what their union goes by.
#[derive(Default)]
pub(crate) struct DerivedIds {
    seen: HashMap<[u8; 16], u32>,
}

impl DerivedIds {
    /// The id of the next turn by `author` that says `text`.
    pub fn next(&mut self, author: &str, role: Role, said_at: Option<Timestamp>, text: &str) -> String {
        let base = IdHasher::new("strata turn v1")
            .field(author.as_bytes())
            .field(role.as_str().as_bytes())
            .field(&said_at.map_or([0; 8], |at| at.as_micros().to_le_bytes()))
            .field(text.as_bytes());
        let nth = self.seen.entry(base.finish()).or_insert(0);
        let id = base.field(&nth.to_le_bytes()).finish();
        *nth += 1;
        id.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The end of a path without folders: `c.md` of `a/b/c.md`.
pub(crate) fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The ending of a file name in lower case, empty where there is none.
pub(crate) fn extension(name: &str) -> String {
    match file_name(name).rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension.to_lowercase(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use expect_test::expect_file;

    use super::*;

    /// Prints what a reader makes of a file, so that it can be compared.
    fn print(reader: &dyn Reader, path: &Path, name: &str) -> String {
        let mut out = String::new();
        let input = Input { path, name, source_bytes_max: 1 << 20 };
        reader
            .read(&input, &mut |event| {
                match event {
                    Event::Trouble(t) => {
                        writeln!(out, "trouble at {:?}: {} ({})", t.place, t.reason, t.hint).unwrap();
                    }
                    Event::Draft(draft) => print_draft(&draft, &mut out),
                }
                Ok(())
            })
            .unwrap();
        out
    }

    fn print_draft(draft: &Draft, out: &mut String) {
        let exported = draft.exported_at.map_or("-".to_owned(), |at| at.to_string());
        writeln!(
            out,
            "{} key={:?} title={:?} exported={exported} replaced={} {:?}",
            draft.kind.as_str(),
            draft.key,
            draft.title,
            draft.n_replaced,
            draft.metadata
        )
        .unwrap();
        match &draft.body {
            DraftBody::Text(text) => writeln!(out, "  text of {} bytes", text.len()).unwrap(),
            DraftBody::Turns(turns) => {
                for turn in turns {
                    let at = turn.said_at.map_or("-".to_owned(), |at| at.to_string());
                    writeln!(
                        out,
                        "  {} {:?} {} {at} {} session={:?} reply={:?} {:?} {:?}",
                        turn.id,
                        turn.author,
                        turn.role.as_str(),
                        turn.origin.as_str(),
                        turn.session,
                        turn.reply_to,
                        turn.text,
                        turn.metadata
                    )
                    .unwrap();
                }
            }
        }
    }

    #[test]
    fn every_example_reads_to_its_expected_twin() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let mut n_examples = 0;
        for reader in READERS {
            let folder = root.join(reader.name());
            let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
            files.sort();
            for path in files {
                if path.extension().is_some_and(|e| e == "expected") {
                    continue;
                }
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let chosen = choose(&path, &name).unwrap();
                assert_eq!(chosen.name(), reader.name(), "{name} went to another reader");
                expect_file![path.with_file_name(format!("{name}.expected"))].assert_eq(&print(*reader, &path, &name));
                n_examples += 1;
            }
        }
        assert!(n_examples >= READERS.len());
    }

    #[test]
    fn derived_ids_tell_repeats_apart_and_repeat_themselves() {
        let ids = || {
            let mut ids = DerivedIds::default();
            [
                ids.next("Ana", Role::User, None, "ok"),
                ids.next("Ana", Role::User, None, "ok"),
                ids.next("Bo", Role::User, None, "ok"),
            ]
        };
        let [a, b, c] = ids();
        assert!(a != b && b != c && a != c);
        assert_eq!(ids(), [a, b, c]);
    }
}
