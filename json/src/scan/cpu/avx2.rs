//! AVX2: two vectors of 32 bytes per block.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::sync::OnceLock;

use super::super::group::Group;
use super::super::group::packed::Packed;
use super::super::group::planes::{KindMasks, Kinds, Planes};
use super::super::group::single::Single;
use super::super::pass::{self, Rejected};
use super::super::strings::EscapeState;
use super::super::{Input, Members, Scanned};
use super::{
    BLOCK, Block, DecimalMasks, DigitMasks, ExponentMasks, Gather, InStringMasks, Masks, StringMasks, StructureMasks,
};

/// Proof that the CPU has AVX2, carry-less multiplication and the bit-manipulation instructions.
///
/// `GATHERS` determines whether to use PEXT and PDEP. Every such CPU has them, but on some they are slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2<const GATHERS: bool>(());

impl<const GATHERS: bool> Avx2<GATHERS> {
    pub(in crate::scan) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt"))
        .then_some(Self(()))
    }

    #[inline]
    fn scan_by<G: Group<Self>, M: Members>(
        self,
        input: Input<'_>,
        max_depth: u32,
        members: &mut M,
    ) -> Result<Scanned, Rejected> {
        #[target_feature(enable = "avx2,pclmulqdq,bmi1,bmi2,lzcnt,popcnt")]
        fn scan<C: Masks, G: Group<C>, M: Members>(
            cpu: C,
            input: Input<'_>,
            max_depth: u32,
            members: &mut M,
        ) -> Result<Scanned, Rejected> {
            pass::scan::<C, G, M>(cpu, input, max_depth, members)
        }
        // SAFETY: `self` exists only if the CPU has these features.
        unsafe { scan::<Self, G, M>(self, input, max_depth, members) }
    }

    pub(in crate::scan) fn string_marks(self, blocks: &[Block], marks: &mut [u64]) {
        #[target_feature(enable = "avx2")]
        fn string_marks<C: Masks>(cpu: C, blocks: &[Block], marks: &mut [u64]) {
            super::string_marks(cpu, blocks, marks);
        }
        // SAFETY: `self` exists only if the CPU has these features.
        unsafe { string_marks(self, blocks, marks) }
    }
}

impl Avx2<true> {
    #[inline]
    pub(in crate::scan) fn scan<M: Members>(
        self,
        input: Input<'_>,
        max_depth: u32,
        members: &mut M,
    ) -> Result<Scanned, Rejected> {
        self.scan_by::<Packed<Planes>, M>(input, max_depth, members)
    }
}

impl Avx2<false> {
    #[inline]
    pub(in crate::scan) fn scan<M: Members>(
        self,
        input: Input<'_>,
        max_depth: u32,
        members: &mut M,
    ) -> Result<Scanned, Rejected> {
        self.scan_by::<Single, M>(input, max_depth, members)
    }
}

/// Whether PEXT and PDEP take a few cycles, as on most CPUs, rather than up to hundreds.
///
/// The result is cached, because CPUID takes microseconds in a virtual machine.
pub(in crate::scan) fn gathers_quickly() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        // SAFETY: every x86-64 CPU has the CPUID instruction.
        #[allow(unused_unsafe, reason = "no longer unsafe in later versions of Rust")]
        let (id, signature) = unsafe { (__cpuid(0), __cpuid(1).eax) };
        !is_early_zen([id.ebx, id.edx, id.ecx], signature)
    })
}

/// Whether a CPU is a Zen, Zen+ or Zen 2, or Hygon's variant of Zen. Of the CPUs with AVX2, only these run PEXT and
/// PDEP as microcode.
fn is_early_zen(vendor: [u32; 3], signature: u32) -> bool {
    let word = |text: [u8; 4]| u32::from_le_bytes(text);
    let amd = [word(*b"Auth"), word(*b"enti"), word(*b"cAMD")];
    let hygon = [word(*b"Hygo"), word(*b"nGen"), word(*b"uine")];
    let family = (signature >> 8 & 0xf) + (signature >> 20 & 0xff);
    (vendor == amd && family == 0x17) || (vendor == hygon && family == 0x18)
}

