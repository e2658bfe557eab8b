//! Turns the members of an object into a message or a violation.
//!
//! The kind of a message depends on which members it has, never on their types: an `id` of the wrong type is a
//! violation, and doesn't turn a request into a notification.

use wireline_json::{self as json, Accepted, Input, Member, Members, Opening, Root, Scanned, Span, string, swar, walk};

use super::dialect::{MessageKind, Permits};
use super::error_object::{is_error_object, is_unusual_error};
use super::fault_kind::FaultKind;
use super::id::Id;
use super::id_rules::{has_permitted_type, is_decodable};
use super::rules::{MessageRules, Rules};

/// The contents of a line that passed the rules.
pub(crate) enum Contents {
    Message(Envelope),
    /// An array with this many entries, which haven't been checked.
    Batch {
        len: usize,
    },
}

/// A message's kind, and the positions of its parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    pub(crate) kind: MessageKind,
    /// Whether the text is known to contain no line break.
    pub(crate) is_one_line: bool,
    /// The rules that the message has passed.
    pub(crate) passed: MessageRules,
    /// Empty in a notification, and possibly in an error.
    pub(crate) id: Span,
    /// Empty in a response.
    pub(crate) method: Span,
    /// The params, empty if there are none; the result; or the error.
    pub(crate) payload: Span,
}

/// The rule that a text breaks, and the offset of the violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) kind: FaultKind,
    pub(crate) at: usize,
}

impl Violation {
    /// A violation by a whole text that is valid JSON.
    #[cold]
    fn of_whole(kind: FaultKind, text: &str) -> Self {
        Self { kind, at: text.bytes().position(|byte| !json::is_blank(byte)).unwrap_or(0) }
    }

    /// A violation by a text that the scanner rejected.
    #[cold]
    fn of_broken(text: &[u8], rules: &Rules) -> Self {
        match json::explain(text, rules.max_depth_u32()) {
            Some(error) => Self { kind: error.kind.into(), at: error.at },
            None => {
                debug_assert!(false, "the scanner rejected a valid text");
                Self { kind: FaultKind::UnexpectedByte, at: 0 }
            }
        }
    }
}

