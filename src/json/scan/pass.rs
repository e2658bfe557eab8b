//! The pass itself: 64 bytes at a time become tokens, and 64 tokens at a time are judged.
//!
//! No token is looked at on its own. Each step is a handful of operations on masks, and asks one thing of all bytes of a
//! block or of all tokens of a group at once.
//!
//! Of every block of bytes:
//!
//! 1. [`text`](super::text): where is it, and does the text end in it?
//! 2. [`strings`](super::strings): which of its bytes are within strings, and are the escapes right?
//! 3. [`text`](super::text): may the others stand there?
//! 4. [`numbers`](super::numbers): are the numbers and literals right?
//! 5. [`group`](super::group): append the tokens. A string, a number or a literal is one token, and blanks are none.
//!
//! Of every group of tokens, which come from several blocks:
//!
//! 6. [`grammar`]: may they follow each other?
//! 7. [`pairs`](super::pairs): which bracket closes which?
//! 8. [`grammar`]: do they stand in the containers that they must stand in?
//! 9. [`outermost`](super::outermost): where are the members of the outermost object?
//!
//! ```text
//! bytes    { "id" : 17, "params": {"names": ["a", "bc"], "deep": true} }
//! tokens   {":1,":{":[","],":t}}
//! ```
//!
//! A text is accepted or rejected, nothing more. [`explain`](crate::json::explain()) says why, and where.

use super::cpu::Masks;
use super::grammar;
use super::group::{Found, Group};
use super::nesting::Nesting;
use super::numbers::Numbers;
use super::outermost::Outermost;
use super::strings::Strings;
use super::text::Text;
use super::{Input, Members, Scanned};

/// The text is not JSON, or too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rejected;

/// Judges `input`, which is at most 4 GiB long, and passes each member of the outermost object to `members`.
///
/// Inlined into one function for each CPU, with all that it calls but for rare cases: so the CPU's instructions get into
/// it. The compiler keeps state in registers only as long as no reference to it goes to a function that is not inlined,
/// so there are several small states here and not a large one.
#[inline(always)]
pub(super) fn scan<C: Masks, G: Group<C>, M: Members>(
    cpu: C,
    input: Input<'_>,
    max_depth: u32,
    members: &mut M,
) -> Result<Scanned, Rejected> {
    let mut text = Text::new(input);
    let mut strings = Strings::default();
    let mut numbers = Numbers::default();
    let mut group = G::new(cpu, input.known > 0);
    let mut origins = G::Origins::default();
    let mut nesting = Nesting::default();
    let mut outermost = Outermost::default();
    let mut padded = None;
    if input.known > 0 {
        outermost.open(input.known - 1, true, &mut nesting, max_depth)?;
    }

    loop {
        while !group.overflows() && text.has_more() {
            let block = text.block(&mut padded);
            let masks = text.string_masks(cpu, block);
            let quote = strings.quotes(cpu, block, masks)?;
            if strings.go_on(quote) {
                strings.skip(cpu, masks, &mut text)?;
                continue;
            }
            let inside = strings.inside(cpu, quote);
            let (visible, blank) = text.outside(cpu, block, masks, inside, quote)?;
            let (structural, shapes) = G::structure(cpu, block);
            let scalar = numbers.starts(cpu, block, visible & !structural, text.rest())?;
            let string = quote & inside;
            let tokens = (structural & visible) | string | scalar;
            let found = Found { tokens, string, scalar, inside, blank };
            group.append(cpu, block, shapes, found, text.step(), &mut origins);
            if group.is_full() {
                break;
            }
        }
        if group.is_empty() {
            break;
        }

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
        outermost.separators(tokens, claims, levels, places, &text, members)?;
        if group.all_fit() && !text.has_more() {
            break;
        }
        group.restart(cpu, &mut origins);
    }

    if strings.is_inside() || numbers.await_more() || nesting.depth() > 0 || !outermost.has_begun() {
        return Err(Rejected);
    }
    text.check_utf8(cpu)?;
    outermost.deliver(&text, members);
    Ok(Scanned {
        len: text.as_bytes().len(),
        root: outermost.root,
        has_escapes: strings.has_escapes,
        has_controls: text.has_controls(),
    })
}
