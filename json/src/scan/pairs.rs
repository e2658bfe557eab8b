//! Matches the brackets of a group all at once.
//!
//! An opening and a closing bracket form a pair if there is no other bracket between them. After all such pairs are
//! removed, the brackets around them form pairs in turn:
//!
//! ```text
//! tokens       ] , [ 1 , { " : [ ] } , [ ] ] , { " : [
//! brackets     ]   [     {     [ ] }   [ ] ]   {     [
//! first round                  ^-^     ^-^
//! second                 ^---------^
//! third            ^-----------------------^
//! left         ]                               {     [
//! ```
//!
//! The number of rounds is the depth of the nesting in the group, regardless of the number of brackets. The remaining
//! closing brackets close containers opened in earlier groups, from the innermost outwards. The remaining opening
//! brackets, which come after those, stay open.

use super::cpu::Gather;
use super::nesting::{Brackets, Levels, Nesting};
use super::pass::Rejected;

/// Opens and closes the containers of `nesting`, which must not [be deep](Nesting::may_be_deep).
///
/// Doesn't check whether matching brackets are of the same kind.
#[inline(always)]
pub(super) fn nest<C: Gather>(cpu: C, brackets: Brackets, nesting: &mut Nesting) -> Result<Levels, Rejected> {
    let mut rest = Unpaired { brackets, close_in_object: 0, within_pairs: 0 };
    while rest.round(cpu) {}
    let Unpaired { brackets: rest, mut close_in_object, within_pairs } = rest;

    let depth = nesting.depth();
    let closed = rest.close.count_ones();
    if closed > depth {
        return Err(Rejected);
    }
    close_in_object |= cpu.scatter(nesting.kinds() >> 1, rest.close);
    nesting.close_and_open(closed, rest.open.count_ones(), cpu.gather(brackets.curly, rest.open));

    if depth.wrapping_sub(1) > closed {
        // These brackets can't reach the outermost container, or the text is a scalar.
        return Ok(Levels { close_in_object, outermost: 0, end: 0 });
    }
    // From the bracket after which only the outermost container is open, up to the first bracket that stays open.
    let start = if depth == 1 { 0 } else { cpu.scatter(1 << (depth - 2), rest.close) };
    let first_open = rest.open & rest.open.wrapping_neg();
    let outermost = !within_pairs & !up_to(start) & first_open.wrapping_sub(1);
    let end = if depth == closed { last(rest.close) } else { 0 };
    Ok(Levels { close_in_object, outermost, end })
}

/// The brackets that aren't paired yet, and the results for the paired ones.
struct Unpaired {
    brackets: Brackets,
    close_in_object: u64,
    /// All tokens from the opening bracket of a pair (inclusive) to its closing one (exclusive).
    within_pairs: u64,
}

impl Unpaired {
    /// Removes the pairs that have no other bracket between them. Returns whether there were any.
    #[inline(always)]
    fn round<C: Gather>(&mut self, cpu: C) -> bool {
        let brackets = self.brackets.open | self.brackets.close;
        // With the brackets side by side, a pair is an opening bracket directly before a closing one.
        let closing = cpu.gather(self.brackets.close, brackets);
        let pairs = !closing & closing >> 1;
        if pairs == 0 {
            return false;
        }
        let (open, close) = (cpu.scatter(pairs, brackets), cpu.scatter(pairs << 1, brackets));
        // One run of ones per pair. The closing bracket's own bit separates it from the next run.
        let within = close.wrapping_sub(open);
        // Adding an opening bracket to its run carries it to the closing one.
        self.close_in_object |= within.wrapping_add(open & self.brackets.open_in_object) & close;
        self.within_pairs |= within;
        self.brackets.open ^= open;
        self.brackets.close ^= close;
        true
    }
}

/// A single bit and all bits below it, or 0 if there is no bit.
#[inline(always)]
fn up_to(bit: u64) -> u64 {
    bit | bit.saturating_sub(1)
}

#[inline(always)]
fn last(bits: u64) -> u64 {
    1 << (63 - bits.leading_zeros())
}

#[cfg(test)]
mod tests {
    use quickcheck::{Arbitrary, Gen, QuickCheck};

    use super::super::cpu::avx2::Avx2;
    use super::super::cpu::avx512::Avx512;
    use super::*;

    /// A group of tokens, some of which are brackets, and the containers that are open before it.
    #[derive(Clone, Debug)]
    struct Tokens {
        before: Vec<bool>,
        tokens: Vec<Option<(bool, bool)>>,
    }

