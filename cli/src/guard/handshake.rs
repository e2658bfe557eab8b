//! The handshake of the client, which a restarted server gets again.

use wireline::{Id, Message, Request, Response};

use crate::protocol::Protocols;

/// The notifications with which a client ends a handshake.
const CONCLUSIONS: [&str; 2] = ["notifications/initialized", "initialized"];

#[derive(Default)]
pub(super) struct Handshake {
    request: Option<Opening>,
    /// The line that ended it.
    conclusion: Option<Vec<u8>>,
    repetition: Repetition,
}

struct Opening {
    id: Id<'static>,
    line: Vec<u8>,
    method: String,
    /// The protocol version of the answer, once that has come.
    version: Option<String>,
}

/// What became of the repeated handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Repetition {
    #[default]
    None,
    /// The request has been repeated, and its answer must not reach the client.
    Waiting,
    Agreed,
    Refused,
}

impl Handshake {
    /// Looks at a request of the client.
    pub(super) fn see_request(&mut self, protocols: Protocols, request: &Request<'_>) {
        let method = request.method();
        if protocols.is_handshake(&method) && self.request.as_ref().is_none_or(|opening| opening.version.is_none()) {
            let (id, line) = (request.id().clone().into_owned(), with_line_end(request.as_bytes()));
            self.request = Some(Opening { id, line, method: method.into_owned(), version: None });
        }
    }

    /// Looks at a notification of the client.
    pub(super) fn see_notification(&mut self, method: &str, line: &[u8]) {
        if self.conclusion.is_none() && CONCLUSIONS.contains(&method) {
            self.conclusion = Some(with_line_end(line));
        }
    }

    /// Looks at a response of the server. Returns whether it answers the repeated request.
    pub(super) fn see_response(&mut self, protocols: Protocols, response: &Response<'_>) -> bool {
        let Some(opening) = self.request.as_mut().filter(|opening| response.id() == Some(&opening.id)) else {
            return false;
        };
        let version = || Some(protocols.answer(&opening.method, &response.result()?)?.version);
        if self.repetition == Repetition::Waiting {
            let agrees = response.result().is_some() && version() == opening.version;
            self.repetition = if agrees { Repetition::Agreed } else { Repetition::Refused };
            return true;
        }
        if opening.version.is_none() {
            opening.version = version();
        }
        false
    }

    /// The request to repeat, if the client has gone through a handshake with the server that ended.
    pub(super) fn repeat(&mut self) -> Option<Vec<u8>> {
        let opening = self.request.as_ref().filter(|opening| opening.version.is_some())?;
        self.repetition = Repetition::Waiting;
        Some(opening.line.clone())
    }

    pub(super) fn repetition(&self) -> Repetition {
        self.repetition
    }

    /// The line that ends the handshake, if the client has sent it.
    pub(super) fn conclusion(&self) -> &[u8] {
        self.conclusion.as_deref().unwrap_or_default()
    }
}

/// Looks at a message of the client.
pub(super) fn see(handshake: &mut Handshake, protocols: Protocols, message: &Message<'_>) {
    match message {
        Message::Request(request) => handshake.see_request(protocols, request),
        Message::Notification(note) => handshake.see_notification(&note.method(), note.as_bytes()),
        Message::Response(_) => {}
    }
}

fn with_line_end(line: &[u8]) -> Vec<u8> {
    [line, b"\n"].concat()
}
