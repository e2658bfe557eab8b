//! The obligation to answer one request.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::BytesMut;
use serde::Serialize;

use crate::encode::{EncodeError, Encoder, RpcError};
use crate::message::Id;

use super::answer::Answer;
use super::owed::Wakes;
use super::share::Share;

/// Enough for most answers.
const USUAL_LEN: usize = 128;

/// The obligation to answer one request.
///
/// [`respond`](Self::respond) and [`fail`](Self::fail) turn it into an [`Answer`]. They always succeed: a result that
/// can't be encoded becomes an internal error. If a ticket is dropped, for example by a panic, its request is still
/// owed an answer; see [`Inbound::dropped`](super::Inbound::dropped).
///
/// A ticket can be answered only once:
///
/// ```compile_fail,E0382
/// # use wireline::{RpcError, ledger::Ticket};
/// fn twice(ticket: Ticket) {
///     let one = ticket.respond("one");
///     let two = ticket.fail(&RpcError::internal()); // the ticket is gone
/// }
/// ```
///
/// ```compile_fail,E0308
/// # use wireline::ledger::Ticket;
/// fn copy(ticket: &Ticket) -> Ticket {
///     ticket.clone() // there is only one
/// }
/// ```
///
/// It can't be answered inside an encoder, whose lines may be rolled back:
///
/// ```compile_fail,E0308
/// # use wireline::{io::FrameWriter, ledger::Ticket};
/// fn inside(writer: &FrameWriter<Vec<u8>>, ticket: Ticket) {
///     let sent = writer.send(|encoder| ticket.respond("done"));
/// }
/// ```
///
/// ```compile_fail,E0308
/// # use wireline::{Rules, ledger::Ticket, to_line};
/// fn as_a_line(ticket: Ticket) {
///     let line = to_line(&Rules::mcp(), |encoder| ticket.respond("done"));
/// }
/// ```
#[must_use = "a ticket that is dropped is answered with an internal error"]
pub struct Ticket {
    claim: Claim,
    body: Box<Body>,
}

/// The id of a request, and the line that answers it. Bodies are reused for other requests. They are boxed because
/// tickets and answers are moved a lot: stored inline, they took a third of the ledger's time per request.
pub(super) struct Body {
    pub(super) id: Id<'static>,
    /// Empty until there is an answer.
    pub(super) line: BytesMut,
}

impl Body {
    pub(super) fn new(id: Id<'static>, line: BytesMut) -> Box<Self> {
        Box::new(Self { id, line })
    }
}

impl Ticket {
    pub(super) fn new(claim: Claim, body: Box<Body>) -> Self {
        Self { claim, body }
    }

    /// The request's id, with its exact spelling, which the answer repeats.
    #[must_use]
    pub fn id(&self) -> &Id<'static> {
        &self.body.id
    }

    /// Whether work on the request can stop.
    ///
    /// Its caller has cancelled it, or it was [answered by somebody else](super::Inbound::answer_rest). This takes no
    /// lock, so you can call it often.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.claim.is_stopped()
    }

    /// Ready once the request [is cancelled](Self::is_cancelled). If several tasks poll, the last one is woken.
    pub fn poll_cancelled(&self, cx: &mut Context<'_>) -> Poll<()> {
        match &self.claim.owed {
            Some(owed) => owed.poll_stopped(self.claim.slot(), cx),
            None => Poll::Ready(()),
        }
    }

    /// Waits until the request [is cancelled](Self::is_cancelled), on any runtime.
    pub async fn cancelled(&self) {
        poll_fn(|cx| self.poll_cancelled(cx)).await;
    }

    /// Answers with a result.
    ///
    /// If that can't be encoded or the rules don't permit it, the answer is an internal error, and
    /// [`Answer::instead_of`] says why.
    pub fn respond(self, result: &(impl Serialize + ?Sized)) -> Answer {
        self.answer(|encoder, id| encoder.response(id, result))
    }

    /// Answers with an error.
    ///
    /// If that can't be encoded, the answer is an internal error, and [`Answer::instead_of`] says why.
    pub fn fail(self, error: &RpcError) -> Answer {
        self.answer(|encoder, id| encoder.error(id, error))
    }

    /// An empty answer, for measuring the ledger without the encoder.
    #[cfg(feature = "__kernels")]
    #[doc(hidden)]
    #[inline]
    pub fn answer_without_encoding(self) -> Answer {
        Answer::new(self.body, self.claim)
    }

    #[inline]
    fn answer(
        self,
        encode: impl FnOnce(&mut Encoder<&mut BytesMut>, &Id<'static>) -> Result<(), EncodeError>,
    ) -> Answer {
        let Self { claim, mut body } = self;
        let rules = match &claim.owed {
            Some(owed) if !owed.is_unwanted(claim.slot()) => owed.rules,
            _ => return Answer::new(body, claim),
        };
        let Body { id, line } = &mut *body;
        line.reserve(USUAL_LEN);
        let mut encoder = Encoder::append_to(line, rules);
        // If a payload panics, the claim is dropped, and the request is still owed an answer.
        let encoded = encode(&mut encoder, id);
        let Err(reason) = encoded else { return Answer::new(body, claim) };
        // Under these rules, this error fits for every admitted id.
        let replaced = encoder.error(&*id, &RpcError::internal());
        debug_assert!(replaced.is_ok(), "{replaced:?}");
        Answer::new(body, claim).instead(reason)
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("id", &self.body.id).finish_non_exhaustive()
    }
}

/// A holder of a request, which either settles it or leaves it to the queue of dropped requests.
pub(super) struct Claim {
    /// `None` once it is settled.
    owed: Option<Arc<Share>>,
    slot: Slot,
}

/// The slot of a request, and [`KNOWN`]. One word, because a claim is moved right after it is created, and reading back
/// parts that were stored separately would stall the CPU.
type Slot = u64;

/// The request was in the queue before. Nobody is woken when it is queued again, so a writer that can't send what is in
/// the queue doesn't keep waking itself.
const KNOWN: Slot = 1 << 32;

impl Claim {
    #[inline]
    pub(super) fn new(owed: &Arc<Share>, slot: u32, is_known: bool) -> Self {
        let known = if is_known { KNOWN } else { 0 };
        Self { owed: Some(Arc::clone(owed)), slot: u64::from(slot) | known }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the rest is `KNOWN`")]
    fn slot(&self) -> u32 {
        self.slot as u32
    }

    #[inline]
    fn is_stopped(&self) -> bool {
        self.owed.as_ref().is_none_or(|owed| owed.is_stopped(self.slot()))
    }

    /// Settles the request, and returns the body for reuse. Returns whether to send the answer.
    #[inline(always)]
    pub(super) fn settle(mut self, body: Box<Body>, wakes: &mut Wakes) -> bool {
        let Some(owed) = self.owed.take() else { return false };
        let is_wanted = owed.settle(self.slot(), wakes);
        owed.spares.keep(body);
        wakes.keep(owed);
        is_wanted
    }
}

impl Drop for Claim {
    #[inline]
    fn drop(&mut self) {
        if let Some(owed) = self.owed.take() {
            owed.abandon(self.slot(), self.slot & KNOWN != 0);
        }
    }
}
