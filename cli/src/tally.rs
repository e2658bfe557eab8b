//! What has been seen, in numbers.

use wireline::{Fault, FaultKind, Message};

/// The kinds of what is not faulty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Notification,
    Response,
    Error,
    Batch,
}

impl Kind {
    pub(crate) fn of(message: &Message<'_>) -> Self {
        match message {
            Message::Request(_) => Self::Request,
            Message::Notification(_) => Self::Notification,
            Message::Response(response) if response.error().is_some() => Self::Error,
            Message::Response(_) => Self::Response,
        }
    }

    /// As machines read it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Notification => "notification",
            Self::Response => "response",
            Self::Error => "error",
            Self::Batch => "batch",
        }
    }
}

/// The counts. The entries of a batch are counted as well as the batch.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) bytes: u64,
    /// Those that are not blank.
    pub(crate) lines: u64,
    /// Those of them that are faulty, or have a faulty entry.
    pub(crate) faulty: u64,
    kinds: [u64; 5],
    faults: Vec<(FaultKind, u64)>,
}

impl Tally {
    pub(crate) fn count(&mut self, kind: Kind) {
        self.kinds[kind as usize] += 1;
    }

    pub(crate) fn count_entry(&mut self, entry: &Result<Message<'_>, Fault>) {
        match entry {
            Ok(message) => self.count(Kind::of(message)),
            Err(fault) => self.count_fault(fault),
        }
    }

    pub(crate) fn count_fault(&mut self, fault: &Fault) {
        self.add_faults(fault.kind(), 1);
    }

    fn add_faults(&mut self, kind: FaultKind, more: u64) {
        match self.faults.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += more,
            None => self.faults.push((kind, more)),
        }
    }

    /// Counts all that another has counted. When that was begun does not matter.
    pub(crate) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.faulty += other.faulty;
        for (count, more) in self.kinds.iter_mut().zip(other.kinds) {
            *count += more;
        }
        for (kind, more) in &other.faults {
            self.add_faults(*kind, *more);
        }
    }

    pub(crate) fn of_kind(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize]
    }

    pub(crate) fn faults(&self) -> u64 {
        self.faults.iter().map(|(_, count)| count).sum()
    }

    /// The kinds of faults there were, the most frequent first.
    pub(crate) fn faults_by_kind(&self) -> Vec<(FaultKind, u64)> {
        let mut faults = self.faults.clone();
        faults.sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), kind.name()));
        faults
    }
}
