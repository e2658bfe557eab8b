//! Valid messages are processed, and others refused as the specification says.

use super::super::check::Level::{Must, Should};
use super::super::check::Property::Conformance;
use super::super::maker::{Made, Maker, ONLY_MCP, reversed};
use super::super::mutation::mutate;
use super::super::profile::{Era, STATELESS_META};
use super::super::script::{Chunks, Line, Policy, Script, Step};
use super::ServerCheck;
use crate::conform::check::Check;
use crate::rules_args::Dialect;

const GOES_ON: &str = "an error or nothing, but no crash: the next request is answered (JSON-RPC 2.0, section 5)";
const ENDS_SESSION: &str = "one bad line ends the session";
const WAITS: &str = "the client waits for ever";

pub(super) static CHECKS: &[ServerCheck] = &[
    ServerCheck {
        check: Check {
            name: "mutations",
            property: Conformance,
            level: Must,
            sends: "random mutations of valid messages, from --seed",
            accepts: "for what is still valid, what the specification says; for the rest at most one error; the server goes on",
            asks: "-32700, -32600, -32601 or -32602 for what isn't valid (JSON-RPC 2.0, section 5.1)",
            effect: "a client's mistake goes unanswered, or ends the session",
        },
        script: mutations,
    },
    ServerCheck {
        check: Check {
            name: "not-json",
            property: Conformance,
            level: Must,
            sends: "lines that aren't JSON: text, half a message, single quotes, NaN, a trailing comma",
            accepts: "an error with id null or without an id, or nothing; the server goes on",
            asks: GOES_ON,
            effect: ENDS_SESSION,
        },
        script: not_json,
    },
    ServerCheck {
        check: Check {
            name: "not-json-code",
            property: Conformance,
            level: Should,
            sends: "a line that isn't JSON",
            accepts: "error -32700 with id null; MCP: also without an id, or nothing",
            asks: "-32700 with id null (JSON-RPC 2.0, sections 5 and 5.1)",
            effect: "its sender never learns that it got lost",
        },
        script: not_json_code,
    },
    ServerCheck {
        check: Check {
            name: "not-an-object",
            property: Conformance,
            level: Must,
            sends: "lines that are JSON but no message: a number, a string, null, true, {}",
            accepts: "an error with id null or without an id, or nothing; the server goes on",
            asks: GOES_ON,
            effect: ENDS_SESSION,
        },
        script: not_an_object,
    },
    ServerCheck {
        check: Check {
            name: "invalid-request",
            property: Conformance,
            level: Must,
            sends: "requests that break a rule but have an id: no or another version, a method or params of the wrong type",
            accepts: "one response, with that id, id null or no id",
            asks: "-32600 if a request isn't valid (JSON-RPC 2.0, section 5.1)",
            effect: WAITS,
        },
        script: invalid_request,
    },
    ServerCheck {
        check: Check {
            name: "invalid-request-code",
            property: Conformance,
            level: Should,
            sends: "requests that break a rule but have an id",
            accepts: "error -32600 or -32602 with that id",
            asks: "-32600 if a request isn't valid, with its id if that can be read (JSON-RPC 2.0, sections 5 and 5.1)",
            effect: "the client can't tell which of its requests was refused, and waits for ever",
        },
        script: invalid_request_code,
    },
    ServerCheck {
        check: Check {
            name: "invalid-id",
            property: Conformance,
            level: Must,
            sends: "requests whose id is an object, an array or a boolean, and under MCP null",
            accepts: "an error with id null or without an id, or nothing; the server goes on",
            asks: GOES_ON,
            effect: ENDS_SESSION,
        },
        script: invalid_id,
    },
    ServerCheck {
        check: Check {
            name: "invalid-params-code",
            property: Conformance,
            level: Should,
            sends: "MCP: tools/call without a name; a request of revision 2026-07-28 without its metadata",
            accepts: "error -32602, or -32600",
            asks: "-32602 if a method's params aren't valid (JSON-RPC 2.0, section 5.1; MCP, Basic / _meta)",
            effect: "the client can't tell its own mistake from a failure of the server",
        },
        script: invalid_params_code,
    },
    ServerCheck {
        check: Check {
            name: "extra-members",
            property: Conformance,
            level: Must,
            sends: "requests with members that no specification defines, in any order",
            accepts: "one response for each request",
            asks: "members in any order (RFC 8259, section 4), and exactly one response (JSON-RPC 2.0, section 5)",
            effect: WAITS,
        },
        script: extra_members,
    },
    ServerCheck {
        check: Check {
            name: "escaped-names",
            property: Conformance,
            level: Must,
            sends: "a request whose member names and method are written with escapes",
            accepts: "one response, as to the same request without escapes",
            asks: "equal strings are equal however they are escaped (RFC 8259, section 8.3)",
            effect: WAITS,
        },
        script: escaped_names,
    },
    ServerCheck {
        check: Check {
            name: "responses",
            property: Conformance,
            level: Must,
            sends: "responses that belong to no request, with results and errors, valid and not",
            accepts: "no response; the server goes on",
            asks: "a response is the answer to a request, never to a response (JSON-RPC 2.0, section 5)",
            effect: "two programs answer each other's errors for ever",
        },
        script: responses,
    },
    ServerCheck {
        check: Check {
            name: "batch",
            property: Conformance,
            level: Must,
            sends: "an array of two requests and a notification",
            accepts: "where batches are allowed, a response for each request; elsewhere also an error or nothing; the server goes on",
            asks: "a response for each request of a batch, none for notifications (JSON-RPC 2.0, section 6; MCP 2025-03-26)",
            effect: WAITS,
        },
        script: batch,
    },
    ServerCheck {
        check: Check {
            name: "batch-in-one-array",
            property: Conformance,
            level: Should,
            sends: "an array of two requests and a notification",
            accepts: "where batches are allowed, the responses in one array",
            asks: "an array with the responses (JSON-RPC 2.0, section 6)",
            effect: "a client that waits for an array waits for ever",
        },
        script: batch_in_one_array,
    },
    ServerCheck {
        check: Check {
            name: "batch-of-notifications",
            property: Conformance,
            level: Must,
            sends: "an array of notifications",
            accepts: "no response, where batches are allowed; elsewhere also an error",
            asks: "nothing at all, not even an empty array (JSON-RPC 2.0, section 6)",
            effect: "the client gets a response that belongs to no request",
        },
        script: batch_of_notifications,
    },
    ServerCheck {
        check: Check {
            name: "empty-batch",
            property: Conformance,
            level: Should,
            sends: "an empty array, and an array of numbers",
            accepts: "where batches are allowed, error -32600 with id null, once for the first and for each of the numbers",
            asks: "-32600 for an empty array and for each invalid entry (JSON-RPC 2.0, section 6)",
            effect: "its sender never learns that it got lost",
        },
        script: empty_batch,
    },
    ServerCheck {
        check: Check {
            name: "deep-nesting",
            property: Conformance,
            level: Must,
            sends: "a request with 100,000 nested arrays in its params",
            accepts: "one response with its id, an error without an id, or nothing; the server goes on",
            asks: "a parser may limit the depth (RFC 8259, section 9), but has to survive",
            effect: "one line crashes the server",
        },
        script: deep_nesting,
    },
    ServerCheck {
        check: Check {
            name: "invalid-utf8",
            property: Conformance,
            level: Must,
            sends: "requests with bytes that aren't UTF-8: in a string, in the id, and alone on a line",
            accepts: "one response with its id, an error without an id, or nothing; the server goes on",
            asks: "JSON is UTF-8 (RFC 8259, section 8.1), but one bad line doesn't end the session",
            effect: ENDS_SESSION,
        },
        script: invalid_utf8,
    },
    ServerCheck {
        check: Check {
            name: "duplicate-members",
            property: Conformance,
            level: Must,
            sends: "requests with a member twice: method, params, jsonrpc, id",
            accepts: "at most one response, with one of the ids or without an id; the server goes on",
            asks: "names should be unique, and what else happens is open (RFC 8259, section 4); never two responses",
            effect: "the client gets a response that belongs to no request, or one bad line ends the session",
        },
        script: duplicate_members,
    },
];