/// Reads a whole line, which must not be longer than `rules` allow.
#[inline]
pub(crate) fn read_line<'a>(line: &'a [u8], rules: &Rules) -> Result<(&'a str, Contents), Violation> {
    let mut outline = Outline::default();
    let Some(Accepted { text, scanned }) = json::accept(line.into(), rules.max_depth_u32(), &mut outline) else {
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

/// Reads a single message. Returns `None` for any other text, which [`read_line`] can explain.
///
/// Always inlined, so that a message is built in place instead of being copied.
#[inline(always)]
pub(crate) fn read_message<'a>(input: Input<'a>, rules: &Rules) -> Option<(&'a str, Envelope)> {
    let mut outline = Outline::default();
    let Accepted { text, scanned } = json::accept(input.reading_ahead(), rules.max_depth_u32(), &mut outline)?;
    if scanned.root != Root::Object {
        return None;
    }
    let envelope = outline.envelope(text, scanned, rules).ok()?;
    Some((text, envelope))
}

/// Reads an entry of a batch.
pub(crate) fn read_entry(entry: &[u8], rules: &Rules) -> Result<Envelope, Violation> {
    let mut outline = Outline::default();
    match json::accept(entry.into(), rules.max_depth_u32(), &mut outline) {
        Some(Accepted { text, scanned }) if scanned.root == Root::Object => outline.envelope(text, scanned, rules),
        Some(Accepted { text, .. }) => Err(Violation::of_whole(FaultKind::NotAnObject, text)),
        None => Err(Violation::of_broken(entry, rules)),
    }
}

/// Checks a whole text against the rules, including each entry of a batch.
pub(crate) fn check_all(line: &[u8], rules: &Rules) -> Result<(), Violation> {
    if let (text, Contents::Batch { .. }) = read_line(line, rules)? {
        for (start, entry) in walk::elements(text) {
            read_entry(entry.as_bytes(), rules)
                .map_err(|violation| Violation { at: start + violation.at, ..violation })?;
        }
    }
    Ok(())
}

/// The members of the envelope. Each discriminant is the member's [slot](Name::slot).
#[derive(Clone, Copy)]
enum Name {
    Jsonrpc = Self::slot(b'j'),
    Id = Self::slot(b'i'),
    Method = Self::slot(b'm'),
    Params = Self::slot(b'p'),
    Result = Self::slot(b'r'),
    Error = Self::slot(b'e'),
}

impl Name {
    const SLOTS: usize = 8;

    /// Bits 1 to 3 of a name's first letter, which are different for each name.
    const fn slot(first_letter: u8) -> isize {
        (first_letter >> 1 & 7) as isize
    }

    /// The name in each slot with its closing quote, as eight bytes, and a mask of the bytes to compare. An empty slot
    /// has a bit outside its mask, so no name equals it.
    const SPELLED: [(u64, u64); Self::SLOTS] = {
        let mut table = [(1, 0); Self::SLOTS];
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
            assert!(name as isize == Self::slot(spelling[0]) && table[name as usize].0 == 1);
            table[name as usize] = (u64::from_le_bytes(bytes), u64::from_le_bytes(mask));
            i += 1;
        }
        table
    };

    /// The length of the name in each slot, including its quotes and a colon.
    const LENGTHS: [usize; Self::SLOTS] = {
        let mut lengths = [0; Self::SLOTS];
        let mut i = 0;
        while i < Self::ALL.len() {
            lengths[Self::ALL[i].0 as usize] = Self::ALL[i].1.len() + 3;
            i += 1;
        }
        lengths
    };

    const ALL: [(Self, &str); 6] = [
        (Self::Jsonrpc, "jsonrpc"),
        (Self::Id, "id"),
        (Self::Method, "method"),
        (Self::Params, "params"),
        (Self::Result, "result"),
        (Self::Error, "error"),
    ];

    /// The slot of the key that starts at `start`, if it is one of the names spelled without escapes.
    #[inline(always)]
    fn slot_of(text: &[u8], start: usize) -> Option<usize> {
        // Skips the opening quote. At least a colon, a value and a bracket follow a key.
        let word = u64::from_le_bytes(swar::eight(&text[start + 1..]));
        let slot = (word >> 1 & 7) as usize;
        let (spelling, mask) = Self::SPELLED[slot];
        (word & mask == spelling).then_some(slot)
    }

    #[cold]
    fn of_escaped(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find_map(|(member, name)| string::decodes_to(key, name).then_some(member))
    }
}

/// The values of the envelope's members, and the first violation by a name.
#[derive(Default)]
struct Outline {
    /// The value in each slot, empty if the member is absent.
    values: [Span; Name::SLOTS],
    /// One bit per slot, set if the slot has a value.
    seen: u32,
    /// Whether the version is known to be `"2.0"`.
    is_version_2: bool,
    wrong_name: Option<Violation>,
}

impl Members for Outline {
    #[inline(always)]
    fn member(&mut self, text: &[u8], member: Member) {
        let start = member.span.start();
        match Name::slot_of(text, start) {
            Some(slot) if !member.may_have_blanks => {
                self.add(slot, start, Span::new(start + Name::LENGTHS[slot % Name::SLOTS], member.span.end()));
            }
            _ => self.unusual_member(text, member),
        }
    }

    /// Reads the members that most messages begin with, if they are spelled the usual way: the version and the id, and
    /// also the method if scanning is `expensive`.
    #[inline(always)]
    fn opening<'a>(&mut self, opening: Opening<'a>, expensive: bool) -> Opening<'a> {
        let mut known = opening;
        if let Some(after) = known.literal(r#"{"jsonrpc":"2.0","#) {
            self.set(Name::Jsonrpc as usize, Span::new(11, 16));
            self.is_version_2 = true;
            known = after;
        } else if let Some(after) = known.literal("{") {
            known = after;
        } else {
            return opening;
        }
        if let Some((id, after)) = known.literal(r#""id":"#).and_then(Opening::natural)
            && let Some(after) = after.literal(",")
        {
            self.set(Name::Id as usize, id);
            known = after;
        }
        if expensive
            && let Some((method, after)) = known.literal(r#""method":"#).and_then(Opening::string)
            && let Some(after) = after.literal(",")
        {
            self.set(Name::Method as usize, method);
            known = after;
        }
        known
    }
}

