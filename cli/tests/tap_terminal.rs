//! `wireline tap` and `wireline stats`, as they are seen on a terminal of 80 columns.
#![cfg(target_os = "linux")]

mod pty;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use pty::{Screen, Terminal};

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

/// A session as it should look, whatever the times are.
const SESSION: &str = r#"
   0.002 → request      initialize #1                             88 B
           {"protocolVersion":"2025-11-25"}
   0.002 → notification notifications/initialized                 54 B
   0.002 → request      tools/call #"a-string-of-an…           107 B
           {"name":"\u001b[2J"}
   0.002 → request      tools/call #3                             71 B
           {"name":"slow"}
   0.003 ← fault        line 1, column 1: expected a number, true, false or
                        null [invalid-literal]
                        this looks like a log line on stdout: logs belong on
                        stderr
   0.024 ← response     initialize #1                             84 B  21.8 ms
           {"protocolVersion":"2025-11-25","capabilities":{}}
   0.024 ← notification notifications/resources/list_changed/…    90 B
   0.024 ← error        tools/call #"a-string-of-an… (-32601)    94 B  21.9 ms
           {"code":-32601,"message":"no"}
   0.024 ← response     (to nothing) #99                          39 B
           null
                        nothing that waits for an answer has this id
───────────────────────────────────────────────────────────────────────────────"#;

/// What is said of all of it at the end.
const OVERVIEW: &str = r#"
30.3 ms, 4 messages from the client (324 B), 4 from the server (323 B)

method                          calls errors    p50    p90    p99    max  bytes
→ tools/call                        2      1 22.0ms 22.0ms 22.0ms 22.0ms   272B
→ initialize                        1      0 21.9ms 21.9ms 21.9ms 21.9ms   172B
→ notifications/initialized         1      –      –      –      –      –    54B
← notifications/resources/…       1      –      –      –      –      –    90B

1 request was never answered
  → tools/call #3, at 0.002, 27.8 ms before the end
1 answer to nothing that was asked
  ← #99
1 faulty line or entry
  ←     1 invalid-literal"#;

/// What `wireline stats` adds to that, before the latencies.
const SIZES: &str = r#"

sizes of messages
  <    64 B █████████████▍                                   2  25.0%
  <   128 B ████████████████████████████████████████         6  75.0%"#;

/// What a command writes to a terminal, with colours or without.
fn written(args: &[&str], has_colours: bool, code: i32) -> String {
    // Written once, as the tests run at the same time.
    static INPUT: OnceLock<PathBuf> = OnceLock::new();
    let input = INPUT.get_or_init(|| {
        let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tap_terminal-client");
        std::fs::write(&input, CLIENT).unwrap();
        input
    });
    let terminal = Terminal::open();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireline"));
    command.args(args).env("TERM", "xterm").env("NO_COLOR", if has_colours { "" } else { "1" });
    command.stdin(std::fs::File::open(input).unwrap()).stderr(terminal.stream());
    command.stdout(if args[0] == "stats" { terminal.stream() } else { Stdio::null() });
    let (status, written) = terminal.spawn(command).finish();
    assert_eq!(status.code(), Some(code), "{written}");
    written
}

/// Without what depends on how long things take: fractions, times, and how far they are apart.
fn timeless(text: &str) -> String {
    let number_of = |word: &str| word.trim_end_matches(',').parse::<f64>().is_ok();
    let units = ["ns", "µs", "ms", "s", "ns,", "µs,", "ms,", "s,"];
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut timeless = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let is_before_unit = words.get(at + 1).is_some_and(|next| units.contains(next)) && number_of(word);
            let is_unit = at > 0 && units.contains(word) && number_of(words[at - 1]);
            // As in `22.0ms`, and as in `25.0%`.
            let digits = word.trim_end_matches(|c: char| c.is_alphabetic() || c == '%' || c == ',');
            let is_dense = number_of(digits) && (units.contains(&&word[digits.len()..]) || digits.contains('.'));
            timeless.push(if is_before_unit || is_unit || is_dense { "0" } else { word });
        }
        timeless.join(" ")
    };
    text.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_session_reads_well() {
    let mut shown = Vec::new();
    for has_colours in [true, false] {
        let written = written(&["tap", "--show", "--", "sh", "-c", SERVER], has_colours, 3);
        let screen = Screen::of(&written);
        assert_eq!((screen.wraps, written.contains('\x1b')), (0, has_colours), "{}", screen.text());
        let expected = [SESSION, OVERVIEW, "\nthe server ended with code 3"].concat();
        assert_eq!(timeless(&screen.text()), timeless(&expected), "{}", screen.text());
        // Sizes stand one below the other.
        let messages = screen.lines().into_iter().filter(|line| line.contains(" B") && line.contains("0."));
        for line in messages.filter(|line| !line.contains("messages")) {
            assert_eq!(line.chars().nth(69), Some('B'), "{line}");
        }
        shown.push(written);
    }
    // Whatever is wrong is red.
    for part in ["\x1b[31merror  ", "\x1b[31mline 1, column 1: ", "\x1b[31m1 request was never answered"] {
        assert!(shown[0].contains(part), "{:?}", shown[0]);
    }
}

#[test]
fn statistics_read_well() {
    let record = Path::new(env!("CARGO_TARGET_TMPDIR")).join("terminal.tap");
    let _ = std::fs::remove_file(&record);
    let name = record.to_str().unwrap();
    written(&["tap", "-qq", "--record", name, "--", "sh", "-c", SERVER], false, 3);
    for has_colours in [true, false] {
        let written = written(&["stats", name], has_colours, 0);
        let screen = Screen::of(&written);
        assert_eq!((screen.wraps, written.contains('\x1b')), (0, has_colours), "{}", screen.text());
        let (told, latencies) =
            screen.text().split_once("latencies\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(timeless(&told), timeless(&[OVERVIEW, SIZES].concat()), "{told}");
        let bars = latencies.lines().filter(|line| line.contains('█') && line.ends_with('%')).count();
        assert!((1..=2).contains(&bars), "{latencies}");
    }
}
