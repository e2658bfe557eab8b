//! Validates all numbers and literals of a block at once.
//!
//! A *scalar* here is a run of bytes outside strings that are neither blank nor structural. Each must be a number or
//! one of three literals. Literals are compared one by one. Numbers are checked all at once against the grammar
//!
//! ```text
//! -? ( 0 | 1-9 digit* ) ( . digit+ )? ( e [+-]? digit+ )?
//! ```
//!
//! in the form of local rules: which bytes may precede each byte, and which byte may follow a run of digits, depending
//! on the byte before that run.

use super::block_reader::BlockReader;
use super::carry::Carry;
use super::cpu::{Block, DigitMasks, ExponentMasks, Masks};
use super::pass::Rejected;

/// The state of a scalar that continues in the next block. Unless noted otherwise, 1 if the last byte was of that kind.
#[derive(Default)]
pub(super) struct Numbers {
    /// Any scalar.
    scalar: u64,
    /// Nonzero if the scalar may contain bytes other than digits, or is a literal.
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
    /// The bytes of the next block that belong to a literal which began in this block and is valid.
    literal: u64,
}

impl Numbers {
    /// Checks the runs of `scalar`, and returns their first bytes. `block` is the next block of `text`.
    #[inline(always)]
    pub(super) fn starts<C: Masks>(
        &mut self,
        cpu: C,
        block: &Block,
        scalar: u64,
        text: &BlockReader<'_>,
    ) -> Result<u64, Rejected> {
        let continues = self.scalar;
        let start = scalar & !after(scalar, &mut self.scalar);
        if scalar | continues != 0 && self.invalid(cpu, block, scalar, start, text) != 0 {
            return Err(Rejected);
        }
        Ok(start)
    }

    /// Nonzero if the previous block ended in a number or literal, which must be checked even if it doesn't continue.
    #[inline(always)]
    pub(super) fn pending(&self) -> u64 {
        self.scalar
    }

    /// Whether the text ends within a number, if it ends here.
    #[inline(always)]
    pub(super) fn is_incomplete(&self) -> bool {
        self.sign | self.dot | self.exponent != 0
    }

    /// The invalid bytes of `scalar`. Tries the common cases first: natural numbers, literals, decimals.
    #[inline(always)]
    fn invalid<C: Masks>(
        &mut self,
        cpu: C,
        block: &Block,
        scalar: u64,
        scalar_start: u64,
        text: &BlockReader<'_>,
    ) -> u64 {
        let DigitMasks { digit, zero } = cpu.digits(block);
        if (scalar & !digit) | self.unlike_digits == 0 {
            // Only natural numbers, such as ids and counters.
            let after_leading_zero = after(zero & scalar_start, &mut self.leading_zero);
            self.run = scalar >> 63;
            return after_leading_zero & scalar;
        }
        let was_unlike_digits = self.unlike_digits;
        let run = scalar & !self.literals(scalar_start & cpu.alpha(block), text.rest());
        self.unlike_digits = (scalar >> 63) | self.literal;
        if (run & !digit) | was_unlike_digits == 0 {
            // Only literals and natural numbers. A number must not begin right after a literal: `true1`.
            let start = run & !after(run, &mut self.run);
            let after_leading_zero = after(zero & start, &mut self.leading_zero);
            return (after_leading_zero & run) | (start & !scalar_start);
        }
        let digit = digit & run;
        let decimal = cpu.decimals(block);
        let (minus, dot) = (decimal.minus & run, decimal.dot & run);
        if (run & !(digit | minus | dot)) | self.exponent | self.exponent_sign | self.power.0 == 0 {
            return self.decimals(digit, zero, minus, dot, run, scalar_start);
        }
        self.numbers(cpu.exponents(block), digit, zero, minus, dot, run, scalar_start)
    }

    /// The bytes of the valid literals that begin at `starts`. `rest` is the text from this block on.
    #[inline(always)]
    fn literals(&mut self, mut starts: u64, rest: &[u8]) -> u64 {
        let mut literals = self.literal;
        self.literal = 0;
        while starts != 0 {
            // Always two at a time, because a branch on the number of literals would often be mispredicted.
            for _ in 0..2 {
                let bit = starts.trailing_zeros() % u64::BITS;
                let rest = &rest[bit as usize..];
                let ones = match rest.first_chunk() {
                    Some(eight) => literal_mask(*eight),
                    None => last_literal_mask(rest),
                };
                let ones = if starts == 0 { 0 } else { ones };
                literals |= ones << bit;
                self.literal |= ones >> (u64::BITS - 1 - bit) >> 1;
                starts &= starts.wrapping_sub(1);
            }
        }
        literals
    }

