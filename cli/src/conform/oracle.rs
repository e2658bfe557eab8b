//! What the specifications permit as an answer to a line: a naive judge, which knows nothing of any implementation.
//!
//! Where a specification leaves freedom, everything that it permits is expected.

use super::message::{IdKey, Members, Text, string};
use super::profile::{Era, Profile, UNKNOWN};
use super::script::{Policy, Strictness};
use crate::rules_args::Dialect;

/// The answer to a line, or to an entry of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expectation {
    /// The id that a response has. Several, if it isn't clear which one counts; none, if it can't be read.
    pub(super) ids: Vec<IdKey>,
    /// Whether an error with id null or without an id may come instead.
    pub(super) may_lack_id: bool,
    pub(super) count: Count,
    pub(super) content: Content,
}

/// How many responses there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    None,
    AtMostOne,
    One,
}

/// What a response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Anything,
    Result,
    Error,
    /// Anything that doesn't say that the line isn't JSON.
    NotParseError,
    /// An error with one of these codes.
    Codes(&'static [i64]),
}

/// The answers to a line.
pub(super) struct Expected {
    pub(super) entries: Vec<Expectation>,
    /// Whether the line is an array, so that an array may come.
    pub(super) is_batch: bool,
    /// The request that the line cancels.
    pub(super) cancels: Option<IdKey>,
}

/// A request that is so long that a server may give up before it has seen the id.
const LONG: usize = 1 << 20;

/// A request that is so short that no server has a reason to give up while it parses it.
const SHORT: usize = 4096;

/// How many arrays in each other are so deep that a server may drop the line.
const DEEP: usize = 64;

/// A line that is so long that a server may drop it.
const TOO_LONG: usize = (16 << 20) + 1;

pub(super) fn expect(line: &[u8], profile: &Profile, policy: &Policy) -> Expected {
    let mut expected = Expected { entries: Vec::new(), is_batch: false, cancels: None };
    if line.trim_ascii().is_empty() {
        expected.entries.push(Expectation::unreadable(Vec::new()));
        return expected;
    }
    match Text::parse(line) {
        Text::NotJson => {
            // Rules that are stricter than a server's parser: NaN is JSON for some.
            let ids = apparent_ids(line);
            let mut entry = Expectation::unreadable(ids);
            if policy.not_json_code {
                entry.content = Content::Codes(&[-32700]);
                if profile.dialect != Dialect::Mcp {
                    entry.count = Count::One;
                }
            }
            expected.entries.push(entry);
        }
        Text::Other => expected.entries.push(Expectation::unreadable(Vec::new())),
        Text::Array(entries) => {
            expected.is_batch = true;
            expected.entries = batch(line, &entries, profile, policy);
        }
        Text::Object(members) => {
            expected.cancels = cancelled(&members, profile);
            let mut entry = object(&members, profile, policy);
            if line.len() > LONG {
                entry.may_lack_id = true;
            }
            if memchr::memmem::find(line, &[b'['; DEEP]).is_some() && entry.count == Count::One {
                entry.may_lack_id = true;
                entry.count = Count::AtMostOne;
            }
            let is_plain = entry.count == Count::One && !entry.may_lack_id;
            if is_plain && entry.content == Content::Anything && line.len() <= SHORT {
                entry.content = Content::NotParseError;
            }
            if line.len() > TOO_LONG && entry.count == Count::One {
                entry.count = Count::AtMostOne;
            }
            expected.entries.push(entry);
        }
    }
    expected
}

impl Expectation {
    fn one(id: IdKey) -> Self {
        Self { ids: vec![id], may_lack_id: false, count: Count::One, content: Content::Anything }
    }

    /// For what must not be answered.
    fn none() -> Self {
        Self { ids: Vec::new(), may_lack_id: false, count: Count::None, content: Content::Anything }
    }

    /// For what may be refused, served or ignored.
    fn unreadable(ids: Vec<IdKey>) -> Self {
        Self { ids, may_lack_id: true, count: Count::AtMostOne, content: Content::Anything }
    }
}

