//! See `read::fuzzing::readers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| read::fuzzing::readers(data));
