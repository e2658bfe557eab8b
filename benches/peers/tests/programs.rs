//! The groups of whole programs run with few calls and a short file, check what they get, and end.

use std::process::Command;

fn run(group: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_peers")).args(["--only", group, "--seconds", "0"]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{group}: {} {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

fn has_rows(report: &str, names: &[&str]) {
    let (_, tables) = report.split_once("\n\n").unwrap();
    for name in names {
        let rows = tables.lines().filter(|line| line.trim_start().starts_with(name));
        let has_figures = |line: &str| line.split_whitespace().filter(|cell| cell.parse::<f64>().is_ok()).count() >= 6;
        assert!(rows.clone().count() > 0 && rows.clone().all(has_figures), "{name} in:\n{report}");
    }
}

#[cfg(unix)]
#[test]
fn every_call_is_answered() {
    let report = run("calls");
    has_rows(&report, &["wireline", "LinesCodec + serde_json", "rmcp", "with io::serve"]);
    assert_eq!(report.matches("rmcp with wireline-rmcp").count(), 3, "{report}");
}

#[test]
fn everybody_counts_the_same() {
    let report = run("etl");
    has_rows(&report, &["wireline", "simd-json", "sonic-rs", "serde_json"]);
    assert!(report.contains("every contender counted the same"), "{report}");
}

#[cfg(unix)]
#[test]
fn an_unknown_program_is_an_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_peers")).args(["--serve", "nothing"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no server is called nothing"));
}
