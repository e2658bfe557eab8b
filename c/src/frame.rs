//! Frames that belong to the caller.

use bytes::Bytes;
use wireline::{Frame, Rules};

use crate::boundary::catch_panic;
use crate::current::Current;
use crate::kinds::wl_kind;
use crate::memory::{exclusive, from_handle, into_handle, out_param, store, wl_span};
use crate::message::{wl_fault, wl_message};
use crate::rules::{rules_at, wl_rules};
use crate::status::wl_status;

/// A message, a batch or a fault that belongs to the caller. One thread at a time may use it.
pub struct wl_frame {
    pub(crate) current: Current,
    pub(crate) rules: Rules,
}

/// Parses one whole text, such as an HTTP body or a WebSocket message. Line breaks are allowed between its tokens. The
/// text is copied. The frame may be a fault. Returns NULL only if an argument is invalid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_frame_parse(rules: *const wl_rules, text: wl_span) -> *mut wl_frame {
    catch_panic(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or points to rules, and that each span is valid.
        let (rules, bytes) = unsafe { (rules_at(rules), text.bytes()) };
        let (Some(rules), Some(bytes)) = (rules, bytes) else { return std::ptr::null_mut() };
        let mut current = Current::default();
        current.set(Frame::from_bytes(Bytes::copy_from_slice(bytes), &rules));
        into_handle(wl_frame { current, rules })
    })
}

/// Fills `message` and returns the frame's kind, like `wl_decoder_next`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_frame_message(frame: *mut wl_frame, message: *mut wl_message) -> wl_kind {
    // SAFETY: as the caller promises.
    unsafe { describe(frame, message, Current::describe) }
}

/// Takes the next entry of a batch, like `wl_decoder_next_entry`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_frame_next_entry(frame: *mut wl_frame, message: *mut wl_message) -> wl_kind {
    // SAFETY: as the caller promises.
    unsafe { describe(frame, message, Current::next_entry) }
}

/// # Safety
///
/// Each pointer is NULL, or points to a frame that nothing else accesses and to memory for a message, respectively.
unsafe fn describe(
    frame: *mut wl_frame,
    message: *mut wl_message,
    describe: impl FnOnce(&mut Current, &mut wl_message) -> wl_kind,
) -> wl_kind {
    catch_panic(wl_kind::Panic, || {
        // SAFETY: as the caller promises.
        let parts = unsafe { (exclusive(frame), out_param(message)) };
        let (Some(frame), Some(out)) = parts else { return wl_kind::InvalidArgument };
        describe(&mut frame.current, out.write(wl_message::NONE))
    })
}

/// Describes the fault of a frame, or of the last entry taken from it. Returns `WL_STATUS_NOT_FOUND` if there is no
/// fault.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_frame_fault(frame: *mut wl_frame, fault: *mut wl_fault) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a frame that nothing else accesses.
        let Some(frame) = (unsafe { exclusive(frame) }) else { return wl_status::InvalidArgument };
        let Some(found) = frame.current.describe_fault(frame.rules) else { return wl_status::NotFound };
        // SAFETY: the caller promises that it is NULL or points to memory for a fault.
        unsafe { store(fault, found) };
        wl_status::Ok
    })
}

/// Frees a frame. Spans into it become invalid. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_frame_free(frame: *mut wl_frame) {
    // SAFETY: the caller promises that it is NULL or a frame that is no longer used.
    catch_panic((), || drop(unsafe { from_handle(frame) }));
}
