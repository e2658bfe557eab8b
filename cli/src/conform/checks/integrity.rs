//! Every byte of the server's output belongs to a message.

use super::super::check::Check;
use super::super::check::Level::Must;
use super::super::check::Property::Integrity;

/// What the transport says about stdout.
const ONLY_MESSAGES: &str =
    "nothing but messages on stdout, one per line, without line breaks in them (MCP, Transports / stdio)";
const BREAKS_PARSERS: &str = "the client reads bytes that aren't a message, and drops the connection or a response";

pub(super) static CHECKS: &[Check] = &[
    Check {
        name: "random-requests",
        property: Integrity,
        level: Must,
        sends: "random requests to a server of their own, from --seed: as many as --cases",
        accepts: "one valid line for each request and nothing else, from the first byte to the last",
        asks: ONLY_MESSAGES,
        effect: BREAKS_PARSERS,
    },
    Check {
        name: "silent-start",
        property: Integrity,
        level: Must,
        sends: "the first request, after the server has had time to print something",
        accepts: "valid messages only, such as notifications, before the first answer",
        asks: ONLY_MESSAGES,
        effect: "the client reads a banner or a log line where it expects the first answer",
    },
    Check {
        name: "silent-end",
        property: Integrity,
        level: Must,
        sends: "requests, and the end of input once they are answered",
        accepts: "valid messages only until stdout ends, the last one with its line ending",
        asks: ONLY_MESSAGES,
        effect: BREAKS_PARSERS,
    },
];
