//! Files and archives: any bytes under any names, through the door, and what is promised of what comes out.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::path::PathBuf;

use tempfile::TempDir;

use crate::decode::Trouble;
use crate::files::Found;
use crate::formats::{READERS, reader};
use crate::intake::{self, Met};
use crate::seam::{Draft, DraftBody, Event, Input, Reader};

/// The bound on a source: low, so that it is met.
const SOURCE_BYTES_MAX: u64 = 64 << 10;
/// Names that the readers of chats in plain text know; the first byte of the input chooses.
pub(super) const TEXT_NAMES: &[&str] =
    &["_chat.txt", "WhatsApp Chat with Ana.txt", "2024-05-01-harbour.log", "crew.txt", "irc.weechatlog", "notes.md"];
/// Names that the readers of JSON know; the first byte of the input chooses.
pub(super) const JSON_NAMES: &[&str] =
    &["conversations.json", "session.jsonl", "result.json", "message_1.json", "C1.json", "chat.jsonl", "user.json"];
/// Stands between the files of one input of [`readers`].
const SEPARATOR: &[u8] = b"\n%%%%\n";
/// An input of [`readers`] is at most so many files.
const FILES_MAX: usize = 8;

thread_local! {
    /// Where the inputs lie while they are read: names of ours, whatever they are called in the import.
    static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

/// Puts the `slot`-th file of an input on disk.
fn put(slot: usize, name: &str, bytes: &[u8]) -> Found {
    let path = FOLDER.with_borrow_mut(|folder| -> PathBuf {
        let folder = folder.get_or_insert_with(|| tempfile::tempdir().expect("a folder for the inputs"));
        folder.path().join(slot.to_string())
    });
    let mut file = std::fs::File::create(&path).expect("a file for the input");
    file.write_all(bytes).expect("room for the input");
    Found {
        path,
        label: "c".to_owned(),
        relative: name.to_owned(),
        key: format!("c/{name}"),
        n_bytes: bytes.len() as u64,
        argument: 0,
    }
}

/// Reads `files` through the door; what comes out, in order.
fn read(files: &[Found], format: Option<&'static dyn Reader>) -> Vec<String> {
    let mut out = Vec::new();
    let mut n_done = 0;
    let met = intake::meet(files, format, &mut |met| {
        match met {
            Met::Item(item) => {
                out.push(format!("{} {}", item.reader.name(), item.relative));
                let input = Input::new(&item.parts, &item.relative, SOURCE_BYTES_MAX);
                item.reader.read(&input, &mut |event| {
                    out.push(checked(&event));
                    Ok(())
                })?;
            }
            Met::Trouble { trouble, relative, .. } => {
                check_trouble(&trouble);
                out.push(format!("{relative}: {trouble:?}"));
            }
            Met::Aside => out.push("aside".to_owned()),
            Met::Done(..) => n_done += 1,
        }
        Ok(())
    });
    assert_eq!(met, Ok(()), "nothing here ends a reading");
    assert_eq!(n_done, files.len(), "every file is done");
    out
}

/// What an event says, once the promises are seen to hold for it.
fn checked(event: &Event) -> String {
    match event {
        Event::Draft(draft) => {
            check_draft(draft);
            format!("{draft:?}")
        }
        Event::Trouble(trouble) => {
            check_trouble(trouble);
            format!("{trouble:?}")
        }
        Event::Aside => "aside".to_owned(),
    }
}

fn check_trouble(trouble: &Trouble) {
    assert!(!trouble.reason.is_empty() && !trouble.hint.is_empty(), "{trouble:?}");
}

/// A draft is a text that can be kept, within the bound. Turns of one id may be several: their union keeps one.
fn check_draft(draft: &Draft) {
    assert!(draft.key.as_deref() != Some(""), "{draft:?}");
    assert!(!draft.title.contains('\0'), "{draft:?}");
    let n_bytes = match &draft.body {
        DraftBody::Text(text) => {
            assert!(!text.contains('\0'));
            text.len()
        }
        DraftBody::Turns(turns) => {
            assert!(!turns.is_empty(), "a conversation in which nothing is said");
            for turn in turns {
                assert!(!turn.id.is_empty() && !turn.text.contains('\0') && !turn.author.contains('\0'), "{turn:?}");
                assert!(turn.said_at.is_none_or(|at| at.to_datetime().is_some()), "{turn:?}");
                assert_eq!(turn.said_at.is_none(), turn.origin == model::TimeOrigin::Unknown, "{turn:?}");
            }
            turns.iter().map(|turn| turn.text.len()).sum()
        }
    };
    assert!(n_bytes as u64 <= SOURCE_BYTES_MAX, "{n_bytes} bytes");
}

/// The bytes as one archive; what it lists, and what its entries read to.
pub fn archive(data: &[u8]) {
    let file = put(0, "a", data);
    let met = intake::meet(&[file], reader("text"), &mut |met| {
        match met {
            Met::Item(item) => {
                let (_, inner) = item.relative.split_once("!/").unwrap_or(("", &item.relative));
                let inner = inner.replace("!/", "/");
                assert!(!inner.starts_with(['/', '\\']) && !inner.split(['/', '\\']).any(|part| part == ".."));
                for part in &item.parts {
                    let mut n_bytes = 0;
                    let mut piece = [0; 4096];
                    let Ok(mut reader) = part.open() else { continue };
                    while let Ok(n @ 1..) = reader.read(&mut piece) {
                        n_bytes += n;
                    }
                    assert!(n_bytes <= (1 << 20) + 200 * data.len() + piece.len(), "{n_bytes} bytes");
                }
            }
            Met::Trouble { trouble, .. } => check_trouble(&trouble),
            Met::Aside | Met::Done(..) => {}
        }
        Ok(())
    });
    assert_eq!(met, Ok(()));
}

/// A text under one of [`TEXT_NAMES`], by content and by each of their readers.
pub fn chat_text(data: &[u8]) {
    let Some((&which, bytes)) = data.split_first() else { return };
    let file = [put(0, TEXT_NAMES[usize::from(which) % TEXT_NAMES.len()], bytes)];
    read(&file, None);
    for name in ["whatsapp", "irc", "transcript", "markdown"] {
        read(&file, reader(name));
    }
}

/// JSON under one of [`JSON_NAMES`], by content and, by the high bits of the first byte, by force.
pub fn chat_json(data: &[u8]) {
    let Some((&which, bytes)) = data.split_first() else { return };
    let file = [put(0, JSON_NAMES[usize::from(which & 7) % JSON_NAMES.len()], bytes)];
    read(&file, None);
    let forced = [
        "chat",
        "chatgpt",
        "claude",
        "claude-code",
        "codex",
        "discord",
        "locomo",
        "messenger",
        "slack",
        "telegram",
        "messages",
        "messages",
        "messages",
        "companion",
    ];
    read(&file, reader(forced[usize::from(which >> 3) % forced.len()]));
}

/// Several files, each behind a line with a reader's name and the file's: `slack C1/2024-01-01.json`. Any word
/// that names no reader lets the content choose.
pub fn readers(data: &[u8]) {
    let mut files = Vec::new();
    let mut format = None;
    let mut rest = data;
    while !rest.is_empty() && files.len() < FILES_MAX {
        let end = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
        let (file, after) = end.map_or((rest, &rest[rest.len()..]), |at| (&rest[..at], &rest[at + SEPARATOR.len()..]));
        rest = after;
        let at = file.iter().position(|&byte| byte == b'\n').unwrap_or(file.len());
        let line = String::from_utf8_lossy(&file[..at]).into_owned();
        let (word, name) = line.split_once(' ').unwrap_or(("", &line));
        format = format.or_else(|| reader(word));
        // No disk has a name with NUL; an archive may.
        files.push(put(files.len(), &name.replace('\0', "0"), file.get(at + 1..).unwrap_or_default()));
    }
    assert!(format.is_none_or(|format| READERS.iter().any(|reader| reader.name() == format.name())));
    assert_eq!(read(&files, format), read(&files, format), "read twice is read alike");
}
