//! What the SDK has been given and hasn't taken yet.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::{fmt, future::Future, io};

use agent_client_protocol::{RawJsonRpcMessage, TransportFrame};
use futures::channel::mpsc::UnboundedSender;
use futures_timer::Delay;
use wireline::aio::Source;

/// How many bytes of lines may be given to the SDK before it has to catch up.
const ROOM: usize = 1 << 20;

/// How long to wait before looking again whether the SDK has caught up. Its queue doesn't say when.
const PAUSE: Duration = Duration::from_millis(1);

/// The SDK's queue of incoming messages. It has no limit of its own, so nothing is read while it holds too much.
pub(crate) struct Inbox {
    queue: UnboundedSender<TransportFrame>,
    /// How many bytes of lines were given to the SDK since its queue was last found empty.
    given: AtomicUsize,
}

impl Inbox {
    pub(crate) fn new(queue: UnboundedSender<TransportFrame>) -> Self {
        Self { queue, given: AtomicUsize::new(0) }
    }

    /// Gives the SDK a message from a line of this length. Does nothing if the SDK listens no more.
    pub(crate) fn push(&self, message: RawJsonRpcMessage, len: usize) {
        self.given.fetch_add(len, Ordering::Relaxed);
        let _ = self.queue.unbounded_send(TransportFrame::Single(message));
    }

    /// Tells the SDK that nothing more will come.
    pub(crate) fn close(&self) {
        self.queue.close_channel();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn is_full(&self) -> bool {
        if self.queue.is_empty() || self.is_closed() {
            self.given.store(0, Ordering::Relaxed);
        }
        self.given.load(Ordering::Relaxed) > ROOM
    }
}

/// A source that isn't read while the SDK has too much to do.
pub(crate) struct Gate<S> {
    source: S,
    inbox: Arc<Inbox>,
    pause: Option<Delay>,
}

impl<S> Gate<S> {
    pub(crate) fn new(source: S, inbox: Arc<Inbox>) -> Self {
        Self { source, inbox, pause: None }
    }
}

impl<S: Source> Source for Gate<S> {
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        while self.inbox.is_full() {
            ready!(Pin::new(self.pause.get_or_insert_with(|| Delay::new(PAUSE))).poll(cx));
            self.pause = None;
        }
        self.source.poll_read(cx, room)
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("given", &self.given).finish_non_exhaustive()
    }
}
