//! A message while it is being written.

use bytes::BytesMut;
use serde::Serialize;

use crate::decode::Reply;
use crate::json::is_blank;
use crate::message::{AnyMessage, Envelope, FaultKind, Id, Kind, Permits, Rules, envelope};

use super::error::{EncodeError, EncodeErrorKind};
use super::null_params;
use super::rpc_error::RpcError;
use super::serializer::{self, Bounds};

const NULL_PARAMS: &[u8] = br#","params":null"#;

/// A line, or an entry of a batch, that is being written. When dropped before it is `whole`, it is removed again.
pub(crate) struct Draft<'d> {
    pub(crate) out: &'d mut BytesMut,
    pub(crate) rules: &'d Rules,
    /// Where the line starts in `out`.
    pub(crate) line: usize,
    /// Where the message starts.
    pub(crate) start: usize,
    /// Where to truncate: at the start of the message, or at the comma before it.
    pub(crate) from: usize,
    /// How many brackets are around the message.
    pub(crate) depth: u32,
    pub(crate) whole: bool,
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

    pub(crate) fn request(
        &mut self,
        id: &Id<'_>,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<(), EncodeError> {
        self.check_depth(1)?;
        self.check_id(id.as_json(), Kind::Request)?;
        self.text(br#"{"jsonrpc":"2.0","id":"#)?;
        self.text(id.as_json().as_bytes())?;
        self.text(br#","method":"#)?;
        self.call(method, params)
    }

    pub(crate) fn notification(&mut self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), EncodeError> {
        self.check_depth(1)?;
        self.text(br#"{"jsonrpc":"2.0","method":"#)?;
        self.call(method, params)
    }

    fn call(&mut self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), EncodeError> {
        serializer::append_str(self.out, method, self.bounds(0))?;
        let end = self.out.len();
        // Null params are removed again, so they may exceed the limit.
        self.out.extend_from_slice(br#","params":"#);
        let from = self.out.len();
        serializer::append(self.out, params, self.bounds(NULL_PARAMS.len()))?;
        match &self.out[from..] {
            b"null" => self.out.truncate(end),
            [b'{', ..] => {}
            [b'[', ..] if self.rules.permits.contains(Permits::ARRAY_PARAMS) => {}
            _ => return Err(EncodeError::rule(FaultKind::InvalidParams, from - self.start)),
        }
        self.text(b"}")
    }

    pub(crate) fn response(&mut self, id: &Id<'_>, result: &(impl Serialize + ?Sized)) -> Result<(), EncodeError> {
        self.check_depth(1)?;
        self.check_id(id.as_json(), Kind::Result)?;
        let before: [&[u8]; 3] = [br#"{"jsonrpc":"2.0","id":"#, id.as_json().as_bytes(), br#","result":"#];
        let from = serializer::append_between(self.out, before, result, b"}", self.bounds(0))?;
        if !self.rules.permits.contains(Permits::ANY_RESULT) && self.out.get(from) != Some(&b'{') {
            return Err(EncodeError::rule(FaultKind::InvalidResult, from - self.start));
        }
        Ok(())
    }

    pub(crate) fn error(&mut self, id: Option<&Id<'_>>, error: &RpcError) -> Result<(), EncodeError> {
        self.check_depth(2)?;
        self.text(br#"{"jsonrpc":"2.0","#)?;
        match id {
            Some(id) => {
                self.check_id(id.as_json(), Kind::Error)?;
                self.text(br#""id":"#)?;
                self.text(id.as_json().as_bytes())?;
                self.text(b",")?;
            }
            None if self.rules.permits.contains(Permits::ERROR_WITHOUT_ID) => {}
            None => return Err(EncodeError::rule(FaultKind::MissingId, None)),
        }
        self.text(br#""error":{"code":"#)?;
        serializer::append_i64(self.out, error.code(), self.bounds(0))?;
        self.text(br#","message":"#)?;
        serializer::append_str(self.out, error.message(), self.bounds(0))?;
        if let Some(data) = error.data() {
            self.text(br#","data":"#)?;
            self.text(data)?;
        }
        self.text(b"}}")?;
        // The data was valid when it was added to the error, but may be too deep for these rules.
        if error.data().is_some() { self.check_rules() } else { Ok(()) }
    }

    pub(crate) fn error_reply(&mut self, reply: &Reply<'_>) -> Result<(), EncodeError> {
        let fault = reply.fault();
        let (name, line, column) = (fault.kind().name(), fault.line(), fault.column());
        let place = format!(r#"{{"fault":"{name}","line":{line},"column":{column}}}"#);
        let error = RpcError::new(reply.code(), reply.message()).with_json(&place);
        self.error(reply.id().as_ref(), &error)
    }

    pub(crate) fn message(&mut self, message: &(impl Serialize + ?Sized)) -> Result<(), EncodeError> {
        let bounds = self.bounds(0);
        serializer::append(self.out, message, Bounds { depth: bounds.depth + 1, ..bounds })?;
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
        // Most texts have no null params, and are read only once.
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

    pub(crate) fn with_id(&mut self, message: &impl AnyMessage, id: &Id<'_>) -> Result<(), EncodeError> {
        let (text, envelope) = message.text_and_envelope();
        if envelope.id.is_empty() {
            return Err(EncodeError::rule(FaultKind::MissingId, None));
        }
        let id = id.as_json();
        self.check_id(id, envelope.kind)?;
        let range = envelope.id.range();
        serializer::append_spliced(self.out, text.as_bytes(), range, id.as_bytes(), self.bounds(0))?;
        self.check_again(envelope)
    }

    /// The bounds of a payload that may exceed the line limit by `excess`.
    fn bounds(&self, excess: usize) -> Bounds {
        Bounds {
            start: self.start,
            end: self.line.saturating_add(self.rules.limits.max_line_len).saturating_add(excess),
            depth: self.rules.max_depth_u32().saturating_sub(self.depth + 1),
        }
    }

    pub(crate) fn text(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        self.check_room(text.len())?;
        self.out.extend_from_slice(text);
        Ok(())
    }

    pub(crate) fn check_room(&self, additional: usize) -> Result<(), EncodeError> {
        let limit = self.rules.limits.max_line_len;
        if self.out.len() - self.line + additional <= limit {
            return Ok(());
        }
        Err(EncodeError::rule(FaultKind::LineTooLong, limit))
    }

    /// Checks that the message may open this many brackets of its own.
    fn check_depth(&self, brackets: u32) -> Result<(), EncodeError> {
        match self.depth + brackets <= self.rules.max_depth_u32() {
            true => Ok(()),
            false => Err(EncodeError::rule(FaultKind::TooDeep, None)),
        }
    }

    #[inline]
    fn check_id(&self, id: &str, kind: Kind) -> Result<(), EncodeError> {
        envelope::check_id(id, kind, self.rules).map_err(|kind| EncodeError::rule(kind, None))
    }

    /// Checks that a message that has passed other rules passes these. It is read again only if these may be stricter.
    #[inline]
    fn check_again(&mut self, before: &Envelope) -> Result<(), EncodeError> {
        if !self.rules.standard().covers(before.passed) || self.depth > 0 {
            self.check_rules()?;
        }
        if !before.is_one_line {
            self.replace_line_breaks();
        }
        Ok(())
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

/// `text` without the white space around it.
fn trimmed(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| !is_blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|&byte| !is_blank(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}
