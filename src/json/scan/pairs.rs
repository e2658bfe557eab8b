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

use super::cpu::Masks;
use super::grammar::Claims;
use super::nesting::Nesting;
use super::pack::Tokens;
use super::pass::Rejected;

/// The brackets of a group that have not been judged before.
#[derive(Clone, Copy)]
pub(super) struct Brackets {
    pub(super) open: u64,
    pub(super) close: u64,
    /// Which of both are curly. Of other tokens it says nothing.
    pub(super) curly: u64,
    /// The opening ones that come after a colon.
    pub(super) open_in_object: u64,
}

/// What the brackets of a group do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    /// The closing brackets after which there is an object.
    pub(super) close_in_object: u64,
    /// The tokens in the outermost container and in no other; of brackets it says nothing.
    pub(super) outermost: u64,
    /// The bracket that closes the outermost container, if it is among them.
    pub(super) end: u64,
}

impl Brackets {
    /// All but `entered`, the one that opened the outermost container.
    #[inline(always)]
    pub(super) fn new(tokens: Tokens, claims: Claims, entered: u64) -> Self {
        let open = tokens.open & tokens.new & !entered;
        let close = tokens.close & tokens.new;
        Self { open, close, curly: tokens.curly, open_in_object: open & claims.after_colon }
    }
}

/// Opens and closes the containers of `nesting`.
///
/// Whether brackets are of the same kind is not asked here.
#[inline(always)]
pub(super) fn nest<C: Masks>(
    cpu: C,
    brackets: Brackets,
    nesting: &mut Nesting,
    max_depth: u32,
) -> Result<Levels, Rejected> {
    if nesting.may_be_deep(brackets.open.count_ones(), max_depth) {
        return nesting.walk(brackets, max_depth);
    }
    let mut rest = brackets;
    let mut close_in_object = 0;
    let mut within_pairs = 0;
    loop {
        let (open, close) = cpu.pairs(rest.open, rest.close);
        if close == 0 {
            break;
        }
        // From each opening bracket up to before the one that closes it. They have no bit in common, nor side by side.
        let within = close.wrapping_sub(open);
        // To add the opening bracket to that carries it to the closing one.
        close_in_object |= within.wrapping_add(open & brackets.open_in_object) & close;
        within_pairs |= within;
        rest.open ^= open;
        rest.close ^= close;
    }

    let depth = nesting.depth();
    let closed = rest.close.count_ones();
    if closed > depth {
        return Err(Rejected);
    }
    close_in_object |= cpu.scatter(nesting.kinds() >> 1, rest.close);
    nesting.close_and_open(closed, rest.open, brackets.curly);

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

/// The bit itself, which is one or none, and all below.
#[inline(always)]
fn up_to(bit: u64) -> u64 {
    bit | bit.saturating_sub(1)
}

#[inline(always)]
fn last(bits: u64) -> u64 {
    1 << (63 - bits.leading_zeros())
}
