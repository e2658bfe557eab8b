//! Counts faults that are equal.

use std::cmp::Reverse;
use std::collections::HashMap;

use wireline::{FaultKind, Hint};

use crate::judge::Rule;
use crate::session::Side;
use crate::units::counted;

/// How many equal faults are reported one by one.
pub(crate) const MAX_EQUAL: u64 = 20;

/// What equal faults have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Likeness {
    Fault(FaultKind, Option<Hint>),
    /// Messages that break a rule.
    Finding(Rule),
    /// Lines that look like messages printed over several lines.
    PrintedRun,
}

/// The number of faults by sender and likeness.
#[derive(Default)]
pub(crate) struct EqualFaults(HashMap<(Option<Side>, Likeness), u64>);

impl EqualFaults {
    /// Counts a fault, and returns how many like it there are now.
    pub(crate) fn add(&mut self, sender: Option<Side>, likeness: Likeness) -> u64 {
        let count = self.0.entry((sender, likeness)).or_default();
        *count += 1;
        *count
    }

    /// What to say about the faults beyond [`MAX_EQUAL`], the most frequent first: sender, text, and name of the kind.
    pub(crate) fn more(&self) -> Vec<(Option<Side>, String, &'static str)> {
        let mut more: Vec<_> = self.0.iter().filter(|(_, count)| **count > MAX_EQUAL).collect();
        more.sort_by_key(|((sender, likeness), count)| (Reverse(**count), sender.map(Side::name), likeness.name()));
        let text = |((sender, likeness), count): (&(_, Likeness), &u64)| {
            let what = match likeness {
                Likeness::Fault(..) => counted(count - MAX_EQUAL, "more fault", "more faults"),
                Likeness::Finding(_) => counted(count - MAX_EQUAL, "more finding", "more findings"),
                Likeness::PrintedRun => counted(count - MAX_EQUAL, "more group of lines", "more groups of lines"),
            };
            (*sender, format!("{what} like that"), likeness.name())
        };
        more.into_iter().map(text).collect()
    }
}

impl Likeness {
    fn name(&self) -> &'static str {
        match self {
            Self::Fault(kind, _) => kind.name(),
            Self::Finding(rule) => rule.name(),
            Self::PrintedRun => Hint::PrettyPrinted.name(),
        }
    }
}
