//! A handshake that lets JSON text pass through `serde` unparsed, from a value of this crate to its own serializer.
//!
//! A value that already has its JSON serializes as a newtype struct named [`RAW_FRAGMENT`]. To other serializers that
//! is a newtype like any other. This crate's serializer recognises the name and [asks](ask_for_fragment) for the text;
//! the inner value sees [that it was asked](fragment_was_asked) and passes its JSON as a string.

use std::cell::Cell;

/// The name of a newtype struct that can hand over its JSON text.
pub(crate) const RAW_FRAGMENT: &str = "$wireline::RawJson";

thread_local! {
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// Asks the value that is serialized next on this thread for its JSON text. Dropping the returned value takes the
/// question back.
#[must_use]
pub(crate) fn ask_for_fragment() -> Question {
    ASKED.set(true);
    Question(())
}

/// Whether the value being serialized was asked for its JSON text. This takes the question, so that nested values do
/// not answer it again.
pub(crate) fn fragment_was_asked() -> bool {
    ASKED.replace(false)
}

/// An open question, see [`ask_for_fragment`].
#[derive(Debug)]
pub(crate) struct Question(());

/// A question must not stay open, even after a panic: the next value would answer it, whatever serializer it goes to.
impl Drop for Question {
    fn drop(&mut self) {
        ASKED.set(false);
    }
}
