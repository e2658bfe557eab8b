//! See `wireline_fuzz::envelope`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wireline_fuzz::envelope::run(data));
