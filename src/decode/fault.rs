//! What is wrong with a line, where, and whether to answer it.

use std::fmt;

use crate::decode::hint::Hint;
use crate::json::scan::Flaw;
use crate::message::cow_bytes::Position;
use crate::message::envelope::Complaint;
use crate::message::id::Id;
use crate::message::rules::{AnswerWithoutId, Rules};
use crate::trace;

/// What was wrong with a line, where, the id that could still be read, and whether to answer.
///
/// A fault is an item of the stream like any message: the next line is decoded as if this one had not been there.
/// Neither its text nor its `Debug` output has a byte of the line in it.
///
/// ```
/// use wireline::{FaultKind, Frame, Rules};
///
/// let line = br#"{"jsonrpc":"2.0","id":7,"method":"add","params":[1,NaN]}"#;
/// let fault = Frame::parse(line, &Rules::json_rpc()).unwrap_err();
/// assert_eq!(fault.kind(), FaultKind::InvalidLiteral);
/// assert_eq!(fault.column(), 52);
/// assert_eq!(fault.to_string(), "line 1, column 52: expected a number, true, false or null");
/// assert_eq!(fault.id().unwrap().as_i64(), Some(7));
/// assert_eq!(
///     fault.reply().unwrap().to_string(),
///     r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"Parse error","data":{"fault":"invalid-literal","line":1,"column":52}}}"#,
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Fault {
    kind: FaultKind,
    hint: Option<Hint>,
    answer: Answer,
    is_response: bool,
    id: Option<Id<'static>>,
    line: u64,
    offset: u64,
    column: u64,
    len: u64,
}

/// How a fault is answered, if it has no id.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Never,
    ById,
    NullId,
    OmitId,
}

impl Fault {
    pub(crate) fn new(complaint: Complaint, position: Position, len: u64, rules: &Rules) -> Self {
        let answer = match (complaint.is_response, &complaint.id, rules.answer_without_id) {
            (true, _, _) => Answer::Never,
            (false, Some(_), _) => Answer::ById,
            (false, None, AnswerWithoutId::Never) => Answer::Never,
            (false, None, AnswerWithoutId::NullId) => Answer::NullId,
            (false, None, AnswerWithoutId::OmitId) => Answer::OmitId,
        };
        let fault = Self {
            kind: complaint.kind,
            hint: complaint.hint,
            answer,
            is_response: complaint.is_response,
            id: complaint.id,
            line: position.line,
            offset: position.offset,
            column: complaint.at as u64 + 1,
            len,
        };
        trace::fault(&fault);
        fault
    }

    /// Which rule the line breaks.
    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    /// The JSON-RPC error code: -32700 if the line is not JSON, otherwise -32600.
    pub fn code(&self) -> i64 {
        self.kind.code()
    }

    /// The number of the line in the stream, from 1 on; always 1 for [`Frame::parse`](crate::Frame::parse).
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Where in the stream the line begins, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Where in the line the fault shows, in bytes from 1 on. The byte's place in the stream is `offset() + column() - 1`.
    pub fn column(&self) -> u64 {
        self.column
    }

    /// The length of the line in bytes, without its line end.
    pub fn line_len(&self) -> u64 {
        self.len
    }

