//! What messages mean in the protocols on top of JSON-RPC: what a call is about, whether it failed, what it cancels.
//!
//! Each protocol is a table of methods and of JSON pointers into their params and results. Everything else of the tool
//! asks [`Protocols`], and knows no protocol by name.

mod acp;
mod lsp;
mod mcp;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::de::IgnoredAny;
use wireline::{Id, RawJson};

/// The tables that apply to a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protocols(&'static [&'static Protocol]);

/// The table of one protocol. Every method is with the JSON pointer that leads to the value in question.
#[derive(Debug)]
struct Protocol {
    /// As people call it.
    name: &'static str,
    /// What a call is about, in its params: the first pointer that leads to a string or a number.
    subjects: &'static [(&'static str, &'static [&'static str])],
    /// How a result says that its call has failed.
    failure: Option<FailureMark>,
    /// What a call is made with, apart from what it is about: a pointer into its params.
    arguments: &'static [(&'static str, &'static str)],
    /// The names of error codes, beyond those of JSON-RPC.
    errors: &'static [(i64, &'static str)],
    /// The id of the request that a notification cancels, in its params.
    cancellations: &'static [(&'static str, &'static str)],
    /// Whether a cancelled request still gets a response.
    answers_cancelled: bool,
    progress: Option<ProgressPointers>,
    handshake: Option<Handshake>,
    introduction: Option<Introduction>,
}

/// How a result says that its call has failed.
#[derive(Debug)]
struct FailureMark {
    /// A boolean in the result.
    pointer: &'static str,
    /// The methods whose results have it.
    methods: &'static [&'static str],
    /// An array with what the result says, and the text of one of its elements.
    content: &'static str,
    text: &'static str,
}

/// The names of the error codes of JSON-RPC.
const ERRORS: [(i64, &str); 5] = [
    (-32700, "parse error"),
    (-32600, "invalid request"),
    (-32601, "method not found"),
    (-32602, "invalid params"),
    (-32603, "internal error"),
];

/// How many elements of a result are searched for its first text.
const MAX_CONTENT: usize = 16;

/// How a call is joined with notifications about its progress.
#[derive(Debug)]
struct ProgressPointers {
    /// In the params of the call.
    requested: &'static str,
    method: &'static str,
    /// In the params of the notification.
    token: &'static str,
    done: &'static str,
    total: &'static str,
    message: &'static str,
}

/// How both sides agree on what they speak.
#[derive(Debug)]
struct Handshake {
    method: &'static str,
    version: &'static str,
    /// Whether the version is a string or a number, which tells protocols apart.
    is_version_string: bool,
    /// The client's capabilities, and an object with its name and version.
    offer: (&'static str, &'static str),
    /// The same of the server, in the result.
    answer: (&'static str, &'static str),
}

/// How both sides say what they are without a handshake.
#[derive(Debug)]
struct Introduction {
    /// What every such member's name starts with, apart from the slash, which some peers escape.
    prefix: &'static str,
    /// In the params of each request.
    version: &'static str,
    /// The client's capabilities, and an object with its name and version, in the params of each request.
    offer: (&'static str, &'static str),
    /// An object with the server's name and version, in any result.
    server: &'static str,
    /// The method that asks the server for the rest, with its versions and its capabilities in the result.
    discovery: (&'static str, &'static str, &'static str),
}

/// A notification about the progress of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Progress {
    /// The call's token, which is like an id.
    pub(crate) token: Id<'static>,
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    /// Unescaped.
    pub(crate) message: Option<String>,
}

/// What one side says of itself when a session starts. All texts are unescaped and bounded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hello {
    /// The name of the protocol: `MCP`.
    pub(crate) protocol: &'static str,
    pub(crate) version: String,
    /// The name and the version of the program: `everything 1.0.0`. Empty if it does not say.
    pub(crate) program: String,
    /// The names of the capabilities, sorted: `prompts`, `tools`. `None` if it does not say.
    pub(crate) capabilities: Option<Vec<String>>,
}

/// The longest text that is kept of a handshake, in characters, and the most capabilities.
const MAX_TEXT_LEN: usize = 100;
const MAX_CAPABILITIES: usize = 32;

impl ProgressPointers {
    /// The name of the member that asks for progress.
    fn name(&self) -> &'static str {
        last_name(self.requested)
    }
}

