//! What can be wrong with a message of a replay, and how that is named.

use wireline::{FaultKind, Id, Request};

use super::MAX_COLUMNS;
use crate::protocol::Protocols;
use crate::replay::player::Stopped;
use crate::session::{Side, displayed_id};
use crate::terminal::escape_start;

/// The message that a problem is about.
pub(crate) struct Subject {
    /// Who sent the request.
    pub(super) from: Side,
    pub(super) method: Option<String>,
    pub(super) target: Option<String>,
    pub(super) id: Option<Id<'static>>,
}

pub(crate) enum Problem {
    /// The answer did not come in time, or before the replay ended.
    NeverCame { stopped: Option<Stopped> },
    /// The answer is faulty, and was not so in the recording.
    Faulty(FaultKind),
    /// The answer was faulty in this way in the recording, and is a message now.
    NoLongerFaulty(FaultKind),
    /// An answer to a request that was never answered in the recording.
    ExtraAnswer,
    /// A request of the server did not come in time.
    RequestNeverCame { stopped: Option<Stopped> },
    /// A request of the server that is not in the recording.
    ExtraRequest,
}

impl Subject {
    /// A request that the client sent.
    pub(crate) fn of_call(request: &Request<'_>, protocols: Protocols) -> Self {
        Self { from: Side::Client, ..Self::of_request(request, protocols) }
    }

    /// A request of the server.
    pub(crate) fn of_request(request: &Request<'_>, protocols: Protocols) -> Self {
        let method = request.method().into_owned();
        let target = protocols.subject(&method, request.params().as_ref());
        Self { from: Side::Server, method: Some(method), target, id: Some(request.id().clone().into_owned()) }
    }

    /// A faulty line that the client sent.
    pub(crate) fn of_fault(id: Option<&Id<'_>>) -> Self {
        Self { from: Side::Client, method: None, target: None, id: id.map(|id| id.clone().into_owned()) }
    }

    /// The method, which is empty for a faulty line, and what the call is about.
    pub(crate) fn names(&self) -> (&str, Option<&str>) {
        (self.method.as_deref().unwrap_or_default(), self.target.as_deref())
    }

    /// The name for people, escaped.
    pub(super) fn text(&self) -> String {
        let mut text = self.method.clone().unwrap_or_else(|| "(faulty line)".to_owned());
        if let Some(target) = &self.target {
            text.push(' ');
            text.push_str(target);
        }
        let id = displayed_id(self.id.as_ref());
        let space = if id.is_empty() { "" } else { " " };
        format!("{} {}{space}{id}", self.from.arrow(), escape_start(text.as_bytes(), MAX_COLUMNS))
    }
}

impl Problem {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::NeverCame { .. } => "never-answered",
            Self::Faulty(_) => "faulty-answer",
            Self::NoLongerFaulty(_) => "no-longer-faulty",
            Self::ExtraAnswer => "extra-answer",
            Self::RequestNeverCame { .. } => "missing-request",
            Self::ExtraRequest => "extra-request",
        }
    }

    pub(super) fn text(&self) -> String {
        let before = |stopped: &Option<Stopped>| match stopped {
            None => " in time",
            Some(Stopped::Exited) => " before the server's output ended",
            Some(Stopped::NotReading) => " before the server stopped reading",
            Some(Stopped::Silent) => "",
        };
        match self {
            Self::NeverCame { stopped } => format!("never answered{}", before(stopped)),
            Self::Faulty(kind) => format!("the answer is faulty [{}]", kind.name()),
            Self::NoLongerFaulty(kind) => format!("the recorded answer was faulty [{}]", kind.name()),
            Self::ExtraAnswer => "answered, but never in the recording".to_owned(),
            Self::RequestNeverCame { stopped } => format!("the server never sent this request{}", before(stopped)),
            Self::ExtraRequest => "the recorded server did not send this request".to_owned(),
        }
    }
}

impl Stopped {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::NotReading => "not-reading",
            Self::Silent => "silent",
        }
    }
}
