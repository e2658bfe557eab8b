//! The process starts, ends and behaves as its client expects.

use super::super::check::Level::{Must, Should};
use super::super::check::Property::Lifecycle;
use super::super::maker::{Made, Maker};
use super::super::script::{Chunks, Exit, Line, Policy, Script, Stderr, Step};
use super::ServerCheck;
use crate::conform::check::Check;

const SHUTDOWN: &str =
    "exits when its input is closed (MCP, Transports / stdio / Shutdown; before 2026-07-28, Lifecycle / Shutdown)";

pub(super) static CHECKS: &[ServerCheck] = &[
    ServerCheck {
        check: Check {
            name: "starts-in-time",
            property: Lifecycle,
            level: Must,
            sends: "the first request",
            accepts: "its answer within --start-timeout",
            asks: "exactly one response for each request (JSON-RPC 2.0, section 5)",
            effect: "the client gives up and reports that the server doesn't start",
        },
        script: starts_in_time,
    },
    ServerCheck {
        check: Check {
            name: "exits-in-time",
            property: Lifecycle,
            level: Should,
            sends: "the end of input, after some requests were answered",
            accepts: "an exit within --timeout",
            asks: SHUTDOWN,
            effect: "servers pile up after their clients have ended",
        },
        script: exits_in_time,
    },
    ServerCheck {
        check: Check {
            name: "exit-code",
            property: Lifecycle,
            level: Should,
            sends: "the end of input, after some requests were answered",
            accepts: "exit code 0",
            asks: SHUTDOWN,
            effect: "the client reports that the server crashed",
        },
        script: exit_code,
    },
    ServerCheck {
        check: Check {
            name: "no-processes-left",
            property: Lifecycle,
            level: Should,
            sends: "the end of input, after some requests were answered",
            accepts: "an exit that leaves no process of the server's group running",
            asks: SHUTDOWN,
            effect: "processes pile up after their clients have ended",
        },
        script: no_processes_left,
    },
    ServerCheck {
        check: Check {
            name: "refused-line-memory",
            property: Lifecycle,
            level: Should,
            sends: "a request of 64 MiB",
            accepts: "a result; or a refusal after which the server uses no more than 32 MiB more than before (Linux)",
            asks: "no limit is specified; a line that is refused needn't be kept",
            effect: "a client can fill the memory of the machine with one line",
        },
        script: refused_line_memory,
    },
    ServerCheck {
        check: Check {
            name: "stderr-unread",
            property: Lifecycle,
            level: Should,
            sends: "1,000 requests, some of them invalid, to a server whose stderr is a pipe that isn't read",
            accepts: "one response for each valid request",
            asks: "a client may ignore stderr (MCP, Transports / stdio)",
            effect: "the server blocks once its log has filled the pipe, and the client waits for ever",
        },
        script: stderr_unread,
    },
    ServerCheck {
        check: Check {
            name: "stderr-closed",
            property: Lifecycle,
            level: Should,
            sends: "requests, some of them invalid, to a server whose stderr has been closed by its reader",
            accepts: "one response for each valid request",
            asks: "a client may ignore stderr (MCP, Transports / stdio)",
            effect: "the server dies when it logs something",
        },
        script: stderr_closed,
    },
];

fn starts_in_time(_: &mut Maker<'_>) -> Made {
    Ok(Script::of(Vec::new()).alone())
}

/// Some requests, and then the end of input.
fn session(maker: &mut Maker<'_>, exit: Exit) -> Script {
    let lines = maker.probes(3);
    let policy = Policy { exit: Some(exit), ..Policy::default() };
    Script::of(vec![Step::Send(lines, Chunks::Whole), Step::Await]).closing().judged(policy)
}

fn exits_in_time(maker: &mut Maker<'_>) -> Made {
    Ok(session(maker, Exit::InTime))
}

fn exit_code(maker: &mut Maker<'_>) -> Made {
    Ok(session(maker, Exit::Code))
}

fn no_processes_left(maker: &mut Maker<'_>) -> Made {
    if cfg!(not(unix)) {
        return Err("this system has no process groups");
    }
    Ok(session(maker, Exit::NothingLeft))
}

fn refused_line_memory(maker: &mut Maker<'_>) -> Made {
    if cfg!(not(target_os = "linux")) {
        return Err("this system doesn't tell how much memory a process uses");
    }
    let policy = Policy { growth: Some(32 << 20), ..Policy::default() };
    Ok(Script::new(vec![maker.request_of_len(64 << 20)]).alone().judged(policy))
}

/// Requests, every fifth of which is no JSON.
fn noisy(maker: &mut Maker<'_>, count: usize, stderr: Stderr) -> Script {
    let lines = (0..count).map(|at| if at % 5 == 4 { Line::new("not JSON") } else { maker.probe() });
    let mut script = Script::new(lines.collect()).alone();
    script.setup.stderr = stderr;
    script
}

fn stderr_unread(maker: &mut Maker<'_>) -> Made {
    Ok(noisy(maker, 1000, Stderr::Unread))
}

fn stderr_closed(maker: &mut Maker<'_>) -> Made {
    Ok(noisy(maker, 50, Stderr::Closed))
}
