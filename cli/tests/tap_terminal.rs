//! `wireline tap` and `wireline stats` on a terminal of 80 columns.
#![cfg(target_os = "linux")]

use crate::common;
use crate::terminal;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;

use common::{file, new_file, wireline};
use terminal::{Screen, Terminal};

/// A server that answers late, prints noise, and fails.
const SERVER: &str = r#"
    read line; echo 'starting up'; sleep 0.02
    echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'
    read line; read line
    echo '{"jsonrpc":"2.0","method":"notifications/resources/list_changed/with/a/name/that/is/long"}'
    echo '{"jsonrpc":"2.0","id":"a-string-of-an-id-that-is-long","error":{"code":-32601,"message":"no"}}'
    echo '{"jsonrpc":"2.0","id":99,"result":null}'
    exit 3"#;

const CLIENT: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":"a-string-of-an-id-that-is-long","method":"tools/call","params":{"name":"\u001b[2J"}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}"#,
    "\n",
);

/// The expected log, apart from times. The words of the fault are the library's.
const LOG: &str = r#"
   0.002 → request      initialize #1                             88 B
           {"protocolVersion":"2025-11-25"}
                        client offers MCP 2025-11-25: no capabilities
   0.002 → notification notifications/initialized                 54 B
   0.002 → request      tools/call \x1b[2J #"a-string-of-an…     107 B
           {"name":"\u001b[2J"}
   0.002 → request      tools/call slow #3                        71 B
           {"name":"slow"}
   0.003 ← fault        FAULT [invalid-literal]
                        HINT
   0.024 ← response     initialize #1                             84 B  21.8 ms
           {"protocolVersion":"2025-11-25","capabilities":{}}
                        server accepts MCP 2025-11-25: no capabilities
   0.024 ← notification notifications/resources/list_changed/…    90 B
   0.024 ← error        tools/call… #"a-string-of-an… (-32601)    94 B  21.9 ms
                        no
           {"code":-32601,"message":"no"}
   0.024 ← response     (unmatched) #99                           39 B
           null
                        no pending request has this id [unknown-answer]
───────────────────────────────────────────────────────────────────────────────"#;

/// The expected overview at the end.
const OVERVIEW: &str = r#"
30.3 ms, 4 messages from the client (324 B), 4 from the server (323 B)
MCP 2025-11-25: client → server

method                          calls failed    p50    p90    p99    max  bytes
→ tools/call                        2      1 22.0ms 22.0ms 22.0ms 22.0ms   272B
    \x1b[2J                         1      1 22.0ms 22.0ms 22.0ms 22.0ms   201B
    slow                            1      0      –      –      –      –    71B
→ initialize                        1      0 21.9ms 21.9ms 21.9ms 21.9ms   172B
→ notifications/initialized         1      –      –      –      –      –    54B
← notifications/resources/…       1      –      –      –      –      –    90B

1 call failed
  → tools/call \x1b[2J #"a-string-of-an…: -32601 no
1 request was never answered
  → tools/call slow #3, sent at 0.002 s, 27.8 ms before the end
1 response matches no request
  ← #99
1 faulty line or batch entry
  ←     1 invalid-literal"#;

/// What `wireline stats` prints between the overview and the latencies.
const SIZES: &str = r#"

message sizes
  <    64 B █████████████▍                                   2  25.0%
  <   128 B ████████████████████████████████████████         6  75.0%"#;

/// Runs the tool on a terminal, and returns what it writes.
fn written(args: &[&str], has_colours: bool, code: i32) -> String {
    // Written once, because the tests run in parallel.
    static INPUT: OnceLock<PathBuf> = OnceLock::new();
    let input = INPUT.get_or_init(|| file("tap_terminal-client.ndjson", CLIENT));
    let terminal = Terminal::open();
    let mut command = wireline(args);
    command.env("TERM", "xterm").env("NO_COLOR", if has_colours { "" } else { "1" });
    command.stdin(std::fs::File::open(input).unwrap()).stderr(terminal.stream());
    command.stdout(if args[0] == "stats" { terminal.stream() } else { Stdio::null() });
    let (status, written) = terminal.spawn(command).finish();
    assert_eq!(status.code(), Some(code), "{written}");
    written
}

/// Removes everything that depends on timing: times, fractions, and the blanks around them.
fn timeless(text: &str) -> String {
    let number_of = |word: &str| word.trim_end_matches(',').parse::<f64>().is_ok();
    let units = ["ns", "µs", "ms", "s", "ns,", "µs,", "ms,", "s,"];
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut timeless = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let is_before_unit = words.get(at + 1).is_some_and(|next| units.contains(next)) && number_of(word);
            let is_unit = at > 0 && units.contains(word) && number_of(words[at - 1]);
            // Like `22.0ms` or `25.0%`.
            let digits = word.trim_end_matches(|c: char| c.is_alphabetic() || c == '%' || c == ',');
            let is_dense = number_of(digits) && (units.contains(&&word[digits.len()..]) || digits.contains('.'));
            timeless.push(if is_before_unit || is_unit || is_dense { "0" } else { word });
        }
        timeless.join(" ")
    };
    text.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Replaces the library's words for a fault, which are wrapped, with placeholders.
fn without_fault_text(log: &str) -> String {
    let (before, fault) = log.split_once("line 1, column 1: ").expect("expected a fault on line 1");
    let (_, hint) = fault.split_once("[invalid-literal]\n").expect("expected the kind of the fault");
    let indent = " ".repeat(24);
    let after = hint.lines().skip_while(|line| line.starts_with(&indent)).collect::<Vec<_>>().join("\n");
    assert!(hint.starts_with(&indent), "expected a hint: {log}");
    format!("{before}FAULT [invalid-literal]\n{indent}HINT\n{after}")
}

#[test]
fn log_is_readable() {
    let mut shown = Vec::new();
    for has_colours in [true, false] {
        let written = written(&["tap", "--rules", "json-rpc", "--show", "--", "sh", "-c", SERVER], has_colours, 3);
        let screen = Screen::of(&written);
        assert_eq!((screen.wraps, written.contains('\x1b')), (0, has_colours), "{}", screen.text());
        let expected = [LOG, OVERVIEW, "\nserver exited with code 3"].concat();
        assert_eq!(timeless(&without_fault_text(&screen.text())), timeless(&expected), "{}", screen.text());
        // Sizes are aligned.
        let messages = screen.lines().into_iter().filter(|line| line.contains(" B") && line.contains("0."));
        for line in messages.filter(|line| !line.contains("messages")) {
            assert_eq!(line.chars().nth(69), Some('B'), "{line}");
        }
        shown.push(written);
    }
    // Problems are red.
    for part in ["\x1b[31merror\x1b[0m  ", "\x1b[31mline 1, column 1: ", "\x1b[31m1 request was never answered"] {
        assert!(shown[0].contains(part), "{:?}", shown[0]);
    }
}

#[test]
fn statistics_are_readable() {
    let recording = new_file("tap_terminal.tap");
    let name = recording.to_str().unwrap();
    written(&["tap", "-qq", "--record", name, "--", "sh", "-c", SERVER], false, 3);
    for has_colours in [true, false] {
        let written = written(&["stats", "--rules", "json-rpc", name], has_colours, 0);
        let screen = Screen::of(&written);
        assert_eq!((screen.wraps, written.contains('\x1b')), (0, has_colours), "{}", screen.text());
        let (overview, latencies) =
            screen.text().split_once("latencies\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(timeless(&overview), timeless(&[OVERVIEW, SIZES].concat()), "{overview}");
        let bars = latencies.lines().filter(|line| line.contains('█') && line.ends_with('%')).count();
        assert!((1..=2).contains(&bars), "{latencies}");
    }
}
