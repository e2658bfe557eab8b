//! The report as SARIF 2.1.0, which code hosts and editors read.
//!
//! ```json
//! {"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"results":[
//! {"ruleId":"second-answer","level":"error","message":{"text":"…"},"locations":[{"physicalLocation":{…}}]}
//! ],"tool":{"driver":{"name":"wireline","version":"0.1.0","rules":[…]}}}]}
//! ```

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Range;

use serde_json::{Value, json};
use wireline::Fault;

use super::{Position, Report};
use crate::check::assembly::Assembly;
use crate::check::counts::Counts;
use crate::check::summary::Summary;
use crate::framing::Mistake;
use crate::input::Source;
use crate::judge::{Finding, Rule};
use crate::line_ends::UNTERMINATED_HINT;
use crate::session::Side;
use crate::terminal::printable_json;

const UNTERMINATED: &str = "unterminated";

#[derive(Default)]
pub(crate) struct Sarif {
    /// The current source as a URI reference.
    uri: String,
    sender: Option<Side>,
    /// What could not be read.
    unread: Vec<Value>,
}

impl Sarif {
    /// Writes a result, after a comma, of which the assembly removes the first one.
    fn write(&self, id: &str, level: &str, message: &str, region: Option<Value>, text: &mut Vec<u8>) -> io::Result<()> {
        let mut location = json!({ "artifactLocation": { "uri": self.uri } });
        if let Some(region) = region {
            location["region"] = region;
        }
        let result = json!({
            "ruleId": id,
            "level": level,
            "message": { "text": message },
            "locations": [{ "physicalLocation": location }],
        });
        write!(text, ",\n{}", printable_json(&result.to_string()))
    }

    /// Who has sent what a message is about, if that is known.
    fn sent(&self, what: &str) -> String {
        self.sender.map_or_else(|| what.to_owned(), |sender| format!("{}: {what}", sender.name()))
    }
}

impl Report for Sarif {
    const HAS_FRAME: bool = true;
    const WARNS_ON_STDERR: bool = true;

    fn set_source(&mut self, source: &Source) {
        self.uri = uri(&source.name());
    }

    fn set_sender(&mut self, sender: Option<Side>) {
        self.sender = sender;
    }

    fn fault(&self, at: &Position, fault: &Fault, _: &[u8], text: &mut Vec<u8>) -> io::Result<Range<usize>> {
        let hint = Mistake::behind(fault, at.in_frame).map_or_else(String::new, |hint| format!(" ({hint})"));
        let message = self.sent(&format!("{}{}{hint}", at.frame(fault), fault.reason()));
        // The columns of a record are not those of its line.
        let mut region = json!({ "startLine": at.line });
        if self.sender.is_none() && at.in_frame.is_none() {
            region["startColumn"] = fault.column().into();
        }
        self.write(fault.kind().name(), "error", &message, Some(region), text)?;
        Ok(0..0)
    }

    fn unterminated(&self, text: &mut Vec<u8>) -> io::Result<()> {
        let message = self.sent(&format!("the last line has no line end ({UNTERMINATED_HINT})"));
        self.write(UNTERMINATED, "error", &message, None, text)
    }

    fn finding(&self, finding: &Finding, text: &mut Vec<u8>) -> io::Result<()> {
        let Finding { rule, dialect, place, evidence, .. } = finding;
        let see = rule.reference(*dialect).map_or_else(String::new, |see| format!(" (see {see})"));
        let message = format!("{}{evidence}{see}", finding.sent());
        let region = Some(json!({ "startLine": place.line }));
        self.write(rule.name(), rule.severity().name(), &message, region, text)
    }

    fn end_source(&mut self, _: &Counts, unread: Option<&str>, _: &mut Vec<u8>) -> io::Result<()> {
        if let Some(error) = unread {
            let location = json!([{ "physicalLocation": { "artifactLocation": { "uri": self.uri } } }]);
            self.unread.push(json!({ "level": "error", "message": { "text": error }, "locations": location }));
        }
        Ok(())
    }

    fn summary(&self, summary: &Summary<'_>, text: &mut Vec<u8>) -> io::Result<()> {
        let findings = Rule::ALL.iter().map(|rule| {
            json!({
                "id": rule.name(),
                "shortDescription": { "text": rule.text() },
                "help": { "text": rule.sections().join("; ") },
                "defaultConfiguration": { "level": rule.severity().name() },
            })
        });
        let faults = summary.total().faults_by_kind().into_iter().map(|(kind, _)| json!({ "id": kind.name() }));
        let unterminated = Some(json!({ "id": UNTERMINATED })).filter(|_| summary.total().unterminated > 0);
        let rules: Vec<Value> = faults.chain(unterminated).chain(findings).collect();
        let driver = json!({ "name": "wireline", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
        let invocation =
            json!({ "executionSuccessful": self.unread.is_empty(), "toolExecutionNotifications": self.unread });
        text.write_all(b"\n],")?;
        let end = format!("\"tool\":{},\"invocations\":[{invocation}]}}]}}", json!({ "driver": driver }));
        writeln!(text, "{}", printable_json(&end))
    }

    fn assembly(&self) -> Assembly {
        Assembly::JsonArray { is_first: true }
    }

    fn opening(&self) -> &'static str {
        "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{\"results\":["
    }
}

/// A path as a URI reference, whose separators are slashes.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(byte.into()),
            // Writing to a string cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("a b/c:d.tap"), "a%20b/c%3Ad.tap");
        assert_eq!(uri("é"), "%C3%A9");
    }
}
