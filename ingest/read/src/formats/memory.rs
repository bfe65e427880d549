//! One memory as another system writes it: whose it is, what it says, and when it held.
//!
//! A system is told by the names of the fields. What a record says beside its words is kept under names
//! that are the same for all of them; docs/readers.md lists them.

use std::collections::BTreeMap;

use model::{Role, Timestamp};

use super::memories::has;
use super::role_named;
use super::said::{Conversation, Said, epoch, written};
use crate::json::{Value, array, field, number, object, text, whole_number};

/// So many fields of a record's own metadata are kept.
const NOTES_MAX: usize = 32;
/// What is longer is no note but a text of its own.
const NOTE_BYTES_MAX: usize = 2000;

/// Whose memories they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    /// Ids from the outer to the inner, each under the name it has in the dump.
    ids: BTreeMap<&'static str, String>,
    /// For people.
    pub name: Option<String>,
}

/// Names of an owner's ids.
const OWNERS: &[&str] = &[
    "user_id",
    "agent_id",
    "app_id",
    "run_id",
    "session_id",
    "thread_id",
    "group_id",
    "graph_id",
    "namespace",
    "source_id",
];

impl Owner {
    /// Takes a field, where it names an owner.
    pub fn note(&mut self, name: &str, value: &Value<'_>) {
        if let Some(known) = OWNERS.iter().find(|known| **known == name)
            && let Some(id) = id(value)
        {
            self.ids.insert(known, id);
        }
    }

    /// The owner of what a record holds: its ids, and itself where it is an agent or a user.
    pub fn within(&self, record: &Value<'_>) -> Self {
        let mut owner = self.clone();
        object(record).for_each(|(name, value)| owner.note(name, value));
        let is_agent = has(record, "agent_type") || has(record, "system") || has(record, "memory_blocks");
        if is_agent {
            let given = id(field(record, "id")).or_else(|| id(field(record, "name")));
            owner.ids.extend(given.map(|id| ("agent_id", id)));
        }
        owner.name = text(field(record, "name")).filter(|_| is_agent).map(str::to_owned).or(owner.name);
        owner
    }

    /// The key of its source.
    pub fn key(&self, system: &str) -> String {
        self.ids.iter().fold(system.to_owned(), |key, (name, id)| format!("{key}/{name}={id}"))
    }

    /// The title of its source.
    pub fn title(&self, system: &str) -> String {
        let ids: Vec<&str> = self.ids.values().map(String::as_str).collect();
        let name = self.name.clone().unwrap_or_else(|| ids.join(", "));
        if name.is_empty() { format!("{system}'s memories") } else { format!("{system}: {name}") }
    }
}

/// A memory in a record.
pub(super) struct Found<'v> {
    /// The system that wrote it.
    pub system: &'static str,
    record: &'v Value<'v>,
    /// Whose it is, where it says so itself: names and values.
    owners: Vec<(&'static str, String)>,
    name: Option<&'v str>,
    id: Option<String>,
    author: &'v str,
    role: Role,
    at: Option<(Timestamp, bool)>,
    text: String,
    reply_to: Option<String>,
    notes: Vec<(&'static str, String)>,
}

impl Found<'_> {
    /// Whose it is.
    pub fn owner(&self, outer: &Owner) -> Owner {
        let mut owner = outer.clone();
        owner.ids.extend(self.owners.iter().cloned());
        owner.name = self.name.map(str::to_owned).or(owner.name);
        owner
    }

    /// Says it.
    pub fn say(self, chat: &mut Conversation) {
        let mut metadata = BTreeMap::new();
        let own = object(field(self.record, "metadata")).take(NOTES_MAX);
        metadata.extend(own.filter_map(|(name, value)| Some((name.to_owned(), note(value)?))));
        metadata.extend(self.notes.into_iter().map(|(name, value)| (name.to_owned(), value)));
        for (name, given) in NOTED {
            let value = given.iter().map(|given| field(self.record, given)).find(|value| **value != Value::Null);
            let moment = value.filter(|_| TIMED.contains(name)).and_then(number).and_then(epoch);
            let value = moment.map(|at| at.to_string()).or_else(|| value.and_then(note));
            metadata.extend(value.map(|value| ((*name).to_owned(), value)));
        }
        chat.say(Said {
            id: self.id.as_deref(),
            author: self.author,
            role: Some(self.role),
            at: self.at.map(|(at, _)| at),
            is_inferred: self.at.is_some_and(|(_, is_inferred)| is_inferred),
            reply_to: self.reply_to,
            text: &self.text,
            metadata,
        });
    }
}

