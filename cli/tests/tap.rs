//! `wireline tap`: what passes between clients and servers of all kinds, and how it ends.
#![cfg(unix)]

use crate::common;
use crate::tapping;

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{SESSION, file, new_file, wireline};
use rustix::process::{Pid, Signal, kill_process};
use tapping::{REQUEST, RESULT, session, tap, text, wait_for_exit};

/// Whether a signal is ignored by these tests and everything they start, as under `nohup`.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 << (signal.as_raw() - 1) != 0)
}

#[test]
fn every_byte_passes_unchanged() {
    let mut random = Vec::new();
    let mut state = 1_u64;
    for _ in 0..100_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random.push((state >> 56) as u8);
    }
    let half_a_line = format!("{REQUEST}\n{RESULT}");
    for input in [&b""[..], b"\n", b"no line end", half_a_line.as_bytes(), b"\xff\xfe\0\r\n\xc3", &random] {
        for options in [&["-qq"][..], &["--show"], &["--rules", "mcp", "--max-len", "64"]] {
            let output = session(options, &["cat"], input);
            assert!(output.status.success());
            assert_eq!(output.stdout, input, "{options:?}");
        }
    }
}

#[test]
fn a_server_behaves_the_same_with_and_without_a_tap() {
    let server = tapping::server();
    let lines = std::fs::read(SESSION).unwrap();
    let mut direct = Command::new(&server);
    let mut direct = direct.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    direct.stdin.take().unwrap().write_all(&lines).unwrap();
    let direct = direct.wait_with_output().unwrap();
    let tapped = session(&["-qq"], &[&server], &lines);
    assert_eq!(text(&tapped.stdout), text(&direct.stdout));
    // Standard error is the server's alone: the bad lines too, unless the feature `tracing` is on.
    assert!(text(&direct.stderr).starts_with("tap_server: ready\n"));
    assert_eq!(text(&tapped.stderr), text(&direct.stderr));
}

#[test]
fn bytes_pass_without_delay() {
    let mut tap = tap(&["-qq"], &["cat"]);
    let (mut stdin, mut stdout) = (tap.stdin.take().unwrap(), tap.stdout.take().unwrap());
    for part in ["{\"half", " a line", "\n", "x"] {
        stdin.write_all(part.as_bytes()).unwrap();
        let mut passed = vec![0; part.len()];
        stdout.read_exact(&mut passed).unwrap();
        assert_eq!(passed, part.as_bytes());
    }
    drop(stdin);
    assert!(wait_for_exit(&mut tap).success());
}

#[test]
fn streams_may_be_sockets_and_files() {
    // All other tests have pipes. Here: non-blocking sockets, a file to read, and a file to append to.
    let lines = format!("{REQUEST}\n").repeat(5_000);
    let (mut near, far) = UnixStream::pair().unwrap();
    far.set_nonblocking(true).unwrap();
    let far = OwnedFd::from(far);
    let mut command = wireline(&["tap", "-qq", "--", "cat"]);
    let mut tap = command.stdin(far.try_clone().unwrap()).stdout(far).stderr(Stdio::null()).spawn().unwrap();
    drop(command);
    let mut writer = near.try_clone().unwrap();
    let mut passed = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            writer.write_all(lines.as_bytes()).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        near.read_to_end(&mut passed).unwrap();
    });
    assert!(passed == lines.as_bytes());
    assert_eq!(wait_for_exit(&mut tap).code(), Some(0));

    let (input, output) = (file("tap-input.ndjson", &lines), file("tap-output.ndjson", "before\n"));
    let appended = File::options().append(true).open(&output).unwrap();
    let mut command = wireline(&["tap", "-q", "--", "cat"]);
    let tap = command.stdin(File::open(&input).unwrap()).stdout(appended).output().unwrap();
    assert_eq!(std::fs::read_to_string(&output).unwrap(), format!("before\n{lines}"));
    let (_, summary) = text(&tap.stderr).split_once("───\n").unwrap();
    let summary = summary.replace('\n', " ");
    assert!(summary.contains("5,000 messages from the client (370 kB), 5,000 from the server (370 kB)"), "{summary}");
}

#[test]
fn oversized_unterminated_lines_pass() {
    const LEN: usize = 64 << 20;
    let output = session(&[], &["sh", "-c", &format!("head -c {LEN} /dev/zero | tr '\\0' x; exit 3")], b"");
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stdout.len() == LEN && output.stdout.iter().all(|&byte| byte == b'x'));
    assert!(text(&output.stderr).contains("[line-too-long]"), "{}", text(&output.stderr));
}

