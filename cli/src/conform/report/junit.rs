//! The report as JUnit XML, which CI systems read: a test suite per property, with a test case per check.

use std::fmt::Write as _;

use super::{Report, Tally, properties};
use crate::conform::outcome::{Finding, Outcome};

impl Report {
    pub(super) fn junit(&self) -> String {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let Tally { passed, failed, skipped } = self.tally(|_| true);
        let tests = passed + failed + skipped;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "<testsuites name=\"wireline conform\" tests=\"{tests}\" failures=\"{failed}\" skipped=\"{skipped}\">"
        );
        for property in properties() {
            let Tally { passed, failed, skipped } = self.tally(|finding| finding.check.property == *property);
            let tests = passed + failed + skipped;
            if tests == 0 {
                continue;
            }
            let name = property.name();
            let _ = writeln!(
                text,
                "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failed}\" skipped=\"{skipped}\">"
            );
            for finding in self.findings.iter().filter(|finding| finding.check.property == *property) {
                write_case(&mut text, finding);
            }
            text.push_str("  </testsuite>\n");
        }
        text + "</testsuites>\n"
    }
}

fn write_case(text: &mut String, finding: &Finding) {
    let check = finding.check;
    let (name, property, level) = (check.name, check.property.name(), check.level.name());
    let seconds = finding.elapsed.as_secs_f64();
    let _ = write!(text, "    <testcase classname=\"{property}\" name=\"{name}\" time=\"{seconds:.3}\"");
    let _ = match &finding.outcome {
        Outcome::Passed => writeln!(text, "/>"),
        Outcome::Skipped(reason) => writeln!(text, "><skipped message=\"{}\"/></testcase>", escaped(reason)),
        Outcome::Failed(failure) => {
            let mut details = format!(
                "sent: {}\ncame: {}\nexpected: {}\neffect: {}\n",
                failure.sent,
                failure.came,
                failure.asks(check),
                failure.effect(check)
            );
            if let Some(command) = &failure.repeat {
                let _ = writeln!(details, "repeat: {command}");
            }
            if let Some(path) = &failure.recording {
                let _ = writeln!(details, "recording: {}", path.display());
            }
            let (message, details) = (escaped(&failure.came), escaped(&details));
            writeln!(text, "><failure type=\"{level}\" message=\"{message}\">{details}</failure></testcase>")
        }
    };
}

/// Text for an attribute or an element. It has no control characters except newlines.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::example;

    #[test]
    fn cases_failures_and_skips() {
        let text = example().junit();
        for part in [
            "<testsuite name=\"framing\" tests=\"",
            "<testcase classname=\"framing\" name=\"one-write\" time=\"0.012\"/>\n",
            "name=\"crlf\" time=\"0.012\"><failure type=\"must\" message=\"nothing within 5.00 s\">sent: {&quot;jsonrpc",
            "&lt;m&gt;",
            "name=\"batch\" time=\"0.012\"><skipped message=\"the server &quot;x&quot; has no batches\"/></testcase>",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("<m>"));
        assert!(text.ends_with("  </testsuite>\n</testsuites>\n"));
    }
}
