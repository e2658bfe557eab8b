//! The status of a call.

use std::ffi::{CStr, c_char};

use wireline::connection::SendError;
use wireline::{EncodeError, EncodeErrorKind};

/// The result of a call. Unless a function says otherwise, a call that fails changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_status {
    /// Success.
    Ok = 0,
    /// A required pointer is NULL, a number is out of range, or a message has the wrong kind.
    InvalidArgument = 1,
    /// A text isn't valid UTF-8.
    NotUtf8 = 2,
    /// A payload isn't a single JSON value.
    NotJson = 3,
    /// An id isn't a JSON string, number or null.
    NotAnId = 4,
    /// The message would contain a line feed or a carriage return.
    LineBreak = 5,
    /// The rules don't permit the message; for an encoder, `wl_encoder_refused` returns the rule.
    Rule = 6,
    /// Too many bytes are pending, or too many requests are in flight.
    Full = 7,
    /// The connection has ended.
    Closed = 8,
    /// The value doesn't exist.
    NotFound = 9,
    /// The buffer is too small; the required size has been stored.
    TooSmall = 10,
    /// Standard output is already claimed.
    AlreadyClaimed = 11,
    /// A system call failed; `errno` may say why.
    Io = 12,
    /// A bug in this library. Free the handle that was in use.
    Panic = 13,
}

impl wl_status {
    const ALL: [Self; 14] = [
        Self::Ok,
        Self::InvalidArgument,
        Self::NotUtf8,
        Self::NotJson,
        Self::NotAnId,
        Self::LineBreak,
        Self::Rule,
        Self::Full,
        Self::Closed,
        Self::NotFound,
        Self::TooSmall,
        Self::AlreadyClaimed,
        Self::Io,
        Self::Panic,
    ];

    fn text(self) -> &'static CStr {
        match self {
            Self::Ok => c"ok",
            Self::InvalidArgument => c"invalid argument",
            Self::NotUtf8 => c"text is not UTF-8",
            Self::NotJson => c"payload is not JSON",
            Self::NotAnId => c"expected a JSON string, number or null as id",
            Self::LineBreak => c"message contains a line break",
            Self::Rule => c"the rules do not permit the message",
            Self::Full => c"too many bytes or requests are waiting",
            Self::Closed => c"the connection has ended",
            Self::NotFound => c"no such value",
            Self::TooSmall => c"buffer too small",
            Self::AlreadyClaimed => c"standard output is already claimed",
            Self::Io => c"the system failed",
            Self::Panic => c"a bug in wireline: it panicked",
        }
    }

    pub(crate) fn of(error: &EncodeError) -> Self {
        match error.kind() {
            EncodeErrorKind::LineBreak => Self::LineBreak,
            EncodeErrorKind::Rule(_) => Self::Rule,
            EncodeErrorKind::NoId => Self::InvalidArgument,
            _ => Self::NotJson,
        }
    }

    pub(crate) fn of_sending(error: &SendError) -> Self {
        match error {
            SendError::Encode(error) => Self::of(error),
            SendError::Full => Self::Full,
            _ => Self::Closed,
        }
    }
}

/// Describes a status as a lower-case phrase, in a static C string.
#[unsafe(no_mangle)]
pub extern "C" fn wl_status_text(status: u32) -> *const c_char {
    let status = wl_status::ALL.into_iter().find(|&known| known as u32 == status);
    status.map_or(c"unknown status", wl_status::text).as_ptr()
}

/// The version of this library, such as `1.2.3`, as a static C string.
#[unsafe(no_mangle)]
pub extern "C" fn wl_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
