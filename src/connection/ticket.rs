//! The duty to answer one request.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::BytesMut;
use serde::Serialize;

use crate::encode::{EncodeError, Encoder, RpcError};
use crate::ledger::Number;
use crate::message::{Id, Response, Rules, code};
use crate::sync::atomic::AtomicU64;

use super::link::Link;

/// Room for a usual answer, so that encoding one needs a single allocation at most.
const TYPICAL_LEN: usize = 128;

/// The duty to answer one request, exactly once.
///
/// It can be sent to any thread or task. Answering consumes it, never waits and never fails: the answer is queued, and
/// the connection's driver writes it. A ticket that is dropped, for example because a handler panics, answers with an
/// internal error.
///
/// The answer to an entry of a batch is held back until all requests of the batch are answered, and then sent with the
/// other answers in one array.
#[must_use = "a ticket that is dropped answers with an internal error"]
pub struct Ticket {
    link: Arc<Link>,
    /// `None` once it is answered.
    body: Option<Box<Body>>,
}

/// A request's id, the line that answers it, and its number in the ledger. Bodies are reused for later requests, and
/// boxed because tickets are moved a lot.
pub(super) struct Body {
    pub(super) id: Id<'static>,
    pub(super) line: BytesMut,
    pub(super) number: Number,
    pub(super) in_batch: bool,
    /// Whether the line doesn't fit the array of its batch.
    pub(super) is_alone: bool,
    /// The value of [`Link::stops`] when the request was last known to be neither cancelled nor settled.
    pub(super) seen_stops: AtomicU64,
}

impl Default for Body {
    fn default() -> Self {
        let seen_stops = AtomicU64::new(0);
        Self {
            id: Id::NULL,
            line: BytesMut::new(),
            number: Number::default(),
            in_batch: false,
            is_alone: false,
            seen_stops,
        }
    }
}

impl Ticket {
    #[inline]
    pub(super) fn new(link: &Arc<Link>, body: Box<Body>) -> Self {
        Self { link: Arc::clone(link), body: Some(body) }
    }

