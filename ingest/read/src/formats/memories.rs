//! Reads what other memory systems give out: mem0, Zep and Graphiti, Letta, LangGraph's store, swafra, memora.
//!
//! Each memory, fact, block or message is a turn with its own id and time; a source is what belongs to one
//! owner: a user, an agent, a session, a namespace. So a memory is found and cited alone, its neighbours
//! are its owner's, and a later dump joins an older one memory by memory. When a fact held is kept in its
//! metadata (`valid_from`, `valid_until`, `expired_at`). Vectors and indexes are left out.

use std::collections::HashMap;

use super::memory::{self, Owner};
use super::records::{self, Stop};
use super::said::Conversation;
use super::{Emit, Event, Head, Input, Reader, file_name};
use crate::decode::Trouble;
use crate::json::{Kind, Shape, Value, array, field, object, parse};
use crate::seam::Result;

/// The reader of other memory systems' dumps.
pub(super) struct Memories;

/// Names of lists of memories, or of what holds some.
const LISTS: &[&str] = &[
    "results",
    "memories",
    "edges",
    "facts",
    "relevant_facts",
    "nodes",
    "episodes",
    "messages",
    "items",
    "passages",
    "archival_memory",
    "blocks",
    "core_memory",
    "memory_blocks",
    "agents",
    "sessions",
    "threads",
    "users",
    "data",
    "chunks",
    "history",
];
/// Lists lie in lists no deeper than this.
const DEPTH_MAX: u32 = 4;

impl Reader for Memories {
    fn name(&self) -> &'static str {
        "memories"
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn recognises(&self, head: &Head<'_>) -> u8 {
        let shape = head.shape();
        let is_agent = shape.has_all(1, &["agents", "blocks"]) || shape.has_all(1, &["agent_type", "core_memory"]);
        if is_agent && !shape.has_lines {
            return 95;
        }
        let is_held = !shape.has_lines
            && shape.kind == Some(Kind::Object)
            && LISTS.iter().any(|list| shape.has(1, list))
            && is_memory(shape, 3);
        if is_held || (shape.kind.is_some() && is_memory(shape, shape.record_depth())) { 60 } else { 0 }
    }

    fn read(&self, input: &Input<'_>, emit: &mut Emit<'_>) -> Result<()> {
        let mut dump = Dump::default();
        let read = dump.read(input, emit);
        let n_said = dump.finish(input, read.is_err(), emit)?;
        if n_said == 0 && read.is_ok() {
            emit(Event::Trouble(Trouble::new("", "no memory in it", "nothing to do: there is nothing to remember")))?;
        }
        records::settle(read, emit)
    }
}

/// Whether objects `depth` levels deep are memories as some system writes them.
fn is_memory(shape: &Shape, depth: u8) -> bool {
    let all = |names: &[&str]| shape.has_all(depth, names);
    let any = |names: &[&str]| names.iter().any(|name| shape.has(depth, name));
    let is_mem0 = all(&["id", "memory"]) && any(&["user_id", "agent_id", "run_id", "hash", "created_at"]);
    let is_history = all(&["memory_id", "event"]) && any(&["new_memory", "old_memory"]);
    let is_fact = all(&["fact"]) && any(&["uuid", "valid_at", "source_node_uuid"]);
    let is_node = all(&["uuid", "summary"]) && any(&["labels", "group_id"]);
    let is_episode = all(&["uuid", "content"]) && any(&["role_type", "source_description", "group_id"]);
    let is_item = all(&["namespace", "key", "value"]);
    let is_chunk = all(&["source_id", "source_title", "content"]);
    let is_triple = all(&["subject", "relation", "value"]) && any(&["evidence", "chunk_id", "valid_until"]);
    let is_passage = all(&["id", "text"]) && any(&["archive_id", "archival_memory_id", "embedding_config"]);
    let is_memora = all(&["id", "content", "tags"]) && any(&["metadata"]) && !any(&["role", "author", "sender"]);
    is_mem0
        || is_history
        || is_fact
        || is_node
        || is_episode
        || is_item
        || is_chunk
        || is_triple
        || is_passage
        || is_memora
}

/// What is put together from a dump: an owner's memories each.
#[derive(Default)]
pub(super) struct Dump {
    sources: HashMap<String, Conversation>,
    order: Vec<String>,
    n_records: u64,
}

