//! SIMD within a register: searches eight bytes at a time, for texts that are too short for the scanner to pay off.
//!
//! Subtraction and addition may carry into the next byte, but only from a byte that is a match itself. So the position
//! of the first match is always correct.

const ONES: u64 = 0x0101_0101_0101_0101;
const TOP_BITS: u64 = 0x80 * ONES;

/// The first eight bytes, padded with zeros, which occur in no JSON text.
#[inline(always)]
pub fn eight(text: &[u8]) -> [u8; 8] {
    #[cold]
    #[inline(never)]
    fn padded(text: &[u8]) -> [u8; 8] {
        let mut eight = [0; 8];
        eight[..text.len()].copy_from_slice(text);
        eight
    }
    text.first_chunk().copied().unwrap_or_else(|| padded(text))
}

/// The position of the first byte that ends a plain string: a quote, a backslash, a control character, or a non-ASCII
/// byte.
#[inline(always)]
pub(super) fn special(eight: [u8; 8]) -> Option<usize> {
    let eight = u64::from_le_bytes(eight);
    // Flipping bit 1 moves the quote right above the control characters. After the subtraction, a byte has its top bit
    // set if it was smaller than the subtrahend or had that bit set before.
    let quote_or_control = (eight ^ (0x02 * ONES)).wrapping_sub(0x21 * ONES);
    let backslash = (eight ^ (u64::from(b'\\') * ONES)).wrapping_sub(ONES);
    first((quote_or_control | backslash | eight) & TOP_BITS)
}

/// The number of digits before the first byte that isn't a digit, if there is one.
#[inline(always)]
pub fn digits(eight: [u8; 8]) -> Option<usize> {
    let eight = u64::from_le_bytes(eight);
    // The high nibble of a digit is 3, both before and after adding 6.
    let nibbles = |word: u64| (word & (0xf0 * ONES)) ^ (0x30 * ONES);
    first(nibbles(eight) | nibbles(eight.wrapping_add(6 * ONES)))
}

/// The index of the byte that contains the lowest set bit.
#[inline(always)]
fn first(bits: u64) -> Option<usize> {
    (bits != 0).then_some(bits.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries every byte at every position, after bytes that nearly match, and before various bytes.
    fn check(found: fn([u8; 8]) -> Option<usize>, is_sought: fn(u8) -> bool, fillers: &[u8]) {
        for &filler in fillers {
            assert!(!is_sought(filler));
            for at in 0..8 {
                for byte in 0..=u8::MAX {
                    for after in [filler, byte, 0, 0xff] {
                        let mut eight = [after; 8];
                        eight[..at].fill(filler);
                        eight[at] = byte;
                        assert_eq!(found(eight), eight.iter().position(|&byte| is_sought(byte)), "{eight:x?}");
                    }
                }
            }
        }
    }

    #[test]
    fn finds_the_first_special_byte() {
        check(special, |byte| !(0x20..0x80).contains(&byte) || byte == b'"' || byte == b'\\', b" !#[]\x7f");
    }

    #[test]
    fn finds_the_first_byte_that_is_no_digit() {
        check(digits, |byte| !byte.is_ascii_digit(), b"0123456789");
    }
}
