//! Tokens of several blocks, packed side by side.
//!
//! ```text
//! first block     {"id":17,"params":{"names":["a","b
//! second block    c"],"deep":true}}
//! group           { " : 1 , " : { " : [ " , " ] , " : t } }
//! ```
//!
//! The representation depends on the CPU:
//!
//! | | representation | needs |
//! |---|---|---|
//! | [`Planes`](super::planes::Planes) | three words, each with a bit of every token | PEXT and PDEP |
//! | `Register`, in the CPU-specific files | a register with the first byte of every token | also AVX-512 VBMI2 |

use super::super::cpu::{Block, Gather};
use super::super::grammar::{self, After, Claims};
use super::super::nesting::{Brackets, Levels, Nesting};
use super::super::pairs;
use super::super::pass::Rejected;
use super::{BlockTokens, Group, Tokens, bits};

/// The capacity of a group: one token for each bit of a mask.
pub(in super::super) const TOKENS: u32 = u64::BITS;

/// How many tokens of the previous group each group begins with.
///
/// The rules look back two tokens: a colon must come after a key, that is, a string after a comma or an opening
/// bracket. With these two tokens available, only the open brackets must be carried from group to group.
pub(in super::super) const OVERLAP: u32 = 2;

/// The most blocks that the tokens of a group may come from.
const BLOCKS: usize = 8;

/// Up to 64 tokens, and those of the last block that didn't fit. The caller counts them.
pub(in super::super) trait Pack<C: Gather> {
    type Shapes: Copy;

    /// Tokens of one block.
    type Gathered: Copy;

    /// Stand-ins for the [`OVERLAP`] tokens before the first group: a number, and `previous`, which is as for
    /// [`Group::new`].
    fn new(cpu: C, previous: u8) -> Self;

    /// See [`Group::structure`].
    fn structure(cpu: C, block: &Block) -> (u64, Self::Shapes);

    /// Gathers the tokens of `block`, side by side. `strings` are the opening quotes among them.
    fn gather(cpu: C, block: &Block, shapes: Self::Shapes, tokens: u64, strings: u64) -> Self::Gathered;

    /// Appends tokens after the first `count`, as far as they fit. `count` must be less than 64.
    fn append(&mut self, cpu: C, gathered: Self::Gathered, count: u32);

    /// Sets aside the tokens that didn't fit: all but the first `room`, which must be less than 64.
    fn set_aside(&mut self, cpu: C, gathered: Self::Gathered, room: u32);

    /// The first `count` tokens.
    fn tokens(&self, cpu: C, count: u32) -> Tokens;

    /// Keeps the last [`OVERLAP`] of `count` tokens, followed by those that didn't fit.
    fn restart(&mut self, cpu: C, count: u32);
}

/// Tokens of several blocks, packed side by side. A group has 64 tokens, or those of eight blocks that have any, or the
/// last ones of the text.
pub(in super::super) struct Packed<P> {
    pack: P,
    count: u32,
    /// The first token of each block.
    firsts: u64,
    /// The tokens of the last block that didn't fit.
    rest: Origin,
}

/// The tokens of a group that came from one block.
#[derive(Clone, Copy, Default)]
pub(in super::super) struct Origin {
    /// Their positions in the block.
    tokens: u64,
    /// The position of the block in the text.
    at: u32,
    /// How many tokens of the group come before them.
    before: u32,
}

impl<C: Gather, P: Pack<C>> Group<C> for Packed<P> {
    type Shapes = P::Shapes;
    type Origins = [Origin; BLOCKS];

    #[inline(always)]
    fn new(cpu: C, previous: u8) -> Self {
        Self { pack: P::new(cpu, previous), count: OVERLAP, firsts: 0, rest: Origin::default() }
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.count == TOKENS || self.blocks() == BLOCKS
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.count == OVERLAP
    }

