//! A request or a notification, for a handler.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::encode::RpcError;
use crate::message::{Id, Message, Notification, RawJson, Request};

use super::{Caller, Peer, Ticket};

/// A request or a notification, for a handler.
///
/// Handlers that run one at a time borrow it from the connection's buffer. Concurrent ones own it, sharing the buffer.
pub struct Call<'a> {
    message: Message<'a>,
    /// The method, if it was spelled with escapes.
    decoded_method: Option<String>,
    peer: Peer<Caller>,
    /// Lets a handler in a thread ask whether it is cancelled; an asynchronous one is dropped instead.
    pub(crate) ticket: Option<Ticket>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(message: Message<'a>, peer: Peer<Caller>) -> Self {
        let has_escapes = message.method_json().contains('\\');
        let decoded_method = has_escapes.then(|| message.method().unwrap_or_default().into_owned());
        Self { message, decoded_method, peer, ticket: None }
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        match &self.decoded_method {
            Some(decoded) => decoded,
            None => self.message.method_json().trim_matches('"'),
        }
    }

    /// Decodes the params. If there are none, `T` is decoded from `null`, so that an `Option` is `None`.
    ///
    /// # Errors
    ///
    /// The params don't fit `T`. The error says "Invalid params", and the handler can return it with `?`. It leaves out
    /// serde's reason, which may quote the peer's text. To tell callers more, decode [`raw_params`](Self::raw_params).
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        let params = self.raw_params().unwrap_or(RawJson::NULL);
        params.deserialize().map_err(|_| RpcError::invalid_params("Invalid params"))
    }

    /// The params as they were sent, if there are any.
    #[must_use]
    pub fn raw_params(&self) -> Option<RawJson<'a>> {
        self.message.params()
    }

    /// The request's id, or `None` for a notification.
    #[must_use]
    pub fn id(&self) -> Option<&Id<'a>> {
        self.message.id()
    }

    /// The whole message, for example to forward it.
    #[must_use]
    pub fn message(&self) -> &Message<'a> {
        &self.message
    }

    /// The peer that called, for notifying it or calling it back.
    #[must_use]
    pub fn peer(&self) -> &Peer<Caller> {
        &self.peer
    }

    /// Whether a handler in a thread can stop, because the request was cancelled or the connection is gone.
    ///
    /// Asynchronous handlers needn't ask: they are dropped.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.ticket.as_ref().is_some_and(Ticket::is_cancelled)
    }
}

impl Call<'static> {
    pub(crate) fn request(request: Request<'_>, peer: &Peer<Caller>) -> Self {
        Self::new(Message::Request(request.into_owned()), peer.clone())
    }

    pub(crate) fn notification(notification: Notification<'_>, peer: &Peer<Caller>) -> Self {
        Self::new(Message::Notification(notification.into_owned()), peer.clone())
    }
}

/// Shows only positions and lengths, none of the peer's bytes.
impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("message", &self.message).finish_non_exhaustive()
    }
}
