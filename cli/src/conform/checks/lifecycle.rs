//! The process starts, ends and behaves as its client expects.

use super::super::check::Check;
use super::super::check::Level::{Must, Should};
use super::super::check::Property::Lifecycle;

const SHUTDOWN: &str =
    "exits when its input is closed (MCP, Transports / stdio / Shutdown; before 2026-07-28, Lifecycle / Shutdown)";

pub(super) static CHECKS: &[Check] = &[
    Check {
        name: "starts-in-time",
        property: Lifecycle,
        level: Must,
        sends: "the first request",
        accepts: "its answer within --start-timeout",
        asks: "exactly one response for each request (JSON-RPC 2.0, section 5)",
        effect: "the client gives up and reports that the server doesn't start",
    },
    Check {
        name: "exits-in-time",
        property: Lifecycle,
        level: Should,
        sends: "the end of input, after some requests were answered",
        accepts: "an exit within --timeout",
        asks: SHUTDOWN,
        effect: "servers pile up after their clients have ended",
    },
    Check {
        name: "exit-code",
        property: Lifecycle,
        level: Should,
        sends: "the end of input, after some requests were answered",
        accepts: "exit code 0",
        asks: SHUTDOWN,
        effect: "the client reports that the server crashed",
    },
    Check {
        name: "no-processes-left",
        property: Lifecycle,
        level: Should,
        sends: "the end of input, after some requests were answered",
        accepts: "an exit that leaves no process of the server's group running",
        asks: SHUTDOWN,
        effect: "processes pile up after their clients have ended",
    },
    Check {
        name: "refused-line-memory",
        property: Lifecycle,
        level: Should,
        sends: "a request of 64 MiB",
        accepts: "a result; or a refusal after which the server uses no more than 32 MiB more than before (Linux)",
        asks: "no limit is specified; a line that is refused needn't be kept",
        effect: "a client can fill the memory of the machine with one line",
    },
    Check {
        name: "stderr-unread",
        property: Lifecycle,
        level: Should,
        sends: "1,000 requests, some of them invalid, to a server whose stderr is a pipe that isn't read",
        accepts: "one response for each valid request",
        asks: "a client may ignore stderr (MCP, Transports / stdio)",
        effect: "the server blocks once its log has filled the pipe, and the client waits for ever",
    },
    Check {
        name: "stderr-closed",
        property: Lifecycle,
        level: Should,
        sends: "requests, some of them invalid, to a server whose stderr has been closed by its reader",
        accepts: "one response for each valid request",
        asks: "a client may ignore stderr (MCP, Transports / stdio)",
        effect: "the server dies when it logs something",
    },
];
