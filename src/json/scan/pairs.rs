//! Which bracket closes which, for all brackets of a group at once.
//!
//! An opening bracket that is followed by a closing one, all other tokens being left out, makes a pair with it. Take out
//! all pairs there are, and what was around them becomes pairs:
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
//! It takes as many rounds as brackets are nested deep in the group, however many there are. What is left closes what was
//! open before, from the innermost outwards, and then opens what is still open after.

use super::cpu::Gather;
use super::nesting::{Brackets, Levels, Nesting};
use super::pass::Rejected;

/// Opens and closes the containers of `nesting`. It must not [be deep](Nesting::may_be_deep).
///
/// Whether brackets are of the same kind is not asked here.
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
        // All of it is farther in; or, at depth 0, there are no containers at all.
        return Ok(Levels { close_in_object, outermost: 0, end: 0 });
    }
    // After the bracket that closes all but the outermost container, if any must, and before the first that stays open.
    let start = if depth == 1 { 0 } else { cpu.scatter(1 << (depth - 2), rest.close) };
    let first_open = rest.open & rest.open.wrapping_neg();
    let outermost = !within_pairs & !up_to(start) & first_open.wrapping_sub(1);
    let end = if depth == closed { last(rest.close) } else { 0 };
    Ok(Levels { close_in_object, outermost, end })
}

/// The brackets that make no pair so far, and what is known of the others.
struct Unpaired {
    brackets: Brackets,
    close_in_object: u64,
    /// From each bracket that opens a pair up to before the one that closes it.
    within_pairs: u64,
}

impl Unpaired {
    /// Takes out the pairs that have nothing left between them, if there are any.
    #[inline(always)]
    fn round<C: Gather>(&mut self, cpu: C) -> bool {
        let brackets = self.brackets.open | self.brackets.close;
        // Among brackets alone, what is not closing is opening.
        let closing = cpu.gather(self.brackets.close, brackets);
        let pairs = !closing & closing >> 1;
        let (open, close) = (cpu.scatter(pairs, brackets), cpu.scatter(pairs << 1, brackets));
        // No two of these have a bit in common, or stand side by side.
        let within = close.wrapping_sub(open);
        // To add the opening bracket to that carries it to the closing one.
        self.close_in_object |= within.wrapping_add(open & self.brackets.open_in_object) & close;
        self.within_pairs |= within;
        self.brackets.open ^= open;
        self.brackets.close ^= close;
        close != 0
    }
}

/// The bit itself, which is one or none, and all below.
#[inline(always)]
fn up_to(bit: u64) -> u64 {
    bit | bit.saturating_sub(1)
}

#[inline(always)]
fn last(bits: u64) -> u64 {
    1 << (63 - bits.leading_zeros())
}
