//! The acceptance table that every code path is tested against, and a notation for results.
#![allow(dead_code, unreachable_pub, reason = "each test file uses only part of it")]

use wireline::{Decoder, Fault, Frame, Message, RawJson, Rules};

pub mod framings;

/// A line and the result expected under each dialect, in the notation of [`describe`].
pub struct Case {
    pub line: Vec<u8>,
    /// In the order of [`Dialect::ALL`].
    expected: [String; Dialect::ALL.len()],
}

impl Case {
    pub fn expected(&self, dialect: Dialect) -> &str {
        &self.expected[dialect as usize]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    JsonRpc,
    Mcp,
    Acp,
    Codex,
    Electrum,
    Stratum,
}

impl Dialect {
    pub const ALL: [Self; 6] = [Self::JsonRpc, Self::Mcp, Self::Acp, Self::Codex, Self::Electrum, Self::Stratum];

    pub fn rules(self) -> Rules {
        match self {
            Self::JsonRpc => Rules::json_rpc(),
            Self::Mcp => Rules::mcp(),
            Self::Acp => Rules::acp(),
            Self::Codex => Rules::codex(),
            Self::Electrum => Rules::electrum(),
            Self::Stratum => Rules::stratum(),
        }
    }

    /// The notification that cancels a request, and the member of its params with the request's id.
    pub fn cancellation(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::JsonRpc => Some(("$/cancelRequest", "id")),
            Self::Mcp => Some(("notifications/cancelled", "requestId")),
            Self::Acp => Some(("$/cancel_request", "requestId")),
            Self::Codex | Self::Electrum | Self::Stratum => None,
        }
    }

    /// Whether what is sent says that it is JSON-RPC 2.0.
    pub fn writes_version(self) -> bool {
        !matches!(self, Self::Codex | Self::Stratum)
    }

    /// Whether a faulty line without an id is answered.
    pub fn answers_without_id(self) -> bool {
        !matches!(self, Self::Mcp | Self::Codex)
    }
}

/// How many cases a long test tries: as many as usual, times `WIRELINE_TIMES` if that is set.
pub fn times(usual: usize) -> usize {
    usual * std::env::var("WIRELINE_TIMES").map_or(1, |times| times.parse().expect("WIRELINE_TIMES is a number"))
}

/// Silences panics whose message is "on purpose".
pub fn quiet_panics_on_purpose() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&"on purpose") {
                print(info);
            }
        }));
    });
}

/// Numbers that look random and are the same in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ word >> 31) % limit as u64) as usize
    }
}

/// Lines that have ended a connection in some implementation, each with the id of its one response, if it must get one.
pub fn hostile_lines() -> Vec<(Vec<u8>, Option<String>)> {
    let string = |len: usize| format!("\"{}\"", "i".repeat(len - 2));
    let request = |id: &str, rest: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"no such"{rest}}}"#);
    let with_id = |id: &str, rest: &str| (request(id, rest).into_bytes(), Some(id.to_owned()));
    let deep = format!(r#","params":{}{}"#, "[".repeat(200), "]".repeat(200));
    let long = format!(r#","params":["{}"]"#, "x".repeat(16 << 20));
    let batch = [request("\"batch 1\"", ""), "1".into(), request("\"batch 2\"", ""), request("[]", "")].join(",");
    let without_id: [&[u8]; 30] = [
        b"Listening...",
        b"",
        b"\r",
        b" \t \r",
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"{",
        b"}",
        b"[",
        b"[]",
        b"[1,2,3]",
        b"{}",
        b"null",
        b"1e999",
        b"\"\\ud800\"",
        b"Content-Length: 10\r",
        br#"{"jsonrpc":"2.0","method":"no such"}"#,
        b"{\"jsonrpc\":\"2.0\",\r\"method\":\"no such\"}",
        br#"{"jsonrpc":"2.0","method":"no such","params":1}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}"#,
        br#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":{}}}"#,
        br#"{"jsonrpc":"2.0","id":[1],"method":"no such"}"#,
        br#"{"jsonrpc":"2.0","id":null,"method":"no such"}"#,
        br#"{"jsonrpc":"2.0","id":-0.0,"method":"no such"}"#,
        br#"{"jsonrpc":"2.0","id":"stray 1","result":{}}"#,
        br#"{"jsonrpc":"2.0","id":"stray 2","error":{"code":1,"message":""}}"#,
        br#"{"jsonrpc":"2.0","id":"stray 3","result":1,"error":2}"#,
        br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
        br#"{"jsonrpc":"2.0","id":"twice","id":"twice","method":"no such"}"#,
    ];
    let mut lines: Vec<_> = without_id.map(|line| (line.to_vec(), None)).into();
    lines.extend([
        with_id("\"unknown\"", ""),
        with_id("\"\\u0000\"", ""),
        with_id(&string(1024), ""),
        with_id("\"scalar\"", ",\"params\":1"),
        with_id("\"broken\"", ",\"params\":[1,]"),
        with_id("\"deep\"", &deep),
        with_id("\"long\"", &long),
        with_id("\"no number\"", ",\"params\":[NaN]"),
        (request(&string(1025), "").into_bytes(), None),
        (request(&string(1 << 20), "").into_bytes(), None),
        (format!("[{batch}]").into_bytes(), None),
        (b"{\"jsonrpc\":\"2.0\",\r\"id\":\"bare\"\r,\"method\":\"no such\"}\r".to_vec(), Some("\"bare\"".into())),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"utf\",\"method\":\"\xff\"}".to_vec(), Some("\"utf\"".into())),
    ]);
    lines
}

