//! One pass over one text: is it JSON (RFC 8259, in UTF-8), and where do the members of its outermost object lie?
//!
//! This layer knows nothing of JSON-RPC. [`scan`] answers yes or no, as fast as the CPU allows; [`explain`] goes
//! through a rejected text byte by byte and says what is wrong with it. The two are written independently and held to
//! each other, and to serde_json, by tests.

mod blocks;
mod cpu;
mod explain;
mod nesting;
mod numbers;

pub(crate) use explain::{Defect, Flaw, explain};
pub(crate) use nesting::DEEPEST;

#[cfg(test)]
mod tests;

/// Where something lies in a text shorter than 4 GiB: the bytes from `start` up to before `end`.
///
/// No JSON value is empty, so the empty span stands for nothing at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    #[inline(always)]
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

/// An implementation of the scanner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// 64 bytes at a time, with AVX-512.
    Avx512,
    /// 64 bytes at a time, with AVX2.
    Avx2,
    /// 64 bytes at a time, with what the compiler makes of it.
    Portable,
}

impl Cpu {
    /// All there are, the best first.
    pub const ALL: [Self; 3] = [Self::Avx512, Self::Avx2, Self::Portable];

    /// The best one that runs here.
    pub fn detect() -> Self {
        Self::ALL.into_iter().find(|cpu| cpu.is_available()).unwrap_or(Self::Portable)
    }

    /// Whether it runs here.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => cpu::avx512::Avx512::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => cpu::avx2::Avx2::detect().is_some(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 | Self::Avx2 => false,
            Self::Portable => true,
        }
    }
}

/// Judges `text` with the implementation for `cpu`, or the portable one if that does not run here.
///
/// `max_depth` is at most [`DEEPEST`], and the text shorter than 4 GiB.
#[inline]
pub(crate) fn scan<M: Members>(cpu: Cpu, text: &[u8], max_depth: u32, members: &mut M) -> Option<Root> {
    debug_assert!(max_depth <= DEEPEST);
    #[cfg(target_arch = "x86_64")]
    match cpu {
        Cpu::Avx512 => {
            if let Some(avx512) = cpu::avx512::Avx512::detect() {
                return avx512.scan(text, max_depth, members).ok();
            }
        }
        Cpu::Avx2 => {
            if let Some(avx2) = cpu::avx2::Avx2::detect() {
                return avx2.scan(text, max_depth, members).ok();
            }
        }
        Cpu::Portable => {}
    }
    blocks::scan(cpu::portable::Portable, text, max_depth, members).ok()
}
