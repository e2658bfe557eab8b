//! The half that sends.

use std::convert::Infallible;
use std::sync::Arc;

use jsonrpsee_core::client::{ReceivedMessage, TransportSenderT};

use crate::link::Link;

/// Sends what a client says, one line at a time.
///
/// Sending never fails. jsonrpsee would end the client, and the first to be told might not be told why. A message that
/// breaks the rules is answered with an error, and when the connection has ended, the [`Receiver`](crate::Receiver) says
/// so.
///
/// There are no pings on a stream of lines. If they are enabled all the same, each counts as answered while the stream is
/// open.
#[derive(Debug)]
pub struct Sender {
    link: Arc<Link>,
}

impl Sender {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        Self { link }
    }
}

impl TransportSenderT for Sender {
    type Error = Infallible;

    async fn send(&mut self, text: String) -> Result<(), Infallible> {
        let Some(sending) = self.link.send(&text) else { return Ok(()) };
        let send = async {
            if sending.await.is_err() {
                // The receiver may still get answers, and then says why it is over.
                self.link.ended().await;
            }
        };
        // A server that doesn't read must not keep the client from ending.
        tokio::select! {
            () = send => {}
            () = self.link.ended() => {}
        }
        Ok(())
    }

    async fn send_ping(&mut self) -> Result<(), Infallible> {
        self.link.deliver(ReceivedMessage::Pong);
        Ok(())
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.link.end_sending();
    }
}