/// A stream of all hostile lines, each followed by a good one. The good ones have the ids `"good 0"`, `"good 1"` and so
/// on.
pub fn hostile_stream(method: &str, params: &str) -> Vec<u8> {
    let mut stream = Vec::new();
    for (number, (line, _)) in hostile_lines().into_iter().enumerate() {
        stream.extend(line);
        stream.push(b'\n');
        let good = format!(r#"{{"jsonrpc":"2.0","id":"good {number}","method":"{method}","params":{params}}}"#);
        stream.extend(good.into_bytes());
        stream.push(b'\n');
    }
    stream
}

/// Checks that each good line of a [`hostile_stream`] was answered once, with `expected`; and no other line twice.
pub fn check_hostile(answers: &[u8], expected: impl Fn(&serde_json::Value) -> bool) {
    let mut responses = std::collections::HashMap::<String, Vec<serde_json::Value>>::new();
    for line in answers.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let entries = match serde_json::from_slice(line).unwrap() {
            serde_json::Value::Array(entries) => entries,
            one => vec![one],
        };
        for response in entries {
            responses.entry(response["id"].to_string()).or_default().push(response);
        }
    }
    for (number, (line, id)) in hostile_lines().into_iter().enumerate() {
        let shown = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
        let good = responses.remove(&format!("\"good {number}\"")).unwrap_or_default();
        assert!(good.len() == 1 && expected(&good[0]), "after {shown:?}: {good:?}");
        if let Some(id) = id {
            assert_eq!(responses.remove(&id).map_or(0, |all| all.len()), 1, "{shown:?}");
        }
    }
    for (id, responses) in responses {
        assert!(id == "null" || responses.len() == 1, "{id}: {responses:?}");
    }
}

/// Decodes a stream fed in these pieces, and describes every result.
pub fn decode<'a>(rules: Rules, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut decoder = Decoder::new(rules);
    let mut found = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        while let Some(frame) = decoder.next_frame() {
            found.push(describe(&frame));
        }
    }
    decoder.finish();
    while let Some(frame) = decoder.next_frame() {
        found.push(describe(&frame));
    }
    found
}

/// Describes a frame or a fault on one line: `request 1 "m" {}`, `notification "m" -`, `result 1 {}`, `error - -32000
/// "m" -`, `batch [… | …]`, or `fault NAME @COLUMN id=… reply=…`. A `-` stands for an absent value.
pub fn describe(frame: &Result<Frame<'_>, Fault>) -> String {
    match frame {
        Ok(Frame::Message(message)) => describe_message(message),
        Ok(Frame::Batch(batch)) => {
            let entries: Vec<_> = batch
                .iter()
                .map(|entry| match entry {
                    Ok(message) => describe_message(&message),
                    Err(fault) => describe_fault(&fault),
                })
                .collect();
            assert_eq!(entries.len(), batch.len());
            format!("batch [{}]", entries.join(" | "))
        }
        Err(fault) => describe_fault(fault),
    }
}

fn describe_message(message: &Message<'_>) -> String {
    let raw = |json: Option<RawJson<'_>>| json.map_or("-".into(), |json| json.as_json().to_owned());
    match message {
        Message::Request(r) => format!("request {} {:?} {}", r.id().as_json(), r.method(), raw(r.params())),
        Message::Notification(n) => format!("notification {:?} {}", n.method(), raw(n.params())),
        Message::Response(r) => {
            let id = r.id().map_or("-".into(), |id| id.as_json().to_owned());
            match r.outcome() {
                Ok(result) => format!("result {id} {}", result.as_json()),
                Err(error) => format!("error {id} {} {:?} {}", error.code(), error.message(), raw(error.data())),
            }
        }
    }
}

pub fn describe_fault(fault: &Fault) -> String {
    assert!(matches!(fault.code(), -32700 | -32600));
    let id = fault.id().map_or("-".into(), |id| id.as_json().to_owned());
    let reply = fault.reply().map(|reply| {
        assert_eq!(reply.code(), fault.code());
        let text = reply.to_string();
        let is_accepted = Dialect::ALL.iter().any(|dialect| Frame::parse(text.as_bytes(), &dialect.rules()).is_ok());
        assert!(is_accepted || reply.id().is_none(), "{text}");
        reply.id().map_or("omitted".into(), |id| id.as_json().to_owned())
    });
    let reply = reply.unwrap_or("none".into());
    format!("fault {} @{} id={id} reply={reply}", fault.kind().name(), fault.column())
}

