//! Integers in decimal, eight digits at a time.

use super::{Done, Writer};

const E8: u64 = 100_000_000;
const E16: u64 = E8 * E8;

impl Writer<'_> {
    #[inline(always)]
    pub(super) fn i64(&mut self, number: i64) -> Done {
        self.number(number < 0, number.unsigned_abs())
    }

    #[inline(always)]
    pub(super) fn u64(&mut self, number: u64) -> Done {
        self.number(false, number)
    }

    pub(super) fn i128(&mut self, number: i128) -> Done {
        self.long_number(number < 0, number.unsigned_abs())
    }

    pub(super) fn u128(&mut self, number: u128) -> Done {
        self.long_number(false, number)
    }

    #[inline(always)]
    fn number(&mut self, is_negative: bool, number: u64) -> Done {
        if number < E8 {
            let done = self.cursor.put_number(is_negative, leading(number), []);
            self.fits(done)
        } else {
            self.many_digits(is_negative, number)
        }
    }

    /// Writes a number of nine digits or more. Not inlined, which leaves more registers for shorter numbers.
    #[inline(never)]
    fn many_digits(&mut self, is_negative: bool, number: u64) -> Done {
        let done = if number < E16 {
            self.cursor.put_number(is_negative, leading(number / E8), [eight(number % E8)])
        } else {
            let (first, rest) = (number / E16, number % E16);
            self.cursor.put_number(is_negative, leading(first), [eight(rest / E8), eight(rest % E8)])
        };
        self.fits(done)
    }

    #[allow(clippy::cast_possible_truncation, reason = "a number below 10^16 fits 64 bits")]
    fn long_number(&mut self, is_negative: bool, number: u128) -> Done {
        match u64::try_from(number) {
            Ok(number) => self.number(is_negative, number),
            Err(_) => {
                self.long_number(is_negative, number / u128::from(E16))?;
                let rest = (number % u128::from(E16)) as u64;
                let done = self.cursor.put([&eight(rest / E8), &eight(rest % E8)]);
                self.fits(done)
            }
        }
    }
}

/// `number`, which is below 10^8, without leading zeros, and its length.
#[inline(always)]
fn leading(number: u64) -> ([u8; 8], usize) {
    let digits = digits(number);
    // The last digit counts even if it is a zero.
    let zeros = (digits | 1 << 56).trailing_zeros() / 8;
    (((digits | ASCII) >> (8 * zeros)).to_le_bytes(), 8 - zeros as usize)
}

/// `number`, which is below 10^8, with leading zeros.
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
    // Replaces each part with its quotient and, `SHIFT` bits higher, its remainder, which is
    // `quotient + ((part - quotient * DIVISOR) << SHIFT)`.
    #[inline(always)]
    const fn split<const DIVISOR: u64, const SHIFT: u32>(parts: u64, quotients: u64) -> u64 {
        (parts << SHIFT) - quotients * ((DIVISOR << SHIFT) - 1)
    }
    let halves = split::<10_000, 32>(number, (number * 109_951_163) >> 40);
    let quarters = split::<100, 16>(halves, ((halves * 10_486) >> 20) & 0x0000_007f_0000_007f);
    split::<10, 8>(quarters, ((quarters * 103) >> 10) & 0x000f_000f_000f_000f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_divided_exactly() {
        for number in 0..10_000 {
            for number in [number, number * 10_000, 99_990_000 + number] {
                assert_eq!((digits(number) | ASCII).to_le_bytes(), format!("{number:08}").as_bytes());
            }
        }
    }
}
