//! The tokens that are judged together.
//!
//! | | a group is | for |
//! |---|---|---|
//! | [`Packed`](packed::Packed) | up to 64 tokens of several blocks, side by side | CPUs that gather bits in one instruction |
//! | [`Single`](single::Single) | the tokens of one block, where they are | the others |
//!
//! Either way a group is a few masks, and all that is asked of it is the same, but for one question: what comes after a
//! token? Side by side, that is the next bit. Otherwise there are blanks and strings to be carried over.

pub(super) mod packed;
pub(super) mod planes;
pub(super) mod single;

use super::cpu::{Block, Masks};
use super::grammar::Claims;
use super::nesting::{Brackets, Levels, Nesting};
use super::pass::Rejected;

/// Collects tokens until there are enough of them to be judged.
pub(super) trait Group<C: Masks> {
    /// What is known of the structure of a block, apart from where it is.
    type Shapes: Copy;

    /// Where in the text the tokens came from. Apart from the rest, which stays in registers.
    type Origins: Default;

    /// Nothing, at the beginning of a text, or after a comma.
    fn new(cpu: C, after_comma: bool) -> Self;

    /// Whether it takes no other block before it is judged.
    fn is_full(&self) -> bool;

    /// Whether it is full already when it begins again.
    fn overflows(&self) -> bool;

    /// Whether nothing is left to be judged.
    fn is_empty(&self) -> bool;

    /// Where a block has brackets, colons and commas, in strings as well. Control characters may be among them.
    fn structure(cpu: C, block: &Block) -> (u64, Self::Shapes);

    /// Appends the tokens of `block`, which is at `at` in the text. There must be room.
    fn append(
        &mut self,
        cpu: C,
        block: &Block,
        shapes: Self::Shapes,
        found: Found,
        at: usize,
        origins: &mut Self::Origins,
    );

    /// What the tokens are.
    fn tokens(&self, cpu: C) -> Tokens;

    /// Checks whether each of its `tokens` may follow the one before.
    fn read(&mut self, tokens: Tokens) -> Result<Claims, Rejected>;

    /// Opens and closes containers by its `brackets`, if `nesting` is not [deep](Nesting::may_be_deep).
    fn nest(cpu: C, brackets: Brackets, nesting: &mut Nesting) -> Result<Levels, Rejected>;

    /// Where those in `tokens` are in the text: for each block where it is, and which of its bytes they are.
    fn places(&self, cpu: C, tokens: u64, origins: &Self::Origins) -> impl Iterator<Item = (u32, u64)>;

    /// Begins again, with what did not fit.
    fn restart(&mut self, cpu: C, origins: &mut Self::Origins);

    /// Whether all tokens have fitted so far.
    fn all_fit(&self) -> bool;
}

/// What begins where in a block.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// All tokens.
    pub(super) tokens: u64,
    /// Those that are strings.
    pub(super) string: u64,
    /// Those that are numbers and literals.
    pub(super) scalar: u64,
    /// The bytes within strings, without the quotes that end them.
    pub(super) inside: u64,
    pub(super) blank: u64,
}

/// What the tokens of a group are: bit `i` of each mask speaks of the same token, or of none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Those that have not been judged before.
    pub(super) new: u64,
    /// `{` and `[`.
    pub(super) open: u64,
    /// `}` and `]`.
    pub(super) close: u64,
    /// Which of those brackets are `{` and `}`. Of other tokens it says nothing.
    pub(super) curly: u64,
    pub(super) comma: u64,
    pub(super) colon: u64,
    pub(super) string: u64,
    /// Numbers and literals.
    pub(super) scalar: u64,
}