/// The acceptance table, row by row.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |line: &[u8], expected: [&str; Dialect::ALL.len()]| {
        cases.push(Case { line: line.to_vec(), expected: expected.map(str::to_owned) });
    };
    macro_rules! all {
        ($line:expr, $expected:expr) => {
            add($line.as_ref(), [$expected; Dialect::ALL.len()])
        };
    }
    // First under the rules of JSON-RPC, MCP and ACP, then under those of Codex, Electrum and Stratum.
    macro_rules! each {
        ($line:expr, $json_rpc:expr, $mcp:expr, $acp:expr; $codex:expr, $electrum:expr, $stratum:expr) => {
            add($line.as_ref(), [$json_rpc, $mcp, $acp, $codex, $electrum, $stratum])
        };
    }
    // A fault without an id is answered with a null id, except under MCP and Codex rules, where it isn't answered.
    macro_rules! fault {
        ($line:expr, $name:expr, $column:expr) => {{
            let reply = |dialect: Dialect| if dialect.answers_without_id() { "null" } else { "none" };
            let faults =
                Dialect::ALL.map(|dialect| format!("fault {} @{} id=- reply={}", $name, $column, reply(dialect)));
            add($line.as_ref(), faults.each_ref().map(String::as_str))
        }};
        ($line:expr, $name:expr, $column:expr, id $id:expr) => {{
            let fault = format!("fault {} @{} id={} reply={}", $name, $column, $id, $id);
            all!($line, &fault)
        }};
        ($line:expr, $name:expr, $column:expr, response $id:expr) => {{
            let fault = format!("fault {} @{} id={} reply=none", $name, $column, $id);
            all!($line, &fault)
        }};
    }

    // Kinds.
    all!(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}}"#, r#"request 1 "m" {"a":[1]}"#);
    all!(r#"{"jsonrpc":"2.0","method":"m","params":{}}"#, r#"notification "m" {}"#);
    all!(r#"{"jsonrpc":"2.0","id":"x","result":{"a":null}}"#, r#"result "x" {"a":null}"#);
    all!(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m","data":[1]}}"#, r#"error 1 -32000 "m" [1]"#);
    all!(r#"{"method":"m","params":{},"jsonrpc":"2.0","id":1}"#, r#"request 1 "m" {}"#);
    all!(r#"{"result":{},"jsonrpc":"2.0","id":1}"#, "result 1 {}");
    all!(" \t{ \"jsonrpc\" : \"2.0\" ,\t\"id\" : 1 , \"method\" : \"m\" } \t", r#"request 1 "m" -"#);

    // Line breaks between tokens: a carriage return doesn't end a line by itself.
    all!("{\"jsonrpc\":\"2.0\",\r\"method\":\"n\"}", r#"notification "n" -"#);
    all!("\r{\"jsonrpc\":\r\r\"2.0\",\"id\"\r:1,\"method\":\"m\"\r}\r ", r#"request 1 "m" -"#);

    // Top level.
    let single = r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;
    each!(
        format!("[{single}]"),
        r#"batch [request 1 "m" -]"#,
        "fault batch-not-allowed @1 id=- reply=none",
        "fault batch-not-allowed @1 id=- reply=null";
        "fault batch-not-allowed @1 id=- reply=none",
        r#"batch [request 1 "m" -]"#,
        "fault batch-not-allowed @1 id=- reply=null"
    );
    let mixed = r#"[{"jsonrpc":"2.0","method":"n"}, 1,{"jsonrpc":"2.0","id":2,"result":3},[],{"id":4},{"jsonrpc":"2.0","id":5,"method":6}]"#;
    let entries = [
        r#"notification "n" -"#,
        "fault not-an-object @34 id=- reply=null",
        "result 2 3",
        "fault not-an-object @72 id=- reply=null",
        "fault missing-version @75 id=4 reply=4",
        "fault invalid-method @117 id=5 reply=5",
    ];
    let batch = format!("batch [{}]", entries.join(" | "));
    each!(
        mixed,
        &batch,
        "fault batch-not-allowed @1 id=- reply=none",
        "fault batch-not-allowed @1 id=- reply=null";
        "fault batch-not-allowed @1 id=- reply=none",
        &batch.replace("missing-version", "missing-method"),
        "fault batch-not-allowed @1 id=- reply=null"
    );
    each!(
        "[1,2,3]",
        "batch [fault not-an-object @2 id=- reply=null | fault not-an-object @4 id=- reply=null | fault not-an-object @6 id=- reply=null]",
        "fault batch-not-allowed @1 id=- reply=none",
        "fault batch-not-allowed @1 id=- reply=null";
        "fault batch-not-allowed @1 id=- reply=none",
        "batch [fault not-an-object @2 id=- reply=null | fault not-an-object @4 id=- reply=null | fault not-an-object @6 id=- reply=null]",
        "fault batch-not-allowed @1 id=- reply=null"
    );
    each!(
        " [ ] ",
        "fault empty-batch @2 id=- reply=null",
        "fault batch-not-allowed @2 id=- reply=none",
        "fault batch-not-allowed @2 id=- reply=null";
        "fault batch-not-allowed @2 id=- reply=none",
        "fault empty-batch @2 id=- reply=null",
        "fault batch-not-allowed @2 id=- reply=null"
    );
    for scalar in ["1", "\"{}\"", "true", "null", "-1.5e3"] {
        fault!(scalar, "not-an-object", 1);
    }
    for (line, at) in [("{}", 1), ("  {}", 3)] {
        let [null, none] = ["null", "none"].map(|reply| format!("fault missing-version @{at} id=- reply={reply}"));
        let method = |fault: &str| fault.replace("version", "method");
        each!(line, &null, &none, &null; &method(&none), &method(&null), &method(&null));
    }

    // `jsonrpc`.
    all!(r#"{"jsonrpc":"\u0032\u002e0","id":1,"method":"m"}"#, r#"request 1 "m" -"#);
    let missing = |id: &str, reply: &str| format!("fault missing-version @1 id={id} reply={reply}");
    for (line, expected, (id, [json_rpc, mcp])) in [
        (r#"{"id":1,"method":"m"}"#, r#"request 1 "m" -"#, ("1", ["1", "1"])),
        (r#"{"method":"m","params":{}}"#, r#"notification "m" {}"#, ("-", ["null", "none"])),
        (r#"{"result":{},"id":1}"#, "result 1 {}", ("1", ["none", "none"])),
        (r#"{"id":1,"error":{"code":2,"message":"m"}}"#, r#"error 1 2 "m" -"#, ("1", ["none", "none"])),
    ] {
        let [json_rpc, mcp] = [json_rpc, mcp].map(|reply| missing(id, reply));
        each!(line, &json_rpc, &mcp, &json_rpc; expected, expected, expected);
    }
    for version in ["2", "2.0", "1.0", "\"2.0 \"", "null", "\"2\"", "\"1\"", "\"1.1\"", "[]"] {
        let line = format!(r#"{{"jsonrpc":{version},"id":1,"method":"m"}}"#);
        fault!(line, "invalid-version", 12, id 1);
    }
    for version in ["1.0", "\\u0031.0"] {
        let invalid = "fault invalid-version @12 id=1 reply=1";
        let line = format!(r#"{{"jsonrpc":"{version}","id":1,"method":"m"}}"#);
        each!(line, invalid, invalid, invalid; invalid, r#"request 1 "m" -"#, invalid);
    }

    // `id` of a request.
    let request = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
    for id in [
        "0",
        "-1",
        "9007199254740993",
        "18446744073709551621",
        "123456789012345678901234567890",
        "1.0",
        "1e2",
        "\"\"",
        "\"a\\\"b\"",
        "\"\\u00e9\"",
        "\"é\u{2028}😀\"",
        "\"\\ud83d\\ude00\"",
        "\"null\"",
    ] {
        all!(request(id), &format!(r#"request {id} "m" -"#));
    }
    for id in ["1.5", "-0.25", "1e-1"] {
        let wrong = |reply| format!("fault invalid-id @23 id=- reply={reply}");
        let right = format!(r#"request {id} "m" -"#);
        each!(request(id), &right, &wrong("none"), &wrong("null"); &wrong("none"), &right, &right);
    }
    each!(
        request("null"),
        r#"request null "m" -"#,
        "fault invalid-id @23 id=- reply=none",
        r#"request null "m" -"#;
        "fault invalid-id @23 id=- reply=none",
        r#"notification "m" -"#,
        r#"notification "m" -"#
    );
    // Where null is no id, it isn't recovered as one.
    each!(
        r#"{"jsonrpc":"2.0","id":null,"method":1}"#,
        "fault invalid-method @37 id=null reply=null",
        "fault invalid-id @23 id=- reply=none",
        "fault invalid-method @37 id=null reply=null";
        "fault invalid-id @23 id=- reply=none",
        "fault invalid-method @37 id=- reply=null",
        "fault invalid-method @37 id=- reply=null"
    );
    for id in ["true", "false", "{}", "[1]", "\"\\ud800\"", "\"x\\udc00y\""] {
        fault!(request(id), "invalid-id", 23);
    }

    // `id` of a response.
    let result = |id: &str| format!(r#"{{"jsonrpc":"2.0","result":{{}}{id}}}"#);
    let error = |id: &str| format!(r#"{{"jsonrpc":"2.0","error":{{"code":1,"message":"m"}}{id}}}"#);
    fault!(result(""), "missing-id", 1, response "-");
    each!(
        error(""),
        "fault missing-id @1 id=- reply=none",
        r#"error - 1 "m" -"#,
        "fault missing-id @1 id=- reply=none";
        "fault missing-id @1 id=- reply=none",
        "fault missing-id @1 id=- reply=none",
        "fault missing-id @1 id=- reply=none"
    );
    each!(
        result(r#","id":null"#),
        "result null {}",
        "fault invalid-id @35 id=- reply=none",
        "result null {}";
        "fault invalid-id @35 id=- reply=none",
        "fault invalid-id @35 id=- reply=none",
        "fault invalid-id @35 id=- reply=none"
    );
    each!(
        error(r#","id":null"#),
        r#"error null 1 "m" -"#,
        "fault invalid-id @56 id=- reply=none",
        r#"error null 1 "m" -"#;
        "fault invalid-id @56 id=- reply=none",
        r#"error null 1 "m" -"#,
        r#"error null 1 "m" -"#
    );
    each!(
        result(r#","id":1.5"#),
        "result 1.5 {}",
        "fault invalid-id @35 id=- reply=none",
        "fault invalid-id @35 id=- reply=none";
        "fault invalid-id @35 id=- reply=none",
        "result 1.5 {}",
        "result 1.5 {}"
    );
    fault!(result(r#","id":[]"#), "invalid-id", 35, response "-");

    // An `id` at its limit, and beyond.
    let (digits, text) = ("7".repeat(1024), format!("\"{}\"", "é".repeat(511)));
    for id in [&digits, &text] {
        all!(request(id), &format!(r#"request {id} "m" -"#));
        all!(result(&format!(r#","id":{id}"#)), &format!("result {id} {{}}"));
        fault!(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":1}}"#), "invalid-method", 1024 + 33, id id);
    }
    for id in [format!("{digits}7"), format!("\"\\n{}\"", "x".repeat(1021)), "1".repeat(5000)] {
        fault!(request(&id), "id-too-long", 23);
        fault!(result(&format!(r#","id":{id}"#)), "id-too-long", 35, response "-");
        fault!(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":NaN}}"#), "invalid-literal", id.len() + 33);
    }

    // `method`.
    all!(r#"{"jsonrpc":"2.0","id":1,"method":"\u0072pc/\u00e9"}"#, r#"request 1 "rpc/é" -"#);
    all!(r#"{"jsonrpc":"2.0","id":1,"method":""}"#, r#"request 1 "" -"#);
    for method in ["1", "null", "{}", "[\"m\"]", "\"\\ud800\"", "true"] {
        fault!(format!(r#"{{"jsonrpc":"2.0","id":1,"method":{method}}}"#), "invalid-method", 34, id 1);
        fault!(format!(r#"{{"jsonrpc":"2.0","method":{method}}}"#), "invalid-method", 27);
    }

    // `params`.
    let params = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
    let (list, invalid) = (r#"request 1 "m" [1,2]"#, "fault invalid-params @47 id=1 reply=1");
    each!(params("[1,2]"), list, invalid, list; list, list, list);
    for scalar in ["1", "\"x\"", "true", "false", "-1.5"] {
        let request = format!(r#"request 1 "m" {scalar}"#);
        each!(params(scalar), invalid, invalid, invalid; &request, invalid, invalid);
    }
    each!(params("null"), invalid, invalid, invalid; r#"request 1 "m" -"#, invalid, invalid);
    each!(
        r#"{"jsonrpc":"2.0","method":"m","params":"x"}"#,
        "fault invalid-params @40 id=- reply=null",
        "fault invalid-params @40 id=- reply=none",
        "fault invalid-params @40 id=- reply=null";
        r#"notification "m" "x""#,
        "fault invalid-params @40 id=- reply=null",
        "fault invalid-params @40 id=- reply=null"
    );

    // `result`.
    for value in ["null", "1", "\"x\"", "[]", "false"] {
        let result = format!("result 1 {value}");
        each!(
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{value}}}"#),
            &result,
            "fault invalid-result @34 id=1 reply=none",
            &result;
            &result,
            &result,
            &result
        );
    }

    // `error`.
    let error = |error: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
    for (value, expected) in [
        (r#"{"code":-32601,"message":"no"}"#, r#"error 1 -32601 "no" -"#),
        (r#"{"message":"no","code":1.0,"data":null}"#, r#"error 1 1 "no" null"#),
        (r#"{"c\u006fde":1e2,"message":"\ud800","other":{}}"#, "error 1 100 \"\u{fffd}\" -"),
        (r#"{"code":123456789012345678901234567890,"message":""}"#, r#"error 1 9223372036854775807 "" -"#),
        (r#"{ "code" : -9223372036854775808 , "message" : "m" }"#, r#"error 1 -9223372036854775808 "m" -"#),
    ] {
        all!(error(value), expected);
    }
    for wrong in [
        "null",
        "1",
        "true",
        "[]",
        "[1]",
        r#"[1,"m",null,2]"#,
        r#"["1","m",null]"#,
        r#"[1,null,"m"]"#,
        r#"[1.5,"m"]"#,
        "{}",
        r#"{"code":1}"#,
        r#"{"message":"m"}"#,
        r#"{"code":"1","message":"m"}"#,
        r#"{"code":1.5,"message":"m"}"#,
        r#"{"code":1,"message":2}"#,
        r#"{"code":null,"message":"m"}"#,
        r#"{"code":1,"code":1,"message":"m"}"#,
        r#"{"code":1,"message":"m","m\u0065ssage":"m"}"#,
        r#"{"code":1,"message":"m","data":1,"data":1}"#,
        r#"{"code":1,"message":"m","\ud800":1}"#,
        r#"{"data":{"code":1,"message":"m"}}"#,
    ] {
        fault!(error(wrong), "invalid-error", 33, response 1);
    }

    let invalid = "fault invalid-error @33 id=1 reply=none";
    for (value, text) in [("\"x\"", "x"), ("\"-1:params not found\"", "-1:params not found"), ("\"\"", "")] {
        let expected = format!("error 1 0 {text:?} -");
        each!(error(value), invalid, invalid, invalid; invalid, &expected, &expected);
    }
    for (value, expected) in [
        (r#"[20,"Not supported.",null]"#, r#"error 1 20 "Not supported." -"#),
        (r#"[ -3 , "no" ]"#, r#"error 1 -3 "no" -"#),
        (r#"[1e2,"\ud800",{"a":[1]}]"#, "error 1 100 \"\u{fffd}\" {\"a\":[1]}"),
        (r#"[123456789012345678901234567890,"",""]"#, r#"error 1 9223372036854775807 "" """#),
    ] {
        each!(error(value), invalid, invalid, invalid; invalid, invalid, expected);
    }

    // A result and an error.
    let outcome =
        |result: &str, error: &str| format!(r#"{{"id":1,"result":{result},"error":{error},"jsonrpc":"2.0"}}"#);
    let conflict = "fault conflicting-members @18 id=1 reply=none";
    let error_object = r#"{"code":5,"message":"m"}"#;
    for (result, error, electrum, stratum) in [
        ("true", "null", "result 1 true", "result 1 true"),
        ("{}", "null", "result 1 {}", "result 1 {}"),
        ("null", "null", "result 1 null", "result 1 null"),
        ("null", error_object, r#"error 1 5 "m" -"#, r#"error 1 5 "m" -"#),
        ("null", "\"x\"", r#"error 1 0 "x" -"#, r#"error 1 0 "x" -"#),
        ("false", error_object, conflict, r#"error 1 5 "m" -"#),
        ("false", "null", "result 1 false", "result 1 false"),
        ("true", error_object, conflict, conflict),
        ("0", error_object, conflict, conflict),
        ("[]", error_object, conflict, conflict),
    ] {
        each!(outcome(result, error), conflict, conflict, conflict; conflict, electrum, stratum);
    }
    each!(
        outcome("null", r#"[21,"m",null]"#),
        conflict,
        conflict,
        conflict;
        conflict,
        "fault invalid-error @31 id=1 reply=none",
        r#"error 1 21 "m" -"#
    );
    fault!(r#"{"jsonrpc":"2.0","id":1,"method":"m","error":null}"#, "conflicting-members", 46, id 1);
    fault!(r#"{"jsonrpc":"2.0","id":1,"method":"m","result":null,"error":null}"#, "conflicting-members", 47, id 1);

    // Combinations of members.
    fault!(r#"{"jsonrpc":"2.0","id":1}"#, "missing-method", 1, id 1);
    fault!(r#"{"jsonrpc":"2.0","params":{}}"#, "missing-method", 1);
    fault!(
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
        "conflicting-members", 34, response 1
    );
    fault!(r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#, "conflicting-members", 47, id 1);
    fault!(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","error":{"code":1,"message":"m"}}"#,
        "conflicting-members", 46, id 1
    );
    fault!(r#"{"jsonrpc":"2.0","method":"m","result":1,"error":1}"#, "conflicting-members", 40);

    // Names.
    all!(r#"{"\u006asonrpc":"2.0","i\u0064":1,"\u006D\u0065thod":"m"}"#, r#"request 1 "m" -"#);
    all!(
        r#"{"jsonrpc":"2.0","ID":1,"id ":2,"id\u0000":3,"method":"m","Result":4,"extra":[{"id":5}]}"#,
        r#"notification "m" -"#
    );
    all!(r#"{"":0,"jsonrpc":"2.0","id":1,"method":"m","\"id\"":2,"params\\":3}"#, r#"request 1 "m" -"#);
    fault!(r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#, "duplicate-member", 25);
    fault!(r#"{"jsonrpc":"2.0","id":1,"method":"m","\u0069d":2}"#, "duplicate-member", 38);
    fault!(r#"{"jsonrpc":"2.0","id":1,"method":"m","method":"m"}"#, "duplicate-member", 38, id 1);
    fault!(r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"}"#, "duplicate-member", 18, id 1);
    fault!(r#"{"jsonrpc":"2.0","id":1,"result":{},"re\u0073ult":{}}"#, "duplicate-member", 37, response 1);
    fault!(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}}"#, "duplicate-member", 50, id 1);
    fault!(r#"{"jsonrpc":"2.0","id":1,"method":"m","\ud800":1}"#, "invalid-member-name", 38, id 1);
    all!(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"\ud800":"\udfff","a":1,"a":2},"x":1,"x":2}"#,
        r#"request 1 "m" {"\ud800":"\udfff","a":1,"a":2}"#
    );
    all!(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"t\":\"a\u{2028}b\u{2029}c\u{85}d\u{7f}\"}}",
        "request 1 \"m\" {\"t\":\"a\u{2028}b\u{2029}c\u{85}d\u{7f}\"}"
    );
    all!(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"n":[1e999,-0.0e-99,123456789012345678901234567890.5]}}"#,
        r#"request 1 "m" {"n":[1e999,-0.0e-99,123456789012345678901234567890.5]}"#
    );

    // Not JSON. Members before the error can be read; members after it only if the error can't hide others.
    let broken = |value: &str| format!(r#"{{"jsonrpc":"2.0","method":"m","params":{value},"id":7}}"#);
    fault!(broken("{\"a\":NaN}"), "invalid-literal", 45, id 7);
    fault!(broken("[Infinity]"), "invalid-literal", 41, id 7);
    fault!(broken("{\"a\":None,\"b\":undefined}"), "invalid-literal", 45, id 7);
    fault!(broken("tru"), "invalid-literal", 40);
    fault!(broken("[01]"), "invalid-number", 42, id 7);
    fault!(broken("[1.]"), "invalid-number", 43, id 7);
    fault!(broken("[0x1f]"), "invalid-number", 42, id 7);
    fault!(broken("[-]"), "invalid-number", 42);
    fault!(broken("[--1]"), "invalid-number", 42, id 7);
    fault!(broken("[1.5.2]"), "invalid-number", 44, id 7);
    fault!(broken("[\"\\x\"]"), "invalid-escape", 42, id 7);
    fault!(broken("[\"ab\\u12g4\"]"), "invalid-escape", 44, id 7);
    fault!(broken("[\"a\tb\"]"), "control-character", 43, id 7);
    fault!(broken("[\"\\d\",\"\\\"\"]"), "invalid-escape", 42);
    fault!(broken("[\"\u{0}\"]"), "control-character", 42);
    fault!(broken("[\"a\rb\"]"), "control-character", 43);
    fault!(broken("[1,]"), "unexpected-byte", 43, id 7);
    fault!(broken("{\"a\":[,1,,2],}"), "unexpected-byte", 46, id 7);
    fault!(broken("[1 2]"), "unexpected-byte", 43);
    fault!(broken("{\"a\" 1}"), "unexpected-byte", 45);
    fault!(broken("[}"), "unexpected-byte", 41);
    fault!(broken("\"a\"x\"b\""), "unexpected-byte", 43);
    fault!(broken("'a,\"id\":5,b'"), "invalid-literal", 40);
    fault!(broken("/*\"id\":5,*/1"), "invalid-literal", 40);
    fault!(broken("`a,\"id\":5,b`"), "invalid-literal", 40);
    fault!(broken("Date(1,\"id\":5,2)"), "invalid-literal", 40);
    fault!(broken("['],\"id\":5,[']"), "invalid-literal", 41);
    fault!(broken("a,\"id\":5"), "invalid-literal", 40);
    fault!(broken("1\"id\":5"), "unexpected-byte", 41);
    // A second id, also after the error, and an id that may go on.
    fault!(r#"{"jsonrpc":"2.0","id":7,"method":"m","x":'',"\u0069d":8}"#, "invalid-literal", 42);
    fault!(r#"{"jsonrpc":"2.0","id":7,"method":"m","x":[1 2],'id':8}"#, "unexpected-byte", 45);
    fault!(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1,],"id":8}"#, "unexpected-byte", 50);
    fault!(r#"{"jsonrpc":"2.0","id":7,000,"method":"m"}"#, "unexpected-byte", 25);
    fault!(r#"{"jsonrpc":"2.0","id":"a","b","method":"m"}"#, "unexpected-byte", 30);
    fault!(r#"{"jsonrpc":"2.0","method":"m","id":7}}"#, "trailing-data", 38);
    fault!(r#"{"jsonrpc":"2.0","method":"m","id":7,"x":1],"y":2}"#, "unexpected-byte", 43);
    fault!(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1,,2]}"#, "unexpected-byte", 50, id 7);
    fault!(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"#, "unexpected-end", 48, id 7);
    fault!(r#"{"jsonrpc":"2.0","id":7"#, "unexpected-end", 24);
    fault!(r#"{"jsonrpc":"2.0","id":7,"method":"m"#, "unexpected-end", 36, id 7);
    fault!(r#"{"jsonrpc":"2.0","id":7,"result":{"x":nul"#, "unexpected-end", 42, response 7);
    fault!(r#"{"jsonrpc":"2.0","id":7,,"result":{}}"#, "unexpected-byte", 25, response 7);
    fault!(r#"{"jsonrpc":"2.0","id":7 "error" : {}}"#, "unexpected-byte", 25, response "-");
    fault!(r#"{"jsonrpc":"2.0","id":7,"x":[1,],"result":{}}"#, "unexpected-byte", 32, response 7);
    fault!(r#"{"jsonrpc":"2.0","id":7,,"method":"m","params":{"result":1}}"#, "unexpected-byte", 25, id 7);
    fault!(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[,],"x":{"result":1}}"#, "unexpected-byte", 48, id 7);
    fault!(r#"{"jsonrpc":"2.0","id":7,"params":{"result":1,"x":NaN}}"#, "invalid-literal", 50, id 7);
    fault!(r#"{"jsonrpc":"2.0","id":7,"m\u0065thod":"m","params":[,],"result":1}"#, "unexpected-byte", 53, id 7);
    fault!(r#"[{"jsonrpc":"2.0","id":7,"result":1},]"#, "unexpected-byte", 38, response "-");
    fault!(r#"[{"jsonrpc":"2.0","id":7,"result":1}"#, "unexpected-end", 37, response "-");
    fault!(r#"[{"jsonrpc":"2.0","id":7,"method":"m"}"#, "unexpected-end", 39);
    fault!(r#"{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}"#, "invalid-literal", 39, response 7);
    fault!(r#"{"result":{"x":NaN},"jsonrpc":"2.0","id":7}"#, "invalid-literal", 16, response 7);
    fault!(r#"{"error":{"code":01},"method":"m","jsonrpc":"2.0","id":7}"#, "invalid-number", 19, id 7);
    fault!(format!("{single} x"), "trailing-data", 39, id 1);
    fault!(format!("{single}{single}"), "trailing-data", 38, id 1);
    fault!(format!("{single}{single}}}"), "trailing-data", 38);
    fault!(format!("{single}{single}],[{single}"), "trailing-data", 38);
    fault!(format!(r#"{single}{{"method":"m"}}"#), "trailing-data", 38, id 1);
    fault!("nonsense", "invalid-literal", 1);
    fault!("}", "unexpected-byte", 1);
    fault!("{", "unexpected-end", 2);
    fault!("{'id':1}", "unexpected-byte", 2);

    // Not UTF-8.
    let mut raw = broken("[\"\u{1}\"]").into_bytes();
    raw[41] = 0xff;
    fault!(raw, "invalid-utf8", 42, id 7);
    fault!(b"\xff\xfe", "invalid-utf8", 1);
    // The second byte of a character in Shift JIS.
    fault!(b"{\"jsonrpc\":\"2.0\",\"method\":\"\x95\\\",\"id\":7}", "invalid-utf8", 28);
    fault!(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\",\"method\":\"m\"}", "invalid-utf8", 24);
    fault!(b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"\xed\xa0\x80\"}", "invalid-utf8", 35, id 8);
    // The first error is reported.
    fault!(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"x\":tru,\"method\":\"\xff\"}", "invalid-literal", 29, id 7);
    fault!(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\",\"x\":tru}", "invalid-utf8", 35, id 7);

    // Depth.
    let deep = |depth: usize| broken(&("[".repeat(depth) + &"]".repeat(depth)));
    let deepest = format!(r#"request 7 "m" {}{}"#, "[".repeat(127), "]".repeat(127));
    each!(
        deep(127),
        &deepest,
        "fault invalid-params @40 id=7 reply=7",
        &deepest;
        &deepest,
        &deepest,
        &deepest
    );
    fault!(deep(128), "too-deep", 167, id 7);
    fault!(deep(3000), "too-deep", 167, id 7);

    // Messages without `jsonrpc`, as specifications show them and as peers send them.
    let conflict = |column: usize, id: &str| format!("fault conflicting-members @{column} id={id} reply=none");
    let invalid_id = |column: usize, id: &str| format!("fault invalid-id @{column} id={id} reply=none");
    let mut real = |line: &str, id: &str, new: [&str; 3]| {
        // The oldest dialects agree that it has no version.
        let missing = |dialect: Dialect| {
            let id = if dialect == Dialect::Mcp && id == "null" { "-" } else { id };
            let reply = match (line.contains("method"), id) {
                (false, _) => "none",
                (true, "-") if dialect.answers_without_id() => "null",
                (true, "-") => "none",
                (true, id) => id,
            };
            format!("fault missing-version @1 id={id} reply={reply}")
        };
        let [json_rpc, mcp, acp] = [Dialect::JsonRpc, Dialect::Mcp, Dialect::Acp].map(missing);
        let [codex, electrum, stratum] = new;
        each!(line, &json_rpc, &mcp, &acp; codex, electrum, stratum);
    };
    // Codex: codex-rs/app-server/README.md.
    for (line, id, expected) in [
        (
            r#"{ "method": "thread/fork", "id": 12, "params": { "threadId": "thr_123", "ephemeral": true } }"#,
            "12",
            r#"request 12 "thread/fork" { "threadId": "thr_123", "ephemeral": true }"#,
        ),
        (r#"{ "id": 22, "result": { "thread": 1 }, "trace": {} }"#, "22", r#"result 22 { "thread": 1 }"#),
        (
            r#"{"method":"thread/started","params":{"thread":{}},"trace":{"traceparent":"00-4bf9","tracestate":null}}"#,
            "-",
            r#"notification "thread/started" {"thread":{}}"#,
        ),
    ] {
        real(line, id, [expected; 3]);
    }
    // Electrum: aiorpcX as JSONRPCv1, an older electrs, and a wallet.
    let features = r#"result 3 ["ElectrumX 1.16.0","1.4"]"#;
    real(r#"{"result":["ElectrumX 1.16.0","1.4"],"error":null,"id":3}"#, "3", [&conflict(11, "3"), features, features]);
    let error = r#"error 3 1 "bad address" -"#;
    real(
        r#"{"result":null,"error":{"code":1,"message":"bad address"},"id":3}"#,
        "3",
        [&conflict(11, "3"), error, error],
    );
    let error = r#"error 5 0 "missing height" -"#;
    real(r#"{"id":5,"error":"missing height"}"#, "5", ["fault invalid-error @17 id=5 reply=none", error, error]);
    let headers = r#"notification "blockchain.headers.subscribe" [{"height":1}]"#;
    real(
        r#"{"method":"blockchain.headers.subscribe","params":[{"height":1}],"id":null}"#,
        "null",
        [&invalid_id(71, "-"), headers, headers],
    );
    // Stratum: cgminer, the extensions by Braiins, NiceHash, ckpool, and pools in general.
    let subscribed = r#"result 1 [[["mining.notify","ae68"]],"08000002",4]"#;
    real(
        r#"{"id":1,"result":[[["mining.notify","ae68"]],"08000002",4],"error":null}"#,
        "1",
        [&conflict(18, "1"), subscribed, subscribed],
    );
    let rolling = r#"result 1 {"version-rolling": true, "version-rolling.mask": "18000000"}"#;
    real(
        r#"{"error": null, "id": 1, "result": {"version-rolling": true, "version-rolling.mask": "18000000"}}"#,
        "1",
        [&conflict(36, "1"), rolling, rolling],
    );
    let mask = r#"notification "mining.set_version_mask" ["00003000"]"#;
    real(
        r#"{"params":["00003000"], "id":null, "method": "mining.set_version_mask"}"#,
        "null",
        [&invalid_id(30, "-"), mask, mask],
    );
    real(
        r#"{"id": 2, "result": false, "error": [20, "Not supported.", null]}"#,
        "2",
        [&conflict(21, "2"), &conflict(21, "2"), r#"error 2 20 "Not supported." -"#],
    );
    real(
        r#"{"id": 10, "result": null, "error": [21, "Job not found", null]}"#,
        "10",
        [&conflict(22, "10"), "fault invalid-error @37 id=10 reply=none", r#"error 10 21 "Job not found" -"#],
    );
    let error = r#"error null 0 "-1:params not found" -"#;
    real(r#"{"id":null,"error":"-1:params not found","result":null}"#, "null", [&conflict(51, "-"), error, error]);
    cases
}
