//! The members of the outermost object, or the elements of the outermost array, as their separators go by.

use super::{Members, Root, Span};

/// What has been seen and not delivered yet.
#[derive(Default)]
pub(super) struct Outermost {
    pub(super) root: Root,
    /// Just after the bracket or comma before the first member that has not been delivered.
    start: usize,
    /// Where the members' colons and ends are, one after the other.
    positions: [u32; 2 * MEMBERS],
    len: usize,
}

/// How many members are delivered at once: as many as messages have, and a few more.
const MEMBERS: usize = 8;

impl Outermost {
    #[inline(always)]
    pub(super) fn open(&mut self, at: usize, curly: bool) {
        self.start = at + 1;
        self.root = if curly { Root::Object } else { Root::Array { len: 0 } };
    }

    /// Takes the separators of a block that has been found right: so colons and ends take turns in an object. `blanks`
    /// is zero if there has been none so far.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "no text is longer than a span can say")]
    pub(super) fn separators<M: Members>(
        &mut self,
        text: &[u8],
        at: usize,
        mut separators: u64,
        blanks: u64,
        members: &mut M,
    ) {
        if let Root::Array { len } = &mut self.root {
            // Without elements, the end is the only separator.
            let end = at + separators.trailing_zeros() as usize;
            if *len > 0 || !text[self.start..end].trim_ascii().is_empty() {
                *len += separators.count_ones() as usize;
            }
            return;
        }
        while separators != 0 {
            if self.len == self.positions.len() {
                self.deliver(text, blanks, members);
            }
            self.positions[self.len] = (at + separators.trailing_zeros() as usize) as u32;
            self.len += 1;
            separators &= separators - 1;
        }
    }

    #[inline(always)]
    pub(super) fn deliver<M: Members>(&mut self, text: &[u8], blanks: u64, members: &mut M) {
        // An empty object has one separator, which makes no member.
        for [colon, end] in self.positions[..self.len].as_chunks().0 {
            let (colon, end) = (*colon as usize, *end as usize);
            let (key, value) = if blanks == 0 {
                (Span::new(self.start, colon), Span::new(colon + 1, end))
            } else {
                (trimmed(text, self.start, colon), trimmed(text, colon + 1, end))
            };
            members.member(text, key, value);
            self.start = end + 1;
        }
        self.len = 0;
    }
}

/// The span from `start` to `end`, which is not empty, without the blanks at both ends.
#[inline(never)]
fn trimmed(text: &[u8], start: usize, end: usize) -> Span {
    let item = text[start..end].trim_ascii_start();
    let start = end - item.len();
    Span::new(start, start + item.trim_ascii_end().len())
}
