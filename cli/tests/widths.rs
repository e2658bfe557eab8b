//! What people are told of peers that misbehave, on terminals of 40, 80 and 200 columns and through a pipe: always the
//! same words, never broken by the terminal, and in longer lines where there is room.
#![cfg(target_os = "linux")]

use crate::common;
use crate::terminal;

use std::io::Write;
use std::process::Stdio;

use common::{PING, file, new_file, run_with_input, wireline};
use serde_json::json;
use terminal::{Screen, Terminal};

/// What the tool prints for people, one word after the other, and how long its lines are.
struct Printed {
    words: String,
    longest: usize,
}

/// Runs the tool, with standard output and standard error on a terminal of this width or, without one, on pipes.
///
/// `input` is what a tap's client sends, and what other commands read.
fn printed(args: &[&str], input: &str, columns: Option<usize>) -> Printed {
    let is_tap = args[0] == "tap";
    let mut command = wireline(args);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let written = match columns {
        None => {
            let mut child = command.spawn().unwrap();
            let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
            let output = child.wait_with_output().unwrap();
            let shown = if is_tap { output.stderr } else { [output.stdout, output.stderr].concat() };
            String::from_utf8(shown).unwrap()
        }
        Some(columns) => {
            let terminal = Terminal::open_with(columns);
            command.stdout(if is_tap { Stdio::null() } else { terminal.stream() }).stderr(terminal.stream());
            let mut session = terminal.spawn(command);
            let _ = session.child.stdin.take().unwrap().write_all(input.as_bytes());
            let (_, written) = session.finish();
            let screen = Screen::of_width(&written, columns);
            assert_eq!(screen.wraps, 0, "{args:?} on {columns} columns:\n{}", screen.text());
            screen.text()
        }
    };
    let longest = written.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    Printed { words: written.split_whitespace().collect::<Vec<_>>().join(" "), longest }
}

/// Checks that all of `expected` is told in this order, whatever the width.
fn tells(args: &[&str], input: &str, expected: &[&str]) {
    for columns in [None, Some(40), Some(80), Some(200)] {
        let Printed { words, .. } = printed(args, input, columns);
        let mut rest = &words[..];
        for part in expected {
            let Some(at) = rest.find(part) else { panic!("expected {part:?} of {args:?} on {columns:?}:\n{words}") };
            rest = &rest[at + part.len()..];
        }
    }
}

/// A tap in front of a shell script.
fn tap<'a>(options: &[&'a str], server: &'a str) -> Vec<&'a str> {
    [&["tap"], options, &["--", "sh", "-c", server]].concat()
}

const REQUEST: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}}\n";

const PRINTED: &str = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": [\n    1\n  ]\n}\n";

/// A command of a shell that prints a text.
fn printing(text: &str) -> String {
    format!("printf '%s' '{text}'")
}