/// Evaluates `$body`, which uses intrinsics of the features that [`Avx2`] proves.
macro_rules! with_avx2 {
    ($body:expr) => {
        // SAFETY: `self` is of type `Avx2`, whose values exist only if the CPU has the features; and memory is only
        // read through `load`, within the block.
        unsafe { $body }
    };
}

impl<const GATHERS: bool> Masks for Avx2<GATHERS> {
    const EXPENSIVE: bool = false;

    #[inline(always)]
    fn strings(self, block: &Block) -> StringMasks {
        with_avx2!({
            let (low, high) = load(block);
            StringMasks {
                quote: equal(low, high, b'"'),
                backslash: equal(low, high, b'\\'),
                // Non-ASCII bytes are negative as signed numbers.
                control_or_high: join(below_space(low), below_space(high)),
            }
        })
    }

    #[inline(always)]
    fn high(self, block: &Block) -> u64 {
        with_avx2!({
            let (low, high) = load(block);
            join(low, high)
        })
    }

    #[inline(always)]
    fn line_feeds(self, block: &Block) -> u64 {
        with_avx2!({
            let (low, high) = load(block);
            equal(low, high, b'\n')
        })
    }

    #[inline(always)]
    fn spaces(self, block: &Block) -> u64 {
        with_avx2!({
            let (low, high) = load(block);
            equal(low, high, b' ')
        })
    }

    #[inline(always)]
    fn white(self, block: &Block) -> u64 {
        with_avx2!({
            let (low, high) = load(block);
            let white = both_lanes(*b" \xff\xff\xff\xff\xff\xff\xff\xff\t\n\xff\xff\r\xff\xff");
            join(in_table(low, low, white), in_table(high, high, white))
        })
    }

    #[inline(always)]
    fn structure(self, block: &Block) -> StructureMasks {
        with_avx2!({
            let (low, high) = load(block);
            let bit5 = _mm256_set1_epi8(0x20);
            let (folded_low, folded_high) = (_mm256_or_si256(low, bit5), _mm256_or_si256(high, bit5));
            StructureMasks {
                open: equal(folded_low, folded_high, b'{'),
                close: equal(folded_low, folded_high, b'}'),
                curly: join(_mm256_slli_epi16::<2>(low), _mm256_slli_epi16::<2>(high)),
                colon: equal(low, high, b':'),
                comma: equal(low, high, b','),
            }
        })
    }

    #[inline(always)]
    fn digits(self, block: &Block) -> DigitMasks {
        with_avx2!({
            let (low, high) = load(block);
            DigitMasks { digit: join(within(low, b'0', 10), within(high, b'0', 10)), zero: equal(low, high, b'0') }
        })
    }

    #[inline(always)]
    fn decimals(self, block: &Block) -> DecimalMasks {
        with_avx2!({
            let (low, high) = load(block);
            DecimalMasks { minus: equal(low, high, b'-'), dot: equal(low, high, b'.') }
        })
    }

    #[inline(always)]
    fn exponents(self, block: &Block) -> ExponentMasks {
        with_avx2!({
            let (low, high) = load(block);
            let bit5 = _mm256_set1_epi8(0x20);
            ExponentMasks {
                plus: equal(low, high, b'+'),
                exponent: equal(_mm256_or_si256(low, bit5), _mm256_or_si256(high, bit5), b'e'),
            }
        })
    }

    #[inline(always)]
    fn alpha(self, block: &Block) -> u64 {
        with_avx2!({
            let (low, high) = load(block);
            join(_mm256_slli_epi16::<1>(low), _mm256_slli_epi16::<1>(high))
        })
    }

