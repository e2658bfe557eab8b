//! Tokens as three bits each, in three words.
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
//! To append the tokens of a block is to gather the bits of each word that stand where tokens begin, and to put them after
//! those that are there:
//!
//! ```text
//! block      , "ab": [1   "before": { , "" : [ 1
//! tokens     ^ ^   ^ ^^
//! after      1 0   1 00             0 1 0  1 0 0
//! ```

use super::super::cpu::{Block, Masks};
use super::{JUDGED, Pack, TOKENS, Tokens, ones};

/// The three bits of up to 64 bytes or tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Bits {
    /// Brackets.
    pub(in super::super) bracket: u64,
    /// Closing brackets, commas and colons: what comes after a value or a key.
    pub(in super::super) after: u64,
    /// Curly brackets, colons and strings.
    pub(in super::super) kind: u64,
}

/// A CPU that has instructions to gather bits.
pub(in super::super) trait Gather: Masks {
    /// The bits of `bits` that stand where `mask` has ones, side by side.
    fn gather(self, bits: u64, mask: u64) -> u64;

    /// What the structure of a block is. Of other bytes, all bits are zero; of control characters that may be anything.
    fn shapes(self, block: &Block) -> Bits;
}

/// See the [module](self).
#[derive(Default)]
pub(in super::super) struct Planes {
    tokens: Bits,
    /// Those of the last block that came after the 64th.
    rest: Bits,
}

impl Bits {
    #[inline(always)]
    fn each(self, f: impl Fn(u64) -> u64) -> Self {
        Self { bracket: f(self.bracket), after: f(self.after), kind: f(self.kind) }
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self { bracket: self.bracket | other.bracket, after: self.after | other.after, kind: self.kind | other.kind }
    }
}

impl<C: Gather> Pack<C> for Planes {
    type Shapes = Bits;

    #[inline(always)]
    fn before_text(_: C, after_comma: bool) -> Self {
        let separator = 1 << (JUDGED - 1);
        let kind = if after_comma { 0 } else { separator };
        Self { tokens: Bits { bracket: 0, after: separator, kind }, rest: Bits::default() }
    }

    #[inline(always)]
    fn structure(cpu: C, block: &Block) -> (u64, Bits) {
        let shapes = cpu.shapes(block);
        (shapes.bracket | shapes.after, shapes)
    }

    #[inline(always)]
    fn append(&mut self, cpu: C, _: &Block, shapes: Bits, tokens: u64, strings: u64, count: u32) {
        let shapes = Bits { kind: shapes.kind | strings, ..shapes };
        let gathered = Bits {
            bracket: cpu.gather(shapes.bracket, tokens),
            after: cpu.gather(shapes.after, tokens),
            kind: cpu.gather(shapes.kind, tokens),
        };
        self.tokens = self.tokens.or(gathered.each(|bits| bits << (count & 63)));
        if count + tokens.count_ones() > TOKENS {
            self.rest = gathered.each(|bits| bits >> ((TOKENS - count) & 63));
        }
    }

    #[inline(always)]
    fn tokens(&self, _: C, count: u32) -> Tokens {
        let Bits { bracket, after, kind } = self.tokens;
        let all = ones(count);
        let separator = after & !bracket;
        let value = all & !(bracket | after);
        Tokens {
            new: all & !ones(JUDGED),
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
        let judged = self.tokens.each(|bits| bits >> ((count - JUDGED) & 63));
        self.tokens = judged.or(self.rest.each(|bits| bits << JUDGED));
        self.rest = self.rest.each(|bits| bits >> (TOKENS - JUDGED));
    }
}
