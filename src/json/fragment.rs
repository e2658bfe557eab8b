//! How a JSON text passes through serde as it is spelled.
//!
//! serde has no notion of text that is to be written verbatim, so the two sides agree on a name and a signal. A type
//! that holds JSON text serializes as a newtype struct called [`RAW_FRAGMENT`]. This crate's serializer recognises the
//! name and calls [`ask_for`] right before it serializes the inner value with a serializer made for that; the inner
//! value finds that it [was asked for](was_asked_for), and hands over its text as a string. Every other serializer
//! treats a newtype struct as what is inside: nobody has asked, and the inner value serializes as the values that the
//! text stands for.

use std::cell::Cell;

/// The name of a newtype struct that holds JSON text.
pub(crate) const RAW_FRAGMENT: &str = "$wireline::RawJson";

thread_local! {
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// Asks the value that is serialized next on this thread for its text.
pub(crate) fn ask_for() {
    ASKED.set(true);
}

/// Whether the text was asked for. This answers the request, so the next call returns false.
pub(crate) fn was_asked_for() -> bool {
    ASKED.replace(false)
}
