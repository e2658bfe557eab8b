//! The writer, shared by all that send.

use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::bytes::BytesMut;
use wireline::{EncodeError, Encoder, Rules};

/// Whole lines to a writer, in two steps: [`append`](Self::append) encodes a line at once, and [`flush`](Self::flush)
/// writes out all there are. Clones share both.
///
/// A flush may be dropped at any point, as rmcp drops some, and tears no line: what has not been written stays here, and
/// the next flush goes on with it. None of them is waited for by another unless it is running, because a lock is held
/// only as long as the future is alive.
pub(crate) struct Outbox<W> {
    shared: Arc<Shared<W>>,
}

struct Shared<W> {
    rules: Rules,
    /// What has been encoded and not been taken to be written.
    lines: Mutex<BytesMut>,
    writer: tokio::sync::Mutex<Writer<W>>,
}

struct Writer<W> {
    /// `None` once closed.
    writer: Option<W>,
    /// What has been taken and not been written: the rest of a line and whole lines after it, or nothing.
    rest: BytesMut,
}

impl<W> Outbox<W> {
    pub(crate) fn new(writer: W, rules: Rules) -> Self {
        let writer = tokio::sync::Mutex::new(Writer { writer: Some(writer), rest: BytesMut::new() });
        Self { shared: Arc::new(Shared { rules, lines: Mutex::default(), writer }) }
    }

    /// Appends the line that `write` encodes, or nothing.
    pub(crate) fn append(
        &self,
        write: impl FnOnce(&mut Encoder<&mut BytesMut>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        write(&mut Encoder::append_to(&mut self.shared.lines(), self.shared.rules))
    }
}

impl<W: AsyncWrite + Unpin> Outbox<W> {
    /// Writes out all lines.
    pub(crate) async fn flush(&self) -> io::Result<()> {
        let mut guard = self.shared.writer.lock().await;
        let Writer { writer, rest } = &mut *guard;
        let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        loop {
            // Dropped in the middle of this, what was written is gone from `rest`, and nothing else is.
            writer.write_all_buf(rest).await?;
            *rest = mem::take(&mut *self.shared.lines());
            if rest.is_empty() {
                return writer.flush().await;
            }
        }
    }

    /// Writes out what is left, and tells the peer that there is no more.
    pub(crate) async fn close(&self) -> io::Result<()> {
        let flushed = self.flush().await;
        match self.shared.writer.lock().await.writer.take() {
            Some(mut writer) => flushed.and(writer.shutdown().await),
            None => Ok(()),
        }
    }
}

impl<W> Shared<W> {
    fn lines(&self) -> MutexGuard<'_, BytesMut> {
        // An encoder that panics leaves its buffer as it was.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> Clone for Outbox<W> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}
