//! `wireline tap`, between clients and servers that do all sorts of things.
#![cfg(unix)]

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The path of an example, which `cargo test` has built next to the tests.
fn example(name: &str) -> String {
    let tests = std::env::current_exe().unwrap();
    tests.parent().unwrap().with_file_name("examples").join(name).into_os_string().into_string().unwrap()
}

/// A file for one test, which is not there yet.
fn file(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tap");
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    let _ = std::fs::remove_file(&path);
    path
}

fn wireline(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireline"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A tap with these options, in front of a server.
fn tap(options: &[&str], server: &[&str]) -> Child {
    wireline(&[&["tap"], options, &["--"], server].concat()).spawn().unwrap()
}

/// What passes and what is told if the client sends `input`, and then closes.
fn session(options: &[&str], server: &[&str], input: &[u8]) -> Output {
    let mut tap = tap(options, server);
    let mut stdin = tap.stdin.take().unwrap();
    thread::scope(|scope| {
        // A server that ends early does not read it.
        scope.spawn(move || stdin.write_all(input).ok());
        tap.wait_with_output().unwrap()
    })
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Waits for the end, which must not take long.
fn ends(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "expected the tap to end");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether these tests run where a signal is ignored, as under `nohup`, so that all they start ignore it as well.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 << (signal.as_raw() - 1) != 0)
}

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"secret"}}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

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
fn what_a_real_server_says_is_the_same_with_and_without() {
    let server = example("mcp_server");
    let lines = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/session.ndjson")).unwrap();
    let mut direct = Command::new(&server);
    let mut direct = direct.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    direct.stdin.take().unwrap().write_all(&lines).unwrap();
    let direct = direct.wait_with_output().unwrap();
    let tapped = session(&["-qq"], &[&server], &lines);
    assert_eq!(text(&tapped.stdout), text(&direct.stdout));
    // Of the tap there is nothing on standard error, and of the server all.
    assert_eq!(text(&tapped.stderr), "mcp_server: this was printed to stdout, and is on stderr\n");
}

#[test]
fn bytes_pass_at_once() {
    let mut tap = tap(&["-qq"], &["cat"]);
    let (mut stdin, mut stdout) = (tap.stdin.take().unwrap(), tap.stdout.take().unwrap());
    for part in ["{\"half", " a line", "\n", "x"] {
        stdin.write_all(part.as_bytes()).unwrap();
        let mut passed = vec![0; part.len()];
        stdout.read_exact(&mut passed).unwrap();
        assert_eq!(passed, part.as_bytes());
    }
    drop(stdin);
    assert!(ends(&mut tap).success());
}

#[test]
fn whatever_the_streams_are() {
    // Pipes are what all other tests have. Here: sockets, which do not make wait; a file; and a file that is added to.
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
    assert_eq!(ends(&mut tap).code(), Some(0));

    let (input, output) = (file("input"), file("output"));
    std::fs::write(&input, &lines).unwrap();
    std::fs::write(&output, "before\n").unwrap();
    let added = File::options().append(true).open(&output).unwrap();
    let mut command = wireline(&["tap", "-q", "--", "cat"]);
    let output_of_tap = command.stdin(File::open(&input).unwrap()).stdout(added).output().unwrap();
    assert_eq!(std::fs::read_to_string(&output).unwrap(), format!("before\n{lines}"));
    let told = text(&output_of_tap.stderr);
    assert!(told.contains("5,000 messages from the client (370 kB), 5,000 from the server (370 kB)"), "{told}");
}

#[test]
fn large_lines_without_an_end_pass() {
    const LEN: usize = 64 << 20;
    let output = session(&[], &["sh", "-c", &format!("head -c {LEN} /dev/zero | tr '\\0' x; exit 3")], b"");
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stdout.len() == LEN && output.stdout.iter().all(|&byte| byte == b'x'));
    assert!(text(&output.stderr).contains("[line-too-long]"), "{}", text(&output.stderr));
}

