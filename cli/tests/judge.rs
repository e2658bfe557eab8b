//! The judge of sessions: what clients and servers do to each other although every line is valid.

use crate::common;

use std::path::PathBuf;

use common::{PING, Run, file, run};
use serde_json::{Value, json};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const ACCEPT: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A recording of lines, each with the seconds since the start and the sender.
#[track_caller]
fn recording(name: &str, lines: &[(f64, &str, &str)]) -> String {
    let mut text = "{\"wireline-recording\":1,\"time\":1000.0}\n".to_owned();
    let mut last = 0.0;
    for (at, from, line) in lines {
        last = *at;
        let record = json!({ "from": from, "line": line }).to_string();
        text.push_str(&format!("{{\"time\":{:?},{}\n", 1000.0 + at, &record[1..]));
    }
    text.push_str(&format!("{{\"time\":{:?},\"event\":\"end\",\"code\":0}}\n", 1000.0 + last + 0.001));
    path(file(name, text))
}

fn path(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap()
}

/// The names of the rules in a report for programs, with their lines.
fn rules(run: &Run) -> Vec<(String, u64)> {
    let findings = run.objects().into_iter().filter(|object| object["kind"] == "finding");
    findings.map(|finding| (finding["rule"].as_str().unwrap().to_owned(), finding["line"].as_u64().unwrap())).collect()
}

fn named(rules: &[(&str, u64)]) -> Vec<(String, u64)> {
    rules.iter().map(|(rule, line)| ((*rule).to_owned(), *line)).collect()
}

/// A server whose stream starts with a byte order mark. The TypeScript SDK can't parse that line, and gives up.
#[test]
fn byte_order_mark() {
    let name = recording(
        "byte-order-mark.tap",
        &[
            (0.0, "client", INITIALIZE),
            (0.1, "server", &format!("\u{FEFF}{ACCEPT}")),
            (
                60.1,
                "client",
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0,"reason":"Request timed out"}}"#,
            ),
        ],
    );
    let run = run(&["check", "--format", "ndjson", &name]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(rules(&run), named(&[("byte-order-mark", 3), ("late-cancellation", 4)]));
}

