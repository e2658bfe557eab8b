//! Which token may follow which, and which may stand in an object or in an array: for 64 tokens at once.
//!
//! Tokens are side by side, so that what comes after one is the next bit. Shift a mask by one, and it says which tokens
//! come after those in it.
//!
//! ```text
//! tokens             { " : [ 1 , " ] , " : t }
//! comma              . . . . . ^ . . ^ . . . .
//! comma << 1         . . . . . . ^ . . ^ . . .    after a comma
//! & string           . . . . . . ^ . . ^ . . .    maybe keys: in an object they are
//! << 1               . . . . . . . ^ . . ^ . .    after those: the first shows an array, the second an object
//! ```
//!
//! Only one thing depends on the container: whether a comma or an opening bracket is followed by a key and a colon, or by a
//! value. [`read`] notes where tokens *claim* to stand in an array. All colons claim to stand in an object.
//! [`check_containers`] then compares this with the containers that the brackets make.

use super::cpu::Masks;
use super::pack::Tokens;
use super::pairs::{Brackets, Levels};
use super::pass::Rejected;

/// What tokens claim of the containers they stand in.
#[derive(Clone, Copy)]
pub(super) struct Claims {
    /// Those that show that they stand in an array.
    pub(super) in_array: u64,
    /// Those that come after a colon.
    pub(super) after_colon: u64,
}

/// Checks whether each token may follow the one before, as far as this does not depend on containers.
#[inline(always)]
pub(super) fn read(tokens: Tokens) -> Result<Claims, Rejected> {
    let Tokens { new, open, close, comma, colon, string, scalar, .. } = tokens;
    let after_open = open << 1;
    let after_colon = colon << 1;
    let after_separator = after_open | comma << 1;
    let after_key = (after_separator & string) << 1;
    // A value stands there and nowhere else, but for an empty container; and a colon only after a key.
    let value = open | string | scalar;
    let wrong = ((value ^ (after_separator | after_colon)) & !(close & after_open)) | (colon & !after_key);
    if wrong & new != 0 {
        return Err(Rejected);
    }
    // What may have been a key was none without a colon after it, and a value that is no string can be none.
    let in_array = (after_key & !colon) | (after_separator & (open | scalar));
    Ok(Claims { in_array: in_array & new, after_colon })
}

/// Checks whether each token stands in the container that it claims to stand in, and each bracket closes one of its kind.
/// `in_object` is all ones if the first token stands in an object, and zero otherwise.
///
/// Where the kind of the innermost container changes, a bit is set. The parity of those before a token, [`prefix_xor`],
/// says which kind it stands in:
///
/// ```text
/// tokens             { " : [ { } , 1 ] , " : { } }
/// changes            ^ . . ^ ^ ^ . . ^ . . . . . ^     { in {, or ] after which there is still an array, is none
/// in an object       . ^ ^ ^ . ^ . . . ^ ^ ^ ^ ^ ^     the kind before each token
/// ```
///
/// That kind is computed from what opening brackets claim: which comes after a colon stands in an object, and any other in
/// an array. Since these claims are checked as well, from the first token on, what is computed is right up to the first
/// token that is wrong.
///
/// [`prefix_xor`]: Masks::prefix_xor
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
