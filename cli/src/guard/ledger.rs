//! The requests of one side that need a response, or whose response must not get through any more.
//!
//! ```text
//!              admit              settle (the response)
//!   (nothing) ───────→ waiting ───────────────────────→ (nothing)
//!                       │   │ cancel
//!                answer │   └────────→ cancelled ─ settle → (nothing)
//!                       ↓
//!                    answered ─ settle (dropped as late) ─→ (nothing)
//! ```
//!
//! An id is free again when its request has left the table. Until then, a second request with it is refused, so a late
//! response can't be taken for the response to another request.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use wireline::Id;

/// How many requests of one side may wait for their response at a time.
pub(super) const MAX_WAITING: usize = 1 << 16;

/// How many requests are kept that wait no longer, although no response has come. Beyond that, the oldest are forgotten:
/// their late responses are then dropped because they belong to no request.
const MAX_RETIRED: usize = 1 << 12;

#[derive(Default)]
pub(super) struct Ledger {
    requests: HashMap<Id<'static>, Request>,
    /// The requests that have stopped waiting, oldest first. Some of them may have left the table.
    retired: VecDeque<(u64, Id<'static>)>,
    waiting: usize,
    /// How many requests there were.
    pub(super) count: u64,
}

struct Request {
    number: u64,
    /// When it was sent, or last made progress.
    at: Instant,
    status: Status,
    sent: Sent,
}

/// What is remembered of a request.
#[derive(Default)]
pub(super) struct Sent {
    pub(super) progress_token: Option<Id<'static>>,
    pub(super) is_batch_entry: bool,
    /// Identifies its text.
    pub(super) fingerprint: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Status {
    Waiting,
    /// Cancelled by its sender, who expects no response. One may still be on its way.
    Cancelled,
    /// Answered by the guard.
    Answered,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Refusal {
    /// A request with the same id is in the table.
    InFlight,
    TooMany,
}

/// What a response turned out to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Settlement {
    /// The first response to a request, which may be an entry of a batch.
    First { is_batch_entry: bool },
    /// The response to a request that the guard has answered.
    Late,
    /// It belongs to no request in the table.
    Unknown,
}

impl Ledger {
    pub(super) fn admit(&mut self, id: &Id<'_>, at: Instant, sent: Sent) -> Result<(), Refusal> {
        match self.requests.entry(id.clone().into_owned()) {
            Entry::Occupied(_) => Err(Refusal::InFlight),
            Entry::Vacant(_) if self.waiting >= MAX_WAITING => Err(Refusal::TooMany),
            Entry::Vacant(vacant) => {
                vacant.insert(Request { number: self.count, at, status: Status::Waiting, sent });
                self.count += 1;
                self.waiting += 1;
                Ok(())
            }
        }
    }

    /// Notes that a response has come.
    pub(super) fn settle(&mut self, id: &Id<'_>) -> Settlement {
        let Some(Request { status, sent, .. }) = self.requests.remove(&id.clone().into_owned()) else {
            return Settlement::Unknown;
        };
        match status {
            Status::Answered => Settlement::Late,
            Status::Cancelled | Status::Waiting => {
                self.waiting -= usize::from(status == Status::Waiting);
                Settlement::First { is_batch_entry: sent.is_batch_entry }
            }
        }
    }

    /// Identifies the text of the request in the table that has this id.
    pub(super) fn fingerprint(&self, id: &Id<'_>) -> Option<u64> {
        self.requests.get(&id.clone().into_owned()).map(|request| request.sent.fingerprint)
    }

    /// Notes that the guard answers a request in place of its receiver. Returns false if the request doesn't wait for a
    /// response.
    pub(super) fn answer(&mut self, id: &Id<'_>) -> bool {
        self.retire(id, Status::Answered)
    }

    /// Notes that its sender expects no response to a request any more.
    pub(super) fn cancel(&mut self, id: &Id<'_>) {
        self.retire(id, Status::Cancelled);
    }

    fn retire(&mut self, id: &Id<'_>, status: Status) -> bool {
        let id = id.clone().into_owned();
        let Some(request) = self.requests.get_mut(&id).filter(|request| request.status == Status::Waiting) else {
            return false;
        };
        request.status = status;
        self.waiting -= 1;
        self.retired.push_back((request.number, id));
        if self.retired.len() > MAX_RETIRED
            && let Some((number, oldest)) = self.retired.pop_front()
            && self.requests.get(&oldest).is_some_and(|request| request.number == number)
        {
            self.requests.remove(&oldest);
        }
        true
    }

    /// Restarts the clock of the request that asked for progress with this token.
    pub(super) fn make_progress(&mut self, token: &Id<'_>, at: Instant) {
        let has_token = |request: &&mut Request| request.sent.progress_token.as_ref() == Some(token);
        if let Some(request) = self.requests.values_mut().find(has_token) {
            request.at = at;
        }
    }