impl FailureMark {
    fn name(&self) -> &'static str {
        last_name(self.pointer)
    }

    fn is_in(&self, result: &RawJson<'_>) -> bool {
        mentions(result, self.name()) && result.pointer(self.pointer).is_some_and(|value| value.as_json() == "true")
    }
}

impl Protocols {
    /// Whatever the messages look like.
    pub(crate) const ANY: Self = Self(&[&mcp::MCP, &acp::ACP, &lsp::LSP]);
    pub(crate) const NONE: Self = Self(&[]);
    pub(crate) const MCP: Self = Self(&[&mcp::MCP]);
    pub(crate) const ACP: Self = Self(&[&acp::ACP]);

    /// What a call is about, unescaped: `echo` for `tools/call` with that name.
    pub(crate) fn subject(self, method: &str, params: Option<&RawJson<'_>>) -> Option<String> {
        let pointers = self.find(|protocol| protocol.subjects, method)?;
        let params = params?;
        pointers.iter().find_map(|pointer| scalar(params, pointer))
    }

    /// Whether a call of `method` can fail although it is answered with a result.
    pub(crate) fn can_fail(self, method: &str) -> bool {
        self.marks().any(|mark| mark.methods.contains(&method))
    }

    /// Whether a result says that its call has failed, if the call [can](Self::can_fail).
    pub(crate) fn says_failed(self, result: &RawJson<'_>) -> bool {
        self.marks().any(|mark| mark.is_in(result))
    }

    /// The name of the member by which a result says that its call has failed, and the first text in the result.
    pub(crate) fn failure(self, result: &RawJson<'_>) -> Option<(&'static str, Option<String>)> {
        let mark = self.marks().find(|mark| mark.is_in(result))?;
        let elements = (0..MAX_CONTENT).map_while(|at| result.pointer(&format!("{}/{at}", mark.content)));
        let text = elements.into_iter().find_map(|element| Some(element.pointer(mark.text)?.as_str()?.into_owned()));
        Some((mark.name(), text))
    }

