//! Judges the sessions of a recording while their lines are checked.

use std::time::Duration;

use wireline::{Message, Rules};

use crate::judge::{BYTE_ORDER_MARK, Finding, Judge, Place};
use crate::rules_args::RulesArgs;
use crate::session::{Session, Side};

pub(super) struct Judging<'a> {
    args: &'a RulesArgs,
    session: Session,
    judge: Judge,
    /// When the current record was sent.
    at: Duration,
}

impl<'a> Judging<'a> {
    pub(super) fn new(args: &'a RulesArgs) -> Self {
        Self {
            args,
            session: Session::new(args.protocols()),
            judge: Judge::new(args.judged_protocols()),
            at: Duration::ZERO,
        }
    }

    /// The rules that were asked for, or of what the session speaks, as far as is known.
    pub(super) fn rules(&self) -> Rules {
        self.args.rules_of(self.judge.dialect())
    }

    pub(super) fn set_time(&mut self, at: Duration) {
        self.at = at;
    }

    pub(super) fn add_message(&mut self, from: Side, line: u64, message: &Message<'_>) -> Vec<Finding> {
        let place = Place { from, line, at: Some(self.at) };
        let role = self.session.add_message(from, message, place.at);
        self.judge.add(&self.session, place, message, &role)
    }

    pub(super) fn add_fault(&mut self, from: Side, fault: &wireline::Fault) {
        self.session.add_fault(from, fault, Some(self.at));
        if fault.is_response() {
            self.judge.add_faulty_response(self.session.last_request());
        }
    }

    /// Judges how the stream of a side starts.
    pub(super) fn start_stream(&mut self, from: Side, line: u64, bytes: &[u8]) -> Option<Finding> {
        let place = Place { from, line, at: Some(self.at) };
        bytes.starts_with(BYTE_ORDER_MARK).then(|| self.judge.byte_order_mark(place))
    }

    /// Ends the session. Another one may follow.
    pub(super) fn end_session(&mut self) -> Vec<Finding> {
        let findings = self.judge.end(&self.session, Some(self.at));
        self.session = Session::new(self.args.protocols());
        self.judge = Judge::new(self.args.judged_protocols());
        self.at = Duration::ZERO;
        findings
    }
}
