//! The members of an envelope, and those that a contender found.

/// A set of envelope members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Members(u8);

impl Members {
    pub(crate) const JSONRPC: Self = Self(1);
    pub(crate) const ID: Self = Self(1 << 1);
    pub(crate) const METHOD: Self = Self(1 << 2);
    pub(crate) const PARAMS: Self = Self(1 << 3);
    pub(crate) const RESULT: Self = Self(1 << 4);
    pub(crate) const ERROR: Self = Self(1 << 5);
    pub(crate) const ALL: Self = Self((1 << 6) - 1);

    /// The member called `key`, or the empty set.
    #[inline]
    pub(crate) fn named(key: &str) -> Self {
        match key {
            "jsonrpc" => Self::JSONRPC,
            "id" => Self::ID,
            "method" => Self::METHOD,
            "params" => Self::PARAMS,
            "result" => Self::RESULT,
            "error" => Self::ERROR,
            _ => Self::default(),
        }
    }

    #[inline]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The members in both sets.
    pub(crate) const fn among(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// This set if `found`, else the empty set.
    #[inline]
    pub(crate) fn if_found(self, found: bool) -> Self {
        Self(self.0 * u8::from(found))
    }
}

/// What a contender found in a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) messages: u64,
    /// The sum of the member sets of all messages, as numbers: cheap enough to compute while the clock runs. A
    /// contender that reports wrong members gets a different sum; the sets are compared line by line beforehand.
    checksum: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn count(&mut self, members: Members) {
        self.messages += 1;
        self.checksum += u64::from(members.0);
    }

    /// The members of the message, if there was exactly one.
    pub(crate) fn only(self) -> Option<Members> {
        (self.messages == 1).then_some(Members(self.checksum as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_distinct() {
        let names = ["jsonrpc", "id", "method", "params", "result", "error"];
        let all = names.into_iter().map(Members::named).fold(Members::default(), Members::and);
        assert_eq!(all, Members::ALL);
        assert_eq!(Members::named("Id"), Members::default());
        assert_eq!(all.among(Members::ID.and(Members::ERROR)), Members::ID.and(Members::ERROR));
        assert_eq!(Members::ID.if_found(false), Members::default());
    }

    #[test]
    fn only_needs_exactly_one_message() {
        let mut tally = Tally::default();
        assert_eq!(tally.only(), None);
        tally.count(Members::ALL);
        assert_eq!(tally.only(), Some(Members::ALL));
        tally.count(Members::ID);
        assert_eq!(tally.only(), None);
    }
}
