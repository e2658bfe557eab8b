//! The rules applied to one text: which message it is, or what is wrong with it.
//!
//! The kind of a message is decided by which members are there, never by whether they are of the right type: an `id`
//! of the wrong type is a fault, and does not make a request a notification.

use crate::decode::fault::FaultKind;
use crate::decode::hint::Hint;
use crate::decode::recover::{Recovered, Recovery};
use crate::json::number::Decimal;
use crate::json::scan::{self, Flaw, Input, Members, Root, Scanned, Span};
use crate::json::string;
use crate::json::walk;
use crate::message::id::Id;
use crate::message::rules::{AnswerWithoutId, Dialect, Rules, Standard};

/// A text that passed.
pub(crate) enum Verdict {
    Message(Envelope),
    /// An array with that many entries, none of them judged yet.
    Batch {
        len: usize,
    },
}

/// A message's kind, and where its parts lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    pub(crate) kind: Kind,
    /// Empty in a notification, and may be in an error.
    pub(crate) id: Span,
    /// Empty in a response.
    pub(crate) method: Span,
    /// The params, empty if there are none; the result; or the error.
    pub(crate) payload: Span,
    /// What it was judged by.
    pub(crate) judged_by: Standard,
    /// Whether there is no line break in it, for sure.
    pub(crate) is_one_line: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Notification,
    Result,
    Error,
}

/// What is wrong with a text.
#[derive(Debug)]
pub(crate) struct Complaint {
    pub(crate) kind: FaultKind,
    /// Where in the text it shows.
    pub(crate) at: usize,
    pub(crate) hint: Option<Hint>,
    pub(crate) id: Option<Id<'static>>,
    /// Whether the text looks like a response, which must not be answered.
    pub(crate) is_response: bool,
}

/// Judges a whole text, which is no longer than `rules` permits.
#[inline]
pub(crate) fn judge(text: &[u8], rules: &Rules) -> Result<Verdict, Complaint> {
    let mut outline = Outline::default();
    let Some(scanned) = rules.scanner.scan(text, rules.max_depth, &mut outline) else {
        return Err(Complaint::about_broken(text, rules));
    };
    match scanned.root {
        Root::Object => outline.judge(text, scanned, rules).map(Verdict::Message),
        Root::Array { len } => match len {
            _ if !rules.batches => Err(Complaint::about_batch(FaultKind::BatchNotAllowed, text)),
            0 => Err(Complaint::about(FaultKind::EmptyBatch, text)),
            _ if len > rules.max_batch_len => Err(Complaint::about_batch(FaultKind::BatchTooLong, text)),
            _ => Ok(Verdict::Batch { len }),
        },
        Root::Scalar => Err(Complaint::about(FaultKind::NotAnObject, text)),
    }
}

/// How long a text is, and which message, if it is one. What is wrong with it otherwise is to be asked of [`judge`].
///
/// Always inlined: what a message consists of is then put together where it is used, not copied there.
#[inline(always)]
pub(crate) fn judge_message(input: Input<'_>, rules: &Rules) -> Option<(usize, Envelope)> {
    let mut outline = Outline::default();
    // Half of all peers begin so.
    let input = match input.after(br#"{"jsonrpc":"2.0","#) {
        Some(rest) => {
            outline.values[Name::Jsonrpc as usize] = Span::new(11, 16);
            rest
        }
        None => input,
    };
    let scanned = rules.scanner.scan(input, rules.max_depth, &mut outline)?;
    if scanned.root != Root::Object {
        return None;
    }
    let envelope = outline.try_judge(input.first_bytes(scanned.len), scanned, rules).ok()?;
    Some((scanned.len, envelope))
}

/// Judges a whole text, and the entries of a batch as well.
pub(crate) fn judge_all(text: &[u8], rules: &Rules) -> Result<(), Complaint> {
    if let Verdict::Batch { .. } = judge(text, rules)? {
        for (start, entry) in walk::elements(text) {
            judge_entry(entry, rules).map_err(|complaint| Complaint { at: start + complaint.at, ..complaint })?;
        }
    }
    Ok(())
}

/// Judges an entry of a batch, which is JSON.
pub(crate) fn judge_entry(text: &[u8], rules: &Rules) -> Result<Envelope, Complaint> {
    let mut outline = Outline::default();
    match rules.scanner.scan(text, rules.max_depth, &mut outline) {
        Some(scanned @ Scanned { root: Root::Object, .. }) => outline.judge(text, scanned, rules),
        Some(_) => Err(Complaint::about(FaultKind::NotAnObject, text)),
        None => Err(Complaint::about_broken(text, rules)),
    }
}