    #[inline(always)]
    fn structure(cpu: C, block: &Block) -> (u64, P::Shapes) {
        P::structure(cpu, block)
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "texts have at most 4 GiB")]
    fn append(
        &mut self,
        cpu: C,
        block: &Block,
        shapes: P::Shapes,
        found: BlockTokens,
        at: usize,
        origins: &mut Self::Origins,
    ) -> bool {
        if found.tokens == 0 {
            return false;
        }
        let gathered = P::gather(cpu, block, shapes, found.tokens, found.string);
        self.pack.append(cpu, gathered, self.count);
        let room = TOKENS - self.count;
        if self.count_in(cpu, found.tokens, at as u32, origins) {
            self.pack.set_aside(cpu, gathered, room);
            return true;
        }
        self.blocks() == BLOCKS
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
    fn places(&self, cpu: C, tokens: u64, origins: &Self::Origins) -> impl Iterator<Item = usize> {
        bits(tokens).map(move |token| {
            // The number of first tokens up to this token is the number of blocks that have begun.
            let begun = (self.firsts & (token | (token - 1))).count_ones() as usize;
            let Origin { tokens, at, before } = origins[begun.wrapping_sub(1) % BLOCKS];
            (at + cpu.scatter(token >> (before % TOKENS), tokens).trailing_zeros()) as usize
        })
    }

    #[inline(always)]
    fn restart(&mut self, cpu: C, origins: &mut Self::Origins) {
        self.pack.restart(cpu, self.count);
        let Origin { tokens, at, .. } = self.rest;
        (self.count, self.firsts, self.rest) = (OVERLAP, 0, Origin::default());
        if tokens != 0 {
            self.count_in(cpu, tokens, at, origins);
        }
    }

    #[inline(always)]
    fn all_fit(&self) -> bool {
        self.rest.tokens == 0
    }
}

impl<P> Packed<P> {
    /// The number of blocks that the tokens come from. Blocks without tokens don't count.
    #[inline(always)]
    fn blocks(&self) -> usize {
        self.firsts.count_ones() as usize
    }

    /// Records the origin of the tokens just appended, and which of them didn't fit. Returns whether the group has no
    /// room for more tokens.
    #[inline(always)]
    fn count_in<C: Gather>(&mut self, cpu: C, tokens: u64, at: u32, origins: &mut [Origin; BLOCKS]) -> bool {
        origins[self.blocks() % BLOCKS] = Origin { tokens, at, before: self.count };
        self.firsts |= 1 << (self.count % TOKENS);
        let room = TOKENS - self.count;
        self.count += tokens.count_ones();
        if self.count < TOKENS {
            return false;
        }
        self.count = TOKENS;
        self.rest = Origin { tokens: cpu.scatter(!0 << room, tokens), at, before: 0 };
        true
    }
}

