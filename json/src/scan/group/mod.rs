//! Groups of tokens that are checked together.
//!
//! | | contents of a group | needs an instruction that gathers bits |
//! |---|---|---|
//! | [`Packed`](packed::Packed) | up to 64 tokens of several blocks, side by side | yes |
//! | [`Single`](single::Single) | the tokens of one block, in place | no |
//!
//! Both present a group as the same masks. They differ in how the next token is found. In a packed group, it is the
//! next bit. In a single block, there may be blanks or a string in between.

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
    /// Information about a block's brackets, colons and commas besides their positions.
    type Shapes: Copy;

    /// The positions that the tokens came from. Stored separately, so that the rest can stay in registers.
    type Origins: Default;

    /// An empty group after the token `previous`: a `{`, a comma, or a colon. At the beginning of a text it is a colon,
    /// because a value comes next.
    fn new(cpu: C, previous: u8) -> Self;

    /// Whether the group must be checked before the next block is appended.
    fn is_full(&self) -> bool;

    /// Whether there are no tokens to check.
    fn is_empty(&self) -> bool;

    /// The brackets, colons and commas of a block, both inside and outside strings. May include control characters.
    fn structure(cpu: C, block: &Block) -> (u64, Self::Shapes);

    /// Appends the tokens of the block at `at`. The group must not be full before. Returns whether it is full
    /// afterwards.
    fn append(
        &mut self,
        cpu: C,
        block: &Block,
        shapes: Self::Shapes,
        found: BlockTokens,
        at: usize,
        origins: &mut Self::Origins,
    ) -> bool;

    /// The tokens of the group.
    fn tokens(&self, cpu: C) -> Tokens;

    /// Checks whether each of `tokens` may follow the previous one.
    fn read(&mut self, tokens: Tokens) -> Result<Claims, Rejected>;

    /// Opens and closes the containers of `nesting`, which must not [be deep](Nesting::may_be_deep).
    fn nest(cpu: C, brackets: Brackets, nesting: &mut Nesting) -> Result<Levels, Rejected>;

    /// The positions of `tokens` in the text, in order.
    fn places(&self, cpu: C, tokens: u64, origins: &Self::Origins) -> impl Iterator<Item = usize>;

    /// Begins the next group, with the tokens that didn't fit in this one.
    fn restart(&mut self, cpu: C, origins: &mut Self::Origins);

    /// Whether no tokens are left over for the next group.
    fn all_fit(&self) -> bool;
}

/// The tokens of a block.
#[derive(Clone, Copy)]
pub(super) struct BlockTokens {
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

/// The tokens of a group. Bit `i` of each mask refers to the same token, if there is one.
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

/// Iterates over the bits of a mask, from the lowest.
#[inline(always)]
fn bits(mut mask: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let bit = mask & mask.wrapping_neg();
        mask ^= bit;
        (bit != 0).then_some(bit)
    })
}
