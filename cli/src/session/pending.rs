//! The requests of one side that have no response yet.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use wireline::Id;

use super::displayed_id;
use super::methods::{MethodIndex, ResponseInfo};

/// How many requests of each side are tracked at a time, and how many early responses.
pub(crate) const MAX_PENDING: usize = 1 << 16;

/// The longest id that is tracked, in bytes.
pub(super) const MAX_ID_LEN: usize = 1024;

#[derive(Default)]
pub(super) struct PendingRequests {
    /// For each id, the oldest request.
    oldest: HashMap<Id<'static>, PendingRequest>,
    /// Younger requests with an id that is in `oldest`.
    reused: HashMap<Id<'static>, VecDeque<PendingRequest>>,
    reused_len: usize,
    /// Responses that came before their requests.
    early: HashMap<Id<'static>, Vec<ResponseInfo>>,
    early_len: usize,
    /// The requests that notifications about progress refer to, by their tokens.
    in_progress: HashMap<Id<'static>, Call>,
    /// Faulty lines without an id, to which an error without an id may respond.
    faulty_lines: u64,
}

#[derive(Clone)]
pub(super) struct PendingRequest {
    /// The position among all requests of the session.
    pub(super) number: u64,
    pub(super) method: MethodIndex,
    pub(super) at: Option<Duration>,
    pub(super) is_cancelled: bool,
    /// Whether the log has told that its response takes long.
    pub(super) is_overdue: bool,
    /// What notifications about its progress refer to.
    pub(super) progress_token: Option<Id<'static>>,
}

/// A request that notifications about its progress refer to.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) number: u64,
    pub(super) method: MethodIndex,
    /// The id, as [`displayed_id`](super::displayed_id) shows it.
    pub(super) id: String,
}

/// What became of a request that was added.
pub(super) struct Added {
    pub(super) outcome: Outcome,
    /// Whether an older request with the same id is pending.
    pub(super) reuses_id: bool,
}

pub(super) enum Outcome {
    Pending,
    /// Its response came before it.
    Answered(ResponseInfo),
    /// It is beyond the limits, so its response will not be recognised.
    Untracked,
}

