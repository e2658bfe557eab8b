//! Bad lines, from clients and from servers.

/// A bad line.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: &'static str,
    /// The line without its line ending.
    pub line: Vec<u8>,
}

/// Bad lines from a client, the last two longer than `max_line_len`. The id is 7 wherever there is one that fits.
pub fn bad_lines(max_line_len: usize) -> Vec<Case> {
    let mut cases: Vec<Case> = BAD_LINES.iter().map(|&(name, line)| Case { name, line: line.to_vec() }).collect();
    cases.push(Case { name: "over the limit, id first", line: oversized(max_line_len, true) });
    cases.push(Case { name: "over the limit, id last", line: oversized(max_line_len, false) });
    cases
}

const BAD_LINES: &[(&str, &[u8])] = &[
    ("noise", b"npm WARN deprecated left-pad@1.3.0"),
    ("invalid UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{\"x\":\"\xff\"}}"),
    ("byte order mark", b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}"),
    ("cut off", br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"su"#),
    ("NaN", br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":NaN}}"#),
    ("trailing comma", br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":1,}}"#),
    ("two messages", br#"{"jsonrpc":"2.0","id":7,"method":"ping"}{"jsonrpc":"2.0","id":8,"method":"ping"}"#),
    ("no version", br#"{"id":7,"method":"ping"}"#),
    ("no method", br#"{"jsonrpc":"2.0","id":7}"#),
    ("numeric method", br#"{"jsonrpc":"2.0","id":7,"method":1}"#),
    ("string params", br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}"#),
    ("method twice", br#"{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}"#),
    ("null params", br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":null}"#),
    ("id twice", br#"{"jsonrpc":"2.0","id":7,"method":"ping","id":7}"#),
    ("null id", br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#),
    ("batch", br#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#),
    ("id beyond 64 bits", br#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#),
    ("lone surrogate", br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\ud800"}}"#),
    ("number out of range", br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":1e999}}"#),
    ("result without id", br#"{"jsonrpc":"2.0","result":{}}"#),
    ("version 1.0", br#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#),
    ("numeric version", br#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#),
    ("version twice", br#"{"jsonrpc":"2.0","id":7,"method":"ping","jsonrpc":"2.0"}"#),
    ("params twice", br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{},"params":{}}"#),
    ("unknown member twice", br#"{"jsonrpc":"2.0","id":7,"method":"ping","x":1,"x":2}"#),
    ("member of params twice", br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"a":2}}"#),
    ("unknown member", br#"{"jsonrpc":"2.0","id":7,"method":"ping","x":1}"#),
    ("escaped member name", br#"{"jsonrpc":"2.0","id":7,"m\u0065thod":"ping"}"#),
    ("array params", br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#),
    ("null params in a notification", br#"{"jsonrpc":"2.0","method":"notifications/initialized","params":null}"#),
    ("null params in a call of a tool", br#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":null}"#),
    ("fractional id", br#"{"jsonrpc":"2.0","id":7.5,"method":"ping"}"#),
    ("id with zero fraction", br#"{"jsonrpc":"2.0","id":7.0,"method":"ping"}"#),
    ("CRLF", b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\r"),
    ("blank line", b""),
    ("spaces alone", b" \t"),
    ("lone surrogate in method", br#"{"jsonrpc":"2.0","id":7,"method":"\ud800"}"#),
    ("lone surrogate in id", br#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#),
    ("id beyond 2^53", br#"{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}"#),
];

fn oversized(max_line_len: usize, id_first: bool) -> Vec<u8> {
    let text = "x".repeat(max_line_len);
    let params = format!(r#""method":"tools/call","params":{{"name":"length","arguments":{{"text":"{text}"}}}}"#);
    match id_first {
        true => format!(r#"{{"jsonrpc":"2.0","id":7,{params}}}"#),
        false => format!(r#"{{"jsonrpc":"2.0",{params},"id":7}}"#),
    }
    .into_bytes()
}

/// Unusable answers to a call, where `ID` stands for its id.
pub const BAD_RESPONSES: &[(&str, &str)] = &[
    ("NaN in a result", r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[],"x":NaN}}"#),
    ("array result", r#"{"jsonrpc":"2.0","id":ID,"result":[]}"#),
    ("result and error", r#"{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"m"}}"#),
    ("no version", r#"{"id":ID,"result":{"content":[]}}"#),
    ("neither result nor error", r#"{"jsonrpc":"2.0","id":ID}"#),
    ("error code beyond 32 bits", r#"{"jsonrpc":"2.0","id":ID,"error":{"code":2147483648,"message":"m"}}"#),
    ("error without message", r#"{"jsonrpc":"2.0","id":ID,"error":{"code":1}}"#),
];
