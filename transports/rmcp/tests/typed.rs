//! The transport decodes messages without rmcp's `Deserialize` for `JsonRpcMessage`. The outcome is the same.

use rmcp::service::{RxJsonRpcMessage, ServiceRole};
use rmcp::transport::Transport;
use rmcp::{RoleClient, RoleServer};
use serde_json::{Value, json};
use tokio::io::sink;
use wireline_rmcp::LineTransport;

/// What servers receive.
const TO_SERVERS: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"c","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
    r#"{"id":2,"method":"ping","jsonrpc":"2.0","params":{"_meta":{"progressToken":"t"}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"next"}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":[1.5,null,"x"]},"_meta":{"progressToken":7}}}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"file:///a"}}"#,
    r#"{"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"name":"p","arguments":{"k":"v"}}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"k","value":"v"}}}"#,
    r#"{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"info"}}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":"x/custom","params":{"deep":{"er":[1,2,{"x":"\u00e9"}]}},"extra":1}"#,
    // The params of a known method, but not for it.
    r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":1}}"#,
    // Members that might be taken for the params' own, and values that must not be taken for the envelope's.
    r#"{"jsonrpc":"2.0","id":14,"method":"tools/list","cursor":"outside","_meta":{"progressToken":1},"params":{}}"#,
    r#"{"jsonrpc":"2.0","id":15,"method":"x/y","params":{"id":16,"method":"ping","jsonrpc":"1.0"}}"#,
    r#"{"jsonrpc":"2.0","id":"\u0061\n","method":"server/discover"}"#,
    r#"{"jsonrpc":"2.0","id":17,"method":"resources/list"}"#,
    r#"{"jsonrpc":"2.0","id":18,"method":"resources/templates/list","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":19,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#,
    r#"{"jsonrpc":"2.0","id":20,"method":"resources/unsubscribe","params":{"uri":"file:///a"}}"#,
    r#"{"jsonrpc":"2.0","id":21,"method":"prompts/list"}"#,
    r#"{"jsonrpc":"2.0","id":22,"method":"tasks/get","params":{"taskId":"t"}}"#,
    r#"{"jsonrpc":"2.0","id":23,"method":"tasks/cancel","params":{"taskId":"t"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed","_meta":{"a":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"r"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.5,"total":1}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1}}"#,
    r#"{"jsonrpc":"2.0","id":11,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":12,"result":{"roots":[{"uri":"file:///a","name":"a"}]}}"#,
    r#"{"jsonrpc":"2.0","id":13,"error":{"code":-32601,"message":"no","data":{"x":[1]}}}"#,
];

/// What clients receive.
const TO_CLIENTS: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},"instructions":"i"}}"#,
    r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"add","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"number"}}}}],"nextCursor":"n"}}"#,
    r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"42"}],"isError":false}}"#,
    r#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}],"structuredContent":{"x":1}}}"#,
    r#"{"jsonrpc":"2.0","id":5,"result":{"contents":[{"uri":"file:///a","text":"t"}]}}"#,
    r#"{"jsonrpc":"2.0","id":6,"result":{"messages":[{"role":"user","content":{"type":"text","text":"t"}}]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"result":{"anything":{"else":[1,2,3]}}}"#,
    r#"{"result":{},"id":"b","jsonrpc":"2.0"}"#,
    r#"{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"t"}}],"maxTokens":10}}"#,
    r#"{"jsonrpc":"2.0","id":10,"method":"roots/list"}"#,
    r#"{"jsonrpc":"2.0","id":11,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"d"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}"#,
];

#[tokio::test]
async fn decodes_as_rmcp_does() {
    compare::<RoleServer>(TO_SERVERS).await;
    compare::<RoleClient>(TO_CLIENTS).await;
}

async fn compare<Role: ServiceRole>(lines: &[&str]) {
    for line in lines {
        let mut transport = LineTransport::new(line.as_bytes(), sink());
        let value: Value = serde_json::from_str(line).unwrap();
        if value.get("method").is_none() {
            // It has to answer a call.
            let call = json!({"jsonrpc": "2.0", "id": value["id"], "method": "ping"});
            Transport::<Role>::send(&mut transport, serde_json::from_value(call).unwrap()).await.unwrap();
        }
        let received = Transport::<Role>::receive(&mut transport).await.unwrap();
        let expected: RxJsonRpcMessage<Role> = serde_json::from_str(line).unwrap();
        assert_eq!(format!("{received:?}"), format!("{expected:?}"), "{line}");
    }
}