/// Judges whether a text is JSON, and no longer than `rules` permits: whatever it says.
pub(crate) fn judge_json(text: &[u8], rules: &Rules) -> Result<(), Complaint> {
    if text.len() > rules.max_line_len {
        return Err(too_long(Recovered::default(), rules));
    }
    match rules.scanner.scan(text, rules.max_depth, &mut ()) {
        Some(_) => Ok(()),
        None => Err(Complaint::about_broken(text, rules)),
    }
}

/// What is wrong with a text that is longer than `rules` permits, given what was read of it.
pub(crate) fn too_long(recovered: Recovered, rules: &Rules) -> Complaint {
    Complaint::with_recovered(FaultKind::LineTooLong, rules.max_line_len, recovered, rules)
}

impl Complaint {
    /// About a JSON text as a whole.
    #[cold]
    fn about(kind: FaultKind, text: &[u8]) -> Self {
        let at = text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
        Self { kind, at, hint: None, id: None, is_response: false }
    }

    /// About an array as a whole. If its first entry is a response, so are probably the others.
    #[cold]
    fn about_batch(kind: FaultKind, text: &[u8]) -> Self {
        let first = walk::elements(text).next().map(|(_, entry)| Recovery::of(entry));
        Self { is_response: first.is_some_and(|entry| entry.is_response), ..Self::about(kind, text) }
    }

    /// About a text that the scanner rejected.
    #[cold]
    fn about_broken(text: &[u8], rules: &Rules) -> Self {
        let Some(defect) = scan::explain(text, rules.max_depth) else {
            debug_assert!(false, "the scanner rejected what is fine");
            return Self::about(FaultKind::UnexpectedByte, text);
        };
        // What stands before a flaw can be relied upon; what stands after it only if the flaw is within one token.
        let readable = match defect.flaw {
            Flaw::ByteOrderMark => &text[3..],
            flaw if flaw.is_within_token() => text,
            _ => &text[..defect.at],
        };
        let mut recovered = Recovery::of(readable);
        let is_batch = text.trim_ascii_start().first() == Some(&b'[');
        if (readable.len() < text.len() || is_batch) && !recovered.has_method {
            // What comes after it, or is in an array, decides nothing but whether to keep silent.
            recovered.is_response |= looks_like_response(text);
        }
        let complaint = Self::with_recovered(defect.flaw.into(), defect.at, recovered, rules);
        Self { hint: Hint::of(text, defect), ..complaint }
    }

    fn with_recovered(kind: FaultKind, at: usize, recovered: Recovered, rules: &Rules) -> Self {
        let id = recovered.id.filter(|id| is_permitted_id(id.as_json().as_bytes(), Kind::Error, rules));
        Self { kind, at, hint: None, id, is_response: recovered.is_response }
    }
}

/// The members that matter.
#[derive(Clone, Copy)]
enum Name {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
}

impl Name {
    /// Each name as it is spelled without escapes, with the quote that ends it, in eight bytes; and which of the
    /// eight count. They stand where bits 1 to 3 of their first letter say.
    const SPELLED: [(u64, u64, Option<Self>); 8] = {
        let mut table = [(0, 0, None); 8];
        let mut i = 0;
        while i < Self::ALL.len() {
            let (name, spelling) = Self::ALL[i];
            let spelling = spelling.as_bytes();
            let mut bytes = [0; 8];
            let mut mask = [0; 8];
            let mut at = 0;
            while at < spelling.len() {
                bytes[at] = spelling[at];
                mask[at] = 0xff;
                at += 1;
            }
            bytes[at] = b'"';
            mask[at] = 0xff;
            let slot = (spelling[0] >> 1 & 7) as usize;
            assert!(table[slot].2.is_none());
            table[slot] = (u64::from_le_bytes(bytes), u64::from_le_bytes(mask), Some(name));
            i += 1;
        }
        table
    };

    const ALL: [(Self, &str); 6] = [
        (Self::Jsonrpc, "jsonrpc"),
        (Self::Id, "id"),
        (Self::Method, "method"),
        (Self::Params, "params"),
        (Self::Result, "result"),
        (Self::Error, "error"),
    ];

    /// The name that the key at `start` stands for, if it is spelled without escapes.
    #[inline(always)]
    fn of(text: &[u8], start: usize) -> Option<Self> {
        // After the opening quote. A key is followed by a colon, a value and a bracket at least.
        let rest = &text[start + 1..];
        let word = match rest.first_chunk() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => {
                let mut eight = [0; 8];
                eight[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(eight)
            }
        };
        let (spelling, mask, name) = Self::SPELLED[(word >> 1 & 7) as usize];
        if word & mask == spelling { name } else { None }
    }