    /// What an error code means.
    pub(crate) fn error_name(self, code: i64) -> Option<&'static str> {
        let all = ERRORS.iter().chain(self.0.iter().flat_map(|protocol| protocol.errors));
        all.into_iter().find(|(one, _)| *one == code).map(|(_, name)| *name)
    }

    /// What a call is made with, apart from what it is about.
    pub(crate) fn arguments<'a>(self, method: &str, params: &RawJson<'a>) -> Option<RawJson<'a>> {
        params.pointer(self.find(|protocol| protocol.arguments, method)?)
    }

    fn marks(self) -> impl Iterator<Item = &'static FailureMark> {
        self.0.iter().filter_map(|protocol| protocol.failure.as_ref())
    }

    /// Whether the result of a call of `method` says that the call has failed.
    #[allow(dead_code, reason = "for commands that look at single messages")]
    pub(crate) fn is_failure(self, method: &str, result: &RawJson<'_>) -> bool {
        self.can_fail(method) && self.says_failed(result)
    }

    /// The id of the request that a notification cancels.
    pub(crate) fn cancelled_id(self, method: &str, params: Option<&RawJson<'_>>) -> Option<Id<'static>> {
        let pointer = self.find(|protocol| protocol.cancellations, method)?;
        id(params?, pointer)
    }

    /// Whether a request that a notification cancels still gets a response.
    pub(crate) fn answers_cancelled(self, method: &str) -> bool {
        let has_method = |protocol: &&&Protocol| protocol.cancellations.iter().any(|(name, _)| *name == method);
        self.0.iter().find(has_method).is_some_and(|protocol| protocol.answers_cancelled)
    }

    /// The token that notifications about the progress of a request will have.
    pub(crate) fn progress_token(self, params: Option<&RawJson<'_>>) -> Option<Id<'static>> {
        let params = params?;
        self.0.iter().find_map(|protocol| {
            let pointers = protocol.progress.as_ref()?;
            if mentions(params, pointers.name()) { id(params, pointers.requested) } else { None }
        })
    }

    /// The progress that a notification is about.
    pub(crate) fn progress(self, method: &str, params: Option<&RawJson<'_>>) -> Option<Progress> {
        let pointers = self.0.iter().filter_map(|protocol| protocol.progress.as_ref());
        let pointers = pointers.into_iter().find(|pointers| pointers.method == method)?;
        let params = params?;
        let number = |pointer| params.pointer(pointer)?.as_json().parse().ok();
        Some(Progress {
            token: id(params, pointers.token)?,
            done: number(pointers.done).unwrap_or(0.0),
            total: number(pointers.total),
            message: params.pointer(pointers.message).and_then(|text| Some(text.as_str()?.into_owned())),
        })
    }

    /// The member of its params in which a notification about progress has the token of the call.
    pub(crate) fn progress_token_name(self, method: &str) -> Option<&'static str> {
        let mut pointers = self.0.iter().filter_map(|protocol| protocol.progress.as_ref());
        pointers.find(|pointers| pointers.method == method)?.token.strip_prefix('/')
    }

    /// Whether both sides introduce themselves in a call of `method` and its answer.
    pub(crate) fn is_handshake(self, method: &str) -> bool {
        self.handshakes(method).next().is_some()
    }

    /// What the client says of itself in the params of a request.
    pub(crate) fn offer(self, method: &str, params: Option<&RawJson<'_>>) -> Option<Hello> {
        let params = params?;
        self.handshakes(method).find_map(|(name, handshake)| handshake.read(name, params, handshake.offer))
    }

    /// What the server says of itself in the result of that request.
    pub(crate) fn answer(self, method: &str, result: &RawJson<'_>) -> Option<Hello> {
        self.handshakes(method).find_map(|(name, handshake)| handshake.read(name, result, handshake.answer))
    }

    /// What the client says of itself in the params of a request without a handshake, unless that has this version.
    pub(crate) fn introduction(self, params: Option<&RawJson<'_>>, known: Option<&str>) -> Option<Hello> {
        let params = params?;
        self.introductions().find_map(|(name, introduction)| {
            let params = Some(params).filter(|params| mentions(params, introduction.prefix))?;
            let version = scalar(params, introduction.version).filter(|version| Some(&**version) != known)?;
            let (capabilities, program) = introduction.offer;
            let capabilities = params.pointer(capabilities).map(|object| names(&object));
            Some(Hello {
                protocol: name,
                version: bounded(&version),
                program: described(params, program),
                capabilities,
            })
        })
    }

    /// What the server says of itself in the result of a call, whose version was the client's choice.
    pub(crate) fn reply_to_introduction(
        self,
        method: &str,
        result: &RawJson<'_>,
        client: Option<&Hello>,
        is_known: bool,
    ) -> Option<Hello> {
        self.introductions().find_map(|(protocol, introduction)| {
            let (discovery, versions, capabilities) = introduction.discovery;
            let client = client.filter(|hello| hello.protocol == protocol)?;
            let capabilities = match method == discovery {
                true => result.pointer(capabilities).map(|object| names(&object)),
                false if is_known => return None,
                false => None,
            };
            if capabilities.is_none() && !mentions(result, introduction.prefix) {
                return None;
            }
            let supported: Vec<String> =
                result.pointer(versions).and_then(|it| it.deserialize().ok()).unwrap_or_default();
            let is_supported = supported.is_empty() || supported.contains(&client.version);
            let version = if is_supported { client.version.clone() } else { bounded(&supported[0]) };
            Some(Hello { protocol, version, program: described(result, introduction.server), capabilities })
        })
    }

    /// The names of the protocols.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|protocol| protocol.name)
    }

    fn introductions(self) -> impl Iterator<Item = (&'static str, &'static Introduction)> {
        self.0.iter().filter_map(|protocol| Some((protocol.name, protocol.introduction.as_ref()?)))
    }

    fn handshakes(self, method: &str) -> impl Iterator<Item = (&'static str, &'static Handshake)> {
        let handshakes = self.0.iter().filter_map(|protocol| Some((protocol.name, protocol.handshake.as_ref()?)));
        handshakes.filter(move |(_, handshake)| handshake.method == method)
    }

    /// What the first table with this method says about it.
    fn find<T: Copy>(self, table: fn(&Protocol) -> &'static [(&'static str, T)], method: &str) -> Option<T> {
        let rows = self.0.iter().flat_map(|protocol| table(protocol));
        rows.into_iter().find(|(name, _)| *name == method).map(|(_, value)| *value)
    }
}

