//! The report for machines as one JSON object: all faults and findings, and the totals of each file.
//!
//! ```json
//! {"faults":[
//! {"file":"a.ndjson","line":2,"offset":46,"len":14,"kind":"fault","fault":"invalid-literal", …}
//! ],"findings":[
//! {"file":"a.tap","from":"server","line":7,"kind":"finding","rule":"second-answer", …}
//! ],"files":[
//! {"file":"a.ndjson","lines":4,"faulty":1,"fault_count":1,"unterminated":0,"empty":0,"crlf":0,"errors":0, …}
//! ],"lines":4,"faulty":1,"fault_count":1,"unterminated":0,"empty":0,"crlf":0,"errors":0, …}
//! ```
//!
//! It is written as the files are read, so its size does not matter.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use wireline::Fault;

use super::ndjson::{write_fault, write_finding, write_position};
use super::{Position, Report};
use crate::check::assembly::Assembly;
use crate::check::counts::Counts;
use crate::check::summary::Summary;
use crate::input::Source;
use crate::judge::{Finding, Severity};
use crate::session::Side;
use crate::terminal::printable_json;

/// What precedes each fault. The assembly removes the first comma.
const SEPARATOR: &[u8] = b",\n";

/// How many findings are listed. The totals say how many there are.
const MAX_FINDINGS: usize = 10_000;

#[derive(Default)]
pub(crate) struct Json {
    /// The name of the current source, as a JSON string.
    file: String,
    sender: Option<Side>,
    /// The objects about findings so far.
    findings: Mutex<Vec<String>>,
    /// The objects about the sources so far.
    files: Vec<String>,
}

impl Report for Json {
    const HAS_FRAME: bool = true;

    fn set_source(&mut self, source: &Source) {
        self.file = printable_json(&json!(source.name()).to_string()).into_owned();
    }

    fn set_sender(&mut self, sender: Option<Side>) {
        self.sender = sender;
    }

    fn fault(&self, at: &Position, fault: &Fault, _: &[u8], text: &mut Vec<u8>) -> io::Result<Range<usize>> {
        text.write_all(SEPARATOR)?;
        write!(text, "{{\"file\":{}", self.file)?;
        if let Some(sender) = self.sender {
            write!(text, r#","from":"{}""#, sender.name())?;
        }
        text.write_all(b",")?;
        write_position(at, text)?;
        write_fault(fault, at, text)?;
        text.write_all(b"}").map(|()| 0..0)
    }

    fn finding(&self, finding: &Finding, _: &mut Vec<u8>) -> io::Result<()> {
        let mut object = format!("{{\"file\":{},", self.file).into_bytes();
        write_finding(finding, &mut object)?;
        object.push(b'}');
        let object = String::from_utf8_lossy(&object).into_owned();
        // They are kept until the end.
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        if findings.len() < MAX_FINDINGS {
            findings.push(object);
        }
        Ok(())
    }

    fn end_source(&mut self, counts: &Counts, unread: Option<&str>, _: &mut Vec<u8>) -> io::Result<()> {
        let mut object = totals(counts);
        if let Some(error) = unread {
            object.push_str(&format!(",\"error\":{}", printable_json(&json!(error).to_string())));
        }
        self.files.push(format!("{{\"file\":{},{object}}}", self.file));
        Ok(())
    }

    fn summary(&self, summary: &Summary<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        let findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner).join(",\n");
        write!(text, "\n],\"findings\":[\n{findings}\n],\"files\":[\n{}\n],", self.files.join(",\n"))?;
        writeln!(text, "{},\"unread\":{}}}", totals(summary.total()), summary.incomplete())
    }

    fn assembly(&self) -> Assembly {
        Assembly::JsonArray { is_first: true }
    }

    fn opening(&self) -> &'static str {
        "{\"faults\":["
    }
}

/// The members about what was counted.
fn totals(counts: &Counts) -> String {
    let Counts { lines, faulty_lines, unterminated, empty, bytes, .. } = counts;
    let (faults, crlf) = (counts.faults(), counts.all_with_return());
    let [errors, warnings] = [Severity::Error, Severity::Warning].map(|severity| counts.broken_by(severity));
    format!(
        "\"lines\":{lines},\"faulty\":{faulty_lines},\"fault_count\":{faults},\"unterminated\":{unterminated},\
         \"empty\":{empty},\"crlf\":{crlf},\"errors\":{errors},\"warnings\":{warnings},\"bytes\":{bytes}"
    )
}