/// Sets the lowest `count` bits, at most 64.
#[inline(always)]
pub(in super::super) fn ones(count: u32) -> u64 {
    if count >= u64::BITS { !0 } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use quickcheck::{Gen, QuickCheck};

    use super::super::super::cpu::avx2::Avx2;
    use super::super::super::cpu::avx512::{Avx512, Register};
    use super::super::planes::Planes;
    use super::*;

    const BLOCK: usize = super::super::super::cpu::BLOCK;

    /// Classifies the tokens of a group one by one.
    fn naive(tokens: &[(u8, usize)]) -> Tokens {
        let is = |class: fn(u8) -> bool| {
            tokens.iter().enumerate().fold(0, |mask, (i, &(byte, _))| mask | u64::from(class(byte)) << i)
        };
        Tokens {
            new: is(|_| true) & !ones(OVERLAP),
            open: is(|b| b"{[".contains(&b)),
            close: is(|b| b"}]".contains(&b)),
            curly: is(|b| b"{}".contains(&b)),
            comma: is(|b| b == b','),
            colon: is(|b| b == b':'),
            string: is(|b| b == b'"'),
            scalar: is(|b| b"-10tfn".contains(&b)),
        }
    }

    /// Collects the given tokens of each block, and compares each group with the model.
    fn check<C: Gather, P: Pack<C>>(cpu: C, blocks: &[(Block, u64)], previous: u8) {
        let mut group = Packed::<P>::new(cpu, previous);
        let mut origins = [Origin::default(); BLOCKS];
        let mut model = vec![(b'0', 0), (previous, 0)];
        let mut checked = OVERLAP as usize;
        let mut blocks = blocks.iter().enumerate();
        let mut in_group = 0;
        loop {
            while !group.is_full()
                && let Some((i, &(block, tokens))) = blocks.next()
            {
                let is = |byte| (0..BLOCK).fold(0, |mask, i| mask | u64::from(block[i] == byte) << i) & tokens;
                let found = BlockTokens { tokens, string: is(b'"'), scalar: 0, inside: 0, blank: 0 };
                let (structural, shapes) = <Packed<P> as Group<C>>::structure(cpu, &block);
                assert_eq!(structural & tokens, b"{}[]:,".iter().fold(0, |all, &mark| all | is(mark)));
                let is_full = group.append(cpu, &block, shapes, found, i * BLOCK, &mut origins);
                assert_eq!(is_full, group.is_full());
                let places = (0..BLOCK).filter(|&at| tokens >> at & 1 != 0);
                model.extend(places.map(|at| (block[at], i * BLOCK + at)));
                in_group += usize::from(tokens != 0);
            }
            let end = model.len().min(checked - OVERLAP as usize + TOKENS as usize);
            assert_eq!(group.is_empty(), end == checked);
            if end == checked {
                break;
            }
            let expected = &model[checked - OVERLAP as usize..end];
            let tokens = group.tokens(cpu);
            let brackets = tokens.open | tokens.close;
            assert_eq!(Tokens { curly: tokens.curly & brackets, ..tokens }, naive(expected));
            assert_eq!(group.is_full(), expected.len() == TOKENS as usize || in_group == BLOCKS);
            // Each token separately, every third one, and all.
            for which in (0..64).map(|i| 1 << i).chain([0x4924_9249_2492_4924, !0]) {
                let which = which & tokens.new;
                let found = group.places(cpu, which, &origins);
                let places = expected.iter().enumerate().filter(|(i, _)| which >> i & 1 != 0);
                assert!(found.eq(places.map(|(_, &(_, at))| at)));
            }
            assert_eq!(group.all_fit(), end == model.len());
            checked = end;
            group.restart(cpu, &mut origins);
            in_group = usize::from(end < model.len());
        }
    }

    fn check_all(blocks: &[(Block, u64)]) {
        for previous in *b"{:," {
            if let Some(avx2) = Avx2::<true>::detect() {
                check::<_, Planes>(avx2, blocks, previous);
            }
            if let Some(avx512) = Avx512::detect() {
                check::<_, Register>(avx512, blocks, previous);
            }
        }
    }

    fn random_block(g: &mut Gen) -> Block {
        std::array::from_fn(|_| *g.choose(b"{}[]:,\"-10tfn").unwrap())
    }

    /// Tries every number of tokens in a group and in the next block.
    #[test]
    fn groups_end_where_they_are_full() {
        let mut g = Gen::new(10);
        for first in 0..=BLOCK {
            for second in 0..=BLOCK {
                let blocks = [first, second, 64, 63, 62, 1].map(|count| (random_block(&mut g), ones(count as u32)));
                check_all(&blocks);
            }
        }
    }

    /// Includes blocks without tokens, which don't count.
    #[test]
    fn groups_end_after_eight_blocks() {
        let mut g = Gen::new(10);
        for each in 0..9 {
            for len in 1..20 {
                let blocks: Vec<_> = (0..len).map(|i| (random_block(&mut g), ones(each) << (i * 5 % 40))).collect();
                check_all(&blocks);
                let with_gaps: Vec<_> = blocks.iter().flat_map(|&block| [(block.0, 0), block]).collect();
                check_all(&with_gaps);
            }
        }
    }

    #[test]
    fn random_groups() {
        fn property(tokens: Vec<(u64, u64)>) -> bool {
            let mut g = Gen::new(10);
            let blocks: Vec<_> = tokens.iter().map(|&(a, b)| (random_block(&mut g), a & b)).collect();
            check_all(&blocks);
            true
        }
        QuickCheck::new().tests(300).quickcheck(property as fn(Vec<(u64, u64)>) -> bool);
    }
}
