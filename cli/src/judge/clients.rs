//! What official clients refuse or change, although JSON permits it. These rules look at one line at a time.

use wireline::{Id, Message};

use super::case::{Finding, Place};
use super::rules::{Dialect, Rule};
use super::scan::{Scan, is_plain_integer, is_safe_integer};
use crate::session::{Side, displayed_id};
use crate::terminal::escape_start;
use crate::units::Bytes;

/// U+FEFF in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What the TypeScript SDK buffers by default, in bytes.
const MAX_LINE_LEN: usize = 10 << 20;

/// U+2028 and U+2029 in UTF-8.
const SEPARATORS: [&[u8]; 2] = [b"\xE2\x80\xA8", b"\xE2\x80\xA9"];

/// The width that a detail is cut to.
const DETAIL_COLUMNS: usize = 40;

/// Judges a line that is a valid message.
pub(crate) fn line_findings(line: &[u8], id: Option<&Id<'_>>, place: Place, dialect: Dialect) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |rule, evidence: String, detail: Option<&[u8]>| {
        let detail = detail.map(|detail| escape_start(detail, DETAIL_COLUMNS).into_owned());
        findings.push(Finding { rule, dialect, sender: Some(place.from), place, evidence, detail });
    };
    if line.len() > MAX_LINE_LEN {
        find(Rule::LongLine, format!("the line has {}", Bytes(line.len() as u64)), None);
    }
    // Most lines don't have the first byte, so looking for it alone is faster than preparing a search for all three.
    let separator = memchr::memchr_iter(SEPARATORS[0][0], line)
        .find(|at| SEPARATORS.iter().any(|separator| line[*at..].starts_with(separator)));
    if let Some(at) = separator {
        find(
            Rule::LineSeparator,
            format!("U+202{} in byte {}", if line[at + 2] == 0xA8 { 8 } else { 9 }, at + 1),
            None,
        );
    }
    if let Some(id) = id.filter(|id| id.is_number() && !is_plain_integer(id.as_json())) {
        let spelling = id.as_json();
        if !is_safe_integer(spelling) {
            find(Rule::UnsafeId, format!("the id {}", displayed_id(Some(id))), None);
        } else if spelling == "-0" || spelling.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            find(Rule::IdSpelling, format!("the id {}", displayed_id(Some(id))), None);
        }
    }
    let Scan { lone_surrogate, unsafe_integer, duplicate } = Scan::new(line);
    if let Some(at) = lone_surrogate {
        find(
            Rule::LoneSurrogate,
            format!("a surrogate without the other half in byte {}", at + 1),
            line.get(at..at + 6),
        );
    }
    // The id has a rule of its own.
    if let Some(integer) =
        unsafe_integer.filter(|integer| id.is_none_or(|id| id.as_json().as_bytes() != &line[integer.clone()]))
    {
        find(Rule::UnsafeInteger, format!("an integer in byte {}", integer.start + 1), Some(&line[integer]));
    }
    if let Some(name) = duplicate {
        find(Rule::DuplicateMember, format!("the second one is in byte {}", name.start + 1), Some(&line[name]));
    }
    findings
}

/// Judges a message whose sender is unknown.
pub(crate) fn judge_line(line: u64, message: &Message<'_>) -> Vec<Finding> {
    let place = Place { from: Side::Client, line, at: None };
    let findings = line_findings(message.as_bytes(), message.id(), place, Dialect::JsonRpc).into_iter();
    findings.map(|finding| Finding { sender: None, ..finding }).collect()
}

/// Reports a byte order mark at the start of a file.
pub(crate) fn byte_order_mark() -> Finding {
    let place = Place { from: Side::Client, line: 1, at: None };
    Finding { sender: None, ..sent_byte_order_mark(place, Dialect::JsonRpc) }
}

/// Reports a byte order mark at the start of what a side sends.
pub(super) fn sent_byte_order_mark(place: Place, dialect: Dialect) -> Finding {
    let evidence = "the stream starts with a byte order mark".to_owned();
    Finding { rule: Rule::ByteOrderMark, dialect, sender: Some(place.from), place, evidence, detail: None }
}
