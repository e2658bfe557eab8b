//! The scanner's yes as a `&str`: from here on nobody checks UTF-8 again.
#![allow(unsafe_code)]

use super::kernel;
use super::scan::{Input, Members, Scanned};

/// A text that is JSON, in UTF-8.
#[derive(Clone, Copy)]
pub struct Accepted<'a> {
    /// All of it.
    pub text: &'a str,
    /// What the scanner found.
    pub scanned: Scanned,
}

/// Scans `input` and reports each member of the outermost object to `members`. `None` if it isn't JSON, or nested
/// deeper than `max_depth`.
#[inline(always)]
pub fn accept<'a, M: Members>(input: Input<'a>, max_depth: u32, members: &mut M) -> Option<Accepted<'a>> {
    let scanned = kernel::current().scanner.scan(input, max_depth, members)?;
    let bytes = input.first_bytes(scanned.len);
    debug_assert!(std::str::from_utf8(bytes).is_ok(), "the scanner accepted what isn't UTF-8");
    // SAFETY: the scanner accepts nothing but UTF-8: every block with a byte beyond ASCII, and every stretch of a string
    // with one, is in the range that it has checked, and an `Opening`, which it skips, is ASCII. `scan/tests.rs` and the
    // fuzz target `differential` hold it to `str::from_utf8` on each kernel.
    let text = unsafe { std::str::from_utf8_unchecked(bytes) };
    Some(Accepted { text, scanned })
}
