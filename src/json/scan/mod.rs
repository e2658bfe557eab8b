//! One pass over one text: is it JSON (RFC 8259, in UTF-8), and where do the members of its outermost object lie?
//!
//! This layer knows nothing of JSON-RPC. [`Scanner::scan`] answers yes or no, as fast as the CPU allows; [`explain()`] goes
//! through a rejected text byte by byte and says what is wrong with it. The two are written independently and held to
//! each other, and to serde_json, by tests.

mod carry;
mod cpu;
mod grammar;
mod group;
pub(super) mod nesting;
mod numbers;
mod outermost;
mod pairs;
mod pass;
mod strings;
mod text;

pub(crate) use super::explain::{Defect, Flaw, explain};
pub(crate) use nesting::DEEPEST;

#[cfg(test)]
mod tests;

/// Where something lies in a text of 4 GiB at the most: the bytes from `start` up to before `end`.
///
/// No JSON value is empty, so the empty span stands for nothing at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "no text is longer: the rules see to that")]
    pub(crate) fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end && u32::try_from(end).is_ok());
        Self { start: start as u32, end: end as u32 }
    }

    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }

    #[inline(always)]
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    #[inline(always)]
    pub(crate) fn end(self) -> usize {
        self.end as usize
    }

    #[inline(always)]
    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start as usize..self.end as usize]
    }
}

/// Is told of the outermost object's members while a text is scanned.
pub(crate) trait Members {
    /// `key` with its quotes and `value` without blanks around it, in order. If the text turns out to be no JSON
    /// further on, what was told before means nothing.
    fn member(&mut self, text: &[u8], key: Span, value: Span);
}

/// For those who only want to know whether a text is JSON.
impl Members for () {
    fn member(&mut self, _: &[u8], _: Span, _: Span) {}
}

/// A text, and what lies after it in memory: that is ignored, but it is quicker to read over the end than to copy.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    buffer: &'a [u8],
    ends_at_line_feed: bool,
    /// How much of the text is known already: nothing, or the beginning of an object, up to a comma between members.
    known: usize,
}

/// All of it, whatever line breaks there are.
impl<'a> From<&'a [u8]> for Input<'a> {
    #[inline(always)]
    fn from(text: &'a [u8]) -> Self {
        Self { buffer: text, ends_at_line_feed: false, known: 0 }
    }
}

impl<'a> Input<'a> {
    /// The text that ends before the first line feed in a buffer, or with it if there is none.
    #[inline(always)]
    pub(crate) fn first_line(buffer: &'a [u8]) -> Self {
        Self { buffer, ends_at_line_feed: true, known: 0 }
    }

    /// The same text, if it begins with `members`, which is `{`, members of an object, and a comma. They are not scanned, and
    /// nobody is told of them.
    #[inline(always)]
    pub(crate) fn after(self, members: &[u8]) -> Option<Self> {
        self.buffer.starts_with(members).then_some(Self { known: members.len(), ..self })
    }

    /// The text, given how long it is.
    #[inline(always)]
    pub(crate) fn first_bytes(self, len: usize) -> &'a [u8] {
        &self.buffer[..len]
    }
}

/// What a JSON text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Root {
    #[default]
    Scalar,
    Object,
    Array {
        len: usize,
    },
}

/// What is known of a text that is JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// How long it is.
    pub(crate) len: usize,
    pub(crate) root: Root,
    /// Whether there is an escape in one of its strings.
    pub(crate) has_escapes: bool,
    /// Whether there is a tab, a line feed or a carriage return between its tokens.
    pub(crate) has_controls: bool,
}

/// The implementations of the scanner, by what they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// AVX-512, F and BW.
    Avx512,
    /// AVX2.
    Avx2,
    /// NEON, little-endian.
    Neon,
    /// Nothing in particular.
    Portable,
}

impl Cpu {
    /// All there are, the best first.
    pub const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];

    /// Whether it runs here.
    pub fn is_available(self) -> bool {
        Scanner::new(self).is_some()
    }
}

/// An implementation that runs here.
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
    Portable(cpu::portable::Portable),
}

impl Scanner {
    /// The one for `cpu`, if it runs here.
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
            Cpu::Portable => Some(Self::PORTABLE),
        }
    }

    /// The best one.
    pub(crate) fn best() -> Self {
        Cpu::ALL.into_iter().find_map(Self::new).unwrap_or(Self::PORTABLE)
    }

    const PORTABLE: Self = Self::Portable(cpu::portable::Portable);

    /// Judges `input`, which is 4 GiB long at the most, and tells `members` of each member of the outermost object. `None` if
    /// it is not JSON, or deeper than `max_depth`, which is at most [`DEEPEST`].
    #[inline]
    pub(crate) fn scan<'a, M: Members>(
        self,
        input: impl Into<Input<'a>>,
        max_depth: u32,
        members: &mut M,
    ) -> Option<Scanned> {
        debug_assert!(max_depth <= DEEPEST);
        let input = input.into();
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(avx512) => avx512.scan(input, max_depth, members),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.scan(input, max_depth, members),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2WithoutGather(avx2) => avx2.scan(input, max_depth, members),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon(neon) => neon.scan(input, max_depth, members),
            Self::Portable(portable) => portable.scan(input, max_depth, members),
        }
        .ok()
    }
}
