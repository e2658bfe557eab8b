//! What a dialect of JSON-RPC permits, and the limits.

use crate::json::scan::{Cpu, DEEPEST, Scanner};

/// The longest line that the scanner's spans can speak of.
const LONGEST: usize = u32::MAX as usize - 1;

/// What is accepted: a dialect of JSON-RPC 2.0 and its limits, each adjustable.
///
/// ```
/// use wireline::{FaultKind, Frame, Rules};
///
/// // MCP as of 2025-03-26, which had batches, on a link where no line is longer than a megabyte.
/// let rules = Rules::mcp().batches(true).max_batch_len(50).max_line_len(1 << 20);
/// let line = br#"[{"jsonrpc":"2.0","method":"note"}]"#;
/// assert!(Frame::parse(line, &rules).is_ok());
/// assert_eq!(Frame::parse(line, &Rules::mcp()).unwrap_err().kind(), FaultKind::BatchNotAllowed);
/// ```
///
/// | | [`json_rpc`](Self::json_rpc) | [`mcp`](Self::mcp) | [`acp`](Self::acp) |
/// |---|---|---|---|
/// | `id` of a request | string, number, null | string, integer | string, integer, null |
/// | `id` of a response | string, number, null | string, integer; may be absent in an error | string, integer; null in an error |
/// | `params` | object or array | object | object or array |
/// | `result` | anything | object | anything |
/// | batches | yes | no | yes |
/// | a bad line without an id is answered | with `id: null` | not at all | with `id: null` |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub(crate) dialect: Dialect,
    pub(crate) max_line_len: usize,
    pub(crate) max_depth: u32,
    pub(crate) max_batch_len: usize,
    pub(crate) batches: bool,
    pub(crate) skip_blank_lines: bool,
    pub(crate) null_params: bool,
    pub(crate) answer_without_id: AnswerWithoutId,
    pub(crate) scanner: Scanner,
}

impl Rules {
    /// JSON-RPC 2.0 as it is written.
    pub fn json_rpc() -> Self {
        Self {
            dialect: Dialect::JsonRpc,
            max_line_len: 16 << 20,
            max_depth: 128,
            max_batch_len: 1024,
            batches: true,
            skip_blank_lines: true,
            null_params: false,
            answer_without_id: AnswerWithoutId::NullId,
            scanner: Scanner::best(),
        }
    }

    /// The Model Context Protocol, in its revisions from 2025-06-18 on.
    ///
    /// Revision 2025-03-26 also has batches: [`batches(true)`](Self::batches).
    pub fn mcp() -> Self {
        Self { dialect: Dialect::Mcp, batches: false, answer_without_id: AnswerWithoutId::Never, ..Self::json_rpc() }
    }

    /// The Agent Client Protocol.
    pub fn acp() -> Self {
        Self { dialect: Dialect::Acp, ..Self::json_rpc() }
    }

    /// The longest line accepted, in bytes without its line end: 16 MiB unless set, 4 GiB at the most.
    ///
    /// A longer line is discarded as it comes in, and becomes one [`LineTooLong`](crate::FaultKind::LineTooLong). An
    /// encoder refuses to make one.
    ///
    /// ```
    /// use wireline::{Decoder, FaultKind, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::mcp().max_line_len(40));
    /// decoder.feed(b"{\"jsonrpc\":\"2.0\",\"method\":\"much too long a name\",\"id\":1}\n");
    /// let fault = decoder.next_frame().unwrap().unwrap_err();
    /// assert_eq!(fault.kind(), FaultKind::LineTooLong);
    /// assert_eq!(fault.id().unwrap().as_i64(), Some(1)); // found while it was discarded
    /// ```
    #[must_use]
    pub fn max_line_len(mut self, bytes: usize) -> Self {
        self.max_line_len = bytes.min(LONGEST);
        self
    }

    /// How deep brackets may be nested: 128 unless set, 1024 at the most.
    ///
    /// The outermost object counts as one, and so does the array around a batch.
    ///
    /// ```
    /// use wireline::{FaultKind, Frame, Rules};
    ///
    /// let line = br#"{"jsonrpc":"2.0","method":"note","params":{"a":[]}}"#; // three deep
    /// assert!(Frame::parse(line, &Rules::mcp().max_depth(3)).is_ok());
    /// assert_eq!(Frame::parse(line, &Rules::mcp().max_depth(2)).unwrap_err().kind(), FaultKind::TooDeep);
    /// ```
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the deepest is far below")]
    pub fn max_depth(mut self, depth: usize) -> Self {
        self.max_depth = depth.min(DEEPEST as usize) as u32;
        self
    }

    /// Whether a line may be an array of messages.
    #[must_use]
    pub fn batches(mut self, allowed: bool) -> Self {
        self.batches = allowed;
        self
    }

    /// How many entries a batch may have: 1024 unless set. A longer one is a fault as a whole.
    #[must_use]
    pub fn max_batch_len(mut self, entries: usize) -> Self {
        self.max_batch_len = entries;
        self
    }

    /// Whether lines of nothing but spaces, tabs and carriage returns are passed over, as they are unless set, or are
    /// a [`BlankLine`](crate::FaultKind::BlankLine) fault each.
    ///
    /// ```
    /// use wireline::{Decoder, FaultKind, Rules};
    ///
    /// let first_fault = |rules| {
    ///     let mut decoder = Decoder::new(rules);
    ///     decoder.feed(b"\r\n \t\n");
    ///     decoder.next_frame().map(|frame| frame.unwrap_err().kind())
    /// };
    /// assert_eq!(first_fault(Rules::mcp()), None);
    /// assert_eq!(first_fault(Rules::mcp().skip_blank_lines(false)), Some(FaultKind::BlankLine));
    /// ```
    #[must_use]
    pub fn skip_blank_lines(mut self, skip: bool) -> Self {
        self.skip_blank_lines = skip;
        self
    }