#[test]
fn it_ends_as_the_server_does() {
    for code in [0, 1, 42, 255] {
        let output = session(&["-qq"], &["sh", "-c", &format!("echo to stderr >&2; exit {code}")], b"");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(code), "to stderr\n"));
    }
    for signal in [Signal::KILL, Signal::TERM, Signal::HUP, Signal::ABORT].into_iter().filter(|&one| !is_ignored(one)) {
        let output = session(&[], &["sh", "-c", &format!("kill -{} $$", signal.as_raw())], b"");
        assert_eq!(output.status.signal(), Some(signal.as_raw()));
        let told = format!("\nthe server was ended by signal {}\n", signal.as_raw());
        assert!(text(&output.stderr).contains(&told), "{}", text(&output.stderr));
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
        assert_eq!(ends(&mut tap).code(), Some(7));
    }
}

#[test]
fn it_is_closed_as_its_peers_are() {
    // The client closes its output: the server reads to the end, and has the last word.
    let output = session(&["-qq"], &["sh", "-c", "cat >/dev/null; echo last"], b"x\n");
    assert_eq!(text(&output.stdout), "last\n");

    // The server closes its output, and lives on.
    let mut closed = tap(&["-qq"], &["sh", "-c", "echo last; exec >&-; read line; exit 5"]);
    let mut heard = String::new();
    closed.stdout.take().unwrap().read_to_string(&mut heard).unwrap();
    assert_eq!((heard.as_str(), closed.try_wait().unwrap()), ("last\n", None));
    closed.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    assert_eq!(ends(&mut closed).code(), Some(5));

    // The server closes its input: the client cannot write any more.
    let mut deaf = tap(&["-qq"], &["sh", "-c", "exec <&-; echo deaf; sleep 5"]);
    let (mut stdin, mut stdout) = (deaf.stdin.take().unwrap(), BufReader::new(deaf.stdout.take().unwrap()));
    stdout.read_line(&mut String::new()).unwrap();
    let refused = (0..10_000).find_map(|_| {
        thread::sleep(Duration::from_millis(1));
        stdin.write_all(b"x\n").err()
    });
    assert_eq!(refused.map(|error| error.kind()), Some(ErrorKind::BrokenPipe));
    kill_process(Pid::from_child(&deaf), Signal::TERM).unwrap();
    assert_eq!(ends(&mut deaf).signal(), Some(Signal::TERM.as_raw()));

    // The client closes its input: the server cannot write any more.
    let mut unheard = tap(&["-qq"], &["yes"]);
    drop(unheard.stdout.take());
    let status = ends(&mut unheard);
    assert!(status.signal() == Some(Signal::PIPE.as_raw()) || status.code() == Some(1), "{status:?}");
}

#[test]
fn a_server_that_has_ended_is_not_waited_for() {
    // What it has started has its standard output, and says nothing.
    let started = Instant::now();
    let output = session(&["-qq"], &["sh", "-c", "echo bye; sleep 20 2>/dev/null & exit 6"], b"");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(6), "bye\n"));
    assert!(started.elapsed() < Duration::from_secs(15));

    // A client that takes its time gets everything.
    let mut slow = tap(&["-qq"], &["sh", "-c", "head -c 500000 /dev/zero; exit 6"]);
    thread::sleep(Duration::from_millis(1500));
    let mut heard = Vec::new();
    slow.stdout.take().unwrap().read_to_end(&mut heard).unwrap();
    assert_eq!((heard.len(), ends(&mut slow).code()), (500_000, Some(6)));
}

#[test]
fn nobody_waits_for_one_who_does_not_read() {
    // Each side writes more than all pipes hold before it reads.
    let script = "head -c 3000000 /dev/zero; cat >/dev/null";
    let output = session(&["-qq"], &["sh", "-c", script], &vec![b'x'; 3_000_000]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 3_000_000));

    // Nobody reads what is told, which is far more than a pipe holds.
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
    assert_eq!(ends(&mut tap).code(), Some(0));
}

