//! Hooks that put bytes on stdout which are no message, or write messages in unusual ways.

use std::thread;
use std::time::Duration;

use super::server::{Answered, Server};

const BANNER: &[u8] = b"Server started, waiting for requests\n";
const LOG_LINE: &[u8] = b"2026-01-01T12:00:00.000Z INFO request handled\n";
const TERMINAL_ESCAPES: &[u8] = b"\x1b[2K\x1b[1G";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How long a line is left unfinished.
const PAUSE: Duration = Duration::from_millis(300);

/// How long answers are held back, so that others can overtake them.
const HOLD: Duration = Duration::from_millis(50);

/// How many notifications are a flood.
const FLOOD: usize = 2000;

pub(super) fn print_banner(server: &mut Server) {
    server.deviate(BANNER);
}

pub(super) fn print_goodbye(server: &mut Server) {
    server.deviate("Goodbye\n");
}

pub(super) fn print_unterminated(server: &mut Server) {
    server.deviate(server.service.notification);
}

pub(super) fn print_debug_output(server: &mut Server, answer: &Answered<'_>) {
    server.deviate("handling request: { ok: true }\n");
    server.write_line(answer.line);
}

pub(super) fn print_log_line(server: &mut Server, answer: &Answered<'_>) {
    server.write_line(answer.line);
    server.deviate(LOG_LINE);
}

pub(super) fn print_progress(server: &mut Server, answer: &Answered<'_>) {
    server.deviate("working... ");
    server.write_line(answer.line);
}

pub(super) fn print_every_37th(server: &mut Server, answer: &Answered<'_>) {
    if server.memory.answers.is_multiple_of(37) {
        server.deviate(LOG_LINE);
    }
    server.write_line(answer.line);
}

pub(super) fn print_escapes(server: &mut Server, answer: &Answered<'_>) {
    server.deviate(TERMINAL_ESCAPES);
    server.write_line(answer.line);
}

pub(super) fn print_byte_order_mark(server: &mut Server) {
    server.deviate(BYTE_ORDER_MARK);
}

pub(super) fn print_byte_order_marks(server: &mut Server, answer: &Answered<'_>) {
    server.deviate(BYTE_ORDER_MARK);
    server.write_line(answer.line);
}

pub(super) fn end_with_crlf(server: &mut Server, answer: &Answered<'_>) {
    server.deviate(format!("{}\r\n", answer.line));
}

pub(super) fn print_blank_lines(server: &mut Server, answer: &Answered<'_>) {
    server.deviate("\n  \n");
    server.write_line(answer.line);
}

pub(super) fn print_over_lines(server: &mut Server, answer: &Answered<'_>) {
    let mut text = String::new();
    crate::json::pretty(answer.line, |depth, line| {
        text.push_str(&"  ".repeat(depth));
        text.push_str(line);
        text.push('\n');
        true
    });
    server.deviate(text);
}

pub(super) fn join_lines(server: &mut Server, answer: &Answered<'_>) {
    server.deviate(format!("{}{}\n", answer.line, server.service.notification));
}

pub(super) fn forget_line_feed(server: &mut Server, answer: &Answered<'_>) {
    match server.memory.answers {
        2 => server.deviate(answer.line),
        _ => server.write_line(answer.line),
    }
}

pub(super) fn pause_within_line(server: &mut Server, answer: &Answered<'_>) {
    let (start, rest) = answer.line.as_bytes().split_at(answer.line.len() / 2);
    server.deviate(start);
    thread::sleep(PAUSE);
    server.write(&[rest, b"\n"].concat());
}

pub(super) fn write_single_bytes(server: &mut Server, answer: &Answered<'_>) {
    server.note_misbehaviour();
    for byte in answer.line.bytes().chain([b'\n']) {
        server.write(&[byte]);
    }
}

/// Sends the answer with this text, escaped or not, in its result or error.
fn send_with_text(server: &mut Server, answer: &Answered<'_>, text: &str) {
    match answer.with_text(text) {
        Some(line) => server.deviate(format!("{line}\n")),
        None => server.write_line(answer.line),
    }
}

pub(super) fn send_lone_surrogate(server: &mut Server, answer: &Answered<'_>) {
    send_with_text(server, answer, r"\ud800");
}

pub(super) fn send_line_separator(server: &mut Server, answer: &Answered<'_>) {
    send_with_text(server, answer, "\u{2028}\u{2029}\u{85}");
}

pub(super) fn send_line_break(server: &mut Server, answer: &Answered<'_>) {
    send_with_text(server, answer, "first\nsecond");
}

pub(super) fn send_control_characters(server: &mut Server, answer: &Answered<'_>) {
    send_with_text(server, answer, "\u{1b}[31mred\u{7}\u{0}");
}

pub(super) fn send_invalid_utf8(server: &mut Server, answer: &Answered<'_>) {
    const PLACE: &str = "\u{fffd}";
    match answer.with_text(PLACE).as_ref().and_then(|line| line.split_once(PLACE)) {
        Some((before, after)) => {
            server.deviate([before.as_bytes(), b"\xff\xfe\xc3", after.as_bytes(), b"\n"].concat());
        }
        None => server.write_line(answer.line),
    }
}

pub(super) fn send_long_line(server: &mut Server, answer: &Answered<'_>) {
    send_with_text(server, answer, &"x".repeat(8 << 20));
}

pub(super) fn send_deep_nesting(server: &mut Server, answer: &Answered<'_>) {
    const DEPTH: usize = 100_000;
    let body = format!(r#""{}":{{"note":{}{}}}"#, answer.body.0, "[".repeat(DEPTH), "]".repeat(DEPTH));
    server.deviate(answer.with_body(&body) + "\n");
}

pub(super) fn repeat_input(server: &mut Server, line: &super::lines::Line<'_>) -> super::server::Incoming {
    server.deviate([line.bytes, b"\n"].concat());
    super::server::Incoming::Pass
}

pub(super) fn flood(server: &mut Server, answer: &Answered<'_>) {
    server.deviate(format!("{}\n", server.service.notification).repeat(FLOOD));
    server.write_line(answer.line);
}

pub(super) fn send_unknown_notification(server: &mut Server, answer: &Answered<'_>) {
    server.deviate(concat!(r#"{"jsonrpc":"2.0","method":"wireline/unknown","params":{"x":[null]}}"#, "\n"));
    server.write_line(answer.line);
}

pub(super) fn answer_out_of_order(server: &mut Server, answer: &Answered<'_>) {
    server.hold(answer.line, HOLD);
}

/// Whether the client keeps up is only known on Unix.
#[cfg(unix)]
pub(super) fn drop_if_unread(server: &mut Server, answer: &Answered<'_>) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let has_room = server.stdout().is_some_and(|stdout| {
        poll(&mut [PollFd::new(stdout, PollFlags::OUT)], Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    });
    match has_room {
        true => server.write_line(answer.line),
        false => server.note_misbehaviour(),
    }
}
