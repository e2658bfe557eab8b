//! The misbehaviours by name.

use std::fmt::Write;

use super::server::Hook;
use super::server::Hook::{Answer, Batch, End, Exit, Line, LongLine, Nothing, Start};
use super::{answers, input, lifecycle, output};

/// One way to misbehave.
#[derive(Debug)]
pub(crate) struct Misbehaviour {
    /// In lower case, with hyphens. Unique.
    pub(crate) name: &'static str,
    /// What the server does, as a sentence without its subject and full stop. "Answers" are those after the handshake.
    pub(crate) does: &'static str,
    /// The checks of `wireline conform` that must notice it. Empty if it is permitted.
    pub(crate) breaks: &'static [&'static str],
    pub(super) hook: Hook,
}

/// The misbehaviour of this name.
pub(crate) fn find(name: &str) -> Option<&'static Misbehaviour> {
    ALL.iter().find(|misbehaviour| misbehaviour.name == name)
}

/// All names, with what each does.
pub(super) fn listing() -> String {
    let width = ALL.iter().map(|misbehaviour| misbehaviour.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Misbehaviour { name, does, breaks, .. } in ALL {
        // Writing to a string cannot fail.
        let _ = write!(text, "{name:width$}  {does}");
        let _ = match breaks {
            [] => writeln!(text),
            breaks => writeln!(text, " [{}]", breaks.join(", ")),
        };
    }
    text
}

const fn new(name: &'static str, does: &'static str, breaks: &'static [&'static str], hook: Hook) -> Misbehaviour {
    Misbehaviour { name, does, breaks, hook }
}

