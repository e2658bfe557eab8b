//! Lines over a reader and a writer.

use std::fmt;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use wireline::aio::{Connection, ReadUntil, Tokio};
use wireline::connection::Config;
use wireline::{AnswerWithoutId, Rules};

use crate::incident::{self, Incident};
use crate::link::{Link, Report};
use crate::{Receiver, Sender};

/// A transport over any reader and writer.
///
/// ```
/// use jsonrpsee_core::client::{Client, ClientT};
/// use jsonrpsee_core::rpc_params;
/// use wireline_jsonrpsee::LineTransport;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
/// # let (stream, server) = tokio::io::duplex(1000);
/// # tokio::spawn(async move {
/// #     let mut server = BufReader::new(server);
/// #     server.read_line(&mut String::new()).await?;
/// #     server.write_all(b"starting up\n{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":3}\n").await
/// # });
/// # /*
/// let stream = tokio::net::UnixStream::connect("/run/my-server.sock").await?;
/// # */
/// let (reader, writer) = tokio::io::split(stream);
/// let (sender, receiver) = LineTransport::new(reader, writer).split();
/// let client = Client::builder().build_with_tokio(sender, receiver);
/// let sum: i64 = client.request("add", rpc_params![1, 2]).await?;
/// assert_eq!(sum, 3);
/// # Ok(())
/// # }
/// ```
///
/// For a client whose server has started it and talks to it over stdin and stdout, these are `tokio::io::stdin()` and
/// `tokio::io::stdout()`.
///
/// When the client is dropped, what has been sent is written, for up to three seconds, and then the writer is shut down.
pub struct LineTransport<R, W> {
    reader: R,
    writer: W,
    rules: Rules,
    on_incident: Report,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    /// A transport with [`Rules::json_rpc`], which limit a line to 16 MiB.
    pub fn new(reader: R, writer: W) -> Self {
        Self { reader, writer, rules: Rules::json_rpc(), on_incident: Box::new(incident::log) }
    }

    /// Sets the rules for both directions, for example another line limit.
    ///
    /// ```
    /// # use tokio::io::{empty, sink};
    /// use wireline_jsonrpsee::LineTransport;
    /// use wireline_jsonrpsee::wireline::Rules;
    ///
    /// let transport = LineTransport::new(empty(), sink()).rules(Rules::json_rpc().max_batch_len(10_000));
    /// # let _ = transport;
    /// ```
    ///
    /// A client never answers a line without an id, whatever the rules say, and accepts null params.
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Calls `report` for each [`Incident`], instead of logging it with [`tracing`].
    #[must_use]
    pub fn on_incident(mut self, report: impl FnMut(Incident<'_>) + Send + 'static) -> Self {
        self.on_incident = Box::new(report);
        self
    }

    /// The two halves, for [`build_with_tokio`](jsonrpsee_core::client::ClientBuilder::build_with_tokio).
    pub fn split(self) -> (Sender, Receiver<R>) {
        self.split_until(ReadUntil::end)
    }

    /// The two halves, with a reader that `until` may make end early.
    pub(crate) fn split_until(self, until: impl FnOnce(Tokio<R>) -> ReadUntil<Tokio<R>>) -> (Sender, Receiver<R>) {
        // Noise must not be answered, and a server that writes null params means none.
        let rules = self.rules.answer_without_id(AnswerWithoutId::Never).null_params(true);
        let writer: Box<dyn AsyncWrite + Unpin + Send> = Box::new(self.writer);
        // What a program has in flight is up to the program.
        let config = Config::new(rules).calls(usize::MAX);
        let (peer, connection) = Connection::keeping(until(Tokio(self.reader)), Tokio(writer), config);
        let link = Arc::new(Link::new(peer, self.on_incident));
        (Sender::new(Arc::clone(&link)), Receiver::new(connection, link))
    }
}

impl<R: fmt::Debug, W: fmt::Debug> fmt::Debug for LineTransport<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineTransport")
            .field("reader", &self.reader)
            .field("writer", &self.writer)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
