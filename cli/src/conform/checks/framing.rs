//! Messages are found however their bytes arrive.

use super::super::check::Level::{Must, Should};
use super::super::check::Property::Framing;
use super::super::maker::{Made, Maker};
use super::super::script::{Chunks, Ending, Exit, Line, Policy, Script, Setup, Start, Step, bytes};
use super::ServerCheck;
use crate::conform::check::Check;

const DELIMITED: &str = "messages are delimited by newlines alone (MCP, Transports / stdio)";
const ONE_ANSWER: &str = "one response";
const ONE_EACH: &str = "one response for each request";
const LOSES: &str = "the server loses the request, and the client waits for ever";
const ANY_LENGTH: &str = "exactly one response; no length is excluded (JSON-RPC 2.0, section 5)";
const LINE_ENDINGS_IN_STRINGS: &str =
    "JSON strings may contain them as they are (RFC 8259, section 7), and only a newline ends a message";

pub(super) static CHECKS: &[ServerCheck] = &[
    ServerCheck {
        check: Check {
            name: "one-write",
            property: Framing,
            level: Must,
            sends: "a request in one write",
            accepts: ONE_ANSWER,
            asks: DELIMITED,
            effect: LOSES,
        },
        script: one_write,
    },
    ServerCheck {
        check: Check {
            name: "byte-by-byte",
            property: Framing,
            level: Must,
            sends: "a request, each byte in a write of its own",
            accepts: ONE_ANSWER,
            asks: DELIMITED,
            effect: LOSES,
        },
        script: byte_by_byte,
    },
    ServerCheck {
        check: Check {
            name: "split-in-character",
            property: Framing,
            level: Must,
            sends: "requests whose writes end within a character of two, three or four bytes",
            accepts: ONE_EACH,
            asks: "messages are UTF-8 (MCP, Transports; RFC 8259, section 8.1), and the pipe splits them anywhere",
            effect: "text is corrupted or lost, depending on how the pipe splits it",
        },
        script: split_in_character,
    },
    ServerCheck {
        check: Check {
            name: "split-in-escape",
            property: Framing,
            level: Must,
            sends: "requests whose writes end within an escape sequence",
            accepts: ONE_EACH,
            asks: DELIMITED,
            effect: LOSES,
        },
        script: split_in_escape,
    },
    ServerCheck {
        check: Check {
            name: "split-in-line-ending",
            property: Framing,
            level: Must,
            sends: "requests whose writes end between carriage return and newline, and before the newline",
            accepts: ONE_EACH,
            asks: DELIMITED,
            effect: LOSES,
        },
        script: split_in_line_ending,
    },
    ServerCheck {
        check: Check {
            name: "two-in-one-write",
            property: Framing,
            level: Must,
            sends: "two requests in one write",
            accepts: ONE_EACH,
            asks: DELIMITED,
            effect: LOSES,
        },
        script: two_in_one_write,
    },
    ServerCheck {
        check: Check {
            name: "many-in-one-write",
            property: Framing,
            level: Must,
            sends: "100 requests in one write",
            accepts: ONE_EACH,
            asks: DELIMITED,
            effect: LOSES,
        },
        script: many_in_one_write,
    },
    ServerCheck {
        check: Check {
            name: "one-and-a-half",
            property: Framing,
            level: Must,
            sends: "writes that end in the middle of the next request",
            accepts: ONE_EACH,
            asks: DELIMITED,
            effect: LOSES,
        },
        script: one_and_a_half,
    },
    ServerCheck {
        check: Check {
            name: "blank-lines",
            property: Framing,
            level: Must,
            sends: "empty lines and lines of spaces between requests",
            accepts: "one response for each request; for a blank line nothing, or an error without an id",
            asks: DELIMITED,
            effect: "a blank line ends the session, and the client waits for ever",
        },
        script: blank_lines,
    },
    ServerCheck {
        check: Check {
            name: "crlf",
            property: Framing,
            level: Must,
            sends: "requests that end in carriage return and newline",
            accepts: ONE_EACH,
            asks: "a carriage return is whitespace after a JSON text (RFC 8259, section 2)",
            effect: "the server refuses every message of a client on Windows",
        },
        script: crlf,
    },
    ServerCheck {
        check: Check {
            name: "unterminated-last-line",
            property: Framing,
            level: Should,
            sends: "a request without a line ending, and the end of input",
            accepts: "one response or none, and an exit with code 0",
            asks: "an end of input that isn't an error (MCP, Lifecycle / Shutdown)",
            effect: "the server crashes instead of exiting",
        },
        script: unterminated_last_line,
    },
    ServerCheck {
        check: Check {
            name: "line-of-64k-minus-1",
            property: Framing,
            level: Must,
            sends: "a request of 65,535 bytes with its newline",
            accepts: "one response: a result or an error",
            asks: ANY_LENGTH,
            effect: LOSES,
        },
        script: line_of_64k_minus_1,
    },
    ServerCheck {
        check: Check {
            name: "line-of-64k",
            property: Framing,
            level: Must,
            sends: "a request of 65,536 bytes with its newline, which is how much a pipe holds on Linux",
            accepts: "one response: a result or an error",
            asks: ANY_LENGTH,
            effect: LOSES,
        },
        script: line_of_64k,
    },
    ServerCheck {
        check: Check {
            name: "line-of-1m",
            property: Framing,
            level: Must,
            sends: "a request of 1 MiB",
            accepts: "one response: a result or an error",
            asks: ANY_LENGTH,
            effect: LOSES,
        },
        script: line_of_1m,
    },
    ServerCheck {
        check: Check {
            name: "line-of-16m",
            property: Framing,
            level: Must,
            sends: "a request of 16 MiB with its newline, and then a short one",
            accepts: "one response for each request: a result or an error, which may have no id for the long one",
            asks: ANY_LENGTH,
            effect: LOSES,
        },
        script: line_of_16m,
    },
    ServerCheck {
        check: Check {
            name: "line-separator",
            property: Framing,
            level: Must,
            sends: "a request with U+2028 and U+2029 in a string, unescaped",
            accepts: ONE_ANSWER,
            asks: LINE_ENDINGS_IN_STRINGS,
            effect: LOSES,
        },
        script: line_separator,
    },
    ServerCheck {
        check: Check {
            name: "next-line",
            property: Framing,
            level: Must,
            sends: "a request with U+0085 in a string, unescaped",
            accepts: ONE_ANSWER,
            asks: LINE_ENDINGS_IN_STRINGS,
            effect: LOSES,
        },
        script: next_line,
    },
    ServerCheck {
        check: Check {
            name: "byte-order-mark",
            property: Framing,
            level: Must,
            sends: "a byte order mark before the very first request, and then the first request again",
            accepts: "an answer to the second one; to the first one an answer, an error or nothing",
            asks: "parsers may ignore a byte order mark or refuse the text (RFC 8259, section 8.1), but go on",
            effect: "the server crashes or never answers, because of three invisible bytes",
        },
        script: byte_order_mark,
    },
];

