//! Reads the text block by block, finds its end, and checks the white space between tokens.

use super::Input;
use super::cpu::{BLOCK, Block, Masks};
use super::pass::Rejected;

/// The text being scanned, and facts about the part scanned so far.
pub(super) struct BlockReader<'a> {
    /// The text, and possibly other bytes after it.
    buffer: &'a [u8],
    /// The bytes that may belong to the text. If it is a line, these are cut once its line feed has been found.
    text: &'a [u8],
    ends_at_line_feed: bool,
    /// The start of the next block.
    at: usize,
    /// From the start of the first block with non-ASCII bytes to the end of the last one; `(MAX, 0)` if there are none.
    non_ascii: (usize, usize),
    /// Nonzero if there has been white space between tokens.
    blanks: u64,
    /// Nonzero if there has been white space other than spaces.
    controls: u64,
    /// The bytes of the next block that belong to the buffer.
    within: u64,
}

/// The masks of a block that concern strings. They have no bits after the end of the text.
#[derive(Clone, Copy)]
pub(super) struct BlockMasks {
    /// The bytes that belong to the text.
    pub(super) within: u64,
    pub(super) quote: u64,
    pub(super) backslash: u64,
    /// Control characters and non-ASCII bytes.
    pub(super) control_or_high: u64,
    /// Control characters.
    pub(super) control: u64,
}

impl<'a> BlockReader<'a> {
    /// Starts a text whose first `at` bytes are known already.
    #[inline(always)]
    pub(super) fn new(input: Input<'a>, at: usize) -> Self {
        let non_ascii = (usize::MAX, 0);
        let Input { buffer, ends_at_line_feed, .. } = input;
        Self { buffer, text: input.text(), ends_at_line_feed, at, non_ascii, blanks: 0, controls: 0, within: !0 }
    }

    #[inline(always)]
    pub(super) fn as_bytes(&self) -> &'a [u8] {
        self.text
    }

    /// The text from the next block on.
    #[inline(always)]
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    #[inline(always)]
    pub(super) fn has_more(&self) -> bool {
        self.at < self.text.len()
    }

    #[inline(always)]
    pub(super) fn has_blanks(&self) -> bool {
        self.blanks != 0
    }

    #[inline(always)]
    pub(super) fn has_controls(&self) -> bool {
        self.controls != 0
    }

    /// The next block, or `None` at the end of the text. A last block of fewer than 64 bytes is copied to `padded` and
    /// padded with spaces, which don't count as blanks. If other bytes follow in the buffer, the copy has a constant
    /// length, which takes less time.
    #[inline(always)]
    pub(super) fn block<'b, C: Masks>(&mut self, cpu: C, padded: &'b mut Option<Block>) -> Option<&'b Block>
    where
        'a: 'b,
    {
        let rest = self.text.get(self.at..)?;
        rest.first_chunk().or_else(|| {
            self.within = !(!0 << (rest.len() % BLOCK));
            if rest.is_empty() {
                return None;
            }
            Some(match self.buffer[self.at..].first_chunk() {
                Some(block) => padded.insert(first_bytes(block, rest.len())),
                None => cpu.pad(rest, padded),
            })
        })
    }

    /// Advances past the next block, and returns the start of that block.
    #[inline(always)]
    pub(super) fn step(&mut self) -> usize {
        let at = self.at;
        self.at += BLOCK;
        at
    }

    /// Computes the masks of the next block. If the text is a line, truncates it at the first line feed.
    #[inline(always)]
    pub(super) fn string_masks<C: Masks>(&mut self, cpu: C, block: &Block) -> BlockMasks {
        let masks = cpu.strings(block);
        let mut masks = BlockMasks {
            within: self.within,
            quote: masks.quote,
            backslash: masks.backslash,
            control_or_high: masks.control_or_high,
            control: 0,
        };
        if masks.control_or_high != 0 {
            let line_feed = cpu.line_feeds(block);
            if self.ends_at_line_feed && line_feed != 0 {
                self.text = &self.buffer[..self.at + line_feed.trailing_zeros() as usize];
                masks.within = (line_feed - 1) & !line_feed;
                masks.quote &= masks.within;
                masks.backslash &= masks.within;
                masks.control_or_high &= masks.within;
            }
            let high = cpu.high(block) & masks.within;
            masks.control = masks.control_or_high & !high;
            if high != 0 {
                self.record_high(self.at, self.at + BLOCK);
            }
        }
        masks
    }

    /// The bytes of the next block that are outside strings. Fails if these include control characters or non-ASCII
    /// bytes that aren't white space, or if there are control characters inside strings.
    #[inline(always)]
    pub(super) fn outside<C: Masks>(
        &mut self,
        cpu: C,
        block: &Block,
        masks: BlockMasks,
        inside: u64,
        quote: u64,
    ) -> Result<u64, Rejected> {
        let outside = !(inside | quote) & masks.within;
        if masks.control_or_high != 0 {
            let control_or_high = masks.control_or_high & outside;
            if (masks.control & inside) | (control_or_high & !cpu.white(block)) != 0 {
                return Err(Rejected);
            }
            self.controls |= control_or_high;
        }
        Ok(outside)
    }

    /// The white space among `others`, which are bytes outside strings.
    #[inline(always)]
    pub(super) fn blanks<C: Masks>(&mut self, cpu: C, block: &Block, masks: BlockMasks, others: u64) -> u64 {
        let blank = (cpu.spaces(block) | masks.control_or_high) & others;
        self.blanks |= blank;
        blank
    }

    /// Continues at `to`. The bytes before `to` are inside a string; `high` is true if any of them may be non-ASCII.
    ///
    /// If `to` is inside a character, the rest of that character is non-ASCII too. So either the next block is added to
    /// the range whose UTF-8 is validated, or the text ends inside the string and is rejected.
    #[inline(always)]
    pub(super) fn skip_to(&mut self, to: usize, high: bool) {
        if high {
            self.record_high(self.at, to);
        }
        self.at = to;
    }

    #[inline(always)]
    pub(super) fn at(&self) -> usize {
        self.at
    }

    #[inline(always)]
    fn record_high(&mut self, from: usize, to: usize) {
        self.non_ascii = (self.non_ascii.0.min(from), to);
    }

    #[inline(always)]
    pub(super) fn check_utf8<C: Masks>(&self, cpu: C) -> Result<(), Rejected> {
        let (from, to) = self.non_ascii;
        if to == 0 || cpu.is_utf8(&self.text[from..to.min(self.text.len())]) { Ok(()) } else { Err(Rejected) }
    }
}

/// The first `len` bytes of a block, padded with spaces.
#[inline(always)]
fn first_bytes(block: &Block, len: usize) -> Block {
    let mut first = *block;
    // The compiler vectorises this loop, because nothing in it depends on `len`.
    for (byte, kept) in first.iter_mut().zip(&KEPT[BLOCK - len % BLOCK..]) {
        *byte = *byte & kept | b' ' & !kept;
    }
    first
}

/// A block of ones, and a block of zeros.
static KEPT: [u8; 2 * BLOCK] = {
    let mut kept = [0; 2 * BLOCK];
    let (ones, _) = kept.split_at_mut(BLOCK);
    ones.copy_from_slice(&[0xff; BLOCK]);
    kept
};
