//! Hooks that concern the process: how it starts and ends, and what it does to stderr.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::lines::Line;
use super::server::{Answered, Incoming, Server};

/// How long a late start takes. Clients wait longer.
const LATE: Duration = Duration::from_secs(2);

/// For how long a server, or the child that it leaves behind, outlives its client unless it is killed.
const FOR_EVER: Duration = Duration::from_secs(300);

/// How much is written to stderr for each line of input.
const FLOOD: usize = 8 << 10;

pub(super) fn start_late(server: &mut Server) {
    server.note_misbehaviour();
    thread::sleep(LATE);
}

pub(super) fn never_start(server: &mut Server) {
    server.note_misbehaviour();
    thread::sleep(FOR_EVER);
    server.exit(1);
}

pub(super) fn exit_at_start(server: &mut Server) {
    server.exit(1);
}

pub(super) fn exit_on_second(server: &mut Server, answer: &Answered<'_>) {
    if server.memory.answers == 2 {
        server.exit(1);
    }
    server.write_line(answer.line);
}

pub(super) fn exit_with_0(server: &mut Server, _: &Answered<'_>) {
    server.exit(0);
}

pub(super) fn crash(server: &mut Server, _: &Answered<'_>) {
    server.crash();
}

pub(super) fn exit_in_line(server: &mut Server, answer: &Answered<'_>) {
    let half = &answer.line[..answer.line.len() / 2];
    server.deviate(half);
    server.exit(1);
}

pub(super) fn close_output(server: &mut Server, _: &Answered<'_>) {
    server.close_stdout();
}

pub(super) fn stop_reading(server: &mut Server, _: &Answered<'_>) {
    never_start(server);
}

pub(super) fn never_exit(server: &mut Server) {
    server.note_misbehaviour();
    thread::sleep(FOR_EVER);
}

/// Only a signal that can't be ignored ends it.
#[cfg(unix)]
pub(super) fn ignore_sigterm(server: &mut Server) {
    let flag = std::sync::Arc::default();
    // If it can't be ignored, it ends the server, as it does without this.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGTERM, flag);
    never_exit(server);
}

pub(super) fn exit_with_1(server: &mut Server) {
    server.exit(1);
}

pub(super) fn abandon_requests(server: &mut Server) {
    server.fall_silent();
}

/// Leaves a child behind that neither reads nor writes.
#[cfg(unix)]
pub(super) fn leave_child(server: &mut Server) {
    spawn_child(server, Stdio::null());
}

/// Leaves a child behind that keeps stdout open.
#[cfg(unix)]
pub(super) fn leave_child_with_output(server: &mut Server) {
    use std::os::fd::AsFd;

    let stdout = server.stdout().and_then(|stdout| stdout.as_fd().try_clone_to_owned().ok());
    spawn_child(server, stdout.map_or_else(Stdio::null, Stdio::from));
}

#[cfg(unix)]
fn spawn_child(server: &mut Server, stdout: Stdio) {
    let seconds = FOR_EVER.as_secs().to_string();
    let child = Command::new("sleep").arg(seconds).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null()).spawn();
    match child {
        // The process that is left behind is the point.
        Ok(_child) => server.note_misbehaviour(),
        Err(error) => crate::output::report_error(&format!("cannot run sleep: {error}")),
    }
}

pub(super) fn flood_stderr(server: &mut Server, _: &Line<'_>) -> Incoming {
    server.note_misbehaviour();
    let text = format!("{}\n", "x".repeat(79)).repeat(FLOOD / 80);
    // Fails if nothing will ever read it, which is harmless.
    let _ = io::stderr().write_all(text.as_bytes());
    Incoming::Pass
}

pub(super) fn need_stderr(server: &mut Server, _: &Line<'_>) -> Incoming {
    match io::stderr().write_all(b"handling a request\n") {
        Ok(()) => Incoming::Pass,
        Err(_) => server.exit(1),
    }
}
