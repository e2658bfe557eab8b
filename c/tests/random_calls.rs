//! Calls the C functions in random order. For a longer run, set `WIRELINE_CALLS` to the number of steps.

use crate::calls;

use std::sync::atomic::{AtomicU64, Ordering};

static PANICS: AtomicU64 = AtomicU64::new(0);

#[test]
fn in_any_order() {
    // Count panics, since the boundary catches them and only returns a status.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        print(info);
    }));
    let wanted = std::env::var("WIRELINE_CALLS").map_or(200_000, |calls| calls.parse().expect("a number of calls"));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut data = vec![0; 4096];
    let mut all = calls::Counts::default();
    while all.steps < wanted {
        for byte in &mut data {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *byte = (state >> 32) as u8;
        }
        let counts = calls::run(&data);
        all.steps += counts.steps;
        all.decoded += counts.decoded;
        all.encoded += counts.encoded;
        all.requests += counts.requests;
        all.answered += counts.answered;
        all.calls += counts.calls;
        all.responses += counts.responses;
        all.written += counts.written;
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
    println!("{all:?}");
    // Not all calls may have failed.
    for count in [all.decoded, all.encoded, all.requests, all.answered, all.calls, all.responses, all.written] {
        assert!(count > all.steps / 2000, "{all:?}");
    }
}
