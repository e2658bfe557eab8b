//! What is wrong with a line, where, and whether to answer it.

use std::fmt;

use crate::message::dialect::IdTypes;
use crate::message::{Expectation, FaultKind, Id, Rules};

use super::hint::Hint;

/// What is wrong with a line and where, its id if that could be read, and whether to answer it.
///
/// A fault is an item of the stream like any message, and doesn't affect the next line. Neither its text nor its
/// `Debug` output contains a byte of the line.
///
/// ```
/// use wireline::{FaultKind, Frame, Rules};
///
/// let line = br#"{"jsonrpc":"2.0","id":true,"method":"add"}"#;
/// let fault = Frame::parse(line, &Rules::mcp()).unwrap_err();
/// assert_eq!(fault.kind(), FaultKind::InvalidId);
/// assert_eq!(fault.to_string(), "line 1, column 23: \"id\" must be a string or an integer under MCP rules");
///
/// let line = br#"{"jsonrpc":"2.0","id":7,"method":"add","params":[1,NaN]}"#;
/// let fault = Frame::parse(line, &Rules::json_rpc()).unwrap_err();
/// assert_eq!(fault.id().unwrap().as_i64(), Some(7));
/// assert_eq!(
///     fault.reply().unwrap().to_string(),
///     r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"Parse error","data":{"fault":"invalid-literal","line":1,"column":52}}}"#,
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Fault {
    pub(super) kind: FaultKind,
    pub(super) detail: Detail,
    pub(super) hint: Option<Hint>,
    pub(super) answer: Answer,
    pub(super) looks: Looks,
    pub(super) id: Option<Id<'static>>,
    pub(super) line: u64,
    pub(super) offset: u64,
    pub(super) column: u64,
    pub(super) line_len: u64,
    /// The rules in force, whose types and limits the text names.
    pub(super) rules: Rules,
}

/// What the text of a fault adds to its kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    None,
    /// Not even the first byte of the line is JSON.
    NotJson,
    /// A string of the right type contains half a surrogate pair.
    LoneSurrogate,
    /// The types that the rules permit for the id.
    Id(IdTypes),
}

/// How to answer a fault.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Never,
    ById,
    NullId,
    OmitId,
}

/// The kind of message that a faulty text looks like, as far as it could be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Looks {
    /// It has a `method`.
    Call,
    /// It has a `result` or an `error`, and no `method`.
    Response,
    Unknown,
}

impl Fault {
    /// The rule that the line breaks.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    /// The JSON-RPC error code: -32700 if the line isn't JSON, otherwise -32600.
    #[must_use]
    pub fn code(&self) -> i64 {
        self.kind.code()
    }

    /// The number of the line in the stream, starting at 1; always 1 for [`Frame::parse`](crate::Frame::parse).
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Where the line starts in the stream, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The byte of the line at which the fault was detected, starting at 1. In the stream, that is byte
    /// `offset() + column() - 1`.
    #[must_use]
    pub fn column(&self) -> u64 {
        self.column
    }

    /// The length of the line in bytes, without its line ending.
    #[must_use]
    pub fn line_len(&self) -> u64 {
        self.line_len
    }

