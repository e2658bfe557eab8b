//! Small messages of all kinds, about as frequent as in recorded sessions, except for errors, which are more frequent.

use crate::envelope;
use crate::random::Random;
use crate::template::fill;

pub(crate) fn line(random: &mut Random) -> String {
    match random.below(100) {
        0..38 => {
            let (method, params) = random.pick(&REQUESTS.each_ref());
            let params = fill(params, random);
            envelope::request(method, &params, random)
        }
        38..58 => notification(random),
        58..96 => {
            let result = fill(random.pick(&RESULTS), random);
            envelope::response("result", &result, random)
        }
        _ => {
            let error = fill(random.pick(&ERRORS), random);
            envelope::response("error", &error, random)
        }
    }
}

pub(crate) fn request(id: &str, random: &mut Random) -> String {
    let (method, params) = random.pick(&REQUESTS.each_ref());
    let params = fill(params, random);
    envelope::request_with(id, method, &params, random)
}

pub(crate) fn notification(random: &mut Random) -> String {
    let (method, params) = random.pick(&NOTIFICATIONS.each_ref());
    let params = fill(params, random);
    envelope::notification(method, &params, random)
}

/// What a response has besides its id: the name of the member, and its value.
pub(crate) fn outcome(random: &mut Random) -> (&'static str, String) {
    match random.chance(90) {
        true => ("result", fill(random.pick(&RESULTS), random)),
        false => ("error", fill(random.pick(&ERRORS), random)),
    }
}

const REQUESTS: [(&str, &str); 9] = [
    ("ping", ""),
    ("tools/list", r#"{"cursor":"@-#"}"#),
    ("tools/call", r#"{"name":"read_@","arguments":{"path":"/srv/@/@/@.md","head":#}}"#),
    ("tools/call", r#"{"name":"@_@","arguments":{"query":"%","limit":#,"exact":false},"_meta":{"progressToken":#}}"#),
    ("tools/call", r#"{"name":"add","arguments":{"a":#,"b":-#.5}}"#),
    ("tools/call", r#"{"name":"write_@","arguments":{"path":"/srv/@/@.txt","content":"%\n%\n\"%\"\n"}}"#),
    ("resources/read", r#"{"uri":"file:///srv/@/@/@.json"}"#),
    ("completion/complete", r#"{"ref":{"type":"ref/prompt","name":"@"},"argument":{"name":"@","value":"@ @"}}"#),
    ("prompts/get", r#"{"name":"@-@","arguments":{"@":"%, %","language":"français"}}"#),
];

const NOTIFICATIONS: [(&str, &str); 6] = [
    ("notifications/initialized", ""),
    ("notifications/cancelled", r#"{"requestId":#,"reason":"%"}"#),
    ("notifications/progress", r#"{"progressToken":#,"progress":0.#,"total":1,"message":"%"}"#),
    ("notifications/message", r#"{"level":"info","logger":"@.@.@","data":{"event":"%; %","elapsed_ms":#}}"#),
    ("notifications/resources/updated", r#"{"uri":"file:///srv/@/@/@.json"}"#),
    (
        "session/update",
        r#"{"sessionId":"session-#","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"@ @ @ "}}}"#,
    ),
];

const RESULTS: [&str; 6] = [
    "{}",
    r#"{"content":[{"type":"text","text":"%: % and %"}]}"#,
    r#"{"content":[{"type":"text","text":"%\n- %\n- %\n"}],"isError":false}"#,
    r#"{"content":[{"type":"text","text":"{\"@\": #, \"@\": #}"}],"structuredContent":{"@":#,"total_@":#}}"#,
    r#"{"contents":[{"uri":"file:///srv/@/@.txt","mimeType":"text/plain","text":"%, %, %."}]}"#,
    r#"{"completion":{"values":["@","@","@","@"],"total":#,"hasMore":true}}"#,
];

const ERRORS: [&str; 3] = [
    r#"{"code":-32601,"message":"method not found"}"#,
    r#"{"code":-32602,"message":"unknown @: @_@","data":{"@":"@"}}"#,
    r#"{"code":-32603,"message":"%"}"#,
];
