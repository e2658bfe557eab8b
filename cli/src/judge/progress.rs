//! Progress is about pending requests, and goes forward.

use std::collections::HashMap;

use wireline::Id;

use super::case::{Call, Case};
use super::rules::Rule;
use super::{Answer, Group};
use crate::protocol::Protocols;
use crate::session::{Role, displayed_id};

/// For each side, the tokens of its pending requests, by the position of these among all requests.
#[derive(Default)]
pub(super) struct ProgressTokens {
    pending: [HashMap<Id<'static>, u64>; 2],
}

impl Group for ProgressTokens {
    fn call(&mut self, call: &Call<'_>, case: &mut Case) {
        if !case.dialect.is_mcp() {
            return;
        }
        if call.is_request() {
            self.request(call, case);
        } else if let Some(progress) = Protocols::ANY.progress(call.method, call.params) {
            let place = call.place;
            let (Role::Progress { .. }, Some(number)) = (call.role, call.number) else {
                let token = displayed_id(Some(&progress.token));
                match case.answered[place.from.other() as usize].token(&progress.token) {
                    // A task goes on after the answer that it was created.
                    Some(true) => {}
                    Some(false) => {
                        let what = format!("the request with the progress token {token} had been answered");
                        case.find(Rule::ProgressAfterAnswer, place, what);
                    }
                    None => {
                        let what = format!("no request has had the progress token {token}");
                        case.find(Rule::UnknownProgressToken, place, what);
                    }
                }
                return;
            };
            let Some(asked) = case.asked.get_mut(&number) else { return };
            let before = asked.progress.replace(progress.done);
            if let Some(before) = before.filter(|before| progress.done <= *before) {
                let what = format!("{}: progress {} after {before}", asked.name, progress.done);
                case.find(Rule::ProgressNotIncreasing, place, what);
            }
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, _: &mut Case) {
        let Some((asked, number)) = answer.asked.zip(answer.number) else { return };
        let pending = &mut self.pending[asked.place.from as usize];
        if let Some(token) = &asked.progress_token
            && pending.get(token) == Some(&number)
        {
            pending.remove(token);
        }
    }
}

impl ProgressTokens {
    fn request(&mut self, call: &Call<'_>, case: &mut Case) {
        // Only what is kept as pending is removed again.
        let Some(number) = call.number.filter(|number| case.asked.contains_key(number)) else { return };
        let Some(token) = call.progress_token() else { return };
        let before = self.pending[call.place.from as usize].insert(token, number);
        let before = before.and_then(|before| case.asked.get(&before)).filter(|before| before.cancelled.is_none());
        if let Some(before) = before {
            let what = format!("{} has the progress token of {}, which is pending", call.name(), before.name);
            case.find(Rule::ProgressTokenReused, call.place, what);
        }
    }
}
