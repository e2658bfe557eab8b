//! A time limit.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A time limit, measured by a timer that the program provides.
pub(super) struct Limit {
    start: Box<dyn FnMut() -> Timer + Send>,
    timer: Option<Timer>,
    pub(super) is_over: bool,
}

impl Limit {
    pub(super) fn new<F: Future<Output = ()> + Send + 'static>(
        mut timer: impl FnMut() -> F + Send + 'static,
    ) -> Option<Self> {
        Some(Self { start: Box::new(move || Box::pin(timer())), timer: None, is_over: false })
    }

    /// Ready when the time is over. Starts the timer if it isn't running.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_over {
            ready!(self.timer.get_or_insert_with(&mut self.start).as_mut().poll(cx));
            self.is_over = true;
        }
        Poll::Ready(())
    }

    /// Stops the timer. The next poll starts a new one.
    pub(super) fn reset(&mut self) {
        self.timer = None;
    }
}

type Timer = Pin<Box<dyn Future<Output = ()> + Send>>;
