//! See `wireline_fuzz::connection`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wireline_fuzz::connection::run(data));
