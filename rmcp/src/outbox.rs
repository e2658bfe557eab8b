//! The writer that concurrent sends share.

use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::bytes::BytesMut;
use wireline::{EncodeError, Encoder, Rules};

/// Room for a usual message, so that a buffer need not grow step by step.
const USUAL: usize = 512;

/// A buffer that grew beyond this is freed once it has been written.
const KEPT: usize = 64 << 10;

/// Whole lines to a writer, in two steps: [`append`](Self::append) encodes a line, [`flush`](Self::flush) writes all
/// that have been encoded. Clones share the writer and its buffers.
///
/// A flush may be dropped at any await point without tearing a line: the unwritten bytes stay here, and the next flush
/// continues with them. The writer's lock is held by a running flush only, so a dropped one blocks nobody.
pub(crate) struct Outbox<W> {
    rules: Rules,
    shared: Arc<Shared<W>>,
}

struct Shared<W> {
    /// Lines that no flush has picked up yet.
    lines: Mutex<BytesMut>,
    writer: tokio::sync::Mutex<Writer<W>>,
}

struct Writer<W> {
    /// `None` once closed.
    writer: Option<W>,
    /// What a flush picked up and has not written: the rest of a line and whole lines after it, or nothing.
    rest: BytesMut,
}

impl<W> Outbox<W> {
    pub(crate) fn new(writer: W, rules: Rules) -> Self {
        let writer = tokio::sync::Mutex::new(Writer { writer: Some(writer), rest: BytesMut::new() });
        Self { rules, shared: Arc::new(Shared { lines: Mutex::default(), writer }) }
    }

    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }

    /// Checks lines from here on against `rules`; lines of existing clones are not affected.
    pub(crate) fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// Appends the line that `write` encodes, or nothing.
    ///
    /// The lock is taken only for copying the line, because a message may take long to serialize.
    pub(crate) fn append(
        &self,
        write: impl FnOnce(&mut Encoder<&mut BytesMut>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let mut line = BytesMut::with_capacity(USUAL);
        write(&mut Encoder::append_to(&mut line, self.rules))?;
        self.shared.lines().extend_from_slice(&line);
        Ok(())
    }
}

impl<W: AsyncWrite + Unpin> Outbox<W> {
    /// Writes all lines appended so far.
    pub(crate) async fn flush(&self) -> io::Result<()> {
        let mut guard = self.shared.writer.lock().await;
        let Writer { writer, rest } = &mut *guard;
        let writer =
            writer.as_mut().ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, "transport is closed"))?;
        loop {
            // Removes from `rest` exactly what was written, even when it is dropped halfway.
            writer.write_all_buf(rest).await?;
            if rest.capacity() > KEPT {
                *rest = BytesMut::new();
            }
            mem::swap(rest, &mut *self.shared.lines());
            if rest.is_empty() {
                return writer.flush().await;
            }
        }
    }

    /// Writes what is left and shuts the writer down.
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
        // Nothing panics while a line is half appended.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> Clone for Outbox<W> {
    fn clone(&self) -> Self {
        Self { rules: self.rules, shared: Arc::clone(&self.shared) }
    }
}