/// What is kept of a record beside its words, and the names that systems give it.
const NOTED: &[(&str, &[&str])] = &[
    ("valid_from", &["valid_at", "valid_from"]),
    ("valid_until", &["invalid_at", "valid_until", "valid_to"]),
    ("expired_at", &["expired_at", "expiration_date"]),
    ("updated_at", &["updated_at"]),
    ("superseded_by", &["superseded_by"]),
    ("confidence", &["confidence", "rating"]),
    ("subject", &["subject"]),
    ("relation", &["relation", "predicate"]),
    ("source_node", &["source_node_uuid"]),
    ("target_node", &["target_node_uuid"]),
    ("episodes", &["episodes"]),
    ("tags", &["tags", "categories"]),
    ("event", &["event"]),
    ("memory_id", &["memory_id"]),
    ("old_memory", &["old_memory"]),
    ("chunk_id", &["chunk_id"]),
];

/// Those of them that are moments: numbers among them are seconds or milliseconds since 1970.
const TIMED: &[&str] = &["valid_from", "valid_until", "expired_at", "updated_at"];

/// A value as a note: a text as it is, a list of texts a line each, anything else as its JSON.
fn note(value: &Value<'_>) -> Option<String> {
    let note = match value {
        Value::Null => return None,
        Value::Array(values) if values.iter().all(|value| text(value).is_some()) => {
            values.iter().filter_map(text).collect::<Vec<_>>().join("\n")
        }
        value => text(value).map_or_else(|| value.to_string(), str::to_owned),
    };
    (!note.is_empty() && note != "\"\"" && note.len() <= NOTE_BYTES_MAX).then_some(note)
}

fn id(value: &Value<'_>) -> Option<String> {
    text(value).map(str::to_owned).or_else(|| whole_number(value).map(|number| number.to_string()))
}

fn time(record: &Value<'_>, names: &[&str]) -> Option<(Timestamp, bool)> {
    names
        .iter()
        .map(|name| field(record, name))
        .find_map(|value| text(value).and_then(written).or_else(|| number(value).and_then(epoch).map(|at| (at, false))))
}

/// The memory in a record that stands in the list called `list`; `None` where it is none or has no words.
pub(super) fn found<'v>(record: &'v Value<'v>, list: &str) -> Option<Found<'v>> {
    let given = |name: &str| text(field(record, name));
    let mut found = Found {
        system: "memories",
        record,
        owners: Vec::new(),
        name: None,
        id: ["id", "uuid", "uuid_", "key"].into_iter().find_map(|name| id(field(record, name))),
        author: "",
        role: Role::Unknown,
        at: time(record, &["created_at", "createdAt", "timestamp"]),
        text: String::new(),
        reply_to: None,
        notes: Vec::new(),
    };
    let own = |names: &[&'static str]| -> Vec<(&'static str, String)> {
        names.iter().filter_map(|name| Some((*name, id(field(record, name))?))).collect()
    };
    if let Some(words) = given("memory") {
        found.system = "mem0";
        found.owners = own(&["user_id", "agent_id", "app_id", "run_id"]);
        words.clone_into(&mut found.text);
        found.notes.push(("kind", "memory".to_owned()));
    } else if has(record, "new_memory") || has(record, "old_memory") {
        found.system = "mem0";
        found.owners = own(&["user_id", "agent_id", "app_id", "run_id"]);
        let is_deleted = given("event") == Some("DELETE");
        found.text = if is_deleted { String::new() } else { given("new_memory").unwrap_or_default().to_owned() };
        found.notes.push(("kind", "history".to_owned()));
        found.notes.extend(is_deleted.then(|| ("deleted", "true".to_owned())));
    } else if let Some(fact) = given("fact") {
        found.system = "zep";
        found.owners = own(&["group_id", "graph_id", "session_id", "user_id"]);
        fact.clone_into(&mut found.text);
        found.notes.push(("kind", "fact".to_owned()));
        found.notes.extend(given("name").map(|name| ("relation", name.to_owned())));
    } else if has(record, "namespace") && has(record, "key") && has(record, "value") {
        item(record, &mut found);
    } else if let (Some(_), Some(title), Some(words)) = (given("source_id"), given("source_title"), given("content")) {
        found.system = "swafra";
        found.owners = own(&["source_id"]);
        found.name = Some(title);
        words.clone_into(&mut found.text);
        found.notes.push(("kind", given("type").map_or_else(|| "chunk".to_owned(), |kind| format!("chunk, {kind}"))));
    } else if let (Some(subject), Some(relation)) = (given("subject"), given("relation")) {
        let value = given("value")?;
        found.system = "swafra";
        found.owners = own(&["source_id"]);
        found.text = given("evidence").map_or_else(|| format!("{subject} {relation} {value}"), str::to_owned);
        found.notes.push(("kind", "fact".to_owned()));
        found.notes.push(("object", value.to_owned()));
    } else {
        other(record, list, &mut found)?;
    }
    (!found.text.trim().is_empty() || !found.notes.is_empty()).then_some(found)
}

