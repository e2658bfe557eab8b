//! Every request gets exactly one response, and nothing else gets one.

use super::super::check::Level::{Must, Should};
use super::super::check::Property::ExactlyOneResponse;
use super::super::maker::{Made, Maker, NO_TOOLS, ONLY_MCP};
use super::super::profile::{Era, quoted};
use super::super::script::{Chunks, Line, Policy, Script, Step, Strictness};
use super::ServerCheck;
use crate::conform::check::Check;
use crate::rules_args::Dialect;

const ONE_EACH: &str = "one response for each request, a result or an error";
const SECTION_5: &str = "exactly one response for each request, with the same id (JSON-RPC 2.0, section 5)";
const WAITS: &str = "the client waits for ever";
const NO_ANSWER: &str = "no response to a notification (JSON-RPC 2.0, section 4.1)";

pub(super) static CHECKS: &[ServerCheck] = &[
    ServerCheck {
        check: Check {
            name: "known-method",
            property: ExactlyOneResponse,
            level: Must,
            sends: "a request that the server understands: `ping` or `server/discover`, or as in --probe",
            accepts: "one response with a result",
            asks: "a result if the method succeeds (JSON-RPC 2.0, section 5)",
            effect: "the client believes that the server is broken",
        },
        script: known_method,
    },
    ServerCheck {
        check: Check {
            name: "unknown-method",
            property: ExactlyOneResponse,
            level: Must,
            sends: "a request with a method that doesn't exist",
            accepts: "one response with an error",
            asks: SECTION_5,
            effect: WAITS,
        },
        script: unknown_method,
    },
    ServerCheck {
        check: Check {
            name: "unknown-method-code",
            property: ExactlyOneResponse,
            level: Should,
            sends: "a request with a method that doesn't exist",
            accepts: "error -32601",
            asks: "-32601 if the method doesn't exist (JSON-RPC 2.0, section 5.1)",
            effect: "the client can't tell a missing feature from a failure",
        },
        script: unknown_method_code,
    },
    ServerCheck {
        check: Check {
            name: "calls",
            property: ExactlyOneResponse,
            level: Must,
            sends: "each tool of --call with its arguments, and each tool that is read-only and needs no arguments",
            accepts: ONE_EACH,
            asks: SECTION_5,
            effect: WAITS,
        },
        script: calls,
    },
    ServerCheck {
        check: Check {
            name: "invalid-params",
            property: ExactlyOneResponse,
            level: Must,
            sends: "requests whose params have unknown members, or miss what the method needs",
            accepts: ONE_EACH,
            asks: SECTION_5,
            effect: WAITS,
        },
        script: invalid_params,
    },
    ServerCheck {
        check: Check {
            name: "failing-handler",
            property: ExactlyOneResponse,
            level: Must,
            sends: "a call of a tool that doesn't exist, and of the permitted tools with wrong arguments",
            accepts: ONE_EACH,
            asks: "an error, or a result with isError, if a tool fails (MCP, Tools / Error handling)",
            effect: WAITS,
        },
        script: failing_handler,
    },
    ServerCheck {
        check: Check {
            name: "integer-ids",
            property: ExactlyOneResponse,
            level: Must,
            sends: "requests with the ids 0, -1, 2147483648, -2147483649 and ±9007199254740991",
            accepts: ONE_EACH,
            asks: SECTION_5,
            effect: WAITS,
        },
        script: integer_ids,
    },
    ServerCheck {
        check: Check {
            name: "large-ids",
            property: ExactlyOneResponse,
            level: Must,
            sends: "requests with the ids 9007199254740993, 9223372036854775807 and -9223372036854775808",
            accepts: "one response for each, with the same number; or an error without an id",
            asks: SECTION_5,
            effect: "the response has another number as its id, and the client waits for ever",
        },
        script: large_ids,
    },
    ServerCheck {
        check: Check {
            name: "unusual-numbers-as-ids",
            property: ExactlyOneResponse,
            level: Should,
            sends: "requests whose ids are 1.0, 1e2 and -0, and under rules that allow them also fractions and 30 digits",
            accepts: "one response for each, with a number of the same value; or an error without an id",
            asks: SECTION_5,
            effect: WAITS,
        },
        script: unusual_numbers_as_ids,
    },
    ServerCheck {
        check: Check {
            name: "string-ids",
            property: ExactlyOneResponse,
            level: Must,
            sends: "requests whose ids are strings: empty, a digit, spaces, text in many scripts, quotes, 21 characters",
            accepts: ONE_EACH,
            asks: SECTION_5,
            effect: WAITS,
        },
        script: string_ids,
    },
    ServerCheck {
        check: Check {
            name: "escaped-ids",
            property: ExactlyOneResponse,
            level: Must,
            sends: "requests whose ids are strings with escapes: \\u0061, \\/, a surrogate pair, control characters",
            accepts: "one response for each, with a string of the same characters",
            asks: "equal strings are equal however they are escaped (RFC 8259, section 8.3)",
            effect: WAITS,
        },
        script: escaped_ids,
    },
    ServerCheck {
        check: Check {
            name: "long-id",
            property: ExactlyOneResponse,
            level: Must,
            sends: "a request whose id is a string of 1,000 characters",
            accepts: "one response with that id, or an error without an id",
            asks: SECTION_5,
            effect: WAITS,
        },
        script: long_id,
    },
    ServerCheck {
        check: Check {
            name: "number-and-string-ids",
            property: ExactlyOneResponse,
            level: Must,
            sends: "two requests in flight, one with a number as its id, the other with the digits as a string",
            accepts: "one response for each, with an id of the same type",
            asks: SECTION_5,
            effect: "the client takes one response for the other, or waits for ever",
        },
        script: number_and_string_ids,
    },
    ServerCheck {
        check: Check {
            name: "notification",
            property: ExactlyOneResponse,
            level: Must,
            sends: "a notification that the protocol defines",
            accepts: "no response",
            asks: NO_ANSWER,
            effect: "the client gets a response that belongs to no request, and may disconnect",
        },
        script: notification,
    },
    ServerCheck {
        check: Check {
            name: "unknown-notification",
            property: ExactlyOneResponse,
            level: Must,
            sends: "notifications with methods that don't exist, with and without params",
            accepts: "no response",
            asks: NO_ANSWER,
            effect: "the client gets a response that belongs to no request, and may disconnect",
        },
        script: unknown_notification,
    },
    ServerCheck {
        check: Check {
            name: "many-in-flight",
            property: ExactlyOneResponse,
            level: Must,
            sends: "500 requests without waiting for an answer",
            accepts: "one response for each request, in any order",
            asks: SECTION_5,
            effect: WAITS,
        },
        script: many_in_flight,
    },
    ServerCheck {
        check: Check {
            name: "duplicate-ids",
            property: ExactlyOneResponse,
            level: Must,
            sends: "two requests with the same id in one write, which a client mustn't do",
            accepts: "one response or two, results or errors; the server goes on",
            asks: SECTION_5,
            effect: "a client's mistake ends the session",
        },
        script: duplicate_ids,
    },
    ServerCheck {
        check: Check {
            name: "cancellation",
            property: ExactlyOneResponse,
            level: Must,
            sends: "requests, each with a notification that cancels it in the same write",
            accepts: "MCP: one response or none for each; other protocols: exactly one; none for the notification",
            asks: "no response to a cancelled request (MCP, Cancellation), or one response for each (JSON-RPC 2.0, section 5)",
            effect: "the client gets a response that belongs to no request, or waits for ever",
        },
        script: cancellation,
    },
    ServerCheck {
        check: Check {
            name: "cancellation-of-nothing",
            property: ExactlyOneResponse,
            level: Must,
            sends: "cancellations of requests that don't exist or are answered, and malformed ones",
            accepts: "no response; the server goes on",
            asks: "invalid cancellations are ignored (MCP, Cancellation / Error handling)",
            effect: "a cancellation that comes too late ends the session",
        },
        script: cancellation_of_nothing,
    },
    ServerCheck {
        check: Check {
            name: "end-of-input",
            property: ExactlyOneResponse,
            level: Should,
            sends: "20 requests, and the end of input in the same moment",
            accepts: "one response for each request before stdout ends",
            asks: SECTION_5,
            effect: "`printf … | server` and other scripts lose answers",
        },
        script: end_of_input,
    },
    ServerCheck {
        check: Check {
            name: "slow-reader",
            property: ExactlyOneResponse,
            level: Must,
            sends: "requests with more answers than a pipe holds, to a server whose output isn't read meanwhile",
            accepts: ONE_EACH,
            asks: SECTION_5,
            effect: "a client that is busy loses answers, or waits for ever",
        },
        script: slow_reader,
    },
];