    #[inline(always)]
    fn in_string(self, block: &Block) -> InStringMasks {
        with_avx2!({
            let (low, high) = load(block);
            let control = _mm256_or_si256(within(low, 0, 0x20), within(high, 0, 0x20));
            InStringMasks {
                quote: equal(low, high, b'"'),
                backslash: equal(low, high, b'\\'),
                control: any(control),
                high: any(_mm256_or_si256(low, high)),
            }
        })
    }

    #[inline(always)]
    fn escapable(self, block: &Block) -> u64 {
        with_avx2!({
            let (low, high) = load(block);
            let none = _mm256_setzero_si256();
            !join(_mm256_cmpeq_epi8(escapable(low), none), _mm256_cmpeq_epi8(escapable(high), none))
        })
    }

    #[inline(always)]
    fn unicode(self, block: &Block) -> u64 {
        with_avx2!({
            let (low, high) = load(block);
            equal(low, high, b'u')
        })
    }

    #[inline(always)]
    fn hex(self, block: &Block) -> u64 {
        with_avx2!({
            let (low, high) = load(block);
            let bit5 = _mm256_set1_epi8(0x20);
            let (folded_low, folded_high) = (_mm256_or_si256(low, bit5), _mm256_or_si256(high, bit5));
            join(
                _mm256_or_si256(within(low, b'0', 10), within(folded_low, b'a', 6)),
                _mm256_or_si256(within(high, b'0', 10), within(folded_high, b'a', 6)),
            )
        })
    }

    #[inline(always)]
    fn skip_plain(self, text: &[u8], from: usize) -> (usize, bool) {
        with_avx2!(skip_plain(text, from))
    }

    #[inline(always)]
    fn skip_escaped(self, escapes: EscapeState, text: &[u8], from: usize) -> (EscapeState, usize, bool) {
        /// Not inlined, so that constants stay in registers.
        #[target_feature(enable = "avx2,bmi1")]
        #[inline(never)]
        fn skip_escaped<C: Masks>(
            cpu: C,
            mut escapes: EscapeState,
            text: &[u8],
            from: usize,
        ) -> (EscapeState, usize, bool) {
            let (to, high) = escapes.skip(cpu, text, from);
            (escapes, to, high)
        }
        with_avx2!(skip_escaped(self, escapes, text, from))
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        with_avx2!({
            let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits.cast_signed()), _mm_set1_epi8(-1));
            _mm_cvtsi128_si64(product).cast_unsigned()
        })
    }
}

impl Gather for Avx2<true> {
    #[inline(always)]
    fn gather(self, bits: u64, mask: u64) -> u64 {
        with_avx2!(_pext_u64(bits, mask))
    }

    #[inline(always)]
    fn scatter(self, bits: u64, mask: u64) -> u64 {
        with_avx2!(_pdep_u64(bits, mask))
    }
}

impl Kinds for Avx2<true> {
    #[inline(always)]
    fn kinds(self, block: &Block) -> KindMasks {
        with_avx2!({
            let (low, high) = load(block);
            top_bits(kinds(low), kinds(high))
        })
    }
}

// The helpers act like macros: `#[inline(always)]` inlines them into a function that has the features. There are no
// closures here, because these wouldn't have the features.

/// # Safety
///
/// The CPU must have AVX2, as below.
#[inline(always)]
unsafe fn load(block: &Block) -> (__m256i, __m256i) {
    let start = block.as_ptr().cast::<__m256i>();
    // SAFETY: a block is as long as two vectors, and these loads need no alignment.
    unsafe { (_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))) }
}

/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn both_lanes(table: [u8; 16]) -> __m256i {
    // SAFETY: the caller guarantees AVX2; the table is 16 bytes and the load needs no alignment.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast())) }
}

/// The top bits of 64 bytes.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn join(low: __m256i, high: __m256i) -> u64 {
    // SAFETY: the caller guarantees AVX2.
    let (low, high) = unsafe { (_mm256_movemask_epi8(low), _mm256_movemask_epi8(high)) };
    u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
}

/// Nonzero if any byte has its top bit set.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn any(v: __m256i) -> u64 {
    // SAFETY: the caller guarantees AVX2.
    u64::from(unsafe { _mm256_movemask_epi8(v) }.cast_unsigned())
}