/// The answers to a batch, in which each entry is judged on its own.
fn batch(
    line: &[u8],
    entries: &[&serde_json::value::RawValue],
    profile: &Profile,
    policy: &Policy,
) -> Vec<Expectation> {
    let mut expectations: Vec<Expectation> = entries
        .iter()
        .map(|entry| match Text::parse(entry.get().as_bytes()) {
            Text::Object(members) => object(&members, profile, policy),
            _ => invalid_entry(profile, policy),
        })
        .collect();
    if entries.is_empty() {
        expectations.push(invalid_entry(profile, policy));
    }
    if !profile.has_batches {
        for entry in &mut expectations {
            *entry = Expectation::unreadable(std::mem::take(&mut entry.ids));
        }
        // One error for the whole line.
        if expectations.is_empty() || line.len() < 2 {
            expectations.push(Expectation::unreadable(Vec::new()));
        }
    }
    expectations
}

/// An empty batch, or an entry that is no object.
fn invalid_entry(profile: &Profile, policy: &Policy) -> Expectation {
    let mut entry = Expectation::unreadable(Vec::new());
    entry.content = Content::Error;
    if policy.empty_batch && profile.has_batches {
        entry.content = Content::Codes(&[-32600]);
        entry.count = Count::One;
    }
    entry
}

fn object(members: &Members<'_>, profile: &Profile, policy: &Policy) -> Expectation {
    let ids: Vec<IdKey> = members.all("id").filter_map(IdKey::parse).collect();
    if members.has_duplicate() {
        return Expectation::unreadable(ids);
    }
    let [version, id, method, params, result, error] =
        ["jsonrpc", "id", "method", "params", "result", "error"].map(|name| members.get(name));
    let is_version_valid = version.and_then(string).as_deref() == Some("2.0");
    let Some(method) = method else {
        // What is clearly a response gets no answer. For the rest, a server may see an invalid request in it.
        let is_response = is_version_valid && result.is_some() != error.is_some() && params.is_none();
        return if is_response { Expectation::none() } else { Expectation::unreadable(ids) };
    };
    if result.is_some() || error.is_some() {
        return Expectation::unreadable(ids);
    }
    let method = string(method);
    let kind = params.map_or(b'{', |params| params.as_bytes()[0]);
    let are_params_valid = kind == b'{' || kind == b'[' && profile.dialect != Dialect::Mcp;
    let is_valid = is_version_valid && method.is_some() && are_params_valid;
    if id.is_none() {
        return if is_valid { Expectation::none() } else { Expectation::unreadable(Vec::new()) };
    }
    let Some(key) = ids.into_iter().next() else { return Expectation::unreadable(Vec::new()) };
    // A null id is a request's in JSON-RPC, but many take it for a notification's.
    let is_integer = matches!(key, IdKey::Number(_, _, 0..));
    let is_id_clear = match (&key, profile.dialect) {
        (IdKey::Null, _) => false,
        (IdKey::Text(_), _) | (IdKey::Number(..), Dialect::JsonRpc) => true,
        (IdKey::Number(..), Dialect::Mcp | Dialect::Acp) => is_integer,
    };
    if !is_id_clear {
        return Expectation::unreadable(vec![key]);
    }
    let is_plain = key.is_ordinary() && !id.is_some_and(|id| id.contains(['.', 'e', 'E']) && !id.starts_with('"'));
    let is_long = matches!(&key, IdKey::Text(text) if text.len() >= 1000);
    let mut entry = Expectation { may_lack_id: !is_plain || is_long, ..Expectation::one(key) };
    match method {
        Some(method) if is_valid => entry.content = content(&method, params, profile, policy),
        _ => {
            entry.may_lack_id = true;
            // `params: null` is as good as no params for many.
            let is_tolerable = is_version_valid && method.is_some() && kind == b'n';
            if policy.invalid_request_code && !is_tolerable {
                entry.may_lack_id = false;
                entry.content = Content::Codes(&[-32600, -32602]);
            }
        }
    }
    entry
}

/// What the response to a valid request says.
fn content(method: &str, params: Option<&str>, profile: &Profile, policy: &Policy) -> Content {
    if method == profile.probe.method && policy.probe_succeeds && profile.probe_is_known {
        return Content::Result;
    }
    if method.trim_start_matches('_').starts_with(UNKNOWN) {
        return match policy.unknown_method {
            Strictness::Any => Content::Anything,
            Strictness::Error => Content::Error,
            Strictness::Code => Content::Codes(&[-32601]),
        };
    }
    if policy.invalid_params_code && profile.dialect == Dialect::Mcp {
        let has = |names: &[&str]| {
            let params = params.unwrap_or("{}");
            names.iter().try_fold(params, |value, name| match Text::parse(value.as_bytes()) {
                Text::Object(members) => members.get(name),
                _ => None,
            })
        };
        let lacks_meta = matches!(profile.era, Era::Stateless)
            && has(&["_meta", "io.modelcontextprotocol/protocolVersion"]).is_none();
        if lacks_meta || method == "tools/call" && has(&["name"]).is_none() {
            return Content::Codes(&[-32602, -32600]);
        }
    }
    Content::Anything
}

