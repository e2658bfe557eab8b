//! Turns scanned bytes into a `&str`. Later stages don't validate UTF-8 again.
#![allow(unsafe_code)]

use super::kernel;
use super::scan::{Input, Members, Scanned};

/// Valid JSON, in UTF-8.
#[derive(Clone, Copy)]
pub struct Accepted<'a> {
    /// The whole text.
    pub text: &'a str,
    /// The scanner's result.
    pub scanned: Scanned,
}

/// Scans `input` and reports each member of the outermost object to `members`. Returns `None` if the input isn't JSON,
/// or is nested deeper than `max_depth`.
#[inline(always)]
pub fn accept<'a, M: Members>(input: Input<'a>, max_depth: u32, members: &mut M) -> Option<Accepted<'a>> {
    let scanned = kernel::current().scanner.scan(input, max_depth, members)?;
    let bytes = input.first_bytes(scanned.len);
    debug_assert!(std::str::from_utf8(bytes).is_ok(), "the scanner accepted invalid UTF-8");
    // SAFETY: the scanner only accepts UTF-8: each block or part of a string with a non-ASCII byte is in the range that
    // the scanner has validated, and an `Opening`, which it skips, is ASCII. `scan/tests.rs` and the fuzz target
    // `differential` compare each kernel with `str::from_utf8`.
    let text = unsafe { std::str::from_utf8_unchecked(bytes) };
    Some(Accepted { text, scanned })
}