    /// The request's id, with its exact spelling, which the answer repeats.
    #[must_use]
    pub fn id(&self) -> &Id<'static> {
        static NULL: Id<'static> = Id::NULL;
        self.body.as_ref().map_or(&NULL, |body| &body.id)
    }

    /// The request's number, for answering it without this ticket.
    pub(crate) fn number(&self) -> Option<Number> {
        self.body.as_ref().map(|body| body.number)
    }

    /// Whether work on the request can stop: its caller has cancelled it, it was answered by
    /// [`abort`](super::Connection::abort) or at its deadline, or the connection is gone.
    ///
    /// This is cheap enough for a loop: it takes a lock only if a request was cancelled since the last call.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.body.as_ref().is_none_or(|body| self.link.is_stopped(body))
    }

    /// Ready once work on the request [can stop](Self::is_cancelled). If several tasks poll, only the last one is
    /// woken.
    pub fn poll_cancelled(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.body.as_ref().map_or(Poll::Ready(()), |body| self.link.poll_stopped(body, cx))
    }

    /// Waits until work on the request [can stop](Self::is_cancelled), on any runtime.
    pub async fn cancelled(&self) {
        poll_fn(|cx| self.poll_cancelled(cx)).await;
    }

    /// Answers with a result.
    ///
    /// If the result can't be encoded, the answer is an internal error. To handle that case yourself, use
    /// [`try_respond`](Self::try_respond).
    #[inline]
    pub fn respond(self, result: &(impl Serialize + ?Sized)) {
        let _ = self.answer(|encoder, id| encoder.response(id, result));
    }

    /// Answers with a result, or returns the ticket if the result can't be encoded.
    ///
    /// ```
    /// use wireline::connection::{Connection, Event};
    /// use wireline::{EncodeErrorKind, RpcError, Rules};
    ///
    /// let mut connection: Connection<()> = Connection::new(Rules::json_rpc());
    /// connection.feed(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"mean\"}\n");
    /// let Some(Event::Request(_, ticket)) = connection.next_event() else { panic!() };
    /// if let Err((ticket, error)) = ticket.try_respond(&f64::NAN) {
    ///     assert_eq!(error.kind(), EncodeErrorKind::NonFiniteFloat);
    ///     ticket.fail(&RpcError::new(1, "no values"));
    /// }
    /// assert!(connection.pending().starts_with(br#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"#));
    /// ```
    ///
    /// # Errors
    ///
    /// The result can't be encoded, or the rules don't permit it.
    pub fn try_respond(mut self, result: &(impl Serialize + ?Sized)) -> Result<(), (Self, EncodeError)> {
        match self.encode(|encoder, id| encoder.response(id, result)) {
            Ok(()) => {
                self.send();
                Ok(())
            }
            Err(error) => Err((self, error)),
        }
    }

    /// Answers with an error.
    pub fn fail(self, error: &RpcError) {
        let _ = self.answer(|encoder, id| encoder.error(id, error));
    }

    /// Answers with a handler's outcome.
    #[inline]
    pub fn settle<T: Serialize>(self, outcome: Result<T, RpcError>) {
        let _ = self.settle_or_replace(&outcome);
    }

    /// Like [`settle`](Self::settle), but returns an error if the outcome can't be encoded, in which case the answer is
    /// an internal error.
    #[inline]
    pub(crate) fn settle_or_replace<T: Serialize>(self, outcome: &Result<T, RpcError>) -> Result<(), EncodeError> {
        match outcome {
            Ok(result) => self.answer(|encoder, id| encoder.response(id, result)),
            Err(error) => self.answer(|encoder, id| encoder.error(id, error)),
        }
    }

    /// Answers with the response to another request, as a proxy does: only the id is replaced. A response in another
    /// dialect's form, such as Stratum's, is written anew if this dialect doesn't permit it.
    pub fn relay(self, response: &Response<'_>) {
        let _ = self.answer(|encoder, id| {
            encoder.forward_with_id(response, id).or_else(|_| match response.outcome() {
                Ok(result) => encoder.response(id, &result),
                Err(error) => encoder.error(id, &RpcError::from(error)),
            })
        });
    }

    /// Answers. If encoding fails, answers with an internal error and returns the reason.
    #[inline]
    fn answer(
        mut self,
        write: impl Fn(&mut Encoder<'_>, &Id<'static>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        // If serializing panics, the ticket answers when it is dropped.
        let encoded = self.encode(write);
        if encoded.is_err() {
            let _ = self.encode(|encoder, id| encoder.error(id, &RpcError::internal()));
        }
        self.send();
        encoded
    }

    #[inline]
    fn encode(
        &mut self,
        write: impl Fn(&mut Encoder<'_>, &Id<'static>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let Some(body) = self.body.as_deref_mut() else { return Ok(()) };
        let rules = self.link.rules;
        // Stays empty if the request was stopped and the dialect doesn't answer cancelled requests.
        body.line.clear();
        if !rules.dialect.answers_cancelled && self.link.is_stopped(body) {
            return Ok(());
        }
        let Body { id, line, in_batch, is_alone, .. } = body;
        *is_alone = encode_answer(line, rules, *in_batch, |encoder| write(encoder, id))?;
        Ok(())
    }

    #[inline]
    fn send(&mut self) {
        if let Some(body) = self.body.take() {
            self.link.settle(body);
        }
    }
}

impl Drop for Ticket {
    #[inline]
    fn drop(&mut self) {
        if self.body.is_some() {
            self.answer_dropped();
        }
    }
}

impl Ticket {
    #[cold]
    fn answer_dropped(&mut self) {
        let error = match self.is_cancelled() {
            true => RpcError::new(code::REQUEST_CANCELLED, "Request cancelled"),
            false => RpcError::internal(),
        };
        let _ = self.encode(|encoder, id| encoder.error(id, &error));
        self.send();
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("id", self.id()).finish_non_exhaustive()
    }
}

/// Encodes an answer. Returns whether it has to be a line of its own, because it isn't part of a batch or is too long
/// or too deep for an array.
#[inline]
pub(super) fn encode_answer(
    line: &mut BytesMut,
    rules: Rules,
    in_batch: bool,
    write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
) -> Result<bool, EncodeError> {
    line.reserve(TYPICAL_LEN);
    if in_batch && write(&mut Encoder::append_to(line, in_array(rules))).is_ok() {
        return Ok(false);
    }
    write(&mut Encoder::append_to(line, rules)).map(|()| true)
}

/// Limits for an answer that has to fit an array.
fn in_array(rules: Rules) -> Rules {
    let limits = rules.limits;
    rules.max_line_len(limits.max_line_len.saturating_sub("[]".len())).max_depth(limits.max_depth.saturating_sub(1))
}
