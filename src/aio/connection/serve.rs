//! Serves requests with concurrent handlers, until the stream ends or a shutdown.

use std::collections::VecDeque;
use std::future::{Future, pending, poll_fn};
use std::io;
use std::mem;
use std::pin::pin;
use std::task::Poll;

use serde::Serialize;

use crate::aio::handlers::Handlers;
use crate::aio::traits::{Source, Target};
use crate::connection::{Call, Caller, Event, Incident, Report, Ticket, handler, most_notifications};
use crate::encode::RpcError;

use super::Connection;

impl<R: Source, W: Target> Connection<R, W> {
    /// Answers requests with what `handler` returns, many at a time, until the stream has ended and everything is
    /// answered and written.
    ///
    /// `handler` is also called for notifications; its return value is then dropped. If it panics, its request is
    /// answered with an internal error. If its request is cancelled, its future is dropped. A time limit belongs in the
    /// handler, for example as tokio's `timeout`.
    ///
    /// Handlers run in this task: they needn't be `Send` or `'static`, but one that blocks delays all others. While
    /// 1024 notifications are being handled or wait for a handler, nothing more is read.
    ///
    /// # Errors
    ///
    /// As for [`next`](Self::next).
    pub async fn serve<H, F, T>(self, handler: H) -> io::Result<()>
    where
        H: FnMut(Call<'static>) -> F,
        F: Future<Output = Result<T, RpcError>>,
        T: Serialize,
    {
        self.serve_until(pending(), pending, handler).await
    }

    /// Answers requests as [`serve`](Self::serve) does, until `shutdown` is ready.
    ///
    /// From then on, further requests are refused, and requests in flight have a grace period: until the future that
    /// `grace` returns is ready. After it, the remaining requests are answered with an error, and all handlers are
    /// dropped. Once everything is answered, the outgoing stream is closed, and the connection ends when the peer
    /// closes its side, or at the end of the grace period. `grace` also limits how long handlers may take after the
    /// incoming stream has ended.
    ///
    /// ```no_run
    /// # #[cfg(feature = "tokio")]
    /// # async fn example<R: wireline::aio::Source, W: wireline::aio::Target>(
    /// #     connection: wireline::aio::Connection<R, W>, signal: impl Future<Output = ()>,
    /// # ) -> std::io::Result<()> {
    /// # use wireline::RpcError;
    /// use std::time::Duration;
    ///
    /// let grace = || tokio::time::sleep(Duration::from_secs(5));
    /// connection.serve_until(signal, grace, async |_| Err::<(), _>(RpcError::method_not_found())).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`next`](Self::next).
    pub async fn serve_until<H, F, T, G>(
        mut self,
        shutdown: impl Future<Output = ()>,
        grace: impl FnOnce() -> G,
        mut handler: H,
    ) -> io::Result<()>
    where
        H: FnMut(Call<'static>) -> F,
        F: Future<Output = Result<T, RpcError>>,
        T: Serialize,
        G: Future<Output = ()>,
    {
        let peer = self.peer();
        let mut report = mem::replace(&mut self.report, Box::new(|_| {}));
        let mut handlers: Handlers<F> = Handlers::new();
        let mut waiting: VecDeque<(Call<'static>, Option<Ticket>)> = VecDeque::new();
        let mut shutdown = pin!(shutdown);
        let (mut begin_grace, mut in_grace) = (Some(grace), pin!(None::<G>));
        // Closed for requests; closed for writing; out of time.
        let (mut is_closing, mut is_leaving, mut is_over) = (false, false, false);
        poll_fn(|cx| {
            handlers.register(cx);
            loop {
                if handlers.are_woken() {
                    self.core.link().forget_writer();
                    handlers.poll(&mut report);
                }
                while handlers.len() < self.concurrency
                    && let Some((call, ticket)) = waiting.pop_front()
                {
                    start(&mut handlers, &mut handler, call, ticket, &mut report);
                }
                if !is_closing && (self.core.has_ended() || shutdown.as_mut().poll(cx).is_ready()) {
                    is_closing = true;
                    if !self.core.has_ended() {
                        peer.close();
                    }
                    in_grace.as_mut().set(begin_grace.take().map(|begin| begin()));
                }
                if let Some(ended) = in_grace.as_mut().as_pin_mut()
                    && ended.poll(cx).is_ready()
                {
                    in_grace.as_mut().set(None);
                    is_over = true;
                    peer.abort(&RpcError::shutting_down());
                    waiting.clear();
                    handlers.clear(&mut report);
                }
                if self.has_too_many(handlers.len() + waiting.len()) {
                    // A handler wakes this task when it ends or sends something.
                    let _ = self.poll_write(cx);
                    if self.write_error.is_some() && self.poll_last_response(cx).is_ready() {
                        return Poll::Ready(self.write_error.take().map_or(Ok(()), Err));
                    }
                    return Poll::Pending;
                }
                let (call, ticket) = match self.poll_ready(cx) {
                    Poll::Ready(Err(_)) if is_leaving => return Poll::Ready(Ok(())),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Ready(Ok(true)) => match self.core.take_event(Caller::deliver) {
                        Some(Event::Request(request, ticket)) => (Call::request(request, &peer), Some(ticket)),
                        Some(Event::Notification(notification)) if !is_over && !is_leaving => {
                            (Call::notification(notification, &peer), None)
                        }
                        Some(Event::Fault(fault)) => {
                            report(Incident::Fault(&fault));
                            continue;
                        }
                        _ => continue,
                    },
                    Poll::Ready(Ok(false)) if handlers.len() == 0 => return Poll::Ready(Ok(())),
                    // The stream has just ended: loop to begin the grace period.
                    _ if !is_closing && self.core.has_ended() => continue,
                    // The peer may keep sending after a shutdown. Its messages are read and dropped, because closing a
                    // socket with unread input would discard answers that the peer hasn't read yet.
                    Poll::Pending if is_leaving && is_over && self.target.is_none() => return Poll::Ready(Ok(())),
                    Poll::Pending
                        if is_closing
                            && !is_leaving
                            && handlers.len() == 0
                            && waiting.is_empty()
                            && self.is_settled() =>
                    {
                        is_leaving = true;
                        self.core.link().end();
                        continue;
                    }
                    _ => return Poll::Pending,
                };
                match handlers.len() < self.concurrency && waiting.is_empty() {
                    true => start(&mut handlers, &mut handler, call, ticket, &mut report),
                    false => waiting.push_back((call, ticket)),
                }
            }
        })
        .await
    }

    /// Whether too many notifications are being handled, or wait for a handler, to read more.
    #[inline]
    fn has_too_many(&self, calls: usize) -> bool {
        calls >= most_notifications(false)
            && calls.saturating_sub(self.core.in_flight()) >= most_notifications(self.core.handlers_may_wait())
    }

    /// Whether every request taken so far is answered and everything is written. Unread lines don't count.
    fn is_settled(&self) -> bool {
        !self.core.is_in_batch() && self.core.in_flight() == 0 && !self.core.wants_write() && !self.is_dirty
    }
}

/// Calls a handler and runs its future. If the call panics, the ticket is dropped, which answers.
fn start<H, F, T>(
    handlers: &mut Handlers<F>,
    handler: &mut H,
    call: Call<'static>,
    ticket: Option<Ticket>,
    report: &mut Report,
) where
    H: FnMut(Call<'static>) -> F,
    F: Future<Output = Result<T, RpcError>>,
    T: Serialize,
{
    // The request was cancelled while it waited.
    if ticket.as_ref().is_some_and(Ticket::is_cancelled) {
        return;
    }
    let id = ticket.as_ref().map(Ticket::id);
    if let Some(future) = handler::catch(id, report, || handler(call)) {
        handlers.add(future, ticket, report);
    }
}