    /// Whether `"params": null` is taken for no params. JSON-RPC 2.0 does not permit it, but some peers send it.
    ///
    /// ```
    /// use wireline::{Frame, Message, Rules};
    ///
    /// let line = br#"{"jsonrpc":"2.0","method":"note","params":null}"#;
    /// assert!(Frame::parse(line, &Rules::mcp()).is_err());
    /// let Ok(Frame::Message(Message::Notification(note))) = Frame::parse(line, &Rules::mcp().null_params(true)) else {
    ///     panic!()
    /// };
    /// assert!(note.params().is_none());
    /// ```
    #[must_use]
    pub fn null_params(mut self, tolerated: bool) -> Self {
        self.null_params = tolerated;
        self
    }

    /// Whether, and how, a faulty line from which no id could be read is answered.
    ///
    /// An error of the form that is sent is also accepted, where the dialect does not permit it by itself.
    ///
    /// ```
    /// use wireline::{AnswerWithoutId, Frame, Rules};
    ///
    /// // A pipe that people print to.
    /// let rules = Rules::json_rpc().answer_without_id(AnswerWithoutId::Never);
    /// assert!(Frame::parse(b"loading", &rules).unwrap_err().reply().is_none());
    /// assert!(Frame::parse(b"loading", &Rules::json_rpc()).unwrap_err().reply().unwrap().id().unwrap().is_null());
    /// ```
    #[must_use]
    pub fn answer_without_id(mut self, answer: AnswerWithoutId) -> Self {
        self.answer_without_id = answer;
        self
    }

    /// Whether an error response may have no `id`: by its dialect, or because such are sent.
    #[inline]
    pub(crate) fn permit_errors_without_id(&self) -> bool {
        self.dialect == Dialect::Mcp || self.answer_without_id == AnswerWithoutId::OmitId
    }

    /// What of the rules a single message is judged by, apart from its length.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the deepest is far below")]
    pub(crate) fn standard(&self) -> Standard {
        Standard {
            dialect: self.dialect,
            max_depth: self.max_depth as u16,
            null_params: self.null_params,
            answer_without_id: self.answer_without_id,
        }
    }

    /// Which implementation of the scanner to use, if it runs here.
    #[doc(hidden)]
    #[must_use]
    pub fn cpu(mut self, cpu: Cpu) -> Self {
        self.scanner = Scanner::new(cpu).unwrap_or(self.scanner);
        self
    }
}

/// Whether a faulty line from which no id could be read is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerWithoutId {
    /// Not at all. Noise on a pipe is no request, and not every client accepts an answer to nothing in particular.
    Never,
    /// By an error with `"id": null`, as JSON-RPC 2.0 asks.
    NullId,
    /// By an error without an id, as MCP's schema permits.
    OmitId,
}

/// See [`Rules::standard`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standard {
    dialect: Dialect,
    max_depth: u16,
    null_params: bool,
    answer_without_id: AnswerWithoutId,
}

impl Standard {
    /// Whether all messages that pass `other` pass this as well, for sure.
    pub(crate) fn permits_all_of(self, other: Self) -> bool {
        let dialects =
            self.dialect == other.dialect || self.dialect == Dialect::JsonRpc && other.dialect == Dialect::Acp;
        dialects
            && self.max_depth >= other.max_depth
            && self.null_params >= other.null_params
            && self.answer_without_id == other.answer_without_id
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    JsonRpc,
    Mcp,
    Acp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_is_beyond_what_the_scanner_can_speak_of() {
        let rules = Rules::json_rpc().max_line_len(usize::MAX).max_depth(usize::MAX);
        assert_eq!((rules.max_line_len, rules.max_depth), (u32::MAX as usize - 1, 1024));
    }

    /// What passed these rules before is judged again unless it is sure to pass, and only then.
    #[test]
    fn what_passed_rules_at_least_as_strict_passes() {
        let (json_rpc, mcp, acp) = (Rules::json_rpc(), Rules::mcp(), Rules::acp());
        let silent = AnswerWithoutId::Never;
        for (rules, before, expected) in [
            (json_rpc, json_rpc, true),
            (mcp, mcp, true),
            (acp, acp, true),
            (json_rpc, acp, true),
            (acp, json_rpc, false),
            (json_rpc.answer_without_id(silent), mcp, false),
            (mcp, json_rpc.answer_without_id(silent), false),
            (mcp, acp.answer_without_id(silent), false),
            (json_rpc, json_rpc.answer_without_id(silent), false),
            (mcp.max_depth(10), mcp.max_depth(10), true),
            (mcp.max_depth(11), mcp.max_depth(10), true),
            (mcp.max_depth(9), mcp.max_depth(10), false),
            (mcp.null_params(true), mcp, true),
            (mcp, mcp.null_params(true), false),
            (mcp.null_params(true), mcp.null_params(true), true),
            // Neither is about a single message.
            (mcp, mcp.batches(true).max_batch_len(5), true),
            (mcp, mcp.max_line_len(10), true),
        ] {
            let permits = rules.standard().permits_all_of(before.standard());
            assert_eq!(permits, expected, "{rules:?}, and before {before:?}");
        }
    }
}
