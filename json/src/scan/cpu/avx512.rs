//! AVX-512: one vector per block, and comparisons that return a mask.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::super::group::Tokens;
use super::super::group::packed::{OVERLAP, Pack, Packed, TOKENS, ones};
use super::super::pass::{self, Rejected};
use super::super::strings::EscapeState;
use super::super::{Input, Members, Scanned};
use super::{
    BLOCK, Block, DecimalMasks, DigitMasks, ExponentMasks, Gather, InStringMasks, Masks, StringMasks, StructureMasks,
};

/// Proof that the CPU has AVX-512 F, BW and VBMI2, carry-less multiplication and the bit-manipulation instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(in crate::scan) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt"))
        .then_some(Self(()))
    }

    #[inline]
    pub(in crate::scan) fn scan<M: Members>(
        self,
        input: Input<'_>,
        max_depth: u32,
        members: &mut M,
    ) -> Result<Scanned, Rejected> {
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,pclmulqdq,bmi1,bmi2,lzcnt,popcnt")]
        fn scan<M: Members>(
            cpu: Avx512,
            input: Input<'_>,
            max_depth: u32,
            members: &mut M,
        ) -> Result<Scanned, Rejected> {
            pass::scan::<_, Packed<Register>, _>(cpu, input, max_depth, members)
        }
        // SAFETY: `self` exists only if the CPU has these features.
        unsafe { scan(self, input, max_depth, members) }
    }

    pub(in crate::scan) fn string_marks(self, blocks: &[Block], marks: &mut [u64]) {
        #[target_feature(enable = "avx512f,avx512bw")]
        fn string_marks(cpu: Avx512, blocks: &[Block], marks: &mut [u64]) {
            super::string_marks(cpu, blocks, marks);
        }
        // SAFETY: `self` exists only if the CPU has these features.
        unsafe { string_marks(self, blocks, marks) }
    }
}

/// Evaluates `$body`, which uses intrinsics of the features that [`Avx512`] proves.
macro_rules! with_avx512 {
    ($body:expr) => {
        // SAFETY: a value of type `Avx512` is in scope, which exists only if the CPU has the features; and memory is
        // only read through `load`, within the block.
        unsafe { $body }
    };
}

impl Masks for Avx512 {
    const EXPENSIVE: bool = false;

    #[inline(always)]
    fn strings(self, block: &Block) -> StringMasks {
        with_avx512!({
            let v = load(block);
            StringMasks {
                quote: equal(v, b'"'),
                backslash: equal(v, b'\\'),
                // Non-ASCII bytes are negative as signed numbers.
                control_or_high: _mm512_cmplt_epi8_mask(v, _mm512_set1_epi8(0x20)),
            }
        })
    }

    #[inline(always)]
    fn high(self, block: &Block) -> u64 {
        with_avx512!(_mm512_movepi8_mask(load(block)))
    }

    #[inline(always)]
    fn line_feeds(self, block: &Block) -> u64 {
        with_avx512!(equal(load(block), b'\n'))
    }

    #[inline(always)]
    fn spaces(self, block: &Block) -> u64 {
        with_avx512!(equal(load(block), b' '))
    }

    #[inline(always)]
    fn white(self, block: &Block) -> u64 {
        with_avx512!({
            let v = load(block);
            in_table(v, v, *b" \xff\xff\xff\xff\xff\xff\xff\xff\t\n\xff\xff\r\xff\xff")
        })
    }

    #[inline(always)]
    fn structure(self, block: &Block) -> StructureMasks {
        with_avx512!(structure(load(block)))
    }

    #[inline(always)]
    fn digits(self, block: &Block) -> DigitMasks {
        with_avx512!({
            let v = load(block);
            DigitMasks { digit: within(v, b'0', 10), zero: equal(v, b'0') }
        })
    }

    #[inline(always)]
    fn decimals(self, block: &Block) -> DecimalMasks {
        with_avx512!({
            let v = load(block);
            DecimalMasks { minus: equal(v, b'-'), dot: equal(v, b'.') }
        })
    }

    #[inline(always)]
    fn exponents(self, block: &Block) -> ExponentMasks {
        with_avx512!({
            let v = load(block);
            ExponentMasks { plus: equal(v, b'+'), exponent: equal(fold(v), b'e') }
        })
    }

    #[inline(always)]
    fn alpha(self, block: &Block) -> u64 {
        with_avx512!(has_bit(load(block), 0x40))
    }