#[test]
fn missing_line_ends() {
    let hint = "a peer waits for the line end, possibly for ever; write \\n after each message, and flush";
    let verdict = "1 message, no faults; the last one has no line end";
    tells(&["check"], PING, &["<stdin>: the last line has no line end [unterminated] hint: ", hint, verdict]);
    let server = format!("read line; {}; sleep 1.5", printing(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    let waiting = "… waiting 36 bytes from the server without a line end for 1 s: the client is still waiting";
    let ended = "← fault the stream ended after 36 bytes without a line end";
    let summary = "the last line of the server (36 bytes) has no line end";
    tells(&tap(&[], &server), REQUEST, &[waiting, ended, hint, summary, hint]);
}

#[test]
fn crlf() {
    let hint = "strict peers refuse such lines; end them in \\n alone, and on Windows write to stdout in binary mode";
    tells(&["check"], &format!("{PING}\r\n{PING}\r\n"), &["2 messages, no faults", "2 lines end in CRLF", hint]);
    let server = "read line; printf '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\\r\\n'";
    let summary = "1 line from the server ends in CRLF";
    tells(&tap(&[], server), REQUEST, &["← warning a line ends in CRLF:", hint, summary, hint]);
}

#[test]
fn json_log_first() {
    let log = "{\"time\":1731,\"event\":\"server started\"}\nnonsense\n";
    let faults = ["<stdin>:1:1: ", "<stdin>:2:1: not JSON: expected an object", "2 lines are faulty"];
    tells(&["check"], log, &faults);
    tells(&["stats", "-"], log, &["2 faulty lines or batch entries"]);
}

#[test]
fn printed_messages_and_equal_faults() {
    let found = "one message printed over several lines [pretty-printed]";
    let hint = "this looks like JSON printed over several lines";
    // A name that leaves no room for the finding beside it, on most terminals.
    let path = file(&format!("{}.ndjson", "printed-".repeat(6)), format!("{PING}\n{PRINTED}{}", "oops\n".repeat(30)));
    let name = path.to_str().unwrap();
    for columns in [None, Some(40), Some(80), Some(200)] {
        // Paths are longer than narrow terminals, and must stay whole.
        let (directory, name) = (path.parent().unwrap(), path.file_name().unwrap().to_str().unwrap());
        let mut command = wireline(&["check", name]);
        command.current_dir(directory).env("NO_COLOR", "1").stdin(Stdio::null());
        let written = match columns {
            None => String::from_utf8(command.output().unwrap().stdout).unwrap(),
            Some(columns) => {
                let terminal = Terminal::open_with(columns);
                command.stdout(terminal.stream());
                terminal.spawn(command).finish().1
            }
        };
        let words = written.split_whitespace().collect::<Vec<_>>().join(" ");
        let start = format!("{name}:2: lines 2–8: {found} hint: {hint}");
        assert!(words.starts_with(&start), "{columns:?}: {words}");
        // Nothing of the first line alone.
        assert_eq!(words.matches("unexpected-end").count(), 1, "{columns:?}: {words}");
        let more = format!("{name}: 10 more faults like that [invalid-literal] 37 lines are faulty, 1 is fine");
        assert!(words.contains(&more), "{columns:?}: {words}");
    }
    let server = format!("read line; cat '{name}'; cat >/dev/null");
    let counted = "20 faults like this so far: from now on they are only counted (--all shows all)";
    let summary = ["10 more faults like that [invalid-literal]", "37 faulty lines or batch entries"];
    let expected = [&format!("← fault lines 2–8: {found}"), hint, counted, summary[0]];
    tells(&tap(&[], &server), REQUEST, &[&expected[..], &summary[1..]].concat());
    let recording = new_file("widths-printed.tap");
    let recording = recording.to_str().unwrap();
    printed(&tap(&["-qq", "--record", recording], &server), REQUEST, None);
    tells(&["show", recording], "", &expected);
}

#[test]
fn hanging_calls() {
    let server = "read line; sleep 1; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'";
    let expected =
        ["→ request tools/call echo #1", "… waiting tools/call echo #1 ", " ms no answer from the server for ", " ms"];
    let answered = ["← response tools/call echo #1 36 B ", " s", "no faults, every request was answered"];
    tells(&tap(&["--slow-after", "200ms"], server), REQUEST, &[&expected[..], &answered].concat());
    let unanswered = ["1 request was never answered → tools/call echo #1", "sent at 0.", " before the end"];
    tells(&tap(&[], "read line"), REQUEST, &unanswered);
}

#[test]
fn calls_of_mcp() {
    let client = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"probe","version":"0.9"}}}"#,
        r#"{"jsonrpc":"2.0","id":"a-long-string-as-an-id","method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"greeting"}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"file:///a"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a-long-string-as-an-id"}}"#,
    ];
    let server = [
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"demo","version":"1.0"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2,"total":5}}"#,
        r#"{"jsonrpc":"2.0","id":"a-long-string-as-an-id","error":{"code":-32800,"message":"cancelled"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"messages":[]}}"#,
        r#"{"jsonrpc":"2.0","id":4,"result":{"contents":[]}}"#,
    ];
    let server = format!("for i in 1 2 3 4 5; do read line; done; {}", printing(&(server.join("\n") + "\n")));
    let expected = [
        "→ request initialize #1 ",
        "probe 0.9 offers MCP 2025-11-25: roots",
        "→ request tools/",
        "#\"a-long-string-",
        "→ request prompts/get greeting #3",
        "→ request resources/read file:///a #4",
        "→ cancelled tools/call ",
        "demo 1.0 accepts MCP 2025-11-25: prompts, tools",
        "← progress tools/",
        "(2 of 5)",
        "← error tools/",
        "(-32800) (cancelled) ",
        "← response prompts/get greeting #3 ",
        "← response resources/read file:///a #4 ",
        "5 messages from the client (",
        "MCP 2025-11-25: probe 0.9 → demo 1.0",
        "→ tools/call 1 1",
        "echo 1 1",
        "1 request was cancelled → tools/call echo #\"a-long-string-",
    ];
    tells(&tap(&["--rules", "mcp"], &server), &(client.join("\n") + "\n"), &expected);
}

