//! jq, which many use for this.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Tally;
use super::tally::Outcomes;

/// Counts requests, results and errors by method and name, as `"method name": [1, 1, 0]`.
const PROGRAM: &str = r#"
reduce inputs as $message ({counts: {}, waiting: {}, notifications: 0};
    if $message | has("method") | not then
        ($message.id | tostring) as $id | .waiting[$id] as $key
        | .counts[$key][if $message | has("error") then 2 else 1 end] += 1 | del(.waiting[$id])
    elif $message | has("id") then
        "\($message.method) \($message.params.name // "")" as $key
        | .waiting[$message.id | tostring] = $key | .counts[$key] |= (. // [0, 0, 0] | .[0] += 1)
    else
        .notifications += 1
    end)
| {counts, notifications}
"#;

#[derive(serde::Deserialize)]
struct Counted {
    counts: BTreeMap<String, [u64; 3]>,
    notifications: u64,
}

/// How long jq takes and what it counts, or `None` if it isn't installed.
pub(super) fn count(path: &Path) -> io::Result<Option<(Duration, Tally)>> {
    let start = Instant::now();
    let output = Command::new("jq")
        .args(["--null-input", "--compact-output", PROGRAM])
        .arg(path)
        .stderr(Stdio::inherit())
        .output();
    let took = start.elapsed();
    let output = match output {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        output => output?,
    };
    if !output.status.success() {
        return Err(io::Error::other(format!("jq ends with {}", output.status)));
    }
    let counted: Counted = serde_json::from_slice(&output.stdout)?;
    let mut tally = Tally::default();
    for (key, [requests, results, errors]) in &counted.counts {
        let (method, name) = key.split_once(' ').unwrap_or((key, ""));
        tally.set(method, name, Outcomes { requests: *requests, results: *results, errors: *errors });
    }
    tally.set_notifications(counted.notifications);
    Ok(Some((took, tally)))
}