    #[inline(always)]
    fn in_string(self, block: &Block) -> InStringMasks {
        with_avx512!({
            let v = load(block);
            InStringMasks {
                quote: equal(v, b'"'),
                backslash: equal(v, b'\\'),
                control: within(v, 0, 0x20),
                high: _mm512_movepi8_mask(v),
            }
        })
    }

    #[inline(always)]
    fn escapable(self, block: &Block) -> u64 {
        with_avx512!({
            let v = load(block);
            // Each high nibble of these characters is assigned a bit. The table for low nibbles has the bits of the
            // high nibbles with which they form such a character.
            let by_low = all_lanes([0, 0, 0b1101, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1]);
            let by_high = all_lanes([0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
            let high_nibbles = _mm512_and_si512(_mm512_srli_epi16::<4>(v), _mm512_set1_epi8(0x0f));
            _mm512_test_epi8_mask(_mm512_shuffle_epi8(by_low, v), _mm512_shuffle_epi8(by_high, high_nibbles))
        })
    }

    #[inline(always)]
    fn unicode(self, block: &Block) -> u64 {
        with_avx512!(equal(load(block), b'u'))
    }

    #[inline(always)]
    fn hex(self, block: &Block) -> u64 {
        with_avx512!({
            let v = load(block);
            within(v, b'0', 10) | within(fold(v), b'a', 6)
        })
    }

    #[inline(always)]
    fn skip_plain(self, text: &[u8], from: usize) -> (usize, bool) {
        with_avx512!(skip_plain(text, from))
    }

    #[inline(always)]
    fn skip_escaped(self, escapes: EscapeState, text: &[u8], from: usize) -> (EscapeState, usize, bool) {
        /// Not inlined and cold, like [`skip_plain`].
        #[target_feature(enable = "avx512f,avx512bw,bmi1")]
        #[cold]
        #[inline(never)]
        fn skip_escaped(cpu: Avx512, mut escapes: EscapeState, text: &[u8], from: usize) -> (EscapeState, usize, bool) {
            let (to, high) = escapes.skip(cpu, text, from);
            (escapes, to, high)
        }
        with_avx512!(skip_escaped(self, escapes, text, from))
    }

    #[inline(always)]
    fn pad<'b>(self, rest: &[u8], padded: &'b mut Option<Block>) -> &'b Block {
        with_avx512!(pad(rest, padded))
    }

    #[inline(always)]
    fn is_utf8(self, text: &[u8]) -> bool {
        with_avx512!(super::utf8::is_utf8(text))
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        with_avx512!({
            let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits.cast_signed()), _mm_set1_epi8(-1));
            _mm_cvtsi128_si64(product).cast_unsigned()
        })
    }
}

impl Gather for Avx512 {
    #[inline(always)]
    fn gather(self, bits: u64, mask: u64) -> u64 {
        with_avx512!(_pext_u64(bits, mask))
    }

    #[inline(always)]
    fn scatter(self, bits: u64, mask: u64) -> u64 {
        with_avx512!(_pdep_u64(bits, mask))
    }
}

/// Packed tokens as their first bytes, in a register.
pub(in crate::scan) struct Register {
    tokens: __m512i,
    /// The tokens of the last block that didn't fit.
    rest: __m512i,
}

impl Pack<Avx512> for Register {
    type Shapes = ();
    type Gathered = __m512i;

    #[inline(always)]
    fn new(_: Avx512, previous: u8) -> Self {
        let tokens = i32::from_le_bytes([b'0', previous, 0, 0]);
        with_avx512!({
            let tokens = _mm512_zextsi128_si512(_mm_cvtsi32_si128(tokens));
            Self { tokens, rest: _mm512_setzero_si512() }
        })
    }