#[test]
fn answer_with_the_other_type_of_id() {
    let server = "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}'";
    let expected = [
        "← response (unmatched) #\"1\"",
        "same id as a pending request, but of the other type",
        "1 response matches no request ← #\"1\" 1 of them has the id of a pending request, but of the other type",
    ];
    tells(&tap(&[], server), REQUEST, &expected);
}

#[test]
fn nothing_acts_upon_the_terminal() {
    let evil = "\u{9b}31m\u{202e}\u{7f}\u{2028}\u{600}";
    let escaped = "\\xc2\\x9b31m\\xe2\\x80\\xae\\x7f\\xe2\\x80\\xa8\\xd8\\x80";
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m{evil}\",\"params\":[\"{evil}\"]}}\n");
    for columns in [None, Some(80), Some(200)] {
        let shown = printed(&tap(&["--show"], "cat >/dev/null"), &line, columns);
        assert!(shown.words.contains(&format!("→ request m{}", &escaped[..20])), "{}", shown.words);
        assert!(shown.words.contains(&format!("[\"{escaped}\"]")), "{}", shown.words);
        let faulty = line.replace("\"2.0\"", &format!("\"{evil}\""));
        for args in [&["check", "--show"][..], &["check", "--format", "ndjson"]] {
            let Printed { words, .. } = printed(args, &faulty, columns.filter(|_| args[1] == "--show"));
            let is_bad = |c: char| c.is_control() || evil.replace("31m", "").contains(c);
            assert!(!words.contains(is_bad), "{columns:?}: {words:?}");
        }
    }
}