impl Dump {
    fn read(&mut self, input: &Input<'_>, emit: &mut Emit<'_>) -> std::result::Result<(), Stop> {
        let mut pull = records::pull(input)?;
        let bytes_max = input.source_bytes_max;
        let mut top = Owner::default();
        let mut is_first = true;
        while let Some(kind) = pull.kind()? {
            // One object alone is gone into, so that its lists may be of any length.
            if kind == Kind::Object && std::mem::take(&mut is_first) && !is_record(input) {
                pull.enter()?;
                while let Some(name) = pull.next_name()? {
                    match pull.kind()? {
                        Some(Kind::Array) if LISTS.contains(&name.as_str()) => {
                            pull.enter()?;
                            while pull.next_element()? {
                                records::record(&pull.value()?, bytes_max, emit, &mut |value, emit| {
                                    self.record(value, &name, &top, 0, emit)
                                })?;
                            }
                        }
                        Some(Kind::Other) => {
                            let (_, bytes) = pull.bounded()?;
                            // What cannot be read here names no owner.
                            let _ = parse(bytes, &mut 0, |value| top.note(&name, value));
                        }
                        _ => pull.skip()?,
                    }
                }
            } else if kind == Kind::Array {
                pull.enter()?;
                while pull.next_element()? {
                    records::record(&pull.value()?, bytes_max, emit, &mut |value, emit| {
                        self.record(value, "", &top, 0, emit)
                    })?;
                }
            } else {
                records::record(&pull.value()?, bytes_max, emit, &mut |value, emit| {
                    self.record(value, "", &top, 0, emit)
                })?;
            }
            is_first = false;
        }
        Ok(())
    }

    /// Takes a record out of the list called `list`: a memory, or something that holds lists of them.
    pub fn record(
        &mut self,
        record: &Value<'_>,
        list: &str,
        owner: &Owner,
        depth: u32,
        emit: &mut Emit<'_>,
    ) -> Result<()> {
        self.n_records += 1;
        let held: Vec<(&str, &Value<'_>)> = object(record)
            .filter(|(name, value)| LISTS.contains(name) && matches!(array(value).first(), Some(Value::Object(_))))
            .collect();
        if let Some(found) = memory::found(record, list) {
            let owner = found.owner(owner);
            let key = owner.key(found.system);
            if !self.sources.contains_key(&key) {
                self.order.push(key.clone());
            }
            let chat = self.sources.entry(key.clone()).or_insert_with(|| Conversation {
                title: Some(owner.title(found.system)),
                // Memories of no one are the file's: ids of two dumps may be the same.
                part: (key == found.system).then(|| key.clone()),
                key: Some(key).filter(|key| key != found.system),
                metadata: [("system".to_owned(), found.system.to_owned())].into(),
                ..Conversation::default()
            });
            if owner.name.is_some() {
                chat.title = Some(owner.title(found.system));
            }
            found.say(chat);
        } else if held.is_empty() && !memory::is_known(record, list) {
            let place = format!("record {}", self.n_records);
            let reason = "no memory: it has no words";
            return emit(Event::Trouble(Trouble::new(place, reason, "the memories beside it went in")));
        }
        if depth < DEPTH_MAX && !held.is_empty() {
            let owner = owner.within(record);
            for (name, values) in held {
                for value in array(values) {
                    self.record(value, name, &owner, depth + 1, emit)?;
                }
            }
        }
        Ok(())
    }

    /// Hands on the sources, in the order in which they were met; how many turns they have.
    pub fn finish(self, input: &Input<'_>, is_cut: bool, emit: &mut Emit<'_>) -> Result<usize> {
        let Self { mut sources, order, .. } = self;
        let mut n_said = 0;
        for key in order {
            let Some(mut chat) = sources.remove(&key) else { continue };
            chat.is_cut |= is_cut;
            n_said += chat.turns.len();
            emit(chat.finish(file_name(input.name), input.source_bytes_max))?;
        }
        Ok(n_said)
    }
}

/// Whether the file's first object is a memory itself, as in JSONL.
fn is_record(input: &Input<'_>) -> bool {
    let Ok(head) = input.part().and_then(|part| part.head(crate::decode::HEAD_BYTES)) else { return false };
    let shape = Shape::of(&head);
    shape.has_lines || is_memory(&shape, 1)
}

/// Whether a value holds `name`.
pub(super) fn has(value: &Value<'_>, name: &str) -> bool {
    *field(value, name) != Value::Null
}
