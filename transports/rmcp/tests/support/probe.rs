//! A client that sends any bytes and records what comes back.

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
use wireline_rmcp::LineTransport;

use super::Tools;

/// Whose transport the rmcp side uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// rmcp's own.
    Stock,
    Wireline,
}

/// The client's side of a session.
pub struct Probe<R = ReadHalf<DuplexStream>, W = WriteHalf<DuplexStream>> {
    lines: Lines<BufReader<R>>,
    writer: W,
}

/// How a server took a line.
#[derive(Debug)]
pub struct Seen {
    /// The lines that it sent before it answered the next request.
    pub answers: Vec<String>,
    /// Whether it answered the next request.
    pub survived: bool,
}

impl Probe {
    /// Starts a server and a session with it.
    pub async fn start(kind: Kind, max_line_len: usize) -> io::Result<Self> {
        let (near, far) = duplex(64 << 10);
        let (reader, writer) = split(far);
        match kind {
            Kind::Stock => {
                serve(AsyncRwTransport::<RoleServer, _, _>::new(reader, writer).with_max_line_length(max_line_len));
            }
            Kind::Wireline => {
                serve(LineTransport::new(reader, writer).rules(Rules::mcp().max_line_len(max_line_len)));
            }
        }
        let (reader, writer) = split(near);
        Self::on(reader, writer).await
    }
}

fn serve(transport: impl Transport<RoleServer> + 'static) {
    tokio::spawn(async {
        // If it does not start, the probe sees the end of the stream.
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
    /// Starts a session with a server that is running already.
    pub async fn on(reader: R, writer: W) -> io::Result<Self> {
        let mut probe = Self { lines: BufReader::new(reader).lines(), writer };
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "probe", "version": "0"},
        });
        let initialize = json!({"jsonrpc": "2.0", "id": "start", "method": "initialize", "params": params});
        probe.send(initialize.to_string().as_bytes()).await?;
        probe.next_line().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        probe.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
        Ok(probe)
    }

    /// Sends a line and then a valid request, and collects what comes back until that is answered.
    pub async fn tell(&mut self, line: &[u8]) -> io::Result<Seen> {
        self.send(line).await?;
        self.send(br#"{"jsonrpc":"2.0","id":"next","method":"ping"}"#).await?;
        let mut answers = Vec::new();
        while let Some(answer) = self.next_line().await? {
            if answer.contains(r#""id":"next""#) {
                return Ok(Seen { answers, survived: true });
            }
            answers.push(answer);
        }
        Ok(Seen { answers, survived: false })
    }

    pub async fn send(&mut self, line: &[u8]) -> io::Result<()> {
        self.writer.write_all(line).await?;
        self.writer.write_all(b"\n").await?;
        self.writer.flush().await
    }

    /// The next line from the server, or `None` at the end of the stream.
    pub async fn next_line(&mut self) -> io::Result<Option<String>> {
        self.lines.next_line().await
    }

    /// Sends bytes without a line ending, ends the stream, and returns all that the server still sends.
    pub async fn end_with(self, bytes: &[u8]) -> io::Result<Vec<String>> {
        let Self { mut lines, mut writer } = self;
        writer.write_all(bytes).await?;
        writer.shutdown().await?;
        drop(writer); // shutting down does not close the pipe to a child process
        let mut answers = Vec::new();
        while let Some(answer) = lines.next_line().await? {
            answers.push(answer);
        }
        Ok(answers)
    }
}
