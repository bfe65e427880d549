//! See `read::fuzzing::json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| read::fuzzing::json(data));
