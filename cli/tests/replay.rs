//! `wireline replay`, against servers that answer as recorded, differently, or badly.
#![cfg(unix)]

use crate::common;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{Run, file, run, run_with_input};
use serde_json::{Value, json};

/// A recording of messages, each with its sender, all terminated.
pub(crate) fn recording(name: &str, lines: &[(&str, &str)], code: i32) -> PathBuf {
    let mut text = "{\"wireline-recording\":1,\"time\":1.0}\n".to_owned();
    for (number, (from, line)) in lines.iter().enumerate() {
        let record = json!({ "from": from, "line": line }).to_string();
        text.push_str(&format!("{{\"time\":{},{}\n", 1.0 + number as f64 / 1000.0, &record[1..]));
    }
    text.push_str(&format!("{{\"time\":2.0,\"event\":\"end\",\"code\":{code}}}\n"));
    file(name, text)
}

pub(crate) const CLIENT: &str = "client";
pub(crate) const SERVER: &str = "server";

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const LISTED: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","description":"Echoes"},{"name":"add"}]}}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}"#;
const CALLED: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"secret"}],"time":17}}"#;

const SESSION: [(&str, &str); 4] = [(CLIENT, LIST), (SERVER, LISTED), (CLIENT, CALL), (SERVER, CALLED)];

/// A shell script that reads a line before each line that it prints.
pub(crate) fn answering(answers: &[&str]) -> String {
    answers.iter().map(|answer| format!("read line; echo '{answer}'; ")).collect()
}

pub(crate) fn replay(recording: &Path, options: &[&str], server: &str) -> Run {
    let name = recording.to_str().unwrap();
    run(&[&["replay", "--rules", "mcp"], options, &[name, "--", "sh", "-c", server]].concat())
}

#[test]
fn same_answers() {
    let recording = recording("replay-same.tap", &SESSION, 0);
    // Members in another order, and other spellings.
    let called =
        r#"{"result":{"time":17.0,"content":[{"text":"secret","type":"\u0074ext"}]},"id":2.0,"jsonrpc":"2.0"}"#;
    let run = replay(&recording, &[], &answering(&[LISTED, called]));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert_eq!(run.stdout, "2 messages sent, 2 answers compared: all as recorded\n");
}

#[test]
fn changed_tool_is_the_only_difference() {
    let recording = recording("replay-changed.tap", &SESSION, 0);
    let listed = LISTED.replace("Echoes", "Repeats");
    let server = answering(&[&listed, CALLED]);
    let run = replay(&recording, &[], &server);
    let expected = "→ tools/list #1\n    changed  /result/tools/0/description\n\n\
        2 messages sent, 2 answers compared: 1 differs\n";
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), expected), "{run:?}");

    let shown = replay(&recording, &["--show"], &server).stdout;
    assert!(shown.contains("\n             - \"Echoes\"\n             + \"Repeats\"\n"), "{shown}");

    let run = replay(&recording, &["--ignore", "/result/tools/*/description"], &server);
    let expected = "2 messages sent, 2 answers compared: all as recorded\n1 difference was ignored\n";
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), expected), "{run:?}");

    let run = replay(&recording, &["--format", "json"], &server);
    let report = &run.objects()[0];
    assert_eq!((run.code, &report["is_same"], &report["different"]), (Some(1), &json!(false), &json!(1)));
    let expected = json!([{
        "session": 1, "problem": "different", "from": "client", "method": "tools/list", "target": null, "id": 1,
        "changes": [{ "change": "changed", "path": "/result/tools/0/description" }],
    }]);
    assert_eq!(report["problems"], expected);
    assert_eq!(report["servers"][0]["code"], 0);
}

#[test]
fn added_missing_and_changed_members() {
    let recording = recording("replay-members.tap", &SESSION, 0);
    let called = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[],"isError":"\u001b[31m","a/\u001b":1}}"#;
    let run = replay(&recording, &[], &answering(&[LISTED, called]));
    let expected = "→ tools/call echo #2\n    missing  /result/content/0\n    missing  /result/time\n    \
        added    /result/a~1\\x1b\n    added    /result/isError\n";
    assert!(run.stdout.starts_with(expected) && run.code == Some(1), "{run:?}");
    assert!(!run.stdout.contains("secret") && !run.stdout.contains('\x1b'), "{run:?}");

    let error = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no"}}"#;
    let run = replay(&recording, &[], &answering(&[LISTED, error]));
    assert!(run.stdout.contains("missing  /result\n") && run.stdout.contains("added    /error\n"), "{run:?}");
}

