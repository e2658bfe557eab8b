//! What the guard puts right, refuses and answers: each kind with its text.

/// A kind of incident. Each is told when it happens for the first time, and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Incident {
    Noise,
    BlankLine,
    TerminalEscape,
    OtherOutput,
    ByteOrderMark,
    CarriageReturn,
    LineEnd,
    LoneSurrogate,
    PrintedOverLines,
    NullParams,
    LineTooLong,
    InvalidResponse,
    InvalidStray,
    InvalidCall,
    IdInFlight,
    TooManyRequests,
    StrayResponse,
    LateResponse,
    ResponseWithoutId,
    InArray,
    Copy,
    InvalidLine,
    TimedOut,
    Unanswered,
    NotRead,
    Overflow,
}

/// The text about each kind, after the side and the line that it is about.
pub(super) const INCIDENTS: &[(Incident, &str)] = &[
    (Incident::Noise, "not a message: moved to standard error"),
    (Incident::BlankLine, "blank line: left out"),
    (Incident::TerminalEscape, "escape sequence for a terminal: left out"),
    (Incident::OtherOutput, "message on a line with other output: taken out of it"),
    (Incident::ByteOrderMark, "byte order mark: removed"),
    (Incident::CarriageReturn, "carriage return before the line feed: removed"),
    (Incident::LineEnd, "message without a line ending: added"),
    (Incident::LoneSurrogate, "escape of half a surrogate pair: replaced by \\ufffd"),
    (Incident::PrintedOverLines, "message printed over several lines: put on one line"),
    (Incident::NullParams, "null params: left out"),
    (Incident::LineTooLong, "line beyond the length limit: discarded"),
    (Incident::InvalidResponse, "invalid response: replaced by an error"),
    (Incident::InvalidStray, "invalid response to no request that is waiting: dropped"),
    (Incident::InvalidCall, "invalid request or notification: not passed on"),
    (Incident::IdInFlight, "request with the id of another one in flight: refused"),
    (Incident::TooManyRequests, "request beyond the limit of 65,536 in flight: refused"),
    (Incident::StrayResponse, "response to no request in flight, perhaps a second one: dropped"),
    (Incident::LateResponse, "response to a request that wireline had answered: dropped"),
    (Incident::ResponseWithoutId, "response without an id: dropped"),
    (Incident::InArray, "response in an array, although the request was not: taken out of it"),
    (Incident::Copy, "copy of what the client has sent: dropped"),
    (Incident::InvalidLine, "invalid line: not passed on"),
    (Incident::TimedOut, "request not answered in time: answered with an error"),
    (Incident::Unanswered, "request not answered before the server ended: answered with an error"),
    (Incident::NotRead, "request that the server can't read: answered with an error"),
    (Incident::Overflow, "answer to a server that doesn't read: dropped"),
];

impl Incident {
    pub(super) fn text(self) -> &'static str {
        INCIDENTS[self as usize].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_order() {
        for (at, (incident, _)) in INCIDENTS.iter().enumerate() {
            assert_eq!(*incident as usize, at);
        }
        assert_eq!(INCIDENTS.len(), Incident::Overflow as usize + 1);
    }
}
