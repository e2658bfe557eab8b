//! The report for programs.

use serde::Serialize;

use super::{Report, Tally};
use crate::conform::check::{Check, Level};
use crate::conform::outcome::{Finding, Outcome};

#[derive(Serialize)]
struct JsonReport<'a> {
    subject: &'a str,
    protocol: &'a str,
    command: &'a str,
    seed: u64,
    passed: bool,
    must: Tally,
    should: Tally,
    checks: Vec<JsonFinding<'a>>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    #[serde(flatten)]
    check: &'a Check,
    outcome: &'static str,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<JsonFailure<'a>>,
}

#[derive(Serialize)]
struct JsonFailure<'a> {
    sent: &'a str,
    came: &'a str,
    asks: &'a str,
    effect: &'a str,
    repeat: Option<&'a str>,
    recording: Option<String>,
}

impl Report {
    pub(super) fn json(&self) -> String {
        let report = JsonReport {
            subject: self.subject,
            protocol: &self.protocol,
            command: &self.command,
            seed: self.seed,
            passed: !self.has_failures(),
            must: self.score(Level::Must),
            should: self.score(Level::Should),
            checks: self.findings.iter().map(JsonFinding::from).collect(),
        };
        // Strings and numbers can always be written.
        serde_json::to_string(&report).unwrap_or_default() + "\n"
    }
}

impl<'a> From<&'a Finding> for JsonFinding<'a> {
    fn from(finding: &'a Finding) -> Self {
        let check = finding.check;
        let (outcome, reason, failure) = match &finding.outcome {
            Outcome::Passed => ("passed", None, None),
            Outcome::Skipped(reason) => ("skipped", Some(&**reason), None),
            Outcome::Failed(failure) => {
                let failure = JsonFailure {
                    sent: &failure.sent,
                    came: &failure.came,
                    asks: failure.asks(check),
                    effect: failure.effect(check),
                    repeat: failure.repeat.as_deref(),
                    recording: failure.recording.as_ref().map(|path| path.to_string_lossy().into_owned()),
                };
                ("failed", None, Some(failure))
            }
        };
        Self { check, outcome, seconds: finding.elapsed.as_secs_f64(), reason, failure }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::example;

    #[test]
    fn every_check_has_its_description_and_outcome() {
        let report: Value = serde_json::from_str(&example().json()).unwrap();
        assert_eq!((&report["passed"], &report["must"]["failed"]), (&Value::Bool(false), &Value::from(1)));
        let checks = report["checks"].as_array().unwrap();
        let find = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
        assert_eq!(find("one-write")["outcome"], "passed");
        assert_eq!(find("batch")["reason"], "the server \"x\" has no batches");
        let crlf = find("crlf");
        assert_eq!((&crlf["level"], &crlf["property"]), (&Value::from("must"), &Value::from("framing")));
        assert_eq!(crlf["failure"]["recording"], "wireline-conform/crlf.tap");
        assert_eq!(crlf["failure"]["asks"], crlf["asks"]);
    }
}