    /// The line's id, where it could be read soundly: as a complete member of the outermost object, once, and of a type
    /// that the rules permit.
    pub fn id(&self) -> Option<&Id<'static>> {
        self.id.as_ref()
    }

    /// What the line looks like, if it looks like something that is often sent by mistake.
    ///
    /// ```
    /// use wireline::{Frame, Hint, Rules};
    ///
    /// let fault = Frame::parse(b"Content-Length: 42", &Rules::json_rpc()).unwrap_err();
    /// assert_eq!(fault.hint(), Some(Hint::ContentLengthHeader));
    /// ```
    pub fn hint(&self) -> Option<Hint> {
        self.hint
    }

    /// Whether the line looks like a response: it has `result` or `error`, and no `method`.
    ///
    /// Whoever waits for the answer to [`id`](Self::id) then waits in vain, and can be told so.
    pub fn is_response(&self) -> bool {
        self.is_response
    }

    /// The error response to send, or `None` if there should be none.
    ///
    /// What looks like a response (it has `result` or `error`, and no `method`) is never answered: two peers that
    /// answer each other's answers do not stop. Otherwise a line with an id is answered by that id, and one without as
    /// [`Rules::answer_without_id`] says.
    ///
    /// ```
    /// use wireline::{Encoder, Frame, Rules};
    ///
    /// let rules = Rules::mcp();
    /// let mut encoder = Encoder::new(rules);
    /// for line in [
    ///     &br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#[..], // a request, by its id
    ///     br#"{"jsonrpc":"2.0","id":2,"result":[]}"#,                             // a response, never
    ///     b"Server started",                                                      // noise, not in MCP
    /// ] {
    ///     let fault = Frame::parse(line, &rules).unwrap_err();
    ///     if let Some(reply) = fault.reply() {
    ///         encoder.error_reply(&reply)?;
    ///     }
    /// }
    /// let answers = encoder.take();
    /// assert!(answers.starts_with(br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"#));
    /// assert_eq!(answers.iter().filter(|&&byte| byte == b'\n').count(), 1);
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    pub fn reply(&self) -> Option<Reply<'_>> {
        (self.answer != Answer::Never).then_some(Reply { fault: self })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.kind)
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
            .finish()
    }
}

/// The error response that a fault calls for, see [`Fault::reply`].
///
/// Its text, without a line end, is its [`Display`](fmt::Display); [`Encoder::error_reply`](crate::Encoder::error_reply)
/// makes it a line.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    fault: &'a Fault,
}

impl<'a> Reply<'a> {
    /// The error's code.
    pub fn code(&self) -> i64 {
        self.fault.code()
    }

    /// The error's message.
    pub fn message(&self) -> &'static str {
        if self.fault.code() == PARSE_ERROR { "Parse error" } else { "Invalid Request" }
    }

    /// The id it answers, which may be null, or `None` if it has no `id` at all.
    pub fn id(&self) -> Option<Id<'a>> {
        match (self.fault.answer, &self.fault.id) {
            (Answer::ById, Some(id)) => Some(id.clone()),
            (Answer::OmitId, _) => None,
            _ => Some(Id::NULL),
        }
    }
}

impl fmt::Display for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"{"jsonrpc":"2.0","#)?;
        if let Some(id) = self.id() {
            write!(f, r#""id":{},"#, id.as_json())?;
        }
        let Fault { kind, line, column, .. } = self.fault;
        write!(f, r#""error":{{"code":{},"message":"{}","#, self.code(), self.message())?;
        write!(f, r#""data":{{"fault":"{}","line":{line},"column":{column}}}}}}}"#, kind.name())
    }
}

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;

macro_rules! fault_kinds {
    ($($(#[$doc:meta])* $kind:ident, $name:literal, $code:ident, $expected:literal;)*) => {
        /// The rule that a line breaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum FaultKind {
            $($(#[$doc])* $kind,)*
        }

        impl FaultKind {
            /// All kinds there are.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// A short name in kebab case, which stays as it is: for logs and machines.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// The JSON-RPC error code: -32700 for what is not JSON, otherwise -32600.
            pub fn code(self) -> i64 {
                match self {
                    $(Self::$kind => $code,)*
                }
            }
        }

        /// What was expected instead.
        impl fmt::Display for FaultKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$kind => $expected,)*
                })
            }
        }
    };
}

