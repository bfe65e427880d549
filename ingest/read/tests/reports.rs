//! The faults that users of other importers reported, each with others of its kind.
//!
//! The reported inputs are read where the data is there; their siblings are written here and always read. Rows
//! 21 and 22 of the reports stand in `ingest/tests`; 24 and 27 are about facts.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use model::{Role, TimeOrigin};
use read::{Draft, DraftBody, DraftTurn, Event, Input, Met};
use serde_json::{Value, json};

/// What a folder reads to.
#[derive(Debug, Default)]
struct Found {
    drafts: Vec<Draft>,
    troubles: Vec<String>,
    n_asides: usize,
}

impl Found {
    fn of(path: &Path) -> Self {
        let mut found = Self::default();
        let listing = read::list(&[path.to_owned()], Some("c"), Path::new("/no/store"));
        read::meet(&listing.files, None, &mut |met| {
            match met {
                Met::Item(item) => {
                    let (parts, name) = (&item.parts, &item.relative);
                    let input = Input::new(parts, name, 1 << 20);
                    item.reader.read(&input, &mut |event| {
                        match event {
                            Event::Draft(draft) => found.drafts.push(draft),
                            Event::Trouble(t) => found.troubles.push(format!("{name} {}: {}", t.place, t.reason)),
                            Event::Aside => found.n_asides += 1,
                        }
                        Ok(())
                    })?;
                }
                Met::Trouble { relative, trouble, .. } => {
                    found.troubles.push(format!("{relative} {}: {}", trouble.place, trouble.reason));
                }
                Met::Aside => found.n_asides += 1,
                Met::Done(..) => {}
            }
            Ok(())
        })
        .unwrap();
        found
    }

    fn turns(&self) -> Vec<&DraftTurn> {
        let turns = self.drafts.iter().map(|draft| match &draft.body {
            DraftBody::Turns(turns) => turns.as_slice(),
            DraftBody::Text(_) => &[],
        });
        turns.flatten().collect()
    }

    /// `author: text` of every turn.
    fn said(&self) -> Vec<String> {
        self.turns().iter().map(|turn| format!("{}: {}", turn.author, turn.text)).collect()
    }

    fn titles(&self) -> Vec<&str> {
        self.drafts.iter().map(|draft| draft.title.as_str()).collect()
    }

    fn times(&self) -> Vec<String> {
        self.turns().iter().map(|turn| turn.said_at.map_or("-".to_owned(), |at| at.to_string())).collect()
    }
}

/// A report's input, if it is there.
fn report(name: &str) -> Option<Found> {
    let root = std::env::var("STRATA_DATA").unwrap_or_else(|_| "../../../shared/data".to_owned());
    let path = PathBuf::from(root).join("reports").join(name);
    if !path.is_dir() {
        println!("skipped: no {} (set STRATA_DATA)", path.display());
        return None;
    }
    Some(Found::of(&path))
}

/// What files of these names and contents read to.
fn files(given: &[(&str, &str)]) -> Found {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in given {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    Found::of(folder.path())
}

/// A ChatGPT-shaped conversation of a question and an answer.
fn talk(id: &str) -> Value {
    let node = |id: &str, role: &str, text: &str, parent: Option<&str>| {
        let message = json!({"id": id, "author": {"role": role}, "create_time": 1.7e9,
            "content": {"content_type": "text", "parts": [text]}, "metadata": {}});
        json!({"id": id, "message": message, "parent": parent, "children": []})
    };
    json!({"title": format!("Talk {id}"), "create_time": 1.7e9, "update_time": 1.7e9 + 60.0, "current_node": "a",
        "conversation_id": id,
        "mapping": {"q": node("q", "user", "Which tide is next?", None), "a": node("a", "assistant", "Low tide.", Some("q"))}})
}

/// A talk with one field of the conversation, or of its first message, changed (`null` in it removes nothing).
fn bent(id: &str, path: &str, value: Option<Value>) -> Value {
    let mut talk = talk(id);
    let (parent, name) = path.rsplit_once('/').unwrap();
    let object = talk.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => object.insert(name.to_owned(), value),
        None => object.remove(name),
    };
    talk
}

