//! `wireline report`. What the page does is tested in a browser, by `.ci/report-page`.

use crate::common;

use common::{PING, file, new_file, run, run_with_input};
use serde_json::{Value, json};

const HOSTILE: &str = "</script><script>alert(1)</script><!--";

/// A recording with these records.
fn recording(lines: &[String]) -> String {
    let mut text = "{\"wireline-recording\":1,\"time\":1.0}\n".to_owned();
    for line in lines {
        text.push_str(&format!("{line}\n"));
    }
    text
}

fn line(from: &str, time: f64, line: &str) -> String {
    format!("{{\"time\":{time:?},\"from\":\"{from}\",\"line\":{}}}", json!(line))
}

/// The parsed contents of all elements with this part of the data.
fn parts(page: &str, name: &str) -> Vec<Value> {
    let opening = format!("<script type=\"application/json\" data-part=\"{name}\">");
    let parts = page.split(&opening).skip(1).map(|rest| rest.split("</script>").next().unwrap());
    parts.map(|json| serde_json::from_str(json).unwrap()).collect()
}

fn session() -> String {
    let error = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -1, "message": HOSTILE } }).to_string();
    recording(&[line("client", 1.5, PING), line("server", 1.75, &error), line("server", 2.0, HOSTILE)])
}

#[test]
fn page_holds_every_message_as_data() {
    let path = file("report.tap", session());
    let made = run(&["report", path.to_str().unwrap()]);
    assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""));
    let page = &made.stdout;
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("alert(1)</script>"));

    let payloads = parts(page, "payloads");
    let payloads = payloads[0].as_array().unwrap();
    assert_eq!((payloads.len(), &payloads[0], &payloads[2]), (3, &json!(PING), &json!(HOSTILE)));
    let rows = parts(page, "rows");
    // Time, kind and flags, length, label, id, request, note.
    assert_eq!(rows[0][0], json!([500_000, 1 << 6, PING.len(), 0, "1", 0, 0]));
    let response = &rows[0][1];
    assert_eq!((&response[0], &response[5], &response[6]), (&json!(750_000), &json!(0), &json!([-1, HOSTILE])));
    assert_eq!(rows[0][2][6][0], "invalid-literal");
    assert_eq!(parts(page, "session")[0]["duration"], 1_000_000);
    let summary = &parts(page, "summary")[0];
    assert_eq!((&summary["title"], &summary["labels"]), (&json!("report.tap"), &json!([["ping", ""]])));
}

#[test]
fn limits_are_kept_and_reported() {
    let path = file("report-limits.tap", session());
    let path = path.to_str().unwrap();
    let without = run(&["report", "--max-payload", "0", path]);
    assert_eq!((without.code, without.stderr.as_str()), (Some(0), ""));
    assert_eq!(parts(&without.stdout, "payloads")[0], json!(["", "", ""]));
    let cut = run(&["report", "--max-payload", "70", path]);
    assert!(cut.stderr.starts_with("wireline: 1 payload was cut to 70 bytes"), "{}", cut.stderr);
    let full = run(&["report", "--max-page", "1", path]);
    assert!(full.stderr.starts_with("wireline: 3 messages were left out"), "{}", full.stderr);
    assert_eq!(parts(&full.stdout, "summary")[0]["leftOut"], 3);
}

