//! The Model Context Protocol.

use super::{FailureMark, Handshake, Introduction, ProgressPointers, Protocol};

pub(super) const MCP: Protocol = Protocol {
    name: "MCP",
    subjects: &[
        ("tools/call", &["/name"]),
        ("resources/read", &["/uri"]),
        ("resources/subscribe", &["/uri"]),
        ("resources/unsubscribe", &["/uri"]),
        ("notifications/resources/updated", &["/uri"]),
        ("prompts/get", &["/name"]),
        ("completion/complete", &["/ref/name", "/ref/uri"]),
        ("logging/setLevel", &["/level"]),
        ("notifications/message", &["/level"]),
        ("tasks/get", &["/taskId"]),
        ("tasks/result", &["/taskId"]),
        ("tasks/cancel", &["/taskId"]),
        ("notifications/tasks/status", &["/taskId"]),
    ],
    failure: Some(FailureMark {
        pointer: "/isError",
        methods: &["tools/call", "tasks/result"],
        content: "/content",
        text: "/text",
    }),
    arguments: &[("tools/call", "/arguments"), ("prompts/get", "/arguments")],
    errors: &[(-32002, "resource not found"), (-32042, "URL elicitation required")],
    cancellations: &[("notifications/cancelled", "/requestId")],
    answers_cancelled: false,
    progress: Some(ProgressPointers {
        requested: "/_meta/progressToken",
        method: "notifications/progress",
        token: "/progressToken",
        done: "/progress",
        total: "/total",
        message: "/message",
    }),
    handshake: Some(Handshake {
        method: "initialize",
        version: "/protocolVersion",
        is_version_string: true,
        offer: ("/capabilities", "/clientInfo"),
        answer: ("/capabilities", "/serverInfo"),
    }),
    introduction: Some(Introduction {
        prefix: "io.modelcontextprotocol",
        version: "/_meta/io.modelcontextprotocol~1protocolVersion",
        offer: ("/_meta/io.modelcontextprotocol~1clientCapabilities", "/_meta/io.modelcontextprotocol~1clientInfo"),
        server: "/_meta/io.modelcontextprotocol~1serverInfo",
        discovery: ("server/discover", "/supportedVersions", "/capabilities"),
    }),
};
