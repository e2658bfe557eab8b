//! Every byte of the server's output belongs to a message.

use super::super::check::Level::Must;
use super::super::check::Property::Integrity;
use super::super::maker::{Made, Maker};
use super::super::random::Random;
use super::super::script::{Chunks, Line, Policy, Script, Step};
use super::ServerCheck;
use crate::conform::check::Check;

/// What the transport says about stdout.
const ONLY_MESSAGES: &str =
    "nothing but messages on stdout, one per line, without line breaks in them (MCP, Transports / stdio)";
const BREAKS_PARSERS: &str = "the client reads bytes that aren't a message, and drops the connection or a response";

pub(super) static CHECKS: &[ServerCheck] = &[
    ServerCheck {
        check: Check {
            name: "random-requests",
            property: Integrity,
            level: Must,
            sends: "random requests to a server of their own, from --seed: as many as --cases",
            accepts: "one valid line for each request and nothing else, from the first answer to the last byte",
            asks: ONLY_MESSAGES,
            effect: BREAKS_PARSERS,
        },
        script: random_requests,
    },
    ServerCheck {
        check: Check {
            name: "silent-start",
            property: Integrity,
            level: Must,
            sends: "the first request",
            accepts: "valid messages only, such as notifications, before the first answer",
            asks: ONLY_MESSAGES,
            effect: "the client reads a banner or a log line where it expects the first answer",
        },
        script: silent_start,
    },
    ServerCheck {
        check: Check {
            name: "silent-end",
            property: Integrity,
            level: Must,
            sends: "requests, and the end of input once they are answered",
            accepts: "valid messages only until stdout ends, the last one with its line ending",
            asks: ONLY_MESSAGES,
            effect: BREAKS_PARSERS,
        },
        script: silent_end,
    },
];

/// How many requests are in flight at once.
const IN_FLIGHT: usize = 50;

fn random_requests(maker: &mut Maker<'_>) -> Made {
    let mut steps = Vec::new();
    let mut left = maker.cases;
    while left > 0 {
        let lines: Vec<Line> = (0..left.min(IN_FLIGHT)).map(|_| maker.random_request()).collect();
        left -= lines.len();
        let chunks = random_chunks(&lines, &mut maker.random);
        steps.extend([Step::Send(lines, chunks), Step::Await]);
    }
    Ok(Script::of(steps).closing())
}

/// Divides lines at random.
fn random_chunks(lines: &[Line], random: &mut Random) -> Chunks {
    if random.one_in(4) {
        return Chunks::Whole;
    }
    let len = super::super::script::bytes(lines).len();
    let longest = *random.choose(&[20, 200, 2000]);
    let ends = std::iter::successors(Some(1 + random.below(longest)), |end| Some(end + 1 + random.below(longest)));
    Chunks::Ends(ends.take_while(|end| *end < len).collect())
}

fn silent_start(_: &mut Maker<'_>) -> Made {
    Ok(Script::of(Vec::new()).judged(Policy { whole_stream: true, ..Policy::default() }).alone())
}

fn silent_end(maker: &mut Maker<'_>) -> Made {
    let lines = maker.probes(3);
    Ok(Script::of(vec![Step::Send(lines, Chunks::Whole), Step::Await]).closing())
}
