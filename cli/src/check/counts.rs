//! How many lines, messages and faults `wireline check` has seen.

use std::collections::BTreeMap;

use wireline::{Fault, FaultKind, Message};

use crate::judge::{Rule, Severity};
use crate::message_kind::MessageKind;
use crate::session::Side;

/// Totals of what has been checked. A batch counts as one, and so does each of its entries.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) bytes: u64,
    /// Blank lines do not count.
    pub(crate) lines: u64,
    /// Those of them that are frames of a stream that isn't framed by lines.
    pub(crate) frames: u64,
    /// Lines that are faulty or contain a faulty batch entry.
    pub(crate) faulty_lines: u64,
    /// Last lines without a line end.
    pub(crate) unterminated: u64,
    /// Sources without a message.
    pub(crate) empty: u64,
    /// Lines that ended in a carriage return and a line feed: by the client, by the server, and by an unknown sender.
    with_return: [u64; 3],
    messages: [u64; MessageKind::ALL.len()],
    faults: Vec<(FaultKind, u64)>,
    /// How often each rule was broken by a session.
    broken: BTreeMap<Rule, u64>,
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
        self.frames += other.frames;
        self.faulty_lines += other.faulty_lines;
        self.unterminated += other.unterminated;
        self.empty += other.empty;
        for (count, more) in self.with_return.iter_mut().zip(other.with_return) {
            *count += more;
        }
        for (count, more) in self.messages.iter_mut().zip(other.messages) {
            *count += more;
        }
        for (rule, more) in &other.broken {
            *self.broken.entry(*rule).or_default() += more;
        }
        for (kind, more) in &other.faults {
            self.add_faults(*kind, *more);
        }
    }

    pub(crate) fn add_broken(&mut self, rule: Rule) {
        *self.broken.entry(rule).or_default() += 1;
    }

    /// How often each rule was broken, the errors first.
    pub(crate) fn broken(&self) -> Vec<(Rule, u64)> {
        let mut broken: Vec<_> = self.broken.iter().map(|(rule, count)| (*rule, *count)).collect();
        broken.sort_by_key(|(rule, _)| std::cmp::Reverse(rule.severity()));
        broken
    }

    /// How often rules of a severity were broken.
    pub(crate) fn broken_by(&self, severity: Severity) -> u64 {
        self.broken.iter().filter(|(rule, _)| rule.severity() == severity).map(|(_, count)| count).sum()
    }

    /// What makes the check fail.
    pub(crate) fn failures(&self, fail_on: Severity) -> u64 {
        let broken = self.broken.iter().filter(|(rule, _)| rule.severity() >= fail_on);
        self.findings() + broken.map(|(_, count)| count).sum::<u64>()
    }

    pub(crate) fn messages(&self, kind: MessageKind) -> u64 {
        self.messages[kind as usize]
    }

    /// Adds lines that ended in a carriage return and a line feed.
    pub(crate) fn add_returns(&mut self, sender: Option<Side>, lines: u64) {
        self.with_return[sender.map_or(2, |side| side as usize)] += lines;
    }

    /// How many lines ended in a carriage return and a line feed.
    pub(crate) fn with_return(&self, sender: Option<Side>) -> u64 {
        self.with_return[sender.map_or(2, |side| side as usize)]
    }

    /// How many lines ended in a carriage return and a line feed, from all senders.
    pub(crate) fn all_with_return(&self) -> u64 {
        self.with_return.iter().sum()
    }

    pub(crate) fn faults(&self) -> u64 {
        self.faults.iter().map(|(_, count)| count).sum()
    }

    /// Everything that is wrong with the lines: faults, missing line ends, and sources without a message.
    pub(crate) fn findings(&self) -> u64 {
        self.faults() + self.unterminated + self.empty
    }

    /// The number of faults of each kind, the most frequent first.
    pub(crate) fn faults_by_kind(&self) -> Vec<(FaultKind, u64)> {
        let mut faults = self.faults.clone();
        faults.sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), kind.name()));
        faults
    }
}
