//! Writes the acceptance table for the drivers in C and C++ to stdout. Each case is a header (the number of the
//! dialect, and the lengths of the line and the expectation), the line, and the expectation.

use std::io::Write;

#[path = "../../../tests/common/mod.rs"]
mod common;

use common::{Dialect, cases};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for case in cases() {
        for (number, dialect) in Dialect::ALL.into_iter().enumerate() {
            let expected = case.expected(dialect);
            writeln!(out, "{number} {} {}", case.line.len(), expected.len())?;
            out.write_all(&case.line)?;
            out.write_all(expected.as_bytes())?;
        }
    }
    out.flush()
}
