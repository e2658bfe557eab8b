//! The error response to a fault.

use std::fmt;

use crate::decode::{Answer, Fault};
use crate::message::{Id, code};

use super::line::to_line;
use super::rpc_error::RpcError;

impl Fault {
    /// The error response to send, or `None` if there should be none.
    ///
    /// A line that looks like a response (it has `result` or `error`, and no `method`) is never answered: two peers
    /// answering each other's answers would never stop. Any other line is answered with its id. If its id can't be
    /// read, [`Rules::answer_without_id`](crate::Rules::answer_without_id) decides.
    ///
    /// ```
    /// use wireline::{Encoder, Frame, Rules};
    ///
    /// let rules = Rules::mcp();
    /// let mut encoder = Encoder::new(rules);
    /// for line in [
    ///     &br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#[..], // a request: with its id
    ///     br#"{"jsonrpc":"2.0","id":2,"result":[]}"#,                             // a response: never
    ///     b"Server started",                                                      // noise: not under MCP rules
    /// ] {
    ///     let fault = Frame::parse(line, &rules).unwrap_err();
    ///     if let Some(reply) = fault.reply()
    ///         && let Err(error) = encoder.error_reply(&reply)
    ///     {
    ///         eprintln!("{error}"); // the line limit leaves no room for an answer
    ///     }
    /// }
    /// let answers = encoder.take();
    /// assert!(answers.starts_with(br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"#));
    /// assert_eq!(answers.iter().filter(|&&byte| byte == b'\n').count(), 1);
    /// ```
    #[must_use]
    pub fn reply(&self) -> Option<ErrorReply<'_>> {
        (self.answer() != Answer::Never).then_some(ErrorReply { fault: self })
    }
}

/// The error response to a fault; see [`Fault::reply`].
///
/// [`Encoder::error_reply`](crate::Encoder::error_reply) writes it as a line, [`Display`](fmt::Display) without a line
/// ending.
#[derive(Clone, Copy, Debug)]
pub struct ErrorReply<'a> {
    fault: &'a Fault,
}

impl<'a> ErrorReply<'a> {
    /// The error's code.
    #[must_use]
    pub fn code(&self) -> i64 {
        self.fault.code()
    }

    /// The error's message.
    #[must_use]
    pub fn message(&self) -> &'static str {
        if self.code() == code::PARSE_ERROR { "Parse error" } else { "Invalid Request" }
    }

    /// The id of the reply, which may be null, or `None` if the reply has no `id` member.
    #[must_use]
    pub fn id(&self) -> Option<Id<'a>> {
        match (self.fault.answer(), self.fault.id()) {
            (Answer::ById, Some(id)) => Some(id.clone()),
            (Answer::OmitId, _) => None,
            _ => Some(Id::NULL),
        }
    }

    /// The error to send, with the position of the fault.
    pub(super) fn error(&self) -> RpcError {
        let (name, line, column) = (self.fault.kind().name(), self.fault.line(), self.fault.column());
        let place = format!(r#"{{"fault":"{name}","line":{line},"column":{column}}}"#);
        RpcError::new(self.code(), self.message()).with_json(&place)
    }
}

/// The reply as JSON text, without a line ending.
impl fmt::Display for ErrorReply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The limits may be too tight for any answer. They don't matter here, because nothing is sent.
        let rules = self.fault.rules().max_line_len(usize::MAX).max_id_len(usize::MAX).max_depth(usize::MAX);
        let line = to_line(&rules, |encoder| encoder.error_reply(self)).map_err(|_| fmt::Error)?;
        f.write_str(line.text())
    }
}
