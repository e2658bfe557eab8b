//! Access to values inside a payload, for programs without a JSON library.

use wireline::{Id, RawJson};

use crate::boundary::catch_panic;
use crate::memory::{store, wl_span};
use crate::status::wl_status;

/// Finds the value in `json` that a JSON pointer (RFC 6901), such as `/params/name`, refers to. Stores its span, which
/// points into `json`, in `value`.
///
/// Returns `WL_STATUS_NOT_FOUND` if there is no such value, and `WL_STATUS_NOT_JSON` if `json` isn't JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_json_pointer(json: wl_span, pointer: wl_span, value: *mut wl_span) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that each span is valid.
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

/// Decodes a JSON string into `buffer`, without a terminating NUL, and stores its length in `len`. If that is more than
/// `capacity`, returns `WL_STATUS_TOO_SMALL`, and `len` is the capacity needed. `buffer` must not overlap `json`.
///
/// Escapes of lone surrogates become U+FFFD. Returns `WL_STATUS_NOT_FOUND` if `json` isn't a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_json_string(json: wl_span, buffer: *mut u8, capacity: usize, len: *mut usize) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that each span is valid.
        let Some(bytes) = (unsafe { json.bytes() }) else { return wl_status::InvalidArgument };
        let Ok(json) = RawJson::parse(bytes) else { return wl_status::NotJson };
        let repaired;
        let characters = match json.as_str() {
            Some(characters) => characters,
            None if json.as_json().starts_with('"') => {
                repaired = replace_lone_surrogates(json.as_json());
                match RawJson::parse(repaired.as_bytes()) {
                    Ok(repaired) => repaired.as_str().unwrap_or_default().into_owned().into(),
                    Err(_) => return wl_status::NotFound,
                }
            }
            None => return wl_status::NotFound,
        };
        // SAFETY: the caller promises that it is NULL or points to memory for a number.
        unsafe { store(len, characters.len()) };
        if characters.len() > capacity {
            return wl_status::TooSmall;
        }
        if !characters.is_empty() {
            if buffer.is_null() {
                return wl_status::InvalidArgument;
            }
            // SAFETY: not null, and the caller promises that there is room for `capacity` bytes, which don't overlap
            // `json`.
            unsafe { buffer.copy_from_nonoverlapping(characters.as_ptr(), characters.len()) };
        }
        wl_status::Ok
    })
}

/// Replaces each escape of a lone surrogate in a JSON string with `\ufffd`.
fn replace_lone_surrogates(json: &str) -> String {
    let unit = |text: &str| text.strip_prefix("\\u").and_then(|hex| u16::from_str_radix(hex.get(..4)?, 16).ok());
    let mut repaired = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        repaired.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = match unit(rest) {
            Some(0xd800..=0xdbff) if matches!(unit(&rest[6..]), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                repaired.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            Some(_) => 6,
            None => 2,
        };
        repaired.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    repaired + rest
}

/// Whether two ids, as JSON, have the same type and value, regardless of their spelling: `1` equals `1.0`, but not
/// `"1"`. Returns false if either isn't an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_id_equal(one: wl_span, other: wl_span) -> bool {
    // SAFETY: the caller promises that each span is valid.
    catch_panic(false, || unsafe { matches!((id(one), id(other)), (Ok(Some(one)), Ok(Some(other))) if one == other) })
}

/// Parses the id in a span from C. Returns `None` if the span is absent.
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

/// Validates the text in a span from C. Returns `None` if the span is absent.
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

/// Parses the JSON in a span from C. Returns `None` if the span is absent.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_replaced() {
        for (json, expected) in [
            (r#""\ud800""#, r#""\ufffd""#),
            (r#""a\udc00\ud83d\ude00\\ud800b""#, r#""a\ufffd\ud83d\ude00\\ud800b""#),
            (r#""\ud800\ud800\udc00\n\u0041""#, r#""\ufffd\ud800\udc00\n\u0041""#),
        ] {
            assert_eq!(replace_lone_surrogates(json), expected);
        }
    }
}
