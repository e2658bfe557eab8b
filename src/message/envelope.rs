//! Members in, a message or a violation out.
//!
//! The kind of a message depends on which members it has, never on their types: an `id` of the wrong type is a
//! violation, and doesn't turn a request into a notification.

use crate::json::{self, Accepted, Decimal, Input, Members, Root, Scanned, Span, string, walk};

use super::dialect::{IdTypes, Kind, Permits};
use super::fault_kind::FaultKind;
use super::rules::{Rules, Standard};

/// A line that passed.
pub(crate) enum Contents {
    Message(Envelope),
    /// An array with that many entries, which haven't been looked at.
    Batch {
        len: usize,
    },
}

/// A message's kind, and where its parts are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    pub(crate) kind: Kind,
    /// Whether there is certainly no line break in the text.
    pub(crate) is_one_line: bool,
    /// The rules it has passed.
    pub(crate) passed: Standard,
    /// Empty in a notification, and possibly in an error.
    pub(crate) id: Span,
    /// Empty in a response.
    pub(crate) method: Span,
    /// The params, empty if there are none; the result; or the error.
    pub(crate) payload: Span,
}

/// The rule that a text breaks, and the byte at which that shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) kind: FaultKind,
    pub(crate) at: usize,
}

impl Violation {
    /// Of a valid JSON text as a whole.
    #[cold]
    fn of_whole(kind: FaultKind, text: &str) -> Self {
        Self { kind, at: text.bytes().position(|byte| !json::is_blank(byte)).unwrap_or(0) }
    }

    /// Of a text that the scanner rejected.
    #[cold]
    fn of_broken(text: &[u8], rules: &Rules) -> Self {
        match json::explain(text, rules.max_depth_u32()) {
            Some(defect) => Self { kind: defect.flaw.into(), at: defect.at },
            None => {
                debug_assert!(false, "the scanner rejected a valid text");
                Self { kind: FaultKind::UnexpectedByte, at: 0 }
            }
        }
    }
}

/// Reads a whole line, which is no longer than `rules` allow.
#[inline]
pub(crate) fn read_line<'a>(line: &'a [u8], rules: &Rules) -> Result<(&'a str, Contents), Violation> {
    let mut outline = Outline::default();
    let Some(Accepted { text, scanned }) = json::accept(line, rules.max_depth_u32(), &mut outline) else {
        return Err(Violation::of_broken(line, rules));
    };
    let contents = match scanned.root {
        Root::Object => Contents::Message(outline.envelope(text, scanned, rules)?),
        Root::Scalar => return Err(Violation::of_whole(FaultKind::NotAnObject, text)),
        Root::Array { .. } if !rules.batches => return Err(Violation::of_whole(FaultKind::BatchNotAllowed, text)),
        Root::Array { len: 0 } => return Err(Violation::of_whole(FaultKind::EmptyBatch, text)),
        Root::Array { len } if len > rules.limits.max_batch_len => {
            return Err(Violation::of_whole(FaultKind::BatchTooLong, text));
        }
        Root::Array { len } => Contents::Batch { len },
    };
    Ok((text, contents))
}

/// Reads a single message, and says nothing about any other text: for that there is [`read_line`].
///
/// Always inlined, so that a message is put together where it is used instead of being copied there.
#[inline(always)]
pub(crate) fn read_message<'a>(input: Input<'a>, rules: &Rules) -> Option<(&'a str, Envelope)> {
    let mut outline = Outline::default();
    // How about half of all peers start every message.
    let input = match input.after(br#"{"jsonrpc":"2.0","#) {
        Some(rest) => {
            outline.values[Name::Jsonrpc as usize] = Span::new(11, 16);
            rest
        }
        None => input,
    };
    let Accepted { text, scanned } = json::accept(input, rules.max_depth_u32(), &mut outline)?;
    if scanned.root != Root::Object {
        return None;
    }
    let envelope = outline.envelope(text, scanned, rules).ok()?;
    Some((text, envelope))
}

/// Reads an entry of a batch.
pub(crate) fn read_entry(entry: &[u8], rules: &Rules) -> Result<Envelope, Violation> {
    let mut outline = Outline::default();
    match json::accept(entry, rules.max_depth_u32(), &mut outline) {
        Some(Accepted { text, scanned }) if scanned.root == Root::Object => outline.envelope(text, scanned, rules),
        Some(Accepted { text, .. }) => Err(Violation::of_whole(FaultKind::NotAnObject, text)),
        None => Err(Violation::of_broken(entry, rules)),
    }
}

/// Whether a whole text passes the rules, including each entry of a batch.
pub(crate) fn check_all(line: &[u8], rules: &Rules) -> Result<(), Violation> {
    if let (text, Contents::Batch { .. }) = read_line(line, rules)? {
        for (start, entry) in walk::elements(text) {
            read_entry(entry.as_bytes(), rules)
                .map_err(|violation| Violation { at: start + violation.at, ..violation })?;
        }
    }
    Ok(())
}

/// The members of the envelope.
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
    /// Each name and its closing quote as eight bytes, with a mask of those that count. The slot is bits 1 to 3 of the
    /// name's first letter, which differ for all six.
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

    /// The name of the key that starts at `start`, if it is spelled without escapes.
    #[inline(always)]
    fn of(text: &[u8], start: usize) -> Option<Self> {
        // Past the opening quote. At least a colon, a value and a bracket follow a key.
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
    fn of_escaped(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find_map(|(member, name)| string::says(key, name).then_some(member))
    }
}

