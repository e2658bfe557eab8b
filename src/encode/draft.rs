//! One message while it is being written: how each kind is spelled, and what is refused.

use bytes::BytesMut;

use crate::decode::fault::{FaultKind, Reply};
use crate::encode::error::EncodeError;
use crate::encode::payload::{LimitedWriter, Payload, refuse_line_breaks};
use crate::encode::rpc_error::RpcError;
use crate::encode::serializer::Notes;
use crate::message::envelope::{self, Envelope, Kind};
use crate::message::id::Id;
use crate::message::rules::{Dialect, Rules};

/// A line, or an entry of a batch, that is being written. It is taken back unless it gets whole.
pub(crate) struct Draft<'d> {
    pub(crate) out: &'d mut BytesMut,
    pub(crate) rules: &'d Rules,
    /// Where the line begins in `out`.
    pub(crate) line: usize,
    /// Where the message begins.
    pub(crate) start: usize,
    /// What is taken back to: where the message begins, or the comma before it.
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

impl Draft<'_> {
    pub(crate) fn request(
        &mut self,
        id: &Id<'_>,
        method: &str,
        params: &(impl Payload + ?Sized),
    ) -> Result<(), EncodeError> {
        self.permits_id(id.as_json().as_bytes(), Kind::Request)?;
        self.text(br#"{"jsonrpc":"2.0","id":"#)?;
        self.text(id.as_json().as_bytes())?;
        self.text(br#","method":"#)?;
        self.call(method, params)
    }

    pub(crate) fn notification(&mut self, method: &str, params: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.text(br#"{"jsonrpc":"2.0","method":"#)?;
        self.call(method, params)
    }

    fn call(&mut self, method: &str, params: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.payload(method)?;
        let end = self.out.len();
        // Params that are null are taken back, so they may go beyond the limit.
        self.out.extend_from_slice(br#","params":"#);
        let (from, verbatim) =
            self.payload_within(params, self.rules.max_line_len.saturating_add(br#","params":null"#.len()))?;
        match (&self.out[from..], self.rules.dialect) {
            (b"null", _) => self.out.truncate(end),
            ([b'{', ..], _) | ([b'[', ..], Dialect::JsonRpc | Dialect::Acp) => {}
            _ => return Err(EncodeError::rule(FaultKind::InvalidParams, from - self.start)),
        }
        self.close(verbatim)
    }

    pub(crate) fn response(&mut self, id: &Id<'_>, result: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.permits_id(id.as_json().as_bytes(), Kind::Result)?;
        self.text(br#"{"jsonrpc":"2.0","id":"#)?;
        self.text(id.as_json().as_bytes())?;
        self.text(br#","result":"#)?;
        let (from, verbatim) = self.payload(result)?;
        if matches!(self.rules.dialect, Dialect::Mcp) && self.out.get(from) != Some(&b'{') {
            return Err(EncodeError::rule(FaultKind::InvalidResult, from - self.start));
        }
        self.close(verbatim)
    }

    pub(crate) fn error(&mut self, id: Option<&Id<'_>>, error: &RpcError) -> Result<(), EncodeError> {
        if self.depth + 2 > self.rules.max_depth {
            return Err(EncodeError::rule(FaultKind::TooDeep, None));
        }
        self.text(br#"{"jsonrpc":"2.0","#)?;
        match id {
            Some(id) => {
                self.permits_id(id.as_json().as_bytes(), Kind::Error)?;
                self.text(br#""id":"#)?;
                self.text(id.as_json().as_bytes())?;
                self.text(b",")?;
            }
            None if self.rules.permit_errors_without_id() => {}
            None => return Err(EncodeError::rule(FaultKind::MissingId, None)),
        }
        self.text(br#""error":{"code":"#)?;
        self.payload(&error.code())?;
        self.text(br#","message":"#)?;
        self.payload(error.message())?;
        if let Some(data) = error.data() {
            self.text(br#","data":"#)?;
            self.text(data)?;
        }
        self.text(b"}")?;
        self.close(error.data().is_some())
    }

    pub(crate) fn error_reply(&mut self, reply: &Reply<'_>) -> Result<(), EncodeError> {
        self.text(reply.to_string().as_bytes())?;
        self.judge()
    }

    pub(crate) fn message(&mut self, message: &(impl Payload + ?Sized)) -> Result<(), EncodeError> {
        self.append(message, self.rules.max_line_len)?;
        self.refuse_line_breaks()?;
        self.judge()
    }

    pub(crate) fn raw(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        self.text(text)?;
        self.refuse_line_breaks()?;
        self.judge()
    }

    /// Ends the object. What was taken over as it came is looked at once more.
    fn close(&mut self, verbatim: bool) -> Result<(), EncodeError> {
        self.text(b"}")?;
        if verbatim {
            self.refuse_line_breaks()?;
            self.judge()?;
        }
        Ok(())
    }

    /// Appends a payload, and says where it begins, and whether it was taken over as it came.
    fn payload(&mut self, payload: &(impl Payload + ?Sized)) -> Result<(usize, bool), EncodeError> {
        self.payload_within(payload, self.rules.max_line_len)
    }

    fn payload_within(
        &mut self,
        payload: &(impl Payload + ?Sized),
        limit: usize,
    ) -> Result<(usize, bool), EncodeError> {
        let from = self.out.len();
        let notes = self.append(payload, limit)?;
        if notes.deepest.get() + 1 + self.depth > self.rules.max_depth {
            return Err(EncodeError::rule(FaultKind::TooDeep, None));
        }
        Ok((from, notes.verbatim.get()))
    }

    fn append(&mut self, payload: &(impl Payload + ?Sized), limit: usize) -> Result<Notes, EncodeError> {
        let notes = Notes::default();
        let end = self.line.saturating_add(limit);
        payload.write(&mut LimitedWriter { out: self.out, end, start: self.start }, &notes)?;
        Ok(notes)
    }

    pub(crate) fn text(&mut self, text: &[u8]) -> Result<(), EncodeError> {
        self.fits(text.len())?;
        self.out.extend_from_slice(text);
        Ok(())
    }

    pub(crate) fn fits(&self, additional: usize) -> Result<(), EncodeError> {
        if self.out.len() - self.line + additional <= self.rules.max_line_len {
            return Ok(());
        }
        Err(EncodeError::rule(FaultKind::LineTooLong, self.rules.max_line_len))
    }

    pub(crate) fn permits_id(&self, id: &[u8], kind: Kind) -> Result<(), EncodeError> {
        match envelope::is_permitted_id(id, kind, self.rules) {
            true => Ok(()),
            false => Err(EncodeError::rule(FaultKind::InvalidId, None)),
        }
    }

    pub(crate) fn refuse_line_breaks(&self) -> Result<(), EncodeError> {
        refuse_line_breaks(&self.out[self.start..])
    }

    /// Holds a message that has been judged before to these rules: again only if they may be stricter.
    pub(crate) fn judge_again(&self, before: &Envelope) -> Result<(), EncodeError> {
        if !before.is_one_line {
            self.refuse_line_breaks()?;
        }
        if self.rules.standard().permits_all_of(before.judged_by) { Ok(()) } else { self.judge() }
    }

    /// Holds what has been written to the rules.
    pub(crate) fn judge(&self) -> Result<(), EncodeError> {
        let text = &self.out[self.start..];
        let rules = Rules { max_depth: self.rules.max_depth.saturating_sub(self.depth), ..*self.rules };
        let judged = match self.depth {
            0 => envelope::judge_all(text, &rules),
            _ => envelope::judge_entry(text, &rules).map(drop),
        };
        judged.map_err(|complaint| EncodeError::rule(complaint.kind, complaint.at))
    }
}
