//! See `wireline_fuzz::c_api`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    wireline_fuzz::c_api::run(data);
});
