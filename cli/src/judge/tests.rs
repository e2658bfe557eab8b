//! Each rule with a session that breaks it and one that doesn't.
//!
//! A line of a session is `> MESSAGE` from the client or `< MESSAGE` from the server, after `@MILLISECONDS` if the time
//! matters. A message is JSON, or short for it: `7 method {params}` for a request, `- method {params}` for a notification,
//! `=7 {result}` for a response and `!7 -32600` for an error.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wireline::{Frame, Rules};

use super::*;

struct Sessions {
    rule: Rule,
    /// How both sessions start.
    start: &'static str,
    broken: &'static str,
    fine: &'static str,
}

/// A handshake in which both sides can do everything.
const MCP: &str = r#"
> 0 initialize {"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{},"roots":{"listChanged":true}},"clientInfo":{"name":"c","version":"1"}}
< =0 {"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"logging":{},"completions":{}},"serverInfo":{"name":"s","version":"1"}}
> - notifications/initialized
"#;

/// A handshake in which they can't.
const BARE: &str = r#"
> 0 initialize {"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}
< =0 {"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}
> - notifications/initialized
"#;

/// The tool `add` with both schemas, and `lax` without.
const TOOLS: &str = r#"
> 0 initialize {"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}
< =0 {"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}
> - notifications/initialized
> 1 tools/list
< =1 {"tools":[{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}},{"name":"lax","inputSchema":{"type":"object"}}]}
"#;

const DISCOVERED: &str = r#"
> 0 server/discover {META}
< =0 {"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"logging":{}}}
"#;

const LISTENING: &str = r#"
> 0 server/discover {META}
< =0 {"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true}}}
> 1 subscriptions/listen {META,"notifications":{"toolsListChanged":true}}
"#;

const ACP: &str = r#"
> 0 initialize {"protocolVersion":1,"clientCapabilities":{"terminal":true}}
< =0 {"protocolVersion":1,"agentCapabilities":{"loadSession":true}}
> 1 session/new {"cwd":"/","mcpServers":[]}
< =1 {"sessionId":"s"}
> 2 session/prompt {"sessionId":"s","prompt":[]}
"#;

/// What each request of MCP 2026-07-28 has.
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

const fn sessions(rule: Rule, start: &'static str, broken: &'static str, fine: &'static str) -> Sessions {
    Sessions { rule, start, broken, fine }
}

const TABLE: &[Sessions] = &[
    sessions(Rule::UnansweredRequest, MCP, "> 1 ping\n> 2 ping\n@1500 < =2 {}", "> 1 ping\n> 2 ping\n< =2 {}\n< =1 {}"),
    sessions(
        Rule::UnansweredRequest,
        MCP,
        "> 1 ping\n@1500 < - notifications/message {\"level\":\"info\"}",
        "> 1 ping\n< !1 -32601",
    ),
    sessions(Rule::UnansweredAtEnd, MCP, "> 1 ping", "> 1 ping\n< =1 {}"),
    sessions(Rule::SecondAnswer, MCP, "> 1 ping\n< =1 {}\n< =1 {}", "> 1 ping\n< =1 {}\n> 2 ping\n< =2 {}"),
    sessions(Rule::UnknownAnswer, "", "> 1 m\n< =1 {}\n< =2 {}", "> 1 m\n< =1 {}"),
    sessions(Rule::AnswerIdType, "", "> 1 m\n< =\"1\" {}\n< =1 {}", "> \"1\" m\n< =\"1\" {}"),
    sessions(
        Rule::ReusedId,
        "",
        "> 1 m\n> 1 m\n< =1 {}\n< =1 {}",
        "> 1 m\n> \"1\" m\n< 1 m\n< =1 {}\n< =\"1\" {}\n> =1 {}",
    ),
    sessions(Rule::IdUsedBefore, MCP, "> 1 ping\n< =1 {}\n> 1 ping\n< =1 {}", "> 1 ping\n< =1 {}\n< 1 ping\n> =1 {}"),
    sessions(
        Rule::AnswerAfterCancellation,
        MCP,
        "> 1 tools/call {\"name\":\"t\"}\n> - notifications/cancelled {\"requestId\":1}\n@900 < =1 {}",
        "> 1 tools/call {\"name\":\"t\"}\n> - notifications/cancelled {\"requestId\":1}",
    ),
    // Both SDKs give up on an answer that they couldn't parse.
    sessions(
        Rule::LateCancellation,
        MCP,
        "> 1 tools/list\n< =1 {\"tools\":[]}\n@60000 > - notifications/cancelled {\"requestId\":1}",
        "> 1 tools/list\n< =1 {\"tools\":[]}\n@100 > - notifications/cancelled {\"requestId\":1}",
    ),
    sessions(
        Rule::UnknownCancellation,
        MCP,
        "> - notifications/cancelled {\"requestId\":9}",
        "> 9 ping\n> - notifications/cancelled {\"requestId\":9}",
    ),
    sessions(
        Rule::CancelledInitialize,
        "> 0 initialize {\"protocolVersion\":\"2025-06-18\"}",
        "> - notifications/cancelled {\"requestId\":0}",
        "< =0 {\"protocolVersion\":\"2025-06-18\"}\n> - notifications/initialized",
    ),
    sessions(
        Rule::BeforeInitialize,
        "",
        "> 1 tools/list\n< !1 -32600\n> 2 initialize {\"protocolVersion\":\"2025-06-18\"}\n< =2 {\"protocolVersion\":\"2025-06-18\"}\n> - notifications/initialized",
        "> 1 ping\n< =1 {}\n> 2 initialize {\"protocolVersion\":\"2025-06-18\"}\n< =2 {\"protocolVersion\":\"2025-06-18\"}\n> - notifications/initialized",
    ),
    sessions(
        Rule::BeforeInitialize,
        "",
        "> 1 session/new\n< !1 -32600\n> 0 initialize {\"protocolVersion\":1}\n< =0 {\"protocolVersion\":1}",
        "> 0 initialize {\"protocolVersion\":1}\n< =0 {\"protocolVersion\":1}\n> 1 session/new\n< =1 {\"sessionId\":\"s\"}",
    ),
    sessions(
        Rule::BeforeInitialized,
        "> 0 initialize {\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"roots\":{}}}",
        "< =0 {\"protocolVersion\":\"2025-06-18\"}\n< 1 roots/list\n> - notifications/initialized\n> =1 {}",
        "< =0 {\"protocolVersion\":\"2025-06-18\"}\n> - notifications/initialized\n< 1 roots/list\n> =1 {}",
    ),
    sessions(
        Rule::BeforeInitialized,
        "> 0 initialize {\"protocolVersion\":\"2025-06-18\"}",
        "> 1 tools/list\n< =0 {\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}}}\n< =1 {\"tools\":[]}\n> - notifications/initialized",
        "< =0 {\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}}}\n> - notifications/initialized\n> 1 tools/list\n< =1 {\"tools\":[]}",
    ),
    sessions(
        Rule::MissingInitialized,
        "> 0 initialize {\"protocolVersion\":\"2025-06-18\"}\n< =0 {\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}}}",
        "> 1 tools/list\n< =1 {\"tools\":[]}",
        "> - notifications/initialized\n> 1 tools/list\n< =1 {\"tools\":[]}",
    ),
    sessions(
        Rule::SecondInitialize,
        "",
        "> 0 initialize {\"protocolVersion\":\"2025-06-18\"}\n< =0 {\"protocolVersion\":\"2025-06-18\"}\n> - notifications/initialized\n> 1 initialize {\"protocolVersion\":\"2025-06-18\"}\n< !1 -32600",
        "> 0 initialize {\"protocolVersion\":\"2025-06-18\"}\n< !0 -32602\n> 1 initialize {\"protocolVersion\":\"2025-06-18\"}\n< =1 {\"protocolVersion\":\"2025-06-18\"}\n> - notifications/initialized",
    ),
    sessions(
        Rule::UnknownVersion,
        "",
        "> 0 initialize {\"protocolVersion\":\"2099-01-01\"}\n< =0 {\"protocolVersion\":\"2025-11-25\"}\n> - notifications/initialized",
        "> 0 initialize {\"protocolVersion\":\"2026-07-28\"}\n< =0 {\"protocolVersion\":\"2024-11-05\"}\n> - notifications/initialized",
    ),
    sessions(
        Rule::UnknownVersion,
        "> 0 initialize {\"protocolVersion\":1}",
        "< =0 {\"protocolVersion\":99}",
        "< =0 {\"protocolVersion\":1}",
    ),
    sessions(
        Rule::UnknownVersion,
        DISCOVERED,
        "> 1 tools/list {\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"1900-01-01\",\"io.modelcontextprotocol/clientCapabilities\":{}}}\n< !1 -32022",
        "> 1 tools/list {META}\n< =1 {\"resultType\":\"complete\",\"tools\":[]}",
    ),
    sessions(Rule::PeerCapability, BARE, "> 1 tools/list\n< !1 -32601", "> 1 ping\n< =1 {}"),
    sessions(Rule::PeerCapability, BARE, "< 1 sampling/createMessage\n> !1 -32601", "< 1 ping\n> =1 {}"),
    sessions(
        Rule::PeerCapability,
        ACP,
        "< 1 fs/read_text_file {\"sessionId\":\"s\"}\n> !1 -32601\n< =2 {\"stopReason\":\"end_turn\"}",
        "< 1 terminal/create {\"sessionId\":\"s\"}\n> =1 {}\n< =2 {\"stopReason\":\"end_turn\"}",
    ),
    sessions(
        Rule::PeerCapability,
        DISCOVERED,
        "> 1 tools/call {META,\"name\":\"t\"}\n< =1 {\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{\"method\":\"sampling/createMessage\"}}}",
        "> 1 tools/call {META,\"name\":\"t\"}\n< =1 {\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{\"method\":\"elicitation/create\"}}}",
    ),
    sessions(
        Rule::OwnCapability,
        MCP,
        "< - notifications/prompts/list_changed",
        "< - notifications/tools/list_changed\n> - notifications/roots/list_changed",
    ),
    sessions(
        Rule::UnknownProgressToken,
        MCP,
        "< - notifications/progress {\"progressToken\":5,\"progress\":1}",
        "> 1 tools/call {\"name\":\"t\",\"_meta\":{\"progressToken\":5}}\n< - notifications/progress {\"progressToken\":5,\"progress\":1}\n< =1 {}",
    ),
    sessions(
        Rule::ProgressAfterAnswer,
        MCP,
        "> 1 tools/call {\"name\":\"t\",\"_meta\":{\"progressToken\":5}}\n< =1 {}\n< - notifications/progress {\"progressToken\":5,\"progress\":1}",
        // A task goes on.
        "> 1 tools/call {\"name\":\"t\",\"_meta\":{\"progressToken\":5}}\n< =1 {\"task\":{\"taskId\":\"x\"}}\n< - notifications/progress {\"progressToken\":5,\"progress\":1}\n> 2 tools/call {\"name\":\"t\",\"_meta\":{\"progressToken\":6}}\n< - notifications/progress {\"progressToken\":6,\"progress\":1}\n< =2 {}",
    ),
    sessions(
        Rule::ProgressNotIncreasing,
        MCP,
        "> 1 tools/call {\"name\":\"t\",\"_meta\":{\"progressToken\":5}}\n< - notifications/progress {\"progressToken\":5,\"progress\":1}\n< - notifications/progress {\"progressToken\":5,\"progress\":1}\n< =1 {}",
        "> 1 tools/call {\"name\":\"t\",\"_meta\":{\"progressToken\":5}}\n< - notifications/progress {\"progressToken\":5,\"progress\":0}\n< - notifications/progress {\"progressToken\":5,\"progress\":0.5}\n< =1 {}",
    ),
    sessions(
        Rule::ProgressTokenReused,
        MCP,
        "> 1 tools/call {\"name\":\"t\",\"_meta\":{\"progressToken\":5}}\n> 2 tools/call {\"name\":\"t\",\"_meta\":{\"progressToken\":5}}\n< =1 {}\n< =2 {}",
        "> 1 tools/call {\"name\":\"t\",\"_meta\":{\"progressToken\":5}}\n< =1 {}\n> 2 tools/call {\"name\":\"t\",\"_meta\":{\"progressToken\":5}}\n< =2 {}",
    ),
    sessions(
        Rule::UnknownLogLevel,
        MCP,
        "> 1 logging/setLevel {\"level\":\"verbose\"}\n< !1 -32602",
        "> 1 logging/setLevel {\"level\":\"emergency\"}\n< =1 {}",
    ),
    sessions(
        Rule::LogBelowLevel,
        MCP,
        "> 1 logging/setLevel {\"level\":\"error\"}\n< =1 {}\n< - notifications/message {\"level\":\"warning\"}",
        "> 1 logging/setLevel {\"level\":\"error\"}\n< - notifications/message {\"level\":\"debug\"}\n< =1 {}\n< - notifications/message {\"level\":\"error\"}",
    ),
    sessions(
        Rule::LogNotRequested,
        DISCOVERED,
        "> 1 tools/call {META,\"name\":\"t\"}\n< - notifications/message {\"level\":\"error\"}\n< =1 {\"resultType\":\"complete\"}",
        "> 1 tools/call {\"name\":\"t\",\"_meta\":{\"io.modelcontextprotocol/logLevel\":\"info\",\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}\n< - notifications/message {\"level\":\"error\"}\n< =1 {\"resultType\":\"complete\"}",
    ),
    sessions(
        Rule::UnknownCursor,
        MCP,
        "> 1 tools/list {\"cursor\":\"b\"}\n< !1 -32602",
        "> 1 tools/list\n< =1 {\"tools\":[],\"nextCursor\":\"b\"}\n> 2 tools/list {\"cursor\":\"b\"}\n< =2 {\"tools\":[]}",
    ),
    sessions(
        Rule::InvalidSchema,
        MCP,
        "> 1 tools/list\n< =1 {\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"objct\"}}]}",
        "> 1 tools/list\n< =1 {\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"$schema\":\"http://json-schema.org/draft-07/schema#\"}}]}",
    ),
    sessions(
        Rule::RemoteReference,
        MCP,
        "> 1 tools/list\n< =1 {\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"http://127.0.0.1:9/a.json\"}}}}]}",
        "> 1 tools/list\n< =1 {\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/a\"}},\"$defs\":{\"a\":{}}}}]}",
    ),
    sessions(
        Rule::UnknownTool,
        MCP,
        "> 1 tools/list\n< =1 {\"tools\":[]}\n> 2 tools/call {\"name\":\"sub\"}\n< !2 -32602",
        "> 1 tools/list\n< =1 {\"tools\":[]}\n< - notifications/tools/list_changed\n> 2 tools/call {\"name\":\"sub\"}\n< =2 {}",
    ),
    sessions(
        Rule::InvalidArguments,
        TOOLS,
        "> 2 tools/call {\"name\":\"add\",\"arguments\":{\"a\":\"1\"}}\n< =2 {\"isError\":true,\"content\":[]}",
        "> 2 tools/call {\"name\":\"add\",\"arguments\":{\"a\":1}}\n< =2 {\"content\":[],\"structuredContent\":{\"sum\":1}}",
    ),
    sessions(
        Rule::InvalidStructuredContent,
        TOOLS,
        "> 2 tools/call {\"name\":\"add\",\"arguments\":{\"a\":1}}\n< =2 {\"content\":[],\"structuredContent\":{\"sum\":\"1\"}}",
        "> 2 tools/call {\"name\":\"add\",\"arguments\":{\"a\":1}}\n< =2 {\"content\":[],\"isError\":true,\"structuredContent\":{\"sum\":\"1\"}}",
    ),
    sessions(
        Rule::MissingStructuredContent,
        TOOLS,
        "> 2 tools/call {\"name\":\"add\",\"arguments\":{\"a\":1}}\n< =2 {\"content\":[]}",
        "> 2 tools/call {\"name\":\"lax\"}\n< =2 {\"content\":[]}",
    ),
    sessions(
        Rule::MissingMeta,
        DISCOVERED,
        "> 1 tools/list\n< !1 -32602",
        "> 1 tools/list {META}\n< =1 {\"resultType\":\"complete\",\"tools\":[]}",
    ),
    sessions(
        Rule::UnsupportedVersion,
        DISCOVERED,
        "> 1 tools/list {\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\",\"io.modelcontextprotocol/clientCapabilities\":{}}}\n< !1 -32022",
        "> 1 tools/list {META}\n< =1 {\"resultType\":\"complete\",\"tools\":[]}",
    ),
    sessions(
        Rule::RemovedMethod,
        DISCOVERED,
        "> 1 ping {META}\n< !1 -32601",
        "> 1 tools/list {META}\n< =1 {\"resultType\":\"complete\",\"tools\":[]}",
    ),
    sessions(Rule::ServerRequest, DISCOVERED, "< 1 elicitation/create", "< - notifications/progress_of_mine"),
    sessions(Rule::ClientResponse, DISCOVERED, "> =1 {}", "> - notifications/of_mine"),
    sessions(
        Rule::ServerCancellation,
        LISTENING,
        "< - notifications/cancelled {\"requestId\":7}",
        "< - notifications/cancelled {\"requestId\":1}",
    ),
    sessions(
        Rule::MissingResultType,
        DISCOVERED,
        "> 1 tools/list {META}\n< =1 {\"tools\":[]}",
        "> 1 tools/list {META}\n< !1 -32603",
    ),
    sessions(
        Rule::UnknownResultType,
        DISCOVERED,
        "> 1 tools/list {META}\n< =1 {\"resultType\":\"partial\"}",
        "> 1 tools/list {META}\n< =1 {\"resultType\":\"complete\",\"tools\":[]}",
    ),
    sessions(
        Rule::InvalidInputRequired,
        DISCOVERED,
        "> 1 tools/list {META}\n< =1 {\"resultType\":\"input_required\",\"requestState\":\"s\"}",
        "> 1 tools/call {META,\"name\":\"t\"}\n< =1 {\"resultType\":\"input_required\",\"requestState\":\"s\"}",
    ),
    sessions(
        Rule::InvalidInputRequired,
        DISCOVERED,
        "> 1 tools/call {META,\"name\":\"t\"}\n< =1 {\"resultType\":\"input_required\"}",
        "> 1 tools/call {META,\"name\":\"t\"}\n< =1 {\"resultType\":\"complete\"}",
    ),
    sessions(
        Rule::ReservedErrorCode,
        DISCOVERED,
        "> 1 tools/call {META,\"name\":\"t\"}\n< !1 -32042",
        "> 1 tools/call {META,\"name\":\"t\"}\n< !1 -32021",
    ),
    sessions(
        Rule::LegacyErrorCode,
        DISCOVERED,
        "> 1 tools/call {META,\"name\":\"t\"}\n< !1 -32000",
        "> 1 tools/call {META,\"name\":\"t\"}\n< !1 -32602",
    ),
    sessions(
        Rule::UnknownSubscription,
        LISTENING,
        "< - notifications/tools/list_changed",
        "< - notifications/subscriptions/acknowledged {SUB}\n< - notifications/tools/list_changed {SUB}",
    ),
    sessions(
        Rule::UnacknowledgedSubscription,
        LISTENING,
        "< - notifications/tools/list_changed {SUB}",
        "< - notifications/subscriptions/acknowledged {SUB}\n< =1 {\"resultType\":\"complete\"}",
    ),
    sessions(
        Rule::UnrequestedNotification,
        LISTENING,
        "< - notifications/subscriptions/acknowledged {SUB}\n< - notifications/prompts/list_changed {SUB}",
        "< - notifications/subscriptions/acknowledged {SUB}\n< - notifications/tools/list_changed {SUB}",
    ),
    sessions(
        Rule::UnknownSession,
        ACP,
        "< =2 {\"stopReason\":\"end_turn\"}\n> 3 session/prompt {\"sessionId\":\"t\"}\n< !3 -32602",
        "< =2 {\"stopReason\":\"end_turn\"}\n> 3 session/load {\"sessionId\":\"t\"}\n< - session/update {\"sessionId\":\"t\"}\n< =3 {}",
    ),
    sessions(
        Rule::PromptNotCancelled,
        ACP,
        "> - session/cancel {\"sessionId\":\"s\"}\n@2000 < =2 {\"stopReason\":\"end_turn\"}",
        "> - session/cancel {\"sessionId\":\"s\"}\n@2000 < =2 {\"stopReason\":\"cancelled\"}",
    ),
    sessions(
        Rule::PermissionAfterCancel,
        ACP,
        "< 7 session/request_permission {\"sessionId\":\"s\"}\n> - session/cancel {\"sessionId\":\"s\"}\n> =7 {\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"a\"}}\n< =2 {\"stopReason\":\"cancelled\"}",
        "< 7 session/request_permission {\"sessionId\":\"s\"}\n> - session/cancel {\"sessionId\":\"s\"}\n> =7 {\"outcome\":{\"outcome\":\"cancelled\"}}\n< =2 {\"stopReason\":\"cancelled\"}",
    ),
    sessions(
        Rule::ByteOrderMark,
        "> 1 m",
        "< \u{FEFF}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"\u{FEFF}\"}}",
    ),
    sessions(
        Rule::LoneSurrogate,
        "> 1 m",
        r#"< {"jsonrpc":"2.0","id":1,"result":{"text":"\ud83d"}}"#,
        r#"< {"jsonrpc":"2.0","id":1,"result":{"text":"\ud83d\ude00"}}"#,
    ),
    sessions(
        Rule::UnsafeId,
        "",
        "> 9007199254740993 m\n< =9007199254740993 {}",
        "> 9007199254740991 m\n< =9007199254740991 {}\n> \"9007199254740993\" m\n< =\"9007199254740993\" {}",
    ),
    sessions(
        Rule::IdSpelling,
        "",
        "> {\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"m\"}\n< =1 {}",
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":1.0}}\n< =1 {}",
    ),
    sessions(Rule::LongLine, "> 1 m", "< =1 {\"text\":\"LONG\"}", "< =1 {\"text\":\"SHORT\"}"),
    sessions(
        Rule::LineSeparator,
        "> 1 m",
        "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"\u{2028}\"}}",
        "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"\\u2028\u{2027}\"}}",
    ),
    sessions(
        Rule::UnsafeInteger,
        "> 1 m",
        "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":9007199254740993}}",
        "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":9007199254740991,\"b\":0.1234567890123456789}}",
    ),
    sessions(
        Rule::DuplicateMember,
        "> 1 m",
        "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1,\"a\":2}}",
        "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1,\"b\":{\"a\":2}}}",
    ),
];

#[test]
fn each_rule_is_broken_by_one_session_and_not_by_another() {
    for Sessions { rule, start, broken, fine } in TABLE {
        let found = judged(&format!("{start}\n{broken}"));
        assert!(found.contains(rule), "{}: {found:?} for {broken}", rule.name());
        assert_eq!(judged(&format!("{start}\n{fine}")), BTreeSet::new(), "{}: {fine}", rule.name());
    }
    let untested: Vec<_> = Rule::ALL.iter().filter(|rule| TABLE.iter().all(|row| row.rule != **rule)).collect();
    assert!(untested.is_empty(), "{untested:?}");
}

#[test]
fn a_session_without_a_handshake_is_judged_as_json_rpc_unless_told_otherwise() {
    let session = "> 1 tools/call {\"name\":\"t\"}\n< =1 {}";
    assert_eq!(judged(session), BTreeSet::new());
    assert_eq!(judged_by(Protocols::MCP, session), BTreeSet::from([Rule::BeforeInitialize]));
    // `--rules json-rpc` looks at nothing else, whatever the session says it is.
    let broken = format!("{BARE}\n> 1 tools/list\n< !1 -32601");
    assert_eq!(judged_by(Protocols::NONE, &broken), BTreeSet::new());
}

#[test]
fn a_client_may_fall_back_to_a_handshake() {
    let session = "> 0 server/discover {META}\n< !0 -32601\n\
        > 1 initialize {\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}\n\
        < =1 {\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}\n\
        > - notifications/initialized\n> 2 tools/list\n< =2 {\"tools\":[]}\n< 3 ping\n> =3 {}";
    assert_eq!(judged(session), BTreeSet::new());
}

#[test]
fn evidence_points_at_the_message_and_shows_nothing_of_its_contents() {
    let session =
        format!("{TOOLS}\n> 2 tools/call {{\"name\":\"add\",\"arguments\":{{\"a\":\"secret\"}}}}\n< !2 -32602");
    let findings = findings(Protocols::ANY, &session);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.place.line, finding.place.from), (4, crate::session::Side::Client));
    assert_eq!(finding.evidence, "tools/call add #2: the arguments don't match the `inputSchema`: `type`");
    assert_eq!(finding.detail.as_deref(), Some("at `/a`"));
    assert_eq!(finding.rule.reference(finding.dialect).unwrap(), "MCP 2025-06-18, Tools, Calling Tools");
}

#[test]
fn what_is_kept_is_bounded() {
    let (mut judge, mut session) = (Judge::new(Protocols::MCP), Session::new(Protocols::MCP));
    let mut send = |from, line: Value| {
        let line = line.to_string();
        let Ok(Frame::Message(message)) = Frame::parse(line.as_bytes(), &Rules::mcp()) else { panic!("{line}") };
        let place = Place { from, line: 1, at: None };
        let role = session.add_message(from, &message, None);
        judge.add(&session, place, &message, &role);
    };
    use crate::session::Side::{Client, Server};
    for id in 0..10_000 {
        let params = json!({ "name": "t", "_meta": { "progressToken": id } });
        send(Client, json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
        send(Server, json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    }
    for id in 0..crate::session::MAX_PENDING + 10 {
        send(Client, json!({ "jsonrpc": "2.0", "id": format!("x{id}"), "method": "tools/call" }));
    }
    assert!(judge.case.asked.len() <= crate::session::MAX_PENDING);
    assert!(judge.case.answered[0].has_forgotten);
}

fn judged(session: &str) -> BTreeSet<Rule> {
    judged_by(Protocols::ANY, session)
}

fn judged_by(protocols: Protocols, session: &str) -> BTreeSet<Rule> {
    findings(protocols, session).into_iter().map(|finding| finding.rule).collect()
}

fn findings(protocols: Protocols, text: &str) -> Vec<Finding> {
    use crate::session::Side;
    let (mut judge, mut session) = (Judge::new(protocols), Session::new(protocols));
    let (mut findings, mut lines, mut at) = (Vec::new(), [0, 0], Duration::ZERO);
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (time, line) = match line.strip_prefix('@') {
            Some(line) => line.split_once(' ').map(|(time, line)| (time.parse().unwrap(), line)).unwrap(),
            None => (1, line),
        };
        at += Duration::from_millis(time);
        let from = if line.starts_with('>') { Side::Client } else { Side::Server };
        lines[from as usize] += 1;
        let place = Place { from, line: lines[from as usize], at: Some(at) };
        let json = message(&line[2..]);
        let json = json.strip_prefix('\u{FEFF}').map_or(&*json, |json| {
            findings.push(judge.byte_order_mark(place));
            json
        });
        let Ok(Frame::Message(message)) = Frame::parse(json.as_bytes(), &Rules::json_rpc()) else { panic!("{json}") };
        let role = session.add_message(from, &message, place.at);
        findings.extend(judge.add(&session, place, &message, &role));
    }
    findings.extend(judge.end(&session, Some(at)));
    findings
}

/// Writes out what is short for a message.
fn message(short: &str) -> String {
    let mut words = short.splitn(3, ' ');
    let (first, second, third) = (words.next().unwrap(), words.next(), words.next());
    let sub = r#""_meta":{"io.modelcontextprotocol/subscriptionId":1}"#;
    let value = |text: Option<&str>| {
        let text = text.unwrap_or("{}").replace("META", META).replace("SUB", sub);
        text.replace("LONG", &"x".repeat(11 << 20)).replace("SHORT", &"x".repeat(9 << 20))
    };
    if first.starts_with(['{', '\u{FEFF}']) {
        return short.to_owned();
    }
    if let Some(id) = first.strip_prefix('=') {
        return format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, value(second));
    }
    if let Some(id) = first.strip_prefix('!') {
        return format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{},"message":"no"}}}}"#, second.unwrap());
    }
    let id = if first == "-" { String::new() } else { format!(r#""id":{first},"#) };
    format!(r#"{{"jsonrpc":"2.0",{id}"method":"{}","params":{}}}"#, second.unwrap(), value(third))
}