#[test]
fn what_is_left_out_is_counted() {
    let lines = "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n".repeat(100_000);
    let mut tap = tap(&[], &["sh", "-c", "cat >/dev/null"]);
    let (mut stdin, stderr) = (tap.stdin.take().unwrap(), tap.stderr.take().unwrap());
    stdin.write_all(lines.as_bytes()).unwrap();
    // By then there is more to tell than it keeps, also where all is slow.
    thread::sleep(Duration::from_secs(3));
    drop(stdin);
    let told: Vec<String> = BufReader::new(stderr).lines().map(Result::unwrap).collect();
    let left_out = told.iter().filter_map(|line| {
        line.strip_prefix("wireline: ")?.strip_suffix(" lines left out, which came faster than they are read")
    });
    let left_out: usize = left_out.map(|count| count.parse::<usize>().unwrap()).sum();
    let shown = told.iter().filter(|line| line.contains(" → notification ")).count();
    assert!(left_out > 0, "{} lines", told.len());
    assert_eq!(shown + left_out, 100_000);
    assert_eq!(told.last().unwrap(), "the server ended with code 0");
    ends(&mut tap);
}

#[test]
fn messages_are_told_line_by_line() {
    let answers = r#"
        read request; sleep 0.05; echo 'starting up'
        echo '{"jsonrpc":"2.0","id":1,"result":{"text":"secret"}}'
        echo '{"jsonrpc":"2.0","id":9,"error":{"code":-5,"message":"secret"}}'
        echo '[{"jsonrpc":"2.0","method":"note"},7]'
        echo 'Content-Length: 12'
        read more; printf '{"jsonrpc":"2.0","id"'; exit 3"#;
    let input = format!("{REQUEST}\n{}\n", REQUEST.replace(":1,", ":2,"));
    let output = session(&[], &["sh", "-c", answers], input.as_bytes());
    let told = text(&output.stderr);
    assert!(told.lines().all(|line| line.chars().count() < 80), "{told}");
    assert!(!told.contains("secret") && !told.contains('\x1b'), "{told}");

    // In the order in which they came, without times.
    let lines: Vec<&str> = told.lines().collect();
    let rest = |start: &str| lines.iter().position(|line| line.get(9..).is_some_and(|line| line.starts_with(start)));
    for (start, size, is_timed) in [
        ("→ request      tools/call #1  ", "73 B", false),
        ("→ request      tools/call #2  ", "73 B", false),
        ("← response     tools/call #1  ", "51 B", true),
        ("← error        (to nothing) #9 (-5)  ", "63 B", false),
        ("← batch        2 entries  ", "37 B", false),
        ("←·notification note  ", "33 B", false),
    ] {
        let line = lines[rest(start).unwrap_or_else(|| panic!("expected {start:?}:\n{told}"))];
        let latency = line.split_once(size).unwrap_or_else(|| panic!("{line}")).1.trim();
        assert_eq!(latency.ends_with("ms"), is_timed, "{line}");
    }
    for (start, following) in [
        ("← fault        line 1, column 1: ", "this looks like a log line on stdout"),
        ("← fault        line 5, column 1: ", "this looks like a Content-Length header: the peer"),
        ("←·fault        line 4, column 36: ", ""),
        ("← fault        line 6, column 22: ", ""),
        ("← error        (to nothing) #9", "nothing that waits for an answer has this id"),
    ] {
        let at = rest(start).unwrap_or_else(|| panic!("expected {start:?}:\n{told}"));
        assert!(lines[at + 1..at + 3].iter().any(|line| line.contains(following)), "{following}:\n{told}");
    }

    let (_, summary) = told.split_once("────\n").unwrap();
    for part in [
        ", 2 messages from the client (148 B), 3 from the server (",
        "\nmethod           calls errors    p50    p90    p99    max  bytes\n",
        "\n→ tools/call         2      0 ",
        "\n← note               1      –      –      –      –      –    33B\n",
        "\n1 request was never answered\n  → tools/call #2, at 0.0",
        "\n1 answer to nothing that was asked\n  ← #9\n",
        "\n4 faulty lines or entries\n  ←     2 invalid-literal\n",
        "\nthe server ended with code 3\n",
    ] {
        assert!(format!("\n{summary}").contains(part), "{part}:\n{summary}");
    }
}

