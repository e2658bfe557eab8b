//! A client over a pair of pipes in memory, and a server at the other end.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jsonrpsee_core::client::{Client, ClientBuilder, Error};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::time::timeout;
use wireline_jsonrpsee::wireline::Rules;
use wireline_jsonrpsee::{Disconnected, Incident, LineTransport};

/// Far more than any of these takes, so that a hang fails instead of lasting.
pub const HANG: Duration = Duration::from_secs(60);

pub type Incidents = Arc<Mutex<Vec<String>>>;

/// The server's end.
pub struct Server {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Server {
    /// The next line, or `None` at the end.
    pub async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let len = timeout(HANG, self.reader.read_line(&mut line)).await.expect("the client sends something").unwrap();
        (len > 0).then(|| line.trim_end_matches('\n').to_owned())
    }

    /// The next line as JSON.
    pub async fn message(&mut self) -> Value {
        serde_json::from_str(&self.line().await.unwrap()).unwrap()
    }

    pub async fn say(&mut self, text: impl AsRef<[u8]>) {
        self.writer.write_all(text.as_ref()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    pub async fn answer(&mut self, id: &Value, result: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()).await;
    }
}

pub fn connect() -> (Client, Server, Incidents) {
    connect_with(Client::builder(), Rules::json_rpc())
}

pub fn connect_with(builder: ClientBuilder, rules: Rules) -> (Client, Server, Incidents) {
    let (near, far) = duplex(1 << 16);
    let (reader, writer) = split(near);
    let incidents = Incidents::default();
    let reported = Arc::clone(&incidents);
    let transport = LineTransport::new(reader, writer).rules(rules).on_incident(move |incident| {
        let kind = match incident {
            Incident::Fault(fault) => fault.kind().name().to_owned(),
            Incident::Stray { .. } => "stray".to_owned(),
            Incident::Request { .. } => "request".to_owned(),
            Incident::Refused(_) => "refused".to_owned(),
            other => other.to_string(),
        };
        reported.lock().unwrap().push(kind);
    });
    let (sender, receiver) = transport.split();
    let client = builder.request_timeout(HANG).build_with_tokio(sender, receiver);
    let (reader, writer) = split(far);
    (client, Server { reader: BufReader::new(reader), writer }, incidents)
}

pub fn reported(incidents: &Incidents) -> Vec<String> {
    std::mem::take(&mut *incidents.lock().unwrap())
}

/// Why the client was disconnected, if that is the error.
pub fn why(error: &Error) -> Option<&Disconnected> {
    match error {
        Error::RestartNeeded(error) => why(error),
        Error::Transport(error) => error.downcast_ref(),
        _ => None,
    }
}

/// The code and the message, if the call failed by itself.
pub fn call_error<T>(outcome: Result<T, Error>) -> (i32, String) {
    match outcome {
        Err(Error::Call(error)) => (error.code(), error.message().to_owned()),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("expected an error"),
    }
}
