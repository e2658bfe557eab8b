//! The decoder: bytes in, messages out.

use bytes::BytesMut;
use wireline::{Decoder, Fault, Frame};

use crate::boundary::catch_panic;
use crate::current::Current;
use crate::frame::wl_frame;
use crate::kinds::wl_kind;
use crate::memory::{exclusive, from_handle, into_handle, out_param, shared, store, wl_span};
use crate::message::{wl_fault, wl_message};
use crate::rules::{rules_at, wl_rules};
use crate::status::wl_status;

/// The most room that is lent at once. For a `read` of this size, the cost of the call is negligible.
const MOST_LENT: usize = 1 << 20;

/// Turns a stream of bytes, split anywhere, into messages and faults. One thread at a time may use it.
///
/// Feed it bytes, call `wl_decoder_next` until it returns `WL_KIND_NONE`, and repeat. At the end of the stream, call
/// `wl_decoder_finish`, and then `wl_decoder_next` for the rest.
pub struct wl_decoder {
    // `current` borrows from `decoder`, so it is dropped first, and `decoder` must not change before `current` is
    // cleared. The two are never borrowed together as a whole.
    current: Current,
    decoder: Decoder,
    /// The buffer that was lent and not committed yet, or NULL. It belongs to `decoder`.
    lent: *mut BytesMut,
}

/// Clears the current line, and returns the parts of a decoder. Nothing borrows from it any more, so the caller may
/// change it.
///
/// # Safety
///
/// `decoder` is NULL or a decoder that nothing else accesses.
unsafe fn fields_mut<'a>(decoder: *mut wl_decoder) -> Option<(&'a mut Decoder, &'a mut Current)> {
    if decoder.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises the rest. The fields don't overlap.
    unsafe {
        (*decoder).lent = std::ptr::null_mut();
        let current = &mut (*decoder).current;
        current.clear();
        Some((&mut (*decoder).decoder, current))
    }
}

/// Creates a decoder at the start of a stream. Returns NULL if `rules` is NULL or invalid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_new(rules: *const wl_rules) -> *mut wl_decoder {
    catch_panic(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or points to rules.
        let Some(rules) = (unsafe { rules_at(rules) }) else { return std::ptr::null_mut() };
        into_handle(wl_decoder {
            current: Current::default(),
            decoder: Decoder::new(rules),
            lent: std::ptr::null_mut(),
        })
    })
}

/// Frees a decoder. Spans into it become invalid. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_free(decoder: *mut wl_decoder) {
    // SAFETY: the caller promises that it is NULL or a decoder that is no longer used.
    catch_panic((), || drop(unsafe { from_handle(decoder) }));
}

/// Appends a copy of the next bytes of the stream. After `wl_decoder_finish` they are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_feed(decoder: *mut wl_decoder, bytes: wl_span) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a decoder that nothing else accesses.
        let Some((decoder, _)) = (unsafe { fields_mut(decoder) }) else { return wl_status::InvalidArgument };
        // SAFETY: the caller promises that each span is valid.
        match unsafe { bytes.bytes() } {
            Some(bytes) => decoder.feed(bytes),
            None if bytes.len == 0 => {}
            None => return wl_status::InvalidArgument,
        }
        wl_status::Ok
    })
}

/// Lends part of the decoder's buffer, for example to `read(2)`: room for `wanted` bytes, or at least half as many, but
/// no more than 1 MiB. Stores the size in `room`. Returns NULL on failure.
///
/// Call `wl_decoder_commit` next. Any other call on the decoder takes the room back and discards the bytes written to
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_reserve(decoder: *mut wl_decoder, wanted: usize, room: *mut usize) -> *mut u8 {
    catch_panic(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or points to memory for a number.
        unsafe { store(room, 0) };
        // SAFETY: the caller promises that it is NULL or a decoder that nothing else accesses.
        let Some((parts, _)) = (unsafe { fields_mut(decoder) }) else { return std::ptr::null_mut() };
        let lent = parts.spare(wanted.clamp(1, MOST_LENT));
        let spare = lent.spare_capacity_mut();
        let (start, len) = (spare.as_mut_ptr().cast(), spare.len());
        // SAFETY: as above; and `decoder` isn't null, because `fields_mut` returned its parts.
        unsafe {
            store(room, len);
            (*decoder).lent = lent;
        }
        start
    })
}

/// Appends the first `len` bytes of the room that `wl_decoder_reserve` lent to the stream. You must have written them.
///
/// Returns `WL_STATUS_INVALID_ARGUMENT` if no room is lent, or less than `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_commit(decoder: *mut wl_decoder, len: usize) -> wl_status {
    catch_panic(wl_status::Panic, || {
        if decoder.is_null() {
            return wl_status::InvalidArgument;
        }
        // SAFETY: not null, and the caller promises that nothing else accesses it, and that the bytes are initialized.
        // The lent buffer hasn't moved: every call that changes the decoder sets `lent` to NULL.
        unsafe {
            let lent = std::mem::replace(&mut (*decoder).lent, std::ptr::null_mut());
            let Some(lent) = exclusive(lent) else { return wl_status::InvalidArgument };
            if len > lent.capacity() - lent.len() {
                return wl_status::InvalidArgument;
            }
            lent.set_len(lent.len() + len);
        }
        wl_status::Ok
    })
}

