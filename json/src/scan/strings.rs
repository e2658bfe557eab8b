//! Finds where strings begin and end, and validates their contents.

use super::block_reader::{BlockMasks, BlockReader};
use super::cpu::{BLOCK, Block, Masks};
use super::pass::Rejected;

/// State carried from block to block.
#[derive(Default)]
pub(super) struct Strings {
    /// All ones if the previous block ended inside a string, otherwise zero.
    inside: u64,
    escapes: EscapeState,
    pub(super) has_escapes: bool,
}

/// An escape sequence that continues in the next block.
#[derive(Clone, Copy, Default)]
pub(super) struct EscapeState {
    /// 1 if the previous block ended in a backslash that escapes the next byte.
    escaped: u64,
    /// The bytes at the start of the next block, up to four, that must be hexadecimal digits.
    hex: u64,
}

impl Strings {
    /// The quotes that begin or end a string. Fails on invalid escapes.
    #[inline(always)]
    pub(super) fn quotes<C: Masks>(&mut self, cpu: C, block: &Block, masks: BlockMasks) -> Result<u64, Rejected> {
        if masks.backslash | self.escapes.pending() == 0 {
            return Ok(masks.quote);
        }
        // Backslashes outside strings are treated the same, since a text that has one is invalid anyway.
        self.has_escapes = true;
        let escaped = self.escapes.escaped(masks.backslash);
        match self.escapes.invalid(cpu, block, escaped) & masks.within {
            0 => Ok(masks.quote & !escaped),
            _ => Err(Rejected),
        }
    }

    /// Whether the whole block is inside one string.
    #[inline(always)]
    pub(super) fn fill_block(&self, quote: u64) -> bool {
        self.inside & !quote == !0
    }

    /// Skips a block that is inside a string, and all blocks after it that are inside the same string.
    #[inline(always)]
    pub(super) fn skip<C: Masks>(
        &mut self,
        cpu: C,
        masks: BlockMasks,
        text: &mut BlockReader<'_>,
    ) -> Result<(), Rejected> {
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

    /// The bytes inside strings, including the opening quotes but not the closing ones.
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

impl EscapeState {
    /// Nonzero if the next block begins inside an escape sequence.
    #[inline(always)]
    fn pending(self) -> u64 {
        self.escaped | self.hex
    }

    /// The bytes escaped by a backslash: every second one in a run of backslashes, and the byte after a run of odd
    /// length.
    #[inline(always)]
    fn escaped(&mut self, backslash: u64) -> u64 {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;

        // A backslash that is escaped by the last byte of the previous block doesn't begin an escape.
        let backslash = backslash & !self.escaped;
        // Adding the start of a run to the run clears the run, and sets the bit after it. Adding only those starts that
        // are at odd bits distinguishes these runs from the others. If such a run reaches the end of the block, its
        // length is odd, and the addition overflows.
        let odd_start = backslash & !(backslash << 1) & ODD;
        let (sum, overflows) = backslash.overflowing_add(odd_start);
        let began_odd = backslash & !sum;
        // A run that begins at an even bit escapes the bytes at odd bits, and vice versa.
        let escaped = ((backslash << 1) & (ODD ^ (began_odd << 1))) | self.escaped;
        self.escaped = u64::from(overflows);
        escaped
    }

    /// The bytes that make an escape sequence invalid. `escaped` are the bytes that a backslash escapes.
    #[inline(always)]
    fn invalid<C: Masks>(&mut self, cpu: C, block: &Block, escaped: u64) -> u64 {
        let mut invalid = escaped & !cpu.escapable(block);
        if invalid | self.hex != 0 {
            let unicode = invalid & cpu.unicode(block);
            invalid ^= unicode;
            let digits = unicode << 1 | unicode << 2 | unicode << 3 | unicode << 4 | self.hex;
            self.hex = unicode >> 63 | unicode >> 62 | unicode >> 61 | unicode >> 60;
            invalid |= digits & !cpu.hex(block);
        }
        invalid
    }

    /// Skips blocks from `at` on that are inside one string, including escapes. Returns the end of these blocks, and
    /// whether they contain non-ASCII bytes.
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

    /// Skips one block. Returns `None` if a string ends in it or it is invalid.
    #[inline(always)]
    fn skip_block<C: Masks>(&mut self, cpu: C, block: &Block) -> Option<Skipped> {
        let masks = cpu.in_string(block);
        let (mut quote, mut invalid) = (masks.quote, 0);
        let mut after = *self;
        if masks.backslash | self.pending() != 0 {
            let escaped = after.escaped(masks.backslash);
            quote &= !escaped;
            invalid = after.invalid(cpu, block, escaped);
        }
        if quote | invalid | masks.control != 0 {
            return None;
        }
        *self = after;
        Some(Skipped { high: masks.high, is_plain: masks.backslash | after.pending() == 0 })
    }
}

/// A block inside a string.
struct Skipped {
    /// Nonzero if the block contains non-ASCII bytes.
    high: u64,
    /// Whether the block has no backslash, and no escape sequence continues after it.
    is_plain: bool,
}