    #[inline(always)]
    fn structure(_: Avx512, block: &Block) -> (u64, ()) {
        with_avx512!({
            let v = load(block);
            // Two control characters also match: with bit 5 set, they are a comma and a colon.
            (in_table(v, fold(v), *b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff:{,}\xff\xff"), ())
        })
    }

    #[inline(always)]
    fn gather(_: Avx512, block: &Block, (): (), tokens: u64, _: u64) -> __m512i {
        with_avx512!(compressed(tokens, load(block)))
    }

    #[inline(always)]
    fn append(&mut self, _: Avx512, gathered: __m512i, count: u32) {
        with_avx512!(self.tokens = expanded(self.tokens, !0 << (count & 63), gathered));
    }

    #[inline(always)]
    fn set_aside(&mut self, _: Avx512, gathered: __m512i, room: u32) {
        with_avx512!(self.rest = compressed(!0 << (room & 63), gathered));
    }

    #[inline(always)]
    fn tokens(&self, _: Avx512, count: u32) -> Tokens {
        let all = ones(count);
        let (StructureMasks { open, close, curly, comma, colon }, string) =
            with_avx512!((structure(self.tokens), equal(self.tokens, b'"')));
        // Zeros follow the last token, which would only match `scalar`.
        Tokens {
            new: all & !ones(OVERLAP),
            open,
            close,
            curly,
            comma,
            colon,
            string,
            scalar: all & !(open | close | comma | colon | string),
        }
    }

    #[inline(always)]
    fn restart(&mut self, _: Avx512, count: u32) {
        with_avx512!({
            let overlap = compressed(!0 << ((count - OVERLAP) & 63), self.tokens);
            self.tokens = expanded(overlap, !0 << OVERLAP, self.rest);
            self.rest = compressed(!0 << (TOKENS - OVERLAP), self.rest);
        });
    }
}

// The helpers act like macros: `#[inline(always)]` inlines them into a function that has the features. There are no
// closures here, because these wouldn't have the features.

/// # Safety
///
/// The CPU must have AVX-512 F, as below.
#[inline(always)]
unsafe fn load(block: &Block) -> __m512i {
    // SAFETY: a block is as long as a vector, and this load needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

/// Packs the bytes of `v` in `mask` at the low end, followed by zeros.
///
/// # Safety
///
/// The CPU must have AVX-512 VBMI2.
#[cfg(not(wireline_bochs))]
#[inline(always)]
unsafe fn compressed(mask: u64, v: __m512i) -> __m512i {
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_maskz_compress_epi8(mask, v) }
}

/// Replaces the bytes of `before` in `mask` with consecutive bytes of `v`.
///
/// # Safety
///
/// The CPU must have AVX-512 VBMI2.
#[cfg(not(wireline_bochs))]
#[inline(always)]
unsafe fn expanded(before: __m512i, mask: u64, v: __m512i) -> __m512i {
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_mask_expand_epi8(before, mask, v) }
}

/// Replacements for two instructions that Bochs 2.7 emulates wrongly: VPEXPANDB mostly, and VPCOMPRESSB with a full
/// mask. `.ci/avx512` tests everything else.
#[cfg(wireline_bochs)]
use bochs::{compressed, expanded};

#[cfg(wireline_bochs)]
mod bochs {
    use super::*;

    pub(super) unsafe fn compressed(mask: u64, v: __m512i) -> __m512i {
        let (from, mut to) = (bytes(v), [0; BLOCK]);
        to.iter_mut().zip(places(mask)).for_each(|(to, at)| *to = from[at]);
        vector(to)
    }

    pub(super) unsafe fn expanded(before: __m512i, mask: u64, v: __m512i) -> __m512i {
        let (from, mut to) = (bytes(v), bytes(before));
        from.iter().zip(places(mask)).for_each(|(from, at)| to[at] = *from);
        vector(to)
    }

    fn places(mask: u64) -> impl Iterator<Item = usize> {
        (0..BLOCK).filter(move |at| mask >> at & 1 != 0)
    }

    fn bytes(v: __m512i) -> Block {
        // SAFETY: both are 64 bytes, of any value.
        unsafe { std::mem::transmute(v) }
    }

    fn vector(bytes: Block) -> __m512i {
        // SAFETY: both are 64 bytes, of any value.
        unsafe { std::mem::transmute(bytes) }
    }
}

/// # Safety
///
/// The CPU must have AVX-512 F.
#[inline(always)]
unsafe fn all_lanes(table: [u8; 16]) -> __m512i {
    // SAFETY: the caller guarantees AVX-512; the table is 16 bytes and the load needs no alignment.
    unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast())) }
}

/// Sets bit 5, which makes letters lowercase, and turns `[]` into `{}`.
///
/// # Safety
///
/// The CPU must have AVX-512 F.
#[inline(always)]
unsafe fn fold(v: __m512i) -> __m512i {
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_or_si512(v, _mm512_set1_epi8(0x20)) }
}

/// The bytes of `v` that equal the table's entry for the low nibble of `index`. An index with its top bit set yields
/// zero, so non-ASCII bytes never match, since they aren't zero.
///
/// # Safety
///
/// The CPU must have AVX-512 BW.
#[inline(always)]
unsafe fn in_table(index: __m512i, v: __m512i, table: [u8; 16]) -> u64 {
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(all_lanes(table), index), v) }
}

