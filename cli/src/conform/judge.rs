//! Compares what a server sends with what is expected of it.

use std::collections::HashMap;
use std::time::Duration;

use super::message::{IdKey, Message, Outcome, Text, parse_message};
use super::oracle::{Content, Count, Expectation, expect};
use super::profile::{Era, Profile};
use super::script::{Ending, Line, Policy};
use super::violation::{Missing, Violation};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Everything that was sent to one server, and which of it is answered.
pub(super) struct Judge {
    profile: Profile,
    entries: Vec<Entry>,
    /// The entries that a response with this id may belong to.
    by_id: HashMap<IdKey, Vec<usize>>,
    /// How many lines were sent.
    sent: usize,
    /// How many errors without an id came.
    without_id: usize,
    /// How many entries at the start are no longer missing an answer.
    settled: usize,
    may_send_arrays: bool,
}

struct Entry {
    expectation: Expectation,
    /// The number of its line.
    sent: usize,
    is_answered: bool,
    /// Whether its answer was a result.
    has_result: bool,
    must_be_in_array: bool,
}

impl Judge {
    pub(super) fn new(profile: Profile) -> Self {
        Self {
            profile,
            entries: Vec::new(),
            by_id: HashMap::new(),
            sent: 0,
            without_id: 0,
            settled: 0,
            may_send_arrays: false,
        }
    }

    /// Adds a line that is sent. Returns its number.
    pub(super) fn send(&mut self, line: &Line, policy: &Policy) -> usize {
        let mut expected = expect(&line.text, &self.profile, policy);
        // A server may or may not take what the input ends with for a line.
        if line.ending == Ending::None {
            expected.entries.iter_mut().filter(|entry| entry.count == Count::One).for_each(|entry| {
                entry.count = Count::AtMostOne;
                entry.may_lack_id = true;
            });
        }
        if let Some(id) = expected.cancels {
            for at in self.by_id.get(&id).into_iter().flatten() {
                self.entries[*at].expectation.count = Count::AtMostOne;
            }
        }
        self.may_send_arrays |= expected.is_batch;
        let must_be_in_array = expected.is_batch && policy.batch_in_one_array && self.profile.has_batches;
        for mut expectation in expected.entries {
            for id in &expectation.ids {
                let same = self.by_id.entry(id.clone()).or_default();
                // Whether an id is in use depends on when the server reads.
                if same.iter().any(|at| !self.entries[*at].is_answered) && expectation.count == Count::One {
                    expectation.count = Count::AtMostOne;
                    expectation.may_lack_id = true;
                }
                same.push(self.entries.len());
            }
            self.entries.push(Entry {
                expectation,
                sent: self.sent,
                is_answered: false,
                has_result: false,
                must_be_in_array,
            });
        }
        self.sent += 1;
        self.sent - 1
    }

