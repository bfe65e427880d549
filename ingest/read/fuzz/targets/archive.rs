//! See `read::fuzzing::archive`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| read::fuzzing::archive(data));