#[test]
fn recordings_and_replays() {
    let recording = new_file("widths.tap");
    let name = recording.to_str().unwrap();
    let answer = |text: &str| {
        let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
        format!("read line; echo '{}'", json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
    };
    printed(&tap(&["-qq", "--record", name], &answer("one")), REQUEST, None);
    let failure = "← failure tools/call echo #1 ";
    tells(&["show", "--errors", "--pretty", name], "", &[failure, "\"text\": \"one\"", "\"isError\": true"]);
    let table = ["1 message from the client (72 B), 1 from the server (", "→ tools/call 1 1", "echo 1 1"];
    tells(&["stats", name], "", &[&table[..], &["message sizes", "latencies"]].concat());
    let changed = ["→ tools/call echo #1", "changed /result/content/0/text", "- \"one\" + \"two\""];
    let summary = "1 message sent, 1 answer compared: 1 differs";
    let server = answer("two");
    let args = ["replay", "--show", name, "--", "sh", "-c", &server];
    tells(&args, "", &[&changed[..], &[summary]].concat());
    let args = ["replay", "--timeout", "100ms", name, "--", "sh", "-c", "echo starting; cat >/dev/null"];
    let expected = [
        "→ tools/call echo #1: never answered in time",
        "1 faulty line from the server, 0 in the recording line 1, column 1: not JSON",
        "this looks like a log line on stdout: logs belong on stderr",
        "1 answer or request never came",
    ];
    tells(&args, "", &expected);
}

#[test]
fn failures_to_start() {
    let not_found = "No such file or directory (os error 2)";
    let hint = "the whole command is in quotes, so it is taken for the name of one program: leave them out";
    let cannot_run = format!("wireline: cannot run python3 server.py: {not_found}; {hint}");
    tells(&["tap", "--", "python3 server.py"], "", &[&cannot_run]);
    let recording =
        format!("wireline: cannot record to /no/such/directory/x.tap: {not_found}; the session goes on unrecorded");
    tells(&["tap", "--record", "/no/such/directory/x.tap", "--", "cat"], "", &[&recording]);
    tells(&["stats", "no-such-file"], "", &[&format!("wireline: cannot read no-such-file: {not_found}")]);
    let full = ["wireline: cannot write to the recording /dev/full: No space left on device (os error 28);"];
    tells(&tap(&["-q", "--record", "/dev/full"], "cat"), REQUEST, &[full[0], "the session goes on unrecorded"]);
}

/// Files that are not text, and directories.
#[test]
fn other_files() {
    let directory = new_file("widths-files");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(directory.join("good")).unwrap();
    for number in 0..40 {
        std::fs::write(directory.join(format!("good/{number}.ndjson")), format!("{PING}\n")).unwrap();
    }
    std::fs::write(directory.join("a.gz"), b"\x1f\x8b\x08\0").unwrap();
    std::fs::write(directory.join("b"), b"\x7fELF\0\0\n").unwrap();
    let in_directory = |args: &[&str]| {
        for columns in [40, 80, 200] {
            let terminal = Terminal::open_with(columns);
            let mut command = wireline(args);
            command.current_dir(&directory).env("NO_COLOR", "1").stdin(Stdio::null());
            command.stdout(terminal.stream()).stderr(terminal.stream());
            let (_, written) = terminal.spawn(command).finish();
            assert_eq!(Screen::of_width(&written, columns).wraps, 0, "{written}");
        }
        let output = wireline(args).current_dir(&directory).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    for command in ["check", "stats"] {
        let gz = in_directory(&[command, "a.gz"]);
        assert_eq!(gz, "wireline: cannot read a.gz: this is a gzip file: decompress it first, as with `gzip -dc`\n");
        let binary = in_directory(&[command, "b"]);
        assert!(binary.contains("b: this looks like a binary file, not like text\n"), "{binary}");
    }
    for command in ["show", "report"] {
        let gz = in_directory(&[command, "a.gz"]);
        assert!(gz.contains("this is a gzip file"), "{gz}");
        let several = in_directory(&[command, "good"]);
        let expected = "wireline: cannot read good: this is a directory: name one of the files in it\n";
        assert_eq!(several, expected);
    }
    let good = in_directory(&["check", "good"]);
    assert!(good.starts_with("40 messages, no faults\n\n    40 files without faults\n"), "{good}");
    let piped = run_with_input(&["check"], b"\x7fELF\0\0\n");
    let expected = "<stdin>: this looks like a binary file, not like text\n";
    assert!(piped.stdout.starts_with(expected), "{}", piped.stdout);
}

/// A recording of calls of twelve tools whose names differ in their last characters only, with ids of some length.
fn long_names(name: &str) -> String {
    let mut text = "{\"wireline-recording\":1,\"time\":1.0}\n".to_owned();
    for number in 10..22 {
        let tool = format!("{}_{number}", "collect_everything_from_the_archive_of_the_weather_service".repeat(2));
        let id = format!("0190b5a4-7c2e-7000-8000-0000000000{number}");
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool } });
        for (from, line) in [("client", request), ("server", json!({ "jsonrpc": "2.0", "id": id, "result": {} }))] {
            text.push_str(&format!("{{\"time\":1.5,\"from\":\"{from}\",\"line\":{}}}\n", json!(line.to_string())));
        }
    }
    file(name, text).into_os_string().into_string().unwrap()
}

/// Programs that read the output need all of it.
#[test]
fn nothing_is_cut_without_a_terminal() {
    let name = long_names("widths-uncut.tap");
    for args in [&["stats", &name][..], &["show", &name], &["show", "--show", &name], &["show", "--pretty", &name]] {
        let Printed { words, .. } = printed(args, "", None);
        assert!(!words.contains('…'), "{args:?}\n{words}");
        for number in 10..22 {
            assert!(words.contains(&format!("weather_service_{number} ")), "{args:?}: {number}\n{words}");
            let id = format!("#\"0190b5a4-7c2e-7000-8000-0000000000{number}\" ");
            assert_eq!(words.contains(&id), args[0] == "show", "{args:?}: {number}\n{words}");
        }
    }
    // As wide as the variable says, with or without a terminal.
    for (columns, longest) in [("60", 50..60), ("160", 150..160)] {
        for command in ["stats", "show"] {
            let output = wireline(&[command, &name]).env("COLUMNS", columns).output().unwrap();
            let shown = String::from_utf8(output.stdout).unwrap();
            let found = shown.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest.contains(&found) && shown.contains('…'), "{command} {columns}: {found}\n{shown}");
        }
    }
    let terminal = Terminal::open_with(80);
    let mut command = wireline(&["show", &name]);
    command.env("COLUMNS", "120").env("NO_COLOR", "1").stdout(terminal.stream());
    let (_, written) = terminal.spawn(command).finish();
    let longest = written.lines().map(|line| line.trim_end().chars().count()).max().unwrap();
    assert!((100..120).contains(&longest), "{written}");
}