/// An item of LangGraph's store: a namespace, a key and any value.
fn item<'v>(record: &'v Value<'v>, found: &mut Found<'v>) {
    let namespace = field(record, "namespace");
    let parts: Vec<&str> = array(namespace).iter().filter_map(text).collect();
    let namespace = if parts.is_empty() { text(namespace).unwrap_or_default().to_owned() } else { parts.join("/") };
    found.system = "langgraph";
    found.owners.push(("namespace", namespace));
    let value = field(record, "value");
    // LangMem wraps what it keeps once more.
    let inner = if matches!(field(value, "content"), Value::Object(_)) { field(value, "content") } else { value };
    let words = ["content", "memory", "text", "data"].into_iter().find_map(|name| text(field(inner, name)));
    found.text = words.or_else(|| text(inner)).map_or_else(|| inner.to_string(), str::to_owned);
    found.notes.push(("kind", text(field(value, "kind")).unwrap_or("item").to_owned()));
}

/// What is told by its list as well: nodes, episodes, messages, blocks, passages, plain memories.
fn other<'v>(record: &'v Value<'v>, list: &str, found: &mut Found<'v>) -> Option<()> {
    let given = |name: &str| text(field(record, name));
    let mut kind = |system: &'static str, kind: &str, words: String| {
        found.system = system;
        found.text = words;
        found.notes.push(("kind", kind.to_owned()));
    };
    let group = id(field(record, "group_id")).map(|id| ("group_id", id));
    if list == "nodes" || (has(record, "summary") && has(record, "uuid")) {
        let name = given("name").unwrap_or_default();
        let words = given("summary").map_or_else(|| name.to_owned(), |summary| format!("{name}: {summary}"));
        kind("zep", "node", Some(words).filter(|words| !words.trim_matches([':', ' ']).is_empty())?);
        found.owners.extend(group);
    } else if has(record, "uuid") && has(record, "content") {
        let is_message = has(record, "role") || has(record, "role_type");
        kind("zep", if is_message { "message" } else { "episode" }, given("content")?.to_owned());
        found.owners.extend(group.or_else(|| id(field(record, "session_id")).map(|id| ("session_id", id))));
        found.role = role_named(given("role_type").or_else(|| given("role")).unwrap_or_default());
        found.author = given("role").filter(|name| role_named(name) == Role::Unknown).unwrap_or_default();
        // An episode happened when it was valid; it may have been written down later.
        found.at = time(record, &["valid_at"]).or(found.at);
    } else if has(record, "label") && has(record, "value") {
        kind("letta", "block", given("value")?.to_owned());
        found.id = found.id.take().or_else(|| given("label").map(|label| format!("block {label}")));
        found.notes.extend(given("label").map(|label| ("block", label.to_owned())));
    } else if list == "messages" && has(record, "role") {
        kind("letta", "message", message(record)?);
        found.role = role_named(given("role").unwrap_or_default());
        found.author = given("name").unwrap_or_default();
        let calls = array(field(record, "tool_calls")).iter().map(|call| field(call, "function"));
        let tools: Vec<&str> = calls.filter_map(|call| text(field(call, "name"))).collect();
        found.notes.extend((!tools.is_empty()).then(|| ("tools", tools.join("\n"))));
    } else if let Some(words) = given("text").filter(|_| has(record, "id")) {
        kind("letta", "passage", words.to_owned());
        found.owners.extend(id(field(record, "agent_id")).map(|id| ("agent_id", id)));
    } else if let Some(words) = given("content") {
        kind("memora", "memory", words.to_owned());
    } else {
        return None;
    }
    Some(())
}