impl Handshake {
    fn read(&self, protocol: &'static str, message: &RawJson<'_>, pointers: (&str, &str)) -> Option<Hello> {
        let (capabilities, program) = pointers;
        let version = message.pointer(self.version)?;
        if version.as_json().starts_with('"') != self.is_version_string {
            return None;
        }
        let version = scalar(message, self.version)?;
        let capabilities = Some(message.pointer(capabilities).map_or_else(Vec::new, |object| names(&object)));
        Some(Hello { protocol, version: bounded(&version), program: described(message, program), capabilities })
    }
}

/// The name and the version of a program.
fn described(message: &RawJson<'_>, program: &str) -> String {
    let words = ["name", "version"].iter().filter_map(|name| scalar(message, &format!("{program}/{name}")));
    let words: Vec<String> = words.map(|word| bounded(&word)).collect();
    words.join(" ")
}

/// The names of capabilities.
fn names(object: &RawJson<'_>) -> Vec<String> {
    // Whatever is not an object has none.
    let members: BTreeMap<String, IgnoredAny> = serde_json::from_str(object.as_json()).unwrap_or_default();
    members.keys().take(MAX_CAPABILITIES).map(|name| bounded(name)).collect()
}

/// The string or the number that a pointer leads to.
fn scalar(json: &RawJson<'_>, pointer: &str) -> Option<String> {
    let value = json.pointer(pointer)?;
    match value.as_bytes().first()? {
        b'"' => Some(value.as_str()?.into_owned()),
        b'-' | b'0'..=b'9' => Some(value.as_json().to_owned()),
        _ => None,
    }
}

/// Whether a text has this name anywhere, which must be one of a table. Texts may be large, and this is faster than to
/// look for the member. No known peer escapes letters in names.
fn mentions(json: &RawJson<'_>, name: &'static str) -> bool {
    /// For every name in question, since to prepare a search takes longer than to search a message.
    static SEARCHES: LazyLock<Vec<(&str, Finder<'_>)>> = LazyLock::new(|| {
        let names = Protocols::ANY.0.iter().flat_map(|protocol| {
            let failure = protocol.failure.iter().map(FailureMark::name);
            let progress = protocol.progress.iter().map(ProgressPointers::name);
            failure.chain(progress).chain(protocol.introduction.iter().map(|introduction| introduction.prefix))
        });
        names.map(|name| (name, Finder::new(name))).collect()
    });
    let search = SEARCHES.iter().find(|(searched, _)| *searched == name);
    search.is_some_and(|(_, finder)| finder.find(json.as_bytes()).is_some())
}