/// The values of the envelope's members, empty where there is none, and the first thing wrong with a name.
#[derive(Default)]
struct Outline {
    values: [Span; 6],
    wrong_name: Option<Violation>,
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
            self.wrong_name.get_or_insert(Violation { kind: FaultKind::DuplicateMember, at: key.start() });
        }
    }
}

impl Outline {
    /// The name of a key that is another one, or is spelled with escapes.
    #[inline(never)]
    fn unusual_name(&mut self, text: &[u8], key: Span) -> Option<Name> {
        let literal = key.of(text);
        memchr::memchr(b'\\', literal)?;
        // It may turn out not to be UTF-8, and then the text is rejected anyway.
        let literal = std::str::from_utf8(literal).ok()?;
        let name = Name::of_escaped(literal);
        if name.is_none() && !string::is_decodable(literal) {
            self.wrong_name.get_or_insert(Violation { kind: FaultKind::InvalidMemberName, at: key.start() });
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
    fn envelope(&self, text: &str, scanned: Scanned, rules: &Rules) -> Result<Envelope, Violation> {
        let whole = |kind| Violation::of_whole(kind, text);
        let at = |kind, name| Violation { kind, at: self.value(name).start() };

        if let Some(wrong_name) = self.wrong_name {
            return Err(wrong_name);
        }
        if !self.has(Name::Jsonrpc) {
            return Err(whole(FaultKind::MissingVersion));
        }
        // Bytes, because slices of a `str` are checked for being whole characters, which these always are.
        let bytes = text.as_bytes();
        let version = self.value(Name::Jsonrpc);
        if version.of(bytes) != b"\"2.0\"" && !string::says(version.in_str(text), "2.0") {
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
            let json = id.of(bytes);
            if !has_permitted_type(json, kind, rules.permits) || scanned.has_escapes && !is_decodable(id.in_str(text)) {
                return Err(at(FaultKind::InvalidId, Name::Id));
            }
            if json.len() > rules.longest_id() {
                return Err(at(FaultKind::IdTooLong, Name::Id));
            }
        } else if matches!(kind, Kind::Result)
            || matches!(kind, Kind::Error) && !rules.permits.contains(Permits::ERROR_WITHOUT_ID)
        {
            return Err(whole(FaultKind::MissingId));
        }

        let method = self.value(Name::Method);
        let payload = match kind {
            Kind::Request | Kind::Notification => {
                let is_string = method.of(bytes).first() == Some(&b'"');
                if !is_string || scanned.has_escapes && !is_decodable(method.in_str(text)) {
                    return Err(at(FaultKind::InvalidMethod, Name::Method));
                }
                let params = self.value(Name::Params);
                match params.of(bytes).first() {
                    None | Some(b'{') => params,
                    Some(b'[') if rules.permits.contains(Permits::ARRAY_PARAMS) => params,
                    Some(b'n') if rules.permits.contains(Permits::NULL_PARAMS) => Span::default(),
                    Some(_) => return Err(at(FaultKind::InvalidParams, Name::Params)),
                }
            }
            Kind::Result => {
                let result = self.value(Name::Result);
                if !rules.permits.contains(Permits::ANY_RESULT) && result.of(bytes).first() != Some(&b'{') {
                    return Err(at(FaultKind::InvalidResult, Name::Result));
                }
                result
            }
            Kind::Error => {
                let error = self.value(Name::Error);
                if !is_error_object(error.in_str(text)) {
                    return Err(at(FaultKind::InvalidError, Name::Error));
                }
                error
            }
        };
        let is_one_line = !scanned.has_controls;
        Ok(Envelope { kind, is_one_line, passed: rules.standard(), id, method, payload })
    }
}

/// The rule that keeps `json`, a JSON text, from being the id of a message of that kind.
#[inline]
pub(crate) fn check_id(json: &str, kind: Kind, rules: &Rules) -> Result<(), FaultKind> {
    if !has_permitted_type(json.as_bytes(), kind, rules.permits) || !is_decodable(json) {
        return Err(FaultKind::InvalidId);
    }
    if json.len() > rules.longest_id() { Err(FaultKind::IdTooLong) } else { Ok(()) }
}

/// Whether `json` isn't a string with a lone surrogate escape.
fn is_decodable(json: &str) -> bool {
    !json.starts_with('"') || string::is_decodable(json)
}

/// Whether the type is permitted.
#[inline(always)]
fn has_permitted_type(json: &[u8], kind: Kind, permits: Permits) -> bool {
    let types = permits.id_types(kind);
    match json.first() {
        Some(b'"') => types.contains(IdTypes::STRING),
        Some(b'-' | b'0'..=b'9') => {
            types.contains(IdTypes::NUMBER) || types.contains(IdTypes::INTEGER) && is_integer(json)
        }
        Some(b'n') => types.contains(IdTypes::NULL),
        _ => false,
    }
}

/// Whether `json`, a JSON text, is an object with an integer `code` and a string `message`, neither of them, nor
/// `data`, twice.
fn is_error_object(json: &str) -> bool {
    const NAMES: [&str; 3] = ["code", "message", "data"];

    let mut seen = [false; NAMES.len()];
    let fine = json.starts_with('{')
        && walk::members(json).all(|(key, value)| {
            let name = match key {
                "\"code\"" => Some(0),
                "\"message\"" => Some(1),
                "\"data\"" => Some(2),
                _ if !key.contains('\\') => None,
                _ => NAMES.iter().position(|name| string::says(key, name)),
            };
            let fits = match name {
                Some(0) => is_integer(value.as_bytes()),
                Some(1) => value.starts_with('"'),
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