/// Takes the next line, fills `message`, and returns its kind.
///
/// For a batch, call `wl_decoder_next_entry` next; for a fault, `wl_decoder_fault`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_next(decoder: *mut wl_decoder, message: *mut wl_message) -> wl_kind {
    catch_panic(wl_kind::Panic, || {
        // SAFETY: the caller promises that it is NULL or a decoder that nothing else accesses.
        let Some((decoder, current)) = (unsafe { fields_mut(decoder) }) else { return wl_kind::InvalidArgument };
        // SAFETY: the caller promises that it is NULL or points to memory for a message.
        let Some(out) = (unsafe { out_param(message) }) else {
            return wl_kind::InvalidArgument;
        };
        let out = out.write(wl_message::NONE);
        let Some(found) = decoder.next_frame() else { return wl_kind::None };
        // SAFETY: the frame borrows from `decoder`, which doesn't move, since C only has a pointer to it, and doesn't
        // change before `current` is cleared; see `wl_decoder`.
        current.set(unsafe { std::mem::transmute::<Result<Frame<'_>, Fault>, Result<Frame<'static>, Fault>>(found) });
        let kind = current.describe(out);
        if kind == wl_kind::Fault {
            let line = decoder.last_line();
            out.text = if line.is_empty() { wl_span::ABSENT } else { wl_span::of(line) };
        }
        kind
    })
}

/// Takes the next entry of the current line if that is a batch, fills `message`, and returns the entry's kind.
///
/// Returns `WL_KIND_NONE` if there are no more entries, or the line isn't a batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_next_entry(decoder: *mut wl_decoder, message: *mut wl_message) -> wl_kind {
    catch_panic(wl_kind::Panic, || {
        if decoder.is_null() {
            return wl_kind::InvalidArgument;
        }
        // SAFETY: not null, and the caller promises that nothing else accesses it.
        let current = unsafe { &mut (*decoder).current };
        // SAFETY: the caller promises that it is NULL or points to memory for a message.
        match unsafe { out_param(message) } {
            Some(out) => current.next_entry(out.write(wl_message::NONE)),
            None => wl_kind::InvalidArgument,
        }
    })
}

/// Describes the fault of the current line, or of the last entry taken from it. Returns `WL_STATUS_NOT_FOUND` if there
/// is no fault.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_fault(decoder: *mut wl_decoder, fault: *mut wl_fault) -> wl_status {
    catch_panic(wl_status::Panic, || {
        if decoder.is_null() {
            return wl_status::InvalidArgument;
        }
        // SAFETY: not null, and the caller promises that nothing else accesses it.
        let (rules, current) = unsafe { (*(*decoder).decoder.rules(), &mut (*decoder).current) };
        let Some(found) = current.describe_fault(rules) else { return wl_status::NotFound };
        // SAFETY: the caller promises that it is NULL or points to memory for a fault.
        unsafe { store(fault, found) };
        wl_status::Ok
    })
}

/// Keeps the current line (a message, a batch or a fault) in a separate frame, for another thread or for later. Returns
/// NULL if there is no current line.
///
/// Nothing is copied. The frame keeps the buffer in which the line arrived alive, which may hold many other lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_keep(decoder: *const wl_decoder) -> *mut wl_frame {
    catch_panic(std::ptr::null_mut(), || {
        if decoder.is_null() {
            return std::ptr::null_mut();
        }
        // SAFETY: not null, and the caller promises that nothing else modifies it.
        let (rules, current) = unsafe { (*(*decoder).decoder.rules(), &(*decoder).current) };
        current.owned().map_or(std::ptr::null_mut(), |current| into_handle(wl_frame { current, rules }))
    })
}

/// Ends the stream. A last line without a line feed still becomes a message or a fault.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_finish(decoder: *mut wl_decoder) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a decoder that nothing else accesses.
        let Some((decoder, _)) = (unsafe { fields_mut(decoder) }) else { return wl_status::InvalidArgument };
        decoder.finish();
        wl_status::Ok
    })
}

/// The number of bytes that have arrived but haven't been taken as lines yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_buffered(decoder: *const wl_decoder) -> usize {
    catch_panic(0, || {
        if decoder.is_null() {
            return 0;
        }
        // SAFETY: not null, and the caller promises that nothing else modifies it.
        unsafe { shared(&raw const (*decoder).decoder) }.map_or(0, Decoder::buffered)
    })
}
