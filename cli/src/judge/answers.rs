//! Each request gets one answer, and cancellations are about pending requests.

use std::time::Duration;

use wireline::Id;

use super::case::{Call, Case, after, elapsed};
use super::dialect::INITIALIZE;
use super::rules::{Dialect, Rule};
use super::{Answer, Group, subscriptions};
use crate::protocol::Protocols;
use crate::session::{PendingCall, Role, Session, Side, displayed_id};
use crate::units::Seconds;

/// How long after a request an answer is overdue, if the session ends without it.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long after an answer a cancellation is not just late because both have crossed.
const CROSSING: Duration = Duration::from_millis(500);

#[derive(Default)]
pub(super) struct Answers {
    /// For each side, the latest of its requests that was answered, by its position among all requests.
    last_answered: [Option<u64>; 2],
}

impl Group for Answers {
    fn call(&mut self, call: &Call<'_>, case: &mut Case) {
        let from = call.place.from;
        match (call.role, call.id) {
            (Role::Call { reuses_id: true, .. }, _) => {
                case.find(Rule::ReusedId, call.place, "a pending request already has this id");
            }
            (_, Some(id)) => {
                if case.applies(Rule::IdUsedBefore)
                    && let Some(before) = case.answered[from as usize].get(id)
                {
                    let what = format!("{} has the id of {}, which has been answered", call.name(), before.name);
                    case.find(Rule::IdUsedBefore, call.place, what);
                }
            }
            (Role::Cancellation { .. }, None) => self.cancellation(call, case),
            (_, None) => {
                if let Some(id) = Protocols::ANY.cancelled_id(call.method, call.params) {
                    Self::vain_cancellation(call, &id, case);
                }
            }
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, case: &mut Case) {
        let (place, response) = (answer.place, answer.response);
        let requester = place.from.other();
        match (answer.role, answer.asked) {
            (Role::Response { is_cancelled, .. }, Some(asked)) => {
                let last = &mut self.last_answered[requester as usize];
                *last = (*last).max(answer.number);
                let cancelled = asked.cancelled.unwrap_or(None);
                if *is_cancelled && case.dialect.is_mcp() {
                    let what = format!("{} was answered {} its cancellation", asked.name, after(cancelled, place.at));
                    case.find(Rule::AnswerAfterCancellation, place, what);
                }
            }
            (Role::UnmatchedResponse { has_other_type: true }, _) => {
                case.find(Rule::AnswerIdType, place, "same id as a pending request, but of the other type");
            }
            (Role::UnmatchedResponse { .. }, _) => {
                let before = response.id().and_then(|id| case.answered[requester as usize].get(id));
                match before {
                    Some(before) => {
                        let what = format!(
                            "{} was answered again, {} its first answer",
                            before.name,
                            after(before.at, place.at)
                        );
                        case.find(Rule::SecondAnswer, place, what);
                    }
                    None => case.find(Rule::UnknownAnswer, place, "no pending request has this id"),
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, session: &Session, at: Option<Duration>, case: &mut Case) {
        let unanswered: Vec<PendingCall> = session.pending().collect();
        for PendingCall { from, number, is_cancelled } in unanswered {
            let Some(asked) = case.asked.get(&number) else { continue };
            // In ACP, a cancelled request is answered like any other.
            if (is_cancelled && case.dialect != Dialect::Acp) || &*asked.method == subscriptions::LISTEN {
                continue;
            }
            let waited = elapsed(asked.place.at, at);
            let is_passed_over = self.last_answered[from as usize].is_some_and(|last| last > number);
            // A client that quits may leave slow calls behind while faster ones are answered. Without times, order has to do.
            let is_overdue = waited.map_or(is_passed_over, |waited| waited >= PATIENCE);
            let rule = if is_overdue { Rule::UnansweredRequest } else { Rule::UnansweredAtEnd };
            let end = waited.map_or_else(String::new, |waited| format!(", {} before the end", Seconds(waited)));
            let (place, what) = (asked.place, format!("{} has no answer{end}", asked.name));
            case.find(rule, place, what);
        }
    }
}

impl Answers {
    /// The cancellation of a pending request.
    fn cancellation(&mut self, call: &Call<'_>, case: &mut Case) {
        let Some(asked) = call.number.and_then(|number| case.asked.get_mut(&number)) else { return };
        asked.cancelled = Some(call.place.at);
        if &*asked.method == INITIALIZE {
            let what = format!("{} was cancelled", asked.name);
            case.find(Rule::CancelledInitialize, call.place, what);
        }
    }

    /// The cancellation of something that is not pending.
    fn vain_cancellation(call: &Call<'_>, id: &Id<'static>, case: &mut Case) {
        let (from, at) = (call.place.from, call.place.at);
        let known = &case.answered[from as usize];
        match known.get(id) {
            Some(answered) => {
                let waited = elapsed(answered.at, at);
                if waited.is_some_and(|waited| waited >= CROSSING) {
                    let what = format!(
                        "{} was cancelled {} its answer: the {} doesn't seem to have understood the answer",
                        answered.name,
                        after(answered.at, at),
                        from.name()
                    );
                    case.find(Rule::LateCancellation, call.place, what);
                }
            }
            None if known.has_forgotten || from == Side::Server && case.dialect.is_stateless() => {}
            None => {
                let what = format!("{} was never sent", displayed_id(Some(id)));
                case.find(Rule::UnknownCancellation, call.place, what);
            }
        }
    }
}