    /// Judges a line that came. Returns the ids of the requests in it, as JSON, and their methods.
    pub(super) fn receive(&mut self, line: &[u8]) -> Result<Vec<(String, String)>, Violation> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let not_a_message = |why| Violation::NotAMessage { line: line.to_vec(), why };
        if line.contains(&b'\r') {
            return Err(not_a_message("a carriage return within a line"));
        }
        match Text::parse(line) {
            Text::NotJson if line.starts_with(BYTE_ORDER_MARK) => Err(not_a_message("a byte order mark")),
            Text::NotJson if line.trim_ascii().is_empty() => Err(not_a_message("a blank line")),
            Text::NotJson if str::from_utf8(line).is_err() => Err(not_a_message("a line that isn't UTF-8")),
            Text::NotJson => Err(not_a_message("a line that isn't JSON")),
            Text::Other => Err(not_a_message("a line that is JSON, but no object")),
            Text::Object(members) => {
                let message = parse_message(&members, self.profile.dialect).map_err(not_a_message)?;
                Ok(self.take(message, false, line)?.into_iter().collect())
            }
            Text::Array(_) if !self.may_send_arrays => Err(not_a_message("an array, although no array was sent")),
            Text::Array(entries) if entries.is_empty() => Err(not_a_message("an empty array")),
            Text::Array(entries) => {
                let mut requests = Vec::new();
                for entry in entries {
                    let Text::Object(members) = Text::parse(entry.get().as_bytes()) else {
                        return Err(not_a_message("an array that doesn't consist of objects"));
                    };
                    let message = parse_message(&members, self.profile.dialect).map_err(not_a_message)?;
                    requests.extend(self.take(message, true, line)?);
                }
                Ok(requests)
            }
        }
    }

    fn take(
        &mut self,
        message: Message,
        is_in_array: bool,
        line: &[u8],
    ) -> Result<Option<(String, String)>, Violation> {
        match message {
            Message::Notification { .. } => Ok(None),
            Message::Request { .. } if self.profile.era == Era::Stateless => Err(Violation::NotAMessage {
                line: line.to_vec(),
                why: "a request, which servers of this revision don't send",
            }),
            Message::Request { id_text, method, .. } => Ok(Some((id_text, method))),
            Message::Response { id, outcome } => self.answer(id, outcome, is_in_array, line).map(|()| None),
        }
    }

    fn answer(&mut self, id: Option<IdKey>, outcome: Outcome, is_in_array: bool, line: &[u8]) -> Result<(), Violation> {
        let Some(id) = id else {
            self.without_id += 1;
            return if self.without_id > self.refusable() {
                Err(Violation::Unasked { id: None, line: line.to_vec() })
            } else {
                self.judge_without_id(outcome, line)
            };
        };
        let candidates = self.by_id.get(&id).map_or(&[][..], |at| &at[..]);
        let open = candidates.iter().copied().find(|at| !self.entries[*at].is_answered);
        let Some(at) = open else {
            return Err(match candidates.last() {
                Some(at) => Violation::AnsweredTwice { sent: self.entries[*at].sent, line: line.to_vec() },
                None => Violation::Unasked { id: Some(id), line: line.to_vec() },
            });
        };
        let entry = &mut self.entries[at];
        entry.is_answered = true;
        entry.has_result = outcome == Outcome::Result;
        if entry.must_be_in_array && !is_in_array {
            return Err(Violation::NotInOneArray { sent: entry.sent });
        }
        let wanted = entry.expectation.content;
        if !wanted.includes(outcome) {
            return Err(Violation::WrongContent { sent: entry.sent, came: outcome, wanted, line: line.to_vec() });
        }
        // An error without an id may have been for an entry that is answered now.
        if self.without_id > 0 && self.without_id > self.refusable() {
            return Err(Violation::AnsweredTwice { sent: self.entries[at].sent, line: line.to_vec() });
        }
        Ok(())
    }

    /// Judges the code of an error without an id, which may belong to any of several lines.
    fn judge_without_id(&self, outcome: Outcome, line: &[u8]) -> Result<(), Violation> {
        let open = || self.entries.iter().filter(|entry| entry.is_refusable());
        match open().next_back() {
            Some(last) if !open().any(|entry| entry.expectation.content.includes(outcome)) => {
                Err(Violation::WrongContent {
                    sent: last.sent,
                    came: outcome,
                    wanted: last.expectation.content,
                    line: line.to_vec(),
                })
            }
            _ => Ok(()),
        }
    }

    /// How many errors without an id may come in all.
    fn refusable(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_refusable()).count()
    }

    /// The line of the first request that still needs an answer.
    pub(super) fn first_missing(&mut self) -> Option<usize> {
        let settled = self.entries[self.settled..].iter().take_while(|entry| !entry.is_missing()).count();
        self.settled += settled;
        let mut spare = self.without_id;
        self.entries[self.settled..].iter().find_map(|entry| {
            if !entry.is_missing() {
                return None;
            }
            if entry.expectation.may_lack_id && spare > 0 {
                spare -= 1;
                return None;
            }
            Some(entry.sent)
        })
    }

    /// Whether a line is answered by a response with its id.
    pub(super) fn is_answered(&self, sent: usize) -> bool {
        self.entries.iter().any(|entry| entry.sent == sent && entry.is_answered)
    }

    /// Whether a request after this line is answered.
    pub(super) fn is_answered_after(&self, sent: usize) -> bool {
        self.entries.iter().any(|entry| entry.sent > sent && entry.is_answered)
    }

    /// The number of the next line.
    pub(super) fn next_line(&self) -> usize {
        self.sent
    }

    /// Whether a line from `first` on may still get an answer, or must not get one.
    pub(super) fn may_be_surprised(&self, first: usize) -> bool {
        self.entries.iter().any(|entry| entry.sent >= first && !entry.is_answered)
    }

    /// Whether a line got a result.
    pub(super) fn has_result(&self, sent: usize) -> bool {
        self.entries.iter().any(|entry| entry.sent == sent && entry.has_result)
    }

    pub(super) fn never_answered(&mut self, waited: Duration, how: Missing) -> Option<Violation> {
        self.first_missing().map(|sent| Violation::NeverAnswered { sent, waited, how })
    }
}

