//! The transcript for programs: one JSON object per message, fault, line of standard error, and end of a session.

use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use wireline::Message;

use crate::filter::Filter;
use crate::framing::Mistake;
use crate::message_kind::MessageKind;
use crate::session::{MethodIndex, Role, Seen, Session, Side};
use crate::terminal::printable_json;

pub(super) struct Ndjson {
    /// The number of the session, from 1.
    pub(super) session: u64,
    /// Whether to add the messages themselves, and the texts of errors.
    pub(super) has_messages: bool,
    pub(super) has_reasons: bool,
}

impl Ndjson {
    pub(super) fn add(
        &self,
        text: &mut String,
        filter: &Filter,
        session: &Session,
        from: Side,
        seen: &Seen<'_>,
        at: Duration,
    ) {
        if !filter.shows(session, from, seen) {
            return;
        }
        let mut object = self.start(at);
        object.insert("from".to_owned(), from.name().into());
        let mut add = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
        let mut raw = None;
        match seen {
            Seen::Message { message, role, .. } => {
                add("kind", MessageKind::of(message).name().into());
                add(
                    "id",
                    message.id().map_or(Value::Null, |id| serde_json::from_str(id.as_json()).unwrap_or_default()),
                );
                self.describe(&mut add, session, message, role);
                raw = str::from_utf8(message.as_bytes()).ok();
            }
            Seen::Batch { entries, text, .. } => {
                add("kind", MessageKind::Batch.name().into());
                add("entries", (*entries).into());
                add("len", text.len().into());
            }
            Seen::Fault { fault, in_frame, .. } => {
                add("kind", "fault".into());
                add("fault", fault.kind().name().into());
                add("line", fault.line().into());
                add("column", fault.column().into());
                if let Some(in_frame) = in_frame {
                    add("frame", in_frame.number.into());
                    add("offset", fault.offset().into());
                }
                add("hint", Mistake::behind(fault, *in_frame).map(Mistake::name).into());
            }
            Seen::Finding(finding) => {
                add("kind", "finding".into());
                add("rule", finding.rule.name().into());
                add("severity", finding.rule.severity().name().into());
                add("protocol", finding.dialect.to_string().into());
                add("text", finding.evidence.as_str().into());
                add("see", finding.rule.reference(finding.dialect).into());
            }
            Seen::CarriageReturn => add("kind", "crlf".into()),
            Seen::Unterminated { len } => {
                add("kind", "unterminated".into());
                add("len", (*len).into());
            }
        }
        self.write(text, &object, raw.filter(|_| self.has_messages));
    }

    fn describe(&self, add: &mut impl FnMut(&str, Value), session: &Session, message: &Message<'_>, role: &Role) {
        let name = |add: &mut dyn FnMut(&str, Value), method: &MethodIndex| {
            let method = &session.methods[*method];
            add("method", method.method.as_str().into());
            add("subject", method.subject.as_deref().into());
        };
        match role {
            Role::Call { subject, reuses_id } => {
                add("method", message.method().map(std::borrow::Cow::into_owned).into());
                add("subject", subject.as_deref().into());
                if *reuses_id {
                    add("reuses_id", true.into());
                }
            }
            Role::Progress { method, .. } | Role::Cancellation { method, .. } => name(add, method),
            Role::Response { method, latency, is_failure, .. } => {
                name(add, method);
                add("seconds", latency.map(|latency| latency.as_secs_f64()).into());
                add("failed", (*is_failure).into());
            }
            Role::ResponseToFault => add("matched", "fault".into()),
            Role::UnmatchedResponse { .. } => add("matched", false.into()),
        }
        let is_failure = matches!(role, Role::Response { is_failure: true, .. });
        if let Some(reason) = session.reason(message, is_failure) {
            add("code", reason.code.into());
            if self.has_reasons {
                add("reason", reason.text.into());
            }
        }
        add("len", message.as_bytes().len().into());
    }

    pub(super) fn add_stderr(&self, text: &mut String, bytes: &[u8], at: Duration) {
        let mut object = self.start(at);
        object.insert("kind".to_owned(), "stderr".into());
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        object.insert("text".to_owned(), String::from_utf8_lossy(line).into());
        self.write(text, &object, None);
    }

    pub(super) fn add_end(&self, text: &mut String, code: Option<i32>, signal: Option<i32>, at: Duration) {
        let mut object = self.start(at);
        object.extend([("kind".to_owned(), json!("end")), ("code".to_owned(), json!(code))]);
        object.insert("signal".to_owned(), json!(signal));
        self.write(text, &object, None);
    }

    fn start(&self, at: Duration) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("session".to_owned(), self.session.into());
        object.insert("time".to_owned(), json!(at.as_secs_f64()));
        object
    }

    /// Writes an object, with a message as its last member, as it was spelled.
    fn write(&self, text: &mut String, object: &Map<String, Value>, message: Option<&str>) {
        let json = serde_json::to_string(object).unwrap_or_default();
        text.push_str(&printable_json(json.strip_suffix('}').unwrap_or(&json)));
        // Line breaks between tokens cannot be in a line.
        if let Some(message) = message.filter(|message| serde_json::from_str::<&RawValue>(message).is_ok()) {
            text.push_str(",\"message\":");
            text.push_str(&printable_json(message));
        }
        text.push_str("}\n");
    }
}
