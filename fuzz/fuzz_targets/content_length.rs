//! See `wireline_fuzz::framings`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wireline_fuzz::framings::content_length(data));