    #[cold]
    fn of_escaped(key: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find_map(|(member, name)| string::says(key, name).then_some(member))
    }
}

/// The values of the members that matter, empty where there is none, and the first thing wrong with a name.
#[derive(Default)]
struct Outline {
    values: [Span; 6],
    wrong_name: Option<(FaultKind, usize)>,
    has_two_ids: bool,
}

impl Members for Outline {
    #[inline(always)]
    fn member(&mut self, text: &[u8], key: Span, value: Span) {
        let name = match Name::of(text, key.start()) {
            Some(name) => name,
            None => match self.unusual_name(text, key) {
                Some(name) => name,
                None => return,
            },
        };
        let slot = &mut self.values[name as usize];
        if slot.is_empty() {
            *slot = value;
        } else {
            self.has_two_ids |= matches!(name, Name::Id);
            self.wrong_name.get_or_insert((FaultKind::DuplicateMember, key.start()));
        }
    }
}

impl Outline {
    /// The name that a key stands for which is another one, or has escapes.
    #[inline(never)]
    fn unusual_name(&mut self, text: &[u8], key: Span) -> Option<Name> {
        let literal = key.of(text);
        memchr::memchr(b'\\', literal)?;
        let name = Name::of_escaped(literal);
        if name.is_none() && !string::is_decodable(literal) {
            self.wrong_name.get_or_insert((FaultKind::InvalidMemberName, key.start()));
        }
        name
    }

    #[inline(always)]
    fn value(&self, name: Name) -> Span {
        self.values[name as usize]
    }

    #[inline(always)]
    fn has(&self, name: Name) -> bool {
        !self.value(name).is_empty()
    }

    #[inline(always)]
    fn judge(&self, text: &[u8], scanned: Scanned, rules: &Rules) -> Result<Envelope, Complaint> {
        self.try_judge(text, scanned, rules).map_err(|(kind, at)| self.complain(kind, at, text, rules))
    }

    #[inline(always)]
    fn try_judge(&self, text: &[u8], scanned: Scanned, rules: &Rules) -> Result<Envelope, (FaultKind, usize)> {
        let whole = |kind| (kind, text.iter().position(|&byte| byte == b'{').unwrap_or(0));
        let at = |kind, name| (kind, self.value(name).start());

        if let Some(wrong_name) = self.wrong_name {
            return Err(wrong_name);
        }
        if !self.has(Name::Jsonrpc) {
            return Err(whole(FaultKind::MissingVersion));
        }
        let version = self.value(Name::Jsonrpc).of(text);
        if version != b"\"2.0\"" && !string::says(version, "2.0") {
            return Err(at(FaultKind::InvalidVersion, Name::Jsonrpc));
        }

        let kind = match (self.has(Name::Method), self.has(Name::Result), self.has(Name::Error)) {
            (true, false, false) if self.has(Name::Id) => Kind::Request,
            (true, false, false) => Kind::Notification,
            (false, true, false) => Kind::Result,
            (false, false, true) => Kind::Error,
            (false, false, false) => return Err(whole(FaultKind::MissingMethod)),
            (true, true, _) | (false, true, true) => return Err(at(FaultKind::ConflictingMembers, Name::Result)),
            (true, false, true) => return Err(at(FaultKind::ConflictingMembers, Name::Error)),
        };

        let id = self.value(Name::Id);
        if self.has(Name::Id) {
            if !is_permitted_id_type(id.of(text), kind, rules) || scanned.has_escapes && !is_said(id.of(text)) {
                return Err(at(FaultKind::InvalidId, Name::Id));
            }
        } else if matches!(kind, Kind::Result) || (matches!(kind, Kind::Error) && !rules.permit_errors_without_id()) {
            return Err(whole(FaultKind::MissingId));
        }

        let method = self.value(Name::Method);
        let payload = match kind {
            Kind::Request | Kind::Notification => {
                let literal = method.of(text);
                if literal[0] != b'"' || scanned.has_escapes && !is_said(literal) {
                    return Err(at(FaultKind::InvalidMethod, Name::Method));
                }
                let params = self.value(Name::Params);
                match (params.of(text).first(), rules.dialect) {
                    (None | Some(b'{'), _) | (Some(b'['), Dialect::JsonRpc | Dialect::Acp) => params,
                    (Some(b'n'), _) if rules.null_params => Span::default(),
                    _ => return Err(at(FaultKind::InvalidParams, Name::Params)),
                }
            }
            Kind::Result => {
                let result = self.value(Name::Result);
                if matches!(rules.dialect, Dialect::Mcp) && result.of(text)[0] != b'{' {
                    return Err(at(FaultKind::InvalidResult, Name::Result));
                }
                result
            }
            Kind::Error => {
                let error = self.value(Name::Error);
                if !is_error_object(error.of(text)) {
                    return Err(at(FaultKind::InvalidError, Name::Error));
                }
                error
            }
        };
        let is_one_line = !scanned.has_controls;
        Ok(Envelope { kind, id, method, payload, judged_by: rules.standard(), is_one_line })
    }

