//! How bad lines are taken, over this transport and over the SDK's own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_client_protocol::{ByteStreams, ConnectionTo, Dispatch, UntypedRole, on_receive_dispatch};
use serde_json::{Value, json};
use smol::future::{or, zip};
use wireline_acp::wireline::{Id, Rules, to_line};

use crate::common::{Raw, echo, pair, run, transport};

/// An agent's answer to a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Nothing,
    /// The request's result, as if the line were valid.
    Result,
    /// An error with the request's id, as it was spelled.
    Error(i64),
    /// An error whose id is null, although the request's isn't.
    NullId(i64),
    /// None, because the session has ended.
    End,
}

use Answer::*;

/// A line, the id in it, and the answers over this transport and over the SDK's own.
type Case = (&'static str, &'static [u8], &'static str, Answer, Answer);

const CASES: &[Case] = &[
    // Not JSON.
    ("noise", b"Loading model...", "", NullId(-32700), NullId(-32700)),
    (
        "invalid UTF-8",
        b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":[\"\xff\"]}",
        "7",
        Error(-32700),
        End,
    ),
    ("cut off", br#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"name":"su"#, "7", Error(-32700), NullId(-32700)),
    ("NaN", br#"{"jsonrpc":"2.0","id":7,"method":"m","params":[NaN]}"#, "7", Error(-32700), NullId(-32700)),
    ("trailing comma", br#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1,]}"#, "7", Error(-32700), NullId(-32700)),
    (
        "two messages",
        br#"{"jsonrpc":"2.0","id":7,"method":"m"}{"jsonrpc":"2.0","id":8,"method":"m"}"#,
        "7",
        Error(-32700),
        NullId(-32700),
    ),
    (
        "byte order mark",
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}",
        "7",
        Error(-32700),
        NullId(-32700),
    ),
    (
        "control character",
        b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":[\"\x01\"]}",
        "7",
        Error(-32700),
        NullId(-32700),
    ),
    // JSON that isn't a message.
    ("a number", b"42", "", NullId(-32600), NullId(-32600)),
    ("no version", br#"{"id":7,"method":"m"}"#, "7", Error(-32600), NullId(-32600)),
    ("version 1.0", br#"{"jsonrpc":"1.0","id":7,"method":"m"}"#, "7", Error(-32600), NullId(-32600)),
    ("numeric version", br#"{"jsonrpc":2.0,"id":7,"method":"m"}"#, "7", Error(-32600), NullId(-32600)),
    ("no method", br#"{"jsonrpc":"2.0","id":7}"#, "7", Error(-32600), NullId(-32600)),
    ("numeric method", br#"{"jsonrpc":"2.0","id":7,"method":1}"#, "7", Error(-32600), NullId(-32600)),
    ("string params", br#"{"jsonrpc":"2.0","id":7,"method":"m","params":"x"}"#, "7", Error(-32600), NullId(-32600)),
    ("method and result", br#"{"jsonrpc":"2.0","id":7,"method":"m","result":1}"#, "7", Error(-32600), NullId(-32600)),
    ("batch", br#"[{"jsonrpc":"2.0","id":7,"method":"m"}]"#, "7", NullId(-32600), NullId(-32600)),
    ("empty batch", b"[]", "", NullId(-32600), NullId(-32600)),
    // Members that occur twice.
    ("method twice", br#"{"jsonrpc":"2.0","id":7,"method":"x","method":"m"}"#, "7", Error(-32600), Result),
    ("id twice", br#"{"jsonrpc":"2.0","id":8,"method":"m","id":7}"#, "7", NullId(-32600), Result),
    ("params twice", br#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1],"params":[2]}"#, "7", Error(-32600), Result),
    ("version twice", br#"{"jsonrpc":"2.0","id":7,"method":"m","jsonrpc":"2.0"}"#, "7", Error(-32600), Result),
    ("payload twice", br#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}}"#, "7", Result, Result),
    // Ids.
    ("null id", br#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "null", Result, Result),
    ("empty id", br#"{"jsonrpc":"2.0","id":"","method":"m"}"#, "\"\"", Result, Result),
    ("id beyond 2^53", br#"{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}"#, "9007199254740993", Result, Result),
    (
        "largest id",
        br#"{"jsonrpc":"2.0","id":9223372036854775807,"method":"m"}"#,
        "9223372036854775807",
        Result,
        Result,
    ),
    (
        "id beyond 64 bits",
        br#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"m"}"#,
        "9223372036854775808",
        Error(-32600),
        NullId(-32600),
    ),
    ("fractional id", br#"{"jsonrpc":"2.0","id":7.5,"method":"m"}"#, "", NullId(-32600), NullId(-32600)),
    ("id with zero fraction", br#"{"jsonrpc":"2.0","id":7.0,"method":"m"}"#, "7.0", Error(-32600), NullId(-32600)),
    ("id with exponent", br#"{"jsonrpc":"2.0","id":7e0,"method":"m"}"#, "7e0", Error(-32600), NullId(-32600)),
    ("boolean id", br#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, "true", NullId(-32600), NullId(-32600)),
    // Unusual, but no fault.
    ("null params", br#"{"jsonrpc":"2.0","id":7,"method":"m","params":null}"#, "7", Result, Result),
    ("array params", br#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}"#, "7", Result, Result),
    ("further members", br#"{"jsonrpc":"2.0","id":7,"method":"m","_meta":{},"trace":[1]}"#, "7", Result, Result),
    ("escaped member names", br#"{"jsonrpc":"2.0","\u0069d":7,"m\u0065thod":"m"}"#, "7", Result, Result),
    ("spaces", b" \t{ \"jsonrpc\" : \"2.0\" , \"id\" : 7 , \"method\" : \"m\" } \t", "7", Result, Result),
    ("CRLF", b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}\r", "7", Result, Result),
    ("blank line", b"", "", Nothing, NullId(-32700)),
    ("blank line, CRLF", b"\r", "", Nothing, NullId(-32700)),
    ("spaces alone", b"  \t", "", Nothing, NullId(-32700)),
    // Valid JSON that serde_json doesn't read.
    (
        "lone surrogate in params",
        br#"{"jsonrpc":"2.0","id":7,"method":"m","params":["\ud800"]}"#,
        "7",
        Error(-32602),
        NullId(-32700),
    ),
    ("lone surrogate in method", br#"{"jsonrpc":"2.0","id":7,"method":"\ud800"}"#, "7", Error(-32600), NullId(-32700)),
    ("lone surrogate in id", br#"{"jsonrpc":"2.0","id":"\ud800","method":"m"}"#, "", NullId(-32600), NullId(-32700)),
    (
        "number out of range",
        br#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1e999]}"#,
        "7",
        Error(-32602),
        NullId(-32700),
    ),
    // Notifications and responses are never answered, but what isn't clearly one of them is.
    ("notification", br#"{"jsonrpc":"2.0","method":"m"}"#, "", Nothing, Nothing),
    ("notification, null params", br#"{"jsonrpc":"2.0","method":"m","params":null}"#, "", Nothing, Nothing),
    ("stray response", br#"{"jsonrpc":"2.0","id":99,"result":1}"#, "", Nothing, Nothing),
    ("stray error", br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#, "", Nothing, Nothing),
    ("result without id", br#"{"jsonrpc":"2.0","result":1}"#, "", Nothing, Nothing),
    (
        "result and error",
        br#"{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1,"message":"m"}}"#,
        "",
        Nothing,
        Nothing,
    ),
];

/// Sends a line, and returns the answer that comes before the one to the next request.
async fn answer(client: &mut Raw, line: &[u8], id: &str) -> Answer {
    client.send([line, b"\n{\"jsonrpc\":\"2.0\",\"id\":\"next\",\"method\":\"next\"}\n"].concat()).await;
    let mut found = Nothing;
    loop {
        let answer = client.line().await;
        if answer.is_empty() {
            return End;
        }
        if answer.contains(r#""id":"next""#) {
            return found;
        }
        assert_eq!(found, Nothing, "a second answer: {answer}");
        let value: Value = serde_json::from_str(&answer).unwrap();
        found = match value["error"]["code"].as_i64() {
            Some(code) if value["id"].is_null() => NullId(code),
            Some(code) => Error(code),
            None => {
                assert_eq!(value["result"]["method"], "m", "{answer}");
                Result
            }
        };
        if !matches!(found, NullId(_)) {
            assert!(answer.contains(&format!("\"id\":{id},")), "{answer}");
        }
    }
}

/// In a session of its own, because some lines end it.
async fn over_the_sdks_own(line: &[u8], id: &str) -> Answer {
    let (near, mut client) = pair();
    let agent = echo(ByteStreams::new(near.clone(), near));
    let talk = async {
        assert_eq!(answer(&mut client, b"", "").await, NullId(-32700), "not the first line");
        answer(&mut client, line, id).await
    };
    or(talk, async { agent.await.map_or(End, |()| End) }).await
}

#[test]
fn lines_from_a_client() {
    let (near, mut client) = pair();
    let incidents = Arc::new(Mutex::new(String::new()));
    let report = Arc::clone(&incidents);
    let agent = echo(transport(near, Rules::acp()).on_incident(move |incident| {
        *report.lock().unwrap() += &format!("{incident} {incident:?}\n");
    }));
    let talk = async move {
        let mut wrong = Vec::new();
        // One session for all: no line ends it or affects the next.
        assert_eq!(answer(&mut client, b"", "").await, Nothing);
        for &(name, line, id, by_wireline, by_sdk) in CASES {
            let found = (answer(&mut client, line, id).await, over_the_sdks_own(line, id).await);
            let expected = (if name == "null id" { null_id() } else { by_wireline }, by_sdk);
            if found != expected {
                wrong.push(format!("{name}: {found:?}, but expected {expected:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    };
    let ((), served) = run(zip(talk, agent));
    served.unwrap();
    let incidents = incidents.lock().unwrap();
    assert!(incidents.lines().count() > 25, "{incidents}");
    for theirs in ["Loading", "trace", "_meta", "su\"", "923372"] {
        assert!(!incidents.contains(theirs), "{theirs} in {incidents}");
    }
}

/// What becomes of a request whose id is null: as far as the rules permit a result under that id, it is served.
fn null_id() -> Answer {
    match to_line(&Rules::acp(), |encoder| encoder.response(&Id::NULL, &())) {
        Ok(_) => Result,
        Err(_) => NullId(-32603),
    }
}

/// At the start of the stream it is none of the first message, as an editor would see it.
#[test]
fn a_byte_order_mark_at_the_start() {
    run(async {
        for by_wireline in [true, false] {
            let (near, mut client) = pair();
            let agent = async {
                match by_wireline {
                    true => echo(transport(near, Rules::acp())).await,
                    false => echo(ByteStreams::new(near.clone(), near)).await,
                }
            };
            let line = b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}";
            let found = or(answer(&mut client, line, "7"), async { agent.await.map_or(End, |()| End) }).await;
            assert_eq!(found, if by_wireline { Result } else { NullId(-32700) });
        }
    });
}

/// Null params reach the program as no params, in a request and in a notification.
#[test]
fn null_params_count_as_none() {
    let (near, mut client) = pair();
    let talk = async move {
        client.send("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":null}\n").await;
        client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":null}\n").await;
        assert_eq!(client.receive().await["result"], json!({"method": "m", "params": null, "notes": 1}));
    };
    run(zip(talk, echo(transport(near, Rules::acp())))).1.unwrap();
}

/// Whatever the SDK's own transport reads isn't too deep.
#[test]
fn nested_params() {
    let (near, mut client) = pair();
    let talk = async move {
        for (levels, by_wireline, by_sdk) in [(125, Result, Result), (128, Error(-32600), NullId(-32700))] {
            let (open, close) = ("[".repeat(levels), "]".repeat(levels));
            let line = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{open}{close}}}"#);
            assert_eq!(answer(&mut client, line.as_bytes(), "7").await, by_wireline, "{levels}");
            assert_eq!(over_the_sdks_own(line.as_bytes(), "7").await, by_sdk, "{levels}");
        }
    };
    run(zip(talk, echo(transport(near, Rules::acp())))).1.unwrap();
}

/// The SDK's own transport has no limits. Here, a request beyond one is answered with its id, wherever that is.
#[test]
fn requests_beyond_the_limits() {
    let (near, mut client) = pair();
    let text = "x".repeat(5000);
    let talk = async move {
        for line in [
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":["{text}"]}}"#),
            format!(r#"{{"jsonrpc":"2.0","method":"m","params":["{text}"],"id":7}}"#),
        ] {
            assert_eq!(answer(&mut client, line.as_bytes(), "7").await, Error(-32600));
            assert_eq!(over_the_sdks_own(line.as_bytes(), "7").await, Result);
        }
        let id = format!("\"{}\"", "i".repeat(1100));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        assert_eq!(answer(&mut client, line.as_bytes(), &id).await, NullId(-32600));
        assert_eq!(over_the_sdks_own(line.as_bytes(), &id).await, Result);
    };
    run(zip(talk, echo(transport(near, Rules::acp().max_line_len(4096))))).1.unwrap();
}

/// A second request under an id that is in flight is refused. The SDK's own transport leaves it to the handlers.
#[test]
fn an_id_that_is_in_flight() {
    let (near, mut client) = pair();
    let agent = UntypedRole.builder().on_receive_dispatch(
        async |dispatch: Dispatch, connection: ConnectionTo<UntypedRole>| match dispatch {
            // Answered later, so that both are in flight.
            Dispatch::Request(_, responder) => connection.spawn(async {
                smol::Timer::after(Duration::from_millis(100)).await;
                responder.respond(json!({}))
            }),
            _ => Ok(()),
        },
        on_receive_dispatch!(),
    );
    let talk = async move {
        client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n".repeat(2)).await;
        let (first, second) = (client.receive().await, client.receive().await);
        assert_eq!((&first["id"], &first["error"]["code"]), (&json!(1), &json!(-32600)), "{first}");
        assert_eq!((&second["id"], &second["result"]), (&json!(1), &json!({})), "{second}");
    };
    run(zip(talk, agent.connect_to(transport(near, Rules::acp())))).1.unwrap();
}
