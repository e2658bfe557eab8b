//! The tool's integration tests, as one program. `cargo test -p wireline-cli --test integration check::` runs one file.

mod check;
mod check_inputs;
mod check_terminal;
mod common;
mod completions_and_man;
mod conform;
mod conform_client;
mod figures;
mod framing;
#[cfg(unix)]
mod guard;
#[cfg(unix)]
mod guard_misbehaviours;
#[cfg(target_os = "linux")]
mod guard_orphans;
#[cfg(unix)]
mod guarding;
mod judge;
mod line_ends;
mod misbehave;
mod readme;
mod reasons;
mod recordings;
mod replay;
mod replay_differences;
mod report;
mod show;
mod stats;
mod tap;
mod tap_everywhere;
mod tap_faults;
mod tap_files;
mod tap_log;
mod tap_mcp;
mod tap_recording;
mod tap_stderr;
mod tap_terminal;
mod tapping;
#[cfg(target_os = "linux")]
mod terminal;
mod widths;
