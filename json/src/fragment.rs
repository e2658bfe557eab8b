//! A handshake that passes JSON text through serde verbatim, from a value of wireline to wireline's serializer.
//!
//! A value that already has its JSON serializes as a newtype struct named [`RAW_FRAGMENT`]. Other serializers treat
//! this as an ordinary newtype. Wireline's serializer passes the inner value a serializer that takes part in the
//! handshake:
//!
//! ```text
//! serializer                      inner value
//! ----------                      -----------
//! discards earlier offers
//!                            <-   asks whether text is welcome, by calling is_human_readable
//! agrees
//!                            <-   records the address of its text, and passes it to serialize_str
//! writes this text verbatim,
//! and rejects any other
//! ```
//!
//! A string that comes without an offer is an ordinary string.
//!
//! `is_human_readable` is the only method that a value can call without consuming its serializer. A buffer, such as
//! serde's own for flattened and tagged types, has its own serializer, which doesn't agree. The inner value then
//! serializes the value that its text represents. The buffer later replays that value under the same name, but without
//! an offer. Other types of that name make no offer either.

use std::cell::Cell;

use serde::Serializer;

/// The name of a newtype struct that can pass its JSON text verbatim.
pub const RAW_FRAGMENT: &str = "$wireline::RawJson";

/// The name of the struct in which serde_json's `RawValue` passes its text to a serializer, and of the newtype struct
/// with which it requests text from a deserializer.
pub const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// The name of the struct in which serde_json passes numbers if its feature `arbitrary_precision` is on.
pub const NUMBER: &str = "$serde_json::private::Number";

thread_local! {
    static HANDSHAKE: Cell<Handshake> = const { Cell::new(Handshake::Idle) };
}

#[derive(Clone, Copy)]
enum Handshake {
    Idle,
    /// The serializer has agreed to accept text.
    Welcome,
    /// The value is about to pass the text at this address.
    Offered {
        address: usize,
        len: usize,
    },
}

/// Discards earlier offers. The serializer calls this before it serializes an inner value.
#[inline(always)]
pub fn begin() {
    HANDSHAKE.set(Handshake::Idle);
}

/// Agrees to accept text. The serializer calls this in `is_human_readable`.
#[inline(always)]
pub fn welcome() {
    HANDSHAKE.set(Handshake::Welcome);
}

/// Whether `serializer` accepts the text of a fragment. The inner value calls this.
#[inline(always)]
pub fn is_welcome<S: Serializer>(serializer: &S) -> bool {
    HANDSHAKE.set(Handshake::Idle);
    serializer.is_human_readable();
    matches!(HANDSHAKE.replace(Handshake::Idle), Handshake::Welcome)
}

/// Passes the text of a fragment to a serializer that [accepts it](is_welcome).
#[inline(always)]
pub fn pass<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    HANDSHAKE.set(Handshake::Offered { address: text.as_ptr().addr(), len: text.len() });
    serializer.serialize_str(text)
}

/// How a serializer must treat a string that it receives as the inner value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The string is the text that was offered.
    Fragment,
    /// Nothing was offered, so it is an ordinary string.
    String,
    /// A different text was offered.
    Other,
}

/// Compares `text` with the offer and clears the offer. The serializer calls this in `serialize_str`.
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
