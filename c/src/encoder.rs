//! The encoder: messages in, whole lines out.

use wireline::{EncodeError, EncodeErrorKind, Encoder, Id, RpcError};

use crate::boundary::catch_panic;
use crate::json::{id, payload, text};
use crate::kinds::wl_fault_kind;
use crate::memory::{exclusive, from_handle, into_handle, shared, store, wl_span};
use crate::message::{fault_at, message_at, wl_fault, wl_message};
use crate::rules::{rules_at, wl_rules};
use crate::status::wl_status;

/// Turns messages into lines: each call appends one whole line to its buffer, or nothing. It never writes them
/// anywhere. One thread at a time may use it.
///
/// Ids and payloads are JSON text on one line; methods and error messages are plain text. An encoder refuses messages
/// that the rules don't permit, so a decoder with the same rules accepts every line.
pub struct wl_encoder {
    encoder: Encoder<'static>,
    refused: Option<Refused>,
}

struct Refused {
    rule: wl_fault_kind,
    offset: usize,
    message: String,
}

/// Why an encoder refused a message.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct wl_refused {
    /// The rule that the message breaks, or none if it contains a line break.
    pub rule: wl_fault_kind,
    /// The byte of the message at which the rule is broken, or `SIZE_MAX` if unknown.
    pub offset: usize,
    /// The reason in words, without any bytes of the message. Valid until the encoder is used again.
    pub message: wl_span,
}

/// Creates an encoder with an empty buffer. Returns NULL if `rules` is NULL or invalid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_new(rules: *const wl_rules) -> *mut wl_encoder {
    catch_panic(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or points to rules.
        let rules = unsafe { rules_at(rules) };
        rules.map_or(std::ptr::null_mut(), |rules| {
            into_handle(wl_encoder { encoder: Encoder::new(rules), refused: None })
        })
    })
}

/// Frees an encoder and its buffer. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_free(encoder: *mut wl_encoder) {
    // SAFETY: the caller promises that it is NULL or an encoder that is no longer used.
    catch_panic((), || drop(unsafe { from_handle(encoder) }));
}

/// The lines in the buffer, to be written unchanged. They are valid until the next call on the encoder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_bytes(encoder: *const wl_encoder) -> wl_span {
    catch_panic(wl_span::ABSENT, || {
        // SAFETY: the caller promises that it is NULL or an encoder that nothing else modifies.
        unsafe { shared(encoder) }.map_or(wl_span::ABSENT, |encoder| wl_span::of(encoder.encoder.as_bytes()))
    })
}

/// Removes all lines from the buffer, after you have written them. The buffer keeps its memory for the next lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_clear(encoder: *mut wl_encoder) {
    catch_panic((), || {
        // SAFETY: the caller promises that it is NULL or an encoder that nothing else accesses.
        if let Some(encoder) = unsafe { exclusive(encoder) } {
            encoder.encoder.clear();
        }
    });
}

/// Describes why the last message was refused. Returns `WL_STATUS_NOT_FOUND` if it wasn't, or if the status was the
/// whole reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_refused(encoder: *const wl_encoder, refused: *mut wl_refused) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or an encoder that nothing else modifies.
        let Some(encoder) = (unsafe { shared(encoder) }) else { return wl_status::InvalidArgument };
        let Some(Refused { rule, offset, message }) = &encoder.refused else { return wl_status::NotFound };
        let found = wl_refused { rule: *rule, offset: *offset, message: wl_span::of(message.as_bytes()) };
        // SAFETY: the caller promises that it is NULL or points to memory for a `wl_refused`.
        unsafe { store(refused, found) };
        wl_status::Ok
    })
}

/// Appends a request. `params` may be absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_request(
    encoder: *mut wl_encoder,
    id: wl_span,
    method: wl_span,
    params: wl_span,
) -> wl_status {
    // SAFETY: the caller promises that each span is valid, and that nothing else accesses the encoder.
    unsafe {
        append(encoder, |encoder| {
            let id = required(self::id(id)?)?;
            let (method, params) = (required(text(method)?)?, payload(params)?);
            Ok(encoder.request(&id, method, &params))
        })
    }
}

/// Appends a request whose id is a number. `params` may be absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_call(
    encoder: *mut wl_encoder,
    id: u64,
    method: wl_span,
    params: wl_span,
) -> wl_status {
    // SAFETY: the caller promises that each span is valid, and that nothing else accesses the encoder.
    unsafe {
        append(encoder, |encoder| {
            let (method, params) = (required(text(method)?)?, payload(params)?);
            Ok(encoder.request(&Id::from(id), method, &params))
        })
    }
}

/// Appends a notification. `params` may be absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_notification(
    encoder: *mut wl_encoder,
    method: wl_span,
    params: wl_span,
) -> wl_status {
    // SAFETY: the caller promises that each span is valid, and that nothing else accesses the encoder.
    unsafe {
        append(encoder, |encoder| {
            let (method, params) = (required(text(method)?)?, payload(params)?);
            Ok(encoder.notification(method, &params))
        })
    }
}

