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
//! | `bad` | why nothing more can be pulled |
//! | `value` | the bytes of a record to a value; mends what JSON may carry and a text may not |
//! | `lines` | JSONL: one record a line |
//! | `shape` | which names stand where in the first bytes of a file: how readers know their own |

mod bad;
mod frame;
mod lines;
mod pull;
mod shape;
mod value;

pub(crate) use bad::Bad;
pub(crate) use lines::{Line, Lines};
pub(crate) use pull::{Kind, Pull, Record};
pub(crate) use shape::Shape;
pub(crate) use value::{Value, array, clean, few_values, field, number, object, parse, text, whole_number};
