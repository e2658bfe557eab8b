//! The scanner proper: JSON's grammar, 64 bytes at a time, on masks.
//!
//! There is no token index and no walk over tokens. Each of a few small passes asks one thing of 64 bytes at once:
//!
//! 1. [`strings`](super::strings): which bytes are within strings? Only the others are looked at any further.
//! 2. [`numbers`](super::numbers): are the numbers and literals right?
//! 3. [`grammar`](super::grammar): may the tokens follow each other?
//! 4. [`nesting`](super::nesting): do the brackets match? This is a loop, over the brackets.
//! 5. [`outermost`](super::outermost): where are the members of the outermost object?
//!
//! What one block cannot know of the next is carried: a bit each for a token whose successor is still to come, for an
//! odd backslash at the end, for a string or a number that goes on.
//!
//! A text is accepted or rejected, nothing more. Why it was rejected, and where, is asked of [`explain`](super::explain()).

use super::cpu::{BLOCK, Block, Masks};
use super::grammar::{Grammar, Tokens};
use super::nesting::Nesting;
use super::numbers::Numbers;
use super::outermost::Outermost;
use super::strings::Strings;
use super::{Input, Members, Root, Scanned};

/// The text is not JSON, or too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rejected;

/// Judges `input`, which is 4 GiB long at the most, and tells `members` of each member of the outermost object.
///
/// Inlined into one function for each CPU, so that `cpu`'s masks are inlined in turn.
#[inline(always)]
pub(super) fn scan<C: Masks, M: Members>(
    cpu: C,
    input: Input<'_>,
    max_depth: u32,
    members: &mut M,
) -> Result<Scanned, Rejected> {
    let Input { buffer, ends_at_line_feed, known } = input;
    let mut text = buffer;
    let mut strings = Strings::default();
    let mut numbers = Numbers::default();
    let mut grammar = Grammar::default();
    let mut nesting = Nesting::default();
    let mut outermost = Outermost::default();
    let mut blanks = 0;
    let mut controls = 0;
    // From the first block that is not ASCII to the last.
    let mut beyond_ascii = (usize::MAX, 0);

    // Whether the block before was within a string, and had an escape.
    let mut escaping = false;
    let mut at = known;
    if known > 0 {
        if max_depth == 0 {
            return Err(Rejected);
        }
        grammar = Grammar::after_comma();
        nesting.push(true);
        outermost.open(known - 1, true);
    }
    let mut padded: Block;
    while at < text.len() {
        // The bytes that belong to the text.
        let mut within = !0;
        let mut block = match text[at..].first_chunk() {
            Some(block) => block,
            None => {
                within = (1 << (text.len() - at)) - 1;
                padded = last_block(buffer, at, text.len());
                &padded
            }
        };
        let mut masks = cpu.strings(block);
        if masks.odd != 0 && ends_at_line_feed {
            let line_feed = cpu.line_feeds(block);
            if line_feed != 0 {
                text = &buffer[..at + line_feed.trailing_zeros() as usize];
                within = (line_feed - 1) & !line_feed;
                padded = last_block(buffer, at, text.len());
                block = &padded;
                masks = cpu.strings(block);
            }
        }

        let (quote, mut bad) = strings.quotes(cpu, block, masks);
        let mut control = 0;
        if masks.odd != 0 {
            let high = cpu.high(block);
            control = masks.odd & !high;
            if high != 0 {
                beyond_ascii = (beyond_ascii.0.min(at), at + BLOCK);
            }
        }
        if strings.inside & !quote == !0 {
            // The middle of a long string. Nothing that is carried changes here.
            if bad | control != 0 {
                return Err(Rejected);
            }
            at += BLOCK;
            // Where one escape comes after the other, there is nothing to skip.
            if (masks.backslash == 0 || !escaping) && strings.pending() == 0 {
                let (to, high) = cpu.skip_plain(text, at);
                if high {
                    beyond_ascii = (beyond_ascii.0.min(at), to);
                }
                at = to;
            }
            escaping = masks.backslash != 0;
            continue;
        }
        let inside = strings.inside(cpu, quote);
        bad |= control & inside;
        controls |= control;

        let structure = cpu.structure(block);
        let outside = !(inside | quote) & within;
        let blank = structure.blank & outside;
        let open = structure.open & outside;
        let close = structure.close & outside;
        let comma = structure.comma & outside;
        let colon = structure.colon & outside;
        let scalar = outside & !(blank | open | close | comma | colon);
        blanks |= blank;

        let scalar_start = numbers.starts(scalar);
        if scalar | numbers.pending() != 0 {
            bad |= numbers.block(cpu, block, scalar, scalar_start, &text[at..]);
        }

        let string_start = quote & inside;
        let tokens = Tokens { inside, string_start, scalar_start, blank, open, close, comma, colon };
        let said = grammar.block(tokens);
        bad |= said.bad;

        let depth_before = nesting.depth();
        let in_object_before = nesting.in_object();
        let mut inner_open = open;
        let mut entered = 0;
        if depth_before == 0 {
            // Before the outermost value or after it.
            let brackets = open | close;
            let first = brackets & brackets.wrapping_neg();
            bad |= comma & !first & first.wrapping_sub(1);
            if first != 0 {
                if open & first == 0 || max_depth == 0 || outermost.root != Root::Scalar {
                    return Err(Rejected);
                }
                let curly = structure.curly & first != 0;
                outermost.open(at + first.trailing_zeros() as usize, curly);
                nesting.push(curly);
                inner_open ^= first;
                entered = structure.curly & first;
            }
        }
        let Some(levels) = nesting.block(inner_open, close, structure.curly, max_depth) else {
            return Err(Rejected);
        };
        let in_object = cpu.prefix_xor((levels.changes | entered) << 1) ^ in_object_before;
        bad |= (said.in_object & !in_object) | (said.in_array & in_object) | (close & (structure.curly ^ in_object));

        if let Some(second_level) = levels.second {
            let deeper = cpu.prefix_xor(second_level) ^ if depth_before >= 2 { !0 } else { 0 };
            let mut separators = (comma | colon) & !deeper;
            if nesting.depth() == 0 && close != 0 {
                let last = 1 << (63 - close.leading_zeros());
                bad |= comma & !(last | (last - 1));
                separators |= last;
            }
            if separators != 0 && bad == 0 {
                outermost.separators(text, at, separators, blanks, members);
            }
        }
        if bad != 0 {
            return Err(Rejected);
        }
        at += BLOCK;
    }

    if strings.inside != 0 || grammar.awaits_more() || nesting.depth() != 0 || numbers.awaits_more() {
        return Err(Rejected);
    }
    if let (from, to @ 1..) = beyond_ascii
        && simdutf8::basic::from_utf8(&text[from..to.min(text.len())]).is_err()
    {
        return Err(Rejected);
    }
    outermost.deliver(text, blanks, members);
    Ok(Scanned { len: text.len(), root: outermost.root, has_escapes: strings.has_escapes, has_controls: controls != 0 })
}

/// The text from `at` on to its end at `len`, with blanks after it to make up a block.
#[inline(always)]
fn last_block(buffer: &[u8], at: usize, len: usize) -> Block {
    /// As many ones as there are blocks' bytes, then as many zeros: from any place on, a mask for the rest of a text.
    const ONES: [u8; 2 * BLOCK] = {
        let mut ones = [0; 2 * BLOCK];
        let mut i = 0;
        while i < BLOCK {
            ones[i] = 0xff;
            i += 1;
        }
        ones
    };

    let rest = len - at;
    let mut block = [b' '; BLOCK];
    match (buffer[at..].first_chunk::<BLOCK>(), ONES[BLOCK - rest..].first_chunk::<BLOCK>()) {
        // What lies after the text is read and replaced, in a few vectors, which is quicker than to copy a length that
        // nobody knows before.
        (Some(bytes), Some(mask)) => {
            for i in 0..BLOCK {
                block[i] = (bytes[i] & mask[i]) | (b' ' & !mask[i]);
            }
        }
        _ => block[..rest].copy_from_slice(&buffer[at..len]),
    }
    block
}
