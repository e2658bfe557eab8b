//! Values inside a payload, for programs without a JSON library.

use wireline::{Id, RawJson};

use crate::boundary::guarded;
use crate::memory::{store, wl_span};
use crate::status::wl_status;

/// Finds the value in `json` that a JSON pointer (RFC 6901), such as `/params/name`, leads to. `value` is told where in
/// `json` it is.
///
/// `WL_STATUS_NOT_FOUND` if there is none, `WL_STATUS_NOT_JSON` if `json` isn't JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_json_pointer(json: wl_span, pointer: wl_span, value: *mut wl_span) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that there are as many bytes.
        let (bytes, pointer) = unsafe { (json.bytes(), text(pointer)) };
        let (Some(bytes), Ok(Some(pointer))) = (bytes, pointer) else { return wl_status::InvalidArgument };
        let Ok(json) = RawJson::parse(bytes) else { return wl_status::NotJson };
        let Some(found) = json.pointer(pointer) else { return wl_status::NotFound };
        let start = found.as_bytes().as_ptr().addr() - bytes.as_ptr().addr();
        // SAFETY: the caller promises that it is NULL or points to memory for a span.
        unsafe { store(value, wl_span::of(&bytes[start..start + found.as_bytes().len()])) };
        wl_status::Ok
    })
}

/// Decodes a JSON string into `buffer`, without a NUL. `len` is told how many bytes it has, and is in any case what it
/// takes: `WL_STATUS_TOO_SMALL` if that is more than `capacity`.
///
/// `WL_STATUS_NOT_FOUND` if it is other JSON, or has half a surrogate pair, which stands for no character.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_json_string(json: wl_span, buffer: *mut u8, capacity: usize, len: *mut usize) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that there are as many bytes.
        let Some(bytes) = (unsafe { json.bytes() }) else { return wl_status::InvalidArgument };
        let Ok(json) = RawJson::parse(bytes) else { return wl_status::NotJson };
        let Some(characters) = json.as_str() else { return wl_status::NotFound };
        // SAFETY: the caller promises that it is NULL or points to memory for a number.
        unsafe { store(len, characters.len()) };
        if characters.len() > capacity {
            return wl_status::TooSmall;
        }
        if !characters.is_empty() {
            if buffer.is_null() {
                return wl_status::InvalidArgument;
            }
            // SAFETY: not null, and the caller promises that there is room for `capacity` bytes that aren't the text's.
            unsafe { buffer.copy_from_nonoverlapping(characters.as_ptr(), characters.len()) };
        }
        wl_status::Ok
    })
}

/// Whether two ids, as JSON, have the same type and value, however they are spelled: `1` equals `1.0`, but not `"1"`.
/// False if either is no id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_id_equal(one: wl_span, other: wl_span) -> bool {
    // SAFETY: the caller promises that there are as many bytes.
    guarded(false, || unsafe { matches!((id(one), id(other)), (Ok(Some(one)), Ok(Some(other))) if one == other) })
}

/// The id that a span from C spells, or `None` if that is absent.
///
/// # Safety
///
/// As for [`wl_span::bytes`].
pub(crate) unsafe fn id<'a>(span: wl_span) -> Result<Option<Id<'a>>, wl_status> {
    // SAFETY: as the caller promises.
    match unsafe { text(span) }? {
        Some(text) => Id::parse(text).map(Some).ok_or(wl_status::NotAnId),
        None => Ok(None),
    }
}

/// The text that a span from C has, or `None` if that is absent.
///
/// # Safety
///
/// As for [`wl_span::bytes`].
pub(crate) unsafe fn text<'a>(span: wl_span) -> Result<Option<&'a str>, wl_status> {
    // SAFETY: as the caller promises.
    match unsafe { span.bytes() } {
        Some(bytes) => std::str::from_utf8(bytes).map(Some).map_err(|_| wl_status::NotUtf8),
        None if span.len == 0 => Ok(None),
        None => Err(wl_status::InvalidArgument),
    }
}

/// The JSON that a span from C has, or `None` if that is absent.
///
/// # Safety
///
/// As for [`wl_span::bytes`].
pub(crate) unsafe fn payload<'a>(span: wl_span) -> Result<Option<RawJson<'a>>, wl_status> {
    // SAFETY: as the caller promises.
    match unsafe { span.bytes() } {
        Some(bytes) => RawJson::parse(bytes).map(Some).map_err(|_| wl_status::NotJson),
        None if span.len == 0 => Ok(None),
        None => Err(wl_status::InvalidArgument),
    }
}