fn talks(given: &[Value]) -> Found {
    files(&[("conversations.json", &Value::from(given.to_vec()).to_string())])
}

#[test]
fn r01_a_conversation_without_a_time_aborts_nothing() {
    if let Some(found) = report("01_chatgpt_create_time") {
        assert_eq!((found.drafts.len(), found.turns().len(), found.troubles.len()), (3, 6, 0), "{found:?}");
    }
    for path in ["/create_time", "/update_time", "/mapping/q/message/create_time"] {
        for value in [None, Some(Value::Null), Some(json!("soon")), Some(json!(-1e300)), Some(json!({}))] {
            let found = talks(&[talk("one"), bent("two", path, value.clone()), talk("three")]);
            assert_eq!((found.drafts.len(), found.turns().len()), (3, 6), "{path} {value:?} {found:?}");
            assert!(found.troubles.is_empty(), "{found:?}");
        }
    }
    // A message without a time says so.
    let found = talks(&[bent("two", "/mapping/q/message/create_time", None)]);
    assert!(found.turns().iter().any(|turn| turn.origin != TimeOrigin::Given || turn.said_at.is_some()));
}

#[test]
fn r02_a_conversation_without_a_title_gets_one() {
    if let Some(found) = report("02_chatgpt_null_title") {
        assert_eq!((found.drafts.len(), found.troubles.len()), (3, 0), "{found:?}");
        assert!(found.titles().iter().all(|title| !title.is_empty()), "{:?}", found.titles());
    }
    for value in [None, Some(Value::Null), Some(json!("")), Some(json!("  ")), Some(json!(7)), Some(json!(["x"]))] {
        let found = talks(&[talk("one"), bent("two", "/title", value.clone())]);
        assert_eq!((found.drafts.len(), found.troubles.len()), (2, 0), "{value:?} {found:?}");
        assert!(found.titles().iter().all(|title| !title.trim().is_empty()), "{value:?} {:?}", found.titles());
    }
}

#[test]
fn r03_shards_without_metadata_are_read_and_companions_are_not() {
    if let Some(found) = report("03_chatgpt_sharded_no_metadata") {
        assert_eq!((found.drafts.len(), found.turns().len(), found.troubles.len()), (2, 4, 0), "{found:?}");
    }
    for part in ["metadata", "content", "author", "id"] {
        let bent = bent("two", &format!("/mapping/q/message/{part}"), None);
        let [one, two] = [talk("one"), bent].map(|talk| Value::from(vec![talk]).to_string());
        let found = files(&[
            ("conversations-000.json", &one),
            ("conversations-001.json", &two),
            ("user.json", "{\"id\":\"u\"}"),
        ]);
        assert_eq!(found.drafts.len(), 2, "{part} {found:?}");
        assert!(found.said().contains(&"ChatGPT: Low tide.".to_owned()) || found.turns().len() >= 3, "{found:?}");
    }
    // Only companions: nothing is found, and nothing is said to be.
    assert!(files(&[("user.json", "{\"id\":\"u\"}"), ("message_feedback.json", "[]")]).drafts.is_empty());
}

#[test]
fn r04_a_message_with_an_attachment_is_kept() {
    if let Some(found) = report("04_chatgpt_attachment") {
        let turns = found.turns();
        assert_eq!(turns.len(), 2, "{found:?}");
        assert!(turns[0].text.contains("what is on this picture?"), "{turns:?}");
        assert!(turns[0].metadata["attachments"].contains("file-service://file-abc"), "{turns:?}");
    }
    let picture = json!({"content_type": "image_asset_pointer", "asset_pointer": "file-service://f", "size_bytes": 1});
    let sound = json!({"content_type": "audio_asset_pointer", "asset_pointer": "file-service://f", "format": "wav"});
    for parts in
        [json!([picture]), json!(["Look:", picture]), json!([sound, "Hear."]), json!([picture, sound, "Both."])]
    {
        let content = json!({"content_type": "multimodal_text", "parts": parts});
        let found = talks(&[bent("two", "/mapping/q/message/content", Some(content))]);
        assert_eq!((found.turns().len(), found.troubles.len()), (2, 0), "{parts} {found:?}");
        assert!(found.turns()[0].metadata.contains_key("attachments"), "{parts} {found:?}");
    }
}