#[test]
fn answers_may_come_in_another_order() {
    let call = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
    let answer = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n":{id}}}}}"#);
    let lines = [
        (CLIENT, call(1)),
        (CLIENT, call(2)),
        (SERVER, answer(2)),
        (SERVER, answer(1)),
        (CLIENT, call(3)),
        (SERVER, answer(3)),
    ];
    let lines: Vec<_> = lines.iter().map(|(from, line)| (*from, line.as_str())).collect();
    let recording = recording("replay-order.tap", &lines, 0);
    let (one, two, three) = (answer(1), answer(2), answer(3));
    let server = format!("read a; read b; echo '{one}'; echo '{two}'; read c; echo '{three}'");
    assert_eq!(replay(&recording, &[], &server).code, Some(0));
    // The third request is not sent before the first two are answered.
    let server =
        format!("read a; read b; if read -t 1 c; then exit 9; fi; echo '{one}'; echo '{two}'; read c; echo '{three}'");
    let name = recording.to_str().unwrap();
    let run = run(&["replay", name, "--", "bash", "-c", &server]);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn requests_of_the_server_are_answered_with_its_own_ids() {
    let ask = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#);
    let reply = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"roots":[]}}}}"#);
    let lines = [(CLIENT, CALL.to_owned()), (SERVER, ask("7")), (CLIENT, reply("7")), (SERVER, CALLED.to_owned())];
    let lines: Vec<_> = lines.iter().map(|(from, line)| (*from, line.as_str())).collect();
    let recording = recording("replay-requests.tap", &lines, 0);
    let (ask, expected) = (ask("\"other\""), reply("\"other\""));
    let server = format!("read a; echo '{ask}'; read b; [ \"$b\" = '{expected}' ] || exit 5; echo '{CALLED}'");
    let run = replay(&recording, &[], &server);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "2 messages sent, 2 answers compared: all as recorded\n"));

    // A ping is answered at any time, and an unknown request with an error.
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let unknown = r#"{"jsonrpc":"2.0","id":2,"method":"new"}"#;
    let server = format!(
        "read a; echo '{ping}'; read b; [ \"$b\" = '{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}' ] || exit 5; \
        echo '{unknown}'; read b; case \"$b\" in *-32601*) ;; *) exit 6;; esac; {server}"
    );
    let server = server.replacen(
        "read a; echo '{\"jsonrpc\":\"2.0\",\"id\":\"other\"",
        "echo '{\"jsonrpc\":\"2.0\",\"id\":\"other\"",
        1,
    );
    let run = replay(&recording, &[], &server);
    assert!(run.stdout.starts_with("← new #2: the recorded server did not send this request\n"), "{run:?}");
    assert_eq!(run.code, Some(1));
}

#[test]
fn cancelled_request_needs_no_answer() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    let lines = [(CLIENT, CALL), (CLIENT, cancel), (CLIENT, LIST), (SERVER, LISTED)];
    let recording = recording("replay-cancelled.tap", &lines, 0);
    for answer in ["true", &format!("echo '{CALLED}'")] {
        let run = replay(&recording, &[], &format!("read a; read b; {answer}; read c; echo '{LISTED}'"));
        assert_eq!(run.code, Some(0), "{run:?}");
    }
}

