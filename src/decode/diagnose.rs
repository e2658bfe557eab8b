//! Turns a violation into a fault: recovers the id, guesses the mistake, and decides whether to answer.

use wireline_json::walk;

use crate::message::id_rules::check_id;
use crate::message::{AnswerWithoutId, FaultKind, Id, MessageKind, Permits, Position, Rules, Violation};

use super::fault::{Answer, Detail, Fault, Looks};
use super::hint::Hint;
use super::recover::{Recovered, Recovery};

/// The fault for a whole line.
#[cold]
pub(crate) fn line(violation: Violation, line: &[u8], position: Position, rules: &Rules) -> Fault {
    let text = Faulty { text: line, start: 0, line_len: line.len() as u64, position };
    text.fault(violation, rules)
}

/// The fault for an entry that starts at byte `start` of a batch of `line_len` bytes.
#[cold]
pub(crate) fn entry(
    violation: Violation,
    entry: &str,
    start: usize,
    line_len: usize,
    position: Position,
    rules: &Rules,
) -> Fault {
    let text = Faulty { text: entry.as_bytes(), start, line_len: line_len as u64, position };
    text.fault(violation, rules)
}

/// The fault for a line of `line_len` bytes that is longer than the rules allow, given the parts that could be read.
#[cold]
pub(crate) fn too_long(recovered: Recovered, line_len: u64, position: Position, rules: &Rules) -> Fault {
    let violation = Violation { kind: FaultKind::LineTooLong, at: rules.limits.max_line_len };
    let text = Faulty { text: b"", start: 0, line_len, position };
    text.fault_with(violation, recovered, None, rules)
}

/// A text that breaks a rule, and its position.
struct Faulty<'a> {
    text: &'a [u8],
    /// Where the text starts in its line.
    start: usize,
    line_len: u64,
    position: Position,
}

impl Faulty<'_> {
    fn fault(&self, violation: Violation, rules: &Rules) -> Fault {
        let hint = if is_syntax(violation.kind) { Hint::of(self.text, violation) } else { None };
        self.fault_with(violation, self.recover(violation, rules), hint, rules)
    }

    fn fault_with(&self, violation: Violation, recovered: Recovered, hint: Option<Hint>, rules: &Rules) -> Fault {
        let looks = match recovered.is_response() {
            true => Looks::Response,
            false if recovered.has_method => Looks::Call,
            false => Looks::Unknown,
        };
        let detail = self.detail(violation, &recovered, hint, rules);
        let is_absent = |id: &Id<'_>| id.is_null() && rules.permits.contains(Permits::NULL_ID_NOTIFIES);
        let id = recovered.id.filter(|id| check_id(id.as_json(), MessageKind::Error, rules).is_ok() && !is_absent(id));
        let answer = match (&id, rules.answer_without_id) {
            _ if looks == Looks::Response || !rules.may_respond() => Answer::Never,
            (Some(_), _) => Answer::ById,
            (None, AnswerWithoutId::Never) => Answer::Never,
            (None, AnswerWithoutId::NullId) => Answer::NullId,
            (None, AnswerWithoutId::OmitId) => Answer::OmitId,
            (None, AnswerWithoutId::OmitIdUnlessNoise) => match violation.kind {
                FaultKind::BatchNotAllowed => Answer::OmitId,
                kind if looks == Looks::Call && !is_syntax(kind) => Answer::OmitId,
                _ => Answer::Never,
            },
        };
        Fault {
            kind: violation.kind,
            detail,
            hint,
            answer,
            looks,
            id,
            line: self.position.line,
            offset: self.position.offset,
            column: (self.start + violation.at) as u64 + 1,
            line_len: self.line_len,
            rules: *rules,
        }
    }

    fn recover(&self, violation: Violation, rules: &Rules) -> Recovered {
        let longest_id = rules.longest_id();
        let Self { text, .. } = *self;
        let Violation { kind, .. } = violation;
        let is_array = text.trim_ascii_start().first() == Some(&b'[');
        if !is_syntax(kind) {
            // If the first entry of a batch is a response, the remaining ones probably are too.
            let first = match std::str::from_utf8(text) {
                Ok(text) if is_array => walk::elements(text).next(),
                _ => return Recovery::of(text, longest_id),
            };
            let first = first.map(|(_, entry)| Recovery::of(entry.as_bytes(), longest_id)).unwrap_or_default();
            return Recovered { id: None, ..first };
        }
        let mut recovered = Recovery::of(text, longest_id);
        let is_beyond_token = matches!(kind, FaultKind::UnexpectedByte | FaultKind::TrailingData);
        if (recovered.is_lost || is_array || is_beyond_token) && !recovered.has_method {
            // In text that couldn't be read, and inside arrays, this only decides whether to send no answer.
            recovered.has_result |= looks_like_response(text);
        }
        recovered
    }

    fn detail(&self, violation: Violation, recovered: &Recovered, hint: Option<Hint>, rules: &Rules) -> Detail {
        let found = self.text.get(violation.at);
        match violation.kind {
            FaultKind::InvalidId | FaultKind::InvalidMethod if found == Some(&b'"') => Detail::LoneSurrogate,
            FaultKind::InvalidId => Detail::Id(rules.permits.id_types(match recovered {
                _ if !recovered.is_response() => MessageKind::Request,
                Recovered { has_error: true, .. } => MessageKind::Error,
                _ => MessageKind::Result,
            })),
            FaultKind::InvalidLiteral | FaultKind::InvalidNumber | FaultKind::UnexpectedByte
                if self.start == 0 && (violation.at == 0 || hint.is_some_and(is_another_format)) =>
            {
                Detail::NotJson
            }
            _ => Detail::None,
        }
    }
}

/// Whether the text isn't JSON, or is nested too deep to be parsed as a whole.
fn is_syntax(kind: FaultKind) -> bool {
    kind.code() == crate::message::code::PARSE_ERROR || kind == FaultKind::TooDeep
}

fn is_another_format(hint: Hint) -> bool {
    matches!(hint, Hint::LogText | Hint::HttpRequest | Hint::ContentLengthHeader | Hint::Utf16)
}

/// Whether an unreadable text contains `"result":` or `"error":`, and no `"method":`.
fn looks_like_response(text: &[u8]) -> bool {
    let has = |name: &[u8]| {
        memchr::memmem::find_iter(text, name)
            .any(|at| text[at + name.len()..].trim_ascii_start().first() == Some(&b':'))
    };
    (has(b"\"result\"") || has(b"\"error\"")) && !has(b"\"method\"")
}
