//! The half that receives.

use std::fmt;
use std::io;
use std::sync::Arc;

use jsonrpsee_core::client::{ReceivedMessage, TransportReceiverT};
use tokio::io::AsyncRead;
use wireline::Line;
use wireline::aio::{FrameReader, LineSender, Tokio};

use crate::Disconnected;
#[cfg(feature = "child-process")]
use crate::child_process::Exit;
use crate::link::Link;

type Leave<R> = Box<dyn FnOnce(FrameReader<Tokio<R>>) + Send>;

/// Receives what a server says, as far as it makes sense for a client.
pub struct Receiver<R> {
    /// Until it is dropped.
    frames: Option<FrameReader<Tokio<R>>>,
    lines: LineSender,
    link: Arc<Link>,
    /// An answer to the server that hasn't been sent yet.
    reply: Option<Line>,
    /// Takes the reader in the end.
    leave: Option<Leave<R>>,
    #[cfg(feature = "child-process")]
    exit: Option<Exit>,
}

impl<R> Receiver<R> {
    pub(crate) fn new(frames: FrameReader<Tokio<R>>, lines: LineSender, link: Arc<Link>) -> Self {
        Self {
            frames: Some(frames),
            lines,
            link,
            reply: None,
            leave: None,
            #[cfg(feature = "child-process")]
            exit: None,
        }
    }

    /// Leaves the reader to `leave` in the end, and knows how the server exits.
    #[cfg(feature = "child-process")]
    pub(crate) fn of_child(&mut self, leave: Leave<R>, exit: Exit) -> Arc<Link> {
        (self.leave, self.exit) = (Some(leave), Some(exit));
        Arc::clone(&self.link)
    }

    async fn end_of_stream(&mut self) -> Disconnected {
        #[cfg(feature = "child-process")]
        if let Some(exit) = &mut self.exit
            && let Some(status) = exit.soon().await
        {
            return Disconnected::Exited(status);
        }
        Disconnected::Closed
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> TransportReceiverT for Receiver<R> {
    type Error = Disconnected;

    /// Nothing is lost if the future is dropped before it is done.
    async fn receive(&mut self) -> Result<ReceivedMessage, Disconnected> {
        let ended = loop {
            if let Some(line) = &self.reply {
                // If this fails, so does everything else that is sent, and that is reported.
                let _ = self.lines.send_line(line).await;
                self.reply = None;
            }
            if let Some(message) = self.link.next_ready() {
                return Ok(message);
            }
            let Some(frames) = &mut self.frames else { break Disconnected::Closed };
            tokio::select! {
                biased;
                () = self.link.news() => {}
                frame = frames.next_frame() => match frame {
                    Ok(Some(frame)) => self.reply = self.link.accept(frame),
                    Ok(None) => break self.end_of_stream().await,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => break Disconnected::Read(error),
                },
                error = self.link.write_failure() => break Disconnected::Write(error),
            }
        };
        self.link.end();
        Err(ended)
    }
}

impl<R> Drop for Receiver<R> {
    fn drop(&mut self) {
        self.link.end();
        if let (Some(frames), Some(leave)) = (self.frames.take(), self.leave.take()) {
            leave(frames);
        }
    }
}

impl<R> fmt::Debug for Receiver<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("frames", &self.frames).finish_non_exhaustive()
    }
}
