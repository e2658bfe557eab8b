//! What has been seen, in numbers.

use std::time::Instant;

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
pub(crate) struct Tally {
    started: Instant,
    pub(crate) bytes: u64,
    /// Those that are not blank.
    pub(crate) lines: u64,
    kinds: [u64; 5],
    faults: Vec<(FaultKind, u64)>,
}

impl Default for Tally {
    fn default() -> Self {
        Self { started: Instant::now(), bytes: 0, lines: 0, kinds: [0; 5], faults: Vec::new() }
    }
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
        match self.faults.iter_mut().find(|(kind, _)| *kind == fault.kind()) {
            Some((_, count)) => *count += 1,
            None => self.faults.push((fault.kind(), 1)),
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

    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.started.elapsed()
    }
}