/// Appends a response with a result. Servers should use a connection and its tickets instead, so that each request is
/// answered once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_response(encoder: *mut wl_encoder, id: wl_span, result: wl_span) -> wl_status {
    // SAFETY: the caller promises that each span is valid, and that nothing else accesses the encoder.
    unsafe {
        append(encoder, |encoder| {
            let (id, result) = (required(self::id(id)?)?, required(payload(result)?)?);
            Ok(encoder.response(&id, &result))
        })
    }
}

/// Appends a response with an error. An absent `id` is left out, which MCP permits; `data` may be absent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_error(
    encoder: *mut wl_encoder,
    id: wl_span,
    code: i64,
    message: wl_span,
    data: wl_span,
) -> wl_status {
    // SAFETY: the caller promises that each span is valid, and that nothing else accesses the encoder.
    unsafe {
        append(encoder, |encoder| {
            let id = self::id(id)?;
            Ok(rpc_error(code, message, data)?.and_then(|error| encoder.error(id.as_ref(), &error)))
        })
    }
}

/// Appends the error response to a fault. Returns `WL_STATUS_NOT_FOUND` if the fault should not be answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_reply(encoder: *mut wl_encoder, fault: *const wl_fault) -> wl_status {
    // SAFETY: the caller promises that the fault is still valid, and that nothing else accesses the encoder.
    unsafe {
        append(encoder, |encoder| {
            let reply = required(fault_at(fault))?.reply().ok_or(wl_status::NotFound)?;
            Ok(encoder.error_reply(&reply))
        })
    }
}

/// Appends an already encoded line, passed without its line ending, if it passes the rules and contains no line break.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_raw(encoder: *mut wl_encoder, line: wl_span) -> wl_status {
    // SAFETY: the caller promises that each span is valid, and that nothing else accesses the encoder.
    unsafe { append(encoder, |encoder| Ok(encoder.raw(required(line.bytes())?))) }
}

/// Appends an already encoded text as one line, if it passes the rules. Line breaks between its tokens become spaces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_flatten(encoder: *mut wl_encoder, text: wl_span) -> wl_status {
    // SAFETY: the caller promises that each span is valid, and that nothing else accesses the encoder.
    unsafe { append(encoder, |encoder| Ok(encoder.flatten(required(text.bytes())?))) }
}

/// Appends a message as it was received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_forward(encoder: *mut wl_encoder, message: *const wl_message) -> wl_status {
    // SAFETY: the caller promises that the message is still valid, and that nothing else accesses the encoder.
    unsafe { append(encoder, |encoder| Ok(encoder.forward(required(message_at(message))?))) }
}

/// Appends a message with another id, and otherwise unchanged, as a proxy does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_encoder_with_id(
    encoder: *mut wl_encoder,
    message: *const wl_message,
    id: wl_span,
) -> wl_status {
    // SAFETY: the caller promises that the message is still valid and each span is valid, and that nothing else
    // accesses the encoder.
    unsafe {
        append(encoder, |encoder| {
            let (message, id) = (required(message_at(message))?, required(self::id(id)?)?);
            Ok(encoder.forward_with_id(message, &id))
        })
    }
}

/// Builds an error object. The inner error means that `data` isn't on one line.
///
/// # Safety
///
/// As for [`wl_span::bytes`].
pub(crate) unsafe fn rpc_error(
    code: i64,
    message: wl_span,
    data: wl_span,
) -> Result<Result<RpcError, EncodeError>, wl_status> {
    // SAFETY: as the caller promises.
    let (message, data) = unsafe { (text(message)?.unwrap_or_default(), payload(data)?) };
    let error = RpcError::new(code, message.to_owned());
    Ok(match data {
        Some(data) => error.with_data(&data),
        None => Ok(error),
    })
}

pub(crate) fn required<T>(argument: Option<T>) -> Result<T, wl_status> {
    argument.ok_or(wl_status::InvalidArgument)
}

/// # Safety
///
/// `encoder` is NULL or an encoder that nothing else accesses.
unsafe fn append(
    encoder: *mut wl_encoder,
    encode: impl FnOnce(&mut Encoder) -> Result<Result<(), EncodeError>, wl_status>,
) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: as the caller promises.
        let Some(encoder) = (unsafe { exclusive(encoder) }) else { return wl_status::InvalidArgument };
        encoder.refused = None;
        match encode(&mut encoder.encoder) {
            Ok(Ok(())) => wl_status::Ok,
            Err(status) => status,
            Ok(Err(error)) => {
                let rule = match error.kind() {
                    EncodeErrorKind::Rule(kind) => wl_fault_kind::from(kind),
                    _ => wl_fault_kind::None,
                };
                let offset = error.offset().unwrap_or(usize::MAX);
                encoder.refused = Some(Refused { rule, offset, message: error.kind().to_string() });
                wl_status::of(&error)
            }
        }
    })
}
