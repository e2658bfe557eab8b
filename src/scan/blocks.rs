//! The scanner proper: JSON's grammar, 64 bytes at a time, on masks.
//!
//! There is no token index and no walk over tokens. Almost all of the grammar says which token may follow which, and
//! that can be asked of 64 bytes at once by moving masks: shift a mask by one and every token has stepped to the byte
//! after it; add it to a mask of blanks and every token that stood before blanks has been carried over them.
//!
//! ```text
//! text     { "a" : [ 1 , "b" ] , "c" : 2 }
//! comma    ............^.......^..........
//! steps    .............^.......^.........    comma << 1
//! lands    ..............^.......^........    (blank + (steps & blank)) & !blank, or where it stepped on no blank
//! ```
//!
//! What depends on the enclosing container is only whether a comma or an opening bracket is followed by a key and a
//! colon, or by a bare value. Both leave a mark, *evidence* of an object or of an array; between two brackets all of it
//! must agree with the innermost open one. So the loop that cannot be avoided runs over brackets, not over tokens.
//!
//! What one block cannot know of the next is carried: a bit each for a token whose successor is still to come, for an
//! odd backslash at the end, for a string or a number that goes on.
//!
//! A text is accepted or rejected, nothing more. Why it was rejected, and where, is asked of [`explain`](super::explain()).

use super::cpu::{BLOCK, Block, EscapeMasks, Masks};
use super::nesting::Nesting;
use super::numbers::Numbers;
use super::{Members, Root, Scanned, Span};

/// The text is not JSON, or too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rejected;

/// Judges `text`, which is shorter than `u32::MAX`, and tells `members` of each member of the outermost object.
///
/// Inlined into one function for each CPU, so that `cpu`'s masks are inlined in turn.
#[inline(always)]
pub(super) fn scan<C: Masks, M: Members>(
    cpu: C,
    text: &[u8],
    max_depth: u32,
    members: &mut M,
) -> Result<Scanned, Rejected> {
    let mut strings = Strings::default();
    let mut tokens = Tokens::new(max_depth);
    let mut numbers = Numbers::default();
    let mut outermost = Outermost::default();
    let mut beyond_ascii = None::<(usize, usize)>;

    let mut at = 0;
    let mut padded: Block;
    while at < text.len() {
        let block = match text[at..].first_chunk() {
            Some(block) => block,
            None => {
                padded = [b' '; BLOCK];
                padded[..text.len() - at].copy_from_slice(&text[at..]);
                &padded
            }
        };

        let was_inside = strings.inside;
        let (quote, inside, high, mut bad) = strings.block(cpu, block);
        if high != 0 {
            beyond_ascii = Some((beyond_ascii.map_or(at, |(from, _)| from), at + BLOCK));
        }
        if was_inside & !quote == !0 {
            // The middle of a long string. Nothing that is carried changes here.
            if bad != 0 {
                return Err(Rejected);
            }
            at += BLOCK;
            if !strings.pending() {
                let (to, high) = skip_plain(cpu, text, at);
                if high {
                    beyond_ascii = Some((beyond_ascii.map_or(at, |(from, _)| from), to));
                }
                at = to;
            }
            continue;
        }

        let structure = cpu.structure(block);
        let outside = !(inside | quote);
        let blank = structure.blank & outside;
        let open = structure.open & outside;
        let close = structure.close & outside;
        let comma = structure.comma & outside;
        let colon = structure.colon & outside;
        let scalar = outside & !(blank | open | close | comma | colon);

        let scalar_start = scalar & !(scalar << 1 | tokens.scalar);
        tokens.scalar = scalar >> 63;
        if scalar | numbers.pending() != 0 {
            bad |= numbers.block(cpu, block, scalar, scalar_start, structure.alpha, &text[at..]);
        }

        // What each opening bracket, comma and colon is followed by.
        let (after_open, after_comma, after_colon) = if blank == 0 {
            // As compact JSON has it: what follows is the next byte.
            (tokens.after_open.step(open), tokens.after_comma.step(comma), tokens.after_colon.step(colon))
        } else {
            (
                tokens.after_open.land_after(open, blank),
                tokens.after_comma.land_after(comma, blank),
                tokens.after_colon.land_after(colon, blank),
            )
        };
        let awaited = after_open | after_comma | after_colon;
        let value = open | scalar_start | (quote & inside);
        bad |= value & !awaited;
        bad |= awaited & (comma | colon);
        bad |= (after_comma | after_colon) & close;

        // Strings that may be keys, and what they are followed by: a colon follows nothing else.
        let after_separator = after_open | after_comma;
        let key_end = tokens.key.land(after_separator & quote & inside, inside);
        let after_key = tokens.after_key.land_after(key_end, blank);
        bad |= colon & !after_key;

        let object_evidence = after_key & colon;
        let array_evidence = (after_key & !colon) | (after_separator & (open | scalar_start));

        // Brackets one by one, each with what stands between it and the one before.
        let mut brackets = open | close;
        let mut seen = 0;
        loop {
            let bracket = brackets & brackets.wrapping_neg();
            let up_to = bracket | bracket.wrapping_sub(1); // all ones when no bracket is left
            let segment = up_to & !seen;
            seen = up_to;

            let object = tokens.nesting.in_object();
            bad |= segment & ((array_evidence & object) | (object_evidence & !object));
            let depth = tokens.nesting.depth();
            if depth <= 1 {
                match depth {
                    0 => bad |= comma & segment,
                    _ => outermost.separators(text, at, (comma | colon) & segment, colon, members),
                }
            }
            if bracket == 0 {
                break;
            }
            brackets ^= bracket;

            let curly = structure.curly & bracket != 0;
            if open & bracket != 0 {
                if depth == tokens.max_depth {
                    return Err(Rejected);
                }
                if depth == 0 {
                    outermost.open(at + bracket.trailing_zeros() as usize, curly);
                }
                tokens.nesting.push(curly);
            } else {
                if depth == 0 || tokens.nesting.pop() != curly {
                    return Err(Rejected);
                }
                if depth == 1 {
                    outermost.close(text, at + bracket.trailing_zeros() as usize, after_open & bracket != 0, members);
                }
            }
        }

        if bad != 0 {
            return Err(Rejected);
        }
        at += BLOCK;
    }

    if strings.inside != 0 || tokens.awaits_more() || numbers.awaits_more() {
        return Err(Rejected);
    }
    if let Some((from, to)) = beyond_ascii
        && simdutf8::basic::from_utf8(&text[from..to.min(text.len())]).is_err()
    {
        return Err(Rejected);
    }
    Ok(Scanned { root: outermost.root, has_escapes: strings.has_escapes, has_controls: strings.controls != 0 })
}