/// How many mutations are in flight at once, and how often a valid request follows.
const IN_FLIGHT: usize = 50;
const VALID_EVERY: usize = 10;

const NO_BATCHES: &str = "this revision has no batches";

fn mutations(maker: &mut Maker<'_>) -> Made {
    let mut steps = Vec::new();
    let mut left = maker.cases;
    while left > 0 {
        let mut lines = Vec::new();
        for at in 0..left.min(IN_FLIGHT) {
            lines.push(mutate(maker));
            if at % VALID_EVERY == VALID_EVERY - 1 {
                lines.push(maker.probe());
            }
        }
        left -= left.min(IN_FLIGHT);
        steps.extend([Step::Send(lines, Chunks::Whole), Step::Await]);
    }
    Ok(Script::of(steps).alone())
}

/// Lines as they are, each followed by a request.
fn with_probes(maker: &mut Maker<'_>, texts: Vec<Vec<u8>>) -> Script {
    let lines = texts.into_iter().flat_map(|text| [Line::new(text), maker.probe()]);
    Script::new(lines.collect())
}

fn not_json(maker: &mut Maker<'_>) -> Made {
    let valid = maker.probe().text;
    let quoted = String::from_utf8_lossy(&maker.probe().text).replace('"', "'");
    let mut comma = maker.probe().text;
    comma.truncate(comma.len() - 1);
    comma.extend(b",}");
    let mut texts = vec![
        b"Server started on port 8080".to_vec(),
        b"Content-Length: 42".to_vec(),
        b"GET / HTTP/1.1".to_vec(),
        valid[..valid.len() / 2].to_vec(),
        b"{".to_vec(),
        b"}".to_vec(),
        b"\"".to_vec(),
        b"[".to_vec(),
        quoted.into_bytes(),
        comma,
        maker.note("NaN").text,
        maker.note("01").text,
        maker.note("\"\t\"").text,
        maker.note("\"\\x\"").text,
    ];
    texts.push(b"\0".to_vec());
    Ok(with_probes(maker, texts))
}

