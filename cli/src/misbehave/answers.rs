//! Hooks that answer the wrong request, twice, never, or with something that is no proper response.

use std::thread;
use std::time::Duration;

use serde_json::Value;
use wireline::{Frame, Message, RawJson};

use super::lines::Line;
use super::server::{Answered, Incoming, Server};

/// How long a request waits for the client's answer to another one.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many characters of an id are kept.
const MAX_ID_LEN: usize = 20;

/// Sends the answer under another id, unless that is the same.
fn send_as(server: &mut Server, answer: &Answered<'_>, id: &str) {
    match id == answer.id {
        true => server.write_line(answer.line),
        false => server.deviate(answer.with_id(id) + "\n"),
    }
}

/// Sends another answer in place of this one.
fn send_instead(server: &mut Server, line: String) {
    server.deviate(line + "\n");
}

// Ids

pub(super) fn answer_wrong_id(server: &mut Server, answer: &Answered<'_>) {
    send_as(server, answer, "987654");
}

pub(super) fn answer_null_id(server: &mut Server, answer: &Answered<'_>) {
    send_as(server, answer, "null");
}

pub(super) fn answer_without_id(server: &mut Server, answer: &Answered<'_>) {
    send_instead(server, format!(r#"{{"jsonrpc":"2.0",{}}}"#, answer.body()));
}

pub(super) fn answer_other_type(server: &mut Server, answer: &Answered<'_>) {
    let id = match answer.id.strip_prefix('"') {
        Some(rest) => rest.trim_end_matches('"').parse::<i64>().map_or_else(|_| answer.id.clone(), |id| id.to_string()),
        None if answer.id == "null" => answer.id.clone(),
        None => format!("\"{}\"", answer.id),
    };
    send_as(server, answer, &id);
}

pub(super) fn answer_digits_as_number(server: &mut Server, answer: &Answered<'_>) {
    let digits = answer.id.trim_matches('"');
    let is_number = answer.id.starts_with('"') && digits.parse::<i64>().is_ok_and(|id| id.to_string() == digits);
    send_as(server, answer, if is_number { digits } else { &answer.id });
}

pub(super) fn answer_rounded_id(server: &mut Server, answer: &Answered<'_>) {
    /// Up to here, every integer is a floating-point number.
    const MAX_SAFE: u64 = (1 << 53) - 1;
    let id = match answer.id.parse::<i64>() {
        Ok(id) if id.unsigned_abs() > MAX_SAFE => format!("{}", id as f64),
        _ => answer.id.clone(),
    };
    send_as(server, answer, &id);
}

pub(super) fn answer_32_bit_id(server: &mut Server, answer: &Answered<'_>) {
    let id = answer.id.parse::<i64>().map_or_else(|_| answer.id.clone(), |id| (id as i32).to_string());
    send_as(server, answer, &id);
}

pub(super) fn answer_short_id(server: &mut Server, answer: &Answered<'_>) {
    let text = serde_json::from_str::<String>(&answer.id).unwrap_or_default();
    let id = match text.chars().count() > MAX_ID_LEN {
        true => Value::String(text.chars().take(MAX_ID_LEN).collect()).to_string(),
        false => answer.id.clone(),
    };
    send_as(server, answer, &id);
}

pub(super) fn answer_escaped_id(server: &mut Server, answer: &Answered<'_>) {
    let id = match answer.id.contains('\\') {
        true => answer.id.replace('\\', "\\\\"),
        false => answer.id.clone(),
    };
    send_as(server, answer, &id);
}

/// Sends no answer to requests whose id is like this.
fn drop_ids(server: &mut Server, answer: &Answered<'_>, is_dropped: impl Fn(&str) -> bool) {
    match is_dropped(&answer.id) {
        true => server.note_misbehaviour(),
        false => server.write_line(answer.line),
    }
}

pub(super) fn drop_falsy_ids(server: &mut Server, answer: &Answered<'_>) {
    drop_ids(server, answer, |id| matches!(id, "0" | "\"\""));
}

pub(super) fn drop_unusual_numbers(server: &mut Server, answer: &Answered<'_>) {
    drop_ids(server, answer, |id| id == "-0" || !id.starts_with('"') && id != "null" && id.contains(['.', 'e', 'E']));
}

pub(super) fn drop_long_ids(server: &mut Server, answer: &Answered<'_>) {
    drop_ids(server, answer, |id| id.chars().count() > MAX_ID_LEN + 2);
}

pub(super) fn drop_very_long_ids(server: &mut Server, answer: &Answered<'_>) {
    drop_ids(server, answer, |id| id.len() > 100);
}

// Members

pub(super) fn answer_both(server: &mut Server, answer: &Answered<'_>) {
    let other = match answer.body.0 {
        "result" => r#""error":{"code":-32603,"message":"Internal error"}"#,
        _ => r#""result":{}"#,
    };
    send_instead(server, answer.with_body(&format!("{},{other}", answer.body())));
}

pub(super) fn answer_with_null(server: &mut Server, answer: &Answered<'_>) {
    let other = if answer.body.0 == "result" { "error" } else { "result" };
    send_instead(server, answer.with_body(&format!(r#"{},"{other}":null"#, answer.body())));
}

pub(super) fn answer_neither(server: &mut Server, answer: &Answered<'_>) {
    send_instead(server, format!(r#"{{"jsonrpc":"2.0","id":{}}}"#, answer.id));
}

pub(super) fn answer_without_version(server: &mut Server, answer: &Answered<'_>) {
    send_instead(server, format!(r#"{{"id":{},{}}}"#, answer.id, answer.body()));
}

pub(super) fn answer_old_version(server: &mut Server, answer: &Answered<'_>) {
    send_instead(server, format!(r#"{{"jsonrpc":"1.0","id":{},{}}}"#, answer.id, answer.body()));
}

pub(super) fn answer_text_as_error(server: &mut Server, answer: &Answered<'_>) {
    send_instead(server, answer.with_body(r#""error":"something went wrong""#));
}

pub(super) fn answer_text_as_code(server: &mut Server, answer: &Answered<'_>) {
    send_instead(server, answer.with_body(r#""error":{"code":"-32603","message":"Internal error"}"#));
}

pub(super) fn answer_error(server: &mut Server, answer: &Answered<'_>) {
    send_instead(server, answer.with_body(r#""error":{"code":-32603,"message":"Internal error"}"#));
}

pub(super) fn answer_in_array(server: &mut Server, answer: &Answered<'_>) {
    send_instead(server, format!("[{}]", answer.line));
}

// How often

pub(super) fn answer_twice(server: &mut Server, answer: &Answered<'_>) {
    server.write_line(answer.line);
    send_instead(server, answer.line.to_owned());
}

pub(super) fn answer_pairs_twice(server: &mut Server, answer: &Answered<'_>) {
    match &answer.origin {
        Some(origin) if origin.lines_in_read == 2 => answer_twice(server, answer),
        _ => server.write_line(answer.line),
    }
}

pub(super) fn never_answer(server: &mut Server, _: &Answered<'_>) {
    server.note_misbehaviour();
}

pub(super) fn skip_every_tenth(server: &mut Server, answer: &Answered<'_>) {
    match server.memory.answers % 10 {
        0 => server.note_misbehaviour(),
        _ => server.write_line(answer.line),
    }
}

pub(super) fn skip_calls(server: &mut Server, answer: &Answered<'_>) {
    const CALLS: [&str; 3] = ["tools/call", "session/prompt", "add"];
    match &answer.origin {
        Some(origin) if CALLS.contains(&&*origin.method) => server.note_misbehaviour(),
        _ => server.write_line(answer.line),
    }
}

pub(super) fn skip_failing_handlers(server: &mut Server, answer: &Answered<'_>) {
    match answer.code == Some(-32602) && answer.body.1.contains("unknown tool") {
        true => server.note_misbehaviour(),
        false => server.write_line(answer.line),
    }
}

pub(super) fn answer_late(server: &mut Server, answer: &Answered<'_>) {
    server.note_misbehaviour();
    thread::sleep(Duration::from_secs(2));
    server.write_line(answer.line);
}

// Errors

/// Sends no errors with this code.
pub(super) fn skip_errors<const CODE: i64>(server: &mut Server, answer: &Answered<'_>) {
    match answer.code == Some(CODE) {
        true => server.note_misbehaviour(),
        false => server.write_line(answer.line),
    }
}

/// Sends errors with this code under another code.
pub(super) fn send_wrong_code<const CODE: i64>(server: &mut Server, answer: &Answered<'_>) {
    match answer.code == Some(CODE) {
        true => send_instead(server, answer.line.replacen(&format!("\"code\":{CODE}"), "\"code\":-1", 1)),
        false => server.write_line(answer.line),
    }
}

pub(super) fn forget_ids_of_bad_lines(server: &mut Server, answer: &Answered<'_>) {
    match answer.origin {
        None => send_as(server, answer, "null"),
        Some(_) => server.write_line(answer.line),
    }
}

/// Answers `ping`, and whatever else a client finds out with whether the server works, with an error.
pub(super) fn refuse_ping(server: &mut Server, answer: &Answered<'_>) {
    const PINGS: [&str; 2] = ["ping", "server/discover"];
    match &answer.origin {
        Some(origin) if PINGS.contains(&&*origin.method) => answer_error(server, answer),
        _ => server.write_line(answer.line),
    }
}

// What must not be answered

fn error_to(id: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32600,\"message\":\"Invalid request\"}}}}\n")
}

/// Answers the notifications that `is_meant` accepts, by their method.
fn answer_notifications(server: &mut Server, line: &Line<'_>, is_meant: impl Fn(&str) -> bool) -> Incoming {
    if let Ok(Frame::Message(Message::Notification(notification))) = Frame::parse(line.bytes, &server.rules)
        && is_meant(&notification.method())
    {
        server.deviate(error_to("null"));
    }
    Incoming::Pass
}

fn is_known(method: &str) -> bool {
    method.starts_with("notifications/") || method.starts_with("$/") || method.starts_with("session/")
}

pub(super) fn answer_all_notifications(server: &mut Server, line: &Line<'_>) -> Incoming {
    answer_notifications(server, line, |_| true)
}

pub(super) fn answer_unknown_notifications(server: &mut Server, line: &Line<'_>) -> Incoming {
    answer_notifications(server, line, |method| !is_known(method))
}

pub(super) fn answer_responses(server: &mut Server, line: &Line<'_>) -> Incoming {
    if let Ok(message) = RawJson::parse(line.bytes)
        && message.pointer("/method").is_none()
        && (message.pointer("/result").is_some() || message.pointer("/error").is_some())
    {
        let id = message.pointer("/id");
        server.deviate(error_to(id.as_ref().map_or("null", RawJson::as_json)));
    }
    Incoming::Pass
}

/// The id of the request that a line cancels.
fn cancelled_id(line: &Line<'_>) -> Option<String> {
    let message = RawJson::parse(line.bytes).ok()?;
    let method = message.pointer("/method")?;
    let method = method.as_str()?;
    let pointer = match &*method {
        "notifications/cancelled" | "$/cancel_request" => "/params/requestId",
        "$/cancelRequest" => "/params/id",
        _ => return None,
    };
    Some(message.pointer(pointer)?.as_json().to_owned())
}

pub(super) fn answer_cancelled(server: &mut Server, line: &Line<'_>) -> Incoming {
    if let Some(id) = cancelled_id(line) {
        server.deviate(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n"));
    }
    Incoming::Pass
}

pub(super) fn crash_on_cancellation(server: &mut Server, line: &Line<'_>) -> Incoming {
    if cancelled_id(line).is_some() {
        server.crash();
    }
    Incoming::Pass
}

// Requests and responses that nobody asked for

pub(super) fn send_stray_response(server: &mut Server, answer: &Answered<'_>) {
    server.deviate("{\"jsonrpc\":\"2.0\",\"id\":\"nobody asked\",\"result\":{}}\n");
    server.write_line(answer.line);
}

pub(super) fn send_error_without_id(server: &mut Server, answer: &Answered<'_>) {
    server.deviate("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}\n");
    server.write_line(answer.line);
}

pub(super) fn send_error_with_null_id(server: &mut Server, answer: &Answered<'_>) {
    server.deviate(error_to("null"));
    server.write_line(answer.line);
}

pub(super) fn ask_first(server: &mut Server, answer: &Answered<'_>) {
    server.ask();
    server.hold(answer.line, PATIENCE);
}

pub(super) fn ask_unknown(server: &mut Server, answer: &Answered<'_>) {
    server.ask_for("wireline/unknown", "{}");
    server.hold(answer.line, PATIENCE);
}