fault_kinds! {
    /// Nothing but blanks, where [`Rules::skip_blank_lines`] is off or a text was expected.
    BlankLine, "blank-line", PARSE_ERROR, "expected a message, not a blank line";
    /// A UTF-8 byte order mark anywhere but at the very start of the stream.
    ByteOrderMark, "byte-order-mark", PARSE_ERROR, "expected a byte order mark only at the start of the stream";
    /// Bytes that are not UTF-8.
    InvalidUtf8, "invalid-utf8", PARSE_ERROR, "expected UTF-8";
    /// A control character within a string.
    ControlCharacter, "control-character", PARSE_ERROR, "expected control characters in strings to be escaped";
    /// A backslash in a string that begins no escape.
    InvalidEscape, "invalid-escape", PARSE_ERROR, r#"expected one of "\/bfnrt, or u and four hexadecimal digits, after a backslash"#;
    /// What begins like a number but is none.
    InvalidNumber, "invalid-number", PARSE_ERROR, "expected a number as JSON spells it";
    /// Something bare that is none of the three literals, such as `NaN`.
    InvalidLiteral, "invalid-literal", PARSE_ERROR, "expected a number, true, false or null";
    /// A value, a bracket or a separator where another was due.
    UnexpectedByte, "unexpected-byte", PARSE_ERROR, "expected another value, separator or closing bracket here";
    /// The line ends within a value.
    UnexpectedEnd, "unexpected-end", PARSE_ERROR, "expected the line to go on";
    /// Something after the end of the value.
    TrailingData, "trailing-data", PARSE_ERROR, "expected nothing after the message";
    /// Longer than [`Rules::max_line_len`].
    LineTooLong, "line-too-long", INVALID_REQUEST, "expected a shorter line";
    /// Deeper than [`Rules::max_depth`].
    TooDeep, "too-deep", INVALID_REQUEST, "expected brackets not to be nested deeper than the limit";
    /// A batch of more entries than [`Rules::max_batch_len`].
    BatchTooLong, "batch-too-long", INVALID_REQUEST, "expected a batch of fewer entries";
    /// JSON, but neither an object nor, where a batch may stand, an array.
    NotAnObject, "not-an-object", INVALID_REQUEST, "expected an object";
    /// An array, where the rules have no batches.
    BatchNotAllowed, "batch-not-allowed", INVALID_REQUEST, "expected a single message: batches are not allowed";
    /// An array without entries.
    EmptyBatch, "empty-batch", INVALID_REQUEST, "expected a batch of at least one message";
    /// A member name of the envelope with an escape for half a surrogate pair.
    InvalidMemberName, "invalid-member-name", INVALID_REQUEST, "expected member names without lone surrogates";
    /// A member of the envelope that is there twice, however it is spelled.
    DuplicateMember, "duplicate-member", INVALID_REQUEST, "expected this member only once";
    /// No `jsonrpc`.
    MissingVersion, "missing-version", INVALID_REQUEST, r#"expected a member "jsonrpc""#;
    /// A `jsonrpc` that is not the string `2.0`.
    InvalidVersion, "invalid-version", INVALID_REQUEST, r#"expected "jsonrpc" to be the string "2.0""#;
    /// None of `method`, `result` and `error`.
    MissingMethod, "missing-method", INVALID_REQUEST, r#"expected one of the members "method", "result" and "error""#;
    /// More than one of `method`, `result` and `error`.
    ConflictingMembers, "conflicting-members", INVALID_REQUEST, r#"expected only one of the members "method", "result" and "error""#;
    /// A response without `id`.
    MissingId, "missing-id", INVALID_REQUEST, r#"expected a member "id" in a response"#;
    /// An `id` of a type that the rules do not permit, or with an escape for half a surrogate pair.
    InvalidId, "invalid-id", INVALID_REQUEST, r#"expected "id" to be of a type that the rules permit"#;
    /// A `method` that is not a string, or with an escape for half a surrogate pair.
    InvalidMethod, "invalid-method", INVALID_REQUEST, r#"expected "method" to be a string"#;
    /// `params` that the rules do not permit.
    InvalidParams, "invalid-params", INVALID_REQUEST, r#"expected "params" to be an object, or an array where the rules permit it"#;
    /// A `result` that the rules do not permit.
    InvalidResult, "invalid-result", INVALID_REQUEST, r#"expected "result" to be an object"#;
    /// An `error` that is not an object with an integer `code` and a string `message`, each once.
    InvalidError, "invalid-error", INVALID_REQUEST, r#"expected "error" to be an object with an integer "code" and a string "message""#;
}

impl From<Flaw> for FaultKind {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::Empty => Self::BlankLine,
            Flaw::ByteOrderMark => Self::ByteOrderMark,
            Flaw::InvalidUtf8 => Self::InvalidUtf8,
            Flaw::ControlCharacter => Self::ControlCharacter,
            Flaw::InvalidEscape => Self::InvalidEscape,
            Flaw::InvalidNumber => Self::InvalidNumber,
            Flaw::InvalidLiteral => Self::InvalidLiteral,
            Flaw::UnexpectedByte => Self::UnexpectedByte,
            Flaw::UnexpectedEnd => Self::UnexpectedEnd,
            Flaw::TrailingData => Self::TrailingData,
            Flaw::TooDeep => Self::TooDeep,
        }
    }
}