fn not_json_code(_: &mut Maker<'_>) -> Made {
    let policy = Policy { not_json_code: true, ..Policy::default() };
    Ok(Script::new(vec![Line::new("this is not JSON")]).judged(policy))
}

fn not_an_object(maker: &mut Maker<'_>) -> Made {
    let texts = ["1", "-0.5e3", "\"text\"", "null", "true", "{}"];
    Ok(with_probes(maker, texts.iter().map(|text| text.as_bytes().to_vec()).collect()))
}

/// Requests that break one rule each, but whose ids can be read.
fn invalid_requests(maker: &mut Maker<'_>) -> Vec<Vec<u8>> {
    let name = maker.profile.unknown("invalid");
    let mut texts = Vec::new();
    for (version, method, params) in [
        ("", format!("\"{name}\""), ""),
        ("\"jsonrpc\":\"1.0\",", format!("\"{name}\""), ""),
        ("\"jsonrpc\":2.0,", format!("\"{name}\""), ""),
        ("\"jsonrpc\":\"2.0\",", "5".to_owned(), ""),
        ("\"jsonrpc\":\"2.0\",", "{}".to_owned(), ""),
        ("\"jsonrpc\":\"2.0\",", format!("\"{name}\""), ",\"params\":5"),
        ("\"jsonrpc\":\"2.0\",", format!("\"{name}\""), ",\"params\":\"text\""),
    ] {
        texts.push(format!("{{{version}\"id\":{},\"method\":{method}{params}}}", maker.id()).into_bytes());
    }
    texts
}

fn invalid_request(maker: &mut Maker<'_>) -> Made {
    let texts = invalid_requests(maker);
    Ok(with_probes(maker, texts))
}

fn invalid_request_code(maker: &mut Maker<'_>) -> Made {
    let texts = invalid_requests(maker);
    Ok(with_probes(maker, texts).judged(Policy { invalid_request_code: true, ..Policy::default() }))
}

fn invalid_id(maker: &mut Maker<'_>) -> Made {
    let ids = ["{}", "[1]", "true", "false", "null"];
    let count = if maker.profile.dialect == Dialect::Mcp { ids.len() } else { 4 };
    let texts = ids[..count].iter().map(|id| maker.profile.request(id).into_bytes()).collect();
    Ok(with_probes(maker, texts))
}

fn invalid_params_code(maker: &mut Maker<'_>) -> Made {
    if maker.profile.dialect != Dialect::Mcp {
        return Err(ONLY_MCP);
    }
    let mut lines = Vec::new();
    if maker.profile.has_tools {
        lines.push(maker.request("tools/call", "\"arguments\":{}"));
    }
    if maker.profile.era == Era::Stateless {
        let id = maker.id();
        lines.push(Line::new(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{}}}}"#)));
    }
    if lines.is_empty() {
        return Err("the server has no tools");
    }
    Ok(Script::new(lines).judged(Policy { invalid_params_code: true, ..Policy::default() }))
}

fn extra_members(maker: &mut Maker<'_>) -> Made {
    let mut texts = Vec::new();
    for extra in ["\"extra\":1,", "\"extra\":{\"id\":1,\"method\":[]},\"\":null,"] {
        let line = maker.probe().text;
        texts.push([b"{", extra.as_bytes(), &line[1..]].concat());
    }
    let line = maker.probe().text;
    texts.push(reversed(&line));
    Ok(with_probes(maker, texts))
}

