//! What pending calls were made with, to be shown if they fail.

use std::collections::HashMap;

use wireline::Message;

use crate::session::{Role, Session};

/// How many calls are kept, and how much of the arguments of each, in characters.
const MAX_CALLS: usize = 4096;
const MAX_LEN: usize = 1024;

#[derive(Default)]
pub(crate) struct CalledWith {
    /// By the position of the request among all requests.
    pending: HashMap<u64, String>,
    /// Those of the call that the last message answers.
    last: Option<String>,
}

impl CalledWith {
    /// Notes a message that the session has just seen.
    pub(super) fn note(&mut self, session: &Session, message: &Message<'_>, role: &Role) {
        self.last = None;
        let Some(number) = session.last_request() else { return };
        match (message, role) {
            (Message::Request(_), _) if self.pending.len() < MAX_CALLS => {
                let Some(arguments) = session.arguments(message) else { return };
                self.pending.insert(number, arguments.as_json().chars().take(MAX_LEN).collect());
            }
            (_, Role::Response { .. }) => self.last = self.pending.remove(&number),
            _ => {}
        }
    }

    pub(super) fn take_last(&mut self) -> Option<String> {
        self.last.take()
    }
}
