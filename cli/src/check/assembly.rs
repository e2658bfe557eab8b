//! Puts the parts of a report together, in the order of the lines.

use super::counts::Counts;
use super::folding::{Folder, Text};
use super::report::junit_document;
use crate::judge::Severity;

/// How a format is put together.
pub(crate) enum Assembly {
    /// The parts one after the other.
    Plain,
    /// Without the faults that may be left out, if there are many.
    Folded(Box<Folder>),
    /// The parts are elements of a JSON array, each after a comma.
    JsonArray { is_first: bool },
    /// All parts at the end, because the totals precede them.
    Suites(Vec<Suite>),
}

/// What is reported about a source, for formats whose totals come first.
pub(crate) struct Suite {
    pub(crate) name: String,
    /// One line for each finding, at most [`MAX_LISTED`].
    pub(crate) text: Vec<u8>,
    listed: usize,
    /// What makes the check fail.
    pub(crate) findings: u64,
    /// What doesn't.
    pub(crate) passed: u64,
    pub(crate) is_unread: bool,
}

/// How many findings of a source are listed in a [`Suite`]. The totals say how many there are.
pub(crate) const MAX_LISTED: usize = 1000;

impl Assembly {
    pub(crate) fn start_source(&mut self, name: String) {
        match self {
            Self::Plain | Self::JsonArray { .. } => {}
            Self::Folded(folder) => folder.start(name),
            Self::Suites(suites) => {
                suites.push(Suite { name, text: Vec::new(), listed: 0, findings: 0, passed: 0, is_unread: false });
            }
        }
    }

    /// Returns what can be written now, and clears `text`.
    pub(crate) fn add(&mut self, text: &mut Text) -> Vec<u8> {
        match self {
            Self::Folded(folder) => folder.fold(text),
            Self::Plain => {
                text.faults.clear();
                std::mem::take(&mut text.bytes)
            }
            Self::JsonArray { is_first } => {
                let mut bytes = std::mem::take(&mut text.bytes);
                if *is_first && !bytes.is_empty() {
                    // The comma before the first element.
                    bytes.remove(0);
                    *is_first = false;
                }
                bytes
            }
            Self::Suites(suites) => {
                if let Some(suite) = suites.last_mut() {
                    for line in text.bytes.split_inclusive(|byte| *byte == b'\n') {
                        if suite.listed < MAX_LISTED {
                            suite.text.extend_from_slice(line);
                        }
                        suite.listed += 1;
                    }
                }
                text.bytes.clear();
                Vec::new()
            }
        }
    }

    /// Ends a source, and returns what can be written now.
    pub(crate) fn end_source(&mut self, counts: &Counts, fail_on: Severity, is_unread: bool) -> Vec<u8> {
        match self {
            Self::Folded(folder) => folder.finish(),
            Self::Suites(suites) => {
                if let Some(suite) = suites.last_mut() {
                    (suite.findings, suite.is_unread) = (counts.failures(fail_on), is_unread);
                    suite.passed = counts.failures(Severity::Warning) - suite.findings;
                }
                Vec::new()
            }
            Self::Plain | Self::JsonArray { .. } => Vec::new(),
        }
    }

    /// What is left to be written at the end.
    pub(crate) fn finish(&self) -> Vec<u8> {
        match self {
            Self::Suites(suites) => junit_document(suites),
            _ => Vec::new(),
        }
    }
}
