//! What a run found, in each format.

mod human;
mod json;
mod junit;
mod list;

pub(crate) use list::list;

use super::args::Format;
use super::check::Level;
use super::outcome::{Finding, Outcome};
use crate::terminal::Styles;

/// A run, whose findings are in the order of their table.
#[derive(Debug)]
pub(crate) struct Report {
    /// What was tested: `server` or `client`.
    pub(crate) subject: &'static str,
    /// What it speaks, as far as that is known: `MCP 2025-11-25`.
    pub(crate) protocol: String,
    /// Its command line, escaped.
    pub(crate) command: String,
    pub(crate) seed: u64,
    pub(crate) findings: Vec<Finding>,
}

/// How many checks of one kind passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Tally {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) skipped: u32,
}

impl Report {
    /// The report as text. Only the format for people uses styles.
    pub(crate) fn render(&self, format: Format, styles: Styles, columns: usize) -> String {
        match format {
            Format::Human | Format::Markdown => self.human(styles, columns),
            Format::Json => self.json(),
            Format::Junit => self.junit(),
        }
    }

    /// Counts the findings that fulfil a condition.
    fn tally(&self, is_counted: impl Fn(&Finding) -> bool) -> Tally {
        let mut tally = Tally::default();
        for finding in self.findings.iter().filter(|finding| is_counted(finding)) {
            match finding.outcome {
                Outcome::Passed => tally.passed += 1,
                Outcome::Failed(_) => tally.failed += 1,
                Outcome::Skipped(_) => tally.skipped += 1,
            }
        }
        tally
    }

    fn score(&self, level: Level) -> Tally {
        self.tally(|finding| finding.check.level == level)
    }

    /// Whether a check failed.
    pub(crate) fn has_failures(&self) -> bool {
        self.tally(|_| true).failed > 0
    }
}

/// All properties, in the order of reports.
fn properties() -> &'static [super::check::Property] {
    <super::check::Property as clap::ValueEnum>::value_variants()
}

#[cfg(test)]
pub(super) fn example() -> Report {
    use std::time::Duration;

    use super::outcome::Failure;
    use crate::conform::checks;

    let outcome = |name: &str| match name {
        "crlf" => Outcome::Failed(Box::new(Failure {
            sent: r#"{"jsonrpc":"2.0","id":1,"method":"<m>"}\x0d"#.to_owned(),
            came: "nothing within 5.00 s".to_owned(),
            repeat: Some("printf 'x' | server".to_owned()),
            recording: Some("wireline-conform/crlf.tap".into()),
            ..Failure::default()
        })),
        "batch" => Outcome::Skipped("the server \"x\" has no batches".into()),
        _ => Outcome::Passed,
    };
    let findings = checks::descriptions().map(|check| Finding {
        check,
        outcome: outcome(check.name),
        elapsed: Duration::from_millis(12),
    });
    Report {
        subject: "server",
        protocol: "MCP 2025-11-25".to_owned(),
        command: "server".to_owned(),
        seed: 1,
        findings: findings.collect(),
    }
}
