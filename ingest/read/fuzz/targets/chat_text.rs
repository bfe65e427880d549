//! See `read::fuzzing::chat_text`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| read::fuzzing::chat_text(data));
