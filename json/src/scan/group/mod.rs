//! Groups of tokens that are checked together.
//!
//! | | a group is | used if bits can be gathered in one instruction |
//! |---|---|---|
//! | [`Packed`](packed::Packed) | up to 64 tokens of several blocks, side by side | yes |
//! | [`Single`](single::Single) | the tokens of one block, in place | no |
//!
//! Both present a group as the same masks. They differ in how to find the token after another one: in a packed group it is
//! the next bit; in a single block there may be blanks or a string in between.

#[cfg(target_arch = "x86_64")]
pub(super) mod packed;
#[cfg(target_arch = "x86_64")]
pub(super) mod planes;
pub(super) mod single;

use super::cpu::{Block, Masks};
use super::grammar::Claims;
use super::nesting::{Brackets, Levels, Nesting};
use super::pass::Rejected;

/// Collects tokens until there are enough of them to check.
pub(super) trait Group<C: Masks> {
    /// What is known about a block's brackets, colons and commas besides their places.
    type Shapes: Copy;

    /// Where the tokens came from. Kept apart from the rest, which thus can stay in registers.
    type Origins: Default;

    /// An empty group after the token `previous`: a `{`, a comma, or a colon, after which a value comes as at the beginning
    /// of a text.
    fn new(cpu: C, previous: u8) -> Self;

    /// Whether the group must be checked before the next block is appended.
    fn is_full(&self) -> bool;

    /// Whether there are no tokens to check.
    fn is_empty(&self) -> bool;

    /// The brackets, colons and commas of a block, both inside and outside strings. May include control characters.
    fn structure(cpu: C, block: &Block) -> (u64, Self::Shapes);

    /// Appends the tokens of the block at `at`. The group must not be full; returns whether it is now.
    fn append(
        &mut self,
        cpu: C,
        block: &Block,
        shapes: Self::Shapes,
        found: Found,
        at: usize,
        origins: &mut Self::Origins,
    ) -> bool;

    /// The tokens of the group.
    fn tokens(&self, cpu: C) -> Tokens;

    /// Checks whether each of `tokens` may follow the one before.
    fn read(&mut self, tokens: Tokens) -> Result<Claims, Rejected>;

    /// Opens and closes the containers of `nesting`, which must not [be deep](Nesting::may_be_deep).
    fn nest(cpu: C, brackets: Brackets, nesting: &mut Nesting) -> Result<Levels, Rejected>;

    /// Where each of `tokens` is in the text, in order.
    fn places(&self, cpu: C, tokens: u64, origins: &Self::Origins) -> impl Iterator<Item = usize>;

    /// Begins the next group, with the tokens that did not fit in this one.
    fn restart(&mut self, cpu: C, origins: &mut Self::Origins);

    /// Whether no tokens are left over for the next group.
    fn all_fit(&self) -> bool;
}

/// The tokens of a block.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// The first byte of each token.
    pub(super) tokens: u64,
    /// The opening quotes among them.
    pub(super) string: u64,
    /// The first bytes of numbers and literals.
    pub(super) scalar: u64,
    /// All bytes inside strings, including each opening quote but not the closing one.
    pub(super) inside: u64,
    pub(super) blank: u64,
}

/// The tokens of a group. Bit `i` of each mask stands for the same token, or for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    /// All tokens that have not been checked before.
    pub(super) new: u64,
    /// `{` and `[`.
    pub(super) open: u64,
    /// `}` and `]`.
    pub(super) close: u64,
    /// Which of those brackets are `{` and `}`. Bits of other tokens are arbitrary.
    pub(super) curly: u64,
    pub(super) comma: u64,
    pub(super) colon: u64,
    pub(super) string: u64,
    /// Numbers and literals.
    pub(super) scalar: u64,
}

/// The bits of a mask, one by one from the lowest.
#[inline(always)]
fn bits(mut mask: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let bit = mask & mask.wrapping_neg();
        mask ^= bit;
        (bit != 0).then_some(bit)
    })
}
