//! Lets several clients share one server.
//!
//! ```console
//! $ cargo build --examples && cargo run -q --example proxy -- 2 target/debug/examples/server
//! listening on 127.0.0.1:40123 for 2 clients
//! ```
//!
//! Clients connect over TCP and talk to the proxy as if it were the server. Two clients may choose the same id, so the
//! proxy forwards each request with a new id, and puts the client's id back into the response. Everything else passes
//! through byte for byte. When the given number of clients have come and gone, the proxy closes the server's input, and
//! exits after the server.
//!
//! Every request gets one response, whatever the server does:
//!
//! - If the server dies, closes its output or can't be written to, all requests in flight are answered with an error at
//!   once, and so are those that arrive later.
//! - If it doesn't answer within the timeout, the request is answered with an error, and a late response is dropped.
//! - If it stops reading, up to `BACKLOG` bytes and one line wait for it. Further requests are refused at once.
//!
//! Each thread waits only for its own peer. A client is disconnected if it reads nothing for `STALLED`, or if more than
//! `BACKLOG` bytes of responses are waiting for it. While it is slow, nothing more is read from it.

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wireline::io::{FrameReader, FrameWriter, Progress, SendError};
use wireline::ledger::Outbound;
use wireline::{Batch, EncodeError, Encoder, Fault, Frame, Id, Line, Message, Request, RpcError, Rules};

/// Requests that may be in flight at the server.
const IN_FLIGHT: usize = 10_000;
/// Bytes that may wait for one peer: four of the longest lines.
const BACKLOG: usize = 64 << 20;
/// How long a client may read nothing.
const STALLED: Duration = Duration::from_secs(10);
/// How long to keep reading responses after the server has exited or closed its input.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long the server may keep running after its input was closed, before it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// How often to check for requests that have timed out, and for the server's exit.
const TICK: Duration = Duration::from_millis(50);

const USAGE: &str = "usage: proxy [--timeout SECONDS] CLIENTS COMMAND [ARG]...";

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).peekable();
    let timeout: f64 = match args.next_if(|arg| arg == "--timeout") {
        Some(_) => args.next().ok_or(USAGE)?.parse()?,
        None => 60.0,
    };
    let clients: usize = args.next().ok_or(USAGE)?.parse()?;
    let mut command = Command::new(args.next().ok_or(USAGE)?);
    let mut server = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else { unreachable!() };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("listening on {} for {clients} clients", listener.local_addr()?);

    let open = Arc::new(Open {
        requests: Mutex::new(Some(Outbound::new(IN_FLIGHT))),
        timeout: Duration::try_from_secs_f64(timeout)?,
    });
    let (to_server, writing) = Peer::new(input);
    let to_server = Arc::new(to_server);
    thread::spawn({
        let open = Arc::clone(&open);
        move || {
            if let Ok(Err(error)) = writing.join() {
                thread::sleep(LAST_WORDS);
                open.server_is_gone(&format!("it takes no more input: {error}"));
            }
        }
    });
    thread::spawn({
        let (open, to_server) = (Arc::clone(&open), Arc::downgrade(&to_server));
        move || match from_server(output, &open, &to_server) {
            Ok(()) => open.server_is_gone("end of its output"),
            Err(error) => open.server_is_gone(&format!("failed to read its output: {error}")),
        }
    });
    let clients = thread::spawn({
        let open = Arc::clone(&open);
        move || {
            let mut threads = Vec::new();
            for socket in listener.incoming().take(clients).flatten() {
                let (open, to_server) = (Arc::clone(&open), Arc::clone(&to_server));
                threads.push(thread::spawn(move || from_client(socket, &open, to_server)));
            }
            // With the last client, the server's input is closed.
            drop(to_server);
            for thread in threads {
                if let Ok(Err(error)) = thread.join() {
                    eprintln!("proxy: lost a client: {error}");
                }
            }
        }
    });
    watch(&mut server, &open, &clients)?;
    Ok(())
}

/// Answers on behalf of a slow or dead server until all clients have left. Then waits for the server to exit.
fn watch(server: &mut Child, open: &Open, clients: &JoinHandle<()>) -> io::Result<()> {
    let mut exited: Option<Instant> = None;
    while !clients.is_finished() {
        thread::sleep(TICK);
        open.answer_expired();
        // Usually its output has ended too, but a process that it started may hold it open.
        match exited {
            None => exited = server.try_wait()?.map(|_| Instant::now()),
            Some(since) if since.elapsed() > LAST_WORDS => open.server_is_gone("it has exited"),
            Some(_) => {}
        }
    }
    let closed = Instant::now();
    while server.try_wait()?.is_none() {
        if closed.elapsed() > GRACE {
            server.kill()?;
        }
        thread::sleep(TICK);
    }
    Ok(())
}

