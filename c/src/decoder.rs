//! Bytes in, messages out.

use bytes::BytesMut;
use wireline::{Decoder, Fault, Frame};

use crate::boundary::guarded;
use crate::current::Current;
use crate::frame::wl_frame;
use crate::kinds::wl_kind;
use crate::memory::{exclusive, given, place, shared, store, taken, wl_span};
use crate::message::{wl_fault, wl_message};
use crate::rules::{rules_at, wl_rules};
use crate::status::wl_status;

/// More is never lent at once. A `read` of this size costs nothing beside what it copies.
const MOST_LENT: usize = 1 << 20;

/// Turns a stream of bytes, however it is split, into messages and faults. One thread at a time may use it.
///
/// Feed it bytes, call `wl_decoder_next` until it returns `WL_KIND_NONE`, and repeat. At the end of the stream, call
/// `wl_decoder_finish`, and `wl_decoder_next` for what is left.
pub struct wl_decoder {
    // `current` borrows from `decoder`, so it is dropped first, and nothing is done with `decoder` that changes it before
    // `current` is cleared. The two are never borrowed together as a whole.
    current: Current,
    decoder: Decoder,
    /// What was lent and not committed yet, or NULL. It belongs to `decoder`.
    lent: *mut BytesMut,
}

/// The parts of a decoder that is about to change, with nothing left that borrows from it.
///
/// # Safety
///
/// `decoder` is NULL or a decoder that nobody else uses.
unsafe fn changed<'a>(decoder: *mut wl_decoder) -> Option<(&'a mut Decoder, &'a mut Current)> {
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

/// A decoder at the start of a stream. NULL if `rules` is NULL or invalid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_new(rules: *const wl_rules) -> *mut wl_decoder {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or points to rules.
        let Some(rules) = (unsafe { rules_at(rules) }) else { return std::ptr::null_mut() };
        given(wl_decoder { current: Current::default(), decoder: Decoder::new(rules), lent: std::ptr::null_mut() })
    })
}

/// Frees a decoder. Spans into it become invalid. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_free(decoder: *mut wl_decoder) {
    // SAFETY: the caller promises that it is NULL or a decoder that is no longer used.
    guarded((), || drop(unsafe { taken(decoder) }));
}

/// Appends a copy of the next bytes of the stream. After `wl_decoder_finish` they are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_feed(decoder: *mut wl_decoder, bytes: wl_span) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a decoder that nobody else uses.
        let Some((decoder, _)) = (unsafe { changed(decoder) }) else { return wl_status::InvalidArgument };
        // SAFETY: the caller promises that there are as many bytes.
        match unsafe { bytes.bytes() } {
            Some(bytes) => decoder.feed(bytes),
            None if bytes.len == 0 => {}
            None => return wl_status::InvalidArgument,
        }
        wl_status::Ok
    })
}

/// Lends the decoder's own buffer, for `read(2)` to fill: room for `wanted` bytes, or at least half as many, but no more
/// than 1 MiB. Stores the size in `room`. NULL on failure.
///
/// Call `wl_decoder_commit` next. Any other call on the decoder takes the room back and discards what was written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_reserve(decoder: *mut wl_decoder, wanted: usize, room: *mut usize) -> *mut u8 {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller promises that it is NULL or points to memory for a number.
        unsafe { store(room, 0) };
        // SAFETY: the caller promises that it is NULL or a decoder that nobody else uses.
        let Some((parts, _)) = (unsafe { changed(decoder) }) else { return std::ptr::null_mut() };
        let lent = parts.spare(wanted.clamp(1, MOST_LENT));
        let spare = lent.spare_capacity_mut();
        let (start, len) = (spare.as_mut_ptr().cast(), spare.len());
        // SAFETY: as above; and there is a decoder, because something was lent.
        unsafe {
            store(room, len);
            (*decoder).lent = lent;
        }
        start
    })
}