/// In the order of the recording, in one piece, and as text.
#[test]
fn standard_error_is_between_the_messages() {
    let mut lines = vec![line("stderr", 1.25, HOSTILE), line("client", 1.5, PING), line("stderr", 1.75, "")];
    lines.push(r#"{"time":1.75,"from":"stderr","line":"half ","more":true}"#.to_owned());
    lines.extend([
        line("stderr", 2.0, "a line"),
        r#"{"time":2.5,"from":"stderr","base64":"/w==","open":true}"#.to_owned(),
    ]);
    let path = file("report-stderr.tap", recording(&lines));
    let path = path.to_str().unwrap();
    let made = run(&["report", path]);
    assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""));
    assert!(!made.stdout.contains("alert(1)</script>"));
    assert!(made.stdout.contains(",\n\"half a line\",\n\"\\udcff\"]"), "a byte that isn't UTF-8 keeps its value");
    let is_stderr = |row: &Value| row[1] == json!(6 << 1 | 1);
    let rows = &parts(&made.stdout, "rows")[0];
    let are_stderr: Vec<bool> = rows.as_array().unwrap().iter().map(is_stderr).collect();
    assert_eq!(are_stderr, [true, false, true, true, true]);
    assert_eq!((&rows[3][0], &rows[3][2]), (&json!(1_000_000), &json!("half a line".len())));
    assert_eq!(parts(&made.stdout, "session")[0]["stderrLines"], 4);

    for options in [["--no-stderr", "--max-payload=1K"], ["--max-payload", "0"]] {
        let without = run(&[&["report"], &options[..], &[path]].concat());
        assert_eq!(parts(&without.stdout, "rows")[0].as_array().unwrap().len(), 1, "{options:?}");
    }
    let full = run(&["report", "--max-page", "1", path]);
    let said = "wireline: 1 message was left out because the page is full: see --max-page\n\
        wireline: 4 lines of standard error were left out because the page is full: see --max-page\n";
    assert_eq!((full.stderr.as_str(), &parts(&full.stdout, "summary")[0]["leftOutLines"]), (said, &json!(4)));
}

#[test]
fn sessions_are_kept_apart() {
    let made = run_with_input(&["report", "--title", HOSTILE, "-"], session().repeat(2));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(parts(&made.stdout, "session").len(), 2);
    let rows = parts(&made.stdout, "rows");
    assert_eq!((rows.len(), &rows[0][0][5], &rows[1][0][5]), (2, &json!(0), &json!(0)));
    assert_eq!(parts(&made.stdout, "summary")[0]["title"], HOSTILE);
}

#[test]
fn sessions_that_are_cut_off_are_marked() {
    let whole = format!("{}{{\"time\":3.0,\"event\":\"end\",\"code\":0}}\n", session());
    // A `wireline tap` that was killed leaves no end, and perhaps half a record, before the next one appends.
    let half = format!("{}{{\"time\":2.5,\"fr\n", session());
    let made = run_with_input(&["report", "-"], [whole.as_str(), &half, &whole].concat());
    let are_cut_off: Vec<bool> =
        parts(&made.stdout, "session").iter().map(|session| session["isCutOff"].as_bool().unwrap()).collect();
    assert_eq!(are_cut_off, [false, true, false]);
    assert_eq!(parts(&made.stdout, "summary")[0]["unreadable"], "line 10 is not a record of a session");
    assert_eq!((made.code, made.stderr.contains("line 10 is not a record")), (Some(2), true), "{}", made.stderr);

    let made = run_with_input(&["report", "-"], whole);
    assert_eq!((made.code, &parts(&made.stdout, "summary")[0]["unreadable"]), (Some(0), &Value::Null));
}

