//! The report for programs.

use serde::Serialize;

use super::{Counts, Report, Subject};
use crate::json::Change;
use crate::replay::args::Format;
use crate::terminal::common_len;

/// How many problems are kept for programs.
const MAX_PROBLEMS: usize = 10_000;

/// How much of a value is shown to programs, in bytes.
const MAX_VALUE_LEN: usize = 4096;

#[derive(Serialize)]
pub(super) struct JsonProblem {
    session: u64,
    problem: &'static str,
    from: &'static str,
    method: Option<String>,
    target: Option<String>,
    id: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<JsonChange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    more_changes: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct JsonChange {
    change: &'static str,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed: Option<String>,
    /// How many bytes the two values have in common at their start.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_difference: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct JsonServer {
    pub(super) session: u64,
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) recorded_code: Option<i32>,
    pub(super) terminated: bool,
    pub(super) stopped: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct JsonReport<'a> {
    pub(super) is_same: bool,
    #[serde(flatten)]
    pub(super) counts: &'a Counts,
    pub(super) problems: &'a [JsonProblem],
    pub(super) servers: &'a [JsonServer],
}

impl Report {
    pub(super) fn json_change(&self, change: &Change<'_>) -> JsonChange {
        let value = |value: Option<&str>| {
            let value = value.filter(|_| self.show)?;
            let end = (0..=MAX_VALUE_LEN.min(value.len())).rev().find(|end| value.is_char_boundary(*end))?;
            Some(value[..end].to_owned())
        };
        let (before, after) = (change.before.as_deref(), change.after.as_deref());
        let first = before.zip(after).map(|(before, after)| common_len(before, after)).filter(|_| self.show);
        JsonChange {
            change: change.kind.name(),
            path: change.path.clone(),
            recorded: value(before),
            replayed: value(after),
            first_difference: first,
        }
    }

    pub(super) fn keep(
        &mut self,
        subject: &Subject,
        problem: &'static str,
        fault: Option<&'static str>,
        changes: Vec<JsonChange>,
        more_changes: Option<u64>,
    ) {
        if self.format != Format::Json || self.problems.len() >= MAX_PROBLEMS {
            return;
        }
        self.problems.push(JsonProblem {
            session: self.session,
            problem,
            from: subject.from.name(),
            method: subject.method.clone(),
            target: subject.target.clone(),
            id: subject.id.as_ref().and_then(|id| serde_json::to_value(id).ok()),
            fault,
            changes,
            more_changes,
        });
    }
}
