//! Where strings begin and end, and whether what is in them may be.

use super::cpu::{Block, Masks, StringMasks};

/// What a block must know of the ones before.
#[derive(Default)]
pub(super) struct Strings {
    /// All ones if the block before ended within a string, otherwise zero.
    pub(super) inside: u64,
    /// 1 if the block before ended in a backslash that escapes.
    escaped: u64,
    /// The low bits, up to four, that must be hexadecimal digits.
    hex: u64,
    pub(super) has_escapes: bool,
}

impl Strings {
    /// Not zero if the next block begins with what belongs to an escape.
    #[inline(always)]
    pub(super) fn pending(&self) -> u64 {
        self.escaped | self.hex
    }

    /// The quotes that begin or end a string, and the wrong escapes.
    #[inline(always)]
    pub(super) fn quotes<C: Masks>(&mut self, cpu: C, block: &Block, masks: StringMasks) -> (u64, u64) {
        if masks.backslash | self.pending() == 0 {
            return (masks.quote, 0);
        }
        // Outside strings a backslash is wrong in any case, so what is found to be wrong with it there is right.
        self.has_escapes = true;
        let escaped = self.escaped(masks.backslash);
        (masks.quote & !escaped, self.wrong_escapes(cpu, block, escaped))
    }

    /// The bytes within strings: the quote that begins one included, the one that ends it not.
    #[inline(always)]
    pub(super) fn inside<C: Masks>(&mut self, cpu: C, quotes: u64) -> u64 {
        let inside = cpu.prefix_xor(quotes) ^ self.inside;
        self.inside = (inside.cast_signed() >> 63).cast_unsigned();
        inside
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

    #[inline(always)]
    fn wrong_escapes<C: Masks>(&mut self, cpu: C, block: &Block, escaped: u64) -> u64 {
        let masks = cpu.escapes(block);
        let unicode = escaped & masks.unicode;
        let mut bad = escaped & !masks.escapable;
        if unicode | self.hex != 0 {
            let digits = unicode << 1 | unicode << 2 | unicode << 3 | unicode << 4 | self.hex;
            self.hex = unicode >> 63 | unicode >> 62 | unicode >> 61 | unicode >> 60;
            bad |= digits & !cpu.hex(block);
        }
        bad
    }
}
