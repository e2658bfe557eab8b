//! A peer that says what it likes, and sees what comes of it.

use std::io;

use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, ServiceExt};
use serde_json::json;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex,
    split,
};
use wireline::Rules;

use super::Tools;
use crate::LineTransport;

/// Whose transport is on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// rmcp's own.
    Stock,
    /// This crate's.
    Wireline,
}

/// The client's side of a session, in bytes.
pub struct Probe<R = ReadHalf<DuplexStream>, W = WriteHalf<DuplexStream>> {
    lines: Lines<BufReader<R>>,
    writer: W,
}

/// What came of a line.
#[derive(Debug)]
pub struct Seen {
    /// The lines that the server said before it went on to the next request.
    pub answers: Vec<String>,
    /// Whether it answered the next request.
    pub survived: bool,
}

impl Probe {
    /// Starts a server, and a session with it.
    ///
    /// # Errors
    ///
    /// The session could not be started.
    pub async fn start(kind: Kind, max_line_len: usize) -> io::Result<Self> {
        let (near, far) = duplex(64 << 10);
        let (reader, writer) = split(far);
        match kind {
            Kind::Stock => {
                serve(AsyncRwTransport::<RoleServer, _, _>::new(reader, writer).with_max_line_length(max_line_len));
            }
            Kind::Wireline => {
                serve(LineTransport::with_rules(reader, writer, Rules::mcp().max_line_len(max_line_len)));
            }
        }
        let (reader, writer) = split(near);
        Self::on(reader, writer).await
    }
}

fn serve(transport: impl Transport<RoleServer> + 'static) {
    tokio::spawn(async {
        // Where it does not start, the probe will see that there is nobody.
        if let Ok(server) = Tools.serve(transport).await {
            drop(server.waiting().await);
        }
    });
}

impl<R, W> Probe<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    /// Starts a session with a server that runs already.
    ///
    /// # Errors
    ///
    /// The session could not be started.
    pub async fn on(reader: R, writer: W) -> io::Result<Self> {
        let mut probe = Self { lines: BufReader::new(reader).lines(), writer };
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "probe", "version": "0"},
        });
        let initialize = json!({"jsonrpc": "2.0", "id": "start", "method": "initialize", "params": params});
        probe.say(initialize.to_string().as_bytes()).await?;
        probe.hear().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        probe.say(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
        Ok(probe)
    }

    /// Says a line, then asks something sound, and reports what comes until that is answered.
    ///
    /// # Errors
    ///
    /// The stream failed.
    pub async fn tell(&mut self, line: &[u8]) -> io::Result<Seen> {
        self.say(line).await?;
        self.say(br#"{"jsonrpc":"2.0","id":"next","method":"ping"}"#).await?;
        let mut answers = Vec::new();
        while let Some(answer) = self.hear().await? {
            if answer.contains(r#""id":"next""#) {
                return Ok(Seen { answers, survived: true });
            }
            answers.push(answer);
        }
        Ok(Seen { answers, survived: false })
    }

    /// Says a line.
    ///
    /// # Errors
    ///
    /// The server does not listen.
    pub async fn say(&mut self, line: &[u8]) -> io::Result<()> {
        self.writer.write_all(line).await?;
        self.writer.write_all(b"\n").await?;
        self.writer.flush().await
    }

    /// The next line that the server says, or `None` when it has ended.
    ///
    /// # Errors
    ///
    /// The stream failed.
    pub async fn hear(&mut self) -> io::Result<Option<String>> {
        self.lines.next_line().await
    }

    /// Says bytes as they are, and nothing after them. The result is what the server says until it ends.
    ///
    /// # Errors
    ///
    /// The stream failed.
    pub async fn end_with(mut self, bytes: &[u8]) -> io::Result<Vec<String>> {
        self.writer.write_all(bytes).await?;
        self.writer.shutdown().await?;
        let mut answers = Vec::new();
        while let Some(answer) = self.hear().await? {
            answers.push(answer);
        }
        Ok(answers)
    }
}
