//! A handshake that lets JSON text pass through `serde` unparsed, from a value of this crate to its own serializer.
//!
//! A value that already has its JSON serializes as a newtype struct named [`RAW_FRAGMENT`]. To other serializers that is
//! a newtype like any other. This crate's serializer hands the inner value a serializer that takes part in this:
//!
//! ```text
//! serializer                      inner value
//! ----------                      -----------
//! forgets earlier offers
//!                            <-   asks whether text is welcome, by calling is_human_readable
//! says yes
//!                            <-   notes the address of its text, and passes it to serialize_str
//! takes this text verbatim,
//! and refuses any other
//! ```
//!
//! Without an offer, a string is a string.
//!
//! `is_human_readable` is the only method that a value can call without giving up its serializer. A buffer, such as
//! serde's own for flattened and tagged types, has a serializer of its own, which doesn't say yes. The inner value then
//! serializes what its text says, and that is what comes out of the buffer: under the same name, but without an offer.
//! Other types of that name make no offer either.

use std::cell::Cell;

use serde::Serializer;

/// The name of a newtype struct that can hand over its JSON text.
pub const RAW_FRAGMENT: &str = "$wireline::RawJson";

/// The name of the struct with which serde_json's `RawValue` passes its text to a serializer, and of the newtype struct
/// with which it asks a deserializer for one.
pub const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// The name of the struct with which serde_json passes numbers if its feature `arbitrary_precision` is on.
pub const NUMBER: &str = "$serde_json::private::Number";

thread_local! {
    static HANDSHAKE: Cell<Handshake> = const { Cell::new(Handshake::Idle) };
}

#[derive(Clone, Copy)]
enum Handshake {
    Idle,
    /// The serializer has said that it takes text.
    Welcome,
    /// The value is about to pass this text.
    Offered {
        address: usize,
        len: usize,
    },
}

/// Forgets earlier offers. The serializer calls this before it serializes an inner value.
#[inline(always)]
pub fn begin() {
    HANDSHAKE.set(Handshake::Idle);
}

/// Says that text is welcome. The serializer calls this in `is_human_readable`.
#[inline(always)]
pub fn welcome() {
    HANDSHAKE.set(Handshake::Welcome);
}

/// Whether `serializer` takes the text of a fragment. The inner value calls this.
#[inline(always)]
pub fn is_welcome<S: Serializer>(serializer: &S) -> bool {
    HANDSHAKE.set(Handshake::Idle);
    serializer.is_human_readable();
    matches!(HANDSHAKE.replace(Handshake::Idle), Handshake::Welcome)
}

/// Passes the text of a fragment to a serializer to which it [is welcome](is_welcome).
#[inline(always)]
pub fn pass<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    HANDSHAKE.set(Handshake::Offered { address: text.as_ptr().addr(), len: text.len() });
    serializer.serialize_str(text)
}

/// What a string is that a serializer receives in place of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The text that was offered.
    Fragment,
    /// A string like any other: nothing was offered.
    String,
    /// Not the text that was offered.
    Other,
}

/// Takes the offer. The serializer calls this in `serialize_str`.
#[inline(always)]
pub fn receive(text: &str) -> Received {
    match HANDSHAKE.replace(Handshake::Idle) {
        Handshake::Offered { address, len } if address == text.as_ptr().addr() && len == text.len() => {
            Received::Fragment
        }
        Handshake::Offered { .. } => Received::Other,
        Handshake::Idle | Handshake::Welcome => Received::String,
    }
}
