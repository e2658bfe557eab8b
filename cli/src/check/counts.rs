//! How many lines, messages and faults `wireline check` has seen.

use wireline::{Fault, FaultKind, Message};

use crate::message_kind::MessageKind;

/// Totals of what has been checked. A batch counts as one, and so does each of its entries.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) bytes: u64,
    /// Blank lines do not count.
    pub(crate) lines: u64,
    /// Lines that are faulty or contain a faulty batch entry.
    pub(crate) faulty_lines: u64,
    messages: [u64; MessageKind::ALL.len()],
    faults: Vec<(FaultKind, u64)>,
}

impl Counts {
    pub(crate) fn add_message(&mut self, kind: MessageKind) {
        self.messages[kind as usize] += 1;
    }

    pub(crate) fn add_batch_entry(&mut self, entry: &Result<Message<'_>, Fault>) {
        match entry {
            Ok(message) => self.add_message(MessageKind::of(message)),
            Err(fault) => self.add_fault(fault),
        }
    }

    pub(crate) fn add_fault(&mut self, fault: &Fault) {
        self.add_faults(fault.kind(), 1);
    }

    fn add_faults(&mut self, kind: FaultKind, more: u64) {
        match self.faults.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += more,
            None => self.faults.push((kind, more)),
        }
    }

    /// Adds the totals of another part of the input.
    pub(crate) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.faulty_lines += other.faulty_lines;
        for (count, more) in self.messages.iter_mut().zip(other.messages) {
            *count += more;
        }
        for (kind, more) in &other.faults {
            self.add_faults(*kind, *more);
        }
    }

    pub(crate) fn messages(&self, kind: MessageKind) -> u64 {
        self.messages[kind as usize]
    }

    pub(crate) fn faults(&self) -> u64 {
        self.faults.iter().map(|(_, count)| count).sum()
    }

    /// The number of faults of each kind, the most frequent first.
    pub(crate) fn faults_by_kind(&self) -> Vec<(FaultKind, u64)> {
        let mut faults = self.faults.clone();
        faults.sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), kind.name()));
        faults
    }
}