#[test]
fn r06_narrow_spaces_and_direction_marks_are_no_part_of_a_message() {
    if let Some(found) = report("06_whatsapp_ios_nnbsp") {
        let said = found.said();
        assert_eq!(said[..2], ["Ana: Solve x+1=2\nand then x+2=5", "Ben: x=1"], "{said:?}");
        assert_eq!((said.len(), found.times()[0].as_str()), (3, "2021-10-14T15:34:09Z"));
    }
    for space in ["\u{202f}", "\u{a0}", " ", ""] {
        for mark in ["\u{200e}", "\u{200f}", "\u{202a}", ""] {
            let chat = format!(
                "{mark}[14/10/2021, 3:34:09{space}PM] Ida: {mark}One\nmore\n[15/10/2021, 12:05:00{space}AM] Jon: Two\n"
            );
            let found = files(&[("_chat.txt", &chat)]);
            assert_eq!(found.said(), ["Ida: One\nmore", "Jon: Two"], "{space:?} {mark:?}");
            assert_eq!(found.times(), ["2021-10-14T15:34:09Z", "2021-10-15T00:05:00Z"], "{space:?} {mark:?}");
        }
    }
}

#[test]
fn r07_r09_r10_dates_of_every_order_and_shape() {
    if let Some(found) = report("07_whatsapp_dash_date") {
        assert_eq!(found.times(), ["2018-01-29T23:33:00Z", "2018-01-29T23:45:01Z"]);
    }
    if let Some(found) = report("09_whatsapp_de_brackets") {
        assert_eq!((found.times()[1].as_str(), found.said()[1].as_str()), ("2026-03-07T21:22:39Z", "Chris: Hey 👋"));
        assert_eq!(found.said()[2], "Anna: Huhu ☺️");
    }
    if let Some(found) = report("10_whatsapp_ios_nocomma") {
        let turns = found.turns();
        assert_eq!(turns.iter().filter(|turn| turn.role == Role::System).count(), 2, "{turns:?}");
        assert_eq!(turns.iter().filter(|turn| turn.metadata.contains_key("deleted")).count(), 1, "{turns:?}");
        assert_eq!(turns.iter().filter(|turn| turn.metadata.contains_key("attachments")).count(), 1, "{turns:?}");
        assert!(found.said().contains(&"+12 345 67 89 00: Hi".to_owned()), "{:?}", found.said());
    }
    // Brackets or a dash behind the date, two and four digits, every separator, with and without seconds and comma.
    for (date, day) in [
        ("25.03.26", "2026-03-25"),
        ("25/03/2026", "2026-03-25"),
        ("03/25/26", "2026-03-25"),
        ("2026-03-25", "2026-03-25"),
        ("25-03-2026", "2026-03-25"),
        ("2026/03/25", "2026-03-25"),
        ("25. 3. 2026", "2026-03-25"),
    ] {
        for (before, between, time, after) in
            [("[", ", ", "21:22:39", "] "), ("[", " ", "21:22:39", "] "), ("", ", ", "21:22", " - ")]
        {
            let line = |who: &str, what: &str| format!("{before}{date}{between}{time}{after}{who}: {what}\n");
            let found = files(&[("_chat.txt", &(line("Ida", "One") + &line("Jon", "Two")))]);
            let moment = found.times();
            assert_eq!(found.said(), ["Ida: One", "Jon: Two"], "{}", line("Ida", "One"));
            assert!(moment.iter().all(|at| at.starts_with(day)), "{} {moment:?}", line("Ida", "One"));
        }
    }
}