/// Servers that misbehave, what is said about it, and how long it may take.
#[test]
fn misbehaving_servers_have_a_clear_end() {
    let recording = recording("replay-misbehaving.tap", &SESSION, 0);
    for (server, expected) in [
        ("exit 3", "server exited with code 3 before it had everything, 0 in the recording"),
        ("read a; kill -9 $$", "server was killed by signal 9 before it had everything"),
        ("cat >/dev/null", "→ tools/list #1: never answered in time"),
        ("exec sleep 60", "→ tools/call echo #2: never answered in time"),
        ("trap '' TERM; while :; do sleep 1; done", "never answered in time"),
        ("while :; do echo '{\"jsonrpc\":\"2.0\",\"method\":\"m\"}'; done", "never answered in time"),
        ("while :; do echo; done", "never answered in time"),
        ("while :; do echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}'; done", "did not send this request"),
        ("while :; do echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}'; done", "server"),
        ("exec >&-; cat", "never answered before the server's output ended"),
    ] {
        let started = Instant::now();
        let run = replay(&recording, &["--timeout", "300ms"], server);
        assert!(run.stdout.contains(expected), "{server}: {run:?}");
        assert_eq!(run.code, Some(1), "{server}: {run:?}");
        assert!(started.elapsed() < Duration::from_secs(30), "{server}: {:?}", started.elapsed());
    }
    let noisy = format!("echo starting; {}", answering(&[LISTED, CALLED]));
    let run = replay(&recording, &[], &noisy);
    assert!(
        run.stdout.contains("1 faulty line from the server, 0 in the recording\n    line 1, column 1: "),
        "{run:?}"
    );
    assert!(!run.stdout.contains("starting"), "{run:?}");
    let twice = format!("read a; echo '{LISTED}'; echo '{LISTED}'; {}", answering(&[CALLED]));
    let run = replay(&recording, &[], &twice);
    assert!(run.stdout.contains("1 answer matches no request, 0 in the recording\n"), "{run:?}");
    let status = format!("{} exit 4", answering(&[LISTED, CALLED]));
    let run = replay(&recording, &[], &status);
    assert!(run.stdout.starts_with("server exited with code 4, 0 in the recording\n"), "{run:?}");
}

#[test]
fn server_that_does_not_read_is_given_up() {
    let long = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"x":"{}"}}}}"#, "x".repeat(500_000));
    let lines: Vec<_> = (0..40).map(|_| (CLIENT, long.as_str())).collect();
    let recording = recording("replay-unread.tap", &lines, 0);
    let run = replay(&recording, &["--timeout", "300ms"], "exec sleep 60");
    assert!(run.stdout.contains("after it stopped reading"), "{run:?}");
    assert_eq!(run.code, Some(1));
}

#[test]
fn trouble_has_another_code() {
    let good = recording("replay-trouble.tap", &SESSION, 0);
    let run = common::run(&["replay", good.to_str().unwrap(), "--", "/no/such/server"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with("wireline: cannot run /no/such/server: "), "{run:?}");

    for (name, text, message) in [
        ("replay-foreign.tap", format!("{LIST}\n"), "is not a recording"),
        ("replay-torn.tap", std::fs::read_to_string(&good).unwrap()[..120].to_owned(), "is not a record of a session"),
    ] {
        let path = file(name, text);
        let run = replay(&path, &[], "cat >/dev/null");
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(message), "{run:?}");
    }
    assert_eq!(common::run(&["replay", "/no/such/file", "--", "cat"]).code, Some(2));
    assert_eq!(common::run(&["replay", good.to_str().unwrap()]).code, Some(2));
    assert_eq!(replay(&good, &["--session", "2"], "cat").code, Some(2));
    assert_eq!(replay(&good, &["--ignore", "result"], "cat").code, Some(2));
}

#[test]
fn every_session_gets_a_server() {
    let one = recording("replay-one.tap", &SESSION, 0);
    let text = std::fs::read_to_string(one).unwrap();
    let both = file("replay-both.tap", text.repeat(2));
    let server = answering(&[LISTED, CALLED]);
    let run = replay(&both, &[], &server);
    assert_eq!(run.stdout, "4 messages sent, 4 answers compared: all as recorded\n");
    let changed = answering(&[LISTED, &CALLED.replace("17", "18")]);
    let run = replay(&both, &["--session", "2"], &changed);
    let expected = "session 2:\n→ tools/call echo #2\n    changed  /result/time\n\n\
        2 messages sent, 2 answers compared: 1 differs\n";
    assert_eq!(run.stdout, expected);
}

#[test]
fn recorded_timing_is_kept() {
    let replayed_in = |options: &[&str], pause: f64| {
        let mut text = String::from("{\"wireline-recording\":1,\"time\":1.0}\n");
        for (time, (from, line)) in [1.0, 1.0, 1.0 + pause, 1.0 + pause].iter().zip(SESSION) {
            let record = json!({ "from": from, "line": line }).to_string();
            text.push_str(&format!("{{\"time\":{time:?},{}\n", &record[1..]));
        }
        let recording = file(&format!("replay-timing-{pause}.tap"), text);
        let started = Instant::now();
        assert_eq!(replay(&recording, options, &answering(&[LISTED, CALLED])).code, Some(0));
        started.elapsed()
    };
    // A busy machine may be late, but never early.
    let recorded = replayed_in(&["--timing", "recorded"], 0.4);
    assert!(recorded >= Duration::from_millis(400), "{recorded:?}");
    let fast = replayed_in(&[], 30.0);
    assert!(fast < Duration::from_secs(25), "{fast:?}");
}