#[test]
fn exits_as_the_server_does() {
    for code in [0, 1, 42, 255] {
        let output = session(&["-qq"], &["sh", "-c", &format!("echo to stderr >&2; exit {code}")], b"");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(code), "to stderr\n"));
    }
    for signal in [Signal::KILL, Signal::TERM, Signal::HUP, Signal::ABORT].into_iter().filter(|&one| !is_ignored(one)) {
        let output = session(&[], &["sh", "-c", &format!("kill -{} $$", signal.as_raw())], b"");
        assert_eq!(output.status.signal(), Some(signal.as_raw()));
        let outcome = format!("\nserver was killed by signal {}\n", signal.as_raw());
        assert!(text(&output.stderr).contains(&outcome), "{}", text(&output.stderr));
    }
}

#[test]
fn signals_reach_the_server() {
    let signals = [(Signal::TERM, "TERM"), (Signal::INT, "INT"), (Signal::HUP, "HUP"), (Signal::USR1, "USR1")];
    for (signal, name) in signals.into_iter().filter(|(signal, _)| !is_ignored(*signal)) {
        let script = format!("trap 'echo caught {name}; exit 7' {name}; echo ready; while :; do sleep 0.01; done");
        let mut tap = tap(&["-qq"], &["sh", "-c", &script]);
        let mut lines = BufReader::new(tap.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert_eq!(lines.next().as_deref(), Some("ready"));
        kill_process(Pid::from_child(&tap), signal).unwrap();
        assert_eq!(lines.next(), Some(format!("caught {name}")));
        assert_eq!(wait_for_exit(&mut tap).code(), Some(7));
    }
}

#[test]
fn closed_streams_are_passed_on() {
    // The client stops sending: the server reads to the end, and still answers.
    let output = session(&["-qq"], &["sh", "-c", "cat >/dev/null; echo last"], b"x\n");
    assert_eq!(text(&output.stdout), "last\n");

    // The server closes its output, and goes on reading.
    let mut closed = tap(&["-qq"], &["sh", "-c", "echo last; exec >&-; read line; exit 5"]);
    let mut heard = String::new();
    closed.stdout.take().unwrap().read_to_string(&mut heard).unwrap();
    assert_eq!((heard.as_str(), closed.try_wait().unwrap()), ("last\n", None));
    closed.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    assert_eq!(wait_for_exit(&mut closed).code(), Some(5));

    // The server closes its input: the client gets a broken pipe.
    let mut deaf = tap(&["-qq"], &["sh", "-c", "exec <&-; echo deaf; sleep 5"]);
    let (mut stdin, mut stdout) = (deaf.stdin.take().unwrap(), BufReader::new(deaf.stdout.take().unwrap()));
    stdout.read_line(&mut String::new()).unwrap();
    let refused = (0..10_000).find_map(|_| {
        thread::sleep(Duration::from_millis(1));
        stdin.write_all(b"x\n").err()
    });
    assert_eq!(refused.map(|error| error.kind()), Some(ErrorKind::BrokenPipe));
    kill_process(Pid::from_child(&deaf), Signal::TERM).unwrap();
    assert_eq!(wait_for_exit(&mut deaf).signal(), Some(Signal::TERM.as_raw()));

    // The client stops reading: the server gets a broken pipe.
    let mut unheard = tap(&["-qq"], &["yes"]);
    drop(unheard.stdout.take());
    let status = wait_for_exit(&mut unheard);
    assert!(status.signal() == Some(Signal::PIPE.as_raw()) || status.code() == Some(1), "{status:?}");
}

#[test]
fn tap_exits_soon_after_the_server() {
    // A process that the server started keeps its standard output open, and writes nothing.
    let started = Instant::now();
    let output = session(&["-qq"], &["sh", "-c", "echo bye; sleep 20 2>/dev/null & exit 6"], b"");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(6), "bye\n"));
    assert!(started.elapsed() < Duration::from_secs(15));

    // A slow client still gets everything.
    let mut slow = tap(&["-qq"], &["sh", "-c", "head -c 500000 /dev/zero; exit 6"]);
    thread::sleep(Duration::from_millis(1500));
    let mut heard = Vec::new();
    slow.stdout.take().unwrap().read_to_end(&mut heard).unwrap();
    assert_eq!((heard.len(), wait_for_exit(&mut slow).code()), (500_000, Some(6)));
}

