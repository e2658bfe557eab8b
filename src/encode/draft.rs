//! A message while it is being written.

use std::ops::Range;

use bytes::BytesMut;
use serde::Serialize;
use wireline_json::escape::append_spliced;
use wireline_json::{is_blank, pointer};

use crate::message::{AnyMessage, Envelope, FaultKind, Form, Id, MessageKind, Permits, Rules, envelope, id_rules};

use super::error::{EncodeError, EncodeErrorKind};
use super::null_params;
use super::rpc_error::RpcError;
use super::serializer::{self, Bounds, Done, Writer};

/// A line, or an entry of a batch, that is being written. If it is dropped before it is `whole`, it removes itself from
/// the buffer.
pub(crate) struct Draft<'d> {
    pub(crate) out: &'d mut BytesMut,
    rules: &'d Rules,
    /// Where the line starts in `out`.
    pub(crate) line: usize,
    /// Where the message starts.
    start: usize,
    /// Where to truncate: at the start of the message, or at the comma before it.
    from: usize,
    /// How many brackets are around the message.
    depth: u32,
    /// Whether the message is complete, including the line feed of a line.
    whole: bool,
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.whole {
            self.out.truncate(self.from);
        }
    }
}

impl<'d> Draft<'d> {
    /// A line at the end of `out`.
    pub(crate) fn line(out: &'d mut BytesMut, rules: &'d Rules) -> Self {
        let start = out.len();
        Self { out, rules, line: start, start, from: start, depth: 0, whole: false }
    }

    /// An entry at the end of `out`, in a batch that starts at `line` and has `len` entries so far.
    pub(crate) fn entry(out: &'d mut BytesMut, rules: &'d Rules, line: usize, len: usize) -> Result<Self, EncodeError> {
        if len == rules.limits.max_batch_len {
            return Err(EncodeError::rule(FaultKind::BatchTooLong, None));
        }
        let from = out.len();
        let mut draft = Self { out, rules, line, start: from, from, depth: 1, whole: false };
        if len > 0 {
            draft.text(b",")?;
            draft.start += 1;
        }
        Ok(draft)
    }

    /// Ends the message and keeps it. Adds the line feed to a line that has none yet.
    #[inline]
    pub(crate) fn complete(&mut self) -> Result<(), EncodeError> {
        if self.rules.escape_line_separators {
            self.escape_line_separators()?;
        }
        match self.depth {
            0 if self.whole => {}
            0 => self.out.extend_from_slice(b"\n"),
            // Leave room for the bracket that ends the batch.
            _ => self.check_room(1)?,
        }
        self.whole = true;
        Ok(())
    }

    /// Escapes U+2028 and U+2029 in the message. In valid JSON, they occur only in strings.
    #[cold]
    #[inline(never)]
    fn escape_line_separators(&mut self) -> Result<(), EncodeError> {
        const ESCAPES: [&[u8]; 2] = [br"\u2028", br"\u2029"];

        let text = &self.out[self.start..];
        // Most messages don't even have a byte that a separator could start with.
        if memchr::memchr(0xe2, text).is_none() {
            return Ok(());
        }
        let is_separator = |&at: &usize| matches!(text.get(at + 2), Some(0xa8 | 0xa9));
        let separators: Vec<_> = memchr::memmem::find_iter(text, b"\xe2\x80").filter(is_separator).collect();
        if separators.is_empty() {
            return Ok(());
        }
        let text = text.to_vec();
        let line_feed = usize::from(self.whole);
        self.whole = false;
        self.check_room(separators.len() * 3 - line_feed)?;
        self.out.truncate(self.start);
        let mut copied = 0;
        for at in separators {
            self.out.extend_from_slice(&text[copied..at]);
            self.out.extend_from_slice(ESCAPES[usize::from(text[at + 2] & 1)]);
            copied = at + 3;
        }
        self.out.extend_from_slice(&text[copied..]);
        self.whole = line_feed > 0;
        Ok(())
    }

