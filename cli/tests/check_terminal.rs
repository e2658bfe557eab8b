//! `wireline check` on a terminal: the progress bar.
#![cfg(target_os = "linux")]

use crate::common;
use crate::terminal;

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{file, wireline};
use terminal::{Screen, Session, Terminal};

/// Longer than it takes for a progress bar to appear.
const LONG: Duration = Duration::from_millis(500);

/// The tool, without input.
fn command(args: &[&str]) -> Command {
    let mut command = wireline(args);
    command.stdin(Stdio::null()).env("TERM", "xterm").env_remove("NO_COLOR");
    command
}

fn is_bar(line: &str) -> bool {
    line.contains("B/s") && !line.contains(" in ")
}

/// Runs with standard error on a terminal, and standard output on a pipe that is not read for a while.
fn slowed_down(args: &[&str]) -> (Session, std::process::ChildStdout) {
    let terminal = Terminal::open();
    let mut command = command(args);
    command.stdout(Stdio::piped()).stderr(terminal.stream());
    let mut session = terminal.spawn(command);
    let stdout = session.child.stdout.take().unwrap();
    std::thread::sleep(LONG);
    (session, stdout)
}

#[test]
fn bar_appears_after_a_while_and_vanishes() {
    // The report is larger than a pipe, even that of one segment.
    let faulty = file("bar.ndjson", format!("{:49}\n", "oops").repeat(30_000));
    let faulty = faulty.to_str().unwrap();
    for jobs in ["1", "2"] {
        let (session, mut stdout) = slowed_down(&["check", "--all", "--jobs", jobs, faulty]);
        assert_eq!(session.written(), "", "expected nothing before the first bytes are checked");
        let mut text = vec![0; 3 << 18];
        stdout.read_exact(&mut text).unwrap();
        let screen = session.wait_for(|screen| screen.lines().iter().any(|line| is_bar(line)));
        let [bar] = &screen.lines()[..] else { panic!("{screen:?}") };
        for part in ["%  ", " of 1.50 MB  ", "B/s"] {
            assert!(bar.contains(part), "{bar}");
        }
        // With two jobs, no segment is finished yet.
        assert_eq!(bar.ends_with(" left"), jobs == "1", "{bar}");

        stdout.read_to_end(&mut text).unwrap();
        let (status, written) = session.finish();
        assert_eq!(status.code(), Some(1));
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains(['\x1b', '\r']) && !text.lines().any(is_bar));
        for screen in Screen::history(&written) {
            assert_eq!(screen.wraps, 0, "{screen:?}");
            assert!(screen.lines().len() <= 1, "{screen:?}");
        }
        let screen = Screen::of(&written);
        assert_eq!((screen.text(), screen.cursor()), (String::new(), (0, 0)));
    }
}

#[test]
fn no_bar_without_a_terminal() {
    let faulty = file("no-bar.ndjson", "oops\n".repeat(20_000));
    let faulty = faulty.to_str().unwrap();
    let mut child = command(&["check", "--all", faulty]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(LONG);
    child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(child.wait_with_output().unwrap().stderr, b"");
}

#[test]
fn spinner_and_report_do_not_mix() {
    let terminal = Terminal::open();
    let mut command = command(&["check"]);
    command.stdin(Stdio::piped()).stdout(terminal.stream()).stderr(terminal.stream());
    let mut session = terminal.spawn(command);
    let mut stdin = session.child.stdin.take().unwrap();
    for line in 1..=4 {
        std::thread::sleep(LONG);
        stdin.write_all(b"oops\n").unwrap();
        let position = format!("<stdin>:{line}:1: ");
        session.wait_for(|screen| screen.lines().iter().any(|line| line.starts_with(&position)));
    }
    session.wait_for(|screen| screen.lines().last().is_some_and(|line| is_bar(line)));
    drop(stdin);
    let (status, written) = session.finish();
    assert_eq!(status.code(), Some(1));
    for screen in Screen::history(&written) {
        let lines = screen.lines();
        let bar = lines.iter().position(|line| is_bar(line));
        assert!(bar.is_none_or(|at| at + 1 == lines.len() && !lines[at].contains("stdin")), "{screen:?}");
        assert_eq!(screen.wraps, 0, "{screen:?}");
    }
    let screen = Screen::of(&written);
    assert!(!screen.lines().iter().any(|line| is_bar(line)), "{screen:?}");
    assert_eq!(screen.lines().iter().filter(|line| line.starts_with("<stdin>:")).count(), 4);
}