fn known_method(maker: &mut Maker<'_>) -> Made {
    if !maker.profile.probe_is_known {
        return Err("no method is known: --probe METHOD names one");
    }
    Ok(Script::new(maker.probes(1)).judged(Policy { probe_succeeds: true, ..Policy::default() }))
}

fn unknown_method(maker: &mut Maker<'_>) -> Made {
    let lines = vec![maker.unknown("no-such-method", ""), maker.unknown("no-such-method", "\"a\":[1,null]")];
    Ok(Script::new(lines).judged(Policy { unknown_method: Strictness::Error, ..Policy::default() }))
}

fn unknown_method_code(maker: &mut Maker<'_>) -> Made {
    let lines = vec![maker.unknown("no-such-method", "")];
    Ok(Script::new(lines).judged(Policy { unknown_method: Strictness::Code, ..Policy::default() }))
}

fn calls(maker: &mut Maker<'_>) -> Made {
    if maker.profile.dialect != Dialect::Mcp {
        return Err(ONLY_MCP);
    }
    let calls = maker.profile.calls.clone();
    if calls.is_empty() {
        return Err(NO_TOOLS);
    }
    Ok(Script::new(calls.iter().map(|call| maker.call(&call.name, &call.arguments)).collect()))
}

fn invalid_params(maker: &mut Maker<'_>) -> Made {
    let mut lines = Vec::new();
    let probe = maker.profile.probe.method.clone();
    for members in ["\"wireline\":1", "\"name\":null,\"cursor\":{}"] {
        lines.push(maker.request(&probe, members));
    }
    if maker.profile.dialect == Dialect::Mcp {
        // None of these names a tool.
        for (method, members) in [
            ("tools/list", "\"cursor\":5"),
            ("tools/call", ""),
            ("tools/call", "\"name\":5"),
            ("tools/call", "\"name\":{},\"arguments\":[]"),
        ] {
            lines.push(maker.request(method, members));
        }
    } else {
        let id = maker.id();
        lines.push(Line::new(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":[1,"a",null]}}"#,
            quoted(&probe)
        )));
    }
    Ok(Script::new(lines))
}