/// Where the blocks without quote, backslash and control character end that begin at `from`, and whether they have
/// bytes beyond ASCII. Long strings are mostly this, and need nothing else.
#[inline(always)]
fn skip_plain<C: Masks>(cpu: C, text: &[u8], from: usize) -> (usize, bool) {
    let mut at = from;
    let mut high = false;
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk) {
        match cpu.plain(block) {
            None => break,
            Some(beyond_ascii) => high |= beyond_ascii,
        }
        at += BLOCK;
    }
    (at, high)
}

/// Where strings begin and end, and whether what is in them may be.
#[derive(Default)]
struct Strings {
    /// All ones if the block before ended within a string, otherwise zero.
    inside: u64,
    /// 1 if the block before ended in a backslash that escapes.
    escaped: u64,
    /// The low bits, up to four, that must be hexadecimal digits.
    hex: u64,
    has_escapes: bool,
    /// Not zero if there has been a control character, which may only be between tokens.
    controls: u64,
}

impl Strings {
    #[inline(always)]
    fn pending(&self) -> bool {
        self.escaped | self.hex != 0
    }

    /// The quotes that begin or end a string; the bytes within one (the quote that begins it included, the one that
    /// ends it not); the bytes beyond ASCII; and those that must not be where they are.
    #[inline(always)]
    fn block<C: Masks>(&mut self, cpu: C, block: &Block) -> (u64, u64, u64, u64) {
        let masks = cpu.strings(block);
        let mut quote = masks.quote;
        let mut bad = 0;
        if masks.backslash != 0 || self.pending() {
            // Outside strings a backslash is wrong in any case, so what is found to be wrong with it there is right.
            self.has_escapes = true;
            let escaped = self.escaped(masks.backslash);
            quote &= !escaped;
            bad = self.wrong_escapes(escaped, cpu.escapes(block));
        }
        self.controls |= masks.control;
        let inside = cpu.prefix_xor(quote) ^ self.inside;
        self.inside = (inside.cast_signed() >> 63).cast_unsigned();
        (quote, inside, masks.high, bad | (masks.control & inside))
    }

    /// The bytes that a backslash escapes: every second one of a run of backslashes, and the byte after an odd run.
    #[inline(always)]
    fn escaped(&mut self, backslash: u64) -> u64 {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;

        // A backslash that is itself escaped, by the last byte of the block before, begins nothing.
        let backslash = backslash & !self.escaped;
        // Adding the start of a run to the run clears it, and sets the bit after it. Done for those that begin at an
        // odd bit, it tells them from the others, and overflows if one of them leaves the block: with an odd length.
        let odd_start = backslash & !(backslash << 1) & ODD;
        let (sum, overflows) = backslash.overflowing_add(odd_start);
        let began_odd = backslash & !sum;
        // After its first backslash, a run that began at an even bit escapes at odd bits, and the other way round.
        let escaped = ((backslash << 1) & (ODD ^ (began_odd << 1))) | self.escaped;
        self.escaped = u64::from(overflows);
        escaped
    }

