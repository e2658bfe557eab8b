//! The streams between the programs: the stdin and stdout of a child process, as pipes or as one socket.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as StdStream;
use std::process::{Child, Command, Stdio};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

pub(super) type Input = Box<dyn AsyncRead + Send + Unpin>;
pub(super) type Output = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// Starts this program as another: see [`serve`](super::serve).
pub(super) fn start(role: &[&str], over_socket: bool) -> io::Result<(Child, (Input, Output))> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--serve").args(role);
    if over_socket {
        let (near, far) = StdStream::pair()?;
        let child = command.stdin(OwnedFd::from(far.try_clone()?)).stdout(OwnedFd::from(far)).spawn()?;
        return Ok((child, socket(near)?));
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("a child without stdin or stdout"));
    };
    let stream = pipes(output.into(), input.into())?;
    Ok((child, stream))
}

/// This program's stdin and stdout.
pub(super) fn stdio() -> io::Result<(Input, Output)> {
    let (input, output) = (io::stdin().as_fd().try_clone_to_owned()?, io::stdout().as_fd().try_clone_to_owned()?);
    match is_socket() {
        true => socket(StdStream::from(input)),
        false => pipes(input, output),
    }
}

/// Whether this program's stdin is a socket.
pub(super) fn is_socket() -> bool {
    fs::metadata("/dev/stdin").is_ok_and(|stdin| stdin.file_type().is_socket())
}

fn socket(stream: StdStream) -> io::Result<(Input, Output)> {
    stream.set_nonblocking(true)?;
    let (reader, writer) = UnixStream::from_std(stream)?.into_split();
    Ok((Box::new(reader), Box::new(writer)))
}

fn pipes(input: OwnedFd, output: OwnedFd) -> io::Result<(Input, Output)> {
    Ok((Box::new(pipe::Receiver::from_owned_fd(input)?), Box::new(pipe::Sender::from_owned_fd(output)?)))
}
