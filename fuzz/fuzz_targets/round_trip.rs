//! See `wireline_fuzz::round_trip`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wireline_fuzz::round_trip::run(data));
