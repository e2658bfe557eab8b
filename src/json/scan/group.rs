//! The tokens that are judged together, and where they came from.

use super::cpu::{Block, Masks};
use super::pack::{JUDGED, Pack, TOKENS, Tokens};

/// How many blocks the tokens of a group may come from.
const BLOCKS: usize = 8;

/// Where each token of a group came from, block by block.
pub(super) type Origins = [Origin; BLOCKS];

/// The tokens of a group that came from one block.
#[derive(Clone, Copy, Default)]
pub(super) struct Origin {
    /// Where they are in the block.
    pub(super) tokens: u64,
    /// Where the block is in the text.
    pub(super) at: u32,
    /// How many tokens of the group come before them.
    pub(super) before: u32,
}

/// Tokens that are collected until there are 64 of them, or they come from eight blocks, or the text ends.
///
/// The first two have been judged with the group before, and are there to look back at. So no step must remember
/// anything of one group for the next but which brackets are open.
pub(super) struct Group<P> {
    packed: P,
    count: u32,
    blocks: usize,
    /// The tokens of the last block that no longer fit.
    rest: Origin,
}

impl<P> Group<P> {
    /// Nothing, at the beginning of a text, or after a comma.
    #[inline(always)]
    pub(super) fn new<C: Masks>(cpu: C, after_comma: bool) -> Self
    where
        P: Pack<C>,
    {
        Self { packed: P::before_text(cpu, after_comma), count: JUDGED, blocks: 0, rest: Origin::default() }
    }

    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.count < TOKENS && self.blocks < BLOCKS
    }

    /// Whether there is nothing to judge.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.count == JUDGED
    }

    #[inline(always)]
    pub(super) fn tokens<C: Masks>(&self, cpu: C) -> Tokens
    where
        P: Pack<C>,
    {
        self.packed.tokens(cpu, self.count)
    }

    /// Where the tokens came from, but for the first two.
    #[inline(always)]
    pub(super) fn origins<'o>(&self, origins: &'o Origins) -> &'o [Origin] {
        &origins[..self.blocks]
    }

    /// Appends those bytes of `block`, which is at `at`, that begin tokens. There must be room.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "a block, what is known of it, and where it goes")]
    #[allow(clippy::cast_possible_truncation, reason = "no text is longer than a span can say")]
    pub(super) fn append<C: Masks>(
        &mut self,
        cpu: C,
        block: &Block,
        shapes: P::Shapes,
        tokens: u64,
        strings: u64,
        at: usize,
        origins: &mut Origins,
    ) where
        P: Pack<C>,
    {
        self.packed.append(cpu, block, shapes, tokens, strings, self.count);
        self.count_in(cpu, tokens, at as u32, origins);
    }

    /// Begins again with the last two tokens, and those that did not fit.
    #[inline(always)]
    pub(super) fn restart<C: Masks>(&mut self, cpu: C, origins: &mut Origins)
    where
        P: Pack<C>,
    {
        self.packed.restart(cpu, self.count);
        let Origin { tokens, at, .. } = self.rest;
        (self.count, self.blocks, self.rest) = (JUDGED, 0, Origin::default());
        self.count_in(cpu, tokens, at, origins);
    }

    /// Notes where tokens that have been appended came from, and which of them did not fit.
    #[inline(always)]
    fn count_in<C: Masks>(&mut self, cpu: C, tokens: u64, at: u32, origins: &mut Origins) {
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
