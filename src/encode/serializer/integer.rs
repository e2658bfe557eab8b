//! Writes integers in decimal, four or eight digits at a time.

use super::{Done, Writer};

const E4: u64 = 10_000;
const E8: u64 = 100_000_000;
const E16: u64 = E8 * E8;

impl Writer<'_> {
    #[inline(always)]
    pub(crate) fn i64(&mut self, comma: bool, number: i64) -> Done {
        self.number(comma, number < 0, number.unsigned_abs())
    }

    #[inline(always)]
    pub(super) fn u64(&mut self, comma: bool, number: u64) -> Done {
        self.number(comma, false, number)
    }

    pub(super) fn i128(&mut self, comma: bool, number: i128) -> Done {
        self.long_number(comma, number < 0, number.unsigned_abs())
    }

    pub(super) fn u128(&mut self, comma: bool, number: u128) -> Done {
        self.long_number(comma, false, number)
    }

    #[inline(always)]
    fn number(&mut self, comma: bool, is_negative: bool, number: u64) -> Done {
        if number < E4 {
            let done = self.cursor.put_number(comma, is_negative, up_to_four(number), []);
            self.fits(done)
        } else {
            self.many_digits(comma, is_negative, number)
        }
    }

    /// Writes a number of five digits or more. Not inlined, which leaves more registers for shorter numbers.
    #[inline(never)]
    fn many_digits(&mut self, comma: bool, is_negative: bool, number: u64) -> Done {
        let cursor = &mut self.cursor;
        let done = if number < E8 {
            cursor.put_number(comma, is_negative, up_to_eight(number), [])
        } else if number < E8 * E4 {
            cursor.put_number(comma, is_negative, up_to_four(number / E8), [eight(number % E8)])
        } else if number < E16 {
            cursor.put_number(comma, is_negative, up_to_eight(number / E8), [eight(number % E8)])
        } else {
            let (first, rest) = (number / E16, number % E16);
            cursor.put_number(comma, is_negative, up_to_four(first), [eight(rest / E8), eight(rest % E8)])
        };
        self.fits(done)
    }

    #[allow(clippy::cast_possible_truncation, reason = "a number below 10^16 fits 64 bits")]
    fn long_number(&mut self, comma: bool, is_negative: bool, number: u128) -> Done {
        match u64::try_from(number) {
            Ok(number) => self.number(comma, is_negative, number),
            Err(_) => {
                self.long_number(comma, is_negative, number / u128::from(E16))?;
                let rest = (number % u128::from(E16)) as u64;
                let done = self.cursor.put([&eight(rest / E8), &eight(rest % E8)]);
                self.fits(done)
            }
        }
    }
}

/// The digits of `number`, which is below 10^4, without leading zeros, and how many of those there were.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "four digits fit 32 bits")]
fn up_to_four(number: u64) -> ([u8; 4], usize) {
    let digits = four_digits(number) as u32;
    // Keep the last digit even if it is a zero.
    let zeros = (digits | 1 << 24).trailing_zeros() / 8;
    (((digits | ASCII as u32) >> (8 * zeros)).to_le_bytes(), zeros as usize)
}

/// The digits of `number`, which is below 10^8, without leading zeros, and how many of those there were.
#[inline(always)]
fn up_to_eight(number: u64) -> ([u8; 8], usize) {
    let digits = digits(number);
    let zeros = (digits | 1 << 56).trailing_zeros() / 8;
    (((digits | ASCII) >> (8 * zeros)).to_le_bytes(), zeros as usize)
}

/// The digits of `number`, which is below 10^8, with leading zeros.
#[inline(always)]
fn eight(number: u64) -> [u8; 8] {
    (digits(number) | ASCII).to_le_bytes()
}

/// Turns digits into ASCII.
const ASCII: u64 = u64::from_ne_bytes([b'0'; 8]);

/// The eight digits of `number`, which is below 10^8, one per byte, the first in the lowest.
///
/// ```text
/// 12345678
/// 1234      5678          halves, of 32 bits
/// 12   34   56   78       quarters, of 16 bits
/// 1 2  3 4  5 6  7 8      eighths
/// ```
///
/// Each step divides all parts at once, by multiplying and shifting: `* 109951163 >> 40` divides numbers below 10^8 by
/// 10^4, `* 10486 >> 20` numbers below 10^4 by 100, and `* 103 >> 10` numbers below 100 by 10.
#[inline(always)]
fn digits(number: u64) -> u64 {
    debug_assert!(number < E8);
    four_digits(split::<10_000, 32>(number, (number * 109_951_163) >> 40))
}

/// The four digits of each half, which are below 10^4. The upper half may be zero.
#[inline(always)]
fn four_digits(halves: u64) -> u64 {
    let quarters = split::<100, 16>(halves, ((halves * 10_486) >> 20) & 0x0000_007f_0000_007f);
    split::<10, 8>(quarters, ((quarters * 103) >> 10) & 0x000f_000f_000f_000f)
}

/// Replaces each part with its quotient and, `SHIFT` bits higher, its remainder, which is
/// `quotient + ((part - quotient * DIVISOR) << SHIFT)`.
#[inline(always)]
const fn split<const DIVISOR: u64, const SHIFT: u32>(parts: u64, quotients: u64) -> u64 {
    (parts << SHIFT) - quotients * ((DIVISOR << SHIFT) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_divided_exactly() {
        for number in 0..10_000 {
            assert_eq!((four_digits(number) as u32 | ASCII as u32).to_le_bytes(), format!("{number:04}").as_bytes());
            for number in [number, number * 10_000, 99_990_000 + number] {
                assert_eq!((digits(number) | ASCII).to_le_bytes(), format!("{number:08}").as_bytes());
            }
        }
    }
}
