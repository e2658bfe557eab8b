//! `wireline check`.

use crate::common;

use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc;
use std::time::Duration;

use common::{PING, Run, SESSION, file, new_file, run, run_with_input, wireline};
use serde_json::json;
use wireline::Hint;

/// Runs `wireline check` with `input` at its standard input.
fn check(args: &[&str], input: impl AsRef<[u8]> + Send) -> Run {
    run_with_input(&[&["check"], args].concat(), input)
}

#[test]
fn exit_codes() {
    for (args, input, code) in [
        (&["--allow-empty"][..], "", 0),
        (&["--allow-empty"], "\n  \n\t\n", 0),
        (&[], PING, 0),
        (&[], "oops\n", 1),
        (&[], "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\nx\n{\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n", 1),
        (&[], r#"[{"jsonrpc":"2.0","method":"a"}]"#, 0),
        (&[], r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0"}]"#, 1),
        (&["--rules", "json-rpc"], r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, 0),
        (&["--rules", "mcp"], r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, 1),
        (&["--rules", "acp"], r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, 0),
        (&["--rules", "mcp"], r#"[{"jsonrpc":"2.0","method":"a"}]"#, 1),
        (&["--rules", "acp"], r#"[{"jsonrpc":"2.0","method":"a"}]"#, 1),
        (&["--max-len", "40"], PING, 0),
        (&["--max-len", "39"], PING, 1),
        (&["--max-len", "1K"], PING, 0),
        (&["--max-depth", "2"], r#"{"jsonrpc":"2.0","method":"a","params":{}}"#, 0),
        (&["--max-depth", "1"], r#"{"jsonrpc":"2.0","method":"a","params":{}}"#, 1),
        (&["--rules", "acp-v2"], r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, 1),
        (&["--rules", "mcp-2026-07-28"], r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{}}"#, 0),
        (&["--rules", "mcp-2026-07-28"], r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#, 1),
        (&["--rules", "json-rpc"], r#"{"id":1,"method":"a"}"#, 1),
        (&["--rules", "codex"], r#"{"id":1,"method":"a"}"#, 0),
        (&["--rules", "codex"], r#"{"id":null,"method":"a"}"#, 1),
        (&["--rules", "electrum"], r#"[{"jsonrpc":"1.0","id":null,"method":"a","params":[]}]"#, 0),
        (&["--rules", "electrum"], r#"{"id":1,"result":null,"error":[20,"a",null]}"#, 1),
        (&["--rules", "stratum"], r#"{"id":1,"result":null,"error":[20,"a",null]}"#, 0),
        (&["--rules", "stratum"], r#"{"id":1,"result":1,"error":[20,"a",null]}"#, 1),
        (&["--rules", "xml"], "", 2),
        (&["--format", "xml"], "", 2),
        (&["--max-len", "0"], "", 2),
        (&["--max-len", "1T"], "", 2),
        (&["--max-depth", "0"], "", 2),
        (&["--max-depth", "1025"], "", 2),
        (&["--jobs", "1"], PING, 0),
        (&["-j", "3"], "oops", 1),
        (&["--jobs", "0"], "", 2),
        (&["--jobs", "-1"], "", 2),
        (&["--jobs", "many"], "", 2),
        (&["--unknown"], "", 2),
    ] {
        for extra in [&[][..], &["--format", "ndjson"], &["--show"], &["-q"], &["--quiet", "--format", "ndjson"]] {
            let usage = code == 2;
            let args = [args, if usage { &[] } else { extra }].concat();
            let run = check(&args, format!("{input}\n"));
            assert_eq!(run.code, Some(code), "{args:?} {input} {run:?}");
            assert_eq!(run.stderr.is_empty(), !usage, "{args:?} {input} {run:?}");
            if extra.first().is_some_and(|first| first.contains('q')) {
                assert_eq!(run.stdout, "", "{args:?}");
            }
        }
    }
}

#[test]
fn help_and_version() {
    let version = run(&["--version"]);
    assert_eq!((version.code, version.stdout), (Some(0), format!("wireline {}\n", env!("CARGO_PKG_VERSION"))));
    let help = run(&["check", "--help"]);
    assert_eq!(help.code, Some(0));
    for word in ["Exit codes:", "Examples:", "--rules", "K, M or G", "standard input"] {
        assert!(help.stdout.contains(word), "{word}");
    }
    assert_eq!(run(&[]).code, Some(2));
}

#[test]
fn ndjson_has_every_kind() {
    let batch = concat!(
        r#"[{"jsonrpc":"2.0","id":"b\u0031","method":"m"},{"jsonrpc":"2.0","method":"n"},7,"#,
        r#"{"jsonrpc":"2.0","id":8,"result":null}]"#
    );
    let lines = [
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1.0e2,\"method\":\"a\\u00e9\\n\"}\r",
        "",
        r#"{"jsonrpc":"2.0","method":"note/日本","params":[1]}"#,
        r#" {"jsonrpc":"2.0","id":"\u0061\"","result":{}} "#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}"#,
        batch,
        r#"{"jsonrpc":"2.0","method":"a","params":[NaN],"id":"x\"y"}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":1,"error":{"code":1,"message":"no"}}"#,
        "é oops",
    ];
    let run = check(&["--format", "ndjson"], lines.join("\n") + "\n");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.starts_with("wireline: <stdin>: 1 line with CRLF line ends: "), "{}", run.stderr);

    let offsets: Vec<usize> = lines
        .iter()
        .scan(0, |next, line| {
            let offset = *next;
            *next += line.len() + 1;
            Some(offset)
        })
        .collect();
    let reply = |id: &str, code: i64, message: &str, fault: &str, line: u64, column: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}","data":{{"fault":"{fault}","line":{line},"column":{column}}}}}}}"#
        )
    };
    let expected = [
        json!({"line": 1, "offset": 3, "len": lines[0].len() - 4, "kind": "request", "id": 1.0e2, "method": "aé\n"}),
        json!({"line": 3, "offset": offsets[2], "len": lines[2].len(), "kind": "notification", "method": "note/日本"}),
        json!({"line": 4, "offset": offsets[3], "len": lines[3].len(), "kind": "response", "id": "a\""}),
        json!({"line": 5, "offset": offsets[4], "len": lines[4].len(), "kind": "error", "id": null}),
        json!({"line": 6, "offset": offsets[5], "len": batch.len(), "kind": "batch", "entries": [
            {"kind": "request", "id": "b1", "method": "m"},
            {"kind": "notification", "method": "n"},
            {"kind": "fault", "fault": "not-an-object", "code": -32600, "column": 79,
                "reply": reply("null", -32600, "Invalid Request", "not-an-object", 6, 79)},
            {"kind": "response", "id": 8},
        ]}),
        json!({"line": 7, "offset": offsets[6], "len": lines[6].len(), "kind": "fault", "id": "x\"y",
            "fault": "invalid-literal", "code": -32700, "column": 41, "hint": "not-a-number",
            "reply": reply(r#""x\"y""#, -32700, "Parse error", "invalid-literal", 7, 41)}),
        json!({"line": 8, "offset": offsets[7], "len": lines[7].len(), "kind": "fault", "id": 5,
            "fault": "conflicting-members", "code": -32600, "column": 34}),
        json!({"line": 9, "offset": offsets[8], "len": lines[8].len(), "kind": "fault",
            "fault": "invalid-literal", "code": -32700, "column": 1, "hint": "log-text",
            "reply": reply("null", -32700, "Parse error", "invalid-literal", 9, 1)}),
    ];
    let objects = run.objects();
    for (object, expected) in objects.iter().zip(&expected) {
        assert_eq!(object, expected);
    }
    assert_eq!(objects.len(), expected.len());

    // Ids keep their spelling.
    for (line, id) in [(0, r#""id":1.0e2,"#), (2, r#""id":"\u0061\""}"#), (4, r#""id":"b\u0031","#)] {
        assert!(run.stdout.lines().nth(line).unwrap().contains(id), "{id}");
    }
}

#[test]
fn sample_session_has_every_kind_of_fault() {
    let run = check(&["--format", "ndjson", SESSION], "");
    assert_eq!(run.code, Some(1));
    let objects = run.objects();
    let faults: Vec<_> = objects
        .iter()
        .flat_map(|object| {
            let entries = object["entries"].as_array().into_iter().flatten();
            entries.chain([object]).map(move |fault| (object["line"].as_u64().unwrap(), fault))
        })
        .filter(|(_, fault)| fault["kind"] == "fault")
        .map(|(line, fault)| (line, fault["fault"].as_str().unwrap(), fault["hint"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(
        faults,
        [
            (2, "invalid-literal", "log-text"),
            (7, "invalid-literal", "content-length-header"),
            (12, "unexpected-end", "pretty-printed"),
            (13, "trailing-data", "pretty-printed"),
            (14, "trailing-data", "pretty-printed"),
            (15, "trailing-data", "pretty-printed"),
            (16, "unexpected-byte", "pretty-printed"),
            (17, "invalid-id", ""),
            (18, "invalid-literal", "not-a-number"),
            (19, "duplicate-member", ""),
            (20, "conflicting-members", ""),
            (21, "trailing-data", "several-values"),
            (22, "missing-method", ""),
            (23, "invalid-version", ""),
            (24, "invalid-params", ""),
            (26, "unexpected-end", "line-break-in-string"),
        ]
    );

    let human = check(&["--all", SESSION], "");
    assert_eq!(human.code, Some(1));
    let positions: Vec<_> = human.stdout.lines().filter(|line| line.starts_with(SESSION)).collect();
    let (unterminated, positions) = positions.split_last().unwrap();
    assert_eq!(*unterminated, format!("{SESSION}: the last line has no line end [unterminated]"));
    for ((line, fault, _), position) in faults.iter().zip(positions) {
        assert!(position.starts_with(&format!("{SESSION}:{line}:")), "{position}");
        assert!(position.ends_with(&format!(" [{fault}]")), "{position}");
    }
    assert_eq!(positions.len(), faults.len());
    for row in ["4 requests", "3 notifications", "3 responses", "1 error response", "1 batch", "16 faults"] {
        assert!(human.stdout.lines().any(|line| line.trim() == row), "{row}\n{}", human.stdout);
    }
    assert!(human.stdout.contains("4 trailing-data\n"));
    assert!(human.stdout.contains("    25 non-blank lines, 1.91 kB in "));
    assert!(human.stdout.contains(&format!("hint: {}\n", Hint::LogText)));
    assert!(human.stdout.contains("reply: error -32700 with the line's id (a string)\n"));
    assert!(human.stdout.contains("reply: error -32600 with id null\n"));
    assert!(human.stdout.contains("reply: none, because the line looks like a response\n"));
}

#[test]
fn contents_are_hidden_unless_shown() {
    let lines: &[&[u8]] = &[
        b"SECRET log \x1b[31mSECRET\x1b[0m \x07",
        b"{\"SECRET\":\"\xff\xfe SECRET\"}",
        br#"{"jsonrpc":"2.0","id":"SECRET","method":"SECRET","params":{"SECRET":NaN}}"#,
        br#"{"jsonrpc":"2.0","id":"SECRET","method":"SECRET","SECRET":{},"id":"SECRET"}"#,
        br#"[{"jsonrpc":"2.0","id":"SECRET"},"SECRET"]"#,
        "{\"jsonrpc\":\"SECRET \u{202e}\u{9b}31m\",\"id\":1,\"method\":\"SECRET\"}".as_bytes(),
    ];
    let input = lines.join(&b'\n');
    let run = check(&[], &input);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    assert!(!run.stdout.contains("SECRET"), "{}", run.stdout);
    assert!(run.stdout.starts_with("<stdin>:1:1: "), "{}", run.stdout);
    assert!(run.stdout.is_ascii() || run.stdout.contains('µ'), "{}", run.stdout);

    let shown = check(&["--show", "-"], &input);
    assert_eq!(shown.code, Some(1));
    assert!(shown.stdout.contains("    | SECRET log \\x1b[31mSECRET\\x1b[0m \\x07\n    | ^\n"), "{}", shown.stdout);
    assert!(
        shown.stdout.contains("    | {\"SECRET\":\"\\xff\\xfe SECRET\"}\n    |            ^\n"),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("\"jsonrpc\":\"SECRET \\xe2\\x80\\xae\\xc2\\x9b31m\""), "{}", shown.stdout);
    let harmful = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!shown.stdout.contains(harmful), "{}", shown.stdout);

    let long = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\u{1}{}\"}}", "a".repeat(5000), "b".repeat(5000));
    let cut = check(&["--show"], long).stdout;
    let excerpt = format!("    | …{}\\x01{}…\n    | {}^\n", "a".repeat(36), "b".repeat(32), " ".repeat(37));
    assert!(cut.contains(&excerpt), "{cut}");
}

#[test]
fn reads_standard_input_and_files() {
    let good = file("good.ndjson", format!("{PING}\n"));
    let bad = file("bad.ndjson", format!("{PING}\noops\n"));
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());

    for args in [&[][..], &["-"]] {
        let run = check(&[&["--format", "ndjson"], args].concat(), format!("{PING}\n"));
        assert_eq!(
            run.stdout,
            "{\"line\":1,\"offset\":0,\"len\":40,\"kind\":\"request\",\"id\":1,\"method\":\"ping\"}\n"
        );
    }

    // Each file starts at line 1, and each object names its file.
    let run = check(&["--format", "ndjson", good, "-", bad], "\n[]\n");
    assert_eq!(run.code, Some(1));
    let places: Vec<_> = run.objects().iter().map(|object| (object["file"].clone(), object["line"].clone())).collect();
    assert_eq!(
        places,
        [(json!(good), json!(1)), (json!("<stdin>"), json!(2)), (json!(bad), json!(1)), (json!(bad), json!(2))]
    );
    assert!(run.stdout.lines().all(|line| line.starts_with("{\"file\":")));

    let run = check(&[good, bad], "");
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.starts_with(&format!("{bad}:2:1: ")), "{}", run.stdout);
    assert!(run.stdout.contains("     3 non-blank lines, "), "{}", run.stdout);
}

#[test]
fn continues_after_an_unreadable_file() {
    let good = file("goes-on.ndjson", format!("{PING}\n"));
    let good = good.to_str().unwrap();
    let directory = new_file("empty-directory");
    let _ = std::fs::create_dir(&directory);
    for missing in ["/no/such/file.ndjson", directory.to_str().unwrap()] {
        for quiet in [&[][..], &["-q"]] {
            let run = check(&[quiet, &[missing]].concat(), "");
            assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
            assert!(run.stderr.starts_with(&format!("wireline: cannot read {missing}: ")), "{run:?}");
            assert_eq!(run.stderr.lines().count(), 1);
        }
        let run = check(&["--format", "ndjson", missing, good], "");
        assert_eq!(run.code, Some(2));
        assert_eq!(
            run.objects(),
            [json!({"file": good, "line": 1, "offset": 0, "len": 40, "kind": "request", "id": 1, "method": "ping"})]
        );
        assert_eq!(run.stderr.lines().count(), 1);
    }
}

#[test]
#[cfg(unix)]
fn escapes_file_names() {
    use std::os::unix::ffi::OsStrExt;

    let name = std::ffi::OsStr::from_bytes(b"a\x1b[31m\nb.ndjson");
    let path = file(name.to_str().unwrap(), "oops");
    let path = path.to_str().unwrap();
    let run = check(&[path], "");
    assert!(run.stdout.contains("/a\\x1b[31m\\x0ab.ndjson:1:1: "), "{}", run.stdout);
    let run = check(&[&path.replace("b.ndjson", "missing")], "");
    assert!(run.stderr.contains("/a\\x1b[31m\\x0amissing: "), "{}", run.stderr);
    let run = check(&["--format", "ndjson", path, SESSION], "");
    assert_eq!(run.objects()[0]["file"], path);
}

#[test]
#[cfg(unix)]
fn exits_quietly_when_its_reader_leaves() {
    use std::io::Read;

    for args in [&["check", "--format", "ndjson"][..], &["check", "--show", "--all"]] {
        let mut child = wireline(args).spawn().unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let writer = std::thread::spawn(move || {
            let lines = "oops\n".repeat(1000);
            (0..2000).take_while(|_| stdin.write_all(lines.as_bytes()).is_ok()).count()
        });
        stdout.read_exact(&mut [0; 100]).unwrap();
        drop(stdout);
        let run = common::finish(child);
        assert_eq!((run.code, run.stderr.as_str()), (Some(2), ""));
        // And it did not read its input to the end.
        assert!(writer.join().unwrap() < 2000);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn reports_that_it_cannot_write() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let run = common::finish(wireline(&["check", SESSION]).stdout(full).spawn().unwrap());
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with("wireline: cannot write to standard output: "), "{}", run.stderr);
}

#[test]
fn reports_each_line_without_delay() {
    for (format, line) in [("ndjson", PING), ("human", "oops")] {
        let mut child = wireline(&["check", "--format", format]).spawn().unwrap();
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|l| send.send(l)));
        for number in 1..=3 {
            stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
            let position =
                if format == "ndjson" { format!("{{\"line\":{number},") } else { format!("<stdin>:{number}:1: ") };
            while !receive.recv_timeout(Duration::from_secs(10)).unwrap().starts_with(&position) {}
        }
        drop(stdin);
        assert!(child.wait().unwrap().code().is_some_and(|code| code < 2));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_input() {
    let mut child = wireline(&["check"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"text":"{}"}}}}"#, "x".repeat(450));
    let lines = format!("{line}\n").repeat(128);
    let mut sent = 0;
    while sent < 64 << 20 {
        stdin.write_all(lines.as_bytes()).unwrap();
        sent += lines.len();
    }
    let peak = common::peak_memory(&child);
    drop(stdin);
    let run = common::finish(child);
    assert_eq!(run.code, Some(0));
    let requests = (sent / (line.len() + 1)).to_string();
    let (thousands, rest) = requests.split_at(requests.len() - 3);
    assert!(run.stdout.contains(&format!("{thousands},{rest} requests\n")), "{}", run.stdout);
    assert!(peak < 32 << 20, "{peak} bytes");
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_a_line() {
    let mut child = wireline(&["check", "--format", "ndjson"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(br#"{"jsonrpc":"2.0","method":"a","params":""#).unwrap();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        stdin.write_all(&piece).unwrap();
    }
    stdin.write_all(format!("\",\"id\":\"last\"}}\n{PING}\n").as_bytes()).unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let lines = [(); 2].map(|()| {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()
    });
    let peak = common::peak_memory(&child);
    drop(stdin);
    assert_eq!(common::finish(child).code, Some(1));

    let [fault, request] = lines;
    assert_eq!((&fault["fault"], &fault["id"]), (&json!("line-too-long"), &json!("last")));
    assert_eq!(fault["len"], (64 << 20) + 54);
    assert_eq!((&request["kind"], &request["line"]), (&json!("request"), &json!(2)));
    assert_eq!(request["offset"], (64 << 20) + 55);
    assert!(peak < 40 << 20, "{peak} bytes");
}

#[test]
fn report_does_not_depend_on_the_number_of_jobs() {
    let long = format!(r#"{{"jsonrpc":"2.0","id":"long","method":"{}"}}"#, "x".repeat(3 << 20));
    let session = std::fs::read_to_string(SESSION).unwrap();
    // Blanks make it long enough for several jobs.
    let session: String = session.lines().map(|line| format!("{line:2000}\n")).collect();
    let content = format!("{}{long}\n{}{PING}", session.repeat(50), session.repeat(25));
    let large = file("jobs.ndjson", &content);
    let large = large.to_str().unwrap();
    for args in [
        &["--show"][..],
        &["--format", "ndjson"],
        &["--format", "json"],
        &["--format", "junit"],
        &["--all"],
        &["--max-len", "1M"],
        &["--rules", "mcp"],
        &["-q"],
    ] {
        let run = |jobs| {
            let run = check(&[args, &["--jobs", jobs, large]].concat(), "");
            // The time it took differs.
            let end = run.stdout.rfind("B in ").unwrap_or(run.stdout.len());
            (run.code, run.stdout[..end].to_owned(), run.stderr)
        };
        let one = run("1");
        assert_eq!((one.0, one.2.as_str()), (Some(1), ""));
        for jobs in ["2", "7"] {
            // Not `assert_eq!`: the reports are too long to print.
            assert!(run(jobs) == one, "{args:?} {jobs}");
        }
    }
}

#[test]
fn summary_starts_with_the_verdict() {
    let batch = r#"[{"jsonrpc":"2.0","method":"a"},1]"#;
    for (input, verdict) in [
        (String::new(), "no messages found"),
        (PING.to_owned(), "1 message, no faults"),
        (format!("{PING}\n").repeat(1234), "1,234 messages, no faults"),
        (format!("{PING}\n{}", batch.replace(",1", "")), "2 lines, no faults"),
        ("oops".to_owned(), "1 line is faulty"),
        (format!("{PING}\n{batch}"), "1 line is faulty, 1 is fine"),
        (format!("{}oops\n{batch}", format!("{PING}\n").repeat(1234)), "2 lines are faulty, 1,234 are fine"),
    ] {
        let run = check(&["--allow-unterminated"], &input);
        let summary = run.stdout.rsplit("null\n\n").next().unwrap();
        assert!(summary.starts_with(&format!("{verdict}\n\n")), "{summary}");
        assert!(run.stdout.lines().all(|line| line.chars().count() <= 80), "{}", run.stdout);
    }
}

#[test]
fn summary_lists_the_files() {
    let (good, bad) =
        (file("named-good.ndjson", format!("{PING}\n")), file("named-bad.ndjson", format!("{PING}\noops\noops\n")));
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let run = check(&[good, bad, "/no/such/file", good], "");
    let rows = format!(
        "\n2 lines are faulty, 3 are fine; 1 file could not be read to the end\n\n     1 line   ok        {good}\n     \
         3 lines  2 faulty  {bad}\n     0 lines  unread    /no/such/file\n     1 line   ok        {good}\n\n"
    );
    assert!(run.stdout.contains(&rows), "{}", run.stdout);

    // Of many files, only those with problems.
    // A command line on Windows has at most 32,767 characters.
    let (count, shown) = if cfg!(windows) { (150, "   150") } else { (1500, " 1,500") };
    let many = [vec![good; count], vec![bad]].concat();
    let run = check(&many, "");
    let rows = format!("\n\n     3 lines  2 faulty  {bad}\n{shown} other files without faults\n\n");
    assert!(run.stdout.contains(&rows), "{}", run.stdout);
    let run = check(&[good; 40], "");
    assert!(run.stdout.contains("\n\n    40 files without faults\n\n"), "{}", run.stdout);
    let run = check(&[bad; 25], "");
    assert_eq!(run.stdout.matches(&format!("2 faulty  {bad}\n")).count(), 20);
    assert!(run.stdout.contains("\n       and 5 more files with problems\n\n"), "{}", run.stdout);
}