/// # Safety
///
/// The CPU must have AVX-512 BW.
#[inline(always)]
unsafe fn structure(v: __m512i) -> StructureMasks {
    // SAFETY: the caller guarantees AVX-512.
    unsafe {
        let folded = fold(v);
        StructureMasks {
            open: equal(folded, b'{'),
            close: equal(folded, b'}'),
            curly: has_bit(v, 0x20),
            colon: equal(v, b':'),
            comma: equal(v, b','),
        }
    }
}

/// # Safety
///
/// The CPU must have AVX-512 BW.
#[inline(always)]
unsafe fn has_bit(v: __m512i, bit: u8) -> u64 {
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_test_epi8_mask(v, _mm512_set1_epi8(bit.cast_signed())) }
}

/// # Safety
///
/// The CPU must have AVX-512 BW.
#[inline(always)]
unsafe fn equal(v: __m512i, byte: u8) -> u64 {
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(byte.cast_signed())) }
}

/// The bytes that are `first` or one of the `count - 1` values after it.
///
/// # Safety
///
/// The CPU must have AVX-512 BW.
#[inline(always)]
unsafe fn within(v: __m512i, first: u8, count: u8) -> u64 {
    // SAFETY: the caller guarantees AVX-512.
    unsafe {
        let from_zero = _mm512_sub_epi8(v, _mm512_set1_epi8(first.cast_signed()));
        _mm512_cmplt_epu8_mask(from_zero, _mm512_set1_epi8(count.cast_signed()))
    }
}

/// [`Masks::skip_plain`], four blocks at a time if possible. All blocks but the first are aligned in memory, because
/// otherwise each load would span two cache lines.
///
/// Not inlined, so that constants stay in registers; and cold, so that the caller only saves registers when it calls
/// this.
#[target_feature(enable = "avx512f,avx512bw")]
#[cold]
#[inline(never)]
fn skip_plain(text: &[u8], from: usize) -> (usize, bool) {
    let Some(first) = text.get(from..).and_then(<[u8]>::first_chunk) else { return (from, false) };
    // SAFETY: this function enables the features.
    unsafe {
        let mut all = load(first);
        if special(all) != 0 {
            return (from, false);
        }
        let mut at = from + BLOCK - first.as_ptr().addr() % BLOCK;
        for [a, b, c, d] in text[at..].as_chunks().0.as_chunks().0 {
            let (a, b, c, d) = (load(a), load(b), load(c), load(d));
            if special(a) | special(b) | special(c) | special(d) != 0 {
                break;
            }
            all = _mm512_or_si512(all, _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d)));
            at += 4 * BLOCK;
        }
        for block in text[at..].as_chunks().0.iter().take(4) {
            let v = load(block);
            if special(v) != 0 {
                break;
            }
            all = _mm512_or_si512(all, v);
            at += BLOCK;
        }
        (at, _mm512_movepi8_mask(all) != 0)
    }
}

/// [`Masks::pad`] with one load and one store. Loading a block that was stored in parts would stall the CPU until these have
/// reached the cache.
#[target_feature(enable = "avx512f,avx512bw")]
#[cold]
#[inline(never)]
fn pad<'b>(rest: &[u8], padded: &'b mut Option<Block>) -> &'b Block {
    let within = !(!0 << (rest.len() % BLOCK));
    let padded = padded.insert([b' '; BLOCK]);
    // SAFETY: this function enables the features. The load only reads the bytes in its mask, which has no more bits than
    // `rest` has bytes; the store writes a block; and neither needs alignment.
    unsafe {
        let bytes = _mm512_mask_loadu_epi8(load(padded), within, rest.as_ptr().cast());
        _mm512_storeu_si512(padded.as_mut_ptr().cast(), bytes);
    }
    padded
}

/// Quotes, backslashes and control characters.
///
/// # Safety
///
/// The CPU must have AVX-512 BW.
#[inline(always)]
unsafe fn special(v: __m512i) -> u64 {
    // SAFETY: the caller guarantees AVX-512.
    unsafe {
        // Flipping bit 1 moves the quote right above the control characters.
        let flipped = _mm512_xor_si512(v, _mm512_set1_epi8(2));
        equal(v, b'\\') | _mm512_cmple_epu8_mask(flipped, _mm512_set1_epi8(0x20))
    }
}