const SLACK: [(&str, &str); 2] = [
    ("channels.json", r#"[{"id": "C1", "name": "harbour", "members": ["U1"]}]"#),
    ("users.json", r#"[{"id": "U1", "name": "ida", "profile": {"real_name": "Ida"}}]"#),
];

fn slack(day: &str) -> Found {
    files(&[SLACK[0], SLACK[1], ("harbour/2026-03-25.json", day)])
}

#[test]
fn r11_a_user_that_no_list_has_is_shown_by_id() {
    if let Some(found) = report("11_slack_slackbot") {
        assert_eq!(found.turns().len(), 2, "{found:?}");
        assert!(found.said()[1].ends_with(": hi from a removed member"), "{:?}", found.said());
        assert!(found.turns().iter().all(|turn| !turn.author.is_empty()), "{found:?}");
    }
    for who in [
        r#""user": "U9""#,
        r#""user": "USLACKBOT""#,
        r#""bot_id": "B1", "username": "tides""#,
        r#""user": null"#,
        r#""x": 1"#,
    ] {
        let found = slack(&format!(r#"[{{"type": "message", {who}, "text": "Hello", "ts": "1585100000.000100"}}]"#));
        assert_eq!(found.turns().len(), 1, "{who} {found:?}");
        assert_eq!(found.turns()[0].text, "Hello", "{who}");
    }
}

#[test]
fn r12_threads_are_joined_by_their_time_and_not_by_lists_of_replies() {
    if let Some(found) = report("12_slack_replies_incomplete") {
        let replies = |to: &str| found.turns().iter().filter(|turn| turn.reply_to.as_deref() == Some(to)).count();
        assert_eq!((found.turns().len(), replies("1579562500.000100")), (5, 2), "{found:?}");
        assert!(found.said().iter().any(|said| said.contains("orphan reply")), "{:?}", found.said());
    }
    for replies in [
        "",
        r#", "replies": []"#,
        r#", "replies": null"#,
        r#", "replies": [{}]"#,
        r#", "replies": "x", "reply_count": "2""#,
    ] {
        let day = format!(
            r#"[{{"type": "message", "user": "U1", "text": "Root", "ts": "1585100000.000100", "thread_ts": "1585100000.000100"{replies}}},
            {{"type": "message", "user": "U1", "text": "Leaf", "ts": "1585100001.000100", "thread_ts": "1585100000.000100"}}]"#
        );
        let found = slack(&day);
        assert_eq!(found.turns().len(), 2, "{replies} {found:?}");
        assert_eq!(found.turns()[1].reply_to.as_deref(), Some("1585100000.000100"), "{replies}");
    }
}

#[test]
fn r16_a_whole_telegram_account_is_read() {
    if let Some(found) = report("16_telegram_full_account") {
        assert_eq!((found.drafts.len(), found.troubles.len()), (3, 0), "{found:?}");
        let texts: Vec<&str> =
            found.turns().iter().map(|turn| turn.text.as_str()).filter(|text| !text.is_empty()).collect();
        assert_eq!(texts, ["plain", "see https://example.org and this", "from a deleted account", "left chat message"]);
    }
    let message = |text: Value, from: Value| json!({"id": 1, "type": "message", "date": "2026-03-25T10:00:00", "from": from, "from_id": "user1", "text": text});
    let chat = |text: Value, from: Value, name: Value| json!({"name": name, "type": "personal_chat", "id": 5, "messages": [message(text, from)]});
    let entities = json!(["See ", {"type": "bold", "text": "this"}, " now"]);
    for (text, from, name) in [
        (json!("Hi"), json!("Ida"), Value::Null),
        (entities, Value::Null, json!("Ida")),
        (json!([]), json!("Ida"), json!("")),
    ] {
        let alone = chat(text, from, name);
        for whole in [
            alone.clone(),
            json!({"chats": {"list": [alone]}}),
            json!({"left_chats": {"list": [alone]}, "chats": {"about": "", "list": []}}),
        ] {
            let found = files(&[("result.json", &whole.to_string())]);
            assert_eq!((found.turns().len(), found.troubles.len()), (1, 0), "{whole} {found:?}");
        }
    }
}

#[test]
fn r17_only_what_is_garbled_is_put_right() {
    if let Some(found) = report("17_messenger_mojibake") {
        assert_eq!(found.said(), ["Zoë: 😠 没有啊", "Bob: already correct “quotes” and é"]);
    }
    // A text as Messenger garbles it: each byte of its UTF-8 as a character.
    let garbled = |text: &str| -> String { text.bytes().map(char::from).collect() };
    for text in ["Zoë", "naïve café", "日本語", "👩‍👩‍👧", "Ω ≈ 3"] {
        for (given, read) in [(garbled(text), text), (text.to_owned(), text)] {
            let file = json!({"participants": [{"name": "Bob"}], "title": "Bob", "thread_path": "inbox/bob_1",
                "messages": [{"sender_name": "Bob", "timestamp_ms": 1_600_000_000_000_u64, "content": given, "type": "Generic"}]});
            let found = files(&[("message_1.json", &file.to_string())]);
            assert_eq!(found.said(), [format!("Bob: {read}")], "{given:?}");
        }
    }
}

#[test]
fn r19_a_nul_is_replaced_and_counted_and_loses_no_document() {
    if let Some(found) = report("19_nul_bytes") {
        assert_eq!((found.drafts.len(), found.troubles.len()), (2, 0), "{found:?}");
        assert!(found.drafts.iter().all(|draft| draft.n_replaced > 0), "{found:?}");
        assert!(found.said().iter().any(|said| said.ends_with("before\u{fffd}after")), "{:?}", found.said());
    }
    let found = files(&[
        ("a.md", "# A\0B\n\nIt says one thing and\0another.\n"),
        ("b.jsonl", "{\"conversation\":\"c\",\"text\":\"left\\u0000right\"}\n"),
        ("conversations.json", &Value::from(vec![bent("two", "/title", Some(json!("T\0t")))]).to_string()),
    ]);
    assert_eq!((found.drafts.len(), found.troubles.len()), (3, 0), "{found:?}");
    for draft in &found.drafts {
        let whole = format!("{draft:?}");
        assert!(!whole.contains("\\0") && !whole.contains('\0'), "{whole}");
        assert_eq!(draft.n_replaced > 0, !draft.title.starts_with("Talk"), "{draft:?}");
    }
}

#[test]
fn r28_a_broken_file_is_named_with_its_place_and_what_was_whole_goes_in() {
    if let Some(found) = report("28_truncated_json") {
        assert_eq!((found.drafts.len(), found.troubles.len()), (2, 2), "{found:?}");
        assert!(found.troubles.iter().all(|line| line.contains("byte ")), "{:?}", found.troubles);
    }
    let whole = Value::from(vec![talk("one"), talk("two")]).to_string();
    let cuts = [whole.len() - 1, whole.len() - 40, whole.len() / 2 + 30];
    let broken = cuts.iter().map(|&at| whole[..at].to_owned()).chain([
        whole.replacen("},{\"conversation_id\"", "},,{\"conversation_id\"", 1),
        format!("{}]", &whole[..whole.len() - 2]),
    ]);
    for json in broken {
        let found = files(&[("conversations.json", &json), ("note.md", "A whole note.")]);
        let n_whole = found.drafts.len();
        assert!(n_whole >= 2, "the first talk and the note: {found:?}");
        // A cut message is told by itself, and so is the end that is missing behind it.
        assert!((1..=2).contains(&found.troubles.len()), "{json} {:?}", found.troubles);
        assert!(found.troubles.iter().all(|line| line.contains("byte ")), "{:?}", found.troubles);
    }
}
