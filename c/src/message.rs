//! Messages and faults as flat structs for C, with spans into the line.

use std::ffi::c_void;

use wireline::{Fault, Message};

use crate::boundary::catch_panic;
use crate::kinds::{wl_fault_kind, wl_hint, wl_kind};
use crate::memory::{shared, store, wl_span};
use crate::status::wl_status;

/// One message, as spans into its line. They are valid until the next call of `wl_decoder_next`, `_feed`, `_reserve`,
/// `_finish` or `_free` on the same decoder. The spans of a batch entry also become invalid when the next entry is taken.
/// The spans of a kept frame are valid until the frame is freed. `wl_event` documents how long the spans of an event are
/// valid.
///
/// The members are JSON, exactly as they were sent, except for `method`, which is the name without quotes.
///
/// Only pass messages to functions that the library has filled, or copies of these. To create a message yourself, use
/// `wl_frame_parse`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct wl_message {
    /// The kind of message. Members that this kind of message doesn't have are absent. A batch or a fault only has
    /// `line`, `offset` and `text`.
    pub kind: wl_kind,
    /// The number of the line in the stream, starting at 1.
    pub line: u64,
    /// Where the line starts in the stream, in bytes.
    pub offset: u64,
    /// The whole text: the line without its line ending, or the entry of a batch. Absent if the line was too long to be
    /// kept, and for a fault in a `wl_frame`, a batch or a connection.
    pub text: wl_span,
    /// The id of a request or a response. An error may have none, if the rules permit that.
    pub id: wl_span,
    /// The decoded method of a request or a notification. Points into the line if it was sent without escapes, and
    /// otherwise into memory of the decoder, connection or frame.
    pub method: wl_span,
    /// The params of a request or a notification, if it has any.
    pub params: wl_span,
    /// The result of a response.
    pub result: wl_span,
    /// The error object of a response; `wl_message_error` returns its members.
    pub error: wl_span,
    /// For internal use, when you pass the message to another function. Valid as long as the spans. NULL for a batch or
    /// a fault.
    pub source: *const c_void,
}

impl wl_message {
    /// No message.
    pub(crate) const NONE: Self = Self {
        kind: wl_kind::None,
        line: 0,
        offset: 0,
        text: wl_span::ABSENT,
        id: wl_span::ABSENT,
        method: wl_span::ABSENT,
        params: wl_span::ABSENT,
        result: wl_span::ABSENT,
        error: wl_span::ABSENT,
        source: std::ptr::null(),
    };
}

/// The fault of a line or an entry of a batch. Its spans are valid as long as those of a `wl_message`.
///
/// The texts contain no bytes of the line, except that `id` and `reply` contain the id.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct wl_fault {
    /// The rule that the line breaks.
    pub kind: wl_fault_kind,
    /// A guess at the cause.
    pub hint: wl_hint,
    /// The JSON-RPC error code: -32700 if the line isn't JSON, otherwise -32600.
    pub code: i64,
    /// The number of the line in the stream, starting at 1.
    pub line: u64,
    /// The byte of the line at which the fault was detected, starting at 1.
    pub column: u64,
    /// Where the line starts in the stream, in bytes.
    pub offset: u64,
    /// The length of the line in bytes, without its line ending.
    pub line_len: u64,
    /// The short name of the rule, such as `invalid-id`.
    pub name: wl_span,
    /// The rule in words, with the types and limits in force.
    pub message: wl_span,
    /// The guess at the cause in words; absent without a hint.
    pub hint_text: wl_span,
    /// The id as JSON, if it could be read reliably.
    pub id: wl_span,
    /// The line to send as an answer, with its line feed; absent if the fault should not be answered.
    pub reply: wl_span,
    /// Whether the line looks like a response. Then the request with this `id` will get no other answer.
    pub is_response: bool,
    /// For internal use, when you pass the fault to another function. Valid as long as the spans.
    pub source: *const c_void,
}

/// The parts of an error. The spans point into the line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct wl_error {
    /// The code, or the nearest 64-bit integer; 0 if the error is only a string, as some dialects permit.
    pub code: i64,
    /// The message: a JSON string, with quotes and escapes; `wl_json_string` decodes it.
    pub message: wl_span,
    /// The data as JSON, if there is any.
    pub data: wl_span,
}

/// Returns the members of the error of a response in `error`. Returns `WL_STATUS_INVALID_ARGUMENT` if the message isn't
/// an error response.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_message_error(message: *const wl_message, error: *mut wl_error) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a message that is still valid.
        let Some(Message::Response(response)) = (unsafe { message_at(message) }) else {
            return wl_status::InvalidArgument;
        };
        let Some(object) = response.error() else { return wl_status::InvalidArgument };
        // SAFETY: `message_at` returned a message, so the pointer isn't null, and the caller promises that it is valid.
        let whole = unsafe { (*message).error };
        let part = |pointer: &str| {
            let json = object.raw();
            let Some(part) = json.pointer(pointer) else { return wl_span::ABSENT };
            let start = part.as_bytes().as_ptr().addr() - json.as_bytes().as_ptr().addr();
            wl_span { ptr: whole.ptr.wrapping_add(start), len: part.as_bytes().len() }
        };
        // Some dialects permit an array of code, message and data, or only a message.
        let [message, data] = match object.raw().as_bytes().first() {
            Some(b'[') => ["/1", "/2"],
            Some(b'"') => ["", "/data"],
            _ => ["/message", "/data"],
        };
        let data = if object.data().is_some() { part(data) } else { wl_span::ABSENT };
        let found = wl_error { code: object.code(), message: part(message), data };
        // SAFETY: the caller promises that it is NULL or points to memory for an error.
        unsafe { store(error, found) };
        wl_status::Ok
    })
}

/// The message that a `wl_message` describes.
///
/// # Safety
///
/// `message` is NULL, or points to a message filled by this library, whose spans are still valid.
pub(crate) unsafe fn message_at<'a>(message: *const wl_message) -> Option<&'a Message<'a>> {
    // SAFETY: as the caller promises.
    let message = unsafe { shared(message) }?;
    match message.kind {
        wl_kind::Request | wl_kind::Notification | wl_kind::Result | wl_kind::Error => {
            // SAFETY: `source` points to a message in `Current`, which lives as long as the spans.
            unsafe { shared(message.source.cast()) }
        }
        _ => None,
    }
}

/// The fault that a `wl_fault` describes.
///
/// # Safety
///
/// `fault` is NULL, or points to a fault filled by this library, whose spans are still valid.
pub(crate) unsafe fn fault_at<'a>(fault: *const wl_fault) -> Option<&'a Fault> {
    // SAFETY: as the caller promises.
    let fault = unsafe { shared(fault) }?;
    // SAFETY: `source` points to a fault in `Current`, which lives as long as the spans.
    unsafe { shared(fault.source.cast()) }
}
