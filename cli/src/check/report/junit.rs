//! The report as JUnit XML, which CI systems read: a test suite per file, with a failed test case per faulty line.
//!
//! It has only elements and attributes that the schema of Jenkins' plugin permits: a test case has no file and no line, so
//! they are in the text of its failure.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Range;

use wireline::Fault;

use super::{Position, Report};
use crate::check::NO_MESSAGES;
use crate::check::assembly::{Assembly, MAX_LISTED, Suite};
use crate::check::counts::Counts;
use crate::framing::Mistake;
use crate::input::Source;
use crate::judge::{Finding, Severity};
use crate::line_ends::UNTERMINATED_HINT;
use crate::session::Side;
use crate::terminal::escape;

pub(crate) struct Junit {
    /// What counts as a failure.
    fail_on: Severity,
    file: String,
    sender: Option<Side>,
}

impl Junit {
    pub(crate) fn new(fail_on: Severity) -> Self {
        Self { fail_on, file: String::new(), sender: None }
    }
}

impl Report for Junit {
    const HAS_FRAME: bool = true;
    const WARNS_ON_STDERR: bool = true;

    fn set_source(&mut self, source: &Source) {
        self.file = attribute(&source.escaped_name());
    }

    fn set_sender(&mut self, sender: Option<Side>) {
        self.sender = sender;
    }

    fn fault(&self, at: &Position, fault: &Fault, _: &[u8], text: &mut Vec<u8>) -> io::Result<Range<usize>> {
        let (line, column, kind) = (at.line, fault.column(), fault.kind().name());
        let frame = attribute(&at.frame(fault));
        let sender = self.sender.map_or_else(String::new, |side| format!(" from the {}", side.name()));
        let reason = attribute(&fault.reason().to_string());
        let hint =
            Mistake::behind(fault, at.in_frame).map_or_else(String::new, |hint| attribute(&format!(": hint: {hint}")));
        let file = &self.file;
        writeln!(
            text,
            "    <testcase classname=\"{file}\" name=\"line {line}, column {column}{sender}\"><failure type=\"{kind}\" \
             message=\"{frame}{reason}\">{file}:{line}:{column}{hint}</failure></testcase>"
        )?;
        Ok(0..0)
    }

    fn finding(&self, finding: &Finding, text: &mut Vec<u8>) -> io::Result<()> {
        let Finding { rule, dialect, place, evidence, .. } = finding;
        let (file, line, name) = (&self.file, place.line, rule.name());
        let from = finding.sender.map_or_else(String::new, |sender| format!(" from the {}", sender.name()));
        write!(text, "    <testcase classname=\"{file}\" name=\"line {line}{from}: {name}\">")?;
        let (severity, evidence) = (rule.severity(), attribute(evidence));
        let see = rule.reference(*dialect).map_or_else(String::new, |see| attribute(&format!(" (see {see})")));
        let why = format!("{}: {}{see}", severity.name(), attribute(rule.text()));
        match severity >= self.fail_on {
            true => write!(text, "<failure type=\"{name}\" message=\"{evidence}\">{why}</failure>")?,
            false => write!(text, "<system-out>{evidence}: {why}</system-out>")?,
        }
        writeln!(text, "</testcase>")
    }

    fn unterminated(&self, text: &mut Vec<u8>) -> io::Result<()> {
        let (file, hint) = (&self.file, attribute(UNTERMINATED_HINT));
        writeln!(
            text,
            "    <testcase classname=\"{file}\" name=\"last line\"><failure type=\"unterminated\" \
             message=\"the last line has no line end\">hint: {hint}</failure></testcase>"
        )
    }

    fn end_source(&mut self, counts: &Counts, unread: Option<&str>, text: &mut Vec<u8>) -> io::Result<()> {
        let file = &self.file;
        if let Some(error) = unread {
            let error = attribute(&escape(error.as_bytes()));
            writeln!(
                text,
                "    <testcase classname=\"{file}\" name=\"readable\"><error type=\"unread\" \
                 message=\"{error}\"/></testcase>"
            )?;
        } else if counts.empty > 0 {
            writeln!(
                text,
                "    <testcase classname=\"{file}\" name=\"messages\"><failure type=\"no-messages\" \
                 message=\"{NO_MESSAGES}\"/></testcase>"
            )?;
        } else if counts.failures(Severity::Warning) == 0 {
            writeln!(text, "    <testcase classname=\"{file}\" name=\"every line\"/>")?;
        }
        Ok(())
    }

    fn assembly(&self) -> Assembly {
        Assembly::Suites(Vec::new())
    }
}

/// The whole report.
pub(crate) fn document(suites: &[Suite]) -> Vec<u8> {
    // A file without findings is a test that has passed.
    let tests = |suite: &Suite| (suite.findings + suite.passed + u64::from(suite.is_unread)).max(1);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all_tests: u64 = suites.iter().map(tests).sum();
    let failures: u64 = suites.iter().map(|suite| suite.findings).sum();
    let errors = suites.iter().filter(|suite| suite.is_unread).count();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<testsuites name=\"wireline check\" tests=\"{all_tests}\" failures=\"{failures}\" errors=\"{errors}\">"
    );
    for suite in suites {
        let (name, tests, failures) = (attribute(&suite.name), tests(suite), suite.findings);
        let errors = u8::from(suite.is_unread);
        let _ = writeln!(
            text,
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">"
        );
        text.push_str(&String::from_utf8_lossy(&suite.text));
        let unlisted = (failures + suite.passed).saturating_sub(MAX_LISTED as u64);
        if unlisted > 0 {
            let _ = writeln!(text, "    <system-out>{unlisted} more are not listed</system-out>");
        }
        let _ = writeln!(text, "  </testsuite>");
    }
    text.push_str("</testsuites>\n");
    text.into_bytes()
}

/// Text for an attribute or an element. It has no control characters.
fn attribute(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        // Writing to a string cannot fail.
        let _ = match character {
            '&' => write!(escaped, "&amp;"),
            '<' => write!(escaped, "&lt;"),
            '>' => write!(escaped, "&gt;"),
            '"' => write!(escaped, "&quot;"),
            _ => write!(escaped, "{character}"),
        };
    }
    escaped
}
