//! Validates JSON (RFC 8259, in UTF-8) and locates the members of its outermost object, in one pass.
//!
//! [`Scanner::scan`] only accepts or rejects a text, as fast as the CPU allows. [`explain`](super::explain()) then
//! walks a rejected text byte by byte to find the error. The two are written independently, and tests compare them with
//! each other and with serde_json.

use std::fmt;
use std::ops::Range;

mod block_reader;
mod carry;
mod cpu;
mod grammar;
mod group;
mod member;
pub(super) mod nesting;
mod numbers;
mod opening;
mod outermost;
#[cfg(target_arch = "x86_64")]
mod pairs;
mod pass;
mod strings;

pub(crate) use cpu::{BLOCK, Block};
pub use member::Member;
pub use nesting::DEEPEST;
pub use opening::Opening;

#[cfg(test)]
mod tests;

/// A range of bytes in a text of at most 4 GiB.
///
/// No JSON value is empty, so the empty span stands for a missing value.
///
/// Stored as one word, because spans are read right after they are written, and a load that spans several stores stalls
/// until all of them have completed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Span(u64);

impl Span {
    /// The bytes from `start` (inclusive) to `end` (exclusive).
    #[inline(always)]
    pub fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end && u32::try_from(end).is_ok());
        Self(start as u64 | (end as u64) << 32)
    }

    /// Whether the span has no bytes.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.start() == self.end()
    }

    /// The position of the first byte.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the lower half of the word")]
    pub fn start(self) -> usize {
        self.0 as u32 as usize
    }

    /// The position after the last byte.
    #[inline(always)]
    pub fn end(self) -> usize {
        (self.0 >> 32) as usize
    }

    /// The bytes of `text` in this span.
    #[inline(always)]
    pub fn of(self, text: &[u8]) -> &[u8] {
        &text[self.range()]
    }

    /// The part of `text` in this span, which must start and end at character boundaries.
    #[inline(always)]
    pub fn in_str(self, text: &str) -> &str {
        &text[self.range()]
    }

    /// Converts the span to a range.
    #[inline(always)]
    pub fn range(self) -> Range<usize> {
        self.start()..self.end()
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.range().fmt(f)
    }
}

/// Receives the members of the outermost object while a text is scanned.
pub trait Members {
    /// Receives a member, from the bracket or comma before it to the comma or bracket after it. It is meaningless if
    /// the rest of the text turns out not to be JSON.
    ///
    /// A receiver that knows how a key is spelled also knows where its value starts. Otherwise, it can call
    /// [`key_and_value`](Member::key_and_value).
    fn member(&mut self, text: &[u8], member: Member);

    /// Reads ahead at the start of an object: nothing, or a `{` and perhaps some members, each with the comma after it.
    /// These are neither scanned nor reported.
    ///
    /// The scan can't start until the end of these members is known. So unless scanning is `expensive`, an
    /// implementation should only read members whose end it can find without a search.
    #[inline(always)]
    fn opening<'a>(&mut self, opening: Opening<'a>, _expensive: bool) -> Opening<'a> {
        opening
    }
}

/// Ignores members, for callers that only validate.
impl Members for () {
    fn member(&mut self, _: &[u8], _: Member) {}
}

/// A text, and the bytes that follow it in memory. These are ignored, but reading past the end is faster than copying.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    buffer: &'a [u8],
    /// How many bytes of the buffer the text may have.
    len: usize,
    ends_at_line_feed: bool,
    /// Whether the receiver of members may read some of them [ahead](Members::opening).
    reads_ahead: bool,
}

/// The whole slice, including line breaks.
impl<'a> From<&'a [u8]> for Input<'a> {
    #[inline(always)]
    fn from(text: &'a [u8]) -> Self {
        Self::first_bytes_of(text, text.len())
    }
}

impl<'a> Input<'a> {
    /// The text up to the first line feed in a buffer, or all of it if there is none.
    #[inline(always)]
    pub fn first_line(buffer: &'a [u8]) -> Self {
        Self { buffer, len: buffer.len(), ends_at_line_feed: true, reads_ahead: false }
    }

    /// The first `len` bytes of a buffer, including line breaks.
    #[inline(always)]
    pub fn first_bytes_of(buffer: &'a [u8], len: usize) -> Self {
        Self { buffer, len: len.min(buffer.len()), ends_at_line_feed: false, reads_ahead: false }
    }

    /// All bytes that may belong to the text.
    #[inline(always)]
    fn text(self) -> &'a [u8] {
        &self.buffer[..self.len]
    }

    /// Lets the receiver read members [ahead](Members::opening).
    #[inline(always)]
    pub fn reading_ahead(self) -> Self {
        Self { reads_ahead: true, ..self }
    }

    /// The text, given its length.
    #[inline(always)]
    pub(crate) fn first_bytes(self, len: usize) -> &'a [u8] {
        &self.buffer[..len]
    }
}

