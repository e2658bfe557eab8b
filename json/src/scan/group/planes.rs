//! Packed tokens as three words, each with a bit of every token.
//!
//! | | `bracket` | `after` | `kind` |
//! |---|---|---|---|
//! | `{` | 1 | 0 | 1 |
//! | `[` | 1 | 0 | 0 |
//! | `}` | 1 | 1 | 1 |
//! | `]` | 1 | 1 | 0 |
//! | `:` | 0 | 1 | 1 |
//! | `,` | 0 | 1 | 0 |
//! | string | 0 | 0 | 1 |
//! | number or literal | 0 | 0 | 0 |
//!
//! To append a block, the bits of its tokens are gathered from each word, and shifted to the end of the group:
//!
//! ```text
//! block      "ab": [17, {
//! tokens     ^   ^ ^^ ^ ^
//! bracket    0   0 10 0 1    gathered: 001001, in the order of the text
//! ```

use super::super::cpu::{Block, Gather};
use super::Tokens;
use super::packed::{OVERLAP, Pack, TOKENS, ones};

/// The three bits that distinguish tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct KindMasks {
    /// Brackets.
    pub(in super::super) bracket: u64,
    /// Closing brackets, commas and colons, which come after a value or a key.
    pub(in super::super) after: u64,
    /// Curly brackets, colons and strings.
    pub(in super::super) kind: u64,
}

/// A CPU that can compute these bits for a block.
pub(in super::super) trait Kinds: Gather {
    /// The bits of brackets, colons and commas. The bits of control characters are arbitrary, and all others zero.
    fn kinds(self, block: &Block) -> KindMasks;
}

/// Packed tokens as three words.
pub(in super::super) struct Planes {
    tokens: KindMasks,
    /// The tokens of the last block that didn't fit.
    rest: KindMasks,
}

impl<C: Kinds> Pack<C> for Planes {
    type Shapes = KindMasks;
    type Gathered = KindMasks;

    #[inline(always)]
    fn new(_: C, previous: u8) -> Self {
        let is = |yes: bool| u64::from(yes) << (OVERLAP - 1);
        let [open, comma] = [previous == b'{', previous == b','];
        Self { tokens: KindMasks { bracket: is(open), after: is(!open), kind: is(!comma) }, rest: KindMasks::default() }
    }

    #[inline(always)]
    fn structure(cpu: C, block: &Block) -> (u64, KindMasks) {
        let kinds = cpu.kinds(block);
        (kinds.bracket | kinds.after, kinds)
    }

    #[inline(always)]
    fn gather(cpu: C, _: &Block, kinds: KindMasks, tokens: u64, strings: u64) -> KindMasks {
        KindMasks { kind: kinds.kind | strings, ..kinds }.each(|bits| cpu.gather(bits, tokens))
    }

    #[inline(always)]
    fn append(&mut self, _: C, gathered: KindMasks, count: u32) {
        self.tokens = self.tokens.or(gathered.each(|bits| bits << (count % TOKENS)));
    }

    #[inline(always)]
    fn set_aside(&mut self, _: C, gathered: KindMasks, room: u32) {
        self.rest = gathered.each(|bits| bits >> (room % TOKENS));
    }

    #[inline(always)]
    fn tokens(&self, _: C, count: u32) -> Tokens {
        let KindMasks { bracket, after, kind } = self.tokens;
        let all = ones(count);
        let separator = after & !bracket;
        let value = all & !(bracket | after);
        Tokens {
            new: all & !ones(OVERLAP),
            open: bracket & !after,
            close: bracket & after,
            curly: kind,
            comma: separator & !kind,
            colon: separator & kind,
            string: value & kind,
            scalar: value & !kind,
        }
    }

    #[inline(always)]
    fn restart(&mut self, _: C, count: u32) {
        let overlap = self.tokens.each(|bits| bits >> ((count - OVERLAP) % TOKENS));
        self.tokens = overlap.or(self.rest.each(|bits| bits << OVERLAP));
        self.rest = self.rest.each(|bits| bits >> (TOKENS - OVERLAP));
    }
}

impl KindMasks {
    #[inline(always)]
    fn each(self, f: impl Fn(u64) -> u64) -> Self {
        Self { bracket: f(self.bracket), after: f(self.after), kind: f(self.kind) }
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self { bracket: self.bracket | other.bracket, after: self.after | other.after, kind: self.kind | other.kind }
    }
}
