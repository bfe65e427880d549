//! See `read::fuzzing::decode`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| read::fuzzing::decode(data));