/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn equal(low: __m256i, high: __m256i, byte: u8) -> u64 {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let byte = _mm256_set1_epi8(byte.cast_signed());
        join(_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte))
    }
}

/// Sets all bits of each byte that is `first` or one of the `count - 1` values after it.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn within(v: __m256i, first: u8, count: u8) -> __m256i {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let from_zero = _mm256_sub_epi8(v, _mm256_set1_epi8(first.cast_signed()));
        let last = _mm256_set1_epi8((count - 1).cast_signed());
        _mm256_cmpeq_epi8(_mm256_min_epu8(from_zero, last), from_zero)
    }
}

/// The top three bits of 64 bytes.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn top_bits(low: __m256i, high: __m256i) -> KindMasks {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        KindMasks {
            bracket: join(low, high),
            after: join(_mm256_slli_epi16::<1>(low), _mm256_slli_epi16::<1>(high)),
            kind: join(_mm256_slli_epi16::<2>(low), _mm256_slli_epi16::<2>(high)),
        }
    }
}

/// Sets all bits of each byte of `v` that equals the table's entry for the low nibble of `index`. An index with its top
/// bit set yields zero, so non-ASCII bytes never match, since they aren't zero.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn in_table(index: __m256i, v: __m256i, table: __m256i) -> __m256i {
    // SAFETY: the caller guarantees AVX2.
    unsafe { _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, index), v) }
}

/// The bits of [`KindMasks`] for each byte, in its top three bits. Zero unless the byte is a bracket, colon or comma.
///
/// The low nibble distinguishes these, except curly from square brackets. Those differ in bit 5, which is also the
/// position of the third result bit, so it is taken from the byte itself.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn kinds(v: __m256i) -> __m256i {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let marks = both_lanes(*b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff:{,}\xff\xff");
        let kinds =
            both_lanes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0b0110_0000, 0b1010_0000, 0b0100_0000, 0b1110_0000, 0, 0]);
        let is_mark = in_table(v, _mm256_or_si256(v, _mm256_set1_epi8(0x20)), marks);
        let bits = _mm256_or_si256(v, _mm256_set1_epi8(0b1100_0000_u8.cast_signed()));
        _mm256_and_si256(_mm256_and_si256(_mm256_shuffle_epi8(kinds, v), is_mark), bits)
    }
}

/// Sets all bits of each byte that is a control character or non-ASCII, that is, less than a space as a signed number.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn below_space(v: __m256i) -> __m256i {
    // SAFETY: the caller guarantees AVX2.
    unsafe { _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), v) }
}

/// Nonzero in each byte that forms an escape sequence with a backslash before it.
///
/// Each high nibble of these characters is assigned a bit. The table for low nibbles has the bits of the high nibbles
/// with which they form such a character.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn escapable(v: __m256i) -> __m256i {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let by_low = both_lanes([0, 0, 0b1101, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1]);
        let by_high = both_lanes([0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
        let high_nibbles = _mm256_and_si256(_mm256_srli_epi16::<4>(v), _mm256_set1_epi8(0x0f));
        _mm256_and_si256(_mm256_shuffle_epi8(by_low, v), _mm256_shuffle_epi8(by_high, high_nibbles))
    }
}

/// Sets all bits of each byte that is a quote, a backslash or a control character.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn special(v: __m256i) -> __m256i {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let backslash = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(b'\\'.cast_signed()));
        // Flipping bit 1 moves the quote right above the control characters.
        let flipped = _mm256_xor_si256(v, _mm256_set1_epi8(2));
        _mm256_or_si256(backslash, within(flipped, 0, 0x21))
    }
}

