//! See `wireline_fuzz::differential`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wireline_fuzz::differential::run(data, wireline_fuzz::witnesses::ALL));