/// Forwards what a client sends, until it has sent its last request and got its last response.
fn from_client(socket: TcpStream, open: &Open, to_server: Arc<Peer<ChildStdin>>) -> io::Result<()> {
    socket.set_write_timeout(Some(STALLED))?;
    let (peer, writing) = Peer::new(socket.try_clone()?);
    let client = Arc::new(Client { peer, socket: socket.try_clone()? });
    let mut frames = FrameReader::new(socket, rules());
    let read = loop {
        while let Some(frame) = frames.next_buffered() {
            match frame {
                Ok(Frame::Message(Message::Request(request))) => open.forward(&request, &client, &to_server),
                Ok(Frame::Message(Message::Notification(note))) => {
                    // It expects no answer, so if it can't be forwarded, there is nobody to tell.
                    if let Err(error) = line(|encoder| encoder.forward(&note)).and_then(|line| to_server.send(&line)) {
                        eprintln!("proxy: dropped a notification: {error}");
                    }
                }
                Ok(Frame::Message(Message::Response(_))) => {} // clients get no requests, so there is nothing to answer
                Ok(Frame::Batch(batch)) => client.refuse_batch(&batch),
                Err(fault) => client.reply(&fault),
            }
        }
        // A client that doesn't read its responses isn't read from either.
        if let Err(error) = client.peer.flush() {
            break Err(error);
        }
        match frames.fill() {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    drop(to_server);
    drop(client);
    // The last response drops the last handle to the client, which ends its thread and closes the connection.
    read.and(writing.join().unwrap_or_else(|_| Err(ErrorKind::Other.into())))
}

/// Returns the server's responses to the clients that asked, until its output ends.
fn from_server(output: ChildStdout, open: &Open, to_server: &Weak<Peer<ChildStdin>>) -> io::Result<()> {
    let mut frames = FrameReader::new(output, rules());
    while let Some(frame) = frames.next_frame()? {
        match frame {
            Ok(Frame::Message(Message::Response(response))) => {
                if let Some(waiting) = open.take(|requests| requests.settle(&response).ok()) {
                    waiting.answer(|encoder, id| encoder.with_id(&response, id));
                }
            }
            // A broken response can't be forwarded, but there won't be another.
            Err(fault) if fault.is_response() => {
                if let Some(waiting) = fault.id().and_then(|id| open.take(|requests| requests.withdraw(id))) {
                    waiting.fail(&RpcError::internal());
                }
            }
            // The proxy can't know which client is meant, but the server expects an answer too.
            Ok(Frame::Message(Message::Request(request))) => {
                if let (Some(server), Ok(line)) =
                    (to_server.upgrade(), line(|encoder| encoder.error(request.id(), &RpcError::method_not_found())))
                {
                    drop(server.send(&line));
                }
            }
            Ok(_) => {}
            Err(fault) => eprintln!("proxy: server: {fault}"),
        }
    }
    Ok(())
}

/// The requests at the server, or `None` if it is gone. Whoever takes one out of the ledger answers it.
struct Open {
    requests: Mutex<Option<Outbound<Waiting>>>,
    timeout: Duration,
}

impl Open {
    fn forward(&self, request: &Request<'_>, client: &Arc<Client>, to_server: &Peer<ChildStdin>) {
        let waiting = Waiting { client: Arc::clone(client), id: request.id().clone().into_owned() };
        let id = match self.issue(waiting) {
            Ok(id) => id,
            Err((waiting, error)) => return waiting.fail(&error),
        };
        let error = match line(|encoder| encoder.with_id(request, &id)).and_then(|line| to_server.send(&line)) {
            Ok(()) => return,
            Err(SendError::Encode(_)) => RpcError::invalid_request("the request is too long to be forwarded"),
            Err(SendError::Full) => busy(),
            Err(_) => gone(),
        };
        // `None` if it was answered in the meantime, because the server is gone.
        if let Some(waiting) = self.take(|requests| requests.withdraw(&id)) {
            waiting.fail(&error);
        }
    }

    fn issue(&self, waiting: Waiting) -> Result<Id<'static>, (Waiting, RpcError)> {
        let mut requests = lock(&self.requests);
        let Some(requests) = &mut *requests else { return Err((waiting, gone())) };
        let id = requests.issue(waiting).map_err(|full| (full.0, busy()))?;
        requests.set_deadline(&id, Instant::now() + self.timeout);
        Ok(id)
    }

    fn take(&self, take: impl FnOnce(&mut Outbound<Waiting>) -> Option<Waiting>) -> Option<Waiting> {
        lock(&self.requests).as_mut().and_then(take)
    }

    fn answer_expired(&self) {
        let now = Instant::now();
        while let Some(waiting) = self.take(|requests| Some(requests.take_expired(now)?.1)) {
            waiting.fail(&RpcError::new(-32000, "the server did not answer in time"));
        }
    }

    fn server_is_gone(&self, why: &str) {
        // From here on, nothing is issued.
        let Some(mut requests) = lock(&self.requests).take() else { return };
        eprintln!("proxy: the server is gone: {why}");
        for (_, waiting) in requests.drain() {
            waiting.fail(&gone());
        }
    }
}

/// A client waiting for an answer, and the id that it gave its request.
struct Waiting {
    client: Arc<Client>,
    id: Id<'static>,
}

impl Waiting {
    fn answer(self, write: impl FnOnce(&mut Encoder, &Id<'_>) -> Result<(), EncodeError>) {
        match line(|encoder| write(encoder, &self.id)) {
            Ok(line) => self.client.send(&line),
            // With the client's id, the line exceeds the limit.
            Err(_) => self.fail(&RpcError::internal()),
        }
    }

    fn fail(self, error: &RpcError) {
        // An error with any accepted id fits the limit.
        if let Ok(line) = line(|encoder| encoder.error(&self.id, error)) {
            self.client.send(&line);
        }
    }
}

struct Client {
    peer: Peer<TcpStream>,
    socket: TcpStream,
}

impl Client {
    fn send(&self, line: &Line) {
        // If the connection is broken, the client is gone and expects nothing.
        if let Err(SendError::Full) = self.peer.send(line) {
            drop(self.socket.shutdown(Shutdown::Both));
        }
    }

    fn reply(&self, fault: &Fault) {
        if let Some(reply) = fault.reply()
            && let Ok(line) = line(|encoder| encoder.error_reply(&reply))
        {
            self.send(&line);
        }
    }

    /// Refuses each request of a batch. Forwarding them would mean collecting their responses.
    fn refuse_batch(&self, batch: &Batch<'_>) {
        let refusals = line(|encoder| {
            encoder.batch(|answers| {
                for entry in batch {
                    match entry {
                        Ok(Message::Request(request)) => {
                            answers.error(request.id(), &RpcError::invalid_request("no batches here"))?;
                        }
                        Ok(_) => {}
                        Err(fault) => fault.reply().map_or(Ok(()), |reply| answers.error_reply(&reply))?,
                    }
                }
                Ok(())
            })
        });
        // It is an error if there is nothing to answer.
        if let Ok(line) = refusals {
            self.send(&line);
        }
    }
}

/// A queue of lines, and a thread that writes them, so that senders never wait for the peer.
struct Peer<W> {
    lines: FrameWriter<W>,
    wake: SyncSender<()>,
}

impl<W: Write + Send + 'static> Peer<W> {
    /// The thread ends when the peer is dropped, with an error if the writer fails.
    fn new(writer: W) -> (Self, JoinHandle<io::Result<()>>) {
        // Lines are only queued, and written by `flush`.
        let lines = FrameWriter::new(writer, rules()).backlog(BACKLOG).collect(usize::MAX);
        let (wake, woken) = sync_channel(1);
        let peer = Self { lines: lines.clone(), wake };
        (peer, thread::spawn(move || woken.iter().try_for_each(|()| flush(&lines))))
    }

    fn send(&self, line: &Line) -> Result<(), SendError> {
        let _ = self.lines.send_line(line)?;
        // If the channel is full, the thread is about to see this line too.
        let _ = self.wake.try_send(());
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        flush(&self.lines)
    }
}

fn flush<W: Write>(lines: &FrameWriter<W>) -> io::Result<()> {
    match lines.flush()? {
        Progress::Written => Ok(()),
        Progress::Pending => Err(ErrorKind::TimedOut.into()), // see `STALLED`
    }
}

fn rules() -> Rules {
    Rules::json_rpc()
}

fn line(write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>) -> Result<Line, SendError> {
    Ok(wireline::to_line(&rules(), write)?)
}

fn busy() -> RpcError {
    RpcError::new(-32000, "the server is busy")
}

fn gone() -> RpcError {
    RpcError::new(-32000, "the server is gone")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
