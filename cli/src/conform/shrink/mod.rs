//! Reduces a script that fails to the smallest one that still fails in the same way, by playing smaller ones.
//!
//! This is greedy: each candidate that still fails is the next to be reduced, until none fails or the time is over.

mod lines;
mod values;

use std::time::Instant;

use super::profile::Profile;
use super::script::{Chunks, Line, Script, Setup, Start, Stderr, Step};
use super::violation::Violation;
pub(super) use lines::integer_id;

use lines::simpler_lines;

/// Plays a script, and returns the violation if it fails in the way that is being reduced.
pub(super) type Play<'a> = &'a mut dyn FnMut(&Script) -> Option<Violation>;

pub(super) struct Shrinker<'a> {
    smallest: Script,
    violation: Violation,
    profile: &'a Profile,
    play: Play<'a>,
    deadline: Instant,
}

/// Returns the smallest script that was found, and how it fails.
pub(super) fn shrink(
    script: Script,
    violation: Violation,
    profile: &Profile,
    play: Play<'_>,
    deadline: Instant,
) -> (Script, Violation) {
    let mut shrinker = Shrinker { smallest: script, violation, profile, play, deadline };
    shrinker.all_as_probes();
    shrinker.without_handshake();
    loop {
        let before = shrinker.smallest.clone();
        shrinker.fewer_steps();
        shrinker.fewer_lines();
        shrinker.simpler_chunks();
        shrinker.simpler_texts();
        shrinker.renumbered();
        if shrinker.smallest == before || shrinker.is_over() {
            break;
        }
    }
    (shrinker.smallest, shrinker.violation)
}

