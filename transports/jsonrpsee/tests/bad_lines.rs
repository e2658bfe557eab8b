//! Servers that say what they shouldn't: no line ends the client, and every call that a bad line answers ends with an error.

use crate::common;

use common::{Server, call_error, connect, connect_with, reported};
use jsonrpsee_core::client::{Client, ClientT, Error};
use jsonrpsee_core::params::BatchRequestBuilder;
use jsonrpsee_core::rpc_params;
use serde_json::{Value, json};
use wireline_jsonrpsee::wireline::Rules;

/// Makes a call, and has the server say this before its answer, in which `ID` stands for the id.
async fn call(client: &Client, server: &mut Server, line: &str) -> Result<Value, Error> {
    let serve = async {
        let request = server.message().await;
        server.say(line.replace("ID", &request["id"].to_string())).await;
    };
    let (outcome, ()) = tokio::join!(client.request("m", rpc_params![]), serve);
    outcome
}

/// A proper call, to see that the client is still there.
async fn still_works(client: &Client, server: &mut Server) {
    let outcome = call(client, server, r#"{"jsonrpc":"2.0","id":ID,"result":"fine"}"#).await;
    assert_eq!(outcome.unwrap(), "fine");
}

#[tokio::test]
async fn a_bad_answer_fails_its_call_and_no_other() {
    let (client, mut server, incidents) = connect();
    for (line, reason, kind) in [
        (r#"{"jsonrpc":"2.0","id":ID,"result":[1,NaN]}"#, "expected a JSON value", "invalid-literal"),
        (r#"{"jsonrpc":"2.0","id":ID,"result":{"secret":1"#, "unexpected end of line", "unexpected-end"),
        (r#"{"id":ID,"result":1}"#, "missing \"jsonrpc\"", "missing-version"),
        (r#"{"jsonrpc":"1.0","id":ID,"result":1}"#, "\"jsonrpc\" must be", "invalid-version"),
        (r#"{"jsonrpc":"2.0","id":ID}"#, "missing \"method\"", "missing-method"),
        (r#"{"jsonrpc":"2.0","id":ID,"result":1,"error":null}"#, "", "conflicting-members"),
        (r#"{"jsonrpc":"2.0","id":ID,"error":{"code":"x","message":"secret"}}"#, "", "invalid-error"),
        (r#"[{"jsonrpc":"2.0","id":ID,"error":"secret"}]"#, "", "invalid-error"),
    ] {
        let (code, message) = call_error(call(&client, &mut server, line).await);
        assert_eq!(code, -32603, "{line}");
        assert!(message.starts_with("unusable response: ") && message.contains(reason), "{message}");
        assert!(!message.contains("secret"), "{message}");
        assert_eq!(reported(&incidents), [kind], "{line}");
        still_works(&client, &mut server).await;
    }
}

#[tokio::test]
async fn lines_that_answer_nothing_are_skipped() {
    let (client, mut server, incidents) = connect();
    for (line, kinds) in [
        ("Listening on port 80", &["invalid-literal"][..]),
        ("\u{1b}[2K{}", &["invalid-literal"]),
        ("[1, 2", &["unexpected-end"]),
        ("[]", &["empty-batch"]),
        ("[1]", &["not-an-object"]),
        ("\"text\"", &["not-an-object"]),
        (r#"{"jsonrpc":"2.0","id":999999,"result":1}"#, &["stray"]),
        (r#"{"jsonrpc":"2.0","id":"0","result":1}"#, &["stray"]),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#, &["stray"]),
        (r#"[{"jsonrpc":"2.0","id":"x","result":1},{"jsonrpc":"2.0","id":-1,"result":1}]"#, &["stray", "stray"]),
        (r#"{"jsonrpc":"2.0","method":"tick","params":{"subscription":[],"result":1}}"#, &[]),
        (r#"{"jsonrpc":"2.0","method":"tick","params":null}"#, &[]),
    ] {
        server.say(line).await;
        still_works(&client, &mut server).await;
        assert_eq!(reported(&incidents), kinds, "{line}");
    }
    server.say(b"\xff\xfe\x00").await;
    still_works(&client, &mut server).await;
}

#[tokio::test]
async fn answers_that_jsonrpsee_has_no_type_for() {
    let (client, mut server, incidents) = connect();
    // Another spelling of the same id.
    let outcome = call(&client, &mut server, r#"{"jsonrpc":"2.0","id":ID.0e0,"result":[1.10]}"#).await;
    assert_eq!(outcome.unwrap().to_string(), "[1.1]");
    // More members than jsonrpsee knows, and half a surrogate pair.
    let line = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":7,"message":"no \ud800","stack":"...","data":[1]},"x":1}"#;
    assert_eq!(call_error(call(&client, &mut server, line).await), (7, "no \u{fffd}".to_owned()));
    let line = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":3000000000,"message":"secret"}}"#;
    let (code, message) = call_error(call(&client, &mut server, line).await);
    assert_eq!((code, &*message), (-32603, "unusable response: error code beyond 32 bits"));
    // Answered twice.
    let line = "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":1}\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":2}";
    assert_eq!(call(&client, &mut server, line).await.unwrap(), 1);
    still_works(&client, &mut server).await;
    assert_eq!(reported(&incidents), ["stray"]);
}

#[tokio::test]
async fn requests_of_the_server_are_answered() {
    let (client, mut server, incidents) = connect();
    server.say(r#"{"jsonrpc":"2.0","id":"a","method":"ask"}"#).await;
    let answer = server.message().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("a"), &json!(-32601)));
    server.say(r#"[{"jsonrpc":"2.0","id":1,"method":"ask"},{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2,"method":1}]"#).await;
    let answers = server.message().await;
    let codes: Vec<_> =
        answers.as_array().unwrap().iter().map(|answer| (&answer["id"], &answer["error"]["code"])).collect();
    assert_eq!(codes, [(&json!(1), &json!(-32601)), (&json!(2), &json!(-32600))]);
    server.say(r#"{"jsonrpc":"2.0","id":"b","method":"ask","params":[1"#).await;
    let answer = server.message().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("b"), &json!(-32700)));
    still_works(&client, &mut server).await;
    assert_eq!(reported(&incidents), ["request", "request", "invalid-method", "unexpected-end"]);
}

/// The result or error code of each call in a batch of three.
async fn batch(client: &Client, server: &mut Server, answer: impl Fn(&[Value]) -> String) -> Vec<Result<i64, i32>> {
    let mut calls = BatchRequestBuilder::new();
    for i in 0..3 {
        calls.insert("m", rpc_params![i]).unwrap();
    }
    let serve = async {
        let Value::Array(requests) = server.message().await else { panic!("expected an array") };
        let ids: Vec<_> = requests.iter().map(|request| request["id"].clone()).collect();
        server.say(answer(&ids)).await;
    };
    let (answers, ()) = tokio::join!(client.batch_request::<i64>(calls), serve);
    answers.unwrap().into_iter().map(|answer| answer.map_err(|error| error.code())).collect()
}

#[tokio::test]
async fn batches_that_are_answered_in_odd_ways() {
    let (client, mut server, incidents) = connect();
    let result = |id: &Value, n: i64| json!({"jsonrpc": "2.0", "id": id, "result": n}).to_string();

    // One by one.
    let answers = batch(&client, &mut server, |ids| {
        [result(&ids[2], 2), "noise".to_owned(), result(&ids[0], 0), result(&ids[1], 1)].join("\n")
    });
    assert_eq!(answers.await, [Ok(0), Ok(1), Ok(2)]);
    // Only one of three.
    let answers = batch(&client, &mut server, |ids| format!("[{}]", result(&ids[1], 1)));
    assert_eq!(answers.await, [Err(-32603), Ok(1), Err(-32603)]);
    // One of them bad, one twice, one that nobody asked for, and a notification.
    let answers = batch(&client, &mut server, |ids| {
        let bad = json!({"jsonrpc": "2.0", "id": ids[0], "error": 1}).to_string();
        let note = r#"{"jsonrpc":"2.0","method":"n"}"#;
        let (one, two) = (result(&ids[1], 1), result(&ids[2], 2));
        format!("[{bad},{one},{one},{},{note},{two}]", result(&json!("x"), 0))
    });
    assert_eq!(answers.await, [Err(-32603), Ok(1), Ok(2)]);
    // All of it refused.
    let answers = batch(&client, &mut server, |_| {
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"no batches"}}"#.to_owned()
    });
    assert_eq!(answers.await, [Err(-32005), Err(-32005), Err(-32005)]);

    still_works(&client, &mut server).await;
    assert_eq!(reported(&incidents), ["invalid-literal", "invalid-error", "stray", "stray"]);
}

/// The answers to a call and to a batch in one array, which JSON-RPC doesn't provide for.
#[tokio::test]
async fn an_array_may_answer_anything() {
    let (client, mut server, _) = connect();
    let mut calls = BatchRequestBuilder::new();
    calls.insert("m", rpc_params![]).unwrap();
    let serve = async {
        let (first, second) = (server.message().await, server.message().await);
        let ids = [first, second].map(|sent| if sent.is_array() { sent[0]["id"].clone() } else { sent["id"].clone() });
        let answers = ids.map(|id| json!({"jsonrpc": "2.0", "id": id, "result": 5}));
        server.say(json!(answers).to_string()).await;
    };
    let (alone, batch, ()) =
        tokio::join!(client.request::<i64, _>("m", rpc_params![]), client.batch_request::<i64>(calls), serve);
    assert_eq!(alone.unwrap(), 5);
    assert_eq!(batch.unwrap().into_iter().map(Result::unwrap).collect::<Vec<_>>(), [5]);
}

#[tokio::test]
async fn what_cannot_be_sent_fails_at_once() {
    let rules = Rules::json_rpc().max_line_len(1000).max_batch_len(2);
    let (client, mut server, incidents) = connect_with(Client::builder(), rules);
    let long = "secret".repeat(200);
    let (code, message) = call_error(client.request::<Value, _>("m", rpc_params![&long]).await);
    assert_eq!((code, message.contains("not sent: "), message.contains("secret")), (-32600, true, false), "{message}");
    client.notification("m", rpc_params![&long]).await.unwrap();
    // Deeper than any rules allow.
    struct Deep;
    impl jsonrpsee_core::traits::ToRpcParams for Deep {
        fn to_rpc_params(self) -> Result<Option<Box<jsonrpsee_core::JsonRawValue>>, serde_json::Error> {
            let deep = "[".repeat(5000) + &"]".repeat(5000);
            jsonrpsee_core::JsonRawValue::from_string(deep).map(Some)
        }
    }
    let (code, _) = call_error(client.request::<Value, _>("m", Deep).await);
    assert_eq!(code, -32600);
    let mut calls = BatchRequestBuilder::new();
    for _ in 0..3 {
        calls.insert("m", rpc_params![]).unwrap();
    }
    let answers = client.batch_request::<Value>(calls).await.unwrap();
    assert_eq!(answers.into_iter().map(|answer| answer.unwrap_err().code()).collect::<Vec<_>>(), [-32600; 3]);
    still_works(&client, &mut server).await;
    assert_eq!(reported(&incidents), ["refused"; 4]);
}

/// An answer beyond the line limit, with its id at the end.
#[tokio::test]
async fn an_oversized_answer_fails_its_call() {
    let (client, mut server, incidents) = connect_with(Client::builder(), Rules::json_rpc().max_line_len(1000));
    let line = format!(r#"{{"jsonrpc":"2.0","result":"{}","id":ID}}"#, "x".repeat(100_000));
    let (code, message) = call_error(call(&client, &mut server, &line).await);
    assert_eq!(code, -32603);
    assert!(message.ends_with("exceeds the limit of 1000"), "{message}");
    still_works(&client, &mut server).await;
    assert_eq!(reported(&incidents), ["line-too-long"]);
}