fn escaped_names(maker: &mut Maker<'_>) -> Made {
    let line = String::from_utf8_lossy(&maker.probe().text).into_owned();
    let line = line
        .replacen("\"jsonrpc\"", r#""\u006asonrp\u0063""#, 1)
        .replacen("\"id\"", r#""i\u0064""#, 1)
        .replacen("\"method\":\"", r#""\u006dethod":"\u"#, 1);
    // The first character of the method follows the escape.
    let at = line.find(r#":"\u"#).map_or(0, |at| at + 4);
    let first = line[at..].chars().next().unwrap_or('x');
    let line = format!("{}{:04x}{}", &line[..at], u32::from(first), &line[at + first.len_utf8()..]);
    Ok(Script::new(vec![Line::new(line)]))
}

fn responses(maker: &mut Maker<'_>) -> Made {
    let mut texts: Vec<String> = [
        r#"{"jsonrpc":"2.0","id":"none","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":-77,"result":{"id":1,"method":"ping"}}"#,
        r#"{"jsonrpc":"2.0","id":"none","error":{"code":-32603,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":"none","error":{"code":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":"none","error":null}"#,
    ]
    .map(str::to_owned)
    .into();
    if maker.profile.dialect == Dialect::Mcp {
        texts.push(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#.to_owned());
    }
    Ok(with_probes(maker, texts.into_iter().map(String::into_bytes).collect()))
}

/// Two requests and a notification as an array.
fn array(maker: &mut Maker<'_>) -> Vec<u8> {
    let notification = maker.notification(&maker.profile.unknown("noted"), "");
    let lines = [maker.probe(), notification, maker.probe()].map(|line| line.text);
    [b"[", &lines.join(&b","[..])[..], b"]"].concat()
}

fn batch(maker: &mut Maker<'_>) -> Made {
    let text = array(maker);
    Ok(with_probes(maker, vec![text]))
}

fn batch_in_one_array(maker: &mut Maker<'_>) -> Made {
    if !maker.profile.has_batches {
        return Err(NO_BATCHES);
    }
    let text = array(maker);
    Ok(with_probes(maker, vec![text]).judged(Policy { batch_in_one_array: true, ..Policy::default() }))
}

fn batch_of_notifications(maker: &mut Maker<'_>) -> Made {
    let name = maker.profile.unknown("noted");
    let lines = [maker.notification(&name, ""), maker.notification(&name, "\"a\":1")].map(|line| line.text);
    let text = [b"[", &lines.join(&b","[..])[..], b"]"].concat();
    Ok(with_probes(maker, vec![text]))
}

fn empty_batch(maker: &mut Maker<'_>) -> Made {
    if !maker.profile.has_batches {
        return Err(NO_BATCHES);
    }
    let texts = vec![b"[]".to_vec(), b"[1,2]".to_vec()];
    Ok(with_probes(maker, texts).judged(Policy { empty_batch: true, ..Policy::default() }))
}

fn deep_nesting(maker: &mut Maker<'_>) -> Made {
    const DEPTH: usize = 100_000;
    let note = "[".repeat(DEPTH) + &"]".repeat(DEPTH);
    Ok(Script::new(vec![maker.note(&note), maker.probe()]).alone())
}

fn invalid_utf8(maker: &mut Maker<'_>) -> Made {
    let mut texts = vec![b"\xff\xfe".to_vec()];
    for bytes in [&b"\xff"[..], b"\xc0\xaf", b"\xed\xa0\x80", b"\xe2\x82"] {
        let line = maker.note("\"#\"").text;
        let at = memchr::memmem::find(&line, b"#").unwrap_or(0);
        texts.push([&line[..at], bytes, &line[at + 1..]].concat());
    }
    let line = maker.profile.request("\"a#\"").into_bytes();
    let at = memchr::memmem::find(&line, b"#").unwrap_or(0);
    texts.push([&line[..at], b"\xff", &line[at + 1..]].concat());
    Ok(with_probes(maker, texts))
}

fn duplicate_members(maker: &mut Maker<'_>) -> Made {
    let mut texts = Vec::new();
    let meta = match maker.profile.era {
        Era::Stateless => format!("\"params\":{{\"_meta\":{{{STATELESS_META}}}}}"),
        _ => "\"params\":{}".to_owned(),
    };
    let name = maker.profile.unknown("twice");
    for member in
        ["\"jsonrpc\":\"2.0\"".to_owned(), format!("\"method\":\"{name}\""), meta, format!("\"id\":{}", maker.id())]
    {
        let line = maker.probe().text;
        texts.push([b"{", member.as_bytes(), b",", &line[1..]].concat());
    }
    let line = maker.note("1").text;
    texts.push([&line[..line.len() - 1], b",\"params\":{}}"].concat());
    Ok(with_probes(maker, texts))
}
