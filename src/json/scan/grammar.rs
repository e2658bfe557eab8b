//! Which token may follow which, for all the tokens of a block at once.
//!
//! Shift a mask by one and every token has stepped to the byte after it; add it to a mask of blanks and every token
//! that stood before blanks has been carried over them.
//!
//! ```text
//! text     { "a" : [ 1 , "b" ] , "c" : 2 }
//! comma    ............^.......^..........
//! steps    .............^.......^.........    comma << 1
//! lands    ..............^.......^........    (blank + (steps & blank)) & !blank, or where it stepped on no blank
//! ```
//!
//! What depends on the enclosing container is only whether a comma or an opening bracket is followed by a key and a
//! colon, or by a bare value. Both leave a mark, *evidence* of an object or of an array, which is compared with what
//! [`nesting`](super::nesting) finds there to be.

use super::carry::Carry;

/// The tokens of a block.
#[derive(Clone, Copy)]
pub(super) struct Tokens {
    /// The bytes within strings, without the quotes that end them.
    pub(super) inside: u64,
    pub(super) string_start: u64,
    /// Where numbers and literals begin.
    pub(super) scalar_start: u64,
    pub(super) blank: u64,
    pub(super) open: u64,
    pub(super) close: u64,
    pub(super) comma: u64,
    pub(super) colon: u64,
}

/// Which tokens still wait for what comes after them.
pub(super) struct Grammar {
    after_open: Carry,
    after_comma: Carry,
    after_colon: Carry,
    key: Carry,
    after_key: Carry,
}

/// What the tokens of a block say.
pub(super) struct Said {
    /// Where it shows that they stand in an object.
    pub(super) in_object: u64,
    /// Where it shows that they stand in an array.
    pub(super) in_array: u64,
    /// Those that are wrong, whatever they stand in.
    pub(super) bad: u64,
}

impl Default for Grammar {
    #[inline(always)]
    fn default() -> Self {
        Self {
            after_open: Carry(0),
            after_comma: Carry(0),
            // The beginning is followed by a value, as a colon is.
            after_colon: Carry(1),
            key: Carry(0),
            after_key: Carry(0),
        }
    }
}

impl Grammar {
    /// For what comes after a comma.
    #[inline(always)]
    pub(super) fn after_comma() -> Self {
        Self { after_comma: Carry(1), after_colon: Carry(0), ..Self::default() }
    }

    #[inline(always)]
    pub(super) fn block(&mut self, tokens: Tokens) -> Said {
        let Tokens { inside, string_start, scalar_start, blank, open, close, comma, colon } = tokens;

        // What each opening bracket, comma, colon and key is followed by. A key may be what comes after an opening
        // bracket or a comma.
        let (after_open, after_comma, after_colon, after_key);
        if blank == 0 {
            // As compact JSON has it: what follows is the next byte.
            after_open = self.after_open.step(open);
            after_comma = self.after_comma.step(comma);
            after_colon = self.after_colon.step(colon);
            let key_end = self.key.land((after_open | after_comma) & string_start, inside);
            after_key = self.after_key.step(key_end);
        } else {
            after_open = self.after_open.land_after(open, blank);
            after_comma = self.after_comma.land_after(comma, blank);
            after_colon = self.after_colon.land_after(colon, blank);
            let key_end = self.key.land((after_open | after_comma) & string_start, inside);
            after_key = self.after_key.land_after(key_end, blank);
        }
        let after_separator = after_open | after_comma;
        // A value stands there and nowhere else, but for an empty container; and a colon only after a key.
        let value = open | scalar_start | string_start;
        let bad = ((value ^ (after_separator | after_colon)) & !(close & after_open)) | (colon & !after_key);
        Said {
            in_object: after_key & colon,
            in_array: (after_key & !colon) | (after_separator & (open | scalar_start)),
            bad,
        }
    }

    /// Whether a text that ends here ends too early, as far as it shows in no bracket that is open.
    #[inline(always)]
    pub(super) fn awaits_more(&self) -> bool {
        self.after_colon.0 != 0
    }
}
