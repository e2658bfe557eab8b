//! The checks of clients: each is a misbehaviour of the server, and what the client may do.

use std::sync::LazyLock;

use super::verdict::Demand::{self, Answers, ClosesInput, Ends, EndsServer, GoesOn, Rejects, SendsMessages};
use crate::conform::check::Level::{Must, Should};
use crate::conform::check::Property::{Conformance, ExactlyOneResponse, Framing, Integrity, Lifecycle};
use crate::conform::check::{Check, Level, Property};
use crate::misbehave::find;

/// A check of a client.
#[derive(Debug)]
pub(super) struct ClientCheck {
    pub(super) check: Check,
    pub(super) misbehaviour: &'static str,
    pub(super) demand: Demand,
    /// Whether it is the first of its misbehaviour.
    pub(super) is_first: bool,
}

/// All checks, those with the same misbehaviour next to each other.
pub(super) fn checks() -> impl Iterator<Item = &'static ClientCheck> {
    CHECKS.iter()
}

/// A misbehaviour, what it is about, what is demanded, and what the specification asks.
type Row = (&'static str, Property, &'static [(Demand, Level)], &'static str);

/// The client may end with an error, but ends.
const ENDS: &[(Demand, Level)] = &[(Ends, Must)];
/// The client had better go on.
const BETTER_GOES_ON: &[(Demand, Level)] = &[(Ends, Must), (GoesOn, Should)];
/// The server does nothing wrong.
const GOES_ON: &[(Demand, Level)] = &[(GoesOn, Must)];
const REJECTS: &[(Demand, Level)] = &[(Rejects, Must)];
const BETTER_REJECTS: &[(Demand, Level)] = &[(Ends, Must), (Rejects, Should)];

const NOISE: &str =
    "nothing but messages belongs on stdout (MCP, Transports / stdio), but one bad line needn't end the session";
const LOST_ANSWER: &str =
    "a timeout for every request (MCP, Lifecycle / Timeouts), or an error as soon as the answer is lost";
const VALID: &str = "this is valid, so nothing should go wrong (RFC 8259)";
const SAME_ID: &str = "a response has the id of its request, with the same type and value (JSON-RPC 2.0, section 5)";
const EITHER: &str = "either a result or an error (JSON-RPC 2.0, section 5)";
const VERSION: &str = "`jsonrpc` is exactly \"2.0\" (JSON-RPC 2.0, section 5)";
const ERROR_OBJECT: &str =
    "an error is an object with a code and a message (JSON-RPC 2.0, section 5.1), and a failed call";
const UNRELATED: &str = "a response that belongs to no request changes nothing (JSON-RPC 2.0, section 5)";
const ANSWER_REQUESTS: &str =
    "every request gets a response, in both directions: -32601 if the method is unknown (JSON-RPC 2.0, section 5)";
const ORDER: &str = "responses may come in any order, and notifications between them (JSON-RPC 2.0)";
const SERVER_GONE: &str = "an error for all that is in flight, as soon as the stream has ended";
const SHUTDOWN: &str = "close the server's input, wait, then send SIGTERM, then SIGKILL (MCP, Lifecycle / Shutdown)";
const STDERR: &str = "the server may log to stderr (MCP, Transports / stdio), so its client reads or discards that";

const ROWS: &[Row] = &[
    ("none", Conformance, &[(SendsMessages, Must)], "messages are valid, one per line (MCP, Transports / stdio)"),
    ("none", Lifecycle, &[(ClosesInput, Should)], SHUTDOWN),
    // Integrity
    ("banner", Integrity, BETTER_GOES_ON, NOISE),
    ("noise-between", Integrity, BETTER_GOES_ON, NOISE),
    ("log-line", Integrity, BETTER_GOES_ON, NOISE),
    ("noise-at-end", Integrity, BETTER_GOES_ON, NOISE),
    ("noise-in-line", Integrity, ENDS, LOST_ANSWER),
    ("terminal-escapes", Integrity, ENDS, LOST_ANSWER),
    ("input-echo", Integrity, BETTER_GOES_ON, NOISE),
    ("bom", Integrity, BETTER_GOES_ON, "parsers may ignore a byte order mark (RFC 8259, section 8.1)"),
    ("pretty", Integrity, ENDS, LOST_ANSWER),
    ("line-break", Integrity, ENDS, LOST_ANSWER),
    ("control-characters", Integrity, ENDS, LOST_ANSWER),
    ("two-on-a-line", Integrity, ENDS, LOST_ANSWER),
    ("missing-line-feed", Integrity, ENDS, LOST_ANSWER),
    ("unterminated-end", Integrity, BETTER_GOES_ON, NOISE),
    ("invalid-utf8-output", Integrity, ENDS, "one bad line needn't end the session (RFC 8259, section 8.1)"),
    (
        "lone-surrogate",
        Integrity,
        BETTER_GOES_ON,
        "valid by the grammar, though parsers differ (RFC 8259, section 8.2)",
    ),
    ("deep-output", Integrity, ENDS, "a parser may limit the depth (RFC 8259, section 9), but has to survive"),
    // Framing
    ("line-separator-output", Framing, GOES_ON, VALID),
    ("long-output", Framing, GOES_ON, VALID),
    ("pause-in-line", Framing, GOES_ON, "the pipe splits messages anywhere"),
    ("single-bytes", Framing, GOES_ON, "the pipe splits messages anywhere"),
    ("crlf-output", Framing, GOES_ON, "a carriage return is whitespace after a JSON text (RFC 8259, section 2)"),
    ("blank-output", Framing, BETTER_GOES_ON, NOISE),
    // Exactly one response
    ("wrong-id", ExactlyOneResponse, REJECTS, SAME_ID),
    ("null-id", ExactlyOneResponse, REJECTS, SAME_ID),
    ("no-id", ExactlyOneResponse, REJECTS, SAME_ID),
    ("other-id-type", ExactlyOneResponse, BETTER_REJECTS, SAME_ID),
    ("twice", ExactlyOneResponse, BETTER_GOES_ON, UNRELATED),
    ("never", ExactlyOneResponse, ENDS, LOST_ANSWER),
    ("skip-calls", ExactlyOneResponse, ENDS, LOST_ANSWER),
    ("answers-cancelled", ExactlyOneResponse, BETTER_GOES_ON, UNRELATED),
    ("stray-response", ExactlyOneResponse, BETTER_GOES_ON, UNRELATED),
    ("stray-error", ExactlyOneResponse, BETTER_GOES_ON, UNRELATED),
    ("stray-null-error", ExactlyOneResponse, BETTER_GOES_ON, UNRELATED),
    ("out-of-order", ExactlyOneResponse, GOES_ON, ORDER),
    ("asks", ExactlyOneResponse, &[(Answers, Must)], ANSWER_REQUESTS),
    ("asks-unknown", ExactlyOneResponse, &[(Answers, Must)], ANSWER_REQUESTS),
    // Conformance
    ("both", Conformance, REJECTS, EITHER),
    ("neither", Conformance, REJECTS, EITHER),
    ("null-beside", Conformance, BETTER_REJECTS, EITHER),
    ("no-version", Conformance, BETTER_REJECTS, VERSION),
    ("old-version", Conformance, BETTER_REJECTS, VERSION),
    ("in-array", Conformance, ENDS, LOST_ANSWER),
    ("always-error", Conformance, ENDS, ERROR_OBJECT),
    ("text-as-error", Conformance, ENDS, ERROR_OBJECT),
    ("text-as-code", Conformance, ENDS, ERROR_OBJECT),
    (
        "unknown-notification-output",
        Conformance,
        GOES_ON,
        "an unknown notification is ignored (JSON-RPC 2.0, section 4.1)",
    ),
    ("flood", Conformance, GOES_ON, ORDER),
    // Lifecycle
    ("late-start", Lifecycle, GOES_ON, "a server takes its time to start"),
    ("never-starts", Lifecycle, ENDS, LOST_ANSWER),
    ("exit-at-start", Lifecycle, ENDS, SERVER_GONE),
    ("exit-before-answer", Lifecycle, ENDS, SERVER_GONE),
    ("exit-on-second", Lifecycle, ENDS, SERVER_GONE),
    ("crash", Lifecycle, ENDS, SERVER_GONE),
    ("exit-in-line", Lifecycle, ENDS, SERVER_GONE),
    ("close-output", Lifecycle, ENDS, SERVER_GONE),
    ("stop-reading", Lifecycle, ENDS, LOST_ANSWER),
    ("never-exits", Lifecycle, &[(Ends, Must), (EndsServer, Should)], SHUTDOWN),
    #[cfg(unix)]
    ("never-exits-by-sigterm", Lifecycle, &[(Ends, Must), (EndsServer, Should)], SHUTDOWN),
    ("exit-code-1", Lifecycle, BETTER_GOES_ON, SHUTDOWN),
    #[cfg(unix)]
    ("leave-child-with-output", Lifecycle, BETTER_GOES_ON, SHUTDOWN),
    ("flood-stderr", Lifecycle, GOES_ON, STDERR),
];

/// The words for a demand: what is appended to the name of a second check of the same misbehaviour, what is accepted, and what happens otherwise.
fn words(demand: Demand) -> (&'static str, &'static str, &'static str) {
    const HANGS: &str = "a program that uses the client hangs or crashes";
    match demand {
        Ends => ("", "an exit in time, with success or an error, but no crash", HANGS),
        GoesOn => ("goes-on", "the same exit code as with a server that behaves", "the session ends without need"),
        Rejects => (
            "is-rejected",
            "an exit in time, with an error, or at least without the answer",
            "the client takes wrong data for the answer, or hangs",
        ),
        Answers => (
            "",
            "a response to each request, and the same exit code as with a server that behaves",
            "the server waits for ever",
        ),
        EndsServer => {
            ("is-ended", "an exit that leaves no server running (Linux)", "each session leaves a process behind")
        }
        SendsMessages => (
            "sends-messages",
            "valid messages only, and no response without a request",
            "the server refuses or misunderstands the client",
        ),
        ClosesInput => (
            "closes-input",
            "the end of the server's input before anything else ends it",
            "the server can't finish its work",
        ),
    }
}

static CHECKS: LazyLock<Vec<ClientCheck>> = LazyLock::new(|| {
    let with_demand = |&(misbehaviour, property, demands, asks): &Row| {
        let is_only = demands.len() == 1;
        demands.iter().enumerate().map(move |(at, &(demand, level))| {
            let (suffix, accepts, effect) = words(demand);
            let name = match suffix {
                "" => misbehaviour.to_owned(),
                suffix if misbehaviour == "none" => suffix.to_owned(),
                _ if is_only => misbehaviour.to_owned(),
                suffix => format!("{misbehaviour}-{suffix}"),
            };
            let does = find(misbehaviour).map_or("", |misbehaviour| misbehaviour.does);
            let check = Check {
                name: name.leak(),
                property,
                level,
                sends: format!("a server that {does}").leak(),
                accepts,
                asks,
                effect,
            };
            ClientCheck { check, misbehaviour, demand, is_first: at == 0 }
        })
    };
    ROWS.iter().flat_map(with_demand).collect()
});

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_misbehaviours_exist() {
        let names: BTreeSet<_> = checks().map(|check| check.check.name).collect();
        assert_eq!(names.len(), checks().count());
        assert!(["twice", "twice-goes-on", "wrong-id", "closes-input"].iter().all(|name| names.contains(name)));
        for ClientCheck { check, misbehaviour, demand, .. } in checks() {
            assert!(find(misbehaviour).is_some(), "{misbehaviour}");
            // The checks that can fail because the client hangs are the first of their misbehaviour.
            assert!(check.level == Must || !matches!(demand, Ends), "{}", check.name);
        }
    }
}
