//! The transport as a way out for answers, with everything that can go wrong on it: each request gets exactly one
//! response. (`tests/doors/` of the library has the same table for its own ways out.)

use std::collections::HashMap;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::time::timeout;
use wireline_rmcp::LineTransport;
use wireline_rmcp::wireline::Rules;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    /// The result is an array, which MCP doesn't have.
    RefusedByRules,
    TooLong,
    /// The client doesn't read until everything has been sent.
    BacklogFull,
    /// The client is gone.
    WriterBreaks,
    /// A send is dropped before it is polled.
    SendDropped,
    /// Two requests in flight have the same id. The second is refused.
    DuplicateId,
    IdAtItsLimit,
    /// The result can't be encoded, and the error that replaces it just fits.
    TooLongWithIdAtItsLimit,
}

impl Trouble {
    fn rules(self) -> Rules {
        Rules::mcp().max_line_len(300)
    }

    /// The ids of three requests, of which the second is in trouble.
    fn ids(self) -> [Value; 3] {
        let id = match self {
            Self::IdAtItsLimit | Self::TooLongWithIdAtItsLimit => {
                json!("x".repeat(self.rules().settings().max_id_len - 2))
            }
            Self::DuplicateId => json!(1),
            _ => json!(2),
        };
        [json!(1), id, json!("3")]
    }

    fn result(self) -> Value {
        match self {
            Self::RefusedByRules => json!([1]),
            Self::TooLong | Self::TooLongWithIdAtItsLimit => json!({"text": "x".repeat(400)}),
            _ => json!({}),
        }
    }
}

async fn check(trouble: Trouble) {
    let room = if matches!(trouble, Trouble::BacklogFull | Trouble::SendDropped) { 16 } else { 4096 };
    let (mut near, far) = duplex(room);
    let (reader, writer) = split(far);
    let mut transport = LineTransport::new(reader, writer).rules(trouble.rules());

    // The requests arrive while nobody answers.
    let ids = trouble.ids();
    let requests: String =
        ids.iter().map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string() + "\n").collect();
    let (fed, ()) = tokio::join!(near.write_all(requests.as_bytes()), async {
        for _ in 0..ids.len() - usize::from(trouble == Trouble::DuplicateId) {
            assert!(Transport::<RoleServer>::receive(&mut transport).await.is_some(), "{trouble:?}");
        }
    });
    fed.unwrap();
    if trouble == Trouble::WriterBreaks {
        drop(near);
        for id in &ids {
            let answer: TxJsonRpcMessage<RoleServer> =
                serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "result": {}})).unwrap();
            Transport::<RoleServer>::send(&mut transport, answer).await.unwrap();
        }
        // The service learns that nothing can be sent any more.
        assert!(Transport::<RoleServer>::receive(&mut transport).await.is_none());
        let late = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let late = Transport::<RoleServer>::send(&mut transport, serde_json::from_value(late).unwrap());
        assert!(late.await.is_err());
        return;
    }

    let mut sends = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let result = if at == 1 { trouble.result() } else { json!({}) };
        let answer = serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "result": result})).unwrap();
        let send = Transport::<RoleServer>::send(&mut transport, answer);
        match trouble {
            Trouble::SendDropped if at == 1 => drop(send),
            _ => sends.push(tokio::spawn(send)),
        }
    }
    let client = tokio::spawn(async move {
        let mut said = String::new();
        near.read_to_string(&mut said).await.unwrap();
        said
    });
    for send in sends {
        drop(send.await.unwrap());
    }
    Transport::<RoleServer>::close(&mut transport).await.unwrap();
    drop(transport);
    let said = client.await.unwrap();

    let (mut expected, mut found) = (HashMap::<String, usize>::new(), HashMap::<String, usize>::new());
    ids.iter().for_each(|id| *expected.entry(id.to_string()).or_default() += 1);
    for line in said.lines() {
        assert!(line.len() <= trouble.rules().settings().max_line_len);
        let response: Value = serde_json::from_str(line).unwrap();
        assert_ne!(response.get("result").is_some(), response.get("error").is_some());
        *found.entry(response["id"].to_string()).or_default() += 1;
    }
    assert_eq!(found, expected, "{trouble:?}");
}

macro_rules! cells {
    ($($test:ident: $trouble:ident,)*) => {$(
        #[tokio::test]
        async fn $test() {
            timeout(Duration::from_secs(30), check(Trouble::$trouble)).await.unwrap();
        }
    )*};
}

cells! {
    refused_by_rules: RefusedByRules,
    too_long: TooLong,
    backlog_full: BacklogFull,
    writer_breaks: WriterBreaks,
    send_dropped: SendDropped,
    duplicate_id: DuplicateId,
    id_at_its_limit: IdAtItsLimit,
    too_long_with_id_at_its_limit: TooLongWithIdAtItsLimit,
}

/// 1,000 requests with random ids and random results get 1,000 responses, answered in any order by several tasks.
#[tokio::test]
async fn a_thousand_requests_get_a_thousand_responses() {
    let mut state = 7_u64;
    let mut below = move |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let rules = Rules::mcp().max_line_len(300);
    let (near, far) = duplex(1000);
    let (reader, writer) = split(far);
    let mut transport = LineTransport::new(reader, writer).rules(rules);
    let ids: Vec<Value> = (0..1000)
        .map(|number| match below(2) {
            0 => json!(number),
            _ => json!(format!("{number}-{}", "é".repeat(below(20) as usize))),
        })
        .collect();
    let requests: String =
        ids.iter().map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string() + "\n").collect();
    let (mut from_server, mut to_server) = split(near);
    let client = tokio::spawn(async move {
        let mut said = String::new();
        from_server.read_to_string(&mut said).await.unwrap();
        said
    });
    let feeding = tokio::spawn(async move { to_server.write_all(requests.as_bytes()).await });

    let mut waiting = Vec::new();
    let mut sends = Vec::new();
    for id in &ids {
        assert!(Transport::<RoleServer>::receive(&mut transport).await.is_some());
        waiting.push(id.clone());
        while below(3) > 0 && !waiting.is_empty() {
            let id = waiting.swap_remove(below(waiting.len() as u64) as usize);
            let result = match below(4) {
                0 => json!([1]),
                1 => json!({"text": "x".repeat(400)}),
                _ => json!({"text": "x".repeat(below(100) as usize)}),
            };
            let answer = serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "result": result})).unwrap();
            sends.push(tokio::spawn(Transport::<RoleServer>::send(&mut transport, answer)));
        }
    }
    for id in waiting {
        let answer = serde_json::from_value(json!({"jsonrpc": "2.0", "id": id, "result": {}})).unwrap();
        sends.push(tokio::spawn(Transport::<RoleServer>::send(&mut transport, answer)));
    }
    feeding.await.unwrap().unwrap();
    for send in sends {
        drop(send.await.unwrap());
    }
    Transport::<RoleServer>::close(&mut transport).await.unwrap();
    drop(transport);
    let said = timeout(Duration::from_secs(30), client).await.unwrap().unwrap();
    let found = said.lines().map(|line| {
        let response: Value = serde_json::from_str(line).unwrap();
        assert_ne!(response.get("result").is_some(), response.get("error").is_some());
        response["id"].to_string()
    });
    let (mut found, mut expected): (Vec<_>, Vec<_>) = (found.collect(), ids.iter().map(Value::to_string).collect());
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}
