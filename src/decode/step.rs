//! What the parser of a framing finds at the start of the bytes that haven't been decoded.

use std::ops::Range;

use crate::message::FaultKind;

/// The outcome of a step.
pub(super) enum Step {
    /// More bytes are needed, unless the stream has ended.
    More,
    /// The first bytes don't belong to a message.
    Skip(Passed),
    /// A message or a fault.
    Item(Item),
    /// After these bytes, a text starts that has to be discarded as it arrives.
    Discard(Passed, Oversized),
}

/// A number of bytes, and the number of lines that end in them.
#[derive(Clone, Copy, Default)]
pub(super) struct Passed {
    pub(super) bytes: usize,
    pub(super) lines: u64,
}

/// A complete message or fault. Its positions count from the start of the bytes in which it was found.
pub(super) struct Item {
    /// The text to parse or to report.
    pub(super) text: Range<usize>,
    /// How many lines end before the text.
    pub(super) line: u64,
    /// Up to the next item. Doesn't count lines that end in the text, if `may_have_lines` is set.
    pub(super) passed: Passed,
    pub(super) may_have_lines: bool,
    /// Whether the text consists of several parts, which have to be joined.
    pub(super) is_in_parts: bool,
    /// The rule of the framing that is broken, and the place in the text, or a number beyond its end.
    pub(super) broken: Option<(FaultKind, usize)>,
}

/// A text beyond the limit.
pub(super) enum Oversized {
    /// A body of this length.
    Body(u64),
    /// A line before a header.
    Noise,
    /// An event.
    Event,
}
