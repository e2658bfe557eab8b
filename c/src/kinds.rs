//! The kinds of lines, faults and events.

use wireline::connection::{Lost, Refusal, Stray};
use wireline::{FaultKind, Hint};

/// The kind of a line, or of an entry of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_kind {
    /// A required pointer is NULL.
    InvalidArgument = -2,
    /// A bug in this library. Free the handle that was in use.
    Panic = -1,
    /// No more lines until more bytes arrive, or no more entries in the batch.
    None = 0,
    /// A call that expects one response.
    Request = 1,
    /// A call that expects no response.
    Notification = 2,
    /// A response with a result.
    Result = 3,
    /// A response with an error.
    Error = 4,
    /// An array of messages.
    Batch = 5,
    /// A line, or an entry of a batch, that isn't a message.
    Fault = 6,
}

/// The rule that a line breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_fault_kind {
    /// No rule.
    None = 0,
    /// A blank line, if blank lines aren't skipped, or an empty text.
    BlankLine = 1,
    /// A UTF-8 byte order mark that isn't at the very start of the stream.
    ByteOrderMark = 2,
    /// Bytes that aren't UTF-8.
    InvalidUtf8 = 3,
    /// A control character in a string.
    ControlCharacter = 4,
    /// A backslash in a string that doesn't start an escape.
    InvalidEscape = 5,
    /// Something that starts like a number but isn't one.
    InvalidNumber = 6,
    /// A word other than `true`, `false` and `null`.
    InvalidLiteral = 7,
    /// A value, a bracket or a separator where something else was expected.
    UnexpectedByte = 8,
    /// The line ends inside a value.
    UnexpectedEnd = 9,
    /// Something after the end of the value.
    TrailingData = 10,
    /// A line beyond the length limit.
    LineTooLong = 11,
    /// Brackets nested deeper than the limit.
    TooDeep = 12,
    /// A batch of more entries than the limit.
    BatchTooLong = 13,
    /// A value that is neither an object nor, if the rules allow batches, an array.
    NotAnObject = 14,
    /// An array, if the rules don't allow batches.
    BatchNotAllowed = 15,
    /// An array without entries.
    EmptyBatch = 16,
    /// A member name of the envelope that contains a lone surrogate escape.
    InvalidMemberName = 17,
    /// A member of the envelope that occurs twice.
    DuplicateMember = 18,
    /// No `jsonrpc`.
    MissingVersion = 19,
    /// A `jsonrpc` other than the string `2.0`.
    InvalidVersion = 20,
    /// None of `method`, `result` and `error`.
    MissingMethod = 21,
    /// More than one of `method`, `result` and `error`.
    ConflictingMembers = 22,
    /// A response without `id`.
    MissingId = 23,
    /// An `id` of a type that the rules don't allow, or with a lone surrogate escape.
    InvalidId = 24,
    /// An `id` beyond the length limit.
    IdTooLong = 25,
    /// A `method` that isn't a string, or has a lone surrogate escape.
    InvalidMethod = 26,
    /// A `params` of a type that the rules don't allow.
    InvalidParams = 27,
    /// A `result` of a type that the rules don't allow.
    InvalidResult = 28,
    /// An `error` that isn't an object with an integer `code` and a string `message`.
    InvalidError = 29,
    /// A request from a side that sends none, or a response.
    WrongSide = 30,
    /// A result to be sent that doesn't say its type, although the rules require it.
    MissingResultType = 31,
    /// An error to be sent whose code the rules reserve.
    ReservedCode = 32,
    /// Text where a header was expected, or within a header.
    InvalidHeader = 33,
    /// A header without `Content-Length`.
    MissingContentLength = 34,
    /// A `Content-Length` that isn't a number of at most 4 GiB, or a second one with another value.
    InvalidContentLength = 35,
    /// A `Content-Type` with a charset other than UTF-8.
    UnsupportedCharset = 36,
    /// A header of more than 4096 bytes.
    HeaderTooLong = 37,
    /// The stream ended before the end of a header, a body or an event.
    IncompleteFrame = 38,
    /// A rule that is newer than the header.
    Other = 39,
}

/// A guess at the cause of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_hint {
    /// No guess.
    None = 0,
    /// A `Content-Length` or `Content-Type` header: the peer frames its messages as language servers do.
    ContentLengthHeader = 1,
    /// The first line of an HTTP request or response.
    HttpRequest = 2,
    /// UTF-16 text.
    Utf16 = 3,
    /// One line of JSON that was pretty-printed over several lines.
    PrettyPrinted = 4,
    /// Several values on one line.
    SeveralValues = 5,
    /// `NaN`, `Infinity` or `undefined`.
    NotANumber = 6,
    /// Text meant for people, such as a log line.
    LogText = 7,
    /// A line of an event stream, as HTTP servers send it: `data: {…}`.
    EventStream = 8,
    /// A line of an HTML page.
    Html = 9,
    /// UTF-32 text.
    Utf32 = 10,
    /// Zero bytes between or after the characters, such as the end of a C string.
    ZeroBytes = 11,
    /// A Python dict or a JavaScript object as it is printed.
    ObjectLiteral = 12,
    /// A comma after the last member or element.
    TrailingComma = 13,
    /// A line break within a string.
    LineBreakInString = 14,
    /// Text in Latin-1 or Windows-1252.
    Latin1 = 15,
    /// A hint that is newer than the header.
    Other = 16,
}

