//! Where strings begin and end, and whether their contents are valid.

use super::cpu::{BLOCK, Block, Masks};
use super::pass::Rejected;
use super::text::{Text, TextMasks};

/// State carried from block to block.
#[derive(Default)]
pub(super) struct Strings {
    /// All ones if the previous block ended inside a string, otherwise zero.
    inside: u64,
    escapes: Escapes,
    pub(super) has_escapes: bool,
}

/// An escape sequence that continues in the next block.
#[derive(Clone, Copy, Default)]
pub(super) struct Escapes {
    /// 1 if the previous block ended in a backslash that escapes the next byte.
    escaped: u64,
    /// The first bytes of the next block, up to four, that must be hexadecimal digits.
    hex: u64,
}

impl Strings {
    /// The quotes that begin or end a string.
    #[inline(always)]
    pub(super) fn quotes<C: Masks>(&mut self, cpu: C, block: &Block, masks: TextMasks) -> Result<u64, Rejected> {
        if masks.backslash | self.escapes.pending() == 0 {
            return Ok(masks.quote);
        }
        // Backslashes outside strings are checked too: a text that has one is invalid anyway.
        self.has_escapes = true;
        let escaped = self.escapes.escaped(masks.backslash);
        match self.escapes.wrong(cpu, block, escaped) & masks.within {
            0 => Ok(masks.quote & !escaped),
            _ => Err(Rejected),
        }
    }

    /// Whether the whole block lies inside one string.
    #[inline(always)]
    pub(super) fn fill_block(&self, quote: u64) -> bool {
        self.inside & !quote == !0
    }

    /// Skips such a block, and as many like it as follow.
    #[inline(always)]
    pub(super) fn skip<C: Masks>(&mut self, cpu: C, masks: TextMasks, text: &mut Text<'_>) -> Result<(), Rejected> {
        if masks.control != 0 {
            return Err(Rejected);
        }
        text.step();
        let (to, high);
        if masks.backslash | self.escapes.pending() == 0 {
            (to, high) = cpu.skip_plain(text.as_bytes(), text.at());
        } else {
            (self.escapes, to, high) = cpu.skip_escaped(self.escapes, text.as_bytes(), text.at());
        }
        text.skip_to(to, high);
        Ok(())
    }

    /// The bytes inside strings, including each opening quote but not the closing one.
    #[inline(always)]
    pub(super) fn inside<C: Masks>(&mut self, cpu: C, quotes: u64) -> u64 {
        let inside = cpu.prefix_xor(quotes) ^ self.inside;
        self.inside = (inside.cast_signed() >> 63).cast_unsigned();
        inside
    }

    /// Whether the text ends inside a string, if it ends here.
    #[inline(always)]
    pub(super) fn is_inside(&self) -> bool {
        self.inside != 0
    }
}

impl Escapes {
    /// Nonzero if the next block begins inside an escape sequence.
    #[inline(always)]
    fn pending(self) -> u64 {
        self.escaped | self.hex
    }

    /// The bytes that a backslash escapes: every second one of a run of backslashes, and the byte after an odd run.
    #[inline(always)]
    fn escaped(&mut self, backslash: u64) -> u64 {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;

        // A backslash that is itself escaped, by the last byte of the block before, begins nothing.
        let backslash = backslash & !self.escaped;
        // Adding the start of a run to the run clears it, and sets the bit after it. Done for those that begin at an
        // odd bit, it tells them from the others, and overflows if one of them leaves the block: with an odd length.
        let odd_start = backslash & !(backslash << 1) & ODD;
        let (sum, overflows) = backslash.overflowing_add(odd_start);
        let began_odd = backslash & !sum;
        // After its first backslash, a run that began at an even bit escapes at odd bits, and the other way round.
        let escaped = ((backslash << 1) & (ODD ^ (began_odd << 1))) | self.escaped;
        self.escaped = u64::from(overflows);
        escaped
    }

    /// The bytes that make escape sequences invalid, given those that backslashes escape.
    #[inline(always)]
    fn wrong<C: Masks>(&mut self, cpu: C, block: &Block, escaped: u64) -> u64 {
        let mut wrong = escaped & !cpu.escapable(block);
        if wrong | self.hex != 0 {
            let unicode = wrong & cpu.unicode(block);
            wrong ^= unicode;
            let digits = unicode << 1 | unicode << 2 | unicode << 3 | unicode << 4 | self.hex;
            self.hex = unicode >> 63 | unicode >> 62 | unicode >> 61 | unicode >> 60;
            wrong |= digits & !cpu.hex(block);
        }
        wrong
    }

    /// Skips blocks from `at` on that lie inside one string, escapes included. Returns where they end, and whether they have
    /// bytes beyond ASCII.
    #[inline(always)]
    pub(super) fn skip<C: Masks>(&mut self, cpu: C, text: &[u8], mut at: usize) -> (usize, bool) {
        let mut high = 0;
        loop {
            let mut is_plain = false;
            for block in text.get(at..).unwrap_or_default().as_chunks().0 {
                let Some(skipped) = self.skip_block(cpu, block) else { break };
                high |= skipped.high;
                at += BLOCK;
                is_plain = C::EXPENSIVE && skipped.is_plain;
                if is_plain {
                    break;
                }
            }
            if !is_plain {
                return (at, high != 0);
            }
            let (to, high_there) = cpu.skip_plain(text, at);
            at = to;
            high |= u64::from(high_there);
        }
    }

    /// Skips one block, unless a string ends in it or it is invalid.
    #[inline(always)]
    fn skip_block<C: Masks>(&mut self, cpu: C, block: &Block) -> Option<Skipped> {
        let masks = cpu.insides(block);
        let (mut quote, mut wrong) = (masks.quote, 0);
        let mut after = *self;
        if masks.backslash | self.pending() != 0 {
            let escaped = after.escaped(masks.backslash);
            quote &= !escaped;
            wrong = after.wrong(cpu, block, escaped);
        }
        if quote | wrong | masks.control != 0 {
            return None;
        }
        *self = after;
        Some(Skipped { high: masks.high, is_plain: masks.backslash | after.pending() == 0 })
    }
}

/// A block inside a string.
struct Skipped {
    /// Not zero if it has bytes beyond ASCII.
    high: u64,
    /// Whether it has no backslash, and no escape sequence continues after it.
    is_plain: bool,
}
