//! How checked JSON text passes through `serde` without being parsed: by an agreement between two parts of this crate.
//!
//! A value that has its JSON already serializes as a newtype struct named [`RAW_FRAGMENT`]. Any serializer sees an
//! ordinary newtype and writes what is in it. The crate's own serializer knows the name, and [asks](ask_for_fragment)
//! for the text itself; what is in the newtype notices [that it was asked](fragment_was_asked), and hands its text over
//! as a string.

use std::cell::Cell;

/// The name of a newtype struct that can hand over its JSON text.
pub(crate) const RAW_FRAGMENT: &str = "$wireline::RawJson";

thread_local! {
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// Asks the value that is serialized next, on this thread, for its JSON text. The question is void once the returned
/// value is dropped.
#[must_use]
pub(crate) fn ask_for_fragment() -> Question {
    ASKED.set(true);
    Question(())
}

/// Whether the value that calls this was asked for its JSON text. It answers the question, so the next call returns
/// `false`.
pub(crate) fn fragment_was_asked() -> bool {
    ASKED.replace(false)
}

/// See [`ask_for_fragment`].
#[derive(Debug)]
pub(crate) struct Question(());

/// Not even a panic leaves the question open: a value on its way to another serializer would take it for one of its own.
impl Drop for Question {
    fn drop(&mut self) {
        ASKED.set(false);
    }
}
