//! Compares JSON numbers of any length by their exact values.

use std::hash::{Hash, Hasher};

/// A JSON number in normal form.
///
/// The value is ±0.d₁d₂d₃… × 10ᵖᵒⁱⁿᵗ, where neither the first nor the last digit is zero, so each value has only one
/// form. Zero has no digits and no sign.
#[derive(Clone, Copy)]
pub struct Decimal<'a> {
    negative: bool,
    /// The digits before the decimal point. `whole` and `fraction` together have no leading or trailing zeros.
    whole: &'a [u8],
    /// The digits after the decimal point.
    fraction: &'a [u8],
    point: i64,
    /// An exponent of more than 17 digits: whether it is negative, and its digits. It isn't added to `point`, so two
    /// spellings of one value, such as `1e…` and `10e…`, may compare unequal. Ids in practice are never that large.
    exponent: (bool, &'a [u8]),
}

impl<'a> Decimal<'a> {
    /// Normalises `number`, which must be a valid JSON number.
    pub fn new(number: &'a [u8]) -> Self {
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
        // Nothing overflows: a text has at most 4 GiB, and 17 digits are below 10¹⁷.
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

    /// Whether the value has no fraction.
    #[allow(clippy::cast_possible_wrap, reason = "no slice is that long")]
    #[inline]
    pub fn is_integer(&self) -> bool {
        match self.exponent {
            (_, b"") => self.point >= self.len() as i64,
            (negative, _) => !negative,
        }
    }

    /// The value, if it is an integer of at most 38 digits.
    #[inline]
    pub fn to_integer(self) -> Option<i128> {
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

/// Splits `text` at the first byte of `class`, which is in neither part. The second part is empty if there is none.
fn split(text: &[u8], class: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    match text.iter().position(|&byte| class(byte)) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}

/// Splits an exponent, which may be empty, into its sign (true if negative) and its digits without leading zeros.
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
