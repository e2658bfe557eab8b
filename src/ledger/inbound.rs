//! The side that receives requests.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use bytes::BytesMut;

use crate::decode::Reply;
use crate::encode::{Encoder, RpcError};
use crate::message::message::HasEnvelope;
use crate::message::{Id, Kind, Request, Rules, code, envelope};

use super::Refusal;
use super::answer::Answer;
use super::owed::{ANYBODY, Owed, Waiter};
use super::share::Shares;
use super::ticket::{Body, Claim, Ticket};

/// The requests that were received and must be answered.
///
/// [`admit`](Self::admit) returns a [`Ticket`] for a request, the ticket becomes an [`Answer`], and the request is
/// settled when a writer accepts that. Until then it is in flight. Clones share one ledger, for threads and tasks.
///
/// ```
/// use wireline::ledger::{Inbound, Refusal};
/// use wireline::{Frame, Message, Rules};
///
/// let rules = Rules::json_rpc();
/// let owed = Inbound::new(rules, 100);
/// let line = br#"{"jsonrpc":"2.0","id":1,"method":"work"}"#;
/// let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &rules) else { panic!() };
///
/// let Ok(ticket) = owed.admit(&request) else { panic!() };
/// // The same id again, before it is answered, is refused with an answer that says so.
/// let refused = owed.admit(&request).unwrap_err();
/// assert_eq!(refused.refusal(), Some(Refusal::Duplicate));
/// assert!(refused.accept().starts_with(br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"#));
///
/// // The handler returns early and drops the ticket. The request is still in flight, and is answered here.
/// drop(ticket);
/// assert_eq!(owed.in_flight(), 1);
/// for answer in owed.dropped() {
///     assert!(answer.accept().ends_with(b"{\"code\":-32603,\"message\":\"Internal error\"}}\n"));
/// }
/// assert_eq!(owed.in_flight(), 0);
/// ```
///
/// # What it can't promise
///
/// - An accepted answer can still get lost if the connection breaks.
/// - The ledger doesn't track refused requests, so dropping the answer to one loses it.
/// - Nothing stops a program from writing a second response with an [`Encoder`] and a ticket's [`id`](Ticket::id).
#[derive(Clone)]
pub struct Inbound {
    owed: Arc<Shares>,
}

impl Inbound {
    /// A ledger for requests under `rules`, with at most `limit` in flight.
    ///
    /// Answers are encoded under these rules too, except that they may always be 128 bytes long and 3 levels deep, so
    /// that there is room for an error.
    #[must_use]
    pub fn new(rules: Rules, limit: usize) -> Self {
        Self::with_wake(rules, limit, || {})
    }

    /// A ledger that calls `wake` whenever a ticket or an answer is dropped whose request is still owed an answer.
    ///
    /// Answers from [`dropped`](Self::dropped) and [`answer_rest`](Self::answer_rest) are an exception: a writer that can't
    /// send them would keep waking itself.
    ///
    /// The writing thread or task can then send the [answers still owed](Self::dropped). `wake` runs on the thread that
    /// drops the ticket. It should only send a signal, since it may be called during a panic, or while that thread
    /// holds locks.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use wireline::ledger::Inbound;
    /// use wireline::{Frame, Message, Rules};
    ///
    /// let (signal, signals) = channel();
    /// let owed = Inbound::with_wake(Rules::mcp(), 100, move || drop(signal.send(())));
    /// let line = br#"{"jsonrpc":"2.0","id":1,"method":"work"}"#;
    /// let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &Rules::mcp()) else { panic!() };
    /// let Ok(ticket) = owed.admit(&request) else { panic!() };
    ///
    /// let worker = std::thread::spawn(move || { let _ticket = ticket; panic!("out of luck") });
    /// assert!(worker.join().is_err());
    /// assert!(signals.try_recv().is_ok());
    /// assert_eq!(owed.dropped().count(), 1);
    /// ```
    #[must_use]
    pub fn with_wake(rules: Rules, limit: usize, wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { owed: Arc::new(Shares::new(Owed::new(rules, limit, Box::new(wake)))) }
    }

    /// Admits a request, which is then in flight.
    ///
    /// # Errors
    ///
    /// The request is refused; see [`Refusal`]. Its caller still expects an answer. The error is that answer, which
    /// says why the request was refused: send it like any other.
    #[inline(always)]
    pub fn admit(&self, request: &Request<'_>) -> Result<Ticket, Answer> {
        let id = request.id().shareable();
        match self.enter(request, &id) {
            Ok(slot) => {
                let mut body = self.owed.spares.take();
                id.copy_to(&mut body.id);
                Ok(Ticket::new(Claim::new(self.owed.own(), slot, false), body))
            }
            Err(refusal) => Err(self.refuse(request.id(), refusal)),
        }
    }