#[test]
fn no_deadlock_if_nobody_reads() {
    // Each side writes more than all pipes hold before it reads.
    let script = "head -c 3000000 /dev/zero; cat >/dev/null";
    let output = session(&["-qq"], &["sh", "-c", script], &vec![b'x'; 3_000_000]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 3_000_000));

    // Nobody reads the log, which is far larger than a pipe.
    let lines = format!("{REQUEST}\n{RESULT}\n").repeat(20_000);
    let mut tap = tap(&[], &["cat"]);
    let (mut stdin, mut stdout) = (tap.stdin.take().unwrap(), tap.stdout.take().unwrap());
    let passed = thread::scope(|scope| {
        scope.spawn(|| {
            stdin.write_all(lines.as_bytes()).unwrap();
            drop(stdin);
        });
        let mut passed = Vec::new();
        stdout.read_to_end(&mut passed).unwrap();
        passed
    });
    assert!(passed == lines.as_bytes());
    assert_eq!(wait_for_exit(&mut tap).code(), Some(0));
}

#[test]
fn failures_before_the_session_have_exit_codes() {
    for (server, code, message) in [
        ("/there/is/no/such/command", 127, "wireline: cannot run /there/is/no/such/command: "),
        ("/", 126, "wireline: cannot run /: "),
    ] {
        let output = session(&[], &[server], b"x\n");
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(code), ""));
        assert!(text(&output.stderr).starts_with(message), "{}", text(&output.stderr));
    }
    for (args, word) in [(&["tap"][..], "COMMAND"), (&["tap", "--recrod", "x", "--", "cat"], "--recrod")] {
        let usage = wireline(args).output().unwrap();
        assert_eq!(usage.status.code(), Some(2));
        assert!(text(&usage.stderr).contains(word), "{}", text(&usage.stderr));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn signals_act_on_the_tap_once_the_server_has_exited() {
    // The server leaves more than one pipe holds, and less than two, and the client does not read.
    let mut left = tap(&["-qq"], &["sh", "-c", "head -c 400000 /dev/zero; echo gone >&2"]);
    BufReader::new(left.stderr.take().unwrap()).read_line(&mut String::new()).unwrap();
    let stdout = left.stdout.take();
    let status = (0..1000).find_map(|_| {
        thread::sleep(Duration::from_millis(20));
        // Not a request to stop, after which the tap would give up the client anyway.
        kill_process(Pid::from_child(&left), Signal::USR1).unwrap();
        left.try_wait().unwrap()
    });
    assert_eq!(status.and_then(|status| status.signal()), Some(Signal::USR1.as_raw()));
    drop(stdout);
}

#[test]
#[cfg(target_os = "linux")]
fn ignored_signals_stay_ignored() {
    let wireline = env!("CARGO_BIN_EXE_wireline");
    let script = format!("trap '' HUP; exec '{wireline}' tap -qq -- sh -c 'kill -HUP $$; echo alive'");
    let output = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
    assert_eq!((text(&output.stdout), output.status.code()), ("alive\n", Some(0)));
}

#[test]
fn tap_that_is_told_to_stop_does_not_wait_for_its_reader() {
    let mut tap = tap(&["-qq"], &["yes"]);
    // Until the client's pipe is full.
    thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&tap), Signal::TERM).unwrap();
    assert_eq!(wait_for_exit(&mut tap).signal(), Some(Signal::TERM.as_raw()));
}

#[test]
#[cfg(target_os = "linux")]
fn packet_pipes_pass() {
    use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

    let (read_end, write_end) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::DIRECT).unwrap();
    fcntl_setpipe_size(&write_end, 256 << 10).unwrap();
    // All of it is in the pipe when the tap starts, and is spliced at once.
    let line = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}\n", "m".repeat(2960));
    let mut writer = File::from(write_end);
    (0..60).for_each(|_| writer.write_all(line.as_bytes()).unwrap());
    drop(writer);
    let recording = new_file("packets.tap");
    let mut tap = wireline(&["tap", "-qq", "--record", recording.to_str().unwrap(), "--", "cat"]);
    let output = tap.stdin(read_end).output().unwrap();
    assert!(output.stdout == line.repeat(60).into_bytes());
    let recorded = std::fs::read_to_string(recording).unwrap();
    assert_eq!(recorded.matches("\"from\":\"client\"").count(), 60);
    assert_eq!(recorded.matches(&"m".repeat(2960)).count(), 120);
}

#[test]
#[cfg(target_os = "linux")]
fn a_large_pipe_stays_large() {
    use rustix::pipe::{PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};

    let (read_end, write_end) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let large = fcntl_setpipe_size(&write_end, 1 << 20).unwrap();
    let mut tap = wireline(&["tap", "-qq", "--", "cat"]).stdin(read_end).spawn().unwrap();
    let mut writer = File::from(write_end);
    writer.write_all(b"x").unwrap();
    tap.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    assert_eq!(fcntl_getpipe_size(&writer).unwrap(), large);
    drop(writer);
    assert!(wait_for_exit(&mut tap).success());
}
