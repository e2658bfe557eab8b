//! `wireline show`, and the filters that `wireline tap` has as well.
#![cfg(target_os = "linux")]

use crate::common;
use crate::tapping;
use crate::terminal;

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use common::{file, new_file, run, wireline};
use serde_json::json;
use terminal::{Screen, Terminal};

const LINES: [(f64, &str, &str); 9] = [
    (1.0, "client", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
    (1.002, "server", r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#),
    (
        1.01,
        "client",
        r#"{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"echo","arguments":{"a":[1,"\u001b[2J"]}}}"#,
    ),
    (1.02, "client", r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}"#),
    (1.03, "server", r#"{"jsonrpc":"2.0","id":"1","result":{"content":[],"isError":true}}"#),
    (1.04, "server", r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}"#),
    (1.05, "server", "starting"),
    (1.3, "server", r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#),
    (1.4, "server", r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32000,"message":"no"}}"#),
];

fn record(time: f64, from: &str, line: &str) -> String {
    format!("{{\"time\":{time:?},{}\n", &json!({ "from": from, "line": line }).to_string()[1..])
}

fn recording(name: &str) -> String {
    let mut text = "{\"wireline-recording\":1,\"time\":1.0}\n".to_owned();
    text.extend(LINES.iter().map(|(time, from, line)| record(*time, from, line)));
    text.push_str("{\"time\":1.5,\"event\":\"end\",\"code\":0}\n");
    file(name, text).into_os_string().into_string().unwrap()
}

/// The kind, the method, the tool and the id of each line with a time.
fn shown(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.get(..8).is_some_and(|time| time.trim().parse::<f64>().is_ok()));
    let words = |line: &str| line.split_whitespace().skip(2).take(4).collect::<Vec<_>>().join(" ");
    lines.map(words).collect()
}

const REQUESTS: [&str; 3] =
    ["request tools/list #1 46", "request tools/call echo #\"1\"", "request tools/call slow #3"];

#[test]
fn filters_select_messages() {
    let name = recording("show-filters.tap");
    let all = run(&["show", "--rules", "mcp", &name]);
    assert_eq!((all.code, all.stderr.as_str()), (Some(0), ""), "{all:?}");
    // All messages, and that there was no `initialize`.
    assert_eq!(shown(&all.stdout).len(), 11, "{}", all.stdout);
    assert!(all.stdout.ends_with("   server exited with code 0\n"), "{}", all.stdout);
    assert!(!all.stdout.contains("2J") && !all.stdout.contains("starting"), "{}", all.stdout);

    let failure = "failure tools/call echo #\"1\"";
    for (options, expected) in [
        (&["--method", "tools/list"][..], &[REQUESTS[0], "response tools/list #1 46"][..]),
        (&["--method", "*/call", "--direction", "client"], &REQUESTS[1..]),
        (&["--tool", "echo"], &[REQUESTS[1], failure]),
        (&["--tool", "e*", "--tool", "s??w", "--direction", "server"], &[failure, "response tools/call slow #3"]),
        (&["--id", "3"], &[REQUESTS[2], "response tools/call slow #3"]),
        (&["--id", "\"1\""], &[REQUESTS[1], failure]),
        (&["--slower-than", "100ms"], &["response tools/call slow #3"]),
        (&["--method", "nothing"], &[]),
        (&["--direction", "client"], &[&REQUESTS[..], &["error tools/list #1 was"]].concat()),
    ] {
        let run = run(&[&["show", "--rules", "mcp"], options, &[&name]].concat());
        assert_eq!(
            (run.code, shown(&run.stdout)),
            (Some(0), expected.iter().map(ToString::to_string).collect()),
            "{options:?}"
        );
    }
    let errors = run(&["show", "--rules", "mcp", "--errors", &name]).stdout;
    let kinds: Vec<String> = shown(&errors).iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["failure", "fault", "error", "error"], "{errors}");
}

#[test]
fn tap_has_the_same_filters() {
    let recording = new_file("show-tap.tap");
    let name = recording.to_str().unwrap();
    let input = concat!(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"nothing\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}\n",
    );
    for (options, expected) in [
        (&["--errors"][..], 2),
        (&["--method", "p?ng"], 2),
        (&["--id", "2"], 2),
        (&["--tool", "ech*"], 2),
        (&["--slower-than", "0"], 3),
        (&["--direction", "server"], 3),
        (&["--direction", "server", "--tool", "echo", "--errors"], 1),
        (&["--slower-than", "1m"], 0),
    ] {
        let _ = std::fs::remove_file(&recording);
        let tapped =
            tapping::session(&[&["--record", name], options].concat(), &[&tapping::server()], input.as_bytes());
        let log = String::from_utf8(tapped.stderr).unwrap();
        let log = log.split("───").next().unwrap();
        let again = run(&[&["show"], options, &[name]].concat());
        assert_eq!(shown(log), shown(&again.stdout), "{options:?}\n{log}\n{}", again.stdout);
        assert_eq!(shown(log).len(), expected, "{options:?}\n{log}");
    }
}

#[test]
fn payloads_are_indented_and_cut() {
    let name = recording("show-pretty.tap");
    let long = format!(
        r#"{{"jsonrpc":"2.0","method":"m","params":{{"text":"{}","list":{:?}}}}}"#,
        "x".repeat(300),
        vec![1; 50]
    );
    std::fs::OpenOptions::new()
        .append(true)
        .open(&name)
        .unwrap()
        .write_all(("{\"wireline-recording\":1,\"time\":1.5}\n".to_owned() + &record(1.5, "client", &long)).as_bytes())
        .unwrap();

    for columns in [80, 200] {
        let terminal = Terminal::open_with(columns);
        let mut command = wireline(&["show", "--pretty", &name]);
        command.env("NO_COLOR", "1").stdout(terminal.stream());
        let (status, written) = terminal.spawn(command).finish();
        assert!(status.success());
        let lines: Vec<&str> = written.lines().map(|line| line.trim_end_matches('\r')).collect();
        assert!(lines.iter().all(|line| line.chars().count() < columns), "{written}");
        for line in [r#"             "name": "echo","#, r#"               "a": ["#, r#"                 "\u001b[2J""#] {
            assert!(lines.contains(&line), "{line}\n{written}");
        }
        let text = lines.iter().find(|line| line.contains("\"text\"")).unwrap();
        assert!(text.ends_with('…') && text.chars().count() > columns - 5, "{text}");
        assert!(written.contains("… (--full shows all)"), "{written}");
    }
    let full = run(&["show", "--full", "--method", "m", &name]).stdout;
    assert!(full.contains(&"x".repeat(300)) && full.matches("\n               1").count() >= 49, "{full}");
    let start = run(&["show", "--show", &name]).stdout;
    assert!(start.contains("\n           {\"name\":\"slow\"}\n"), "{start}");
}

#[test]
fn transcript_fits_its_terminal() {
    let name = recording("show-terminal.tap");
    for columns in [80, 200] {
        let terminal = Terminal::open_with(columns);
        let mut command = wireline(&["show", &name]);
        command.env("TERM", "xterm").env("NO_COLOR", "").stdout(terminal.stream());
        let (_, written) = terminal.spawn(command).finish();
        assert!(written.contains("\x1b[31mfailure"), "{written}");
        let screen = Screen::of(&written.replace("\x1b[0m", "").replace("\x1b[31m", ""));
        let size = written.lines().find(|line| line.contains("tools/list")).unwrap();
        let plain: String = Screen::of(size).text();
        assert!(plain.contains("46 B"), "{plain}");
        if columns == 80 {
            assert_eq!(screen.wraps, 0);
        }
    }
}

#[test]
fn recording_is_followed_to_the_end_of_its_session() {
    let path = file("show-follow.tap", "");
    let name = path.to_str().unwrap();
    let mut child = wireline(&["show", "--follow", name]).stdin(Stdio::null()).spawn().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut writer = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    writer.write_all(b"{\"wireline-recording\":1,\"time\":1.0}\n").unwrap();
    let mut line = String::new();
    for (time, from, text) in &LINES[..2] {
        let record = record(*time, from, text);
        let (start, end) = record.split_at(30);
        writer.write_all(start.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        writer.write_all(end.as_bytes()).unwrap();
        line.clear();
        // Appears although the session goes on.
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        assert!(line.contains("tools/list"), "{line}");
    }
    writer.write_all(b"{\"time\":1.5,\"event\":\"end\",\"code\":0}\n").unwrap();
    assert!(tapping::wait_for_exit(&mut child).success());
}

#[test]
fn other_files_get_a_clear_error() {
    let torn = recording("show-torn.tap");
    let text = std::fs::read_to_string(&torn).unwrap();
    std::fs::write(&torn, &text[..text.len() - 20]).unwrap();
    let run_torn = run(&["show", &torn]);
    assert_eq!(run_torn.code, Some(2));
    assert_eq!(shown(&run_torn.stdout).len(), 9, "{run_torn:?}");
    assert!(run_torn.stderr.ends_with("line 11 is not a record of a session\n"), "{run_torn:?}");
    let foreign = file("show-foreign.ndjson", format!("{}\n", LINES[0].2));
    for options in [&[][..], &["--follow"]] {
        let run = run(&[&["show"], options, &[foreign.to_str().unwrap()]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
        assert!(run.stderr.contains("is not a recording"), "{run:?}");
    }
    assert_eq!(run(&["show", "/no/such/file"]).code, Some(2));
}

#[test]
fn long_recording_is_shown_in_bounded_memory() {
    let path = new_file("show-long.tap");
    let mut writer = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writer.write_all(b"{\"wireline-recording\":1,\"time\":1.0}\n").unwrap();
    let line =
        record(1.5, "server", &format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"x":"{}"}}}}"#, "x".repeat(900)));
    for _ in 0..60_000 {
        writer.write_all(line.as_bytes()).unwrap();
    }
    drop(writer);
    let mut child = wireline(&["show", path.to_str().unwrap()]).stdin(Stdio::null()).spawn().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut count = 0;
    for line in std::io::BufRead::lines(&mut output) {
        line.unwrap();
        count += 1;
        if count == 50_000 {
            let peak = common::peak_memory(&child);
            assert!(peak < 32 << 20, "{peak} bytes for 50 MB");
        }
    }
    assert_eq!(count, 60_000);
    assert!(child.wait().unwrap().success());
    std::fs::remove_file(path).unwrap();
}
