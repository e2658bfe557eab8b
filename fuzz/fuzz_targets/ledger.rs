//! See `wireline_fuzz::ledger`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wireline_fuzz::ledger::run(data));