impl Outline {
    /// Adds a member with blanks around its parts or escapes in its name. Ignores a member that isn't part of the
    /// envelope.
    #[cold]
    #[inline(never)]
    fn unusual_member(&mut self, text: &[u8], member: Member) {
        let (key, value) = member.key_and_value(text);
        let name = Name::slot_of(text, key.start());
        if let Some(slot) = name.or_else(|| self.unusual_name(text, key).map(|name| name as usize)) {
            self.add(slot, key.start(), value);
        }
    }

    /// Adds the value of a member whose key starts at `key`. A second value is a violation.
    #[inline(always)]
    fn add(&mut self, slot: usize, key: usize, value: Span) {
        if self.seen >> slot & 1 == 0 {
            self.set(slot, value);
        } else {
            self.wrong_name.get_or_insert(Violation { kind: FaultKind::DuplicateMember, at: key });
        }
    }

    /// The envelope member that a key with escapes spells, if any.
    fn unusual_name(&mut self, text: &[u8], key: Span) -> Option<Name> {
        let literal = key.of(text);
        memchr::memchr(b'\\', literal)?;
        // If it isn't UTF-8, the text is rejected anyway.
        let literal = std::str::from_utf8(literal).ok()?;
        let name = Name::of_escaped(literal);
        if name.is_none() && !string::is_decodable(literal) {
            self.wrong_name.get_or_insert(Violation { kind: FaultKind::InvalidMemberName, at: key.start() });
        }
        name
    }

    #[inline(always)]
    fn set(&mut self, slot: usize, value: Span) {
        self.values[slot % Name::SLOTS] = value;
        self.seen |= 1 << slot;
    }

    #[inline(always)]
    fn value(&self, name: Name) -> Span {
        self.values[name as usize]
    }

    #[inline(always)]
    fn has(&self, name: Name) -> bool {
        self.seen >> name as u32 & 1 != 0
    }

