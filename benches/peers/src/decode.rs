//! Decoding: one comparison per corpus.

use std::time::Duration;

use wireline_json::Cpu;

use crate::agreement::{self, Disagreement};
use crate::comparison::{Comparison, Row};
use crate::contenders;
use crate::corpora::Corpus;
use crate::progress::Progress;
use crate::rounds::{self, Best, Runner};

pub(crate) fn compare(mut corpus: Corpus, cpus: &[Cpu], time: Duration) -> Result<Comparison, Disagreement> {
    let mut contenders = contenders::all(cpus);
    let progress = Progress::of(&format!("decoding {}", corpus.name));
    let agreement = agreement::reach(&mut corpus, &mut contenders)?;
    let slices = corpus.slices();

    let mut runners = Vec::new();
    for (contender, _) in contenders.iter_mut().zip(&agreement.takes_part).filter(|(_, takes_part)| **takes_part) {
        let expected: Vec<_> = slices.iter().map(|slice| contender.pass(slice)).collect();
        let messages: u64 = expected.iter().flatten().map(|tally| tally.messages).sum();
        assert_eq!(messages, corpus.messages(), "{} refuses lines of a stream that it accepts alone", contender.name());
        let slices = &slices;
        runners.push(
            Box::new(move |slice: usize| assert_eq!(contender.pass(&slices[slice]), expected[slice])) as Runner<'_>
        );
    }
    let Best { times, rounds } = rounds::best(&mut runners, slices.len(), time, &progress);
    drop(runners);
    let mut times = times.into_iter();
    let rows = contenders.iter().zip(agreement.takes_part).map(|(contender, takes_part)| {
        let time = if takes_part { times.next() } else { None };
        Row::new(contender.name(), contender.part(), time)
    });
    let rows = rows.collect();
    let (messages, bytes) = (corpus.messages(), corpus.bytes());
    Ok(Comparison { title: corpus.name, messages, bytes, rounds, rows, notes: agreement.notes })
}
