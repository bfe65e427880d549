//! See `read::fuzzing::chat_json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| read::fuzzing::chat_json(data));