    #[inline(always)]
    fn envelope(&self, text: &str, scanned: Scanned, rules: &Rules) -> Result<Envelope, Violation> {
        let whole = |kind| Violation::of_whole(kind, text);
        let at = |kind, name| Violation { kind, at: self.value(name).start() };

        if let Some(wrong_name) = self.wrong_name {
            return Err(wrong_name);
        }
        // Use bytes, because slicing a `str` checks for character boundaries, which these always are.
        let bytes = text.as_bytes();
        if !self.is_version_2 && self.value(Name::Jsonrpc).of(bytes) != b"\"2.0\"" {
            self.unusual_version(text, rules.permits)?;
        }

        let mut kind = match (self.has(Name::Method), self.has(Name::Result), self.has(Name::Error)) {
            (true, false, false) if self.has(Name::Id) => MessageKind::Request,
            (true, false, false) => MessageKind::Notification,
            (false, true, false) => MessageKind::Result,
            (false, false, true) => MessageKind::Error,
            (false, false, false) => return Err(whole(FaultKind::MissingMethod)),
            (false, true, true) => match self.only_outcome(bytes, rules.permits) {
                Some(kind) => kind,
                None => return Err(at(FaultKind::ConflictingMembers, Name::Result)),
            },
            (true, true, _) => return Err(at(FaultKind::ConflictingMembers, Name::Result)),
            (true, false, true) => return Err(at(FaultKind::ConflictingMembers, Name::Error)),
        };

        if !rules.permits.contains(Permits::BOTH_SIDES) && is_from_wrong_side(kind, rules.permits) {
            return Err(whole(FaultKind::WrongSide));
        }

        let mut id = self.value(Name::Id);
        if self.has(Name::Id) {
            let json = id.of(bytes);
            if !has_permitted_type(json, kind, rules.permits)
                || scanned.flags.has_escapes() && !is_decodable(id.in_str(text))
            {
                let is_notification = kind == MessageKind::Request && json == b"null";
                if !is_notification || !rules.permits.contains(Permits::NULL_ID_NOTIFIES) {
                    return Err(at(FaultKind::InvalidId, Name::Id));
                }
                (kind, id) = (MessageKind::Notification, Span::default());
            }
            if kind != MessageKind::Notification && rules.is_id_too_long(json.len()) {
                return Err(at(FaultKind::IdTooLong, Name::Id));
            }
        } else if matches!(kind, MessageKind::Result)
            || matches!(kind, MessageKind::Error) && !rules.permits.contains(Permits::ERROR_WITHOUT_ID)
        {
            return Err(whole(FaultKind::MissingId));
        }

        let method = self.value(Name::Method);
        let payload = match kind {
            MessageKind::Request | MessageKind::Notification => {
                let is_string = first(bytes, method) == Some(b'"');
                if !is_string || scanned.flags.has_escapes() && !is_decodable(method.in_str(text)) {
                    return Err(at(FaultKind::InvalidMethod, Name::Method));
                }
                let params = self.value(Name::Params);
                match first(bytes, params) {
                    None | Some(b'{') => params,
                    Some(b'[') if rules.permits.contains(Permits::ARRAY_PARAMS) => params,
                    Some(b'n') if rules.permits.contains(Permits::NULL_PARAMS) => Span::default(),
                    Some(b'n') => return Err(at(FaultKind::InvalidParams, Name::Params)),
                    Some(_) if rules.permits.contains(Permits::SCALAR_PARAMS) => params,
                    Some(_) => return Err(at(FaultKind::InvalidParams, Name::Params)),
                }
            }
            MessageKind::Result => {
                let result = self.value(Name::Result);
                if !rules.permits.contains(Permits::ANY_RESULT) && first(bytes, result) != Some(b'{') {
                    return Err(at(FaultKind::InvalidResult, Name::Result));
                }
                if !rules.permits.contains(Permits::UNTYPED_RESULTS) && !has_result_type(result.in_str(text)) {
                    return Err(at(FaultKind::MissingResultType, Name::Result));
                }
                result
            }
            MessageKind::Error => {
                let error = self.value(Name::Error);
                let json = error.in_str(text);
                if !is_error_object(json) && !is_unusual_error(json, rules.permits) {
                    return Err(at(FaultKind::InvalidError, Name::Error));
                }
                // As for the type of a result, this holds for what is sent.
                if !rules.permits.contains(Permits::UNTYPED_RESULTS) && has_reserved_code(json, rules) {
                    return Err(at(FaultKind::ReservedCode, Name::Error));
                }
                error
            }
        };
        let is_one_line = !scanned.flags.has_controls();
        Ok(Envelope { kind, is_one_line, passed: rules.message_rules(), id, method, payload })
    }
}

impl Outline {
    /// Checks a `jsonrpc` that isn't `"2.0"`, or not spelled so.
    #[inline(never)]
    fn unusual_version(&self, text: &str, permits: Permits) -> Result<(), Violation> {
        if !self.has(Name::Jsonrpc) {
            return match permits.contains(Permits::NO_VERSION) {
                true => Ok(()),
                false => Err(Violation::of_whole(FaultKind::MissingVersion, text)),
            };
        }
        let version = self.value(Name::Jsonrpc);
        let is = |expected| string::decodes_to(version.in_str(text), expected);
        match is("2.0") || permits.contains(Permits::VERSION_1) && is("1.0") {
            true => Ok(()),
            false => Err(Violation { kind: FaultKind::InvalidVersion, at: version.start() }),
        }
    }

