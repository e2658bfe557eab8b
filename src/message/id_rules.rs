//! Which JSON texts may be ids.

use wireline_json::{Decimal, string};

use super::dialect::{IdTypes, MessageKind, Permits};
use super::fault_kind::FaultKind;
use super::rules::Rules;

/// Checks that `json`, a JSON text, may be the id of a message of this kind.
#[inline]
pub(crate) fn check_id(json: &str, kind: MessageKind, rules: &Rules) -> Result<(), FaultKind> {
    let is_string = json.starts_with('"');
    if !has_permitted_type(json.as_bytes(), kind, rules.permits) || is_string && !string::is_decodable(json) {
        return Err(FaultKind::InvalidId);
    }
    if json.len() > rules.longest_id() { Err(FaultKind::IdTooLong) } else { Ok(()) }
}

/// Whether `json` has no lone surrogate escape, if it is a string.
pub(super) fn is_decodable(json: &str) -> bool {
    !json.starts_with('"') || string::is_decodable(json)
}

/// Whether an id may have the type of `json`.
#[inline(always)]
pub(super) fn has_permitted_type(json: &[u8], kind: MessageKind, permits: Permits) -> bool {
    let types = permits.id_types(kind);
    match json.first() {
        Some(b'"') => types.contains(IdTypes::STRING),
        Some(b'-' | b'0'..=b'9') => {
            types.contains(IdTypes::NUMBER) || types.contains(IdTypes::INTEGER) && is_integer(json)
        }
        Some(b'n') => types.contains(IdTypes::NULL),
        _ => false,
    }
}

/// Whether `json`, a JSON text, is a number without a fraction, by value.
#[inline]
pub(super) fn is_integer(json: &[u8]) -> bool {
    match json {
        [b'-', digits @ ..] | digits if digits.iter().all(u8::is_ascii_digit) => true,
        [b'-' | b'0'..=b'9', ..] => Decimal::new(json).is_integer(),
        _ => false,
    }
}