    #[inline(always)]
    fn wrong_escapes(&mut self, escaped: u64, masks: EscapeMasks) -> u64 {
        let unicode = escaped & masks.unicode;
        let digits = unicode << 1 | unicode << 2 | unicode << 3 | unicode << 4 | self.hex;
        self.hex = unicode >> 63 | unicode >> 62 | unicode >> 61 | unicode >> 60;
        (escaped & !masks.escapable) | (digits & !masks.hex)
    }
}

/// Which tokens still wait for what comes after them, and the brackets that are open.
struct Tokens {
    after_open: Carry,
    after_comma: Carry,
    after_colon: Carry,
    key: Carry,
    after_key: Carry,
    /// 1 if the block before ended within a number or a literal.
    scalar: u64,
    nesting: Nesting,
    max_depth: u32,
}

impl Tokens {
    fn new(max_depth: u32) -> Self {
        Self {
            after_open: Carry::default(),
            after_comma: Carry::default(),
            // The beginning is followed by a value, as a colon is.
            after_colon: Carry(1),
            key: Carry::default(),
            after_key: Carry::default(),
            scalar: 0,
            nesting: Nesting::default(),
            max_depth,
        }
    }

    fn awaits_more(&self) -> bool {
        self.after_open.0 | self.after_comma.0 | self.after_colon.0 != 0 || self.nesting.depth() != 0
    }
}

/// A bit that runs on from one block into the next.
#[derive(Clone, Copy, Default)]
pub(super) struct Carry(pub(super) u64);

impl Carry {
    /// Where each bit of `marks` comes out of the run of ones in `run` that it stands at the beginning of, or where
    /// it is if it stands in none; and so for a bit that ran out of the block before.
    #[inline(always)]
    pub(super) fn land(&mut self, marks: u64, run: u64) -> u64 {
        let marks = marks | self.0;
        let (sum, overflows) = run.overflowing_add(marks & run);
        self.0 = u64::from(overflows);
        (sum | marks) & !run
    }

    /// The byte after each bit of `marks`.
    #[inline(always)]
    fn step(&mut self, marks: u64) -> u64 {
        let stepped = marks << 1 | self.0;
        self.0 = marks >> 63;
        stepped
    }

    /// [`land`](Self::land) from the byte after each bit of `marks`.
    #[inline(always)]
    fn land_after(&mut self, marks: u64, run: u64) -> u64 {
        let landed = self.land(marks << 1, run);
        self.0 |= marks >> 63;
        landed
    }
}

/// The members of the outermost object, or the elements of the outermost array, as their separators go by.
#[derive(Default)]
struct Outermost {
    root: Root,
    /// Just after the bracket or comma before the current member.
    start: usize,
    /// The current member's colon; zero before it.
    colon: usize,
}

impl Outermost {
    #[inline(always)]
    fn open(&mut self, at: usize, curly: bool) {
        self.start = at + 1;
        self.root = if curly { Root::Object } else { Root::Array { len: 0 } };
    }

    #[inline(always)]
    fn separators<M: Members>(&mut self, text: &[u8], at: usize, mut bits: u64, colon: u64, members: &mut M) {
        while bits != 0 {
            let bit = bits & bits.wrapping_neg();
            bits ^= bit;
            let position = at + bit.trailing_zeros() as usize;
            if colon & bit != 0 {
                self.colon = position;
            } else {
                self.end_item(text, position, members);
            }
        }
    }

    #[inline(always)]
    fn close<M: Members>(&mut self, text: &[u8], at: usize, empty: bool, members: &mut M) {
        if !empty {
            self.end_item(text, at, members);
        }
    }

    /// The text may yet be rejected, for a colon missing here among other things; so nothing is taken for granted.
    #[inline(always)]
    fn end_item<M: Members>(&mut self, text: &[u8], at: usize, members: &mut M) {
        match &mut self.root {
            Root::Array { len } => *len += 1,
            _ if self.colon > self.start => {
                members.member(text, trimmed(text, self.start, self.colon), trimmed(text, self.colon + 1, at));
            }
            _ => {}
        }
        self.start = at + 1;
        self.colon = 0;
    }
}

/// The span from `start` to `end`, which is not empty, without the blanks at both ends.
#[inline(always)]
fn trimmed(text: &[u8], start: usize, end: usize) -> Span {
    let item = &text[start..end];
    match item {
        // Most have none.
        [first, .., last] if *first > b' ' && *last > b' ' => Span::new(start, end),
        _ => {
            let start = start + (item.len() - item.trim_ascii_start().len());
            Span::new(start, start + item.trim_ascii().len())
        }
    }
}