    #[inline(always)]
    fn enter(&self, request: &Request<'_>, id: &Id<'_>) -> Result<u32, Refusal> {
        let rules = &self.owed.rules;
        let (_, envelope) = request.text_and_envelope();
        // Nearly always it has passed the same rules.
        if id.as_json().len() > rules.longest_id()
            || !rules.standard().covers(envelope.passed)
                && envelope::check_id(id.as_json(), Kind::Request, rules).is_err()
        {
            return Err(Refusal::InvalidId);
        }
        self.owed.enter(id)
    }

    #[cold]
    fn refuse(&self, id: &Id<'_>, refusal: Refusal) -> Answer {
        let mut line = BytesMut::new();
        let mut encoder = Encoder::append_to(&mut line, self.owed.rules);
        let encoded = encoder.error(id, &refusal.error()).or_else(|_| encoder.error(id, &RpcError::internal()));
        if encoded.is_err() {
            // These rules don't permit the id, so the only possible answer is one without it, as to a bad line.
            let _ = encoder.error(&Id::NULL, &refusal.error());
        }
        Answer::without_duty(line, Some(refusal))
    }

    /// The answer to a faulty line. Send it like any other.
    ///
    /// ```
    /// use wireline::ledger::Inbound;
    /// use wireline::{Frame, Rules};
    ///
    /// let owed = Inbound::new(Rules::json_rpc(), 100);
    /// let fault = Frame::parse(br#"{"jsonrpc":"2.0","id":7,"method":1}"#, &Rules::json_rpc()).unwrap_err();
    /// let answer = owed.reply(&fault.reply().unwrap());
    /// assert!(answer.accept().starts_with(br#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"#));
    /// ```
    pub fn reply(&self, reply: &Reply<'_>) -> Answer {
        let mut line = BytesMut::new();
        append_reply(&mut line, reply);
        Answer::without_duty(line, None)
    }

    /// Joins the answers to a batch in one array.
    ///
    /// The result has several lines if one array would exceed the limits, if the rules don't permit batches, or if an
    /// answer is itself a batch.
    pub fn batch(&self, answers: impl IntoIterator<Item = Answer>) -> Answer {
        Answer::batch(answers, self.owed.rules)
    }

    /// Marks a request as cancelled by its caller. Returns false if it isn't in flight.
    ///
    /// Under MCP rules, a cancelled request is no longer answered. Under other rules, its ticket's answer is still
    /// sent; if the ticket is dropped, the answer is the error -32800, "Request cancelled".
    ///
    /// ```
    /// use wireline::ledger::Inbound;
    /// use wireline::{Frame, Id, Message, Rules};
    ///
    /// let owed = Inbound::new(Rules::mcp(), 100);
    /// let line = br#"{"jsonrpc":"2.0","id":1,"method":"work"}"#;
    /// let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &Rules::mcp()) else { panic!() };
    /// let Ok(ticket) = owed.admit(&request) else { panic!() };
    ///
    /// assert!(owed.cancel(&Id::from(1)));
    /// assert!(ticket.is_cancelled()); // time to stop working on it
    /// assert!(ticket.respond(&serde_json::json!({})).accept().is_empty());
    /// ```
    pub fn cancel(&self, id: &Id<'_>) -> bool {
        self.owed.cancel(id)
    }