/// The kind of an event on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_event_kind {
    /// A required pointer is NULL.
    InvalidArgument = -2,
    /// A bug in this library. Free the handle that was in use.
    Panic = -1,
    /// No event until more bytes are read or, if too many bytes are pending, until some are written.
    None = 0,
    /// The peer sent a request. `ticket` is the duty to answer it.
    Request = 1,
    /// The peer sent a notification.
    Notification = 2,
    /// The response to one of your requests arrived. `value` is the value that you passed with the request.
    Response = 3,
    /// The peer cancelled its request with this `id`, with the dialect's notification. The request's ticket is already
    /// marked as cancelled.
    Cancelled = 4,
    /// No response will come to your request with this `id`. `lost` is the reason, and `value` is the value that you
    /// passed with the request.
    Lost = 5,
    /// The peer sent a response that answers no request in flight. `stray` is the reason.
    Stray = 6,
    /// The peer sent a request that was refused and already answered with an error. `refusal` is the reason.
    Refused = 7,
    /// The peer sent a line, or an entry of a batch, that isn't a valid message. It has already been answered, if it
    /// should be.
    Fault = 8,
    /// An event that is newer than the header.
    Other = 9,
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_refusal {
    /// It wasn't refused.
    None = 0,
    /// A request with the same id is in flight.
    Duplicate = 1,
    /// The limit of requests in flight is reached.
    TooMany = 2,
    /// The connection is closed for requests.
    Closed = 3,
    /// A reason that is newer than the header.
    Other = 4,
}

/// Why no response will come to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_lost {
    /// It isn't lost.
    None = 0,
    /// The peer sent a response that isn't a valid message; `wl_connection_fault` describes the fault.
    Faulty = 1,
    /// Its deadline has passed.
    Expired = 2,
    /// The stream has ended.
    Ended = 3,
    /// A reason that is newer than the header.
    Other = 4,
}

/// Why a response answers no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_stray {
    /// It answers a request.
    None = 0,
    /// It has no id, or the id is null: the peer couldn't read the id of the request.
    NoId = 1,
    /// No request with this id was sent.
    Unknown = 2,
    /// The request was already answered, cancelled or lost.
    Repeated = 3,
    /// A reason that is newer than the header.
    Other = 4,
}

macro_rules! same_names {
    ($from:ident => $to:ident: $($name:ident),*) => {
        impl From<$from> for $to {
            fn from(value: $from) -> Self {
                match value {
                    $($from::$name => Self::$name,)*
                    _ => Self::Other,
                }
            }
        }
    };
}

same_names! { FaultKind => wl_fault_kind:
    BlankLine, ByteOrderMark, InvalidUtf8, ControlCharacter, InvalidEscape, InvalidNumber, InvalidLiteral,
    UnexpectedByte, UnexpectedEnd, TrailingData, LineTooLong, TooDeep, BatchTooLong, NotAnObject, BatchNotAllowed,
    EmptyBatch, InvalidMemberName, DuplicateMember, MissingVersion, InvalidVersion, MissingMethod, ConflictingMembers,
    MissingId, InvalidId, IdTooLong, InvalidMethod, InvalidParams, InvalidResult, InvalidError, WrongSide,
    MissingResultType, ReservedCode,
    InvalidHeader, MissingContentLength, InvalidContentLength, UnsupportedCharset, HeaderTooLong, IncompleteFrame
}

same_names! { Hint => wl_hint:
    ContentLengthHeader, HttpRequest, Utf16, PrettyPrinted, SeveralValues, NotANumber, LogText, EventStream, Html,
    Utf32, ZeroBytes, ObjectLiteral, TrailingComma, LineBreakInString, Latin1
}

same_names! { Refusal => wl_refusal: Duplicate, TooMany, Closed }

same_names! { Stray => wl_stray: NoId, Unknown, Repeated }

impl From<&Lost> for wl_lost {
    fn from(lost: &Lost) -> Self {
        match lost {
            Lost::Faulty(_) => Self::Faulty,
            Lost::Expired => Self::Expired,
            Lost::Ended => Self::Ended,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails if a rule or a hint is added to the library, but not here.
    #[test]
    fn all_have_names() {
        for (number, &kind) in FaultKind::ALL.iter().enumerate() {
            assert_eq!(wl_fault_kind::from(kind) as usize, number + 1, "{kind:?}");
        }
        for (number, &hint) in Hint::ALL.iter().enumerate() {
            assert_eq!(wl_hint::from(hint) as usize, number + 1, "{hint:?}");
        }
        assert_eq!(wl_fault_kind::Other as usize, FaultKind::ALL.len() + 1);
        assert_eq!(wl_hint::Other as usize, Hint::ALL.len() + 1);
    }
}
