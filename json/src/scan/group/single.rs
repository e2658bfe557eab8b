//! The tokens of one block, in place.
//!
//! Shifting a mask moves every token to the byte after it. Adding that to a mask of blanks carries those tokens over
//! the blanks that follow them:
//!
//! ```text
//! text     { "a" : [ 1 , "b" ] , "c" : 2 }
//! comma    ............^.......^..........
//! steps    .............^.......^.........    comma << 1
//! lands    ..............^.......^........    (blank + (steps & blank)) & !blank, or in place if there is no blank
//! ```
//!
//! A token carried past the end of the block enters the next one at its first byte.

use super::super::carry::Carry;
use super::super::cpu::{Block, Masks, StructureMasks};
use super::super::grammar::{self, After, Claims};
use super::super::nesting::{Brackets, Levels, Nesting};
use super::super::pass::Rejected;
use super::{BlockTokens, Group, Tokens, bits};

/// The tokens of one block, in place.
pub(in super::super) struct Single {
    tokens: Tokens,
    /// Whether the tokens have been checked already.
    is_empty: bool,
    /// The position of the block in the text.
    at: u32,
    inside: u64,
    blank: u64,
    // Tokens of earlier blocks whose successor hasn't been scanned yet.
    after_open: Carry,
    after_comma: Carry,
    after_colon: Carry,
    key: Carry,
    after_key: Carry,
}

impl<C: Masks> Group<C> for Single {
    type Shapes = StructureMasks;
    type Origins = ();

    #[inline(always)]
    fn new(_: C, previous: u8) -> Self {
        let carry = |token: u8| Carry(u64::from(previous == token));
        Self {
            tokens: Tokens::default(),
            is_empty: true,
            at: 0,
            inside: 0,
            blank: 0,
            after_open: carry(b'{'),
            after_comma: carry(b','),
            after_colon: carry(b':'),
            key: Carry(0),
            after_key: Carry(0),
        }
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        !self.is_empty
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.is_empty
    }

    #[inline(always)]
    fn structure(cpu: C, block: &Block) -> (u64, StructureMasks) {
        let masks = cpu.structure(block);
        (masks.open | masks.close | masks.comma | masks.colon, masks)
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "texts have at most 4 GiB")]
    fn append(&mut self, _: C, _: &Block, masks: StructureMasks, found: BlockTokens, at: usize, (): &mut ()) -> bool {
        let BlockTokens { tokens, string, scalar, inside, blank } = found;
        let StructureMasks { open, close, curly, comma, colon } = masks;
        self.tokens = Tokens {
            new: tokens,
            open: open & tokens,
            close: close & tokens,
            curly,
            comma: comma & tokens,
            colon: colon & tokens,
            string,
            scalar,
        };
        (self.is_empty, self.at, self.inside, self.blank) = (false, at as u32, inside, blank);
        true
    }

    #[inline(always)]
    fn tokens(&self, _: C) -> Tokens {
        self.tokens
    }

    #[inline(always)]
    fn read(&mut self, tokens: Tokens) -> Result<Claims, Rejected> {
        let Self { inside, blank, .. } = *self;
        let Tokens { open, comma, colon, string, .. } = tokens;
        let after = if blank == 0 {
            // The next token is the next byte, as in compact JSON.
            let open = self.after_open.step(open);
            let comma = self.after_comma.step(comma);
            let colon = self.after_colon.step(colon);
            let key_end = self.key.land((open | comma) & string, inside);
            After { open, comma, colon, key: self.after_key.step(key_end) }
        } else {
            let open = self.after_open.land_after(open, blank);
            let comma = self.after_comma.land_after(comma, blank);
            let colon = self.after_colon.land_after(colon, blank);
            let key_end = self.key.land((open | comma) & string, inside);
            After { open, comma, colon, key: self.after_key.land_after(key_end, blank) }
        };
        grammar::read(tokens, after, !0)
    }

    #[inline(always)]
    fn nest(cpu: C, brackets: Brackets, nesting: &mut Nesting) -> Result<Levels, Rejected> {
        nesting.steps(cpu, brackets)
    }

    #[inline(always)]
    fn places(&self, _: C, tokens: u64, (): &()) -> impl Iterator<Item = usize> {
        bits(tokens).map(|token| (self.at + token.trailing_zeros()) as usize)
    }

    #[inline(always)]
    fn restart(&mut self, _: C, (): &mut ()) {
        self.is_empty = true;
    }

    #[inline(always)]
    fn all_fit(&self) -> bool {
        true
    }
}
