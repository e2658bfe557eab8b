//! The pass over a text: tokenizes 64 bytes at a time, and checks up to 64 tokens at a time.
//!
//! There is no loop over tokens. Each step processes a whole block of bytes, or a whole group of tokens, with a handful
//! of operations on masks.
//!
//! First, [`opening`](super::opening) recognizes common ways to start a message, which need no scan.
//!
//! For every block of bytes:
//!
//! 1. [`block_reader`](super::block_reader) loads the block, and finds the end of the text if it is in this block.
//! 2. [`strings`](super::strings) finds the bytes inside strings, and validates escapes.
//! 3. [`block_reader`](super::block_reader) checks that the remaining bytes between tokens are white space.
//! 4. [`numbers`](super::numbers) validates numbers and literals.
//! 5. [`group`](super::group) appends the tokens to the group. A string, number or literal counts as one token.
//!
//! For every group of tokens, which may span several blocks:
//!
//! 6. [`grammar`] checks whether each token may follow the previous one.
//! 7. [`pairs`](super::pairs) matches the brackets.
//! 8. [`grammar`] checks whether each token is in the right kind of container.
//! 9. [`outermost`](super::outermost) locates the members of the outermost object.
//!
//! ```text
//! bytes    { "id" : 17, "params": {"names": ["a", "bc"], "deep": true} }
//! tokens   {":1,":{":[","],":t}}
//! ```
//!
//! A text is either accepted or rejected. [`explain`](crate::explain()) finds the reason and the position.

use super::block_reader::BlockReader;
use super::cpu::Masks;
use super::grammar;
use super::group::{BlockTokens, Group};
use super::nesting::Nesting;
use super::numbers::Numbers;
use super::outermost::Outermost;
use super::strings::Strings;
use super::{Input, Members, Opening, Scanned, TextFlags};

/// The text isn't JSON, or is nested too deeply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rejected;

/// Checks `input`, which must have at most 4 GiB, and passes each member of the outermost object to `members`.
///
/// This function and nearly all of its callees are inlined into one function per CPU, which enables the CPU's features.
/// State only stays in registers if no reference to it is passed to a function that isn't inlined. That is why there
/// are several small structs rather than one large one.
#[inline(always)]
pub(super) fn scan<C: Masks, G: Group<C>, M: Members>(
    cpu: C,
    input: Input<'_>,
    max_depth: u32,
    members: &mut M,
) -> Result<Scanned, Rejected> {
    let opening = Opening::of(input.text());
    let known = if input.reads_ahead { opening.extended(members.opening(opening, C::EXPENSIVE)).known() } else { &[] };
    let mut text = BlockReader::new(input, known.len());
    let mut strings = Strings::default();
    let mut numbers = Numbers::default();
    let mut origins = G::Origins::default();
    let mut nesting = Nesting::default();
    let mut outermost = Outermost::default();
    let mut padded = None;
    // A text begins with a value, as if after a colon.
    let mut previous = b':';
    if let Some(&last) = known.last() {
        previous = last;
        outermost.open(known.len() - 1, true, &mut nesting, max_depth)?;
    }
    let mut group = G::new(cpu, previous);

    'text: loop {
        while let Some(block) = text.block(cpu, &mut padded) {
            let masks = text.string_masks(cpu, block);
            let quote = strings.quotes(cpu, block, masks)?;
            if strings.fill_block(quote) {
                strings.skip(cpu, masks, &mut text)?;
                continue;
            }
            let inside = strings.inside(cpu, quote);
            let outside = text.outside(cpu, block, masks, inside, quote)?;
            let (structural, shapes) = G::structure(cpu, block);
            let others = outside & !structural;
            let (mut blank, mut scalar) = (0, 0);
            if others | numbers.pending() != 0 {
                blank = text.blanks(cpu, block, masks, others);
                scalar = numbers.starts(cpu, block, others ^ blank, &text)?;
            }
            let string = quote & inside;
            let tokens = (structural & outside) | string | scalar;
            let found = BlockTokens { tokens, string, scalar, inside, blank };
            if group.append(cpu, block, shapes, found, text.step(), &mut origins) {
                break;
            }
        }
        if group.is_empty() && !text.has_more() {
            break;
        }

        loop {
            let tokens = group.tokens(cpu);
            let claims = group.read(tokens)?;
            let places = |tokens| group.places(cpu, tokens, &origins);
            let entered = outermost.enter(tokens, places, &mut nesting, max_depth)?;
            let brackets = claims.brackets(tokens, entered);
            let in_object = nesting.in_object();
            let levels = match nesting.may_be_deep(brackets, max_depth) {
                false => G::nest(cpu, brackets, &mut nesting)?,
                true => nesting.walk(brackets, max_depth)?,
            };
            grammar::check_containers(cpu, tokens, claims, brackets, levels, in_object)?;
            outermost.deliver(tokens, claims, levels, places, &text, members)?;
            if group.all_fit() && !text.has_more() {
                break 'text;
            }
            group.restart(cpu, &mut origins);
            // The tokens that didn't fit may fill the next group.
            if !group.is_full() {
                break;
            }
        }
    }

    if strings.is_inside() || numbers.is_incomplete() || nesting.depth() > 0 || !outermost.has_begun() {
        return Err(Rejected);
    }
    text.check_utf8(cpu)?;
    Ok(Scanned {
        len: text.as_bytes().len(),
        root: outermost.root,
        flags: TextFlags::new(strings.has_escapes, text.has_controls()),
    })
}
