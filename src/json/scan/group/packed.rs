//! Tokens side by side: those of several blocks, with nothing in between.
//!
//! ```text
//! blocks     {"id":17,"params":{"names":[" …     a", "bc"],"deep":true} …
//! tokens     {":1,":{":["                        ,"],":t}
//! ```
//!
//! How they are kept depends on the instructions there are:
//!
//! | | keeps | for CPUs |
//! |---|---|---|
//! | [`Planes`](super::planes::Planes) | three words, with a bit of each token | that gather bits |
//! | `Register`, among the CPU-specific files | the first byte of each token, in a register | that gather bytes |

use super::super::cpu::{Block, Gather};
use super::super::grammar::{self, After, Claims};
use super::super::nesting::{Brackets, Levels, Nesting};
use super::super::pairs;
use super::super::pass::Rejected;
use super::{Found, Group, Tokens};

/// How many tokens are judged at once: as many as a mask has bits.
pub(in super::super) const TOKENS: u32 = u64::BITS;

/// How many of them have been judged before, at the beginning of each group but the first, where there is something like
/// them: a colon is to be told from what comes after a value, for which one must see the key before it, and the comma or
/// bracket before that. So nothing else must be remembered of one group for the next, but which brackets are open.
pub(in super::super) const JUDGED: u32 = 2;

/// How many blocks the tokens of a group may come from.
const BLOCKS: usize = 8;

/// Up to 64 tokens, and those of the last block that come after them.
///
/// How many tokens there are is known to the caller, and passed to each function.
pub(in super::super) trait Pack<C: Gather> {
    type Shapes: Copy;

    /// [`JUDGED`] tokens that may stand before a text, or before what comes after a comma.
    fn new(cpu: C, after_comma: bool) -> Self;

    /// See [`Group::structure`].
    fn structure(cpu: C, block: &Block) -> (u64, Self::Shapes);

    /// Appends the bytes of `block` that are in `tokens` to `count` others, which are fewer than 64. `strings` are those
    /// that begin strings.
    fn append(&mut self, cpu: C, block: &Block, shapes: Self::Shapes, tokens: u64, strings: u64, count: u32);

    /// What the first `count` tokens are.
    fn tokens(&self, cpu: C, count: u32) -> Tokens;

    /// Begins again with the last [`JUDGED`] of `count` tokens, and what came after the 64th.
    fn restart(&mut self, cpu: C, count: u32);
}

/// See the [module](self).
///
/// Tokens are collected until there are 64 of them, or they come from eight blocks, or the text ends.
pub(in super::super) struct Packed<P> {
    pack: P,
    count: u32,
    blocks: usize,
    /// The tokens of the last block that no longer fit.
    rest: Origin,
}

/// The tokens of a group that came from one block.
#[derive(Clone, Copy, Default)]
pub(in super::super) struct Origin {
    /// Where they are in the block.
    tokens: u64,
    /// Where the block is in the text.
    at: u32,
    /// How many tokens of the group come before them.
    before: u32,
}

impl<C: Gather, P: Pack<C>> Group<C> for Packed<P> {
    type Shapes = P::Shapes;
    type Origins = [Origin; BLOCKS];

    #[inline(always)]
    fn new(cpu: C, after_comma: bool) -> Self {
        Self { pack: P::new(cpu, after_comma), count: JUDGED, blocks: 0, rest: Origin::default() }
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.count == TOKENS || self.blocks == BLOCKS
    }

    #[inline(always)]
    fn overflows(&self) -> bool {
        self.count == TOKENS
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.count == JUDGED
    }

    #[inline(always)]
    fn structure(cpu: C, block: &Block) -> (u64, P::Shapes) {
        P::structure(cpu, block)
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "no text is longer than a span can say")]
    fn append(
        &mut self,
        cpu: C,
        block: &Block,
        shapes: P::Shapes,
        found: Found,
        at: usize,
        origins: &mut Self::Origins,
    ) {
        self.pack.append(cpu, block, shapes, found.tokens, found.string, self.count);
        self.count_in(cpu, found.tokens, at as u32, origins);
    }

    #[inline(always)]
    fn tokens(&self, cpu: C) -> Tokens {
        self.pack.tokens(cpu, self.count)
    }

    #[inline(always)]
    fn read(&mut self, tokens: Tokens) -> Result<Claims, Rejected> {
        let (open, comma) = (tokens.open << 1, tokens.comma << 1);
        let key = ((open | comma) & tokens.string) << 1;
        grammar::read(tokens, After { open, comma, colon: tokens.colon << 1, key }, tokens.new)
    }

    #[inline(always)]
    fn nest(cpu: C, brackets: Brackets, nesting: &mut Nesting) -> Result<Levels, Rejected> {
        pairs::nest(cpu, brackets, nesting)
    }

    #[inline(always)]
    fn places(&self, cpu: C, tokens: u64, origins: &Self::Origins) -> impl Iterator<Item = (u32, u64)> {
        origins[..self.blocks]
            .iter()
            .map(move |origin| (origin.at, cpu.scatter(tokens >> (origin.before % TOKENS), origin.tokens)))
    }

    #[inline(always)]
    fn restart(&mut self, cpu: C, origins: &mut Self::Origins) {
        self.pack.restart(cpu, self.count);
        let Origin { tokens, at, .. } = self.rest;
        (self.count, self.blocks, self.rest) = (JUDGED, 0, Origin::default());
        self.count_in(cpu, tokens, at, origins);
    }

    #[inline(always)]
    fn all_fit(&self) -> bool {
        self.rest.tokens == 0
    }
}

impl<P> Packed<P> {
    /// Notes where tokens that have been appended came from, and which of them did not fit.
    #[inline(always)]
    fn count_in<C: Gather>(&mut self, cpu: C, tokens: u64, at: u32, origins: &mut [Origin; BLOCKS]) {
        origins[self.blocks % BLOCKS] = Origin { tokens, at, before: self.count };
        self.blocks += usize::from(tokens != 0);
        let room = TOKENS - self.count;
        self.count += tokens.count_ones();
        if self.count > TOKENS {
            self.count = TOKENS;
            self.rest = Origin { tokens: cpu.scatter(!0 << room, tokens), at, before: 0 };
        }
    }
}

/// `count` ones, at most 64.
#[inline(always)]
pub(in super::super) fn ones(count: u32) -> u64 {
    if count >= u64::BITS { !0 } else { (1 << count) - 1 }
}