    /// The answers still owed because a ticket or an answer was dropped, the oldest first.
    ///
    /// They are internal errors, or "Request cancelled" for cancelled requests. An answer that is dropped again is owed
    /// again, and usually returned by the next call. A loop over them ends even if none can be sent.
    ///
    /// ```
    /// use wireline::io::{FrameWriter, Unsent};
    /// use wireline::ledger::Inbound;
    ///
    /// fn send_dropped(owed: &Inbound, writer: &FrameWriter<Vec<u8>>) -> Result<(), Unsent> {
    ///     for answer in owed.dropped() {
    ///         let _ = writer.answer(answer)?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn dropped(&self) -> impl Iterator<Item = Answer> {
        (0..self.owed.dropped_len()).map_while(|_| {
            let (slot, id, cancelled) = self.owed.take_dropped()?;
            let error = match cancelled {
                true => RpcError::new(code::REQUEST_CANCELLED, "Request cancelled"),
                false => RpcError::internal(),
            };
            Some(Ticket::new(Claim::new(self.owed.own(), slot, true), Body::new(id, BytesMut::new())).fail(&error))
        })
    }

    /// The number of requests in flight: admitted, and not yet settled by an accepted answer.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.owed.in_flight()
    }

    /// Refuses all requests from now on. Those in flight can still be answered.
    ///
    /// To shut down gracefully, close the ledger, [wait](Self::wait_idle) until the requests in flight have been
    /// answered, and at the deadline [answer the rest](Self::answer_rest).
    ///
    /// ```
    /// use std::time::Duration;
    /// use wireline::ledger::Inbound;
    /// use wireline::{Frame, Message, RpcError, Rules};
    ///
    /// let owed = Inbound::new(Rules::json_rpc(), 100);
    /// let line = br#"{"jsonrpc":"2.0","id":1,"method":"sleep"}"#;
    /// let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &Rules::json_rpc()) else { panic!() };
    /// let Ok(ticket) = owed.admit(&request) else { panic!() };
    ///
    /// owed.close();
    /// assert!(owed.admit(&request).is_err());
    /// if !owed.wait_idle(Duration::from_millis(10)) {
    ///     for answer in owed.answer_rest(&RpcError::new(-32000, "the server is shutting down")) {
    ///         assert!(answer.accept().starts_with(br#"{"jsonrpc":"2.0","id":1,"error":"#));
    ///     }
    /// }
    /// assert_eq!(owed.in_flight(), 0);
    /// assert!(ticket.is_cancelled());
    /// assert!(ticket.respond("too late").accept().is_empty());
    /// ```
    pub fn close(&self) {
        self.owed.close();
    }

    /// Whether the ledger was [closed](Self::close).
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.owed.is_closed()
    }

    /// Answers every request in flight with `error`, even while somebody else holds its ticket.
    ///
    /// A request is still answered only once: whichever answer is accepted second is empty. The ticket of a request
    /// that was answered this way counts as [cancelled](Ticket::is_cancelled).
    #[must_use = "answers that are dropped aren't sent"]
    pub fn answer_rest(&self, error: &RpcError) -> Vec<Answer> {
        let held = self.owed.hold_all().into_iter();
        let tickets: Vec<_> = held
            .map(|(slot, id)| Ticket::new(Claim::new(self.owed.own(), slot, true), Body::new(id, BytesMut::new())))
            .collect();
        tickets.into_iter().map(|ticket| ticket.fail(error)).collect()
    }

    /// Ready when no request is in flight.
    ///
    /// A request whose ticket was [dropped](Self::dropped) is in flight until its answer has been accepted.
    pub fn poll_idle(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.owed.poll_idle(ANYBODY, cx)
    }

    /// Waits until no request is in flight, on any runtime; see [`poll_idle`](Self::poll_idle).
    pub async fn idle(&self) {
        let waiting = Waiting::new(&self.owed);
        poll_fn(|cx| waiting.poll(cx)).await;
    }

    /// Blocks until no request is in flight, or `timeout` has passed. Returns whether none is in flight.
    #[must_use = "the timeout may have passed"]
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        struct Unpark(Thread);

        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }

        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let waiting = Waiting::new(&self.owed);
        let start = Instant::now();
        while waiting.poll(&mut Context::from_waker(&waker)).is_pending() {
            match timeout.checked_sub(start.elapsed()) {
                Some(left) if !left.is_zero() => thread::park_timeout(left),
                _ => return false,
            }
        }
        true
    }
}

/// A waiter for the last answer. Dropping it removes its waker.
struct Waiting<'o> {
    owed: &'o Owed,
    waiter: Waiter,
}

impl<'o> Waiting<'o> {
    fn new(owed: &'o Owed) -> Self {
        Self { owed, waiter: owed.new_waiter() }
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.owed.poll_idle(self.waiter, cx)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.owed.forget_idle(self.waiter);
    }
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbound").field("in_flight", &self.in_flight()).field("limit", &self.owed.limit).finish()
    }
}

/// Appends the reply to a faulty line, without the position of the fault if there is no room for it.
pub(crate) fn append_reply(out: &mut BytesMut, reply: &Reply<'_>) {
    // The rules that the line broke determine the form of the reply.
    let rules = reply.fault().rules().for_answers();
    // Null always fits, however short ids must be.
    let rules = rules.max_id_len(rules.limits().max_id_len.max("null".len()));
    let mut encoder = Encoder::append_to(out, rules);
    let id = reply.id();
    let short = || RpcError::new(reply.code(), reply.message());
    let encoded = encoder.error_reply(reply).or_else(|_| encoder.error(id.as_ref(), &short()));
    debug_assert!(encoded.is_ok(), "no room for an answer: {encoded:?}");
}