#[test]
fn as_much_is_told_as_is_wanted() {
    let input = format!("{REQUEST}\noops\n{}\n", REQUEST.replace(":1,", ":\"\\u001b\",").replace("secret", "\u{202e}"));
    let shown = session(&["--show"], &["cat"], input.as_bytes());
    assert!(text(&shown.stderr).contains("\n           {\"name\":\"secret\"}\n"), "{}", text(&shown.stderr));
    assert!(text(&shown.stderr).contains("{\"name\":\"\\xe2\\x80\\xae\"}\n"), "{}", text(&shown.stderr));
    let quiet = session(&["--quiet"], &["cat"], input.as_bytes());
    let quiet = text(&quiet.stderr);
    assert!(!quiet.contains(" request ") && quiet.contains("→ fault ") && quiet.contains("\nmethod "), "{quiet}");
    assert_eq!(text(&session(&["-qq"], &["cat"], input.as_bytes()).stderr), "");

    let log = file("told.log");
    let logged = session(&["--log", log.to_str().unwrap()], &["cat"], input.as_bytes());
    assert_eq!(text(&logged.stderr), "");
    let first = std::fs::read_to_string(&log).unwrap();
    assert!(first.contains(" → request      tools/call #1  "), "{first}");
    session(&["--log", log.to_str().unwrap()], &["cat"], b"");
    assert!(std::fs::read_to_string(&log).unwrap().starts_with(&first), "expected the log to be added to");
}

/// Takes away what says on which line something was.
fn forget_lines(value: &mut Value) {
    if let Some(members) = value.as_object_mut() {
        members.retain(|member, _| !["from", "line", "reply"].contains(&member.as_str()));
    }
    value.get_mut("entries").and_then(Value::as_array_mut).into_iter().flatten().for_each(forget_lines);
}

#[test]
fn recordings_have_every_byte_and_can_be_read_again() {
    let record = file("session.tap");
    let name = record.to_str().unwrap();
    let server = format!("printf 'noise\\n\\377\\r\\n'; exec '{}' 2>/dev/null", example("mcp_server"));
    let lines = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/session.ndjson")).unwrap();
    let output = session(&["--quiet", "--record", name], &["sh", "-c", &server], &lines);
    assert!(output.status.success());

    let mut passed = [Vec::new(), Vec::new()];
    let records = std::fs::read_to_string(&record).unwrap();
    for line in records.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let Some(from) = record["from"].as_str() else { continue };
        let passed = &mut passed[usize::from(from == "server")];
        match record["line"].as_str() {
            Some(line) => passed.extend(line.bytes()),
            None => {
                assert_eq!(record["base64"], "/w0=");
                passed.extend(b"\xff\r");
            }
        }
        if record["open"] != true {
            passed.push(b'\n');
        }
    }
    assert_eq!(text(&passed[0]), text(&lines));
    assert!(passed[1] == output.stdout);

    // What is told of the recording is what was told of the session, but for the fourth digit of the times.
    let stats = wireline(&["stats", name]).output().unwrap();
    let told = text(&stats.stdout);
    let summary = text(&output.stderr).split_once("────\n").unwrap().1;
    let words = |text: &str| -> Vec<String> {
        let words = text.split_whitespace().filter(|word| !word.contains(['m', 'µ', 'n']) || word.len() > 8);
        words.map(str::to_owned).collect()
    };
    let remarks = summary.split_once("\n\nmethod").unwrap().1.split_once("the server ended").unwrap().0;
    let told_remarks = told.split_once("\n\nmethod").unwrap().1.split_once("sizes of messages").unwrap().0;
    assert_eq!(words(told_remarks), words(remarks));
    assert!(told.contains("\nlatencies\n"), "{told}");
    assert_eq!(stats.status.code(), Some(0));

    // The same faults as in the bytes themselves, on the lines of the records.
    let faults = |args: &[&str], input: &[u8]| -> Vec<Value> {
        let mut check = wireline(&[&["check", "--format", "ndjson"], args].concat()).spawn().unwrap();
        check.stdin.take().unwrap().write_all(input).unwrap();
        let output = check.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let in_recording = faults(&[name], b"");
    for (from, passed) in [("client", &passed[0]), ("server", &passed[1])] {
        let mut expected = faults(&[], passed);
        let mut found: Vec<Value> = in_recording.iter().filter(|line| line["from"] == from).cloned().collect();
        for line in &found {
            let number = line["line"].as_u64().unwrap() as usize;
            let record: Value = serde_json::from_str(records.lines().nth(number - 1).unwrap()).unwrap();
            assert_eq!(record["from"], from);
        }
        found.iter_mut().chain(&mut expected).for_each(forget_lines);
        assert_eq!(found, expected);
    }
    let shown = wireline(&["check", "--show", name]).output().unwrap();
    let noise = ": server: expected a number, true, false or null [invalid-literal]\n    | noise\n    | ^\n";
    assert!(text(&shown.stdout).contains(noise), "{}", text(&shown.stdout));
    let piped = wireline(&["check", "--format", "ndjson"]).stdin(File::open(&record).unwrap()).output().unwrap();
    assert_eq!(text(&piped.stdout).lines().count(), in_recording.len());
}