impl Shrinker<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Plays a candidate, which replaces the smallest script if it fails.
    fn try_script(&mut self, candidate: Script) -> bool {
        if self.is_over() || candidate == self.smallest {
            return false;
        }
        match (self.play)(&candidate) {
            Some(violation) => {
                (self.smallest, self.violation) = (candidate, violation);
                true
            }
            None => false,
        }
    }

    /// The same number of requests, all alike.
    fn all_as_probes(&mut self) {
        let mut candidate = self.smallest.clone();
        let mut id = 1;
        for line in lines_mut(&mut candidate) {
            id += 1;
            *line = Line::new(self.profile.request(&id.to_string()));
        }
        self.try_script(candidate);
    }

    /// All lines in one step, and then each step left out.
    fn fewer_steps(&mut self) {
        if self.smallest.setup.start != Start::ByteOrderMark {
            let steps = self.smallest.steps.iter();
            let is_kept = |step: &&Step| !matches!(step, Step::Send(..) | Step::Await);
            let rest: Vec<Step> = steps.filter(is_kept).cloned().collect();
            for rest in [rest.iter().filter(|step| **step == Step::Close).cloned().collect(), rest] {
                let lines: Vec<Line> = self.smallest.lines().cloned().collect();
                let at = rest.iter().position(|step| *step == Step::Resume).unwrap_or(0);
                let mut steps: Vec<Step> = rest;
                if !lines.is_empty() {
                    steps.insert(at, Step::Send(lines, Chunks::Whole));
                }
                let candidate = Script { steps, ..self.smallest.clone() };
                if self.try_script(candidate) {
                    break;
                }
            }
        }
        let mut at = self.smallest.steps.len();
        while at > 0 {
            at -= 1;
            let mut candidate = self.smallest.clone();
            candidate.steps.remove(at);
            self.try_script(candidate);
        }
        let mut simpler = vec![Setup { stderr: Stderr::Discarded, ..self.smallest.setup }];
        if self.smallest.setup.start == Start::ByteOrderMark {
            simpler.push(Setup { start: Start::Handshake, ..self.smallest.setup });
        }
        for setup in simpler {
            self.try_script(Script { setup, ..self.smallest.clone() });
        }
    }

    /// Leaves out parts of the lines, at first large ones.
    fn fewer_lines(&mut self) {
        let mut part = self.smallest.lines().count().div_ceil(2);
        while part > 0 {
            // From the end, because what counts is more often at the end than at the start.
            let mut end = self.smallest.lines().count();
            while end > 0 && !self.is_over() {
                let start = end.saturating_sub(part);
                let candidate = without_lines(&self.smallest, start, end);
                self.try_script(candidate);
                end = start;
            }
            part = match part {
                1 => 0,
                part => part.div_ceil(2).min(self.smallest.lines().count().div_ceil(2)).max(1),
            };
        }
    }

    /// Writes that end at fewer places.
    fn simpler_chunks(&mut self) {
        for at in 0..self.smallest.steps.len() {
            let Step::Send(lines, chunks) = &self.smallest.steps[at] else { continue };
            if *chunks == Chunks::Whole {
                continue;
            }
            let ends = chunks.ends(lines);
            for simpler in [Chunks::Whole, Chunks::Lines, Chunks::Ends(ends)] {
                if self.try_chunks(at, simpler) {
                    break;
                }
            }
            let mut next = 0;
            while let Step::Send(_, Chunks::Ends(ends)) = &self.smallest.steps[at]
                && next < ends.len()
                && !self.is_over()
            {
                let mut fewer = ends.clone();
                fewer.remove(next);
                if !self.try_chunks(at, Chunks::Ends(fewer)) {
                    next += 1;
                }
            }
        }
    }

    fn try_chunks(&mut self, step: usize, new: Chunks) -> bool {
        let mut candidate = self.smallest.clone();
        if let Some(Step::Send(_, chunks)) = candidate.steps.get_mut(step) {
            *chunks = new;
        }
        self.try_script(candidate)
    }

    /// Each line as a simpler one, again and again.
    fn simpler_texts(&mut self) {
        // More lines than this are alike, or there was no time to leave some out.
        const MOST: usize = 20;
        for at in (0..self.smallest.lines().count()).take(MOST) {
            let is_simpler = |shrinker: &mut Self| {
                let Some(line) = shrinker.smallest.lines().nth(at).cloned() else { return false };
                simpler_lines(&line, shrinker.profile).any(|simpler| {
                    let mut candidate = shrinker.smallest.clone();
                    if let Some(line) = lines_mut(&mut candidate).nth(at) {
                        *line = simpler;
                    }
                    shrinker.try_script(candidate)
                })
            };
            while !self.is_over() && is_simpler(self) {}
        }
    }

    /// Numbers as ids that start with 2 if the handshake has 1.
    fn renumbered(&mut self) {
        let mut candidate = self.smallest.clone();
        let mut new = u64::from(candidate.setup.start != Start::Nothing);
        let mut ids = Vec::new();
        for line in lines_mut(&mut candidate) {
            if let Some(id) = lines::integer_id(line) {
                new += 1;
                ids.push((id, new.to_string()));
            }
        }
        for line in lines_mut(&mut candidate) {
            lines::replace_ids(line, &ids);
        }
        self.try_script(candidate);
    }

    /// Without the handshake, if the server answers a request without one.
    fn without_handshake(&mut self) {
        let setup = Setup { start: Start::Nothing, is_alone: true, ..Setup::default() };
        if self.smallest.setup.start != Start::Handshake || self.smallest.steps.is_empty() {
            return;
        }
        let probe = Script { setup, ..Script::new(vec![Line::new(self.profile.request("1"))]) };
        // This play must not fail, in any way.
        let needs_none = (self.play)(&probe).is_none();
        if needs_none {
            let setup = Setup { start: Start::Nothing, ..self.smallest.setup };
            self.try_script(Script { setup, ..self.smallest.clone() });
        }
    }
}

fn lines_mut(script: &mut Script) -> impl Iterator<Item = &mut Line> {
    script.steps.iter_mut().flat_map(|step| match step {
        Step::Send(lines, _) => &mut lines[..],
        _ => &mut [],
    })
}

/// Leaves out the lines from `start` to `end`, counted over all steps, and steps that are empty then.
fn without_lines(script: &Script, start: usize, end: usize) -> Script {
    let mut at = 0;
    let mut script = script.clone();
    for step in &mut script.steps {
        if let Step::Send(lines, chunks) = step {
            let count = lines.len();
            lines.retain(|_| {
                at += 1;
                !(start..end).contains(&(at - 1))
            });
            // The old ends mean nothing for other bytes.
            if lines.len() < count && matches!(chunks, Chunks::Ends(_)) {
                *chunks = Chunks::Lines;
            }
        }
    }
    script.steps.retain(|step| !matches!(step, Step::Send(lines, _) if lines.is_empty()));
    script
}
