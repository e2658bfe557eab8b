//! Which token may follow which, and which may stand in an object or in an array: for all tokens of a group at once.
//!
//! ```text
//! tokens             { " : [ 1 , " ] , " : t }
//! comma              . . . . . ^ . . ^ . . . .
//! after a comma      . . . . . . ^ . . ^ . . .    comma << 1, if tokens are side by side
//! & string           . . . . . . ^ . . ^ . . .    a key, if it stands in an object
//! after a key        . . . . . . . ^ . . ^ . .    a bracket shows an array, a colon an object
//! ```
//!
//! Only one thing depends on the container: whether a comma or an opening bracket is followed by a key and a colon, or by a
//! value. [`read`] notes where tokens *claim* to stand in an array; all colons claim to stand in an object.
//! [`check_containers`] then compares these claims with the containers that the brackets make.

use super::cpu::Masks;
use super::group::Tokens;
use super::nesting::{Brackets, Levels};
use super::pass::Rejected;

/// The tokens that come after certain others. What a token comes after may lie in the group before.
#[derive(Clone, Copy)]
pub(super) struct After {
    pub(super) open: u64,
    pub(super) comma: u64,
    pub(super) colon: u64,
    /// After a string that comes after an opening bracket or a comma: a key, or a value in an array.
    pub(super) key: u64,
}

/// What tokens claim of the containers they stand in.
#[derive(Clone, Copy)]
pub(super) struct Claims {
    /// Those that stand in an array.
    in_array: u64,
    /// Those that come after a colon, hence stand in an object.
    after_colon: u64,
    /// The closing brackets of empty containers.
    pub(super) empty: u64,
}

/// Checks whether each token may follow the one before, as far as this does not depend on containers. Only what is in
/// `judged` counts.
#[inline(always)]
pub(super) fn read(tokens: Tokens, after: After, judged: u64) -> Result<Claims, Rejected> {
    let Tokens { open, close, colon, string, scalar, .. } = tokens;
    let after_separator = after.open | after.comma;
    let empty = close & after.open;
    // A value stands there and nowhere else, but for an empty container; and a colon only after a key.
    let value = open | string | scalar;
    let wrong = ((value ^ (after_separator | after.colon)) & !empty) | (colon & !after.key);
    if wrong & judged != 0 {
        return Err(Rejected);
    }
    // A string without a colon after it was no key, and a value that is no string cannot be one.
    let in_array = (after.key & !colon) | (after_separator & (open | scalar));
    Ok(Claims { in_array: in_array & judged, after_colon: after.colon, empty })
}

impl Claims {
    /// The new brackets of a group, but for `entered`, which opens the outermost container and stands in none.
    #[inline(always)]
    pub(super) fn brackets(self, tokens: Tokens, entered: u64) -> Brackets {
        let open = tokens.open & tokens.new & !entered;
        let close = tokens.close & tokens.new;
        Brackets { open, close, curly: tokens.curly, open_in_object: open & self.after_colon }
    }
}

/// Checks whether each token stands in the container that it claims to stand in, and each bracket closes one of its kind.
/// `in_object` is all ones if the first token stands in an object, and zero otherwise.
///
/// Where the kind of the innermost container changes, a bit is set. The parity of those before a token, as
/// [`prefix_xor`](Masks::prefix_xor) gives it, says in which kind it stands:
///
/// ```text
/// tokens             { " : [ { } , 1 ] , " : { } }
/// changes            ^ . . ^ ^ ^ . . ^ . . . . . ^
/// in an object       . ^ ^ ^ . ^ . . . ^ ^ ^ ^ ^ ^
/// ```
///
/// What changes is computed from claims again: an opening bracket after a colon claims to stand in an object, and any other
/// to stand in an array. Since these claims are checked as well, all that is computed is right up to the first token that
/// is wrong.
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
