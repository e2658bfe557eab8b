//! The parts of two texts around their first difference.

use super::escape::{Cell, cells, escape_start, fitting};

/// Two texts, escaped for a terminal and cut at the same places.
#[derive(Debug, PartialEq)]
pub(crate) struct Differing {
    pub(crate) before: String,
    pub(crate) after: String,
    /// How many columns are before the first difference, if what the texts have in common is cut.
    pub(crate) caret: Option<usize>,
}

impl Differing {
    /// Cuts both texts to this width, so that their first difference is in sight.
    pub(crate) fn new(before: &str, after: &str, width: usize) -> Self {
        let common = common_len(before, after);
        // More than that does not fit.
        let reach = Cell::MAX_BYTES.saturating_mul(width);
        let mut near = common.saturating_sub(reach);
        while !before.is_char_boundary(near) {
            near += 1;
        }
        let shared: Vec<Cell> = cells(&before.as_bytes()[near..common]).collect();
        let (fitting_len, _) = fitting(shared.iter(), width / 2);
        if near == 0 && fitting_len == shared.len() {
            let cut = |text: &str| escape_start(text.as_bytes(), width).into_owned();
            return Self { before: cut(before), after: cut(after), caret: None };
        }
        let (kept, columns) = fitting(shared.iter().rev(), width / 3);
        let shared: String = shared[shared.len() - kept..].iter().map(|cell| cell.text.as_str()).collect();
        let cut = |text: &str| {
            let rest = escape_start(&text.as_bytes()[common..], width.saturating_sub(columns + 1)).into_owned();
            format!("…{shared}{rest}")
        };
        Self { before: cut(before), after: cut(after), caret: Some(columns + 1) }
    }
}

/// How many bytes two texts have in common at their start, up to the end of a character.
pub(crate) fn common_len(one: &str, other: &str) -> usize {
    let mut len = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    while !one.is_char_boundary(len) || !other.is_char_boundary(len) {
        len -= 1;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::columns;

    #[test]
    fn the_difference_is_in_sight() {
        let shared = "0123456789".repeat(100);
        for (before, after, expected) in [
            ("abc".to_owned(), "abd".to_owned(), ("abc", "abd", None)),
            (format!("{shared}x"), format!("{shared}yz"), ("…3456789x", "…3456789yz", Some(8))),
            (shared.clone(), format!("{shared}!"), ("…3456789", "…3456789!", Some(8))),
            (format!("{shared}{shared}"), format!("{shared}?"), ("…3456789012345678901…", "…3456789?", Some(8))),
            (format!("{shared}é"), format!("{shared}è"), ("…3456789é", "…3456789è", Some(8))),
        ] {
            let Differing { before, after, caret } = Differing::new(&before, &after, 21);
            assert_eq!((before.as_str(), after.as_str(), caret), expected);
        }
        for width in [1, 2, 3, 20, 80] {
            let found = Differing::new(&format!("{shared}\u{1b}[m東京"), &format!("{shared}京"), width);
            assert!(columns(&found.before).max(columns(&found.after)) <= width.max(2), "{width}: {found:?}");
        }
    }
}
