//! What a run of the client says about a check.

use std::time::Duration;

use super::session::{Ending, Session};
use crate::conform::outcome::{Failure, Outcome};
use crate::misbehave::Observed;
use crate::terminal::escape;
use crate::units::{Seconds, counted};

/// What a check demands of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    /// It exits in time, successfully or not, and doesn't crash.
    Ends,
    /// It gets along as if the server behaved.
    GoesOn,
    /// It doesn't use an answer that is none.
    Rejects,
    /// It answers the server's requests, and gets along.
    Answers,
    /// It leaves no server running.
    EndsServer,
    /// All its lines are valid messages, and it answers nothing that it wasn't asked.
    SendsMessages,
    /// It lets the server exit by closing its input.
    ClosesInput,
}

/// The client's run with a server that behaves.
#[derive(Debug)]
pub(super) struct Baseline {
    pub(super) elapsed: Duration,
    /// What it prints, if that is always the same.
    stdout: Option<Vec<u8>>,
    /// Whether to show what the client prints.
    show: bool,
}

impl Baseline {
    pub(super) fn new(sessions: &[Session], show: bool) -> Self {
        let stdout = sessions.first().map(|session| session.stdout.clone()).filter(|stdout| !stdout.is_empty());
        let is_same = |stdout: &Vec<u8>| sessions.iter().all(|session| session.stdout == *stdout);
        Self {
            elapsed: sessions.iter().map(|session| session.elapsed).max().unwrap_or_default(),
            stdout: stdout.filter(is_same),
            show,
        }
    }

    /// What the client itself said about its end, if that may be shown.
    fn last_words(&self, session: &Session) -> String {
        let words = session.last_words();
        match !self.show || words.is_empty() || session.ending == Ending::Exited(0) {
            true => String::new(),
            false => format!("; its last words: {}", escape(words.as_bytes())),
        }
    }
}

/// Judges a run. `does` says what the server did, and `repeat` is a command that does it again.
///
/// `is_first` says whether it is the first check of its misbehaviour, which reports that the client hangs or crashes.
pub(super) fn judge(
    (demand, is_first): (Demand, bool),
    session: &Session,
    baseline: &Baseline,
    does: &str,
    repeat: String,
) -> Outcome {
    let is_good = matches!(demand, Demand::SendsMessages | Demand::ClosesInput);
    if !is_good && !session.has_seen(|seen| matches!(seen, Observed::Misbehaved)) {
        return Outcome::Skipped("the client did nothing that would make the server misbehave".into());
    }
    match verdict(demand, is_first, session, baseline) {
        Verdict::Passed => Outcome::Passed,
        Verdict::Unknown(reason) => Outcome::Skipped(reason.into()),
        Verdict::Failed(came) => Outcome::Failed(Box::new(Failure {
            sent: format!("the server {does}"),
            came,
            repeat: Some(repeat),
            ..Failure::default()
        })),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed(String),
    /// Why the run says nothing.
    Unknown(&'static str),
}

fn verdict(demand: Demand, is_first: bool, session: &Session, baseline: &Baseline) -> Verdict {
    let failed = |what: String| Verdict::Failed(format!("{what}{}", baseline.last_words(session)));
    let count = |is_meant: fn(&Observed) -> bool| session.count(is_meant);
    let (asked, responses) =
        (count(|seen| matches!(seen, Observed::Asked)), count(|seen| matches!(seen, Observed::Response)));
    match demand {
        Demand::SendsMessages => {
            let faults = count(|seen| matches!(seen, Observed::Fault { .. }));
            let strays = count(|seen| matches!(seen, Observed::Stray));
            return match (faults, strays) {
                (0, 0) => Verdict::Passed,
                (0, strays) => failed(format!(
                    "the client sent {} without a request",
                    counted(strays as u64, "response", "responses")
                )),
                (faults, _) => failed(format!(
                    "the client sent {}: {}",
                    counted(faults as u64, "line that is no valid message", "lines that are no valid messages"),
                    fault_kinds(session)
                )),
            };
        }
        Demand::ClosesInput => {
            return match session.has_seen(|seen| matches!(seen, Observed::InputEnded)) {
                true => Verdict::Passed,
                false => failed("the client ended the server without closing its input first".to_owned()),
            };
        }
        _ => {}
    }
    match session.ending {
        Ending::Hung | Ending::Killed(_) | Ending::Exited(101 | 134 | 139) if !is_first => {
            return Verdict::Unknown("the client hangs or crashes, as another check says");
        }
        Ending::Hung => {
            return failed(format!("the client still ran after {}{}", Seconds(session.elapsed), progress(session)));
        }
        Ending::Killed(_) | Ending::Exited(101 | 134 | 139) => return failed(format!("the client {}", session.ending)),
        Ending::Exited(_) => {}
    }
    match demand {
        Demand::Answers if responses < asked => {
            failed(format!("the client answered {responses} of {}", counted(asked as u64, "request", "requests")))
        }
        Demand::GoesOn | Demand::Answers if session.ending != Ending::Exited(0) => {
            failed(format!("the client {}, but with 0 if the server behaves", session.ending))
        }
        Demand::EndsServer if session.is_server_left => {
            failed("the client exited, and its server still ran 500 ms later".to_owned())
        }
        Demand::Rejects if session.ending == Ending::Exited(0) => match &baseline.stdout {
            Some(stdout) if *stdout == session.stdout => {
                failed("the client used the answer: it printed what it prints with a server that behaves".to_owned())
            }
            Some(_) => Verdict::Passed,
            None => Verdict::Unknown(
                "the client exited with code 0, and prints nothing or not always the same, so nothing tells whether it \
                 used the answer",
            ),
        },
        _ => Verdict::Passed,
    }
}

/// What the server saw of a client that hangs.
fn progress(session: &Session) -> String {
    let after = session.seen.iter().skip_while(|seen| !matches!(seen, Observed::Misbehaved));
    let requests = after.filter(|seen| matches!(seen, Observed::Request)).count();
    match requests {
        0 => ", and sent no request after the first misbehaviour".to_owned(),
        requests => {
            format!(", and sent {} after the first misbehaviour", counted(requests as u64, "request", "requests"))
        }
    }
}

fn fault_kinds(session: &Session) -> String {
    let mut kinds: Vec<&str> = session
        .seen
        .iter()
        .filter_map(|seen| if let Observed::Fault { kind } = seen { Some(&**kind) } else { None })
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.join(", ")
}