/// On a wide terminal, what is cut on a narrow one gets the room.
#[test]
fn wide_terminals_show_whole_names_and_ids() {
    let name = long_names("widths-whole.tap");
    let [narrow, wide] = [80, 250].map(|columns| printed(&["show", &name], "", Some(columns)).words);
    assert!(narrow.contains('…') && !wide.contains('…'), "{narrow}\n{wide}");
    let [narrow, wide] = [80, 250].map(|columns| printed(&["stats", &name], "", Some(columns)).words);
    assert!(narrow.contains('…') && !wide.contains('…'), "{narrow}\n{wide}");
}

/// There is more in a line where there is more room.
#[test]
fn wide_terminals_are_used() {
    let uri = format!("file:///{}", "directory/".repeat(8));
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": uri } });
    let args = tap(&["--show"], "echo 'Content-Length: 12'; cat >/dev/null");
    let [narrow, wide] = [80, 200].map(|columns| printed(&args, &format!("{request}\n"), Some(columns)));
    assert!((70..80).contains(&narrow.longest) && !narrow.words.contains(&uri), "{}", narrow.words);
    assert!((180..200).contains(&wide.longest), "{}", wide.words);
    // In the line of the request, the payload, the table and the list of unanswered requests.
    assert_eq!(wide.words.matches(&uri).count(), 4, "{}", wide.words);

    let path = new_file("widths-wide.tap");
    let name = path.to_str().unwrap();
    printed(&tap(&["-qq", "--record", name], "cat >/dev/null"), &format!("{request}\n"), None);
    let [narrow, wide] = [80, 200].map(|columns| printed(&["stats", name], "", Some(columns)));
    let bars = |printed: &Printed| printed.words.matches('█').count();
    assert_eq!((bars(&narrow), bars(&wide)), (40, 100), "{}", wide.words);
    assert!(wide.words.contains(&uri), "{}", wide.words);
    let faulty = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\",}}\n", "m".repeat(300));
    let [narrow, wide] = [80, 200].map(|columns| printed(&["check", "--show"], &faulty, Some(columns)));
    assert!((70..80).contains(&narrow.longest) && (180..200).contains(&wide.longest), "{}", wide.longest);
}

/// Colours are for terminals, unless the user or the environment says otherwise.
#[test]
fn colours() {
    let recording = new_file("widths-colours.tap");
    let name = recording.to_str().unwrap();
    printed(&tap(&["-qq", "--record", name], "cat"), REQUEST, None);
    let tap = tap(&[], "echo oops");
    for args in [&["check"][..], &["stats", name], &["show", name], &["replay", name, "--", "false"], &tap] {
        for (option, no_color, on_terminal, on_pipe) in [
            (None, "", true, false),
            (None, "1", false, false),
            (Some("auto"), "", true, false),
            (Some("always"), "1", true, true),
            (Some("never"), "", false, false),
        ] {
            let option = option.map(|choice| format!("--color={choice}"));
            let args: Vec<&str> =
                args[..1].iter().copied().chain(option.as_deref()).chain(args[1..].iter().copied()).collect();
            let mut command = wireline(&args);
            command.env("TERM", "xterm").env("NO_COLOR", no_color);
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(b"oops\n").ok();
            let output = child.wait_with_output().unwrap();
            let is_coloured = |bytes: &[u8]| bytes.contains(&b'\x1b');
            assert_eq!(is_coloured(&output.stdout) || is_coloured(&output.stderr), on_pipe, "{args:?} {no_color}");

            let terminal = Terminal::open();
            command.stdout(terminal.stream()).stderr(terminal.stream());
            let mut session = terminal.spawn(command);
            session.child.stdin.take().unwrap().write_all(b"oops\n").ok();
            let (_, written) = session.finish();
            assert_eq!(is_coloured(written.as_bytes()), on_terminal, "{args:?} {no_color}:\n{written}");
        }
    }
}