    pub(crate) fn request(
        &mut self,
        id: &Id<'_>,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<(), EncodeError> {
        self.check_depth(1)?;
        self.check_side(Permits::REQUESTS)?;
        let id = id.as_json();
        self.check_id(id, MessageKind::Request)?;
        let rules = self.rules;
        self.write(|writer| {
            match rules.dialect.form {
                Form::Version2 => writer.around(br#"{"jsonrpc":"2.0","id":"#, id.as_bytes(), br#","method":""#)?,
                _ => writer.around(br#"{"id":"#, id.as_bytes(), br#","method":""#)?,
            }
            writer.escaped(b"", method, br#"","params":"#)?;
            write_params(writer, params, rules)
        })
    }

    pub(crate) fn notification(&mut self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), EncodeError> {
        self.check_depth(1)?;
        let rules = self.rules;
        self.write(|writer| {
            match rules.dialect.form {
                Form::Version2 => writer.escaped(br#"{"jsonrpc":"2.0","method":""#, method, br#"","params":"#)?,
                Form::Unversioned => writer.escaped(br#"{"method":""#, method, br#"","params":"#)?,
                Form::Stratum => writer.escaped(br#"{"id":null,"method":""#, method, br#"","params":"#)?,
            }
            write_params(writer, params, rules)
        })
    }

    pub(crate) fn response(&mut self, id: &Id<'_>, result: &(impl Serialize + ?Sized)) -> Result<(), EncodeError> {
        self.check_depth(1)?;
        self.check_side(Permits::RESPONSES)?;
        let id = id.as_json();
        self.check_id(id, MessageKind::Result)?;
        let form = self.rules.dialect.form;
        let start = self.write(|writer| {
            match form {
                Form::Version2 => writer.around(br#"{"jsonrpc":"2.0","id":"#, id.as_bytes(), br#","result":"#)?,
                _ => writer.around(br#"{"id":"#, id.as_bytes(), br#","result":"#)?,
            }
            let start = writer.position();
            writer.value(result)?;
            match form {
                Form::Stratum => writer.put([br#","error":null}"#])?,
                _ => writer.put([b"}"])?,
            }
            Ok(start)
        })?;
        if !self.rules.permits.contains(Permits::ANY_RESULT) && self.out.get(start) != Some(&b'{') {
            self.whole = false;
            return Err(EncodeError::rule(FaultKind::InvalidResult, start - self.start));
        }
        if !self.rules.permits.contains(Permits::UNTYPED_RESULTS) {
            let result = std::str::from_utf8(&self.out[start..]).unwrap_or_default();
            if !envelope::has_result_type(result) {
                self.whole = false;
                return Err(EncodeError::rule(FaultKind::MissingResultType, start - self.start));
            }
        }
        Ok(())
    }

    pub(crate) fn error(&mut self, id: Option<&Id<'_>>, error: &RpcError) -> Result<(), EncodeError> {
        self.check_depth(2)?;
        self.check_side(Permits::RESPONSES)?;
        self.check_code(error.code())?;
        let id = id.map(Id::as_json);
        match id {
            Some(id) => self.check_id(id, MessageKind::Error)?,
            None if self.rules.permits.contains(Permits::ERROR_WITHOUT_ID) => {}
            None => return Err(EncodeError::rule(FaultKind::MissingId, None)),
        }
        let form = self.rules.dialect.form;
        let write = |writer: &mut Writer<'_>| {
            match (form, id) {
                (Form::Stratum, id) => return write_error_array(writer, id, error),
                (Form::Version2, Some(id)) => {
                    writer.around(br#"{"jsonrpc":"2.0","id":"#, id.as_bytes(), br#","error":{"code":"#)?;
                }
                (Form::Version2, None) => writer.put([br#"{"jsonrpc":"2.0","error":{"code":"#])?,
                (Form::Unversioned, Some(id)) => writer.around(br#"{"id":"#, id.as_bytes(), br#","error":{"code":"#)?,
                (Form::Unversioned, None) => writer.put([br#"{"error":{"code":"#])?,
            }
            writer.i64(false, error.code())?;
            writer.escaped(br#","message":""#, error.message(), b"\"")?;
            if let Some(data) = error.data() {
                writer.put([br#","data":"#, data])?;
            }
            writer.put([b"}}"])
        };
        if error.data().is_none() {
            return self.write(write);
        }
        // The data was validated when it was added to the error, but may be too deep for these rules.
        serializer::append(self.out, self.bounds(), write)?;
        self.check_rules()
    }

    pub(crate) fn message(&mut self, message: &(impl Serialize + ?Sized)) -> Result<(), EncodeError> {
        let bounds = self.bounds();
        let bounds = Bounds { depth: bounds.depth + 1, ..bounds };
        serializer::append(self.out, bounds, |writer| writer.value(message))?;
        self.check_rules()
    }

    pub(crate) fn raw(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        self.text(text)?;
        match memchr::memchr2(b'\n', b'\r', text) {
            Some(at) => Err(EncodeError::line_break(at)),
            None => self.check_rules(),
        }
    }

    pub(crate) fn flatten(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        self.text(trimmed(text))?;
        self.check_rules()?;
        self.replace_line_breaks();
        Ok(())
    }

    pub(crate) fn normalize(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        self.text(trimmed(text))?;
        // Most texts have no null params, so this reads them only once.
        match self.check(&self.rules.null_params(false)) {
            Err(error) if error.kind() == EncodeErrorKind::Rule(FaultKind::InvalidParams) => {
                self.check(&self.rules.null_params(true))?;
                null_params::remove(self.out, self.start);
            }
            checked => checked?,
        }
        self.replace_line_breaks();
        Ok(())
    }

    pub(crate) fn forward(&mut self, message: &impl AnyMessage) -> Result<(), EncodeError> {
        let (text, envelope) = message.text_and_envelope();
        if envelope.id.range().len() > self.rules.longest_id() {
            return Err(EncodeError::rule(FaultKind::IdTooLong, envelope.id.start()));
        }
        self.text(text.as_bytes())?;
        self.check_again(envelope)
    }

    pub(crate) fn forward_with_id(&mut self, message: &impl AnyMessage, id: &Id<'_>) -> Result<(), EncodeError> {
        let (text, envelope) = message.text_and_envelope();
        if envelope.id.is_empty() {
            return Err(EncodeError::no_id());
        }
        let id = id.as_json();
        self.check_id(id, envelope.kind)?;
        let range = envelope.id.range();
        self.check_room(text.len() - range.len() + id.len())?;
        let line_feed = self.passes(envelope) && envelope.is_one_line;
        append_spliced(self.out, text.as_bytes(), range, id.as_bytes(), line_feed);
        self.whole = line_feed;
        if line_feed { Ok(()) } else { self.check_again(envelope) }
    }

    /// Writes a message with its value at `pointer` replaced, and also its id if one is given.
    pub(crate) fn forward_with(
        &mut self,
        message: &impl AnyMessage,
        id: Option<&Id<'_>>,
        pointer: &str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), EncodeError> {
        let (text, envelope) = message.text_and_envelope();
        let place = range_of(text, pointer).ok_or_else(EncodeError::pointer)?;
        // The parts before and after the value. The id is in one of them.
        let (before, after) = (0..place.start, place.end..text.len());
        let old_id = envelope.id.range();
        match id {
            None => self.text(&text.as_bytes()[before])?,
            Some(_) if old_id.is_empty() => return Err(EncodeError::no_id()),
            Some(id) => {
                self.check_id(id.as_json(), envelope.kind)?;
                self.spliced(text, before, &old_id, id)?;
            }
        }
        serializer::append(self.out, self.bounds(), |writer| writer.value(value))?;
        match id {
            None => self.text(&text.as_bytes()[after])?,
            Some(id) => self.spliced(text, after, &old_id, id)?,
        }
        self.check_anew(envelope)?;
        if !envelope.is_one_line {
            self.replace_line_breaks();
        }
        Ok(())
    }

    /// Writes a part of a message, replacing the id if that is in it.
    fn spliced(
        &mut self,
        text: &str,
        part: Range<usize>,
        old_id: &Range<usize>,
        id: &Id<'_>,
    ) -> Result<(), EncodeError> {
        if !(part.start <= old_id.start && old_id.end <= part.end) {
            return self.text(&text.as_bytes()[part]);
        }
        self.text(&text.as_bytes()[part.start..old_id.start])?;
        self.text(id.as_json().as_bytes())?;
        self.text(&text.as_bytes()[old_id.end..part.end])
    }

    /// Writes a whole message, with a line feed if it is a line.
    #[inline(always)]
    fn write<R>(
        &mut self,
        write: impl FnOnce(&mut Writer<'_>) -> Result<R, serde_json::Error>,
    ) -> Result<R, EncodeError> {
        let line_feed = self.depth == 0;
        let written = serializer::append(self.out, Bounds { line_feed, ..self.bounds() }, write)?;
        self.whole = line_feed;
        Ok(written)
    }

    /// The bounds of a message, whose outermost bracket is already counted.
    fn bounds(&self) -> Bounds {
        Bounds {
            start: self.start,
            end: self.line.saturating_add(self.rules.limits.max_line_len),
            depth: self.rules.max_depth_u32().saturating_sub(self.depth + 1),
            line_feed: false,
        }
    }

    pub(crate) fn text(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        self.check_room(text.len())?;
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn check_room(&self, additional: usize) -> Result<(), EncodeError> {
        let limit = self.rules.limits.max_line_len;
        if self.out.len() - self.line + additional <= limit {
            return Ok(());
        }
        Err(EncodeError::rule(FaultKind::LineTooLong, self.line.saturating_add(limit).saturating_sub(self.start)))
    }

    /// Checks that the message may open this many brackets.
    fn check_depth(&self, brackets: u32) -> Result<(), EncodeError> {
        match self.depth + brackets <= self.rules.max_depth_u32() {
            true => Ok(()),
            false => Err(EncodeError::rule(FaultKind::TooDeep, None)),
        }
    }

    /// Checks that this side may send messages of this kind.
    #[inline]
    fn check_side(&self, kind: Permits) -> Result<(), EncodeError> {
        match self.rules.permits.contains(kind) {
            true => Ok(()),
            false => Err(EncodeError::rule(FaultKind::WrongSide, None)),
        }
    }

    /// Checks that the protocol doesn't reserve an error code.
    #[inline]
    fn check_code(&self, code: i64) -> Result<(), EncodeError> {
        match self.rules.dialect.reserves(code) {
            true => Err(EncodeError::rule(FaultKind::ReservedCode, None)),
            false => Ok(()),
        }
    }

    #[inline]
    fn check_id(&self, id: &str, kind: MessageKind) -> Result<(), EncodeError> {
        id_rules::check_id(id, kind, self.rules).map_err(|kind| EncodeError::rule(kind, None))
    }

    /// Whether a message that has passed other rules certainly passes these.
    fn passes(&self, before: &Envelope) -> bool {
        self.depth == 0 && self.rules.forwarding().message_rules().covers(before.passed)
    }

    /// Checks that a message that has passed other rules passes these. Reads it again only if these may be stricter.
    #[inline]
    fn check_again(&mut self, before: &Envelope) -> Result<(), EncodeError> {
        if !self.passes(before) {
            self.check_anew(before)?;
        }
        if !before.is_one_line {
            self.replace_line_breaks();
        }
        Ok(())
    }

    /// Checks that a message that was written anew passes the rules, and still expects an answer if it did `before`: with
    /// a null id, a request of one dialect is a notification of another.
    fn check_anew(&self, before: &Envelope) -> Result<(), EncodeError> {
        let after = self.read()?;
        match (before.kind == MessageKind::Request) == (after.kind == MessageKind::Request) {
            true => Ok(()),
            false => Err(EncodeError::rule(FaultKind::InvalidId, None)),
        }
    }

    /// Reads the message written so far, which is not a batch, by the rules.
    fn read(&self) -> Result<Envelope, EncodeError> {
        let max_depth = self.rules.limits.max_depth.saturating_sub(self.depth as usize);
        envelope::read_entry(&self.out[self.start..], &self.rules.forwarding().max_depth(max_depth))
            .map_err(|violation| EncodeError::rule(violation.kind, violation.at))
    }

    /// Checks that the text written so far passes the rules.
    fn check_rules(&self) -> Result<(), EncodeError> {
        self.check(self.rules)
    }

    fn check(&self, rules: &Rules) -> Result<(), EncodeError> {
        let text = &self.out[self.start..];
        let checked = match self.depth {
            0 => envelope::check_all(text, rules),
            depth => {
                let max_depth = rules.limits.max_depth.saturating_sub(depth as usize);
                envelope::read_entry(text, &rules.max_depth(max_depth)).map(drop)
            }
        };
        checked.map_err(|violation| EncodeError::rule(violation.kind, violation.at))
    }

    /// Replaces every line break with a space. In valid JSON they occur only between tokens, so no value changes.
    fn replace_line_breaks(&mut self) {
        for byte in &mut self.out[self.start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

/// Writes an error as Stratum does.
#[cold]
fn write_error_array(writer: &mut Writer<'_>, id: Option<&str>, error: &RpcError) -> Done {
    match id {
        Some(id) => writer.around(br#"{"id":"#, id.as_bytes(), br#","result":null,"error":["#)?,
        None => writer.put([br#"{"result":null,"error":["#])?,
    }
    writer.i64(false, error.code())?;
    writer.escaped(b",\"", error.message(), b"\",")?;
    writer.put([error.data().unwrap_or(b"null"), b"]}"])
}

/// Writes params with their name, and the bracket that ends the message. Null params are removed again together with
/// their name, and count towards no limit. Stratum requires params.
#[inline(always)]
fn write_params(writer: &mut Writer<'_>, params: &(impl Serialize + ?Sized), rules: &Rules) -> Done {
    let start = writer.position();
    writer.value(params)?;
    match writer.since(start) {
        b"null" if rules.dialect.form == Form::Stratum => {
            writer.take_back(b"null".len());
            writer.value(&[(); 0])?;
        }
        b"null" => writer.take_back(br#","params":null"#.len()),
        [b'{', ..] => {}
        [b'[', ..] if rules.permits.contains(Permits::ARRAY_PARAMS) => {}
        _ if rules.permits.contains(Permits::SCALAR_PARAMS) => {}
        _ => return Err(writer.refuse(start, FaultKind::InvalidParams)),
    }
    writer.put([b"}"])
}

/// The range of the value at `pointer` in a message. `None` if there is no such value, if the pointer is ambiguous, or
/// if it leads to the message itself or its id, which `forward_with` doesn't replace.
fn range_of(text: &str, pointer: &str) -> Option<Range<usize>> {
    let message = text.trim_start_matches([' ', '\t', '\n', '\r']);
    let found = pointer::find_only(message, pointer).filter(|_| !pointer.is_empty() && pointer != "/id")?;
    let start = found.as_ptr().addr() - text.as_ptr().addr();
    Some(start..start + found.len())
}

/// `text` without the white space around it.
fn trimmed(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| !is_blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|&byte| !is_blank(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}
