//! See `wireline_fuzz::serve`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wireline_fuzz::serve::run(data));
