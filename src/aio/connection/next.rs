//! The future of the next event.

use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::aio::traits::{Source, Target};
use crate::connection::{Event, Lost};
use crate::message::Response;

use super::Connection;

/// Written by hand instead of with `async`, so that the event is built in place instead of moved.
pub(super) struct Next<'c, R, W, T, S, U> {
    /// `None` once it is ready.
    pub(super) connection: Option<&'c mut Connection<R, W, T>>,
    /// Whether to return `None` as soon as the incoming stream has ended.
    pub(super) is_incoming: bool,
    pub(super) settle: Option<S>,
    pub(super) made: PhantomData<fn() -> U>,
}

impl<R, W, T, S, U> Unpin for Next<'_, R, W, T, S, U> {}

impl<'c, R: Source, W: Target, T, S, U> Future for Next<'c, R, W, T, S, U>
where
    S: FnOnce(T, Result<&Response<'_>, &Lost>) -> U,
{
    type Output = io::Result<Option<Event<'c, U>>>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { connection: Some(connection), is_incoming, .. } = &mut *self else {
            return Poll::Ready(Err(io::Error::other("polled after it was ready")));
        };
        let is_event = match connection.poll_ready(cx) {
            Poll::Ready(ready) => ready?,
            Poll::Pending if *is_incoming && connection.core.is_drained() => false,
            Poll::Pending => return Poll::Pending,
        };
        match (self.connection.take(), self.settle.take()) {
            (Some(connection), Some(settle)) if is_event => Poll::Ready(Ok(connection.core.take_event(settle))),
            _ => Poll::Ready(Ok(None)),
        }
    }
}
