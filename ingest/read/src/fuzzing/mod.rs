//! What each fuzz target does with its bytes: `ingest/read/fuzz` calls these, the tests replay its corpus.
//!
//! Every function takes any bytes and panics where a promise of the readers does not hold.
//!
//! | target | function | tries |
//! |---|---|---|
//! | `json` | [`json`] | framing, pulling, lines and parsing against `serde_json`, however the input is cut |
//! | `decode` | [`decode`] | bytes to text, and what is mended |
//! | `archive` | [`archive`] | what archives list and what their entries read to |
//! | `chat_text` | [`chat_text`] | the readers of chats in plain text |
//! | `chat_json` | [`chat_json`] | the readers of JSON |
//! | `readers` | [`readers`] | several files of any names, through the door; every reader there is, also by force |
//!
//! A new reader is tried by `readers` as it stands. One with a parser of its own gets a line in
//! [`files::TEXT_NAMES`] or [`files::JSON_NAMES`], or a function here and a target beside the others.

mod files;
mod json;

pub use files::{archive, chat_json, chat_text, readers};
pub use json::{decode, json};

#[cfg(test)]
mod tests {
    use std::path::Path;

    type Target = fn(&[u8]);

    const TARGETS: &[(&str, Target)] = &[
        ("json", super::json),
        ("decode", super::decode),
        ("archive", super::archive),
        ("chat_text", super::chat_text),
        ("chat_json", super::chat_json),
        ("readers", super::readers),
    ];

    #[test]
    fn what_the_fuzzer_found_worth_keeping_breaks_no_promise() {
        for (name, target) in TARGETS {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
            let mut n_inputs = 0;
            for entry in std::fs::read_dir(&folder).unwrap() {
                target(&std::fs::read(entry.unwrap().path()).unwrap());
                n_inputs += 1;
            }
            assert!(n_inputs > 0, "{name} has no corpus");
        }
    }
}