pub(crate) static ALL: &[Misbehaviour] = &[
    new("none", "behaves", &[], Nothing),
    // What is written to stdout
    new("banner", "prints a banner before the first answer", &["silent-start"], Start(output::print_banner)),
    new(
        "noise-between",
        "prints debug output before each answer",
        &["random-requests"],
        Answer(output::print_debug_output),
    ),
    new("log-line", "prints a log line after each answer", &["random-requests"], Answer(output::print_log_line)),
    new(
        "noise-every-37th",
        "prints a log line before every 37th answer",
        &["random-requests"],
        Answer(output::print_every_37th),
    ),
    new("noise-at-end", "prints a line when the input has ended", &["silent-end"], Exit(output::print_goodbye)),
    new(
        "noise-in-line",
        "prints a text before each answer, on the same line",
        &["random-requests"],
        Answer(output::print_progress),
    ),
    new(
        "terminal-escapes",
        "prints escape sequences before each answer",
        &["random-requests"],
        Answer(output::print_escapes),
    ),
    new("input-echo", "repeats each line of the input", &["random-requests"], Line(output::repeat_input)),
    new(
        "bom",
        "prints a byte order mark before the first message",
        &["silent-start"],
        Start(output::print_byte_order_mark),
    ),
    new(
        "bom-each",
        "prints a byte order mark before each answer",
        &["random-requests"],
        Answer(output::print_byte_order_marks),
    ),
    new("crlf-output", "ends answers with carriage return and line feed", &[], Answer(output::end_with_crlf)),
    new(
        "blank-output",
        "prints blank lines before each answer",
        &["random-requests"],
        Answer(output::print_blank_lines),
    ),
    new("pretty", "prints each answer over several lines", &["random-requests"], Answer(output::print_over_lines)),
    new(
        "line-break",
        "sends a line break in a string of each answer",
        &["random-requests"],
        Answer(output::send_line_break),
    ),
    new(
        "control-characters",
        "sends control characters in a string of each answer",
        &["random-requests"],
        Answer(output::send_control_characters),
    ),
    new(
        "two-on-a-line",
        "sends a notification on the same line behind each answer",
        &["random-requests"],
        Answer(output::join_lines),
    ),
    new(
        "missing-line-feed",
        "forgets the line feed of the second answer",
        &["random-requests"],
        Answer(output::forget_line_feed),
    ),
    new(
        "unterminated-end",
        "prints a message without a line feed when the input has ended",
        &["silent-end"],
        Exit(output::print_unterminated),
    ),
    new(
        "invalid-utf8-output",
        "sends bytes that aren't UTF-8 in a string of each answer",
        &["random-requests"],
        Answer(output::send_invalid_utf8),
    ),
    new(
        "lone-surrogate",
        "sends an escaped lone surrogate in a string of each answer",
        &[],
        Answer(output::send_lone_surrogate),
    ),
    new(
        "line-separator-output",
        "sends U+2028, U+2029 and U+0085 in a string of each answer",
        &[],
        Answer(output::send_line_separator),
    ),
    new("long-output", "sends a string of 8 MiB in each answer", &[], Answer(output::send_long_line)),
    new(
        "deep-output",
        "sends 100,000 nested arrays in each answer",
        &["random-requests"],
        Answer(output::send_deep_nesting),
    ),
    new("pause-in-line", "pauses in the middle of each answer", &[], Answer(output::pause_within_line)),
    new("single-bytes", "writes each byte of an answer on its own", &[], Answer(output::write_single_bytes)),
    new("flood", "sends 2,000 notifications before each answer", &[], Answer(output::flood)),
    new(
        "unknown-notification-output",
        "sends an unknown notification before each answer",
        &[],
        Answer(output::send_unknown_notification),
    ),
    // Which request is answered
    new("wrong-id", "answers under an id that nobody used", &["known-method"], Answer(answers::answer_wrong_id)),
    new("null-id", "answers under the id null", &["known-method"], Answer(answers::answer_null_id)),
    new("no-id", "answers without an id", &["known-method"], Answer(answers::answer_without_id)),
    new(
        "other-id-type",
        "turns ids that are numbers into strings, and strings of digits into numbers",
        &["integer-ids"],
        Answer(answers::answer_other_type),
    ),
    new(
        "digits-as-number",
        "turns ids that are strings of digits into numbers",
        &["number-and-string-ids"],
        Answer(answers::answer_digits_as_number),
    ),
    new(
        "rounded-id",
        "rounds ids beyond 2^53 to floating-point numbers",
        &["large-ids"],
        Answer(answers::answer_rounded_id),
    ),
    new("32-bit-id", "truncates ids to 32 bits", &["integer-ids"], Answer(answers::answer_32_bit_id)),
    new("short-id", "truncates ids to 20 characters", &["string-ids"], Answer(answers::answer_short_id)),
    new("escaped-id", "escapes backslashes in ids twice", &["escaped-ids"], Answer(answers::answer_escaped_id)),
    new(
        "falsy-ids",
        "never answers requests with the id 0 or an empty one",
        &["integer-ids"],
        Answer(answers::drop_falsy_ids),
    ),
    new(
        "unusual-number-ids",
        "never answers requests with an id such as 1.0 or 1e2",
        &["unusual-numbers-as-ids"],
        Answer(answers::drop_unusual_numbers),
    ),
    new(
        "ids-over-20",
        "never answers requests with an id of more than 20 characters",
        &["string-ids"],
        Answer(answers::drop_long_ids),
    ),
    new(
        "ids-over-100",
        "never answers requests with an id of more than 100 characters",
        &["long-id"],
        Answer(answers::drop_very_long_ids),
    ),
    // What an answer is made of
    new("both", "answers with a result and an error", &["known-method"], Answer(answers::answer_both)),
    new(
        "null-beside",
        "answers with a result and `\"error\":null`, or the other way round",
        &["known-method"],
        Answer(answers::answer_with_null),
    ),
    new("neither", "answers with neither a result nor an error", &["known-method"], Answer(answers::answer_neither)),
    new("no-version", "answers without `jsonrpc`", &["known-method"], Answer(answers::answer_without_version)),
    new("old-version", "answers with `\"jsonrpc\":\"1.0\"`", &["known-method"], Answer(answers::answer_old_version)),
    new("text-as-error", "answers with a string as `error`", &["known-method"], Answer(answers::answer_text_as_error)),
    new(
        "text-as-code",
        "answers with an error whose code is a string",
        &["known-method"],
        Answer(answers::answer_text_as_code),
    ),
    new("always-error", "answers with an internal error", &["known-method"], Answer(answers::answer_error)),
    new("in-array", "answers with an array", &["known-method"], Answer(answers::answer_in_array)),
    // How often it answers
    new("twice", "answers twice", &["known-method"], Answer(answers::answer_twice)),
    new(
        "twice-if-two",
        "answers twice if exactly two requests arrive in one read",
        &["two-in-one-write"],
        Answer(answers::answer_pairs_twice),
    ),
    new("never", "never answers", &["known-method"], Answer(answers::never_answer)),
    new("late", "answers after 2 s, one request after the other", &[], Answer(answers::answer_late)),
    new("skip-every-10th", "doesn't answer every 10th request", &["many-in-flight"], Answer(answers::skip_every_tenth)),
    new("skip-calls", "never answers calls", &["calls"], Answer(answers::skip_calls)),
    new(
        "skip-unknown-methods",
        "never answers requests with an unknown method",
        &["unknown-method"],
        Answer(answers::skip_errors::<-32601>),
    ),
    new(
        "skip-invalid-params",
        "never answers requests with invalid params",
        &["invalid-params"],
        Answer(answers::skip_errors::<-32602>),
    ),
    new(
        "skip-failing-calls",
        "never answers calls of unknown tools",
        &["failing-handler"],
        Answer(answers::skip_failing_handlers),
    ),
    new(
        "skip-invalid-requests",
        "never answers requests that break a rule",
        &["invalid-request"],
        Answer(answers::skip_errors::<-32600>),
    ),
    new("out-of-order", "answers the newest request first", &[], Answer(output::answer_out_of_order)),
    // Errors
    new(
        "unknown-method-code",
        "answers unknown methods with another code than -32601",
        &["unknown-method-code"],
        Answer(answers::send_wrong_code::<-32601>),
    ),
    new(
        "invalid-params-code",
        "answers invalid params with another code than -32602",
        &["invalid-params-code"],
        Answer(answers::send_wrong_code::<-32602>),
    ),
    new(
        "invalid-request-code",
        "answers invalid requests with another code than -32600",
        &["invalid-request-code"],
        Answer(answers::send_wrong_code::<-32600>),
    ),
    new(
        "parse-error-code",
        "answers what isn't JSON with another code than -32700",
        &["not-json-code"],
        Answer(answers::send_wrong_code::<-32700>),
    ),
    new(
        "forgets-ids",
        "answers bad lines under the id null, although their ids are readable",
        &["invalid-request-code"],
        Answer(answers::forget_ids_of_bad_lines),
    ),
    new("refuses-ping", "answers pings with an error", &["known-method"], Answer(answers::refuse_ping)),
    // What it answers
    new("answers-notifications", "answers notifications", &["notification"], Line(answers::answer_all_notifications)),
    new(
        "answers-unknown-notifications",
        "answers notifications with an unknown method",
        &["unknown-notification"],
        Line(answers::answer_unknown_notifications),
    ),
    new("answers-responses", "answers responses", &["responses"], Line(answers::answer_responses)),
    new(
        "answers-cancelled",
        "answers a request again when it is cancelled",
        &["cancellation"],
        Line(answers::answer_cancelled),
    ),
    new(
        "crash-on-cancel",
        "crashes when a request is cancelled",
        &["cancellation-of-nothing"],
        Line(answers::crash_on_cancellation),
    ),
    new(
        "stray-response",
        "sends a response to a request that nobody made, before each answer",
        &["known-method"],
        Answer(answers::send_stray_response),
    ),
    new(
        "stray-error",
        "sends an error without an id before each answer",
        &["known-method"],
        Answer(answers::send_error_without_id),
    ),
    new(
        "stray-null-error",
        "sends an error with the id null before each answer",
        &["known-method"],
        Answer(answers::send_error_with_null_id),
    ),
    new(
        "asks",
        "sends a request of its own, and answers when that is answered, or after 5 s",
        &[],
        Answer(answers::ask_first),
    ),
    new(
        "asks-unknown",
        "sends a request with an unknown method, and answers when that is answered, or after 5 s",
        &[],
        Answer(answers::ask_unknown),
    ),
    // How it reads
    new("lose-crlf", "loses lines that end with a carriage return", &["crlf"], Line(input::lose_crlf)),
    new("lose-after-blank", "loses the line behind a blank one", &["blank-lines"], Line(input::lose_after_blank)),
    new("crash-on-blank", "crashes on a blank line", &["blank-lines"], Line(input::crash_on_blank)),
    new("lose-chunked", "loses lines that arrive in several reads", &["byte-by-byte"], Line(input::lose_cut)),
    new(
        "lose-split-characters",
        "loses lines that are split within a character",
        &["split-in-character"],
        Line(input::lose_cut_characters),
    ),
    new(
        "lose-split-escapes",
        "loses lines that are split within an escape sequence",
        &["split-in-escape"],
        Line(input::lose_cut_escapes),
    ),
    new(
        "lose-split-endings",
        "loses lines that are split before the line feed",
        &["split-in-line-ending"],
        Line(input::lose_cut_line_ends),
    ),
    new(
        "lose-second",
        "loses the second of two lines that arrive in one read",
        &["two-in-one-write"],
        Line(input::lose_second),
    ),
    new(
        "lose-bursts",
        "loses all but 50 lines that arrive in one read",
        &["many-in-one-write"],
        Line(input::lose_bursts),
    ),
    new(
        "lose-begun",
        "loses a line that begins in the same read as another line ends",
        &["one-and-a-half"],
        Line(input::lose_begun_behind),
    ),
    new("lose-unterminated", "loses a last line without a line feed", &[], Line(input::lose_unterminated)),
    new(
        "crash-on-unterminated",
        "crashes on a last line without a line feed",
        &["unterminated-last-line"],
        Line(input::crash_on_unterminated),
    ),
    new("crash-on-bom", "crashes on a byte order mark", &["byte-order-mark"], Line(input::crash_on_byte_order_mark)),
    new("lose-u2028", "loses lines with U+2028 in them", &["line-separator"], Line(input::lose_line_separator)),
    new("lose-u0085", "loses lines with U+0085 in them", &["next-line"], Line(input::lose_next_line)),
    new("lose-65535", "loses lines of 65,535 bytes", &["line-of-64k-minus-1"], Line(input::lose_len::<65535>)),
    new("lose-65536", "loses lines of 65,536 bytes", &["line-of-64k"], Line(input::lose_len::<65536>)),
    new(
        "lose-over-64k",
        "loses lines of more than 64 KiB",
        &["line-of-1m"],
        LongLine(input::lose_longer::<{ 64 << 10 }>),
    ),
    new(
        "lose-over-8m",
        "loses lines of more than 8 MiB",
        &["line-of-16m"],
        LongLine(input::lose_longer::<{ 8 << 20 }>),
    ),
    new("crash-on-long", "crashes on lines of 1 MiB and more", &["line-of-1m"], LongLine(input::crash_on_long)),
    new("keep-long", "keeps lines that are too long in memory", &["refused-line-memory"], LongLine(input::keep_long)),
    // Bad lines
    new("exit-on-bad", "exits on a line that isn't a valid message", &["not-json"], Line(input::exit_on_bad)),
    new("exit-on-text", "exits on a line that isn't JSON", &["not-json"], Line(input::exit_on_text)),
    new(
        "ignore-bad",
        "ignores lines that aren't valid messages, though their ids are readable",
        &["invalid-request"],
        Line(input::ignore_bad),
    ),
    new(
        "lose-after-bad",
        "loses the line behind one that isn't a valid message",
        &["not-json"],
        Line(input::lose_after_bad),
    ),
    new(
        "crash-on-scalars",
        "crashes on JSON that is neither an object nor an array",
        &["not-an-object"],
        Line(input::crash_on_scalars),
    ),
    new("crash-on-strange-ids", "crashes on ids of the wrong type", &["invalid-id"], Line(input::crash_on_strange_ids)),
    new("crash-on-utf8", "crashes on bytes that aren't UTF-8", &["invalid-utf8"], Line(input::crash_on_invalid_utf8)),
    new("crash-on-depth", "crashes on deep nesting", &["deep-nesting"], Line(input::crash_on_deep_nesting)),
    new(
        "crash-on-duplicates",
        "crashes if a member comes twice",
        &["duplicate-members"],
        Line(input::crash_on_duplicate_members),
    ),
    // Unusual messages
    new(
        "lose-extra-members",
        "loses messages with unknown members",
        &["extra-members"],
        Line(input::lose_extra_members),
    ),
    new(
        "lose-escaped-names",
        "loses messages whose member names are escaped",
        &["escaped-names"],
        Line(input::lose_escaped_names),
    ),
    new(
        "crash-on-repeated-id",
        "crashes if a request has the same id as the one before",
        &["duplicate-ids"],
        Line(input::crash_on_repeated_ids),
    ),
    new("lose-batches", "loses batches", &["batch"], Line(input::lose_batches)),
    new(
        "split-batches",
        "answers each request of a batch on a line of its own",
        &["batch-in-one-array"],
        Batch(input::split_answers),
    ),
    new(
        "answers-notification-batches",
        "answers batches of notifications with an empty array",
        &["batch-of-notifications"],
        Line(input::answer_batches_of_notifications),
    ),
    new("lose-empty-batches", "loses batches without messages", &["empty-batch"], Line(input::lose_empty_batches)),
    // How it starts and ends
    new("late-start", "starts after 2 s", &[], Start(lifecycle::start_late)),
    new("never-starts", "never reads anything", &["starts-in-time"], Start(lifecycle::never_start)),
    new("exit-at-start", "exits at once", &["starts-in-time"], Start(lifecycle::exit_at_start)),
    new("exit-before-answer", "exits with 0 instead of answering", &["known-method"], Answer(lifecycle::exit_with_0)),
    new(
        "exit-on-second",
        "exits instead of the second answer",
        &["random-requests"],
        Answer(lifecycle::exit_on_second),
    ),
    new("crash", "crashes instead of answering", &["known-method"], Answer(lifecycle::crash)),
    new("exit-in-line", "exits in the middle of an answer", &["known-method"], Answer(lifecycle::exit_in_line)),
    new(
        "close-output",
        "closes stdout instead of answering, and keeps reading",
        &["known-method"],
        Answer(lifecycle::close_output),
    ),
    new("stop-reading", "stops reading instead of answering", &["known-method"], Answer(lifecycle::stop_reading)),
    new(
        "exit-if-input-ends",
        "drops requests if the input ends right behind them",
        &["end-of-input"],
        Line(input::lose_if_input_ends),
    ),
    new(
        "abandon-requests",
        "doesn't answer requests that are in flight when the input ends",
        &[],
        End(lifecycle::abandon_requests),
    ),
    new(
        "never-exits",
        "doesn't exit when the input has ended, until it gets a signal",
        &["exits-in-time"],
        Exit(lifecycle::never_exit),
    ),
    #[cfg(unix)]
    new(
        "never-exits-by-sigterm",
        "doesn't exit when the input has ended, until it is killed",
        &["exits-in-time"],
        Exit(lifecycle::ignore_sigterm),
    ),
    new("exit-code-1", "exits with 1 when the input has ended", &["exit-code"], Exit(lifecycle::exit_with_1)),
    #[cfg(unix)]
    new("leave-child", "leaves a child process behind", &["no-processes-left"], Exit(lifecycle::leave_child)),
    #[cfg(unix)]
    new(
        "leave-child-with-output",
        "leaves a child process behind that keeps stdout open",
        &["no-processes-left"],
        Exit(lifecycle::leave_child_with_output),
    ),
    // Its other streams
    #[cfg(unix)]
    new(
        "drop-if-unread",
        "drops answers while the client doesn't read",
        &["slow-reader"],
        Answer(output::drop_if_unread),
    ),
    new(
        "flood-stderr",
        "writes 8 KiB to stderr for each line, and waits until that is read",
        &["stderr-unread"],
        Line(lifecycle::flood_stderr),
    ),
    new("need-stderr", "exits if it can't write to stderr", &["stderr-closed"], Line(lifecycle::need_stderr)),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_sentences_are_fragments() {
        let names: BTreeSet<_> = ALL.iter().map(|misbehaviour| misbehaviour.name).collect();
        assert_eq!(names.len(), ALL.len());
        for Misbehaviour { name, does, .. } in ALL {
            assert!(name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')), "{name}");
            assert!(
                does.starts_with(|first: char| first.is_ascii_lowercase()) && !does.ends_with('.'),
                "{name}: {does}"
            );
        }
    }
}
