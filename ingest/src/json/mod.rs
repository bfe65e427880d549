//! JSON of any length, pulled value by value in bounded memory.
//!
//! Only the framing is ours: [`Pull`] finds where a value begins and ends, `serde_json` reads it. A
//! value that a caller takes lies in memory whole, so it has a bound; what is skipped has none. An
//! archive of gigabytes on one line costs its largest record.
//!
//! | file | does |
//! |---|---|
//! | `frame` | where a value ends, however the input is cut into reads |
//! | `pull` | into arrays and objects, record by record |
//! | `lines` | JSONL: one record a line |

mod frame;
mod lines;
mod pull;

pub(crate) use lines::{Line, Lines};
#[allow(unused_imports, reason = "the readers that come next pull objects too")]
pub(crate) use pull::{Bad, Kind, Pull, Record};