impl Entry {
    /// Whether it needs an answer, and its own has not come.
    fn is_missing(&self) -> bool {
        !self.is_answered && self.expectation.count == Count::One
    }

    /// Whether an error without an id may be the answer.
    fn is_refusable(&self) -> bool {
        self.expectation.may_lack_id && !self.is_answered
    }
}

impl Content {
    fn includes(self, outcome: Outcome) -> bool {
        match (self, outcome) {
            (Self::Anything, _) | (Self::Result, Outcome::Result) | (Self::Error, Outcome::Error(_)) => true,
            (Self::Codes(codes), Outcome::Error(code)) => codes.contains(&code),
            (Self::NotParseError, outcome) => outcome != Outcome::Error(-32700),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules_args::Dialect;

    /// Sends and receives lines in turn, and returns the violation in short.
    fn judged(dialect: Dialect, lines: &[(&str, &str)]) -> Result<(), String> {
        let mut judge = Judge::new(Profile::plain(dialect));
        for (sent, received) in lines {
            if !sent.is_empty() {
                judge.send(&Line::new(*sent), &Policy::default());
            }
            if !received.is_empty() {
                judge.receive(received.as_bytes()).map_err(|violation| violation.came(false))?;
            }
        }
        match judge.never_answered(Duration::ZERO, Missing::Ended) {
            Some(violation) => Err(violation.came(false)),
            None => Ok(()),
        }
    }

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    const NO_ID: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#;
    const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note"}"#;

    #[test]
    fn good_sessions() {
        for lines in [
            &[(PING, PONG)][..],
            &[(PING, NOTE), (NOTE, PONG)],
            &[("{", ""), (PING, PONG)],
            &[("{", NO_ID), (PING, PONG)],
            &[(PING, ""), (PING, PONG), ("", PONG)],
            &[(PING, ""), (PING, PONG)],
            &[(PING, PONG), (PING, PONG)],
            &[(r#"{"id":1,"method":"ping"}"#, NO_ID)],
            &[(r#"{"id":1,"method":"ping"}"#, PONG)],
            &[(PING, ""), (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, "")],
        ] {
            assert_eq!(judged(Dialect::Mcp, lines), Ok(()), "{lines:?}");
        }
        let batch = format!("[{PING},{NOTE}]");
        assert_eq!(judged(Dialect::JsonRpc, &[(&batch, &format!("[{PONG}]"))]), Ok(()));
        assert_eq!(judged(Dialect::JsonRpc, &[(&batch, PONG)]), Ok(()));
    }

    #[test]
    fn bad_sessions() {
        for (lines, expected) in [
            (&[(PING, "")][..], "no response before the end of the output"),
            (&[(PING, PONG), ("", PONG)], "a second response with the same id"),
            (&[(NOTE, PONG)], "a response with an id that no request has"),
            (&[(NOTE, NO_ID)], "an error without an id, although nothing was invalid"),
            (&[("{", NO_ID), ("", NO_ID)], "an error without an id, although nothing was invalid"),
            (
                &[(PING, &PONG.replace("result\":{}", "error\":{\"code\":-32700,\"message\":\"m\"}"))],
                "error -32700, not what a valid request gets",
            ),
            (&[(PING, "pong")], "a line that isn't JSON (4 B)"),
            (&[(PING, "")], "no response before the end of the output"),
            (&[(PING, "[]")], "an array, although no array was sent (2 B)"),
            (&[(PING, "{\r}")], "a carriage return within a line (3 B)"),
            (&[(PONG, PONG)], "a response with an id that no request has"),
            (&[(PING, NO_ID)], "an error without an id, although nothing was invalid"),
            (&[(r#"{"id":1,"method":"ping"}"#, "")], "no response before the end of the output"),
            (&[(r#"{"id":1,"method":"ping"}"#, NO_ID), ("", PONG)], "a second response with the same id"),
        ] {
            assert_eq!(judged(Dialect::Mcp, lines), Err(expected.to_owned()), "{lines:?}");
        }
    }
}
