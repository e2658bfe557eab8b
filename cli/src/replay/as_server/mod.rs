//! The other direction: answers a client from a recording.

mod exchanges;

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use wireline::connection::{Config, Connection, Event, Peer, SendError, Ticket};
use wireline::{Id, Notification, Request, RpcError, stdio};

use self::exchanges::{Exchange, Exchanges, Reaction};
use super::args::{Args, Timing};
use super::script::Script;
use super::{failure, skip_to_start};
use crate::exit;
use crate::input::read_retrying;
use crate::json::with_member;
use crate::output::report_error;
use crate::protocol::Protocols;
use crate::session::displayed_id;
use crate::terminal::{escape, escape_start};
use crate::units::counted;

/// How many requests may be in flight in each direction.
const MAX_IN_FLIGHT: usize = 10_000;

/// How much to read at once, and how many reads may be queued.
const READ_LEN: usize = 64 << 10;
const MAX_QUEUED: usize = 16;

/// How many unknown requests are reported one by one.
const MAX_REPORTED: u64 = 100;

const NAME_COLUMNS: usize = 200;

/// As in the Language Server Protocol and others.
const REQUEST_CANCELLED: i64 = -32800;

/// Answers the client on standard input and output, and returns the exit code.
pub(super) fn run(args: &Args, input: Box<dyn BufRead>) -> u8 {
    let name = escape(args.recording.as_os_str().as_encoded_bytes());
    let exchanges = match read(args, input, &name) {
        Ok(exchanges) => exchanges,
        Err(message) => return failure(&message),
    };
    let stdout = match stdio::claim() {
        Ok(stdout) => stdout,
        Err(error) => return failure(&format!("cannot take over standard output: {error}")),
    };
    let (reads, chunks) = sync_channel(MAX_QUEUED);
    // The thread ends with the process: it may be waiting for a client that says no more.
    if let Err(error) = thread::Builder::new().spawn(move || read_stdin(&reads)) {
        return failure(&format!("cannot start a thread: {error}"));
    }
    let config = Config::new(args.rules.rules()).in_flight(MAX_IN_FLIGHT).calls(MAX_IN_FLIGHT);
    // What the recording says is sent, however much it is.
    let mut connection = Connection::new(config.backlog(usize::MAX));
    let mut server = Server::new(args, exchanges, connection.peer());
    match server.serve(&mut connection, &chunks, stdout) {
        Ok(()) => server.summarise(&name),
        // The client has left.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => server.summarise(&name),
        Err(error) => failure(&format!("cannot write to standard output: {error}")),
    }
}

/// Reads all sessions that are wanted.
fn read(args: &Args, input: Box<dyn BufRead>, name: &str) -> Result<Exchanges, String> {
    let protocols = args.rules.protocols();
    let mut script = Script::new(input, args.rules.rules(), protocols);
    let mut exchanges = Exchanges::new(args);
    let (mut number, mut is_found) = (0, false);
    let mut has_next = skip_to_start(&mut script);
    while has_next {
        number += 1;
        let is_wanted = args.session.is_none_or(|session| session == number);
        is_found |= is_wanted;
        has_next = if is_wanted { exchanges.add_session(&mut script) } else { skip_to_start(&mut script) };
    }
    match (script.error(), args.session) {
        (Some(error), _) => Err(format!("cannot read {name}: {error}")),
        (None, Some(session)) if !is_found => Err(format!("{name} has no session {session}, only {number}")),
        _ => Ok(exchanges),
    }
}

fn read_stdin(reads: &SyncSender<Vec<u8>>) {
    let mut stdin = io::stdin().lock();
    let mut buffer = vec![0; READ_LEN];
    // A read error ends the stream like its end does.
    while let Ok(len @ 1..) = read_retrying(&mut stdin, &mut buffer) {
        if reads.send(buffer[..len].to_vec()).is_err() {
            return;
        }
    }
}

struct Server {
    protocols: Protocols,
    timing: Timing,
    exchanges: Exchanges,
    /// The client. For each request to it, the number of the reply that waits for the response is kept.
    peer: Peer<u64>,
    /// Replies under way, by number.
    replies: BTreeMap<u64, Reply>,
    next_number: u64,
    answered: u64,
    unknown: u64,
    faults: u64,
}

/// What remains to be sent in reaction to a message.
struct Reply {
    started: Instant,
    /// In reverse order, each with the time since the start.
    reactions: Vec<(Duration, Reaction)>,
    /// `None` once the request is answered, or if it was none.
    ticket: Option<Ticket>,
    /// The token that the recorded client used for progress, and the one that this client uses.
    tokens: (Option<Id<'static>>, Option<Id<'static>>),
    /// Whether the client has to answer a request first.
    is_waiting: bool,
}

