//! Standard input and output.

use std::io;

use wireline::aio::{BlockingReader, BlockingWriter};
use wireline::stdio::claim;

use crate::LineTransport;

/// Creates a transport on the process's standard input and output, on any runtime.
///
/// ```no_run
/// use agent_client_protocol::Agent;
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     println!("this goes to stdout");
///     let transport = wireline_acp::stdio()?;
///     println!("this goes to stderr");
///     Agent.v1().name("my-agent").connect_to(transport).await?;
///     Ok(())
/// }
/// ```
///
/// Standard output is [claimed](wireline::stdio::claim) for the rest of the process: file descriptor 1 leads to stderr,
/// so a stray `println!`, a C library's `printf` or a child process cannot corrupt the protocol. (Only Unix has
/// descriptors to redirect. On Windows stray prints still reach the client.)
///
/// Two threads read and write, as in the SDK's `Stdio`. They don't keep the process or a runtime from ending.
///
/// # Errors
///
/// Fails with [`AlreadyExists`](io::ErrorKind::AlreadyExists) if standard output has been claimed before. Fails as well
/// if descriptor 1 is closed, or if a thread cannot be started.
pub fn stdio() -> io::Result<LineTransport<BlockingReader, BlockingWriter>> {
    let stdout = BlockingWriter::new(claim()?)?;
    // Last: a thread that waits for standard input cannot be stopped.
    Ok(LineTransport::new(BlockingReader::new(io::stdin())?, stdout))
}