#[test]
#[cfg(unix)]
fn byte_order_mark_in_a_live_session() {
    let script = format!(r#"read line; printf '\357\273\277%s\n' '{ACCEPT}'; cat >/dev/null"#);
    let record = path(common::new_file("live.tap"));
    let run =
        common::run_with_input(&["tap", "--record", &record, "--", "sh", "-c", &script], format!("{INITIALIZE}\n"));
    // Bytes pass unchanged.
    assert!(run.stdout.starts_with("\u{FEFF}{"), "{run:?}");
    assert!(run.stderr.contains("[byte-order-mark]\n"), "{}", run.stderr);
    assert!(!run.stderr.contains("no faults"), "{}", run.stderr);
    for command in ["check", "show", "stats"] {
        let run = common::run(&[command, &record]);
        assert!(run.stdout.contains("byte-order-mark"), "{run:?}");
    }
}

/// A result that is cut within an emoji. The Python SDK refuses the line, and gives up.
#[test]
fn half_an_emoji() {
    let cut = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ok \ud83d"}]}}"#;
    let name = recording(
        "half-an-emoji.tap",
        &[
            (0.0, "client", INITIALIZE),
            (0.1, "server", ACCEPT),
            (0.2, "client", INITIALIZED),
            (0.3, "client", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cut"}}"#),
            (0.4, "server", cut),
            (5.3, "client", r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#),
        ],
    );
    let check = run(&["check", "--format", "ndjson", &name]);
    assert_eq!(check.code, Some(1), "{check:?}");
    assert_eq!(rules(&check), named(&[("lone-surrogate", 6), ("late-cancellation", 7)]));
    let human = run(&["check", &name]);
    for text in [
        "[lone-surrogate]\n    error: half of a surrogate pair, such as an emoji cut in two; refused by the Python SDK 2.3.0",
        "tools/call cut #1 was cancelled 4.90 s after its answer",
        "the client doesn't seem to have understood the answer [late-cancellation]",
        "6 messages, no faults, 1 error, 1 warning\n",
    ] {
        assert!(human.stdout.contains(text), "{}", human.stdout);
    }
    assert!(!human.stdout.contains("ud83d") && run(&["check", "--show", &name]).stdout.contains("ud83d"));
    let show = run(&["show", &name]).stdout;
    assert!(show.contains("[lone-surrogate]") && show.contains("[late-cancellation]"), "{show}");
    let errors = run(&["show", "--errors", &name]).stdout;
    assert!(errors.contains("tools/call cut #1") && !errors.contains("initialize"), "{errors}");
}

/// All the rest that `check --rules mcp` used to vouch for.
fn unruly() -> String {
    let tools = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"add","inputSchema":{"type":"object","required":["a"]},"outputSchema":{"type":"object","required":["sum"]}}]}}"#;
    recording(
        "unruly.tap",
        &[
            (0.0, "client", r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#),
            (0.1, "server", r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"not yet"}}"#),
            (0.2, "client", &INITIALIZE.replace("2025-11-25", "2099-01-01")),
            (0.3, "server", &ACCEPT.replace("2025-11-25", "2099-01-01")),
            (0.4, "client", INITIALIZED),
            (0.5, "server", r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#),
            (0.6, "client", r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#),
            (
                0.7,
                "server",
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}"#,
            ),
            (0.8, "client", r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#),
            (0.9, "server", tools),
            (1.0, "client", r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{}}}"#),
            (
                1.1,
                "client",
                r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}"#,
            ),
            (1.2, "server", r#"{"jsonrpc":"2.0","id":3,"result":{"content":[],"structuredContent":{}}}"#),
            (3.0, "server", r#"{"jsonrpc":"2.0","id":77,"result":{}}"#),
        ],
    )
}

const UNRULY: [(&str, u64); 10] = [
    ("before-initialize", 2),
    ("unknown-version", 4),
    ("unknown-version", 5),
    ("peer-capability", 7),
    ("unknown-progress-token", 9),
    ("invalid-arguments", 12),
    ("reused-id", 13),
    ("invalid-structured-content", 14),
    ("unknown-answer", 15),
    ("unanswered-request", 13),
];

#[test]
fn an_unruly_session() {
    for options in [&["check", "--format", "ndjson"][..], &["check", "--rules", "mcp", "--format", "ndjson"]] {
        let run = run(&[options, &[&unruly()]].concat());
        assert_eq!(run.code, Some(1), "{run:?}");
        assert_eq!(rules(&run), named(&UNRULY), "{}", run.stdout);
    }
}

#[test]
fn all_formats_carry_the_same_findings() {
    let name = unruly();
    let count = UNRULY.len();
    let human = run(&["check", &name]).stdout;
    let json: Value = serde_json::from_str(&run(&["check", "--format", "json", &name]).stdout).unwrap();
    let sarif: Value = serde_json::from_str(&run(&["check", "--format", "sarif", &name]).stdout).unwrap();
    let junit = run(&["check", "--format", "junit", &name]).stdout;
    assert_eq!(json["findings"].as_array().unwrap().len(), count);
    assert_eq!((&json["files"][0]["errors"], &json["files"][0]["warnings"]), (&json!(9), &json!(1)));
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), count);
    let declared = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    for (at, (rule, line)) in UNRULY.iter().enumerate() {
        assert!(human.contains(&format!("unruly.tap:{line}: ")) && human.contains(&format!("[{rule}]")), "{human}");
        let finding = &json["findings"][at];
        assert_eq!((&finding["rule"], &finding["line"]), (&json!(rule), &json!(line)));
        assert_eq!(results[at]["ruleId"], *rule);
        assert_eq!(results[at]["locations"][0]["physicalLocation"]["region"]["startLine"], *line);
        assert!(declared.iter().any(|declared| declared["id"] == *rule), "{rule}");
        assert!(junit.contains(&format!("line {line} from the ")) && junit.contains(&format!(": {rule}\"")), "{junit}");
    }
    // A warning doesn't fail the check, so it is no failure either.
    assert_eq!(junit.matches("<failure").count(), count - 1);
    assert!(junit.contains(&format!("tests=\"{count}\" failures=\"{}\"", count - 1)), "{junit}");
}

