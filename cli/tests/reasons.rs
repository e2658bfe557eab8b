//! Failed calls say why: in the transcript, with `--errors`, in the statistics and in the report.
#![cfg(unix)]

use crate::common;
use crate::tapping;

use common::{new_file, run};
use serde_json::{Value, json};
use tapping::{session, text};

const REQUESTS: [&str; 4] = [
    r#"{"jsonrpc":"2.0","id":169,"method":"tools/call","params":{"name":"echo","arguments":{"city":"Atlantis"}}}"#,
    r#"{"jsonrpc":"2.0","id":170,"method":"tools/call","params":{"name":"echo","arguments":{"city":"Lyonesse"}}}"#,
    r#"{"jsonrpc":"2.0","id":171,"method":"tools/list","params":{"cursor":"bogus"}}"#,
    r#"{"jsonrpc":"2.0","id":172,"method":"resources/read","params":{"uri":"file:///a"}}"#,
];

const SERVER: &str = r#"
    read a; read b; read c; read d
    printf '%s\n' '{"jsonrpc":"2.0","id":169,"result":{"content":[{"type":"image","data":""},{"type":"text","text":"no such\n  city\u001b[2J"}],"isError":true}}'
    printf '%s\n' '{"jsonrpc":"2.0","id":170,"result":{"content":[{"type":"image","data":""},{"type":"text","text":"no such\n  city\u001b[2J"}],"isError":true}}'
    printf '%s\n' '{"jsonrpc":"2.0","id":171,"error":{"code":-32602,"message":"cursor is unknown"}}'
    printf '%s\n' '{"jsonrpc":"2.0","id":172,"error":{"code":-32002,"message":"vanished"}}'"#;

/// Records the session, and returns the name of the recording and the log.
fn record(name: &str, options: &[&str]) -> (String, String) {
    let recording = new_file(name).into_os_string().into_string().unwrap();
    let options = [&["--rules", "json-rpc", "--record", &recording], options].concat();
    let output = session(&options, &["sh", "-c", SERVER], (REQUESTS.join("\n") + "\n").as_bytes());
    (recording, text(&output.stderr).to_owned())
}

/// The texts of the peers.
const WORDS: [&str; 5] = ["no such", "cursor", "vanished", "Atlantis", "bogus"];

fn tells(text: &str, parts: &[&str]) {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rest = &words[..];
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("expected {part:?}:\n{text}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn live_log_has_the_meaning_of_codes_and_the_texts_if_they_are_wanted() {
    let (_, log) = record("live.tap", &[]);
    tells(
        &log,
        &[
            "← failure tools/call echo #169 ",
            "← error tools/list #171 (-32602) ",
            "invalid params",
            "← error resources/read file:///a #172 (-32002) ",
            "resource not found",
            "4 calls failed → tools/call echo (2 times, first #169): isError",
            "→ tools/list #171: -32602 invalid params → resources/read file:///a #172: -32002 resource not found",
            "no faults, every request was answered",
        ],
    );
    assert!(!WORDS.iter().any(|word| log.contains(word)), "{log}");

    let (_, log) = record("live-shown.tap", &["--show"]);
    let called = "→ request tools/call echo #169 105 B {\"city\":\"Atlantis\"}";
    let failed = "no such city\\x1b[2J";
    tells(&log, &[called, failed, "cursor is unknown", "#171: -32602 cursor is unknown"]);
}

#[test]
fn recordings_say_why_calls_failed() {
    let (name, _) = record("why.tap", &["-qq"]);
    let failed = "no such city\\x1b[2J";
    let shown = run(&["show", "--rules", "json-rpc", &name]).stdout;
    tells(
        &shown,
        &["← failure tools/call echo #169 ", failed, "← error tools/list #171 (-32602) ", "cursor is unknown"],
    );
    assert!(!shown.contains("Atlantis"), "{shown}");

    let errors = run(&["show", "--rules", "json-rpc", "--errors", &name]).stdout;
    tells(
        &errors,
        &[
            "← failure tools/call echo #169 ",
            failed,
            "called with {\"city\":\"Atlantis\"} ",
            "← failure tools/call echo #170 ",
            "called with {\"city\":\"Lyonesse\"} ",
            "← error tools/list #171 (-32602) ",
            "cursor is unknown called with {\"cursor\":\"bogus\"} ",
        ],
    );
    assert!(!errors.contains("request"), "{errors}");

    let stats = run(&["stats", "--rules", "json-rpc", &name]).stdout;
    let group = format!("4 calls failed → tools/call echo (2 times, first #169): {failed} ");
    tells(&stats, &[&group, "→ tools/list #171: -32602 cursor is unknown → resources/read"]);
    let stats = run(&["stats", "--rules", "json-rpc", "--format", "json", &name]).objects().remove(0);
    let expected =
        json!({ "method": "tools/call", "subject": "echo", "code": null, "count": 2, "text": "no such city\u{1b}[2J" });
    assert_eq!((&stats["failures"][0], &stats["failures"][1]["code"]), (&expected, &json!(-32602)));

    let page = run(&["report", "--rules", "json-rpc", &name]).stdout;
    let rows = page.split("data-part=\"rows\">").nth(1).unwrap().split("</script>").next().unwrap();
    let rows: Value = serde_json::from_str(rows).unwrap();
    let notes: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row[6]).filter(|note| **note != 0).collect();
    let failure = json!([null, "no such city\u{1b}[2J"]);
    assert_eq!(notes, [&failure, &failure, &json!([-32602, "cursor is unknown"]), &json!([-32002, "vanished"])]);
}

#[test]
fn reasons_can_be_left_out() {
    let (name, _) = record("secret.tap", &["-qq"]);
    for args in [
        &["show"][..],
        &["show", "--errors"],
        &["stats"],
        &["stats", "--format", "json"],
        &["report", "--max-payload", "0"],
    ] {
        let mut args = args.to_vec();
        args.extend((args[0] != "report").then_some("--no-reasons"));
        let run = run(&[&args[..], &["--rules", "json-rpc", &name]].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        // Of the page, its data alone.
        let shown = run.stdout.split("data-part=\"rows\">").last().unwrap().split("<script>").next().unwrap();
        let words = WORDS.iter().filter(|word| shown.contains(*word));
        assert_eq!(words.count(), 0, "{args:?}\n{shown}");
        let meaning = if args.contains(&"json") { "-32602" } else { "invalid params" };
        assert!(shown.contains(meaning), "{args:?}\n{shown}");
    }
}