fn failing_handler(maker: &mut Maker<'_>) -> Made {
    if maker.profile.dialect != Dialect::Mcp {
        return Err(ONLY_MCP);
    }
    let mut lines = vec![maker.call("wireline-no-such-tool", "{}")];
    for tool in maker.profile.callable.clone() {
        lines.push(maker.call(&tool, "{\"wireline\":[null]}"));
        lines.push(maker.request("tools/call", &format!("\"name\":{}", quoted(&tool))));
    }
    Ok(Script::new(lines))
}

/// Requests with these ids, which are JSON.
fn with_ids(maker: &Maker<'_>, ids: &[&str]) -> Script {
    Script::new(ids.iter().map(|id| Line::new(maker.profile.request(id))).collect())
}

fn integer_ids(maker: &mut Maker<'_>) -> Made {
    Ok(with_ids(maker, &["0", "-1", "2147483648", "-2147483649", "9007199254740991", "-9007199254740991"]))
}

fn large_ids(maker: &mut Maker<'_>) -> Made {
    Ok(with_ids(maker, &["9007199254740993", "9223372036854775807", "-9223372036854775808"]))
}

fn unusual_numbers_as_ids(maker: &mut Maker<'_>) -> Made {
    let ids = ["1000001.0", "7e8", "-0", "1000001.5", "123456789012345678901234567890"];
    let count = if maker.profile.dialect == Dialect::JsonRpc { ids.len() } else { 3 };
    Ok(with_ids(maker, &ids[..count]))
}

