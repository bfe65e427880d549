//! Sources, their versions and their turns.

use std::collections::BTreeMap;

use super::ids::{SourceId, TextDigest};
use super::scope::Scope;
use super::sentence::Span;
use super::time::Timestamp;

/// What kind of thing a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    /// A text without turns: Markdown, plain text, a note.
    Document,
    /// A sequence of turns by one or more authors.
    Conversation,
}

/// Whether a version of a source is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceState {
    /// Found by recall if it is the newest version.
    Live,
    /// Deleted: this version hides all before it.
    Deleted,
}

/// Who speaks in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// A person.
    User,
    /// A model that answers a person.
    Assistant,
    /// Instructions to a model.
    System,
    /// The output of a tool.
    Tool,
    /// Not said by the archive.
    Unknown,
}

/// Where a turn's time comes from. A file's own time is never one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeOrigin {
    /// The archive gives it for this turn.
    Given,
    /// Taken from the turn's surroundings: the session's start, the turn before.
    Inferred,
    /// Nothing says when; `said_at` is `None`.
    Unknown,
}

/// One version of a source; its retained text stands beside it in [`super::SourceEntry`].
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Hash of (scope, reader, key).
    pub id: SourceId,
    /// The exact scope it was written to.
    pub scope: Scope,
    /// The reader that made it: `markdown`, `text`, `chat`, `transcript`, `locomo`, …
    pub reader: String,
    /// The archive's own id, or collection label and relative path.
    pub key: String,
    /// For people; never part of the identity.
    pub title: String,
    /// Document or conversation.
    pub kind: SourceKind,
    /// Counts from 1 within the source; the highest one is what recall sees.
    pub version: u32,
    /// Whether this version is to be found or hides the source.
    pub state: SourceState,
    /// The digest of the retained text, the turns' ids, authors, roles and times.
    pub digest: TextDigest,
    /// The label under which it was imported.
    pub collection: String,
    /// Where in the import it was found: a path relative to the import's root. Empty for AddSource.
    pub path: String,
    /// When the archive was exported, where the archive says or shows it.
    pub exported_at: Option<Timestamp>,
    /// When Strata took this version in.
    pub recorded_at: Timestamp,
    /// Wordpieces of the whole text.
    pub n_tokens: u64,
    /// Wordpieces the model has no entry for.
    pub n_unknown: u64,
    /// Characters replaced while decoding (NUL, invalid UTF-8, lone surrogates).
    pub n_replaced: u64,
    /// What else the archive says of it, in the order of the names.
    pub metadata: BTreeMap<String, String>,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The archive's message id, unique within the source.
    pub id: String,
    /// The author as the archive names them; empty where it does not.
    pub author: String,
    /// Who speaks.
    pub role: Role,
    /// When it was said, where known.
    pub said_at: Option<Timestamp>,
    /// Where `said_at` comes from.
    pub said_at_origin: TimeOrigin,
    /// The message it answers, where the archive says so.
    pub reply_to: Option<String>,
    /// Which session of the conversation, from 0, never falling from turn to turn.
    pub session: u32,
    /// The turn's body within the retained text.
    pub span: Span,
    /// What else the archive says of it (an image's caption, a reaction), in the order of the names.
    pub metadata: BTreeMap<String, String>,
}

macro_rules! names {
    ($type:ident { $($variant:ident = $name:literal),* $(,)? }) => {
        impl $type {
            /// The name used in tables, on the wire and in answers.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Reads that name back.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }
        }
    };
}
pub(crate) use names;

names!(SourceKind { Document = "document", Conversation = "conversation" });
names!(SourceState { Live = "live", Deleted = "deleted" });
names!(Role { User = "user", Assistant = "assistant", System = "system", Tool = "tool", Unknown = "unknown" });
names!(TimeOrigin { Given = "given", Inferred = "inferred", Unknown = "unknown" });