/// The request that a valid cancellation names, if a cancelled request needs no answer.
fn cancelled(members: &Members<'_>, profile: &Profile) -> Option<IdKey> {
    let method = members.get("method").and_then(string)?;
    if profile.dialect != Dialect::Mcp || method != "notifications/cancelled" || members.get("id").is_some() {
        return None;
    }
    match Text::parse(members.get("params")?.as_bytes()) {
        Text::Object(params) => IdKey::parse(params.get("requestId")?),
        _ => None,
    }
}

/// Everything that may be the id of a line that isn't JSON.
fn apparent_ids(line: &[u8]) -> Vec<IdKey> {
    const NAMES: [&[u8]; 2] = [b"\"id\"", b"'id'"];
    let mut ids = Vec::new();
    for name in NAMES {
        for at in memchr::memmem::find_iter(line, name) {
            let rest = line[at + name.len()..].trim_ascii_start();
            let Some(rest) = rest.strip_prefix(b":") else { continue };
            let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Box<serde_json::value::RawValue>>();
            if let Some(Ok(value)) = values.next() {
                ids.extend(IdKey::parse(value.get()));
            } else if let Some(text) = lossy_string(rest) {
                ids.push(IdKey::Text(text));
            }
        }
    }
    ids
}

/// A string with bytes that aren't UTF-8, which some replace.
fn lossy_string(json: &[u8]) -> Option<String> {
    let end = memchr::memchr(b'"', json.strip_prefix(b"\"")?)?;
    Some(String::from_utf8_lossy(&json[1..=end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The only answer that is expected to a line, in short.
    fn short(line: &str, dialect: Dialect) -> String {
        let profile = Profile::plain(dialect);
        let expected = expect(line.as_bytes(), &profile, &Policy::default());
        let entries = expected.entries.iter().map(|entry| {
            let count = match entry.count {
                Count::None => "none",
                Count::AtMostOne => "maybe",
                Count::One => "one",
            };
            let ids: Vec<String> = entry.ids.iter().map(ToString::to_string).collect();
            format!("{count} {}{}", ids.join("|"), if entry.may_lack_id { "?" } else { "" })
        });
        entries.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn everything_that_is_permitted_is_expected() {
        use Dialect::{Acp, JsonRpc, Mcp};
        for (line, dialect, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, Mcp, "one 1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#, JsonRpc, "one 1"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#, Mcp, "one 1?"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#, Mcp, "one 1?"),
            (r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}"#, Mcp, "one 9007199254740993?"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, JsonRpc, "one 15e-1?"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, Mcp, "maybe 15e-1?"),
            (r#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#, Acp, "one 1?"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, JsonRpc, "maybe null?"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, JsonRpc, "maybe ?"),
            (r#"{"jsonrpc":"2.0","method":"m"}"#, JsonRpc, "none "),
            (r#"{"jsonrpc":"2.0","method":1}"#, JsonRpc, "maybe ?"),
            (r#"{"id":1,"method":"m"}"#, JsonRpc, "one 1?"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, Mcp, "maybe 1|2?"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Mcp, "none "),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#, JsonRpc, "none "),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, Mcp, "maybe 1?"),
            (r#"{"jsonrpc":"2.0","id":1}"#, Mcp, "maybe 1?"),
            ("", Mcp, "maybe ?"),
            ("1", Mcp, "maybe ?"),
            (r#"{"jsonrpc":"2.0","id":"a","method":NaN}"#, Mcp, "maybe \"a\"?"),
            (r#"{"jsonrpc":"2.0","id" : 7,"#, Mcp, "maybe 7?"),
            ("[]", JsonRpc, "maybe ?"),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"m"},1]"#, JsonRpc, "one 1, maybe ?"),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, Mcp, "maybe 1?"),
        ] {
            assert_eq!(short(line, dialect), expected, "{line}");
        }
    }

    #[test]
    fn cancelled_requests_of_mcp() {
        let line = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#;
        for (dialect, id) in [(Dialect::Mcp, Some(IdKey::Text("a".to_owned()))), (Dialect::JsonRpc, None)] {
            assert_eq!(expect(line, &Profile::plain(dialect), &Policy::default()).cancels, id);
        }
    }
}
