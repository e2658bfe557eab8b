//! `tap`, `stats`, `show` and `report` give the same figures for the same session.
#![cfg(unix)]

use crate::common;
use crate::tapping;

use std::collections::BTreeMap;
use std::process::Command;

use common::{SESSION, file, new_file, run};
use serde_json::{Value, json};
use tapping::{session, text};

/// The lines below the title of the table of methods.
fn table(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| !line.starts_with("method ")).skip(1).take_while(|line| !line.is_empty()).collect()
}

/// What `stats` says of each method, by its sender, name and subject: messages, failures, bytes, and percentiles in
/// microseconds. Methods with subjects have rows of their own for what is about nothing.
type Figures = BTreeMap<(String, String, String), Vec<Option<u64>>>;

fn of_stats(name: &str) -> (Figures, Value) {
    let mut objects = run(&["stats", "--rules", "mcp", "--format", "ndjson", name]).objects();
    let totals = objects.pop().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parents: Vec<_> = objects.iter().filter(|object| object["subject"].is_string()).cloned().collect();
    // A method with subjects has their sum.
    let is_sum = |object: &Value| {
        object["subject"].is_null()
            && parents.iter().any(|one| one["method"] == object["method"] && one["from"] == object["from"])
    };
    let figures = objects.iter().filter(|object| !is_sum(object)).map(|object| {
        let key = (text(&object["from"]), text(&object["method"]), text(&object["subject"]));
        let count = |name: &str| object[name].as_u64();
        let messages = Some(count("requests").unwrap() + count("notifications").unwrap());
        let failed = count("failed").filter(|_| count("requests") != Some(0));
        let percentile = |name: &str| object["seconds"][name].as_f64().map(|seconds| (seconds * 1e6).round() as u64);
        let percentiles = ["p50", "p90", "p99", "max"].map(percentile);
        (key, [&[messages, failed, count("bytes")][..], &percentiles].concat())
    });
    (figures.collect(), totals)
}

/// The same from the page of `report`, computed by its own script. `None` without Node.js.
fn of_report(name: &str) -> Option<(Figures, Vec<Value>)> {
    const SCRIPT: &str = r#"
        const page = require("fs").readFileSync(process.argv[2], "utf8");
        const elements = [...page.matchAll(/<script type="application\/json" data-part="(\w+)">([^]*?)<\/script>/g)];
        globalThis.document = {
            querySelectorAll: () => elements.map(([, part, textContent]) => ({ dataset: { part }, textContent, remove() {} })),
        };
        const script = page.slice(page.lastIndexOf("<script>") + "<script>".length, page.lastIndexOf("</script>"));
        const upToMain = script.slice(0, script.indexOf("// The page: header, filter, tabs"));
        const figures = `
            const recording = new Recording();
            const rows = [...Array(recording.length).keys()];
            const groups = groupByMethod(recording, rows).map((group) => ({
                ...group, latencies: [0.5, 0.9, 0.99, 1].map((fraction) => quantile(group.latencies, fraction) ?? null),
            }));
            console.log(JSON.stringify({ groups, sessions: recording.sessions }));`;
        eval(upToMain + figures);"#;
    let page =
        file(&format!("{}.html", name.rsplit('/').next().unwrap()), run(&["report", "--rules", "mcp", name]).stdout);
    let script = file(&format!("{}.js", name.rsplit('/').next().unwrap()), SCRIPT);
    let output = Command::new("node").args([&script, &page]).output().ok()?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let figures = found["groups"].as_array().unwrap().iter().map(|group| {
        let from = if group["isFromServer"] == true { "server" } else { "client" };
        let string = |name: &str| group[name].as_str().unwrap().to_owned();
        let failed = group["failed"].as_u64().filter(|_| group["calls"] != 0);
        let latencies = group["latencies"].as_array().unwrap().iter().map(Value::as_u64);
        let figures = [group["count"].as_u64(), failed, group["bytes"].as_u64()].into_iter().chain(latencies);
        ((from.to_owned(), string("method"), string("tool")), figures.collect())
    });
    Some((figures.collect(), found["sessions"].as_array().unwrap().clone()))
}

/// The same from `show`, as far as a transcript has them: messages and bytes of each side.
fn of_show(name: &str) -> [(u64, u64); 2] {
    let mut sums = [(0, 0); 2];
    for object in run(&["show", "--rules", "mcp", "--format", "ndjson", name]).objects() {
        let is_message = ["request", "notification", "response", "error"].contains(&object["kind"].as_str().unwrap());
        if is_message {
            let sum = &mut sums[usize::from(object["from"] == "server")];
            *sum = (sum.0 + 1, sum.1 + object["len"].as_u64().unwrap());
        }
    }
    sums
}

#[test]
fn all_commands_give_the_same_figures() {
    let calls: String = (0..200)
        .map(|id| {
            let name = ["echo", "add", "fail"][id % 3];
            format!("{}\r\n", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } }))
        })
        .collect();
    let answering = r#"
        while read -r line; do
            case $line in *'"id":7,'*) continue;; *'"id":9,'*) printf '{"jsonrpc":"2.0","id":9,"result":1}\n'; continue;; esac
            id=${line#*\"id\":}; id=${id%%,*}
            case $line in
                *fail*) printf '  {"jsonrpc":"2.0","id":%s,"result":{"content":[],"isError":true}}\r\n\n' "$id";;
                *add*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"no"}}\n' "$id";;
                *) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\n{"jsonrpc":"2.0","method":"note"}\n' "$id";;
            esac
        done"#;
    let sample = std::fs::read(SESSION).unwrap();
    for (name, server, input) in [("calls.tap", answering, calls.as_bytes()), ("sample.tap", "cat", &sample)] {
        let recording = new_file(name);
        let name = recording.to_str().unwrap();
        let output = session(&["-q", "--rules", "mcp", "--record", name], &["sh", "-c", server], input);
        let (log, stats) = (text(&output.stderr), run(&["stats", "--rules", "mcp", name]).stdout);
        assert!(!table(log).is_empty(), "{log}");
        assert_eq!(table(log), table(&stats));
        let first = |text: &str| text.lines().find(|line| line.contains(" from the client (")).unwrap().to_owned();
        assert_eq!(first(log), first(&stats));

        let (figures, totals) = of_stats(name);
        let shown = of_show(name);
        for (side, (messages, _)) in ["client", "server"].iter().zip(shown) {
            assert_eq!(totals["senders"][side]["messages"], messages);
        }
        let Some((reported, sessions)) = of_report(name) else { continue };
        assert_eq!(reported, figures);
        for (at, side) in ["client", "server"].iter().enumerate() {
            for what in ["messages", "bytes"] {
                assert_eq!(sessions[0]["traffic"][at][what], totals["senders"][side][what], "{side} {what}");
            }
        }
    }
}