/// Whether any byte of four vectors is [special] or non-ASCII.
///
/// # Safety
///
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn any_special_or_high([a, b, c, d]: [__m256i; 4]) -> bool {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let two = _mm256_set1_epi8(2);
        let backslash = _mm256_set1_epi8(b'\\'.cast_signed());
        // As in `special`. As signed numbers, non-ASCII bytes are below the control characters.
        let lowest = _mm256_min_epi8(
            _mm256_min_epi8(_mm256_xor_si256(a, two), _mm256_xor_si256(b, two)),
            _mm256_min_epi8(_mm256_xor_si256(c, two), _mm256_xor_si256(d, two)),
        );
        let backslashes = _mm256_or_si256(
            _mm256_or_si256(_mm256_cmpeq_epi8(a, backslash), _mm256_cmpeq_epi8(b, backslash)),
            _mm256_or_si256(_mm256_cmpeq_epi8(c, backslash), _mm256_cmpeq_epi8(d, backslash)),
        );
        let found = _mm256_or_si256(backslashes, _mm256_cmpgt_epi8(_mm256_set1_epi8(0x21), lowest));
        _mm256_movemask_epi8(found) != 0
    }
}

/// [`Masks::skip_plain`], two blocks at a time if possible. All blocks but the first are aligned in memory, because
/// otherwise half of the loads would span two cache lines.
///
/// Not inlined, so that constants stay in registers.
#[target_feature(enable = "avx2")]
#[inline(never)]
fn skip_plain(text: &[u8], from: usize) -> (usize, bool) {
    let Some(first) = text.get(from..).and_then(<[u8]>::first_chunk) else { return (from, false) };
    // SAFETY: this function enables AVX2.
    unsafe {
        let (low, high) = load(first);
        if _mm256_movemask_epi8(_mm256_or_si256(special(low), special(high))) != 0 {
            return (from, false);
        }
        let mut all = _mm256_or_si256(low, high);
        let mut at = from + BLOCK - first.as_ptr().addr() % BLOCK;
        // ASCII, as most long strings are, takes fewer instructions.
        for [first, second] in text[at..].as_chunks().0.as_chunks().0 {
            let ((a, b), (c, d)) = (load(first), load(second));
            if any_special_or_high([a, b, c, d]) {
                break;
            }
            at += 2 * BLOCK;
        }
        for [first, second] in text[at..].as_chunks().0.as_chunks().0 {
            let ((a, b), (c, d)) = (load(first), load(second));
            let special_two = _mm256_or_si256(special(a), special(b));
            if _mm256_movemask_epi8(_mm256_or_si256(special_two, _mm256_or_si256(special(c), special(d)))) != 0 {
                break;
            }
            all = _mm256_or_si256(all, _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d)));
            at += 2 * BLOCK;
        }
        for block in text[at..].as_chunks().0.iter().take(2) {
            let (low, high) = load(block);
            if _mm256_movemask_epi8(_mm256_or_si256(special(low), special(high))) != 0 {
                break;
            }
            all = _mm256_or_si256(all, _mm256_or_si256(low, high));
            at += BLOCK;
        }
        (at, _mm256_movemask_epi8(all) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the values that CPUID returns on these CPUs.
    #[test]
    fn only_early_zens_gather_slowly() {
        let vendor = |name: &[u8; 12]| {
            let words = name.as_chunks().0;
            [0, 1, 2].map(|i| u32::from_le_bytes(words[i]))
        };
        for (name, signature, slow) in [
            (b"AuthenticAMD", 0x0080_0f11, true),  // Zen
            (b"AuthenticAMD", 0x0080_0f82, true),  // Zen+
            (b"AuthenticAMD", 0x0083_0f10, true),  // Zen 2
            (b"HygonGenuine", 0x0090_0f02, true),  // Zen, licensed
            (b"AuthenticAMD", 0x00a0_0f11, false), // Zen 3
            (b"AuthenticAMD", 0x00b4_0f40, false), // Zen 5
            (b"GenuineIntel", 0x0003_06c3, false), // Haswell
            (b"GenuineIntel", 0x0006_06a6, false), // Ice Lake
        ] {
            assert_eq!(is_early_zen(vendor(name), signature), slow, "{signature:#x}");
        }
    }
}
