//! Servers, and methods that misbehave.
#![allow(dead_code, reason = "not every test uses everything")]

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use wireline::{RpcError, Rules};
use wireline_http_example::{Call, Methods, blocking, router};

/// Rules with small limits.
pub fn rules() -> Rules {
    Rules::json_rpc().max_line_len(100_000).max_depth(20)
}

/// Nothing here may take long.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it hangs")
}

pub async fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = router(Misbehaving, rules()).merge(blocking(misbehave, rules()));
    tokio::spawn(async { axum::serve(listener, app).await });
    address
}

#[derive(Clone)]
pub struct Misbehaving;

pub enum Outcome {
    Json(Value),
    NotANumber,
    Panic,
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(value) => value.serialize(serializer),
            Self::NotANumber => [1.0, f64::NAN].serialize(serializer),
            Self::Panic => panic!("while encoding"),
        }
    }
}

impl Methods for Misbehaving {
    type Output = Outcome;

    async fn call(&self, call: Call) -> Result<Outcome, RpcError> {
        let params: Value = call.params().map_or(Value::Null, |params| params.deserialize().unwrap());
        match &*call.method() {
            "echo" => Ok(Outcome::Json(params)),
            "sleep" => {
                tokio::time::sleep(Duration::from_millis(params[0].as_u64().unwrap())).await;
                Ok(Outcome::Json(json!("slept")))
            }
            "repeat" => Ok(Outcome::Json(json!("x".repeat(params[0].as_u64().unwrap() as usize)))),
            "long" => Ok(Outcome::Json(json!("x".repeat(200_000)))),
            "nan" => Ok(Outcome::NotANumber),
            "panic" => panic!("in the method"),
            "panic later" => Ok(Outcome::Panic),
            _ => Err(RpcError::method_not_found()),
        }
    }
}

fn misbehave(call: wireline::connection::Call<'_>) -> Result<Outcome, RpcError> {
    match call.method() {
        "echo" => Ok(Outcome::Json(call.params()?)),
        "block" => {
            std::thread::sleep(Duration::from_millis(600));
            Ok(Outcome::Json(json!("blocked")))
        }
        "nan" => Ok(Outcome::NotANumber),
        "panic" => panic!("in the function"),
        "panic later" => Ok(Outcome::Panic),
        _ => Err(RpcError::method_not_found()),
    }
}

/// A text and its expected answer: an error with this id (as JSON) and this code, or nothing.
pub type Case = (Vec<u8>, Option<(&'static str, i64)>);

/// Texts that aren't messages.
pub fn hostile() -> Vec<Case> {
    let deep = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"echo","params":{}1{}}}"#, "[".repeat(30), "]".repeat(30));
    let id = "9".repeat(2000);
    vec![
        (b"".to_vec(), Some(("null", -32700))),
        (b"oops".to_vec(), Some(("null", -32700))),
        (b"7".to_vec(), Some(("null", -32600))),
        (b"[]".to_vec(), Some(("null", -32600))),
        (br#"{"jsonrpc":"2.0","id":1,"method":"echo","params":[1"#.to_vec(), Some(("1", -32700))),
        (br#"{"jsonrpc":"2.0","id":1,"method":"echo"} {}"#.to_vec(), Some(("1", -32700))),
        (b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\",\"params\":[\"\xff\"]}".to_vec(), Some(("2", -32700))),
        (br#"{"jsonrpc":"2.0","id":3,"method":"echo","params":[NaN]}"#.to_vec(), Some(("3", -32700))),
        (br#"{"jsonrpc":"2.0","id":[4],"method":"echo"}"#.to_vec(), Some(("null", -32600))),
        (br#"{"jsonrpc":"2.0","id":4,"id":5,"method":"echo"}"#.to_vec(), Some(("null", -32600))),
        (deep.into_bytes(), Some(("5", -32600))),
        ("[".repeat(90_000).into_bytes(), Some(("null", -32600))),
        (format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo"}}"#).into_bytes(), Some(("null", -32600))),
        (br#"{"jsonrpc":"2.0","id":6,"result":1,"error":2}"#.to_vec(), None),
    ]
}

/// Requests whose methods misbehave, each answered with an internal error.
pub const FAILING: [&str; 4] = ["nan", "long", "panic", "panic later"];

pub fn request(id: impl std::fmt::Display, method: &str, params: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

pub fn internal(id: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"Internal error"}}}}"#)
}