    /// The line's id, if it could be read reliably: as a complete member of the outermost object that occurs once and
    /// has a type and a length that the rules permit.
    ///
    /// Reading continues past flaws that can't hide other members: a bad number or `NaN`, a superfluous comma, a bad
    /// escape, invalid UTF-8 in a string, brackets that are nested too deep. It stops at any other flaw, such as single
    /// quotes, comments or a missing comma. An id from before that point counts only if nothing after it looks like
    /// another id.
    ///
    /// ```
    /// use wireline::{Frame, Rules};
    ///
    /// let id = |line: &[u8]| {
    ///     let fault = Frame::parse(line, &Rules::json_rpc()).unwrap_err();
    ///     fault.id().and_then(|id| id.as_i64())
    /// };
    /// assert_eq!(id(br#"{"jsonrpc":"2.0","method":"m","params":[1,NaN,],"id":6}"#), Some(6));
    /// assert_eq!(id(br#"{"jsonrpc":"2.0","id":6,"method":"m","params":['a']}"#), Some(6));
    /// assert_eq!(id(br#"{"jsonrpc":"2.0","method":"m","params":['a,"id":5,b'],"id":6}"#), None);
    /// ```
    #[must_use]
    pub fn id(&self) -> Option<&Id<'static>> {
        self.id.as_ref()
    }

    /// The rule that the line breaks, with the types and limits in force, in words.
    ///
    /// ```
    /// use wireline::{Frame, Rules};
    ///
    /// let fault = Frame::parse(b"[]", &Rules::mcp()).unwrap_err();
    /// assert_eq!(fault.reason().to_string(), "batches are not allowed under MCP rules");
    /// ```
    #[must_use]
    pub fn reason(&self) -> impl fmt::Display + '_ {
        Reason(self)
    }

    /// A guess at the mistake, if the line looks like something that is often sent by accident.
    ///
    /// ```
    /// use wireline::{Frame, Hint, Rules};
    ///
    /// let fault = Frame::parse(b"Content-Length: 42", &Rules::json_rpc()).unwrap_err();
    /// assert_eq!(fault.hint(), Some(Hint::ContentLengthHeader));
    /// ```
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        self.hint
    }

    /// Whether the line looks like a response: it has `result` or `error`, and no `method`.
    ///
    /// If so, the request with this [`id`](Self::id) won't get a valid response, and you can fail its call.
    #[must_use]
    pub fn is_response(&self) -> bool {
        self.looks == Looks::Response
    }

    /// Whether the line looks like a request or a notification: it has a `method`.
    pub(crate) fn is_call(&self) -> bool {
        self.looks == Looks::Call
    }

    /// How to answer the fault.
    pub(crate) fn answer(&self) -> Answer {
        self.answer
    }

    /// The rules in force when the fault was found.
    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }

    /// Emits the fault as a `tracing` event, if that feature is on.
    #[cfg_attr(not(feature = "tracing"), expect(clippy::unused_self, reason = "empty without `tracing`"))]
    #[inline]
    pub(crate) fn log(&self) {
        #[cfg(feature = "tracing")]
        tracing::warn!(
            kind = self.kind().name(),
            code = self.code(),
            line = self.line(),
            column = self.column(),
            offset = self.offset(),
            hint = self.hint().map(Hint::name),
            has_id = self.id().is_some(),
            answered = self.answer != Answer::Never,
            "faulty line"
        );
    }
}

/// Shows the position and the [reason](Fault::reason).
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.reason())
    }
}

/// See [`Fault::reason`].
struct Reason<'a>(&'a Fault);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = self.0;
        let Rules { dialect, limits, .. } = &fault.rules;
        let dialect = dialect.name;
        match (fault.kind, fault.detail) {
            (_, Detail::NotJson) => f.write_str(match fault.rules.batches {
                true => "not JSON: expected an object or an array",
                false => "not JSON: expected an object",
            }),
            (FaultKind::InvalidId, Detail::LoneSurrogate) => f.write_str(r#""id" contains a lone surrogate"#),
            (FaultKind::InvalidMethod, Detail::LoneSurrogate) => f.write_str(r#""method" contains a lone surrogate"#),
            (FaultKind::InvalidId, Detail::Id(types)) => {
                write!(f, r#""id" must be {} under {dialect} rules"#, types.describe())
            }
            (FaultKind::BatchTooLong, _) => write!(f, "batch has more than {} entries", limits.max_batch_len),
            (FaultKind::TooDeep, _) => write!(f, "brackets are nested deeper than {}", limits.max_depth),
            (FaultKind::LineTooLong, _) => {
                write!(f, "line of {} bytes exceeds the limit of {}", fault.line_len, limits.max_line_len)
            }
            (FaultKind::IdTooLong, _) => write!(f, r#""id" exceeds the limit of {} bytes"#, fault.rules.longest_id()),
            (kind, _) => fmt::Display::fmt(&Expectation::new(kind, &fault.rules), f),
        }
    }
}

impl std::error::Error for Fault {}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault")
            .field("kind", &self.kind)
            .field("line", &self.line)
            .field("column", &self.column)
            .field("offset", &self.offset)
            .field("id", &self.id)
            .field("hint", &self.hint)
            .field("reply", &(self.answer != Answer::Never))
            .finish_non_exhaustive()
    }
}
