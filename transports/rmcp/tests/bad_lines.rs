//! How bad lines are taken, over this transport and over rmcp's own.

use crate::support;

use serde_json::Value;
use support::{BAD_RESPONSES, Kind, Outcome, Probe, Seen, answered_with, bad_lines};

const MAX_LINE_LEN: usize = 4096;

/// A server's answer to a bad line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Nothing,
    /// The request's result, as if the line were valid.
    Result,
    /// An error with the request's id.
    Error(i64),
    /// An error without an id.
    ErrorWithoutId(i64),
}

use Answer::*;

/// In the order of the cases: this transport's answer, and that of rmcp's own.
const EXPECTED: &[(&str, Answer, Answer)] = &[
    ("noise", Nothing, Nothing),
    ("invalid UTF-8", Error(-32700), Nothing),
    ("byte order mark", Error(-32700), Result),
    ("cut off", Error(-32700), Nothing),
    ("NaN", Error(-32700), Nothing),
    ("trailing comma", Error(-32700), Nothing),
    ("two messages", Error(-32700), Nothing),
    ("no version", Error(-32600), ErrorWithoutId(-32600)),
    ("no method", Error(-32600), ErrorWithoutId(-32600)),
    ("numeric method", Error(-32600), ErrorWithoutId(-32600)),
    ("string params", Error(-32600), ErrorWithoutId(-32600)),
    ("method twice", Error(-32600), ErrorWithoutId(-32600)),
    ("null params", Result, Result),
    ("id twice", ErrorWithoutId(-32600), ErrorWithoutId(-32600)),
    ("null id", ErrorWithoutId(-32600), ErrorWithoutId(-32600)),
    ("batch", ErrorWithoutId(-32600), ErrorWithoutId(-32600)),
    ("id beyond 64 bits", Error(-32600), ErrorWithoutId(-32600)),
    ("lone surrogate", Error(-32602), Nothing),
    ("number out of range", Error(-32602), Nothing),
    ("result without id", Nothing, ErrorWithoutId(-32600)),
    ("version 1.0", Error(-32600), ErrorWithoutId(-32600)),
    ("numeric version", Error(-32600), ErrorWithoutId(-32600)),
    ("version twice", Error(-32600), ErrorWithoutId(-32600)),
    ("params twice", Error(-32600), ErrorWithoutId(-32600)),
    ("unknown member twice", Result, Result),
    ("member of params twice", Result, Result),
    ("unknown member", Result, Result),
    ("escaped member name", Result, Result),
    ("array params", Error(-32600), ErrorWithoutId(-32600)),
    ("null params in a notification", Nothing, Nothing),
    ("null params in a call of a tool", Result, Result),
    ("fractional id", ErrorWithoutId(-32600), ErrorWithoutId(-32600)),
    ("id with zero fraction", Result, Result),
    ("CRLF", Result, Result),
    ("blank line", Nothing, Nothing),
    ("spaces alone", Nothing, Nothing),
    ("lone surrogate in method", Error(-32600), Nothing),
    ("lone surrogate in id", ErrorWithoutId(-32600), Nothing),
    ("id beyond 2^53", Result, Result),
    ("over the limit, id first", Error(-32600), Nothing),
    ("over the limit, id last", Error(-32600), Nothing),
];

#[tokio::test]
async fn lines_from_a_client() {
    let cases = bad_lines(MAX_LINE_LEN);
    assert_eq!(cases.len(), EXPECTED.len());
    // One session for all: no line ends it or affects the next, over either transport.
    let mut wireline = Probe::start(Kind::Wireline, MAX_LINE_LEN).await.unwrap();
    let mut stock = Probe::start(Kind::Stock, MAX_LINE_LEN).await.unwrap();
    let mut wrong = Vec::new();
    for (case, &(name, by_wireline, by_stock)) in cases.iter().zip(EXPECTED) {
        assert_eq!(case.name, name);
        let by = [wireline.tell(&case.line).await.unwrap(), stock.tell(&case.line).await.unwrap()];
        let found = by.map(|seen| answer(&seen, name));
        if found != [by_wireline, by_stock] {
            wrong.push(format!("{name}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn answer(seen: &Seen, name: &str) -> Answer {
    assert!(seen.survived, "{name}");
    let [line] = &seen.answers[..] else {
        assert!(seen.answers.is_empty(), "{name}: {:?}", seen.answers);
        return Nothing;
    };
    let id = if name == "id beyond 64 bits" { r#""id":18446744073709551616,"# } else { r#""id":7,"# };
    let value: Value = serde_json::from_str(line).unwrap();
    match (value["error"]["code"].as_i64(), value.get("id")) {
        (None, _) => Result,
        (Some(code), None) => ErrorWithoutId(code),
        (Some(code), Some(_)) => {
            assert!(line.contains(id), "{name}: {line}");
            Error(code)
        }
    }
}

/// An unusable response fails its call. Over rmcp's own transport most such calls are still waiting when the next call
/// has been answered.
#[tokio::test]
async fn lines_from_a_server() {
    let long = format!(r#"{{"jsonrpc":"2.0","result":{{"x":"{}"}},"id":ID}}"#, "x".repeat(MAX_LINE_LEN));
    let cases = BAD_RESPONSES.iter().copied().chain([("over the limit", &*long)]);
    for (name, response) in cases {
        let outcome = answered_with(Kind::Wireline, MAX_LINE_LEN, response).await.unwrap();
        assert!(
            matches!(&outcome, Outcome::Failed(error) if error.to_string().contains("unusable response")),
            "{name}: {outcome:?}"
        );

        let outcome = answered_with(Kind::Stock, MAX_LINE_LEN, response).await.unwrap();
        let fails = name == "array result";
        assert!(matches!(outcome, Outcome::Failed(_)) == fails, "{name}, by rmcp: {outcome:?}");
        assert!(matches!(outcome, Outcome::Waiting) != fails, "{name}, by rmcp: {outcome:?}");
    }
}
