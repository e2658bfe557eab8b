//! Decoding: one comparison per corpus, and more with long messages that arrive in chunks.

use std::time::Duration;

use wireline_json::Cpu;

use crate::agreement::{self, Disagreement};
use crate::comparison::{Comparison, Row};
use crate::contenders::{self, WHOLE};
use crate::corpora::Corpus;
use crate::progress::Progress;
use crate::rounds::{self, Best, Runner};

/// The sizes of chunks: what a pipe holds, and a small read.
const CHUNKS: [usize; 2] = [64 << 10, 4 << 10];

/// Compares the contenders on the stream in one piece.
pub(crate) fn compare(corpus: Corpus, cpus: &[Cpu], time: Duration) -> Result<Comparison, Disagreement> {
    compare_in(WHOLE, corpus, cpus, time)
}

/// The chunks in which the messages of `corpus` would mostly arrive in several pieces.
pub(crate) fn chunks(corpus: &Corpus) -> impl Iterator<Item = usize> + use<> {
    let message = corpus.bytes() / corpus.messages();
    CHUNKS.into_iter().filter(move |&chunk| chunk as u64 * 2 < message)
}

/// Compares the contenders on the stream in chunks of `chunk` bytes.
pub(crate) fn compare_in(
    chunk: usize,
    mut corpus: Corpus,
    cpus: &[Cpu],
    time: Duration,
) -> Result<Comparison, Disagreement> {
    let title =
        if chunk == WHOLE { corpus.name.clone() } else { format!("{}, {} KiB chunks", corpus.name, chunk >> 10) };
    let mut contenders = contenders::all(cpus);
    let progress = Progress::of(&format!("decoding {title}"));
    let agreement = agreement::reach(&mut corpus, &mut contenders)?;
    let slices = corpus.slices();

    let mut runners = Vec::new();
    for (contender, _) in contenders.iter_mut().zip(&agreement.takes_part).filter(|(_, takes_part)| **takes_part) {
        let expected: Vec<_> = slices.iter().map(|slice| contender.pass(slice, chunk)).collect();
        let messages: u64 = expected.iter().flatten().map(|tally| tally.messages).sum();
        assert_eq!(messages, corpus.messages(), "{} refuses lines of a stream that it accepts alone", contender.name());
        let slices = &slices;
        runners.push(Box::new(move |slice: usize| assert_eq!(contender.pass(&slices[slice], chunk), expected[slice]))
            as Runner<'_>);
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
    Ok(Comparison { title, messages, bytes, rounds, rows, notes: agreement.notes })
}
