//! The READMEs show what the tool prints, apart from times.
#![cfg(unix)]

use crate::common;

use std::path::Path;
use std::process::Command;

/// A command of a README, and the output below it.
struct Shown {
    command: String,
    output: Vec<String>,
}

/// The commands with `$` in the console blocks of a README.
fn commands(readme: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let blocks = readme.split("```console\n").skip(1).filter_map(|block| block.split("```").next());
    for line in blocks.filter(|block| block.starts_with("$ ")).flat_map(str::lines) {
        match line.strip_prefix("$ ") {
            Some(command) => shown.push(Shown { command: command.to_owned(), output: Vec::new() }),
            None => shown.last_mut().unwrap().output.push(line.to_owned()),
        }
    }
    shown
}

/// Runs a command in a directory, with the tool in its path, and returns all that it prints.
fn output(command: &str, directory: &Path) -> String {
    let tool = Path::new(env!("CARGO_BIN_EXE_wireline")).parent().unwrap();
    let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap());
    let script = format!("{{ {command}\n}} 2>&1");
    let output = Command::new("sh").args(["-c", &script]).current_dir(directory).env("PATH", path).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The words of a text, with `T` for times and rates, and without the rows of histograms, which show times.
fn timeless<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    const REMARK: &str = "                        ";
    const UNITS: [&str; 7] = ["ns", "µs", "ms", "s", "B/s", "kB/s", "MB/s"];
    let is_number = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_digit())
            && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let is_time = |word: &str| UNITS.iter().any(|unit| word.strip_suffix(unit).is_some_and(is_number));
    let shorten = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_end_matches(',')).collect();
        let mut kept = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let is_unit = UNITS.contains(word) && at > 0 && is_number(words[at - 1]);
            let has_unit = is_number(word) && words.get(at + 1).is_some_and(|next| UNITS.contains(next));
            // The time of a message is at the start of its line.
            let is_stamp = at == 0 && is_number(word) && word.contains('.');
            if !is_unit {
                kept.push(if has_unit || is_stamp || is_time(word) { "T" } else { word });
            }
        }
        kept.join(" ")
    };
    let mut kept: Vec<String> = Vec::new();
    for line in lines.filter(|line| !line.starts_with("  < ")) {
        let line_words = shorten(line);
        match kept.last_mut() {
            // Where a remark below a message is wrapped depends on the times in it.
            Some(last) if line.starts_with(REMARK) => *last = [last, " ", &line_words].concat(),
            _ => kept.push(line_words),
        }
    }
    kept
}

fn check(readme: &str, directory: &Path) {
    let shown = commands(readme);
    assert!(!shown.is_empty());
    for Shown { command, output: expected } in shown {
        let command = command.replace("cargo run --release -p wireline-cli --", "wireline");
        if command.contains("| jq ") && Command::new("jq").arg("--version").output().is_err() {
            continue;
        }
        let found = output(&command, directory);
        let mut found = timeless(found.lines());
        let mut expected = timeless(expected.iter().map(String::as_str));
        // Three dots stand for the rest.
        if expected.last().is_some_and(|line| line == "...") {
            expected.pop();
            found.truncate(expected.len());
        }
        assert_eq!(found, expected, "{command}");
    }
}

#[test]
fn of_the_tool() {
    let directory = common::new_file("readme");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir(&directory).unwrap();
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/demo");
    for name in ["client.ndjson", "server.sh", "session.ndjson", "cut.tap"] {
        std::fs::copy(demo.join(name), directory.join(name)).unwrap();
    }
    check(include_str!("../README.md"), &directory);
}

#[test]
fn of_the_library() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    check(&std::fs::read_to_string(root.join("README.md")).unwrap(), root);
}
