//! Helpers of all tests, which run the tool as users do.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::Write;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A session with many kinds of faults, shared with the library.
pub(crate) const SESSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/session.ndjson");

pub(crate) const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// How a run of the tool ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The lines of standard output, parsed as JSON.
    pub(crate) fn objects(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The tool, with pipes as its standard streams.
pub(crate) fn wireline(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireline"));
    command.args(args).env_remove("COLUMNS").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the tool without input.
pub(crate) fn run(args: &[&str]) -> Run {
    finish(wireline(args).stdin(Stdio::null()).spawn().unwrap())
}

/// Runs the tool with `input` at its standard input.
pub(crate) fn run_with_input(args: &[&str], input: impl AsRef<[u8]> + Send) -> Run {
    let mut child = wireline(args).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // Fails if the tool exits without reading.
        scope.spawn(move || stdin.write_all(input.as_ref()).ok());
        finish(child)
    })
}

/// Waits for the end of a run.
pub(crate) fn finish(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A path for a test's file, which does not exist yet. Names must differ between the tests in a file.
#[track_caller]
pub(crate) fn new_file(name: &str) -> PathBuf {
    let test = Path::new(Location::caller().file()).file_stem().unwrap();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wireline-cli").join(test);
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    let _ = std::fs::remove_file(&path);
    path
}

/// A file with this content.
#[track_caller]
pub(crate) fn file(name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = new_file(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// The most memory that the process has used so far, in bytes.
#[cfg(target_os = "linux")]
pub(crate) fn peak_memory(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1024 * peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}
