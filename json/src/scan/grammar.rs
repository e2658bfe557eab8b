//! Checks which token may follow which, and which may be in an object or in an array, for all tokens of a group at
//! once.
//!
//! ```text
//! tokens             { " : [ 1 , " ] , " : t }
//! comma              . . . . . ^ . . ^ . . . .
//! after a comma      . . . . . . ^ . . ^ . . .    comma << 1, if tokens are side by side
//! & string           . . . . . . ^ . . ^ . . .    a key, if it is in an object
//! after a key        . . . . . . . ^ . . ^ . .    a bracket implies an array, a colon an object
//! ```
//!
//! Only one rule depends on the container: after a comma or an opening bracket, an object has a key and a colon, and an
//! array has a value. [`read`] doesn't know the containers, so it only collects claims: a colon *claims* to be in an
//! object, and a value in that place claims to be in an array. [`check_containers`] then compares the claims with the
//! containers that the brackets form.

use super::cpu::Masks;
use super::group::Tokens;
use super::nesting::{Brackets, Levels};
use super::pass::Rejected;

/// Tokens by their predecessor, which may belong to the previous group.
#[derive(Clone, Copy)]
pub(super) struct After {
    pub(super) open: u64,
    pub(super) comma: u64,
    pub(super) colon: u64,
    /// After a string that itself comes after an opening bracket or a comma. It is a key, or an element of an array.
    pub(super) key: u64,
}

/// What tokens imply about their containers.
#[derive(Clone, Copy)]
pub(super) struct Claims {
    /// Tokens that are only valid in an array.
    in_array: u64,
    /// Tokens after a colon, which are only valid in an object.
    after_colon: u64,
    /// The closing brackets of empty containers.
    pub(super) empty: u64,
}

/// Checks whether each token may follow the previous one, regardless of containers. Only violations in `checked` count.
#[inline(always)]
pub(super) fn read(tokens: Tokens, after: After, checked: u64) -> Result<Claims, Rejected> {
    let Tokens { open, close, colon, string, scalar, .. } = tokens;
    let after_separator = after.open | after.comma;
    let empty = close & after.open;
    // Each of these positions must have a value, except in an empty container, and no other position may have one.
    // Colons only come after keys.
    let value = open | string | scalar;
    let wrong = ((value ^ (after_separator | after.colon)) & !empty) | (colon & !after.key);
    if wrong & checked != 0 {
        return Err(Rejected);
    }
    // A string without a colon after it isn't a key, and neither is any other value.
    let in_array = (after.key & !colon) | (after_separator & (open | scalar));
    Ok(Claims { in_array: in_array & checked, after_colon: after.colon, empty })
}

impl Claims {
    /// The new brackets of a group, except `entered`, which opens the outermost container.
    #[inline(always)]
    pub(super) fn brackets(self, tokens: Tokens, entered: u64) -> Brackets {
        let open = tokens.open & tokens.new & !entered;
        let close = tokens.close & tokens.new;
        Brackets { open, close, curly: tokens.curly, open_in_object: open & self.after_colon }
    }
}

/// Checks whether each token is in the kind of container that it claims, and whether each bracket closes a container of
/// its own kind. `in_object` is all ones if the group begins in an object, otherwise zero.
///
/// `changes` marks the brackets at which the kind of the innermost container changes. The parity of the changes before
/// a token, which [`prefix_xor`](Masks::prefix_xor) computes, is the kind of its container:
///
/// ```text
/// tokens             { " : [ { } , 1 ] , " : { } }
/// changes            ^ . . ^ ^ ^ . . ^ . . . . . ^
/// in an object       . ^ ^ ^ . ^ . . . ^ ^ ^ ^ ^ ^
/// ```
///
/// The changes themselves rely on claims: an opening bracket after a colon claims to be in an object, and any other in
/// an array. These claims are checked too. So the kinds are correct up to the first token with a false claim, and that
/// token is detected.
#[inline(always)]
pub(super) fn check_containers<C: Masks>(
    cpu: C,
    tokens: Tokens,
    claims: Claims,
    brackets: Brackets,
    levels: Levels,
    in_object: u64,
) -> Result<(), Rejected> {
    let Brackets { open, close, curly, open_in_object } = brackets;
    let changes = (open & (open_in_object ^ curly)) | (close & (curly ^ levels.close_in_object));
    let in_object = cpu.prefix_xor(changes << 1) ^ in_object;
    let claim_object = (tokens.colon & tokens.new) | open_in_object | (close & curly);
    let claim_array = claims.in_array | (open & !open_in_object) | (close & !curly);
    if (claim_object & !in_object) | (claim_array & in_object) != 0 { Err(Rejected) } else { Ok(()) }
}
