//! Checks, before anything is timed, that all contenders accept every line and find the same members in it.

use std::fmt;

use crate::comparison::Part;
use crate::contenders::{Contender, WHOLE};
use crate::corpora::Corpus;

/// A codec that refuses this share of a corpus or more sits it out. Otherwise the lines it refuses are left out for
/// all.
const TOO_MANY: f64 = 0.1;

/// Which contenders decode a corpus, with notes.
#[derive(Debug, Default)]
pub(crate) struct Agreement {
    /// For each contender, whether it takes part.
    pub(crate) takes_part: Vec<bool>,
    /// Notes for the reader of the results.
    pub(crate) notes: Vec<String>,
}

/// Two contenders found different members in a line, or one refused a line that all should accept.
#[derive(Debug)]
pub(crate) struct Disagreement(String);

impl std::error::Error for Disagreement {}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks all contenders on `corpus`. If it is a recorded one, removes the lines that some contender refuses.
pub(crate) fn reach(corpus: &mut Corpus, contenders: &mut [Box<dyn Contender>]) -> Result<Agreement, Disagreement> {
    let mut agreement = Agreement::default();
    let mut wanted = vec![true; corpus.lines().len()];
    let mut expected = Vec::new();
    for contender in contenders {
        let found: Vec<_> =
            corpus.lines().iter().map(|line| contender.pass(&[line, &b"\n"[..]].concat(), WHOLE)).collect();
        let found: Vec<_> = found.into_iter().map(|tally| tally.and_then(|tally| tally.only())).collect();
        let refused = found.iter().filter(|found| found.is_none()).count();
        let name = contender.name().trim();
        let of_lines = format!("{refused} of {} lines", found.len());

        let takes_part = contender.part() != Part::Codec || (refused as f64) < TOO_MANY * found.len() as f64;
        agreement.takes_part.push(takes_part);
        if !takes_part {
            agreement.notes.push(format!("{name} sits it out: it refuses {of_lines}"));
            continue;
        }
        if refused > 0 {
            if !corpus.recorded {
                return Err(Disagreement(format!("{}: {name} refuses {of_lines}", corpus.name)));
            }
            agreement.notes.push(format!("left out for all: {of_lines}, which {name} refuses"));
        }
        expected.resize(found.len(), None);
        for (at, (found, expected)) in found.into_iter().zip(&mut expected).enumerate() {
            wanted[at] &= found.is_some();
            let tells = contender.tells();
            match (found, &expected) {
                (Some(found), Some(expected)) if tells.among(found) != tells.among(*expected) => {
                    let message =
                        format!("{}, line {}: {name} finds different members than the others", corpus.name, at + 1);
                    return Err(Disagreement(message));
                }
                (Some(_), None) => *expected = found,
                _ => {}
            }
        }
    }
    corpus.retain(&wanted);
    if corpus.lines().is_empty() {
        return Err(Disagreement(format!("{}: no line is accepted by all", corpus.name)));
    }
    Ok(agreement)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members::{Members, Tally};

    /// Accepts lines that don't contain `refused`, and finds `members` in them.
    struct Mock {
        part: Part,
        refused: u8,
        members: Members,
    }

    impl Contender for Mock {
        fn name(&self) -> &str {
            "mock"
        }

        fn part(&self) -> Part {
            self.part
        }

        fn tells(&self) -> Members {
            Members::ID.and(Members::METHOD)
        }

        fn pass(&mut self, stream: &[u8], _: usize) -> Option<Tally> {
            let mut tally = Tally::default();
            tally.count(self.members);
            (!stream.contains(&self.refused)).then_some(tally)
        }
    }

    fn mock(part: Part, refused: u8, members: Members) -> Box<dyn Contender> {
        Box::new(Mock { part, refused, members })
    }

    fn corpus(recorded: bool) -> Corpus {
        Corpus::of_lines("test", recorded, b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n")
    }

    #[test]
    fn lines_that_one_refuses_are_left_out_for_all() {
        let mut corpus = corpus(true);
        let mut contenders = [
            mock(Part::Subject, b'b', Members::ID),
            mock(Part::Peer, b'd', Members::ID),
            mock(Part::Codec, b'd', Members::ID),
        ];
        let agreement = reach(&mut corpus, &mut contenders).unwrap();
        assert_eq!(agreement.takes_part, [true, true, true]);
        assert_eq!(agreement.notes.len(), 3);
        assert_eq!(agreement.notes[0], "left out for all: 1 of 12 lines, which mock refuses");
        assert_eq!(corpus.slices(), [b"a\nc\ne\nf\ng\nh\ni\nj\nk\nl\n"]);
    }

    #[test]
    fn a_codec_that_refuses_too_many_sits_it_out() {
        let mut corpus = corpus(false);
        let mut contenders = [mock(Part::Subject, b'-', Members::ID), mock(Part::Codec, b'\n', Members::ID)];
        let agreement = reach(&mut corpus, &mut contenders).unwrap();
        assert_eq!(agreement.takes_part, [true, false]);
        assert_eq!(agreement.notes, ["mock sits it out: it refuses 12 of 12 lines"]);
        assert_eq!(corpus.messages(), 12);
    }

    #[test]
    fn generated_lines_must_be_accepted_by_all() {
        for part in [Part::Subject, Part::Peer, Part::Codec] {
            let error = reach(&mut corpus(false), &mut [mock(part, b'b', Members::ID)]).unwrap_err();
            assert_eq!(error.to_string(), "test: mock refuses 1 of 12 lines");
        }
    }

    #[test]
    fn reported_members_must_be_the_same() {
        let agree = |second| {
            let mut contenders = [mock(Part::Subject, b'-', Members::ID), mock(Part::Peer, b'-', second)];
            reach(&mut corpus(true), &mut contenders).map(|agreement| agreement.takes_part.len())
        };
        assert_eq!(agree(Members::ID).ok(), Some(2));
        assert_eq!(agree(Members::ID.and(Members::PARAMS)).ok(), Some(2));
        let error = agree(Members::METHOD).unwrap_err();
        assert_eq!(error.to_string(), "test, line 1: mock finds different members than the others");
    }

    #[test]
    fn at_least_one_line_must_be_left() {
        assert!(reach(&mut corpus(true), &mut [mock(Part::Peer, b'\n', Members::ID)]).is_err());
    }
}