    /// Answers all requests that have waited for `timeout`. Returns their ids in the order in which they were sent, and
    /// when the next one will have.
    pub(super) fn take_overdue(&mut self, now: Instant, timeout: Duration) -> (Vec<Id<'static>>, Option<Instant>) {
        let (mut overdue, mut next) = (Vec::new(), None::<Instant>);
        for (id, request) in self.requests.iter().filter(|(_, request)| request.status == Status::Waiting) {
            match request.at + timeout {
                due if due <= now => overdue.push((request.number, id.clone())),
                due => next = Some(next.map_or(due, |next| next.min(due))),
            }
        }
        (self.answer_all(overdue), next)
    }

    /// Answers all requests that wait. Returns their ids in the order in which they were sent.
    pub(super) fn take_waiting(&mut self) -> Vec<Id<'static>> {
        let waiting = self.requests.iter().filter(|(_, request)| request.status == Status::Waiting);
        let waiting = waiting.map(|(id, request)| (request.number, id.clone())).collect();
        self.answer_all(waiting)
    }

    fn answer_all(&mut self, mut numbered: Vec<(u64, Id<'static>)>) -> Vec<Id<'static>> {
        numbered.sort_unstable_by_key(|(number, _)| *number);
        numbered.into_iter().map(|(_, id)| id).filter(|id| self.answer(id)).collect()
    }

    /// Forgets the requests that don't wait any more, because their receiver is gone and can't respond to them.
    pub(super) fn forget_retired(&mut self) {
        self.requests.retain(|_, request| request.status == Status::Waiting);
        self.retired.clear();
    }

    /// How many requests wait for their response.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Settlement = Settlement::First { is_batch_entry: false };

    fn id(number: i64) -> Id<'static> {
        Id::from(number)
    }

    fn ledger(ids: &[i64]) -> Ledger {
        let mut ledger = Ledger::default();
        ids.iter().for_each(|number| ledger.admit(&id(*number), Instant::now(), Sent::default()).unwrap());
        ledger
    }

    #[test]
    fn each_request_gets_one_response() {
        let mut ledger = ledger(&[1, 2]);
        assert_eq!(ledger.admit(&Id::parse("1.0").unwrap(), Instant::now(), Sent::default()), Err(Refusal::InFlight));
        assert_eq!(ledger.settle(&Id::from("1")), Settlement::Unknown);
        assert_eq!([ledger.settle(&id(1)), ledger.settle(&id(1))], [FIRST, Settlement::Unknown]);
        assert_eq!(ledger.admit(&id(1), Instant::now(), Sent::default()), Ok(()));
        assert_eq!((ledger.waiting(), ledger.count), (2, 3));
    }

    #[test]
    fn late_response_is_told_apart_and_frees_the_id() {
        let mut ledger = ledger(&[1]);
        assert!(ledger.answer(&id(1)) && !ledger.answer(&id(1)));
        assert_eq!(ledger.admit(&id(1), Instant::now(), Sent::default()), Err(Refusal::InFlight));
        assert_eq!(ledger.settle(&id(1)), Settlement::Late);
        assert_eq!(ledger.admit(&id(1), Instant::now(), Sent::default()), Ok(()));
    }

    #[test]
    fn cancelled_request_is_not_answered_but_its_response_passes() {
        let mut ledger = ledger(&[1, 2]);
        ledger.cancel(&id(1));
        assert_eq!(ledger.waiting(), 1);
        assert!(!ledger.answer(&id(1)));
        assert_eq!(ledger.take_waiting(), [id(2)]);
        assert_eq!(ledger.settle(&id(1)), FIRST);
        assert_eq!(ledger.settle(&id(2)), Settlement::Late);
    }

    #[test]
    fn overdue_requests_are_answered_in_order() {
        let start = Instant::now();
        let mut ledger = Ledger::default();
        for (number, seconds) in [(3, 0), (1, 1), (2, 1), (4, 5)] {
            let sent = Sent { progress_token: (number == 1).then(|| id(7)), ..Sent::default() };
            ledger.admit(&id(number), start + Duration::from_secs(seconds), sent).unwrap();
        }
        ledger.make_progress(&id(7), start + Duration::from_secs(4));
        let (overdue, next) = ledger.take_overdue(start + Duration::from_secs(11), Duration::from_secs(10));
        assert_eq!(overdue, [id(3), id(2)]);
        assert_eq!(next, Some(start + Duration::from_secs(14)));
    }

    #[test]
    fn memory_is_bounded() {
        let mut ledger = Ledger::default();
        for number in 0..3 * MAX_RETIRED as i64 {
            ledger.admit(&id(number), Instant::now(), Sent::default()).unwrap();
            ledger.answer(&id(number));
        }
        assert_eq!((ledger.requests.len(), ledger.retired.len()), (MAX_RETIRED, MAX_RETIRED));
        for number in 0..MAX_WAITING as i64 {
            ledger.admit(&id(-1 - number), Instant::now(), Sent::default()).unwrap();
        }
        assert_eq!(ledger.admit(&Id::from("one more"), Instant::now(), Sent::default()), Err(Refusal::TooMany));
    }
}