    /// The invalid bytes of numbers without exponents:
    ///
    /// ```text
    /// -? ( 0 | 1-9 digit* ) ( . digit+ )?
    /// ```
    #[inline(always)]
    fn decimals(&mut self, digit: u64, zero: u64, minus: u64, dot: u64, run: u64, scalar_start: u64) -> u64 {
        let start = run & !after(run, &mut self.run);
        let after_minus = after(minus, &mut self.sign);
        let after_dot = after(dot, &mut self.dot);
        self.leading_minus = self.sign;
        let after_leading_zero = after(zero & (start | after_minus), &mut self.leading_zero);
        let fraction_ends = self.fraction.land(after_dot & digit, digit);
        (start & !scalar_start)
            | (minus & !start)
            | (dot & start)
            | ((after_minus | after_dot) & !digit)
            | (after_leading_zero & digit)
            | (fraction_ends & dot)
    }

    /// The invalid bytes of numbers with exponents. Not inlined, because few blocks need this, and its many variables
    /// would take registers from other code.
    #[cold]
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "all of them masks of one block")]
    fn numbers(
        &mut self,
        masks: ExponentMasks,
        digit: u64,
        zero: u64,
        minus: u64,
        dot: u64,
        run: u64,
        scalar_start: u64,
    ) -> u64 {
        let start = run & !after(run, &mut self.run);
        // A run that begins where no scalar begins continues a literal: `true1`.
        let mut bad = start & !scalar_start;

        let plus = masks.plus & run;
        let exponent = masks.exponent & run;
        let sign = minus | plus;

        let after_sign = after(sign, &mut self.sign);
        let after_dot = after(dot, &mut self.dot);
        let after_exponent = after(exponent, &mut self.exponent);
        let after_exponent_sign = after(sign & after_exponent, &mut self.exponent_sign);
        let integer = start | after(minus & start, &mut self.leading_minus);
        let after_leading_zero = after(zero & integer, &mut self.leading_zero);

        // A dot or exponent that doesn't follow a digit needs no rule of its own: it begins the number, or follows a
        // sign, dot or exponent, and violates one of these rules.
        bad |= run & !(digit | sign | dot | exponent);
        bad |= start & !(digit | minus);
        bad |= minus & !(start | after_exponent);
        bad |= plus & !after_exponent;
        bad |= (after_sign | after_dot) & !digit;
        bad |= after_exponent & !(digit | sign);
        bad |= after_leading_zero & digit;

        // A dot must not follow digits after a dot or an exponent. An exponent must not follow digits after an
        // exponent.
        let power = (after_exponent | after_exponent_sign) & digit;
        let fraction_ends = self.fraction.land(after_dot & digit, digit);
        let power_ends = self.power.land(power, digit);
        bad |= fraction_ends & dot;
        bad |= power_ends & (dot | exponent);
        bad
    }
}

/// One bit for each byte of the literal at the beginning of `eight`, or 0 if there is none. Branchless.
#[inline(always)]
fn literal_mask(eight: [u8; 8]) -> u64 {
    const TRUE: u64 = u64::from_le_bytes(*b"true\0\0\0\0");
    const NULL: u64 = u64::from_le_bytes(*b"null\0\0\0\0");
    const FALSE: u64 = u64::from_le_bytes(*b"false\0\0\0");
    let eight = u64::from_le_bytes(eight);
    let (four, five) = (eight & 0xffff_ffff, eight & 0xff_ffff_ffff);
    (u64::from(four == TRUE || four == NULL) * 0b1111) | (u64::from(five == FALSE) * 0b1_1111)
}

/// [`literal_mask`] for fewer than eight bytes, at the end of the text.
#[cold]
#[inline(never)]
fn last_literal_mask(rest: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight[..rest.len()].copy_from_slice(rest);
    literal_mask(eight)
}

/// Moves the bits of `mask` to the next byte, with a carry between blocks.
#[inline(always)]
fn after(mask: u64, carry: &mut u64) -> u64 {
    let after = mask << 1 | *carry;
    *carry = mask >> 63;
    after
}
