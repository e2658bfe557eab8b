//! What `node.mjs` calls: a decoder for it to measure, and checks that panic if they fail.
//!
//! A panic stops the instance, and Node reports `RuntimeError: unreachable`.
#![allow(unsafe_code, reason = "exported functions have unmangled names")]

mod checks;

use std::hint::black_box;
use std::sync::{LazyLock, Mutex, PoisonError};

use wireline::{Decoder, Rules};
use wireline_corpus::Corpus;

/// Traffic, which Node also reads.
static TRAFFIC: Mutex<Vec<u8>> = Mutex::new(Vec::new());

static DECODER: LazyLock<Mutex<(Decoder, Vec<u8>)>> =
    LazyLock::new(|| Mutex::new((Decoder::new(Rules::json_rpc()), vec![0; ROOM])));

/// The most bytes that Node passes in at once.
const ROOM: usize = 64 << 10;

/// Generates the `nth` corpus, of at least `bytes` bytes, and returns its length.
#[unsafe(no_mangle)]
pub extern "C" fn generate(nth: usize, bytes: usize) -> usize {
    let mut traffic = TRAFFIC.lock().unwrap_or_else(PoisonError::into_inner);
    *traffic = Corpus::ALL[nth].lines(bytes);
    traffic.len()
}

/// The address of the traffic that was generated last.
#[unsafe(no_mangle)]
pub extern "C" fn generated() -> *const u8 {
    TRAFFIC.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// The address to which Node copies what [`decode`] reads.
#[unsafe(no_mangle)]
pub extern "C" fn room() -> *mut u8 {
    DECODER.lock().unwrap_or_else(PoisonError::into_inner).1.as_mut_ptr()
}

/// Feeds the first `len` bytes of the room to the decoder, and returns the number of messages that this completes.
#[unsafe(no_mangle)]
pub extern "C" fn decode(len: usize) -> u32 {
    let (decoder, room) = &mut *DECODER.lock().unwrap_or_else(PoisonError::into_inner);
    decoder.feed(&room[..len]);
    let mut messages = 0;
    while let Some(frame) = decoder.next_frame() {
        if let Err(fault) = black_box(&frame) {
            panic!("{fault:?}");
        }
        messages += 1;
    }
    messages
}

/// Decodes each line of the acceptance table under each dialect, split at each point. Returns the number of lines.
#[unsafe(no_mangle)]
pub extern "C" fn check_table() -> usize {
    checks::table()
}

/// Runs a session of a thousand requests between two connections. Returns the number of events.
#[unsafe(no_mangle)]
pub extern "C" fn check_session() -> usize {
    checks::session()
}