#[test]
fn failures_name_the_file() {
    let plain = file("report-plain.ndjson", PING);
    let refused = run(&["report", plain.to_str().unwrap()]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    assert!(
        refused.stderr.contains("report-plain.ndjson is not a recording: `wireline tap --record"),
        "{}",
        refused.stderr
    );
    let missing = run(&["report", "there/is/no/such/file"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.starts_with("wireline: cannot read there/is/no/such/file: "), "{}", missing.stderr);

    // What was readable is in the page all the same.
    let broken = file("report-broken.tap", format!("{}garbage\n", session()));
    let output = new_file("report-broken.html");
    let made = run(&["report", broken.to_str().unwrap(), "--output", output.to_str().unwrap()]);
    assert_eq!((made.code, made.stdout.as_str()), (Some(2), ""));
    assert!(made.stderr.contains("line 5 is not a record"), "{}", made.stderr);
    let page = std::fs::read_to_string(output).unwrap();
    assert_eq!(parts(&page, "payloads")[0].as_array().unwrap().len(), 3);
}

/// What happens on `--open` where the program that opens files is a script, and its folder all of `PATH`.
#[cfg(unix)]
mod open {
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;

    const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

    /// A new folder with a recording, and with an opener that exits with this code, if any.
    fn folder(name: &str, opener_code: Option<i32>) -> PathBuf {
        let folder = new_file(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let end = "{\"time\":3.0,\"event\":\"end\",\"code\":0}\n";
        std::fs::write(folder.join("session.tap"), session() + end).unwrap();
        if let Some(code) = opener_code {
            // A shell writes the script: one that another test's child has inherited open could not be started.
            let script = format!("#!/bin/sh\nprintf %s \"$1\" > opened\nexit {code}\n");
            let write = format!("cat > {OPENER} && chmod +x {OPENER}");
            let mut shell = Command::new("sh");
            shell.args(["-c", &write]).current_dir(&folder).stdin(std::process::Stdio::piped());
            let mut shell = shell.spawn().unwrap();
            std::io::Write::write_all(&mut shell.stdin.take().unwrap(), script.as_bytes()).unwrap();
            assert!(shell.wait().unwrap().success());
        }
        folder
    }

    /// Runs `wireline report --open session.tap` in the folder, and returns the path that the opener got.
    fn report(folder: &Path, args: &[&str]) -> (common::Run, Option<PathBuf>) {
        let mut command = common::wireline(&[&["report", "--open", "session.tap"], args].concat());
        command.current_dir(folder).env("PATH", folder).env("TMPDIR", folder);
        let run = common::finish(command.spawn().unwrap());
        (run, std::fs::read_to_string(folder.join("opened")).ok().map(PathBuf::from))
    }

    #[test]
    fn opens_a_temporary_file() {
        let folder = folder("temporary", Some(0));
        let (run, opened) = report(&folder, &[]);
        let page = opened.unwrap();
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
        assert_eq!(run.stderr, format!("wireline: the page is {}\n", page.display()));
        assert_eq!(page.parent(), Some(&*folder));
        assert_eq!(std::fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(parts(&std::fs::read_to_string(page).unwrap(), "summary")[0]["title"], "session.tap");
    }

    #[test]
    fn opens_the_output() {
        let folder = folder("output", Some(0));
        let (run, opened) = report(&folder, &["--output=-page.html"]);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
        let opened = opened.unwrap();
        assert!(opened.is_absolute(), "{}", opened.display());
        assert_eq!(opened.canonicalize().unwrap(), folder.join("-page.html").canonicalize().unwrap());

        // What could be read of a broken recording is worth a look.
        std::fs::write(folder.join("session.tap"), session() + "garbage\n").unwrap();
        std::fs::remove_file(folder.join("opened")).unwrap();
        let (run, opened) = report(&folder, &["--output", "page.html"]);
        assert_eq!((run.code, opened.unwrap().file_name().unwrap()), (Some(2), "page.html".as_ref()));
        assert!(run.stderr.contains("line 5 is not a record"), "{}", run.stderr);
    }

    #[test]
    fn says_why_it_cannot_open_the_page() {
        let failing = folder("failing", Some(3));
        let (run, page) = report(&failing, &[]);
        let message = format!(
            "wireline: cannot open a browser: `{OPENER}` failed (exit status: 3); the page is {}\n",
            page.unwrap().display()
        );
        assert_eq!((run.code, run.stderr), (Some(2), message));

        let (run, page) = report(&folder("nothing", None), &["--output", "page.html"]);
        assert_eq!((run.code, page), (Some(2), None));
        let message = format!("wireline: cannot open a browser: found no `{OPENER}`");
        assert!(
            run.stderr.starts_with(&message) && run.stderr.ends_with("; the page is page.html\n"),
            "{}",
            run.stderr
        );
    }
}
