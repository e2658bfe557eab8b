//! The rules that a line can break, each with its name, code and text.

use std::fmt;

use wireline_json::SyntaxErrorKind;

use super::code::{INVALID_REQUEST, PARSE_ERROR};

macro_rules! fault_kinds {
    ($($(#[$doc:meta])* $kind:ident, $name:literal, $code:ident, $text:literal;)*) => {
        /// The rule that a line breaks.
        ///
        /// Kinds may be added, so a `match` needs a wildcard arm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum FaultKind {
            $($(#[$doc])* $kind,)*
        }

        impl FaultKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// A short name in kebab case, for logs and programs. It never changes.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// The JSON-RPC error code: -32700 for text that isn't JSON, otherwise -32600.
            #[must_use]
            pub fn code(self) -> i64 {
                match self {
                    $(Self::$kind => $code,)*
                }
            }
        }

        /// Describes the rule. The text of a [`Fault`](crate::Fault) also names the types and limits in force.
        impl fmt::Display for FaultKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$kind => $text,)*
                })
            }
        }
    };
}

fault_kinds! {
    /// A blank line, if these aren't skipped, or an empty text.
    BlankLine, "blank-line", PARSE_ERROR, "blank line where a message was expected";
    /// A UTF-8 byte order mark anywhere but at the very start of the stream.
    ByteOrderMark, "byte-order-mark", PARSE_ERROR, "byte order mark after the start of the stream";
    /// Bytes that aren't UTF-8.
    InvalidUtf8, "invalid-utf8", PARSE_ERROR, "invalid UTF-8";
    /// A control character in a string.
    ControlCharacter, "control-character", PARSE_ERROR, "unescaped control character in a string";
    /// A backslash in a string that doesn't start a valid escape.
    InvalidEscape, "invalid-escape", PARSE_ERROR, "invalid escape in a string";
    /// Something that starts like a number but isn't one.
    InvalidNumber, "invalid-number", PARSE_ERROR, "invalid number";
    /// A bare word other than `true`, `false` and `null`, such as `NaN` or the start of a log line.
    InvalidLiteral, "invalid-literal", PARSE_ERROR, "expected a JSON value";
    /// A value, a bracket or a separator where another was expected.
    UnexpectedByte, "unexpected-byte", PARSE_ERROR, "unexpected value, bracket or separator";
    /// The line ends inside a value.
    UnexpectedEnd, "unexpected-end", PARSE_ERROR, "unexpected end of line";
    /// Something after the end of the value.
    TrailingData, "trailing-data", PARSE_ERROR, "unexpected data after the message";
    /// A line longer than [`Rules::max_line_len`](crate::Rules::max_line_len).
    LineTooLong, "line-too-long", INVALID_REQUEST, "line exceeds the length limit";
    /// Brackets nested deeper than [`Rules::max_depth`](crate::Rules::max_depth).
    TooDeep, "too-deep", INVALID_REQUEST, "brackets are nested deeper than the limit";
    /// A batch of more entries than [`Rules::max_batch_len`](crate::Rules::max_batch_len).
    BatchTooLong, "batch-too-long", INVALID_REQUEST, "batch has more entries than the limit";
    /// JSON, but neither an object nor, where batches are allowed, an array.
    NotAnObject, "not-an-object", INVALID_REQUEST, "a message must be an object";
    /// An array, where the rules don't allow batches.
    BatchNotAllowed, "batch-not-allowed", INVALID_REQUEST, "batches are not allowed";
    /// An array without entries.
    EmptyBatch, "empty-batch", INVALID_REQUEST, "a batch must have at least one entry";
    /// A member name of the envelope that contains a lone surrogate escape.
    InvalidMemberName, "invalid-member-name", INVALID_REQUEST, "member name contains a lone surrogate";
    /// A member of the envelope that occurs twice, however its name is spelled.
    DuplicateMember, "duplicate-member", INVALID_REQUEST, "duplicate member";
    /// No `jsonrpc`.
    MissingVersion, "missing-version", INVALID_REQUEST, r#"missing "jsonrpc""#;
    /// A `jsonrpc` other than the string `2.0`.
    InvalidVersion, "invalid-version", INVALID_REQUEST, r#""jsonrpc" must be the string "2.0""#;
    /// None of `method`, `result` and `error`.
    MissingMethod, "missing-method", INVALID_REQUEST, r#"missing "method", "result" or "error""#;
    /// More than one of `method`, `result` and `error`.
    ConflictingMembers, "conflicting-members", INVALID_REQUEST, r#"only one of "method", "result" and "error" is allowed"#;
    /// A response without `id`.
    MissingId, "missing-id", INVALID_REQUEST, r#"a response must have an "id""#;
    /// An `id` of a type that the rules don't allow, or with a lone surrogate escape.
    InvalidId, "invalid-id", INVALID_REQUEST, r#"invalid "id""#;
    /// An `id` longer than [`Rules::max_id_len`](crate::Rules::max_id_len).
    IdTooLong, "id-too-long", INVALID_REQUEST, r#""id" exceeds the length limit"#;
    /// A `method` that isn't a string, or has a lone surrogate escape.
    InvalidMethod, "invalid-method", INVALID_REQUEST, r#""method" must be a string"#;
    /// A `params` of a type that the rules don't allow.
    InvalidParams, "invalid-params", INVALID_REQUEST, r#"invalid "params""#;
    /// A `result` of a type that the rules don't allow.
    InvalidResult, "invalid-result", INVALID_REQUEST, r#""result" must be an object"#;
    /// An `error` that isn't an object with an integer `code` and a string `message`, each once. Some dialects also permit
    /// a string ([`Rules::electrum`](crate::Rules::electrum)), or an array too
    /// ([`Rules::stratum`](crate::Rules::stratum)).
    InvalidError, "invalid-error", INVALID_REQUEST, r#""error" must be an object with an integer "code" and a string "message""#;
    /// A request from a side that sends none, or a response; see [`Rules::client`](crate::Rules::client).
    WrongSide, "wrong-side", INVALID_REQUEST, "only the other side sends messages of this kind";
    /// A result to be sent that doesn't say its type, although the rules require it.
    MissingResultType, "missing-result-type", INVALID_REQUEST, r#""result" must have a string "resultType""#;
    /// An error to be sent whose code the rules reserve.
    ReservedCode, "reserved-code", INVALID_REQUEST, "the protocol reserves this error code";
    /// Text where a header was expected, or within a header, such as a log line.
    InvalidHeader, "invalid-header", PARSE_ERROR, "expected a header with a Content-Length";
    /// A header without `Content-Length`.
    MissingContentLength, "missing-content-length", PARSE_ERROR, "header without a Content-Length";
    /// A `Content-Length` that isn't a number of at most 4 GiB, or a second one with another value.
    InvalidContentLength, "invalid-content-length", PARSE_ERROR, "invalid Content-Length";
    /// A `Content-Type` with a charset other than UTF-8.
    UnsupportedCharset, "unsupported-charset", PARSE_ERROR, "unsupported charset: a message must be UTF-8";
    /// A header of more than 4096 bytes.
    HeaderTooLong, "header-too-long", PARSE_ERROR, "header exceeds the limit of 4096 bytes";
    /// The stream ended before the end of a header, a body or an event.
    IncompleteFrame, "incomplete-frame", PARSE_ERROR, "the stream ended within a message";
}

impl From<SyntaxErrorKind> for FaultKind {
    fn from(kind: SyntaxErrorKind) -> Self {
        match kind {
            SyntaxErrorKind::Empty => Self::BlankLine,
            SyntaxErrorKind::ByteOrderMark => Self::ByteOrderMark,
            SyntaxErrorKind::InvalidUtf8 => Self::InvalidUtf8,
            SyntaxErrorKind::ControlCharacter => Self::ControlCharacter,
            SyntaxErrorKind::InvalidEscape => Self::InvalidEscape,
            SyntaxErrorKind::InvalidNumber => Self::InvalidNumber,
            SyntaxErrorKind::InvalidLiteral => Self::InvalidLiteral,
            SyntaxErrorKind::UnexpectedByte => Self::UnexpectedByte,
            SyntaxErrorKind::UnexpectedEnd => Self::UnexpectedEnd,
            SyntaxErrorKind::TrailingData => Self::TrailingData,
            SyntaxErrorKind::TooDeep => Self::TooDeep,
        }
    }
}