/// Appends the first `len` bytes of the room that `wl_decoder_reserve` lent, which the caller has written, to the stream.
///
/// `WL_STATUS_INVALID_ARGUMENT` if nothing is lent, or less than `len`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_commit(decoder: *mut wl_decoder, len: usize) -> wl_status {
    guarded(wl_status::Panic, || {
        if decoder.is_null() {
            return wl_status::InvalidArgument;
        }
        // SAFETY: not null, and the caller promises that nobody else uses it. What was lent is still where it was: every
        // call that touches the decoder sets this to NULL.
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

/// Takes the next line. Returns what it is, and fills `message`.
///
/// For a batch, then call `wl_decoder_next_entry`; for a fault, `wl_decoder_fault`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_next(decoder: *mut wl_decoder, message: *mut wl_message) -> wl_kind {
    guarded(wl_kind::Panic, || {
        // SAFETY: the caller promises that it is NULL or a decoder that nobody else uses.
        let Some((decoder, current)) = (unsafe { changed(decoder) }) else { return wl_kind::InvalidArgument };
        // SAFETY: the caller promises that it is NULL or points to memory for a message.
        let Some(out) = (unsafe { place(message) }) else {
            return wl_kind::InvalidArgument;
        };
        let out = out.write(wl_message::NONE);
        let Some(found) = decoder.next_frame() else { return wl_kind::None };
        // SAFETY: it borrows from `decoder`, which doesn't move, since C has only a pointer to it, and doesn't change
        // before `current` is cleared; see `wl_decoder`.
        current.set(unsafe { std::mem::transmute::<Result<Frame<'_>, Fault>, Result<Frame<'static>, Fault>>(found) });
        let kind = current.describe(out);
        if kind == wl_kind::Fault {
            let line = decoder.last_line();
            out.text = if line.is_empty() { wl_span::ABSENT } else { wl_span::of(line) };
        }
        kind
    })
}

/// Takes the next entry of the current line, which is a batch. Returns what it is, and fills `message`.
///
/// `WL_KIND_NONE` if there are no more entries, or the line isn't a batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_next_entry(decoder: *mut wl_decoder, message: *mut wl_message) -> wl_kind {
    guarded(wl_kind::Panic, || {
        if decoder.is_null() {
            return wl_kind::InvalidArgument;
        }
        // SAFETY: not null, and the caller promises that nobody else uses it.
        let current = unsafe { &mut (*decoder).current };
        // SAFETY: the caller promises that it is NULL or points to memory for a message.
        match unsafe { place(message) } {
            Some(out) => current.next_entry(out.write(wl_message::NONE)),
            None => wl_kind::InvalidArgument,
        }
    })
}

/// Says what is wrong with the current line, or with the entry that was taken last. `WL_STATUS_NOT_FOUND` if nothing is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_fault(decoder: *mut wl_decoder, fault: *mut wl_fault) -> wl_status {
    guarded(wl_status::Panic, || {
        if decoder.is_null() {
            return wl_status::InvalidArgument;
        }
        // SAFETY: not null, and the caller promises that nobody else uses it.
        let (rules, current) = unsafe { (*(*decoder).decoder.rules(), &mut (*decoder).current) };
        let Some(found) = current.describe_fault(rules) else { return wl_status::NotFound };
        // SAFETY: the caller promises that it is NULL or points to memory for a fault.
        unsafe { store(fault, found) };
        wl_status::Ok
    })
}

/// Keeps the current line (a message, a batch or a fault) as a frame of its own, for another thread or for later. NULL if
/// there is no current line.
///
/// Nothing is copied. The frame keeps the buffer alive that the line arrived in, which may hold many other lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_keep(decoder: *const wl_decoder) -> *mut wl_frame {
    guarded(std::ptr::null_mut(), || {
        if decoder.is_null() {
            return std::ptr::null_mut();
        }
        // SAFETY: not null, and the caller promises that nobody changes it.
        let (rules, current) = unsafe { (*(*decoder).decoder.rules(), &(*decoder).current) };
        current.owned().map_or(std::ptr::null_mut(), |current| given(wl_frame { current, rules }))
    })
}

/// Ends the stream: what came after the last line feed becomes a message or a fault as well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_finish(decoder: *mut wl_decoder) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a decoder that nobody else uses.
        let Some((decoder, _)) = (unsafe { changed(decoder) }) else { return wl_status::InvalidArgument };
        decoder.finish();
        wl_status::Ok
    })
}

/// How many bytes have arrived that haven't been taken as lines yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_decoder_buffered(decoder: *const wl_decoder) -> usize {
    guarded(0, || {
        if decoder.is_null() {
            return 0;
        }
        // SAFETY: not null, and the caller promises that nobody changes it.
        unsafe { shared(&raw const (*decoder).decoder) }.map_or(0, Decoder::buffered)
    })
}
