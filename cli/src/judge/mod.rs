//! Judges sessions: what breaks the rules of a protocol, or of its official clients, although each line is valid.
//!
//! [`Session`] matches responses to requests. The judge keeps what else the rules need to know about each request, by its
//! number in the session. All that is kept is bounded.
//!
//! - `rules`: the table of rules, with their names, severities and sections
//! - `case`: what is known of a session, and what was found
//! - `dialect`: finds out what a session speaks
//! - every other file is a group of rules

mod acp;
mod answers;
mod capabilities;
mod case;
mod clients;
mod cursors;
mod dialect;
mod lifecycle;
mod list;
mod logging;
mod progress;
mod rules;
mod scan;
mod schemas;
mod stateless;
mod subscriptions;
#[cfg(test)]
mod tests;
mod tools;

use std::time::Duration;

use wireline::{Message, Response};

pub(crate) use case::{Finding, Place};
pub(crate) use clients::{BYTE_ORDER_MARK, byte_order_mark, judge_line};
pub(crate) use list::list;
pub(crate) use rules::{Dialect, Rule, Severity};

use crate::protocol::Protocols;
use crate::session::{Role, Session};
use case::{Asked, Call, Case, Members};
use clients::line_findings;

/// Judges one session.
pub(crate) struct Judge {
    case: Case,
    groups: Vec<Box<dyn Group + Send>>,
}

/// Rules that look at the same things.
trait Group {
    /// Looks at a request or a notification.
    fn call(&mut self, call: &Call<'_>, case: &mut Case);

    /// Looks at a response, before the case forgets the request that it answers, if any.
    fn answer(&mut self, answer: &Answer<'_>, case: &mut Case) {
        let _ = (answer, case);
    }

    /// Looks at what is left at the end of the session.
    fn end(&mut self, session: &Session, at: Option<Duration>, case: &mut Case) {
        let _ = (session, at, case);
    }
}

/// A response.
struct Answer<'a> {
    place: Place,
    response: &'a Response<'a>,
    role: &'a Role,
    /// The request that it answers.
    asked: Option<&'a Asked>,
    /// Its position among all requests.
    number: Option<u64>,
}

impl Judge {
    /// Judges by the protocols of `--rules`, and finds out which if there are several.
    pub(crate) fn new(protocols: Protocols) -> Self {
        let groups: Vec<Box<dyn Group + Send>> = vec![
            Box::new(lifecycle::Lifecycle::default()),
            Box::new(answers::Answers::default()),
            Box::new(capabilities::Capabilities::default()),
            Box::new(progress::ProgressTokens::default()),
            Box::new(logging::Logging::default()),
            Box::new(cursors::Cursors::default()),
            Box::new(tools::Tools::default()),
            Box::new(stateless::Stateless::default()),
            Box::new(subscriptions::Subscriptions::default()),
            Box::new(acp::Sessions::default()),
        ];
        Self { case: Case::new(protocols), groups }
    }

    /// What the session speaks, as far as is known.
    pub(crate) fn dialect(&self) -> Dialect {
        self.case.dialect
    }

    /// Whether the session has said itself what it speaks.
    pub(crate) fn is_dialect_certain(&self) -> bool {
        self.case.is_dialect_certain
    }

    /// Judges a message that the session has just [added](Session::add_message), and returns what was found.
    pub(crate) fn add(&mut self, session: &Session, place: Place, message: &Message<'_>, role: &Role) -> Vec<Finding> {
        let Self { case, groups } = self;
        let number = session.last_request();
        match message {
            Message::Response(response) => {
                // Taken out, so that the groups can look at it and change the case.
                let asked = match role {
                    Role::Response { .. } => number.and_then(|number| case.asked.remove(&number)),
                    _ => None,
                };
                let answer = Answer { place, response, role, asked: asked.as_ref(), number };
                dialect::detect_in_answer(&answer, case);
                groups.iter_mut().for_each(|group| group.answer(&answer, case));
                if let Some(asked) = asked {
                    case.note_answer(place, asked, response);
                }
            }
            Message::Request(_) | Message::Notification(_) => {
                let method = message.method().unwrap_or_default();
                let params = message.params();
                let members = params.as_ref().map(Members::new).unwrap_or_default();
                let params = params.as_ref();
                let call = Call { place, id: message.id(), method: &method, params, members, number, role };
                dialect::detect_in_call(&call, case);
                case.note_call(&call);
                groups.iter_mut().for_each(|group| group.call(&call, case));
            }
        }
        let dialect = case.dialect;
        let line = line_findings(message.as_bytes(), message.id(), place, dialect);
        case.findings.extend(line);
        std::mem::take(&mut case.findings)
    }

    /// Reports that a side's stream starts with a byte order mark.
    pub(crate) fn byte_order_mark(&self, place: Place) -> Finding {
        clients::sent_byte_order_mark(place, self.case.dialect)
    }

    /// Forgets the request that a faulty response was meant for.
    pub(crate) fn add_faulty_response(&mut self, number: Option<u64>) {
        if let Some(number) = number {
            self.case.asked.remove(&number);
        }
    }

    /// Judges what is left at the end of a session. Must precede [`Session::end`].
    pub(crate) fn end(&mut self, session: &Session, at: Option<Duration>) -> Vec<Finding> {
        let Self { case, groups } = self;
        groups.iter_mut().for_each(|group| group.end(session, at, case));
        let mut findings = std::mem::take(&mut case.findings);
        findings.sort_by_key(|finding| finding.place.line);
        findings
    }
}
