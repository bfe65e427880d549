//! Real exports, read and counted. The figures were counted by other means; docs/readers.md says how.
//!
//! Skipped where the data is not there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{DraftBody, Event, Input};
use crate::files;
use crate::intake::{self, Met};

/// What a path reads to: by reader the sources and turns; and how many lines of trouble.
fn counts(path: &Path) -> String {
    let mut found: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
    let (mut n_troubles, mut n_asides) = (0, 0);
    let mut lines = String::new();
    let listing = files::list(&[path.to_owned()], Some("c"), Path::new("/no/store"));
    intake::meet(&listing.files, None, &mut |met| {
        match met {
            Met::Item(item) => {
                let input = Input::new(&item.parts, &item.relative, 64 << 20);
                item.reader.read(&input, &mut |event| {
                    match event {
                        Event::Trouble(trouble) => {
                            n_troubles += 1;
                            lines += &format!("{}: {} {}\n", item.relative, trouble.place, trouble.reason);
                        }
                        Event::Aside => n_asides += 1,
                        Event::Draft(draft) => {
                            let counts = found.entry(item.reader.name()).or_default();
                            counts.0 += 1;
                            if let DraftBody::Turns(turns) = &draft.body {
                                counts.1 += turns.len();
                            }
                        }
                    }
                    Ok(())
                })?;
            }
            Met::Trouble { relative, trouble, .. } => {
                n_troubles += 1;
                lines += &format!("{relative}: {} {}\n", trouble.place, trouble.reason);
            }
            Met::Aside => n_asides += 1,
            Met::Done(..) => {}
        }
        Ok(())
    })
    .expect("nothing here ends a reading");
    let mut parts: Vec<String> =
        found.iter().map(|(reader, (sources, turns))| format!("{reader} {sources}/{turns}")).collect();
    if n_troubles > 0 {
        parts.push(format!("troubles {n_troubles}"));
    }
    if n_asides > 0 {
        parts.push(format!("asides {n_asides}"));
    }
    eprint!("{lines}");
    parts.join(", ")
}

pub(super) fn data() -> Option<PathBuf> {
    let folder = std::env::var("STRATA_DATA").unwrap_or_else(|_| "../../../shared/data".to_owned());
    let folder = PathBuf::from(folder);
    folder.join("exports").is_dir().then_some(folder)
}

/// Paths under the data, with what they read to: `reader sources/turns`.
const EXPECTED: &[(&str, &str)] = &[
    ("reports/01_chatgpt_create_time", "chatgpt 3/6"),
    ("reports/02_chatgpt_null_title", "chatgpt 3/6"),
    ("reports/03_chatgpt_sharded_no_metadata", "chatgpt 2/4, asides 2"),
    ("reports/04_chatgpt_attachment", "chatgpt 1/2"),
    ("reports/28_truncated_json/conversations.json", "chatgpt 1/2, troubles 1"),
    ("exports/ai_chat/librechat", "chatgpt 2/6, asides 1"),
    ("exports/ai_chat/polylogue/polylogue/schemas/providers/chatgpt/representatives", "chatgpt 2/7, troubles 1"),
    ("exports/ai_chat/polylogue/tests/fixtures/chatgpt/native-conversation-v1.json", "chatgpt 1/5"),
    ("exports/ai_chat/polylogue/polylogue/schemas/providers/claude-ai/representatives", "claude 26/9, troubles 1"),
    ("exports/ai_chat/polylogue/tests/fixtures/claude-code", "claude-code 6/21"),
    ("exports/ai_chat/polylogue/tests/data/codex_event_stream", "codex 5/18"),
    ("exports/ai_chat/polylogue/tests/fixtures/hermes", "markdown 2/0, messages 2/10, troubles 1"),
    ("exports/irc/irclog2html/test1.log", "irc 1/8"),
    ("exports/irc/irclog2html/test2.log", "irc 1/57"),
    ("exports/irc/irclog2html/2009-01-15-dircproxy.log", "irc 1/225"),
    ("exports/irc/irclog2html/dircproxy-example.log", "irc 1/7543"),
    ("reports/06_whatsapp_ios_nnbsp", "whatsapp 1/3"),
    ("reports/07_whatsapp_dash_date", "whatsapp 1/2"),
    ("reports/09_whatsapp_de_brackets", "whatsapp 1/3"),
    ("reports/10_whatsapp_ios_nocomma", "whatsapp 1/6"),
    ("reports/11_slack_slackbot", "slack 1/2"),
    ("reports/12_slack_replies_incomplete", "slack 1/5"),
    ("reports/14_mbox_unescaped_from", "mail 1/2"),
    ("exports/email", "mail 106/106, text 5/0, troubles 215"),
    ("reports/16_telegram_full_account", "telegram 3/6"),
    ("reports/17_messenger_mojibake", "messenger 1/2"),
    ("reports/19_nul_bytes/text.txt", "text 1/0"),
    ("reports/28_truncated_json/trailing_comma.json", "messages 1/1, troubles 1"),
    ("exports/chat/chat-analytics/tests/samples/discord", "discord 3/14"),
    ("exports/chat/chat-analytics/tests/samples/messenger", "messenger 1/7"),
    ("exports/chat/chat-analytics/tests/samples/telegram", "telegram 2/5483"),
    ("exports/chat/chat-analytics/tests/samples/whatsapp", "whatsapp 3/33"),
    ("exports/chat/chatpack-cli/tests/fixtures", "discord 1/7, messenger 1/7, telegram 1/7, whatsapp 1/7"),
    ("exports/takeout/google_takeout_parser/tests/testdata/HtmlTakeout", "activity 2/3"),
    ("exports/takeout/google_takeout_parser/tests/testdata/RecentTakeout", "troubles 53"),
    ("docs/debian_handbook/en-US", "html 120/0"),
    ("docs/debian_handbook/ja-JP", "html 120/0"),
    ("docs/html_trafilatura", "html 9/0, troubles 4"),
    ("docs/ipynb", "notebook 41/0, troubles 3"),
    ("docs/python_doc_rst", "markup 457/0, text 1/0"),
    ("docs/subtitles", "subtitles 44/498, troubles 7"),
    ("exports/slack/slackdump/internal/fixtures/assets/CHY5HUESG.json", "slack 1/16"),
    ("exports/slack/slackdump/internal/fixtures/assets/chunks.jsonl.gz", "slack 1/972"),
    ("exports/slack/slackdump/internal/fixtures/assets/source_archive", "slack 1/19, asides 2"),
    ("exports/slack/slackdump/internal/fixtures/assets/source_dump.zip", "slack 1/16"),
    ("exports/slack/slackdump/internal/fixtures/assets/source_dump_dir", "slack 1/16, troubles 1"),
    ("exports/slack/slackdump/internal/fixtures/assets/source_export.zip", "slack 1/16"),
    ("exports/slack/slackdump/internal/fixtures/assets/source_export_dir", "slack 1/16"),
    ("docs/docx", "docx 30/0, troubles 16"),
];

#[test]
fn real_exports_read_to_what_was_counted() {
    let Some(data) = data() else {
        eprintln!("skipped: no data");
        return;
    };
    let found: Vec<(&str, String)> = EXPECTED.iter().map(|(path, _)| (*path, counts(&data.join(path)))).collect();
    let differ: Vec<String> = found
        .iter()
        .zip(EXPECTED)
        .filter(|((_, found), (_, expected))| found != expected)
        .map(|((path, found), _)| format!("(\"{path}\", \"{found}\"),"))
        .collect();
    assert!(differ.is_empty(), "these differ:\n{}", differ.join("\n"));
}