    impl Arbitrary for Tokens {
        fn arbitrary(g: &mut Gen) -> Self {
            let before = (0..1 + usize::arbitrary(g) % 6).map(|_| bool::arbitrary(g)).collect();
            // From mostly opening to mostly closing.
            let opening = u8::arbitrary(g);
            let tokens = (0..64).map(|_| {
                let bracket = Some((u8::arbitrary(g) < opening, bool::arbitrary(g)));
                bracket.filter(|_| u8::arbitrary(g) % 3 > 0)
            });
            Self { before, tokens: tokens.collect() }
        }

        /// Removes one bracket.
        fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
            let (all, brackets) = (self.clone(), 0..self.tokens.len());
            Box::new(brackets.filter(move |&at| all.tokens[at].is_some()).map({
                let all = self.clone();
                move |at| {
                    let mut fewer = all.clone();
                    fewer.tokens[at] = None;
                    fewer
                }
            }))
        }
    }

    impl Tokens {
        fn nesting(&self) -> Nesting {
            let mut nesting = Nesting::default();
            self.before.iter().for_each(|&curly| nesting.push(curly));
            nesting
        }

        /// The brackets, each opening one with the right claim and each closing one of the right kind.
        fn brackets(&self) -> Brackets {
            let mut brackets = Brackets { open: 0, close: 0, curly: 0, open_in_object: 0 };
            let mut stack = self.before.clone();
            for (i, &token) in self.tokens.iter().enumerate() {
                let Some((opens, curly)) = token else { continue };
                let innermost = stack.last() == Some(&true);
                if opens {
                    brackets.open |= 1 << i;
                    brackets.curly |= u64::from(curly) << i;
                    brackets.open_in_object |= u64::from(innermost) << i;
                    stack.push(curly);
                } else {
                    brackets.close |= 1 << i;
                    brackets.curly |= u64::from(innermost) << i;
                    stack.pop();
                }
            }
            brackets
        }
    }

    /// Clears the bits that are arbitrary: those of brackets, and those after the end. `None` if brackets come after
    /// the end.
    fn comparable(levels: Result<Levels, Rejected>, brackets: Brackets) -> Option<Levels> {
        let levels = levels.ok()?;
        let all = brackets.open | brackets.close;
        let before_end = if levels.end == 0 { !0 } else { levels.end - 1 };
        (all & !(levels.end | before_end) == 0)
            .then_some(Levels { outermost: levels.outermost & !all & before_end, ..levels })
    }

    fn agrees_with_the_walk<C: Gather>(cpu: C, tokens: &Tokens) {
        let brackets = tokens.brackets();
        let [mut by_pairs, mut by_steps, mut by_walk] = [tokens.nesting(), tokens.nesting(), tokens.nesting()];
        let expected = comparable(by_walk.walk(brackets, 128), brackets);
        assert_eq!(comparable(nest(cpu, brackets, &mut by_pairs), brackets), expected, "{tokens:?}");
        assert_eq!(comparable(by_steps.steps(cpu, brackets), brackets), expected, "{tokens:?}");
        if expected.is_some() {
            for nesting in [by_pairs, by_steps] {
                assert_eq!(nesting.depth(), by_walk.depth(), "{tokens:?}");
                let open = (1_u64 << by_walk.depth()) - 1;
                assert_eq!(nesting.kinds() & open, by_walk.kinds() & open, "{tokens:?}");
            }
        }
    }

    #[test]
    fn pairs_are_what_a_walk_finds() {
        fn property(mut tokens: Tokens) -> bool {
            while tokens.nesting().may_be_deep(tokens.brackets(), 128) {
                let opening = tokens.tokens.iter_mut().find(|token| matches!(token, Some((true, _)))).unwrap();
                *opening = None;
            }
            if let Some(avx2) = Avx2::<true>::detect() {
                agrees_with_the_walk(avx2, &tokens);
            }
            if let Some(avx512) = Avx512::detect() {
                agrees_with_the_walk(avx512, &tokens);
            }
            true
        }
        QuickCheck::new().tests(20_000).quickcheck(property as fn(Tokens) -> bool);
    }

    /// Tries every depth of nesting that fits in a group.
    #[test]
    fn pairs_within_pairs() {
        let Some(avx2) = Avx2::<true>::detect() else { return };
        for deep in 1..=31 {
            for gap in 0..=(64 / (2 * deep) - 1) {
                let mut tokens = Tokens { before: vec![true], tokens: vec![None; 64] };
                for i in 0..deep {
                    tokens.tokens[i * (gap + 1)] = Some((true, i % 3 == 0));
                    tokens.tokens[(deep + i) * (gap + 1)] = Some((false, false));
                }
                agrees_with_the_walk(avx2, &tokens);
            }
        }
    }
}