/// The words of one of Letta's messages.
fn message(record: &Value<'_>) -> Option<String> {
    let content = field(record, "content");
    let parts: Vec<&str> = array(content).iter().filter_map(|part| text(field(part, "text"))).collect();
    let words = text(content).map(str::to_owned).or_else(|| (!parts.is_empty()).then(|| parts.join("\n")));
    words.or_else(|| text(field(record, "text")).map(str::to_owned)).or_else(|| {
        // Where an agent speaks by a tool, its words are what the tool was asked.
        let call = array(field(record, "tool_calls")).first()?;
        text(field(field(call, "function"), "arguments")).map(str::to_owned)
    })
}

/// Whether a record without words is one all the same: an empty block, a tool, a list of an agent's files.
pub(super) fn is_known(record: &Value<'_>, list: &str) -> bool {
    matches!(
        list,
        "agents" | "sessions" | "threads" | "users" | "messages" | "blocks" | "core_memory" | "memory_blocks"
    ) || has(record, "agent_type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn read(json: &str, list: &str) -> String {
        parse(json.as_bytes(), &mut 0, |record| {
            let Some(found) = found(record, list) else { return "none".to_owned() };
            let key = found.owner(&Owner::default()).key(found.system);
            let mut chat = Conversation::default();
            found.say(&mut chat);
            let turn = &chat.turns[0];
            let at = turn.said_at.map_or("-".to_owned(), |at| at.to_string());
            format!("{key} {} {} {:?} {at} {:?}", turn.id, turn.role.as_str(), turn.text, turn.metadata)
        })
        .unwrap()
    }

    #[test]
    fn a_fact_keeps_when_it_held() {
        let json = r#"{"uuid":"e1","fact":"Ana sails the Keel","name":"SAILS","group_id":"g",
            "created_at":"2024-05-01T08:00:00Z",
            "valid_at":"2023-01-01T00:00:00Z","invalid_at":"2024-04-01T00:00:00Z","expired_at":null,
            "episodes":["p1","p2"]}"#;
        assert_eq!(
            read(json, "edges"),
            "zep/group_id=g e1 unknown \"Ana sails the Keel\" 2024-05-01T08:00:00Z {\"episodes\": \"p1\\np2\", \
             \"kind\": \"fact\", \"relation\": \"SAILS\", \"valid_from\": \"2023-01-01T00:00:00Z\", \
             \"valid_until\": \"2024-04-01T00:00:00Z\"}"
        );
    }

    #[test]
    fn what_was_forgotten_has_no_words() {
        let json = r#"{"id":"h3","memory_id":"m1","old_memory":"Likes tea","new_memory":null,"event":"DELETE"}"#;
        let expected = "mem0 h3 unknown \"\" - {\"deleted\": \"true\", \"event\": \"DELETE\", \"kind\": \"history\", \
                        \"memory_id\": \"m1\", \"old_memory\": \"Likes tea\"}";
        assert_eq!(read(json, ""), expected);
    }

    #[test]
    fn what_has_no_words_is_none() {
        assert_eq!(read(r#"{"id":"x","hash":"y"}"#, "results"), "none");
        assert_eq!(read(r#"{"uuid":"x","name":"","summary":""}"#, "nodes"), "none");
        assert!(read(r#"{"uuid":"x","name":"Ana","summary":"A sailor"}"#, "nodes").contains("\"Ana: A sailor\""));
    }
}
