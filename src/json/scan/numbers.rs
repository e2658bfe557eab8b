//! Numbers and literals, all those of a block at once.
//!
//! A *scalar* here is a run of bytes outside strings that are neither blank nor structure. Each must be a number or
//! one of three words. Words are compared one by one; numbers are checked together, for which the grammar
//!
//! ```text
//! -? ( 0 | 1-9 digit* ) ( . digit+ )? ( e [+-]? digit+ )?
//! ```
//!
//! is read as: what each byte may come after, and what a run of digits may end in, by what it began after.

use super::carry::Carry;
use super::cpu::{Block, DigitMasks, Masks, NumberMasks};

/// What a number that goes on into the next block has been so far: most are 0 or 1, of the last byte.
#[derive(Default)]
pub(super) struct Numbers {
    /// Of any scalar.
    scalar: u64,
    /// Not zero if it may have been something else than digits, or is a word.
    unlike_digits: u64,
    run: u64,
    sign: u64,
    dot: u64,
    exponent: u64,
    exponent_sign: u64,
    leading_minus: u64,
    leading_zero: u64,
    fraction: Carry,
    power: Carry,
    /// The low bits that belong to a word which began in the block before and was found right.
    word: u64,
}

impl Numbers {
    /// Where the runs of `scalar` begin.
    #[inline(always)]
    pub(super) fn starts(&mut self, scalar: u64) -> u64 {
        scalar & !after(scalar, &mut self.scalar)
    }

    /// Whether a block without scalars must be looked at all the same.
    #[inline(always)]
    pub(super) fn pending(&self) -> u64 {
        self.run | self.word
    }

    /// Whether a text that ends here ends too early.
    #[inline(always)]
    pub(super) fn awaits_more(&self) -> bool {
        self.sign | self.dot | self.exponent != 0
    }

    /// The bytes of `scalar` that are wrong. `rest` is the text from this block on.
    #[inline(always)]
    pub(super) fn block<C: Masks>(
        &mut self,
        cpu: C,
        block: &Block,
        scalar: u64,
        scalar_start: u64,
        rest: &[u8],
    ) -> u64 {
        let DigitMasks { digit, zero } = cpu.digits(block);
        if (scalar & !digit) | self.unlike_digits == 0 {
            // Only natural numbers, as ids and counters are.
            let after_leading_zero = after(zero & scalar_start, &mut self.leading_zero);
            self.run = scalar >> 63;
            return after_leading_zero & scalar;
        }
        let was_unlike_digits = self.unlike_digits;
        let run = scalar & !self.words(scalar_start & cpu.alpha(block), rest);
        self.unlike_digits = (scalar >> 63) | self.word;
        if (run & !digit) | was_unlike_digits == 0 {
            // Words, and natural numbers again. These do not begin right after a word: `true1`.
            let start = run & !after(run, &mut self.run);
            let after_leading_zero = after(zero & start, &mut self.leading_zero);
            return (after_leading_zero & run) | (start & !scalar_start);
        }
        self.numbers(cpu.numbers(block), digit & run, zero, run, scalar_start)
    }

    /// The bytes of the literals that begin at `starts`.
    #[inline(always)]
    fn words(&mut self, mut starts: u64, rest: &[u8]) -> u64 {
        let mut words = self.word;
        self.word = 0;
        while starts != 0 {
            let bit = starts.trailing_zeros();
            let at = bit as usize;
            starts &= starts - 1;
            let ones = match rest[at..].first_chunk() {
                Some(b"true" | b"null") => 0b1111,
                Some(b"fals") if rest.get(at + 4) == Some(&b'e') => 0b1_1111,
                _ => 0,
            };
            words |= ones << bit;
            self.word |= ones.checked_shr(u64::BITS - bit).unwrap_or(0);
        }
        words
    }

    /// Not inlined: few blocks need it, and its many variables would crowd out others.
    #[inline(never)]
    fn numbers(&mut self, masks: NumberMasks, digit: u64, zero: u64, run: u64, scalar_start: u64) -> u64 {
        let start = run & !after(run, &mut self.run);
        // A run that begins where no scalar does goes on after a word: `true1`.
        let mut bad = start & !scalar_start;

        let minus = masks.minus & run;
        let plus = masks.plus & run;
        let dot = masks.dot & run;
        let exponent = masks.exponent & run;
        let sign = minus | plus;

        let after_sign = after(sign, &mut self.sign);
        let after_dot = after(dot, &mut self.dot);
        let after_exponent = after(exponent, &mut self.exponent);
        let after_exponent_sign = after(sign & after_exponent, &mut self.exponent_sign);
        let integer = start | after(minus & start, &mut self.leading_minus);
        let after_leading_zero = after(zero & integer, &mut self.leading_zero);

        // A dot or an exponent that does not come after a digit comes after one of these, or begins the number.
        bad |= run & !(digit | sign | dot | exponent);
        bad |= start & !(digit | minus);
        bad |= minus & !(start | after_exponent);
        bad |= plus & !after_exponent;
        bad |= (after_sign | after_dot) & !digit;
        bad |= after_exponent & !(digit | sign);
        bad |= after_leading_zero & digit;

        // Digits after a dot or an exponent do not end in a dot; those after an exponent not in another one either.
        let power = (after_exponent | after_exponent_sign) & digit;
        let fraction_ends = self.fraction.land(after_dot & digit, digit);
        let power_ends = self.power.land(power, digit);
        bad |= fraction_ends & dot;
        bad |= power_ends & (dot | exponent);
        bad
    }
}

/// The bytes after those in `mask`, the last of the block before included.
#[inline(always)]
fn after(mask: u64, carry: &mut u64) -> u64 {
    let after = mask << 1 | *carry;
    *carry = mask >> 63;
    after
}