impl Server {
    fn new(args: &Args, exchanges: Exchanges, peer: Peer<u64>) -> Self {
        Self {
            protocols: args.rules.protocols(),
            timing: args.timing,
            exchanges,
            peer,
            replies: BTreeMap::new(),
            next_number: 0,
            answered: 0,
            unknown: 0,
            faults: 0,
        }
    }

    /// Serves until the client closes its output.
    fn serve(
        &mut self,
        connection: &mut Connection<u64>,
        chunks: &Receiver<Vec<u8>>,
        mut stdout: impl Write,
    ) -> io::Result<()> {
        let greeting = std::mem::take(&mut self.exchanges.greeting);
        self.start(greeting, None, (None, None));
        loop {
            self.advance(false)?;
            write_out(connection, &mut stdout)?;
            let chunk = match self.next_due() {
                None => chunks.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => chunks.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match &chunk {
                Ok(chunk) => connection.feed(chunk),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => connection.finish(),
            }
            while let Some(event) = connection.next_event() {
                self.receive(event);
                self.advance(false)?;
                write_out(connection, &mut stdout)?;
            }
            if chunk.is_err() {
                self.end()?;
                return write_out(connection, &mut stdout);
            }
        }
    }

    fn receive(&mut self, event: Event<'_, u64>) {
        match event {
            Event::Request(request, ticket) => self.admit(&request, ticket),
            Event::Notification(notification) => self.notice(&notification),
            Event::Cancelled(notification, ..) => {
                // Those that some dialects want answered all the same are answered by their tickets.
                self.replies.retain(|_, reply| !reply.ticket.as_ref().is_some_and(Ticket::is_cancelled));
                self.notice(&notification);
            }
            // The reply that has waited for this response can go on.
            Event::Response(_, number) | Event::Lost(_, number, _) => {
                if let Some(reply) = self.replies.get_mut(&number) {
                    reply.is_waiting = false;
                }
            }
            Event::Fault(fault) => self.report_fault(&fault),
            _ => {}
        }
    }

    fn admit(&mut self, request: &Request<'_>, ticket: Ticket) {
        let (method, params) = (request.method(), request.params());
        let token = self.protocols.progress_token(params.as_ref());
        match self.exchanges.find(&method, params.as_ref()) {
            Some(Exchange { reactions, token: recorded, .. }) => {
                let (reactions, recorded) = (reactions.clone(), recorded.clone());
                self.start(reactions, Some(ticket), (recorded, token));
            }
            // Clients use it to see whether a server is alive, whenever they like.
            None if method == "ping" => ticket.respond(&EmptyObject {}),
            None => {
                let (error, reason) = match self.exchanges.has_method(&method) {
                    true => (RpcError::invalid_params("not in the recording: these params"), "these params are"),
                    false => (RpcError::method_not_found(), "this method is"),
                };
                self.report_unknown(&method, request, reason);
                ticket.fail(&error);
            }
        }
    }

    fn report_unknown(&mut self, method: &str, request: &Request<'_>, reason: &str) {
        self.unknown += 1;
        if self.unknown <= MAX_REPORTED {
            let subject = self.protocols.subject(method, request.params().as_ref());
            let call = [Some(method), subject.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
            let (call, id) = (escape_start(call.as_bytes(), NAME_COLUMNS), displayed_id(Some(request.id())));
            report_error(&format!("{call} {id}: {reason} not in the recording"));
        }
    }

    fn notice(&mut self, notification: &Notification<'_>) {
        let (method, params) = (notification.method(), notification.params());
        // The recorded protocol may have another notification for this than the rules.
        if let Some(id) = self.protocols.cancelled_id(&method, params.as_ref()) {
            let is_cancelled = |reply: &mut Reply| reply.ticket.take_if(|ticket| *ticket.id() == id);
            for ticket in self.replies.values_mut().filter_map(is_cancelled) {
                ticket.fail(&RpcError::new(REQUEST_CANCELLED, "Request cancelled"));
            }
        }
        if let Some(exchange) = self.exchanges.find(&method, params.as_ref()) {
            let reactions = exchange.reactions.clone();
            self.start(reactions, None, (None, None));
        }
    }

    fn report_fault(&mut self, fault: &wireline::Fault) {
        self.faults += 1;
        if self.faults <= MAX_REPORTED {
            report_error(&format!("faulty line from the client: {fault} [{}]", fault.kind().name()));
        }
    }

    /// Starts to react to a message.
    fn start(
        &mut self,
        mut reactions: Vec<(Duration, Reaction)>,
        ticket: Option<Ticket>,
        tokens: (Option<Id<'static>>, Option<Id<'static>>),
    ) {
        if reactions.is_empty() && ticket.is_none() {
            return;
        }
        reactions.reverse();
        let reply = Reply { started: Instant::now(), reactions, ticket, tokens, is_waiting: false };
        self.replies.insert(self.next_number, reply);
        self.next_number += 1;
    }

    /// When something is to be sent next, if nothing comes before.
    fn next_due(&self) -> Option<Instant> {
        let open = self.replies.values().filter(|reply| !reply.is_waiting);
        open.filter_map(|reply| Some(reply.started + reply.reactions.last()?.0)).min()
    }

    /// Sends what is due, or everything at the end.
    fn advance(&mut self, is_end: bool) -> io::Result<()> {
        let numbers: Vec<u64> = self.replies.keys().copied().collect();
        for number in numbers {
            let Some(mut reply) = self.replies.remove(&number) else { continue };
            while (is_end || !reply.is_waiting)
                && let Some((after, _)) = reply.reactions.last()
                && (is_end || self.timing == Timing::Fast || reply.started + *after <= Instant::now())
                && let Some((_, reaction)) = reply.reactions.pop()
            {
                self.react(number, &mut reply, reaction, is_end)?;
            }
            // Without a recorded answer, a request stays open until it is cancelled.
            if !reply.reactions.is_empty() || reply.ticket.is_some() {
                self.replies.insert(number, reply);
            }
        }
        Ok(())
    }

    fn react(&mut self, number: u64, reply: &mut Reply, reaction: Reaction, is_end: bool) -> io::Result<()> {
        match reaction {
            Reaction::Answer(response) => {
                let Some(ticket) = reply.ticket.take() else { return Ok(()) };
                self.answered += 1;
                ticket.relay(&response);
                Ok(())
            }
            Reaction::FaultyAnswer => {
                drop(reply.ticket.take());
                Ok(())
            }
            Reaction::Notification(notification) => self.notify(&notification, &reply.tokens),
            // No response will come to it any more.
            Reaction::Request(_) if is_end => Ok(()),
            Reaction::Request(request) => {
                reply.is_waiting = true;
                sent(self.peer.forward_request(&request, number).map(drop))
            }
        }
    }

    /// Sends a notification. One about progress gets the token of this client, and is left out if there is none.
    fn notify(
        &self,
        notification: &Notification<'static>,
        tokens: &(Option<Id<'static>>, Option<Id<'static>>),
    ) -> io::Result<()> {
        let (method, params) = (notification.method(), notification.params());
        let progress = self.protocols.progress(&method, params.as_ref());
        let (Some(progress), Some(params)) = (progress, params) else {
            return sent(self.peer.forward(notification).wait());
        };
        let (Some(recorded), Some(live)) = tokens else { return Ok(()) };
        let name = self.protocols.progress_token_name(&method).unwrap_or_default();
        let params = with_member(params.as_json(), name, live.as_json());
        match params.as_ref().and_then(|params| wireline::RawJson::parse(params.as_bytes()).ok()) {
            Some(params) if progress.token == *recorded => sent(self.peer.notify(&method, &params).wait()),
            _ => Ok(()),
        }
    }

    /// Answers everything that is still open.
    fn end(&mut self) -> io::Result<()> {
        self.advance(true)?;
        self.peer.abort(&RpcError::new(RpcError::INTERNAL_ERROR, "not answered in the recording"));
        Ok(())
    }

    /// Reports what was not as recorded, and returns the exit code.
    fn summarise(&self, name: &str) -> u8 {
        let Self { answered, unknown, faults, .. } = *self;
        let mut text = format!("{} from {name}", counted(answered, "request answered", "requests answered"));
        if unknown > 0 {
            text.push_str(&format!(", {} not found in it", counted(unknown, "request", "requests")));
        }
        if faults > 0 {
            text.push_str(&format!(", {} from the client", counted(faults, "faulty line", "faulty lines")));
        }
        report_error(&text);
        if unknown + faults == 0 { exit::SUCCESS } else { exit::DIFFERENCES_FOUND }
    }
}

/// Writes what is queued.
fn write_out(connection: &mut Connection<u64>, stdout: &mut impl Write) -> io::Result<()> {
    while connection.wants_write() {
        let lines = connection.pending();
        stdout.write_all(lines)?;
        let len = lines.len();
        connection.advance(len);
    }
    stdout.flush()
}

/// The outcome of sending. A message that can't be encoded under these rules is left out.
fn sent(result: Result<(), SendError>) -> io::Result<()> {
    match result {
        Ok(()) | Err(SendError::Encode(_)) => Ok(()),
        Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

#[derive(serde::Serialize)]
struct EmptyObject {}
