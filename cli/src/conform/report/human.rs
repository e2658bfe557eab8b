//! The report for people. Writing to a string cannot fail, so results of `write!` are ignored.

use std::fmt::Write as _;

use super::{Report, Tally, properties};
use crate::conform::check::Level;
use crate::conform::outcome::{Failure, Finding, Outcome};
use crate::terminal::{Styles, wrap};

/// The width of the labels in front of the lines about a failure.
const LABEL: usize = 10;

impl Report {
    pub(super) fn human(&self, styles: Styles, columns: usize) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            if let Outcome::Failed(failure) = &finding.outcome {
                write_failure(&mut text, finding, failure, styles, columns);
            }
        }
        let Styles { strong, dim, .. } = styles;
        let _ = writeln!(text, "{strong}{:<22}{:>6}{:>6}{:>9}{strong:#}", self.protocol, "pass", "fail", "skipped");
        for property in properties() {
            let tally = self.tally(|finding| finding.check.property == *property);
            if tally != Tally::default() {
                write_row(&mut text, property.title(), tally, styles);
            }
        }
        self.write_skipped(&mut text, styles, columns);
        let _ = writeln!(
            text,
            "\n{}, {}, {dim}seed {}{dim:#}",
            self.score_text(Level::Must, styles),
            self.score_text(Level::Should, styles),
            self.seed
        );
        text
    }

    /// Names the skipped checks, those with the same reason together.
    fn write_skipped(&self, text: &mut String, Styles { dim, .. }: Styles, columns: usize) {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for finding in &self.findings {
            if let Outcome::Skipped(reason) = &finding.outcome {
                match reasons.iter_mut().find(|(known, _)| known == reason) {
                    Some((_, names)) => names.push(finding.check.name),
                    None => reasons.push((reason, vec![finding.check.name])),
                }
            }
        }
        if !reasons.is_empty() {
            text.push('\n');
        }
        for (reason, names) in reasons {
            for line in wrap(&format!("skipped: {reason}: {}", names.join(", ")), columns.saturating_sub(1)) {
                let _ = writeln!(text, "{dim}{line}{dim:#}");
            }
        }
    }

    /// How many checks of a level passed, of those that were run: `must: 40 of 41`.
    fn score_text(&self, level: Level, Styles { good, bad, .. }: Styles) -> String {
        let tally = self.score(level);
        let style = if tally.failed == 0 { good } else { bad };
        format!("{style}{}: {} of {}{style:#}", level.name(), tally.passed, tally.passed + tally.failed)
    }
}

fn write_row(text: &mut String, title: &str, tally: Tally, Styles { good, bad, dim, .. }: Styles) {
    let Tally { passed, failed, skipped } = tally;
    let _ = write!(text, "{title:<22}");
    for (count, width, style) in [(passed, 6, good), (failed, 6, bad), (skipped, 9, dim)] {
        let _ = match count {
            0 => write!(text, "{:>width$}", "–"),
            count => write!(text, "{style}{count:>width$}{style:#}"),
        };
    }
    text.push('\n');
}

fn write_failure(text: &mut String, finding: &Finding, failure: &Failure, styles: Styles, columns: usize) {
    let Styles { strong, bad, dim, .. } = styles;
    let check = finding.check;
    let _ = writeln!(
        text,
        "{bad}fail{bad:#} {strong}{}{strong:#} {dim}({}, {}){dim:#}",
        check.name,
        check.level.name(),
        check.property.name()
    );
    let asked = format!("{}: {}", failure.asks(check), failure.effect(check));
    for (label, value) in [("sent", failure.sent.as_str()), ("came", &failure.came), ("expected", &asked)] {
        for (at, line) in wrap(value, columns.saturating_sub(LABEL + 3)).enumerate() {
            let label = if at == 0 { label } else { "" };
            let _ = writeln!(text, "  {dim}{label:<LABEL$}{dim:#}{line}");
        }
    }
    // Commands and paths are copied, so they aren't broken.
    if let Some(command) = &failure.repeat {
        let _ = writeln!(text, "  {dim}{:<LABEL$}{dim:#}{command}", "repeat");
    }
    if let Some(path) = &failure.recording {
        let _ = writeln!(text, "  {dim}{:<LABEL$}{dim:#}wireline show {}", "recording", path.display());
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use crate::terminal::Styles;

    #[test]
    fn failures_scores_and_reasons() {
        let text = example().human(Styles::default(), usize::MAX);
        for part in [
            "fail crlf (must, framing)\n  sent      {",
            "\n  came      nothing within 5.00 s\n  expected  a carriage return",
            "\n  repeat    printf 'x' | server\n  recording wireline show wireline-conform/crlf.tap\n",
            "\nIntegrity                  3     –        –\n",
            "\nskipped: the server \"x\" has no batches: batch\n",
            ", seed 1\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let narrow = example().human(Styles::default(), 40);
        let is_copied = |line: &str| line.contains("repeat") || line.contains("recording");
        assert!(narrow.lines().filter(|line| !is_copied(line)).all(|line| line.chars().count() <= 48), "{narrow}");
    }
}