    /// The kind of a response with a result and an error, if one of them only says that there is none.
    #[inline(never)]
    fn only_outcome(&self, text: &[u8], permits: Permits) -> Option<MessageKind> {
        let [result, error] = [Name::Result, Name::Error].map(|name| self.value(name).of(text));
        match (result, error) {
            _ if !permits.contains(Permits::NULL_OUTCOME) => None,
            (_, b"null") => Some(MessageKind::Result),
            (b"null", _) => Some(MessageKind::Error),
            (b"false", _) if permits.contains(Permits::FALSE_OUTCOME) => Some(MessageKind::Error),
            _ => None,
        }
    }
}

/// Whether only the other side sends messages of this kind.
#[cold]
fn is_from_wrong_side(kind: MessageKind, permits: Permits) -> bool {
    match kind {
        MessageKind::Request => !permits.contains(Permits::REQUESTS),
        MessageKind::Notification => false,
        MessageKind::Result | MessageKind::Error => !permits.contains(Permits::RESPONSES),
    }
}

/// Whether `json`, an object perhaps followed by something else, has a string `resultType`.
#[cold]
pub(crate) fn has_result_type(json: &str) -> bool {
    let found = walk::members(json).find(|(key, _)| string::decodes_to(key, "resultType"));
    found.is_some_and(|(_, value)| value.starts_with('"'))
}

/// Whether the protocol reserves the code of an error object.
#[cold]
fn has_reserved_code(json: &str, rules: &Rules) -> bool {
    let code = walk::members(json).find(|(key, _)| string::decodes_to(key, "code"));
    code.and_then(|(_, code)| Id::parse(code)?.as_i64()).is_some_and(|code| rules.dialect.reserves(code))
}