fn last_name(pointer: &'static str) -> &'static str {
    pointer.rsplit('/').next().unwrap_or_default()
}

/// The id that a pointer leads to.
fn id(json: &RawJson<'_>, pointer: &str) -> Option<Id<'static>> {
    Some(Id::parse(json.pointer(pointer)?.as_json())?.into_owned())
}

fn bounded(text: &str) -> String {
    text.chars().take(MAX_TEXT_LEN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson<'_> {
        RawJson::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn subjects_of_calls() {
        for (protocols, method, params, subject) in [
            (Protocols::MCP, "tools/call", r#"{"arguments":{"name":"no"},"name":"echo"}"#, Some("echo")),
            (Protocols::MCP, "tools/call", r#"{"name":"\u0065cho"}"#, Some("echo")),
            (Protocols::MCP, "tools/call", r#"{"name":{}}"#, None),
            (Protocols::MCP, "tools/call", r"[]", None),
            (Protocols::MCP, "tools/list", r#"{"name":"echo"}"#, None),
            (Protocols::MCP, "resources/read", r#"{"uri":"file:///a b"}"#, Some("file:///a b")),
            (Protocols::MCP, "prompts/get", r#"{"name":"p"}"#, Some("p")),
            (Protocols::MCP, "completion/complete", r#"{"ref":{"type":"ref/resource","uri":"u"}}"#, Some("u")),
            (Protocols::ACP, "tools/call", r#"{"name":"echo"}"#, None),
            (Protocols::ACP, "fs/read_text_file", r#"{"path":"/a"}"#, Some("/a")),
            (Protocols::ANY, "tools/call", r#"{"name":"echo"}"#, Some("echo")),
            (Protocols::ANY, "session/update", r#"{"update":{"sessionUpdate":"plan"}}"#, Some("plan")),
        ] {
            assert_eq!(protocols.subject(method, Some(&json(params))).as_deref(), subject, "{method} {params}");
        }
        assert_eq!(Protocols::MCP.subject("tools/call", None), None);
    }

    #[test]
    fn failures_in_results() {
        for (method, result, is_failure) in [
            ("tools/call", r#"{"content":[],"isError":true}"#, true),
            ("tools/call", r#"{"isError" : true }"#, true),
            ("tools/call", r#"{"isError":false}"#, false),
            ("tools/call", r#"{"isError":"true"}"#, false),
            ("tools/call", r#"{"structuredContent":{"isError":true}}"#, false),
            ("tools/call", r#"{"content":[]}"#, false),
            ("prompts/get", r#"{"isError":true}"#, false),
        ] {
            assert_eq!(Protocols::MCP.is_failure(method, &json(result)), is_failure, "{method} {result}");
        }
        assert!(Protocols::MCP.can_fail("tools/call") && !Protocols::MCP.can_fail("tools/list"));
    }

    #[test]
    fn cancellations_by_protocol() {
        for (protocols, method, params, id) in [
            (Protocols::MCP, "notifications/cancelled", r#"{"requestId":7,"reason":"x"}"#, Some("7")),
            (Protocols::ACP, "$/cancel_request", r#"{"requestId":"\u0061"}"#, Some("\"a\"")),
            (Protocols::ANY, "$/cancelRequest", r#"{"id":1.0}"#, Some("1")),
            (Protocols::MCP, "$/cancelRequest", r#"{"id":1}"#, None),
            (Protocols::MCP, "notifications/cancelled", r#"{"requestId":[]}"#, None),
            (Protocols::MCP, "notifications/cancelled", r"{}", None),
        ] {
            let found = protocols.cancelled_id(method, Some(&json(params)));
            assert_eq!(found, id.and_then(Id::parse), "{method} {params}");
        }
        assert!(!Protocols::ANY.answers_cancelled("notifications/cancelled"));
        assert!(Protocols::ANY.answers_cancelled("$/cancelRequest"));
    }

    #[test]
    fn progress_is_joined_by_token() {
        let mcp = Protocols::MCP;
        let call = json(r#"{"name":"slow","_meta":{"progressToken":"t"}}"#);
        let token = mcp.progress_token(Some(&call)).unwrap();
        let params = json(r#"{"progressToken":"t","progress":2,"total":5,"message":"half"}"#);
        let progress = mcp.progress("notifications/progress", Some(&params)).unwrap();
        let message = Some("half".to_owned());
        assert_eq!(progress, Progress { token, done: 2.0, total: Some(5.0), message });
        assert_eq!(mcp.progress_token(Some(&json(r#"{"name":"progressToken"}"#))), None);
        assert_eq!(mcp.progress("notifications/message", Some(&params)), None);
        assert_eq!(mcp.progress("notifications/progress", Some(&json(r#"{"progress":2}"#))), None);
    }

    #[test]
    fn both_sides_introduce_themselves() {
        let offer = r#"{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"roots":{"listChanged":true}},
            "clientInfo":{"name":"inspector","version":"0.9"}}"#;
        let hello = Protocols::ANY.offer("initialize", Some(&json(offer))).unwrap();
        assert_eq!((hello.protocol, &*hello.version, &*hello.program), ("MCP", "2025-11-25", "inspector 0.9"));
        assert_eq!(hello.capabilities.unwrap(), ["roots", "sampling"]);

        let answer = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"a"}}"#;
        let hello = Protocols::ANY.answer("initialize", &json(answer)).unwrap();
        assert_eq!((hello.protocol, &*hello.version, &*hello.program), ("ACP", "1", "a"));
        assert_eq!(hello.capabilities.unwrap(), ["loadSession"]);

        assert_eq!(Protocols::MCP.answer("initialize", &json(answer)), None);
        assert_eq!(Protocols::ANY.answer("ping", &json(answer)), None);
        let hello = Protocols::MCP.answer("initialize", &json(r#"{"protocolVersion":"x","capabilities":3}"#)).unwrap();
        assert_eq!((hello.program.as_str(), hello.capabilities.unwrap().len()), ("", 0));
        let long = format!(r#"{{"protocolVersion":"{}"}}"#, "x".repeat(1000));
        assert_eq!(Protocols::MCP.answer("initialize", &json(&long)).unwrap().version.len(), MAX_TEXT_LEN);
    }
}
