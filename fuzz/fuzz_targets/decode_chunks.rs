//! See `wireline_fuzz::decode_chunks`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wireline_fuzz::decode_chunks::run(data));