    #[cold]
    fn complain(&self, kind: FaultKind, at: usize, text: &[u8], rules: &Rules) -> Complaint {
        let json = self.value(Name::Id).of(text);
        let readable = !self.has_two_ids && is_permitted_id(json, Kind::Error, rules);
        Complaint {
            kind,
            at,
            hint: None,
            id: Id::checked(json).filter(|_| readable).map(Id::into_owned),
            is_response: (self.has(Name::Result) || self.has(Name::Error)) && !self.has(Name::Method),
        }
    }
}

/// Whether a text that is broken beyond reading has `"result":` or `"error":` in it, and no `"method":`.
fn looks_like_response(text: &[u8]) -> bool {
    let has = |name: &[u8]| {
        memchr::memmem::find_iter(text, name)
            .any(|at| text[at + name.len()..].trim_ascii_start().first() == Some(&b':'))
    };
    (has(b"\"result\"") || has(b"\"error\"")) && !has(b"\"method\"")
}

/// Whether `json`, a JSON text, may be the id of a message of that kind.
#[inline]
pub(crate) fn is_permitted_id(json: &[u8], kind: Kind, rules: &Rules) -> bool {
    is_permitted_id_type(json, kind, rules) && is_said(json)
}

/// Whether `json`, a JSON text, is no string with an escape for half a surrogate pair.
fn is_said(json: &[u8]) -> bool {
    json.first() != Some(&b'"') || string::is_decodable(json)
}

/// [`is_permitted_id`], apart from the escapes of a string.
#[inline(always)]
fn is_permitted_id_type(json: &[u8], kind: Kind, rules: &Rules) -> bool {
    match (json.first(), rules.dialect) {
        (Some(b'"'), _) => true,
        (Some(b'-' | b'0'..=b'9'), Dialect::JsonRpc) => true,
        (Some(b'-' | b'0'..=b'9'), Dialect::Mcp | Dialect::Acp) => is_integer(json),
        (Some(b'n'), Dialect::JsonRpc) => true,
        (Some(b'n'), Dialect::Acp) => kind != Kind::Result,
        (Some(b'n'), Dialect::Mcp) => kind == Kind::Error && rules.answer_without_id == AnswerWithoutId::NullId,
        _ => false,
    }
}

/// Whether `json`, a JSON text, is an object with `code` and `message`, and each of its three members at most once.
fn is_error_object(json: &[u8]) -> bool {
    const NAMES: [&str; 3] = ["code", "message", "data"];

    let mut seen = [false; NAMES.len()];
    let fine = json[0] == b'{'
        && walk::members(json).all(|(key, value)| {
            let name = match key {
                b"\"code\"" => Some(0),
                b"\"message\"" => Some(1),
                b"\"data\"" => Some(2),
                _ if !key.contains(&b'\\') => None,
                _ => NAMES.iter().position(|name| string::says(key, name)),
            };
            let fits = match name {
                Some(0) => is_integer(value),
                Some(1) => value[0] == b'"',
                Some(_) => true,
                None => return string::is_decodable(key),
            };
            fits && !std::mem::replace(&mut seen[name.unwrap_or_default()], true)
        });
    fine && seen[0] && seen[1]
}

/// Whether `json`, a JSON text, is a number without a fraction, by value.
#[inline]
fn is_integer(json: &[u8]) -> bool {
    match json {
        [b'-', digits @ ..] | digits if digits.iter().all(u8::is_ascii_digit) => true,
        [b'-' | b'0'..=b'9', ..] => Decimal::new(json).is_integer(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_be_as_long_as_the_limit() {
        for (limit, expected) in
            [(4, None), (3, None), (2, Some(FaultKind::LineTooLong)), (0, Some(FaultKind::LineTooLong))]
        {
            let complaint = judge_json(b"[1]", &Rules::json_rpc().max_line_len(limit)).err();
            assert_eq!(complaint.map(|complaint| complaint.kind), expected, "limit {limit}");
        }
    }
}