fn string_ids(maker: &mut Maker<'_>) -> Made {
    Ok(with_ids(
        maker,
        &[
            "\"\"",
            "\"7\"",
            "\"  \"",
            "\"null\"",
            "\"\u{6771}\u{4eac} \u{e9} \u{1f600}\"",
            r#""a\"b\\c""#,
            "\"aaaaaaaaaaaaaaaaaaaaa\"",
            "\"123e4567-e89b-12d3-a456-426614174000\"",
        ],
    ))
}

fn escaped_ids(maker: &mut Maker<'_>) -> Made {
    Ok(with_ids(maker, &[r#""\u0061bc""#, r#""\/x""#, r#""\ud83d\ude00x""#, r#""\u0001\n\u007f""#, r#""\\u0061""#]))
}

fn long_id(maker: &mut Maker<'_>) -> Made {
    Ok(with_ids(maker, &[&quoted(&"x".repeat(1000))]))
}

fn number_and_string_ids(maker: &mut Maker<'_>) -> Made {
    let id = maker.id();
    Ok(with_ids(maker, &[&id, &quoted(&id)]))
}

fn notification(maker: &mut Maker<'_>) -> Made {
    let mut lines = vec![match (maker.profile.dialect, &maker.profile.era) {
        (Dialect::Mcp, Era::Stateless) => maker.notification("notifications/cancelled", "\"requestId\":\"none\""),
        (Dialect::Mcp, _) => maker.notification("notifications/roots/list_changed", ""),
        (Dialect::Acp, _) => maker.notification("session/cancel", "\"sessionId\":\"wireline\""),
        (Dialect::JsonRpc, _) => maker.notification("wireline/notification", ""),
    }];
    // A method that can be requested, but without an id.
    let probe = maker.profile.probe.clone();
    let params = probe.params.as_deref().filter(|params| params.starts_with('{')).unwrap_or("{}");
    lines.push(maker.notification(&probe.method, params[1..params.len() - 1].trim()));
    Ok(Script::new(lines))
}

fn unknown_notification(maker: &mut Maker<'_>) -> Made {
    let name = maker.profile.unknown("no-such-notification");
    let lines = ["", "\"a\":1", "\"id\":7"].iter().map(|members| maker.notification(&name, members));
    Ok(Script::new(lines.collect()))
}

fn many_in_flight(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(maker.probes(500)))
}

fn duplicate_ids(maker: &mut Maker<'_>) -> Made {
    let line = maker.probe();
    Ok(Script::new(vec![line.clone(), line]).alone())
}

fn cancellation(maker: &mut Maker<'_>) -> Made {
    let call = maker.profile.calls.first().cloned();
    let mut lines = Vec::new();
    for _ in 0..5 {
        let id = maker.id();
        lines.push(Line::new(match &call {
            Some(call) => maker.profile.call(&id, &call.name, &call.arguments),
            None => maker.profile.request(&id),
        }));
        lines.push(maker.cancellation(&id));
    }
    Ok(Script::new(lines))
}

fn cancellation_of_nothing(maker: &mut Maker<'_>) -> Made {
    let id = maker.id();
    let answered = Line::new(maker.profile.request(&id));
    let mut lines = vec![maker.cancellation(&id), maker.cancellation("\"no such request\""), maker.cancellation("{}")];
    let (method, _) = maker.cancellation_names();
    lines.extend([maker.notification(method, ""), maker.notification(method, "\"reason\":5")]);
    Ok(Script::of(vec![Step::Send(vec![answered], Chunks::Whole), Step::Await, Step::Send(lines, Chunks::Whole)]))
}

fn end_of_input(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(maker.probes(20)).closing())
}

fn slow_reader(maker: &mut Maker<'_>) -> Made {
    let lines = maker.probes(4000);
    Ok(Script::of(vec![Step::StopReading, Step::Send(lines, Chunks::Whole), Step::Resume]))
}