/// Runs `replay --as-server` with these lines of a client.
fn serve(recording: &Path, options: &[&str], lines: &[&str]) -> Run {
    let args = [&["replay", "--rules", "mcp", "--as-server"], options, &[recording.to_str().unwrap()]].concat();
    run_with_input(&args, lines.join("\n") + "\n")
}

#[test]
fn client_is_answered_from_the_recording() {
    let recording = recording("replay-as-server.tap", &SESSION, 0);
    let list = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{}}"#;
    let call = r#"{"params":{"arguments":{"text":"\u0078"},"name":"echo","_meta":{"x":1}},"method":"tools/call","id":9,"jsonrpc":"2.0"}"#;
    let run = serve(&recording, &[], &[list, call, list]);
    let expected = [LISTED.replace("\"id\":1", "\"id\":\"a\""), CALLED.replace("\"id\":2", "\"id\":9")];
    let expected: Vec<Value> =
        [&expected[0], &expected[1], &expected[0]].map(|line| serde_json::from_str(line).unwrap()).into();
    assert_eq!((run.code, run.objects()), (Some(0), expected), "{run:?}");

    let other = call.replace("\\u0078", "other");
    let unknown = r#"{"jsonrpc":"2.0","id":10,"method":"prompts/list"}"#;
    let ping = r#"{"jsonrpc":"2.0","id":11,"method":"ping"}"#;
    let run = serve(&recording, &[], &[&other, unknown, ping, "noise", list]);
    let codes: Vec<Value> = run.objects().iter().map(|answer| answer["error"]["code"].clone()).collect();
    assert_eq!((run.code, codes), (Some(1), vec![json!(-32602), json!(-32601), Value::Null, Value::Null]), "{run:?}");
    assert!(run.stderr.contains("wireline: tools/call echo #9: these params are not in the recording\n"), "{run:?}");
    assert!(run.stderr.contains("wireline: prompts/list #10: this method is not in the recording\n"), "{run:?}");
    assert!(!run.stderr.contains("noise"), "{run:?}");

    let run = serve(&recording, &["--loose"], &[&other]);
    assert_eq!((run.code, &run.objects()[0]["result"]["time"]), (Some(0), &json!(17)), "{run:?}");
    let run = serve(&recording, &["--ignore", "/params/arguments/text"], &[&other]);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn server_side_plays_notifications_and_requests() {
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":5}}}"#;
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":5}}"#;
    let ask = r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#;
    let reply = r#"{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}"#;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let lines =
        [(CLIENT, call), (SERVER, progress), (SERVER, ask), (CLIENT, reply), (SERVER, CALLED), (SERVER, changed)];
    let recording = recording("replay-reactions.tap", &lines, 0);
    let live = call.replace("progressToken\":5", "progressToken\":\"mine\"").replace("\"id\":2", "\"id\":3");
    let run = serve(&recording, &[], &[&live, &reply.replace("\"id\":0", "\"id\":1")]);
    let sent = run.objects();
    assert_eq!(sent.len(), 4, "{run:?}");
    assert_eq!(sent[0]["params"], json!({ "progress": 1, "progressToken": "mine" }));
    assert_eq!((&sent[1]["method"], &sent[1]["id"]), (&json!("roots/list"), &json!(1)));
    assert_eq!((&sent[2]["id"], &sent[2]["result"]["time"]), (&json!(3), &json!(17)));
    assert_eq!(sent[3]["method"], "notifications/tools/list_changed");
    assert_eq!(run.code, Some(0));
}

#[test]
fn unanswered_request_stays_open_until_it_is_cancelled() {
    let recording = recording("replay-open.tap", &[(CLIENT, CALL), (CLIENT, LIST), (SERVER, LISTED)], 0);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    let run = serve(&recording, &[], &[CALL, cancel, LIST]);
    assert_eq!(run.objects().len(), 1, "{run:?}");
    // Each request gets a response, at the end at the latest.
    let run = serve(&recording, &[], &[CALL, LIST]);
    let ids: Vec<Value> = run.objects().iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!((ids, &run.objects()[1]["error"]["code"]), (vec![json!(1), json!(2)], &json!(-32603)), "{run:?}");
}