/// The first byte of a value, if there is one.
#[inline(always)]
fn first(text: &[u8], value: Span) -> Option<u8> {
    if value.is_empty() { None } else { text.get(value.start()).copied() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which members are read before the scan.
    fn read_ahead(line: &str, expensive: bool) -> String {
        let mut outline = Outline::default();
        outline.opening(Opening::of(line.as_bytes()), expensive);
        let names = [(Name::Jsonrpc, 'v'), (Name::Id, 'i'), (Name::Method, 'm')];
        names.iter().filter(|(name, _)| outline.has(*name)).map(|(_, letter)| letter).collect()
    }

    #[test]
    fn the_usual_opening_is_read_ahead() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":17,"method":"a/b","params":{}}"#, "vim"),
            (r#"{"jsonrpc":"2.0","id":17,"result":{}}"#, "vi"),
            (r#"{"jsonrpc":"2.0","method":"a/b","params":{}}"#, "vm"),
            (r#"{"method":"a/b","params":{},"jsonrpc":"2.0","id":17}"#, "m"),
            (r#"{"id":17,"method":"a/b","jsonrpc":"2.0"}"#, "im"),
            (r#"{"result":{},"jsonrpc":"2.0","id":17}"#, ""),
            // The member isn't followed by a comma.
            (r#"{"jsonrpc":"2.0","method":"a/b"}"#, "v"),
            (r#"{"jsonrpc":"2.0","method":"a/b" ,"id":1}"#, "v"),
            (r#"{"jsonrpc":"2.0","id":17 ,"method":"a/b"}"#, "v"),
            (r#"{"jsonrpc":"2.0","method":"a/b","id":17}"#, "vm"),
            (r#"{"jsonrpc":"2.0"}"#, ""),
            // Unusual spellings.
            (r#"{"jsonrpc": "2.0","id":17,"method":"a/b","params":{}}"#, ""),
            (r#"{ "jsonrpc":"2.0","id":17,"method":"a/b","params":{}}"#, ""),
            (r#"{"jsonrpc":"2.0", "id":17,"method":"a/b","params":{}}"#, "v"),
            (r#"{"jsonrpc":"2.0","id": 17,"method":"a/b","params":{}}"#, "v"),
            (r#"{"jsonrpc":"2.0","\u0069d":17,"method":"a/b","params":{}}"#, "v"),
            (r#"{"jsonrpc":"2.0","id":17,"method":"a\/b","params":{}}"#, "vi"),
            (r#"{"jsonrpc":"2.0","id":17,"method":"é","params":{}}"#, "vi"),
            (r#"{"jsonrpc":"2.0","id":"17","method":"a/b","params":{}}"#, "v"),
            (r#"{"jsonrpc":"2.0","id":-17,"method":"a/b","params":{}}"#, "v"),
            (r#"{"jsonrpc":"2.0","id":1e1,"method":"a/b","params":{}}"#, "v"),
            (r#"{"jsonrpc":"2.0","id":1.0,"method":"a/b","params":{}}"#, "v"),
            (r#"{"jsonrpc":"2.0","id":01,"method":"a/b","params":{}}"#, "v"),
            (r#"{"jsonrpc":"2.0","id":12345678,"method":"a/b","params":{}}"#, "v"),
            (r#"{"jsonrpc":"2.1","id":17,"method":"a/b","params":{}}"#, ""),
            (r#"["id":17,"method":"a/b","params":{}]"#, ""),
        ] {
            assert_eq!(read_ahead(line, true), expected, "{line}");
            assert_eq!(read_ahead(line, false), expected.replace('m', ""), "{line}");
        }
    }

    /// Whether or not members are read ahead, the message, or the rule that a line breaks, is the same.
    #[test]
    fn reading_ahead_makes_no_difference() {
        let version = [r#""jsonrpc":"2.0""#, r#""jsonrpc":"2.1""#, r#""jsonrp\u0063":"2.0""#];
        let ids = [
            "0",
            "7",
            "1234567",
            "12345678",
            "123456789",
            "00",
            "01",
            "-1",
            "1.0",
            "1.5",
            "1e2",
            "1e",
            "1,",
            "\"\"",
            "\"a\"",
            "\"a\\n\"",
            "\"\\ud800\"",
            "null",
            "true",
            "[]",
            "",
        ];
        let methods = ["\"m\"", "\"tools/call\"", "\"a\\/b\"", "\"\\udc00\"", "\"é\"", "\"\u{1}\"", "\"", "1", ""];
        let ends = [r#""params":{}"#, r#""result":{}"#, r#""id":1"#, r#""method":"n""#, r#""jsonrpc":"2.0""#, "1", ""];
        let mut members = vec![];
        for version in version {
            for id in ids {
                members.push(vec![version.to_owned(), format!("\"id\":{id}"), "\"method\":\"m\"".to_owned()]);
                members.push(vec![version.to_owned(), format!("\"i\\u0064\":{id}")]);
            }
            for method in methods {
                members.push(vec![version.to_owned(), "\"id\":1".to_owned(), format!("\"method\":{method}")]);
            }
        }
        for rules in [Rules::json_rpc(), Rules::mcp(), Rules::mcp().max_id_len(7), Rules::json_rpc().max_id_len(0)] {
            for members in &members {
                for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [1, 0, 2], [2, 1, 0], [0, 2, 1]] {
                    for end in ends {
                        for comma in [",", ", ", " ,"] {
                            let mut parts: Vec<_> = order.iter().filter_map(|&i| members.get(i)).cloned().collect();
                            parts.push(end.to_owned());
                            compare(&format!("{{{}}}", parts.join(comma)), &rules);
                        }
                    }
                }
            }
        }
    }

    #[track_caller]
    fn compare(line: &str, rules: &Rules) {
        let buffer = [line, "\n{\"jsonrpc\":\"2.0\",\"id\":1}\n"].concat();
        let ahead = read_message(Input::first_line(buffer.as_bytes()), rules).map(|(text, envelope)| {
            assert_eq!(text, line);
            format!("{envelope:?}")
        });
        let whole = match read_line(line.as_bytes(), rules) {
            Ok((_, Contents::Message(envelope))) => Some(format!("{envelope:?}")),
            _ => None,
        };
        assert_eq!(ahead, whole, "{line}");
    }
}