/// What is left when a session ends.
pub(super) struct Unmatched {
    /// In the order in which they were sent.
    pub(super) requests: Vec<(Id<'static>, PendingRequest)>,
    /// The ids of early responses, once for each response.
    pub(super) responses: Vec<Id<'static>>,
}

impl PendingRequests {
    pub(super) fn add(&mut self, id: &Id<'_>, request: PendingRequest) -> Added {
        if !is_trackable(id) {
            return Added { outcome: Outcome::Untracked, reuses_id: false };
        }
        if let Some(response) = self.take_early(id) {
            return Added { outcome: Outcome::Answered(response), reuses_id: false };
        }
        if self.oldest.len() + self.reused_len >= MAX_PENDING {
            return Added { outcome: Outcome::Untracked, reuses_id: self.oldest.contains_key(id) };
        }
        if let Some(token) = request.progress_token.as_ref().filter(|token| is_trackable(token)) {
            let call = Call { number: request.number, method: request.method, id: displayed_id(Some(id)) };
            self.in_progress.insert(token.clone(), call);
        }
        match self.oldest.entry(id.clone().into_owned()) {
            Entry::Occupied(oldest) => {
                self.reused.entry(oldest.key().clone()).or_default().push_back(request);
                self.reused_len += 1;
                Added { outcome: Outcome::Pending, reuses_id: true }
            }
            Entry::Vacant(oldest) => {
                oldest.insert(request);
                Added { outcome: Outcome::Pending, reuses_id: false }
            }
        }
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &PendingRequest> {
        self.oldest.values().chain(self.reused.values().flatten())
    }

    /// Removes the oldest request with this id.
    pub(super) fn take(&mut self, id: &Id<'_>) -> Option<PendingRequest> {
        if !is_trackable(id) {
            return None;
        }
        let id = id.clone().into_owned();
        let oldest = self.oldest.remove(&id)?;
        if let Some(token) = &oldest.progress_token {
            self.in_progress.remove(token);
        }
        if self.reused_len > 0
            && let Some(reused) = self.reused.get_mut(&id)
        {
            let next = reused.pop_front();
            if reused.is_empty() {
                self.reused.remove(&id);
            }
            if let Some(next) = next {
                self.reused_len -= 1;
                self.oldest.insert(id, next);
            }
        }
        Some(oldest)
    }

    /// Marks the oldest request with this id as cancelled, and returns it.
    pub(super) fn cancel(&mut self, id: &Id<'static>) -> Option<&PendingRequest> {
        let request = self.oldest.get_mut(id)?;
        request.is_cancelled = true;
        Some(request)
    }

    /// The request that a notification with this token is about.
    pub(super) fn in_progress(&self, token: &Id<'static>) -> Option<&Call> {
        self.in_progress.get(token)
    }

    /// The ids that are equal to `id` as text, but of the other type: `"3"` for `3`.
    pub(super) fn has_other_type(&self, id: &Id<'_>) -> bool {
        if !is_trackable(id) {
            return false;
        }
        let other = match id.as_str() {
            // Only a number is spelled like a number.
            Some(text) => Id::parse(&text).filter(Id::is_number).map(Id::into_owned),
            None => Id::parse(&format!("\"{}\"", id.as_json())).map(Id::into_owned),
        };
        other.is_some_and(|other| self.oldest.contains_key(&other))
    }

    /// The requests that were sent at or before `deadline`, are not overdue yet and become it now, and when the first of
    /// the others was sent.
    pub(super) fn take_overdue(
        &mut self,
        deadline: Duration,
    ) -> (Vec<(Id<'static>, PendingRequest)>, Option<Duration>) {
        let (mut overdue, mut next) = (Vec::new(), None::<Duration>);
        for (id, request) in &mut self.oldest {
            let Some(at) = request.at.filter(|_| !request.is_overdue && !request.is_cancelled) else { continue };
            if at <= deadline {
                request.is_overdue = true;
                overdue.push((id.clone(), request.clone()));
            } else {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        }
        overdue.sort_by_key(|(_, request)| request.number);
        (overdue, next)
    }

    /// Keeps a response whose request may follow. Returns whether there was room.
    pub(super) fn keep_early(&mut self, id: &Id<'_>, response: ResponseInfo) -> bool {
        if self.early_len >= MAX_PENDING || !is_trackable(id) {
            return false;
        }
        self.early.entry(id.clone().into_owned()).or_default().push(response);
        self.early_len += 1;
        true
    }

    fn take_early(&mut self, id: &Id<'_>) -> Option<ResponseInfo> {
        // The lookup needs an owned id, so skip it in the usual case.
        if self.early_len == 0 {
            return None;
        }
        let Entry::Occupied(mut responses) = self.early.entry(id.clone().into_owned()) else { return None };
        let response = responses.get_mut().pop();
        if responses.get().is_empty() {
            responses.remove();
        }
        self.early_len -= usize::from(response.is_some());
        response
    }

    pub(super) fn add_faulty_line(&mut self) {
        self.faulty_lines += 1;
    }

    /// Matches an error without an id to a faulty line, if there is one.
    pub(super) fn take_faulty_line(&mut self) -> bool {
        let is_there = self.faulty_lines > 0;
        self.faulty_lines -= u64::from(is_there);
        is_there
    }

    /// Empties it at the end of a session.
    pub(super) fn take_unmatched(&mut self) -> Unmatched {
        let Self { oldest, reused, early, .. } = std::mem::take(self);
        let reused =
            reused.into_iter().flat_map(|(id, requests)| requests.into_iter().map(move |one| (id.clone(), one)));
        let mut requests: Vec<_> = oldest.into_iter().chain(reused).collect();
        requests.sort_by_key(|(_, request)| request.number);
        let mut responses: Vec<_> =
            early.into_iter().flat_map(|(id, responses)| std::iter::repeat_n(id, responses.len())).collect();
        responses.sort_by(|a, b| a.as_json().cmp(b.as_json()));
        Unmatched { requests, responses }
    }
}

fn is_trackable(id: &Id<'_>) -> bool {
    id.as_json().len() <= MAX_ID_LEN
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::super::methods::Methods;
    use super::*;

    #[test]
    fn matched_entries_leave_nothing_behind() {
        let mut pending = PendingRequests::default();
        let method = Methods::default().index_of(Side::Client, "m", None, |_| false);
        let (id, response) = (Id::from(1), ResponseInfo { is_error: false, says_failed: false, len: 1 });
        let request = |number| PendingRequest {
            number,
            method,
            at: None,
            is_cancelled: false,
            is_overdue: false,
            progress_token: Some(Id::from(number as i64)),
        };
        for number in 0..3 {
            pending.add(&id, request(number));
        }
        let order: Vec<_> = std::iter::from_fn(|| pending.take(&id)).map(|request| request.number).collect();
        assert_eq!(order, [0, 1, 2]);
        assert!(pending.keep_early(&id, response));
        let added = pending.add(&id, request(3));
        assert!(matches!(added.outcome, Outcome::Answered(_)));
        let PendingRequests { oldest, reused, reused_len, early, early_len, in_progress, .. } = pending;
        assert_eq!((oldest.len(), reused.len(), reused_len, early.len(), early_len), (0, 0, 0, 0, 0));
        assert!(in_progress.is_empty());
    }
}
