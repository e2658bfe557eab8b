//! Packed tokens as three words, with a bit of each token.
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
//! To append a block is to gather the bits of each word that stand where tokens begin, and to put them after those that are
//! there already:
//!
//! ```text
//! block        "ab": [17, {       tokens so far  { " : 1     and then  { " : 1 , " : [ 1 , {
//! tokens       ^   ^ ^^ ^ ^
//! bracket      ....  1    1                      1 0 0 0               1 0 0 0 0 0 0 1 0 0 1
//! ```

use super::super::cpu::{Block, Gather};
use super::Tokens;
use super::packed::{JUDGED, Pack, TOKENS, ones};

/// What kinds of tokens there are, by the three bits that tell them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct KindMasks {
    /// Brackets.
    pub(in super::super) bracket: u64,
    /// Closing brackets, commas and colons: what comes after a value or a key.
    pub(in super::super) after: u64,
    /// Curly brackets, colons and strings.
    pub(in super::super) kind: u64,
}

/// A CPU that tells these of a block.
pub(in super::super) trait Kinds: Gather {
    /// The bits of brackets, colons and commas. Those of control characters may be anything, and all others are zero.
    fn kinds(self, block: &Block) -> KindMasks;
}

/// See the [module](self).
pub(in super::super) struct Planes {
    tokens: KindMasks,
    /// Those of the last block that came after the 64th.
    rest: KindMasks,
}

impl<C: Kinds> Pack<C> for Planes {
    type Shapes = KindMasks;

    #[inline(always)]
    fn new(_: C, after_comma: bool) -> Self {
        let separator = 1 << (JUDGED - 1);
        let kind = if after_comma { 0 } else { separator };
        Self { tokens: KindMasks { bracket: 0, after: separator, kind }, rest: KindMasks::default() }
    }

    #[inline(always)]
    fn structure(cpu: C, block: &Block) -> (u64, KindMasks) {
        let kinds = cpu.kinds(block);
        (kinds.bracket | kinds.after, kinds)
    }

    #[inline(always)]
    fn append(&mut self, cpu: C, _: &Block, kinds: KindMasks, tokens: u64, strings: u64, count: u32) {
        let kinds = KindMasks { kind: kinds.kind | strings, ..kinds };
        let gathered = kinds.each(|bits| cpu.gather(bits, tokens));
        self.tokens = self.tokens.or(gathered.each(|bits| bits << (count % TOKENS)));
        if count + tokens.count_ones() > TOKENS {
            self.rest = gathered.each(|bits| bits >> ((TOKENS - count) % TOKENS));
        }
    }

    #[inline(always)]
    fn tokens(&self, _: C, count: u32) -> Tokens {
        let KindMasks { bracket, after, kind } = self.tokens;
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
        let judged = self.tokens.each(|bits| bits >> ((count - JUDGED) % TOKENS));
        self.tokens = judged.or(self.rest.each(|bits| bits << JUDGED));
        self.rest = self.rest.each(|bits| bits >> (TOKENS - JUDGED));
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
