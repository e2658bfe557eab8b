//! The value of a JSON number of any length, for comparing.

use std::hash::{Hash, Hasher};

/// A number as its significant digits and the place of the point before them: ±0.d₁d₂d₃… × 10ᵖᵒⁱⁿᵗ, where neither the
/// first digit nor the last is zero. So the same value has one form only.
#[derive(Clone, Copy)]
pub(crate) struct Decimal<'a> {
    negative: bool,
    /// The digits before and after the point as spelled, zeros at the outer ends removed.
    whole: &'a [u8],
    fraction: &'a [u8],
    point: i64,
    /// The digits of an exponent that has more than 17 of them, and whether it is negative. Such a one is not added to
    /// `point`, so that `1e…` and `10e…` are not equal where they might be. It is no loss: nobody counts that far.
    exponent: (bool, &'a [u8]),
}

impl<'a> Decimal<'a> {
    /// `number` is a JSON number.
    pub(crate) fn new(number: &'a [u8]) -> Self {
        let (negative, number) = match number {
            [b'-', number @ ..] => (true, number),
            number => (false, number),
        };
        let (digits, exponent) = split(number, |byte| matches!(byte, b'e' | b'E'));
        let (integer, fraction) = split(digits, |byte| byte == b'.');

        let mut whole = strip_leading_zeros(integer);
        let mut fraction = strip_trailing_zeros(fraction);
        let mut leading_zeros = integer.len() - whole.len();
        if fraction.is_empty() {
            whole = strip_trailing_zeros(whole);
        }
        if whole.is_empty() {
            let significant = strip_leading_zeros(fraction);
            leading_zeros += fraction.len() - significant.len();
            fraction = significant;
        }
        if whole.is_empty() && fraction.is_empty() {
            return Self { negative: false, whole, fraction, point: 0, exponent: (false, b"") };
        }
        // A text is no longer than 4 GiB, and 17 digits are below 10¹⁷: nothing overflows.
        #[allow(clippy::cast_possible_wrap, reason = "no slice is that long")]
        let point = integer.len() as i64 - leading_zeros as i64;
        match split_exponent(exponent) {
            (sign, power) if power.len() <= 17 => {
                let power = power.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
                let point = if sign { point - power } else { point + power };
                Self { negative, whole, fraction, point, exponent: (false, b"") }
            }
            exponent => Self { negative, whole, fraction, point, exponent },
        }
    }

    #[allow(clippy::cast_possible_wrap, reason = "no slice is that long")]
    pub(crate) fn is_integer(&self) -> bool {
        match self.exponent {
            (_, b"") => self.point >= self.len() as i64,
            (negative, _) => !negative,
        }
    }

    /// The value, if it is a whole number that fits.
    pub(crate) fn to_integer(self) -> Option<i128> {
        if !self.is_integer() || !self.exponent.1.is_empty() || self.point > 38 {
            return None;
        }
        let digits = self.digits().chain(std::iter::repeat(b'0')).take(usize::try_from(self.point).ok()?);
        let value = digits.fold(0, |value, digit| value * 10 + i128::from(digit - b'0')); // below 10³⁸
        Some(if self.negative { -value } else { value })
    }

    fn len(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    fn digits(&self) -> impl Iterator<Item = u8> + 'a {
        self.whole.iter().chain(self.fraction).copied()
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.negative == other.negative
            && self.point == other.point
            && self.exponent == other.exponent
            && self.len() == other.len()
            && self.digits().eq(other.digits())
    }
}

impl Hash for Decimal<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.negative.hash(state);
        self.point.hash(state);
        self.exponent.hash(state);
        self.len().hash(state);
        for digit in self.digits() {
            state.write_u8(digit);
        }
    }
}

/// What stands before the first byte of `class`, and what after it.
fn split(text: &[u8], class: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    match text.iter().position(|&byte| class(byte)) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}

/// Whether an exponent, empty for none, is negative, and its digits without leading zeros.
fn split_exponent(exponent: &[u8]) -> (bool, &[u8]) {
    match exponent {
        [b'-', digits @ ..] => (true, strip_leading_zeros(digits)),
        [b'+', digits @ ..] | digits => (false, strip_leading_zeros(digits)),
    }
}

fn strip_leading_zeros(mut digits: &[u8]) -> &[u8] {
    while let [b'0', rest @ ..] = digits {
        digits = rest;
    }
    digits
}

fn strip_trailing_zeros(mut digits: &[u8]) -> &[u8] {
    while let [rest @ .., b'0'] = digits {
        digits = rest;
    }
    digits
}