#[test]
fn no_session_without_what_it_needs() {
    for (options, server, code, message) in [
        (&[][..], "/there/is/no/such/command", 127, "wireline: cannot run /there/is/no/such/command: "),
        (&[], "/", 126, "wireline: cannot run /: "),
        (&["--log", "/there/is/no/such/file"], "cat", 125, "wireline: cannot write to the log: "),
        (&["--record", "/there/is/no/such/file"], "cat", 125, "wireline: cannot write to the recording: "),
    ] {
        let output = session(options, &[server], b"x\n");
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
fn a_recording_that_cannot_be_written_does_not_end_the_session() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let input = format!("{REQUEST}\n").repeat(10);
    let output = session(&["-q", "--record", "/dev/full"], &["cat"], input.as_bytes());
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), input.as_str()));
    assert!(text(&output.stderr).contains("wireline: cannot write to the recording any more: "));
}

#[test]
fn a_log_in_a_file_has_every_line() {
    let log = file("every.log");
    let lines = "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n".repeat(50_000);
    session(&["--log", log.to_str().unwrap()], &["sh", "-c", "cat >/dev/null"], lines.as_bytes());
    let told = std::fs::read_to_string(&log).unwrap();
    assert_eq!(told.lines().filter(|line| line.contains(" → notification ")).count(), 50_000);
    assert!(told.ends_with("the server ended with code 0\n"));
}

#[test]
fn who_reads_slowly_gets_everything() {
    let lines = "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n".repeat(8_000);
    let mut tap = tap(&[], &["sh", "-c", "cat >/dev/null"]);
    tap.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let (mut stderr, mut told, mut piece) = (tap.stderr.take().unwrap(), Vec::new(), [0; 16 << 10]);
    // Half a megabyte in two seconds and more.
    while let len @ 1.. = stderr.read(&mut piece).unwrap() {
        told.extend_from_slice(&piece[..len]);
        thread::sleep(Duration::from_millis(40));
    }
    let told = text(&told);
    assert_eq!(told.lines().filter(|line| line.contains(" → notification ")).count(), 8_000);
    assert!(told.ends_with("the server ended with code 0\n"));
    ends(&mut tap);
}

