//! Envelopes with the key orders used in practice.

use crate::random::Random;

/// Half of the messages have the id at the start, as Python and Rust write it, the others at the end, as TypeScript
/// does.
pub(crate) fn request(method: &str, params: &str, random: &mut Random) -> String {
    request_with(&id(random), method, params, random)
}

pub(crate) fn request_with(id: &str, method: &str, params: &str, random: &mut Random) -> String {
    if random.chance(50) {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"{}}}"#, member(",", "params", params, ""))
    } else {
        format!(r#"{{"method":"{method}",{}"jsonrpc":"2.0","id":{id}}}"#, member("", "params", params, ","))
    }
}

pub(crate) fn notification(method: &str, params: &str, random: &mut Random) -> String {
    if random.chance(50) {
        format!(r#"{{"jsonrpc":"2.0","method":"{method}"{}}}"#, member(",", "params", params, ""))
    } else {
        format!(r#"{{"method":"{method}",{}"jsonrpc":"2.0"}}"#, member("", "params", params, ","))
    }
}

/// `kind` is `result` or `error`.
pub(crate) fn response(kind: &str, payload: &str, random: &mut Random) -> String {
    response_to(&id(random), kind, payload, random)
}

/// `kind` is `result` or `error`.
pub(crate) fn response_to(id: &str, kind: &str, payload: &str, random: &mut Random) -> String {
    if random.chance(50) {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"{kind}":{payload}}}"#)
    } else {
        format!(r#"{{"{kind}":{payload},"jsonrpc":"2.0","id":{id}}}"#)
    }
}

/// A tool result with one text, given unescaped.
pub(crate) fn text_result(text: &str, random: &mut Random) -> String {
    response("result", &format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, escaped(text)), random)
}

/// `text` as a JSON string literal.
pub(crate) fn escaped(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Mostly numbers, as most peers count their requests, and some random strings.
fn id(random: &mut Random) -> String {
    if random.chance(90) { random.below(10_000).to_string() } else { format!("\"{:016x}\"", random.bits()) }
}

/// A member with its separators, or nothing if `value` is empty.
fn member(before: &str, name: &str, value: &str, after: &str) -> String {
    if value.is_empty() { String::new() } else { format!("{before}\"{name}\":{value}{after}") }
}
