//! Eight bytes at a time, in a general register: for texts that are too short for the scanner to pay off.
//!
//! Subtraction and addition may carry into the next byte, but only from a byte that is looked for. So the first of these is
//! always found where it is.

const ONES: u64 = 0x0101_0101_0101_0101;
const TOP_BITS: u64 = 0x80 * ONES;

/// The first eight bytes. If there are fewer, zeros follow, which are in no JSON text.
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

/// The first byte that ends a plain string: a quote, a backslash, a control character, or a byte beyond ASCII.
#[inline(always)]
pub(super) fn special(eight: [u8; 8]) -> Option<usize> {
    let eight = u64::from_le_bytes(eight);
    // With bit 1 flipped, the quote stands right above the control characters. A byte that has its top bit set after
    // subtraction was smaller, or had it set before.
    let quote_or_control = (eight ^ (0x02 * ONES)).wrapping_sub(0x21 * ONES);
    let backslash = (eight ^ (u64::from(b'\\') * ONES)).wrapping_sub(ONES);
    first((quote_or_control | backslash | eight) & TOP_BITS)
}

/// How many digits there are before the first other byte, if there is one.
#[inline(always)]
pub(super) fn digits(eight: [u8; 8]) -> Option<usize> {
    let eight = u64::from_le_bytes(eight);
    // The high nibble of a digit is 3, and still is after adding 6.
    let nibbles = |word: u64| (word & (0xf0 * ONES)) ^ (0x30 * ONES);
    first(nibbles(eight) | nibbles(eight.wrapping_add(6 * ONES)))
}

/// The byte that the lowest bit is in.
#[inline(always)]
fn first(bits: u64) -> Option<usize> {
    (bits != 0).then_some(bits.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte at every place, after bytes that are nearly looked for, and before any.
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