/// The type of a JSON text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Root {
    /// A string, a number, `true`, `false` or `null`.
    #[default]
    Scalar,
    /// An object.
    Object,
    /// An array.
    Array {
        /// The number of elements.
        len: usize,
    },
}

/// The scanner's findings about a valid text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// The length of the text.
    pub len: usize,
    /// The type of the text.
    pub root: Root,
    /// The unusual features of the text.
    pub flags: TextFlags,
}

/// Unusual features of a valid text.
///
/// Stored as one word rather than several `bool`s, for the same reason as [`Span`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextFlags(usize);

impl TextFlags {
    const ESCAPES: usize = 1;
    const CONTROLS: usize = 2;

    #[inline(always)]
    fn new(has_escapes: bool, has_controls: bool) -> Self {
        Self((usize::from(has_escapes) * Self::ESCAPES) | (usize::from(has_controls) * Self::CONTROLS))
    }

    /// Whether any string contains an escape.
    #[inline(always)]
    pub fn has_escapes(self) -> bool {
        self.0 & Self::ESCAPES != 0
    }

    /// Whether there is a tab, a line feed or a carriage return between tokens.
    #[inline(always)]
    pub fn has_controls(self) -> bool {
        self.0 & Self::CONTROLS != 0
    }
}

/// The scanner's kernels, named after the instructions they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "kernels"), allow(unreachable_pub))]
pub enum Cpu {
    /// AVX-512: F, BW and VBMI2.
    Avx512,
    /// AVX2.
    Avx2,
    /// NEON, little-endian.
    Neon,
    /// WebAssembly's 128-bit vectors, chosen when compiling.
    Simd128,
    /// No special instructions.
    Portable,
}

#[cfg_attr(not(feature = "kernels"), allow(unreachable_pub))]
impl Cpu {
    /// All kernels, the fastest first.
    pub const ALL: [Self; 5] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Simd128, Self::Portable];
}

/// A kernel that this CPU supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scanner {
    #[cfg(target_arch = "x86_64")]
    Avx512(cpu::avx512::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(cpu::avx2::Avx2<true>),
    #[cfg(target_arch = "x86_64")]
    Avx2WithoutGather(cpu::avx2::Avx2<false>),
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon(cpu::neon::Neon),
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128(cpu::simd128::Simd128),
    Portable(cpu::portable::Portable),
}

impl Scanner {
    /// The kernel for `cpu`, if this machine supports it.
    pub(crate) fn new(cpu: Cpu) -> Option<Self> {
        match cpu {
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512 => cpu::avx512::Avx512::detect().map(Self::Avx512),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2 if cpu::avx2::gathers_quickly() => cpu::avx2::Avx2::detect().map(Self::Avx2),
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2 => cpu::avx2::Avx2::detect().map(Self::Avx2WithoutGather),
            #[cfg(not(target_arch = "x86_64"))]
            Cpu::Avx512 | Cpu::Avx2 => None,
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Cpu::Neon => cpu::neon::Neon::detect().map(Self::Neon),
            #[cfg(not(all(target_arch = "aarch64", target_endian = "little")))]
            Cpu::Neon => None,
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Cpu::Simd128 => Some(Self::Simd128(cpu::simd128::Simd128)),
            #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
            Cpu::Simd128 => None,
            Cpu::Portable => Some(Self::PORTABLE),
        }
    }

    pub(crate) const PORTABLE: Self = Self::Portable(cpu::portable::Portable);

    /// Scans `input`, which must have at most 4 GiB, and reports each member of the outermost object to `members`.
    /// Returns `None` if the input isn't JSON, or is nested deeper than `max_depth`, which must be at most [`DEEPEST`].
    #[inline]
    pub(crate) fn scan<M: Members>(self, input: Input<'_>, max_depth: u32, members: &mut M) -> Option<Scanned> {
        debug_assert!(max_depth <= DEEPEST);
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(avx512) => avx512.scan(input, max_depth, members),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.scan(input, max_depth, members),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2WithoutGather(avx2) => avx2.scan(input, max_depth, members),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon(neon) => neon.scan(input, max_depth, members),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Self::Simd128(simd128) => simd128.scan(input, max_depth, members),
            Self::Portable(portable) => portable.scan(input, max_depth, members),
        }
        .ok()
    }

    /// Computes the mask of quotes and backslashes of each of `blocks`, as far as there is room in `marks`.
    pub(crate) fn string_marks(self, blocks: &[Block], marks: &mut [u64]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(avx512) => avx512.string_marks(blocks, marks),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.string_marks(blocks, marks),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2WithoutGather(avx2) => avx2.string_marks(blocks, marks),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon(neon) => neon.string_marks(blocks, marks),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Self::Simd128(simd128) => simd128.string_marks(blocks, marks),
            Self::Portable(portable) => portable.string_marks(blocks, marks),
        }
    }
}
