//! Tokens side by side: those of several blocks, with nothing in between.
//!
//! | | keeps | for |
//! |---|---|---|
//! | [`Planes`](planes::Planes) | three bits a token, in three words | CPUs that gather bits in one instruction |
//! | [`Bytes`](bytes::Bytes) | the first byte of each token, in memory | the others |
//! | `Register`, among the CPU-specific files | the same in a register | CPUs that gather bytes in one instruction |

pub(super) mod bytes;
pub(super) mod planes;

use super::cpu::{Block, Masks};

/// How many tokens are judged at once: as many as a mask has bits.
pub(super) const TOKENS: u32 = u64::BITS;

/// How many of them have been judged before: as many as it takes to know what may come next. The others have a comma or
/// an opening bracket, and a string, to look back at.
pub(super) const JUDGED: u32 = 2;

/// Up to 64 tokens, and what comes after them of the last block.
///
/// The number of tokens is kept by whoever uses this, and passed to each function.
pub(super) trait Pack<C: Masks>: Sized {
    /// What is known of a block's structure apart from where it is.
    type Shapes: Copy;

    /// The [`JUDGED`] tokens that stand before a text: what comes after them is a value, as after a colon; or what comes
    /// after a comma.
    fn before_text(cpu: C, after_comma: bool) -> Self;

    /// Where a block has brackets, commas and colons, in strings and outside; and control characters, maybe.
    fn structure(cpu: C, block: &Block) -> (u64, Self::Shapes);

    /// Appends those bytes of `block` that are in `tokens` to `count` others, which are fewer than 64. `strings` are those
    /// that begin strings.
    ///
    /// Those that come after the 64th are kept until [`restart`](Self::restart).
    fn append(&mut self, cpu: C, block: &Block, shapes: Self::Shapes, tokens: u64, strings: u64, count: u32);

    /// What the first `count` tokens are.
    fn tokens(&self, cpu: C, count: u32) -> Tokens;

    /// Begins again with the last [`JUDGED`] of `count` tokens, and what came after the 64th.
    fn restart(&mut self, cpu: C, count: u32);
}

/// What up to 64 tokens are: bit `i` of each mask speaks of token `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Those that have not been judged before.
    pub(super) new: u64,
    /// `{` and `[`.
    pub(super) open: u64,
    /// `}` and `]`.
    pub(super) close: u64,
    /// Which of those brackets are `{` and `}`. Of other tokens it says nothing.
    pub(super) curly: u64,
    pub(super) comma: u64,
    pub(super) colon: u64,
    pub(super) string: u64,
    /// Numbers and literals.
    pub(super) scalar: u64,
}

/// `count` ones, at most 64.
#[inline(always)]
pub(super) fn ones(count: u32) -> u64 {
    if count >= u64::BITS { !0 } else { (1 << count) - 1 }
}
