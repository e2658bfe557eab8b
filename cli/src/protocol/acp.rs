//! The Agent Client Protocol.

use super::{Handshake, Protocol};

pub(super) const ACP: Protocol = Protocol {
    name: "ACP",
    subjects: &[
        ("authenticate", &["/methodId"]),
        ("session/load", &["/sessionId"]),
        ("session/set_mode", &["/modeId"]),
        ("session/update", &["/update/sessionUpdate"]),
        ("session/request_permission", &["/toolCall/title", "/toolCall/toolCallId"]),
        ("fs/read_text_file", &["/path"]),
        ("fs/write_text_file", &["/path"]),
        ("terminal/create", &["/command"]),
        ("terminal/output", &["/terminalId"]),
        ("terminal/wait_for_exit", &["/terminalId"]),
        ("terminal/kill", &["/terminalId"]),
        ("terminal/release", &["/terminalId"]),
    ],
    failure: None,
    arguments: &[],
    errors: &[(-32000, "authentication required"), (-32002, "resource not found")],
    cancellations: &[("$/cancel_request", "/requestId")],
    answers_cancelled: true,
    progress: None,
    handshake: Some(Handshake {
        method: "initialize",
        version: "/protocolVersion",
        is_version_string: false,
        offer: ("/clientCapabilities", "/clientInfo"),
        answer: ("/agentCapabilities", "/agentInfo"),
    }),
    introduction: None,
};