#[test]
#[cfg(target_os = "linux")]
fn signals_mean_the_tap_when_the_server_has_ended() {
    // It has left more than one pipe holds, and less than two, and the client does not read.
    let mut left = tap(&["-qq"], &["sh", "-c", "head -c 400000 /dev/zero; echo gone >&2"]);
    BufReader::new(left.stderr.take().unwrap()).read_line(&mut String::new()).unwrap();
    let stdout = left.stdout.take();
    let status = (0..1000).find_map(|_| {
        thread::sleep(Duration::from_millis(20));
        // Not one that tells to end, after which the client is not waited for anyway.
        kill_process(Pid::from_child(&left), Signal::USR1).unwrap();
        left.try_wait().unwrap()
    });
    assert_eq!(status.and_then(|status| status.signal()), Some(Signal::USR1.as_raw()));
    drop(stdout);
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_ignored_stays_ignored() {
    let wireline = env!("CARGO_BIN_EXE_wireline");
    let script = format!("trap '' HUP; exec '{wireline}' tap -qq -- sh -c 'kill -HUP $$; echo alive'");
    let output = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
    assert_eq!((text(&output.stdout), output.status.code()), ("alive\n", Some(0)));
}

#[test]
fn a_recording_is_for_one_tap_at_a_time() {
    let record = file("shared.tap");
    let name = record.to_str().unwrap();
    let mut first = tap(&["-qq", "--record", name], &["sh", "-c", "echo ready; cat"]);
    BufReader::new(first.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let second = session(&["--record", name], &["cat"], b"");
    assert_eq!(second.status.code(), Some(125));
    assert_eq!(text(&second.stderr), "wireline: cannot write to the recording: another tap is writing to it\n");
    drop(first.stdin.take());
    ends(&mut first);

    // A line that was not written to its end does not spoil the next one.
    std::fs::write(&record, r#"{"time":1.5,"event":"start"}"#.to_owned() + "\n{\"time\":1.6,\"fr").unwrap();
    session(&["-qq", "--record", name], &["cat"], format!("{REQUEST}\n").as_bytes());
    let records = std::fs::read_to_string(&record).unwrap();
    assert!(records.contains("\"fr\n{\"time\":") && records.contains("\"event\":\"end\""), "{records}");

    let both = session(&["--log", name, "--record", name], &["cat"], b"");
    assert_eq!(text(&both.stderr), "wireline: cannot write to the recording: it is the log as well\n");
}

#[test]
fn odd_recordings_are_read_as_far_as_they_go() {
    let start = r#"{"time":0.0,"event":"start"}"#;
    let end = r#"{"time":1.8e19,"event":"end"}"#;
    let cut = r#"{"time":1.0,"from":"server","line":"{\"jsonrpc\":","more":true}"#;
    let record = file("odd.tap");
    std::fs::write(&record, [start, end, start, cut, end].join("\n")).unwrap();
    let check = wireline(&["check", record.to_str().unwrap()]).output().unwrap();
    assert_eq!(check.status.code(), Some(1));
    assert!(text(&check.stdout).contains(":4:12: server: expected the line to go on"), "{}", text(&check.stdout));
    let stats = wireline(&["stats", record.to_str().unwrap()]).output().unwrap();
    assert_eq!(stats.status.code(), Some(0));
    assert!(text(&stats.stdout).contains("\n  ←     1 unexpected-end\n"), "{}", text(&stats.stdout));
}

/// A pipe with a name.
fn named_pipe(name: &str) -> PathBuf {
    let path = file(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[test]
fn a_watcher_that_stands_still_costs_no_bytes() {
    let recording = named_pipe("slow-recording");
    let reader = thread::spawn({
        let recording = recording.clone();
        move || {
            let mut recording = File::open(recording).unwrap();
            // Longer than a server that has ended is waited for.
            thread::sleep(Duration::from_millis(2500));
            let mut recorded = Vec::new();
            recording.read_to_end(&mut recorded).unwrap();
            recorded
        }
    });
    let line = format!("{}\n", "x".repeat(999));
    let options = ["-qq", "--record", recording.to_str().unwrap()];
    let output = session(&options, &["sh", "-c", "head -c 499500 /dev/zero | tr '\\000' x | fold -w 999; echo"], b"");
    assert!(output.stdout == line.repeat(500).into_bytes());
    let recorded = reader.join().unwrap();
    let lines =
        BufReader::new(&recorded[..]).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let lens: Vec<usize> = lines.filter_map(|line| Some(line["line"].as_str()?.len())).collect();
    assert!(lens == [999; 500], "{} lines", lens.len());
}

#[test]
fn whoever_is_told_to_end_does_not_wait_for_a_reader() {
    let mut tap = tap(&["-qq"], &["yes"]);
    // Until the client's pipe is full, or nearly so.
    thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&tap), Signal::TERM).unwrap();
    assert_eq!(ends(&mut tap).signal(), Some(Signal::TERM.as_raw()));
}

#[test]
#[cfg(target_os = "linux")]
fn pipes_of_packets_pass() {
    use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::DIRECT).unwrap();
    fcntl_setpipe_size(&ours, 256 << 10).unwrap();
    // All of it is there when the tap begins, and is shared at once.
    let line = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}\n", "m".repeat(2960));
    let mut ours = File::from(ours);
    (0..60).for_each(|_| ours.write_all(line.as_bytes()).unwrap());
    drop(ours);
    let recording = file("packets");
    let mut tap = wireline(&["tap", "-qq", "--record", recording.to_str().unwrap(), "--", "cat"]);
    let output = tap.stdin(theirs).output().unwrap();
    assert!(output.stdout == line.repeat(60).into_bytes());
    let recorded = std::fs::read_to_string(recording).unwrap();
    assert_eq!(recorded.matches("\"from\":\"client\"").count(), 60);
    assert_eq!(recorded.matches(&"m".repeat(2960)).count(), 120);
}

#[test]
#[cfg(target_os = "linux")]
fn a_large_pipe_stays_large() {
    use rustix::pipe::{PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};

    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let large = fcntl_setpipe_size(&ours, 1 << 20).unwrap();
    let mut tap = wireline(&["tap", "-qq", "--", "cat"]).stdin(theirs).spawn().unwrap();
    let mut ours = File::from(ours);
    ours.write_all(b"x").unwrap();
    tap.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    assert_eq!(fcntl_getpipe_size(&ours).unwrap(), large);
    drop(ours);
    assert!(ends(&mut tap).success());
}

#[test]
fn a_recording_whose_reader_leaves_does_not_end_the_session() {
    let recording = named_pipe("left-recording");
    let reader = thread::spawn({
        let recording = recording.clone();
        move || File::open(recording).unwrap().read_exact(&mut [0; 100]).unwrap()
    });
    let lines = format!("{REQUEST}\n").repeat(20_000);
    let output = session(&["-q", "--record", recording.to_str().unwrap()], &["cat"], lines.as_bytes());
    reader.join().unwrap();
    assert!(output.stdout == lines.as_bytes());
    assert!(text(&output.stderr).contains("wireline: cannot write to the recording any more: "));
}

#[test]
#[cfg(target_os = "linux")]
fn a_log_that_cannot_be_written_is_not_kept() {
    let mut tap = tap(&["--log", "/dev/full"], &["cat"]);
    let (mut stdin, mut stdout) = (tap.stdin.take().unwrap(), tap.stdout.take().unwrap());
    let lines = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n".repeat(200_000);
    let mut passed = vec![0; lines.len()];
    thread::scope(|scope| {
        scope.spawn(|| stdin.write_all(lines.as_bytes()).unwrap());
        stdout.read_exact(&mut passed).unwrap();
    });
    assert!(passed == lines.as_bytes());
    let status = std::fs::read_to_string(format!("/proc/{}/status", tap.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    // Of 200,000 messages in each direction it would be 28 MB.
    assert!(peak.unwrap().parse::<u64>().unwrap() < 16 << 10, "{peak:?} KiB");
    drop(stdin);
    assert!(ends(&mut tap).success());
}
