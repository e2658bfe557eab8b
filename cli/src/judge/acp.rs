//! The sessions of ACP.

use std::collections::HashSet;
use std::time::Duration;

use super::case::{Call, Case, after, elapsed, text};
use super::rules::{Dialect, Rule};
use super::{Answer, Group};
use crate::session::Side;

/// How many sessions are known, and the longest id.
const MAX_SESSIONS: usize = 4096;
const MAX_ID_LEN: usize = 256;

/// The methods whose params name a session that need not be known.
const REOPENING: [&str; 3] = ["session/load", "session/resume", "session/delete"];

/// The methods whose result names a new session.
const CREATING: [&str; 2] = ["session/new", "session/fork"];

/// How long after `session/cancel` an answer isn't just late because both have crossed.
const CROSSING: Duration = Duration::from_millis(500);

#[derive(Default)]
pub(super) struct Sessions {
    known: HashSet<String>,
    /// Whether there were more than are remembered.
    has_forgotten: bool,
}

impl Group for Sessions {
    fn call(&mut self, call: &Call<'_>, case: &mut Case) {
        if case.dialect != Dialect::Acp {
            return;
        }
        let Some(id) = text(&call.members.session) else { return };
        if REOPENING.contains(&call.method) {
            self.add(&id);
            return;
        }
        if !self.has_forgotten && !self.known.contains(&*id) {
            let what = format!("{}: no answer has named its session", call.name());
            case.find(Rule::UnknownSession, call.place, what);
        }
        if call.method == "session/cancel" {
            let of_session = case.asked.values_mut().filter(|asked| asked.session.as_deref() == Some(&*id));
            of_session.for_each(|asked| asked.session_cancelled = Some(call.place.at));
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, case: &mut Case) {
        let Some(asked) = answer.asked.filter(|_| case.dialect == Dialect::Acp) else { return };
        let result = answer.response.result();
        let named = |pointer: &str| text(&result.as_ref()?.pointer(pointer));
        if CREATING.contains(&&*asked.method) {
            named("/sessionId").into_iter().for_each(|id| self.add(&id));
        }
        if &*asked.method == "session/list" {
            let ids = (0..MAX_SESSIONS).map_while(|index| named(&format!("/sessions/{index}/sessionId")));
            ids.for_each(|id| self.add(&id));
        }
        let (Some(cancelled), place) = (asked.session_cancelled, answer.place) else { return };
        let when = after(cancelled, place.at);
        match (&*asked.method, place.from) {
            // The turn may have ended before the agent knew.
            ("session/prompt", Side::Server)
                if named("/stopReason").as_deref() != Some("cancelled")
                    && elapsed(cancelled, place.at).is_some_and(|elapsed| elapsed >= CROSSING) =>
            {
                let what = format!("{} was answered otherwise {when} `session/cancel`", asked.name);
                case.find(Rule::PromptNotCancelled, place, what);
            }
            ("session/request_permission", Side::Client)
                if named("/outcome/outcome").as_deref() != Some("cancelled") =>
            {
                let what = format!("{} was answered otherwise {when} `session/cancel`", asked.name);
                case.find(Rule::PermissionAfterCancel, place, what);
            }
            _ => {}
        }
    }
}

impl Sessions {
    fn add(&mut self, id: &str) {
        if self.known.len() < MAX_SESSIONS && id.len() <= MAX_ID_LEN {
            self.known.insert(id.to_owned());
        } else {
            self.has_forgotten = true;
        }
    }
}
