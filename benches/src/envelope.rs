//! Messages in the key orders that are met with.

use crate::random::Random;

/// Python and Rust write the id at the beginning, TypeScript at the end: one message in two is of either sort.
pub(crate) fn request(method: &str, params: &str, random: &mut Random) -> String {
    let id = id(random);
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
    let id = id(random);
    if random.chance(50) {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"{kind}":{payload}}}"#)
    } else {
        format!(r#"{{"{kind}":{payload},"jsonrpc":"2.0","id":{id}}}"#)
    }
}

/// A tool's result with one `text`, which is not escaped yet.
pub(crate) fn text_result(text: &str, random: &mut Random) -> String {
    response("result", &format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, escaped(text)), random)
}

/// `text` as a string literal of JSON.
pub(crate) fn escaped(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Most peers count; some make up a name.
fn id(random: &mut Random) -> String {
    if random.chance(90) { random.below(10_000).to_string() } else { format!("\"{:016x}\"", random.bits()) }
}

/// Nothing if `value` is empty.
fn member(before: &str, name: &str, value: &str, after: &str) -> String {
    if value.is_empty() { String::new() } else { format!("{before}\"{name}\":{value}{after}") }
}