fn one_write(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(maker.probes(1)))
}

fn byte_by_byte(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(maker.probes(1)).in_chunks(Chunks::Bytes))
}

fn split_in_character(maker: &mut Maker<'_>) -> Made {
    let lines = vec![maker.note("\"\u{e9}\""), maker.note("\"\u{20ac}\""), maker.note("\"\u{1f600}\"")];
    let all = bytes(&lines);
    // A continuation byte follows each end.
    let ends = (1..all.len()).filter(|at| all[*at] & 0b1100_0000 == 0b1000_0000).collect();
    Ok(Script::new(lines).in_chunks(Chunks::Ends(ends)))
}

fn split_in_escape(maker: &mut Maker<'_>) -> Made {
    let escapes = [r#""\u00e9""#, r#""\n""#, r#""\\""#, r#""\"""#, r#""\ud83d\ude00""#];
    let lines: Vec<Line> = escapes.iter().map(|note| maker.note(note)).collect();
    let (all, mut ends) = (bytes(&lines), Vec::new());
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &all[at..]) {
        let start = at + found;
        let len = if all.get(start + 1) == Some(&b'u') { 6 } else { 2 };
        ends.extend(start + 1..start + len);
        at = start + len;
    }
    Ok(Script::new(lines).in_chunks(Chunks::Ends(ends)))
}

fn split_in_line_ending(maker: &mut Maker<'_>) -> Made {
    let [first, second, third] = [maker.probe(), maker.probe(), maker.probe()];
    let lines = vec![Line::ending_in(first.text, Ending::CarriageReturn), second, third];
    let all = bytes(&lines);
    let ends = (1..all.len()).filter(|at| all[*at] == b'\n').collect();
    Ok(Script::new(lines).in_chunks(Chunks::Ends(ends)))
}

fn two_in_one_write(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(maker.probes(2)))
}

fn many_in_one_write(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(maker.probes(100)))
}

fn one_and_a_half(maker: &mut Maker<'_>) -> Made {
    let lines = maker.probes(4);
    let (mut ends, mut start) = (Vec::new(), 0);
    for line in &lines {
        ends.push(start + line.text.len() / 2);
        start += line.text.len() + 1;
    }
    Ok(Script::new(lines).in_chunks(Chunks::Ends(ends)))
}

fn blank_lines(maker: &mut Maker<'_>) -> Made {
    let mut lines = Vec::new();
    for blank in ["", "   ", "", "\t"] {
        lines.extend([Line::new(blank), maker.probe()]);
    }
    lines.push(Line::ending_in("", Ending::CarriageReturn));
    Ok(Script::new(lines))
}

fn crlf(maker: &mut Maker<'_>) -> Made {
    let lines = maker.probes(3).into_iter().map(|line| Line::ending_in(line.text, Ending::CarriageReturn));
    Ok(Script::new(lines.collect()))
}

fn unterminated_last_line(maker: &mut Maker<'_>) -> Made {
    let [first, last] = [maker.probe(), maker.probe()];
    let policy = Policy { exit: Some(Exit::Code), ..Policy::default() };
    Ok(Script::new(vec![first, Line::ending_in(last.text, Ending::None)]).closing().judged(policy))
}

fn line_of_64k_minus_1(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(vec![maker.request_of_len((64 << 10) - 1)]))
}

fn line_of_64k(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(vec![maker.request_of_len(64 << 10)]))
}

fn line_of_1m(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(vec![maker.request_of_len((1 << 20) + 1)]))
}

fn line_of_16m(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(vec![maker.request_of_len(16 << 20), maker.probe()]).alone())
}

fn line_separator(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(vec![maker.note("\"a\u{2028}b\u{2029}c\"")]))
}

fn next_line(maker: &mut Maker<'_>) -> Made {
    Ok(Script::new(vec![maker.note("\"a\u{85}b\"")]))
}

fn byte_order_mark(maker: &mut Maker<'_>) -> Made {
    let mut script = Script::of(vec![Step::Send(maker.probes(1), Chunks::Whole)]);
    script.setup = Setup { start: Start::ByteOrderMark, is_alone: true, ..Setup::default() };
    Ok(script)
}