#[test]
fn sarif_reports_faults_and_files_that_cannot_be_read() {
    let name = path(file("faulty file.ndjson", "Server started\n{\"jsonrpc\":\"2.0\",\"method\":\"m\"}"));
    let missing = path(common::new_file("missing.ndjson"));
    let run = run(&["check", "--format", "sarif", &name, &missing]);
    assert_eq!(run.code, Some(2), "{run:?}");
    let sarif: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&sarif["version"], &sarif["$schema"]),
        (&json!("2.1.0"), &json!("https://json.schemastore.org/sarif-2.1.0.json"))
    );
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let ids: Vec<_> = results.iter().map(|result| result["ruleId"].as_str().unwrap()).collect();
    assert_eq!(ids, ["invalid-literal", "unterminated"]);
    let location = &results[0]["locations"][0]["physicalLocation"];
    assert!(location["artifactLocation"]["uri"].as_str().unwrap().ends_with("faulty%20file.ndjson"), "{location}");
    assert_eq!(location["region"], json!({ "startLine": 1, "startColumn": 1 }));
    let invocation = &sarif["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert_eq!(invocation["toolExecutionNotifications"].as_array().unwrap().len(), 1);
}

#[test]
fn severities_and_exit_codes() {
    let suspicious = recording(
        "suspicious.tap",
        &[
            (0.0, "client", r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#),
            (0.1, "server", r#"{"jsonrpc":"2.0","id":1,"result":{"n":9007199254740993}}"#),
        ],
    );
    let fine = recording(
        "fine.tap",
        &[
            (0.0, "client", r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#),
            (0.1, "server", r#"{"jsonrpc":"2.0","id":1,"result":{"n":1}}"#),
        ],
    );
    for (options, name, code) in [
        (&["check"][..], &suspicious, 0),
        (&["check", "--fail-on", "error"], &suspicious, 0),
        (&["check", "--fail-on", "warning"], &suspicious, 1),
        (&["check", "--fail-on", "warning", "-q"], &suspicious, 1),
        (&["check", "--fail-on", "warning"], &fine, 0),
        (&["check", "-q"], &unruly(), 1),
    ] {
        let run = run(&[options, &[name]].concat());
        assert_eq!(run.code, Some(code), "{options:?} {run:?}");
    }
    assert!(run(&["check", &suspicious]).stdout.contains("2 messages, no faults, 1 warning\n"));
    let plain = path(file("plain.ndjson", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"));
    let run = run(&["check", "--fail-on", "warning", &plain]);
    assert_eq!(run.code, Some(0), "a plain file doesn't say who sent what: {run:?}");
}

#[test]
fn the_session_says_which_rules_apply() {
    let batch = r#"[{"jsonrpc":"2.0","method":"m"}]"#;
    let mcp = recording(
        "mcp.tap",
        &[(0.0, "client", INITIALIZE), (0.1, "server", ACCEPT), (0.2, "client", INITIALIZED), (0.3, "client", batch)],
    );
    let unknown = recording("unknown.tap", &[(0.0, "client", batch)]);
    for (options, name, faults) in [
        (&["check", "--format", "ndjson"][..], &mcp, 1),
        (&["check", "--format", "ndjson", "--rules", "json-rpc"], &mcp, 0),
        (&["check", "--format", "ndjson"], &unknown, 0),
        (&["check", "--format", "ndjson", "--rules", "mcp"], &unknown, 1),
    ] {
        let run = run(&[options, &[name]].concat());
        let found = run.objects().iter().filter(|object| object["kind"] == "fault").count();
        assert_eq!(found, faults, "{options:?} {run:?}");
    }
    assert!(run(&["show", &mcp]).stdout.contains(" fault "), "the same in a transcript");
}

#[test]
fn one_revision_of_mcp_has_batches() {
    const CALLS: &str = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    const ANSWERS: &str = r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]"#;
    for (revision, code) in [("2024-11-05", 1), ("2025-03-26", 0), ("2025-06-18", 1)] {
        let [initialize, accept] = [INITIALIZE, ACCEPT].map(|line| line.replace("2025-11-25", revision));
        let name = recording(
            &format!("batches-{revision}.tap"),
            &[
                (0.0, "client", &initialize),
                (0.1, "server", &accept),
                (0.2, "client", INITIALIZED),
                (0.3, "client", CALLS),
                (0.4, "server", ANSWERS),
            ],
        );
        let run = run(&["check", &name]);
        assert_eq!(run.code, Some(code), "{revision}: {run:?}");
        assert_eq!(run.stdout.contains("[batch-not-allowed]"), code == 1, "{revision}: {run:?}");
    }
}

#[test]
fn equal_findings_are_counted() {
    let lines: Vec<_> = (0..30).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")).collect();
    let lines: Vec<_> = lines.iter().map(|line| (0.0, "server", &**line)).collect();
    let name = recording("equal.tap", &lines);
    let short = run(&["check", &name]).stdout;
    assert_eq!(short.matches("no pending request has this id [unknown-answer]").count(), 20, "{short}");
    assert!(short.contains("10 more findings like that [unknown-answer]\n"), "{short}");
    let all = run(&["check", "--all", &name]).stdout;
    assert_eq!(all.matches("no pending request has this id [unknown-answer]").count(), 30, "{all}");
}

/// A plain file doesn't say who sent what, but what clients refuse can be seen in its lines.
#[test]
fn lines_of_plain_files() {
    let line = r#"{"jsonrpc":"2.0","id":9007199254740993,"result":{"a":1,"a":"\ud83d"}}"#;
    let found = named(&[("byte-order-mark", 1), ("unsafe-id", 1), ("lone-surrogate", 1), ("duplicate-member", 1)]);
    // The second one is long enough to be checked by several threads.
    for (name, rest) in [("short.ndjson", String::new()), ("long.ndjson", format!("{PING}\n").repeat(60_000))] {
        let name = path(file(name, format!("\u{FEFF}{line}\n{rest}")));
        let judged = run(&["check", "--judge-lines", "--format", "ndjson", &name]);
        assert_eq!((judged.code, rules(&judged)), (Some(1), found.clone()));
        assert!(judged.objects().iter().all(|object| object.get("from").is_none()));
        let unjudged = run(&["check", &name]);
        assert_eq!(unjudged.code, Some(0), "{unjudged:?}");
        assert!(unjudged.stdout.contains("starts with a byte order mark, which the check accepts"), "{unjudged:?}");
    }
    let many = path(file("many.ndjson", format!("{line}\n").repeat(50)));
    let folded = run(&["check", "--judge-lines", "--jobs", "2", &many]).stdout;
    assert_eq!(folded.matches("[lone-surrogate]").count(), 21, "{folded}");
}

/// MCP 2026-07-28 has no handshake.
#[test]
fn sessions_without_a_handshake_have_peers_versions_and_capabilities() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"probe","version":"0.9"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;
    let discover = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{meta}}}}}"#);
    let discovered = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{},"prompts":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"demo","version":"1.0"}}}}"#;
    let list = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{{meta}}}}}"#);
    let listed = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"demo","version":"1.0"}}}}"#;
    let name = recording(
        "stateless.tap",
        &[(0.0, "client", &discover), (0.1, "server", discovered), (0.2, "client", &list), (0.3, "server", listed)],
    );
    let show = run(&["show", &name]).stdout;
    for text in ["probe 0.9 offers MCP 2026-07-28: elicitation\n", "demo 1.0 accepts MCP 2026-07-28: prompts, tools\n"]
    {
        assert_eq!(show.matches(text).count(), 1, "{show}");
    }
    let stats = run(&["stats", &name]).stdout;
    assert!(stats.contains("MCP 2026-07-28: probe 0.9 → demo 1.0\n") && stats.contains("no faults"), "{stats}");
    let json: Value = serde_json::from_str(&run(&["stats", "--format", "json", &name]).stdout).unwrap();
    assert!(json.to_string().contains("2026-07-28"), "{json}");
    let page = run(&["report", &name]).stdout;
    assert!(page.contains(r#""program":"demo 1.0""#) && page.contains(r#""program":"probe 0.9""#));
    assert_eq!(run(&["check", "--fail-on", "warning", &name]).code, Some(0));

    // Without discovery, each result says who the server is.
    let name = recording("undiscovered.tap", &[(0.2, "client", &list), (0.3, "server", listed)]);
    let show = run(&["show", &name]).stdout;
    assert!(show.contains("demo 1.0 accepts MCP 2026-07-28\n"), "{show}");
}

#[test]
fn the_documented_rules_are_those_of_the_tool() {
    let listed = run(&["check", "--list-rules"]);
    assert_eq!(listed.code, Some(0));
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/judging-sessions.md")).unwrap();
    assert!(
        page.replace("\r\n", "\n").contains(&listed.stdout),
        "`wireline check --list-rules` prints the table of docs/judging-sessions.md"
    );
}

#[test]
fn the_page_shows_findings() {
    let page = run(&["report", &unruly()]).stdout;
    assert!(page.contains(r#"["server","error","unknown-progress-token","#), "in the row of the message");
    let session = page.split("data-part=\"session\">").nth(1).unwrap();
    assert!(session.split("</script>").next().unwrap().contains("unanswered-request"), "of the session as a whole");
}
