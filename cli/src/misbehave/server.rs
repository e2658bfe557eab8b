//! A server without faults, and the places where a misbehaviour hooks in.
//!
//! It reads in one thread and does everything else in another, so that a misbehaviour can rely on the order of things.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use wireline::connection::{Connection, Event, Peer, Ticket};
use wireline::stdio::{self, Stdout};
use wireline::{Frame, RawJson, Rules};

use super::lines::{Line, Lines, Part};
use super::log::{Log, Observed};
use super::services::{ACP, Answer, JSON_RPC, MCP, Service};
use super::table::Misbehaviour;
use crate::exit;
use crate::input::read_retrying;
use crate::rules_args::{Dialect, RulesArgs};

/// How much to read at once, and how many reads may be queued.
const READ_LEN: usize = 64 << 10;
const MAX_QUEUED: usize = 4;

/// Where a misbehaviour steps in. Everything else works as if it weren't there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hook {
    Nothing,
    /// Before anything is read.
    Start(fn(&mut Server)),
    /// When a line has been read.
    Line(fn(&mut Server, &Line<'_>) -> Incoming),
    /// When a line has been read, which is collected however long it is.
    LongLine(fn(&mut Server, &Line<'_>) -> Incoming),
    /// In place of sending an answer, except one of the handshake.
    Answer(fn(&mut Server, &Answered<'_>)),
    /// In place of sending the answers to a batch.
    Batch(fn(&mut Server, &str)),
    /// When the input has ended, before the requests in flight are answered.
    End(fn(&mut Server)),
    /// When everything is answered, before the exit.
    Exit(fn(&mut Server)),
}

/// What becomes of a line.
pub(super) enum Incoming {
    Pass,
    Swallow,
}

/// An answer that is about to be sent.
pub(super) struct Answered<'a> {
    /// Without its line feed.
    pub(super) line: &'a str,
    /// As JSON; `null` if it has none.
    pub(super) id: String,
    /// `result` or `error`, and its value.
    pub(super) body: (&'static str, &'a str),
    /// Of an error.
    pub(super) code: Option<i64>,
    /// `None` for the reply to a bad line.
    pub(super) origin: Option<Origin>,
}

/// The request that an answer is for.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    pub(super) method: String,
    /// How many lines ended in the same read.
    pub(super) lines_in_read: usize,
}

impl Answered<'_> {
    /// The answer under another id.
    pub(super) fn with_id(&self, id: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},{}}}"#, self.body())
    }

    /// The answer with other members than `result` or `error`.
    pub(super) fn with_body(&self, body: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},{body}}}"#, self.id)
    }

    /// `"result":{…}`
    pub(super) fn body(&self) -> String {
        format!(r#""{}":{}"#, self.body.0, self.body.1)
    }

    /// The answer with a text in its result or error. `text` is inserted as it is.
    pub(super) fn with_text(&self, text: &str) -> Option<String> {
        let (name, value) = self.body;
        let rest = value.strip_prefix('{')?;
        let separator = if rest.trim_start().starts_with('}') { "" } else { "," };
        Some(self.with_body(&format!(r#""{name}":{{"note":"{text}"{separator}{rest}"#)))
    }
}

/// What hooks remember from one call to the next.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// How many answers there were, without those of the handshake.
    pub(super) answers: u64,
    pub(super) flag: bool,
    /// Lines, or the id of the last request.
    pub(super) hoard: Vec<u8>,
}

pub(super) struct Server {
    hook: Hook,
    pub(super) service: &'static Service,
    pub(super) rules: Rules,
    connection: Connection<()>,
    input: Receiver<Vec<u8>>,
    /// What [`ends_within`](Self::ends_within) has taken from the input; `None` is its end.
    ahead: VecDeque<Option<Vec<u8>>>,
    /// `None` once it is closed.
    stdout: Option<Stdout>,
    waiting: Vec<Waiting>,
    /// The requests in flight, by id.
    requests: BTreeMap<String, Origin>,
    /// The methods of the handshake that were answered.
    greeted: Vec<&'static str>,
    held: Vec<String>,
    held_until: Option<Instant>,
    is_mute: bool,
    log: Log,
    pub(super) memory: Memory,
}

/// An answer that takes its time.
struct Waiting {
    due: Instant,
    ticket: Ticket,
    result: Value,
    key: Option<String>,
}

impl Server {
    pub(super) fn start(rules: &RulesArgs, misbehaviour: &Misbehaviour, log: Log) -> io::Result<Self> {
        let service = match rules.dialect() {
            Dialect::JsonRpc => &JSON_RPC,
            Dialect::Mcp => &MCP,
            Dialect::Acp => &ACP,
        };
        let (reads, input) = sync_channel(MAX_QUEUED);
        // The thread ends with the process.
        thread::Builder::new().spawn(move || read_stdin(&reads))?;
        let mut server = Self {
            hook: misbehaviour.hook,
            service,
            rules: rules.rules(),
            connection: Connection::new(rules.rules()),
            input,
            ahead: VecDeque::new(),
            stdout: Some(stdio::claim()?),
            waiting: Vec::new(),
            requests: BTreeMap::new(),
            greeted: Vec::new(),
            held: Vec::new(),
            held_until: None,
            is_mute: false,
            log,
            memory: Memory::default(),
        };
        server.log.note(&Observed::Started { pid: std::process::id() });
        if let Hook::Start(start) = server.hook {
            start(&mut server);
        }
        Ok(server)
    }

    /// Serves until the client closes its output, and returns the exit code.
    pub(super) fn serve(mut self) -> u8 {
        let mut lines = Lines::new(!matches!(self.hook, Hook::LongLine(_)));
        loop {
            let read = match self.ahead.pop_front() {
                Some(read) => read,
                None => match self.wait() {
                    Ok(read) => Some(read),
                    Err(RecvTimeoutError::Timeout) => {
                        self.settle_due();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => None,
                },
            };
            match read {
                Some(read) => lines.feed(&read, |part| self.receive(part)),
                None => {
                    lines.finish(|part| self.receive(part));
                    return self.end();
                }
            }
        }
    }

    /// Waits for input, or until something is due.
    fn wait(&mut self) -> Result<Vec<u8>, RecvTimeoutError> {
        let due = self.waiting.iter().map(|waiting| waiting.due).chain(self.held_until).min();
        match due {
            None => self.input.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => self.input.recv_timeout(due.saturating_duration_since(Instant::now())),
        }
    }

    fn receive(&mut self, part: Part<'_>) {
        let line = match part {
            Part::Piece(piece) => {
                self.connection.feed(piece);
                return self.take_events(None);
            }
            Part::Line(line) => line,
        };
        let incoming = match self.hook {
            Hook::Line(hook) | Hook::LongLine(hook) => hook(self, &line),
            _ => Incoming::Pass,
        };
        if matches!(incoming, Incoming::Swallow) {
            return;
        }
        self.connection.feed(line.bytes);
        if line.is_terminated {
            self.connection.feed(b"\n");
        }
        self.take_events(Some(&line));
    }

    fn take_events(&mut self, line: Option<&Line<'_>>) {
        let peer = self.connection.peer();
        // Each answer is sent before the next request is looked at.
        while let Some(event) = self.connection.next_event() {
            let observed = match event {
                Event::Request(request, ticket) => {
                    let origin = Origin {
                        method: request.method().into_owned(),
                        lines_in_read: line.map_or(1, |line| line.lines_in_read),
                    };
                    self.requests.insert(request.id().as_json().to_owned(), origin);
                    match (self.service.answer)(&request, &peer) {
                        Answer::Now(outcome) => ticket.settle(outcome),
                        Answer::After { delay, result, key } => {
                            self.waiting.push(Waiting { due: Instant::now() + delay, ticket, result, key });
                        }
                    }
                    Observed::Request
                }
                Event::Refused(..) => Observed::Request,
                Event::Notification(notification) => {
                    if let Some((key, result)) = (self.service.ended_by)(&notification) {
                        let is_ended = |waiting: &mut Waiting| waiting.key.as_ref() == Some(&key);
                        self.waiting.extract_if(.., is_ended).for_each(|waiting| waiting.ticket.respond(&result));
                    }
                    Observed::Notification
                }
                Event::Cancelled(_, id, _) => {
                    self.requests.remove(id.as_json());
                    // What the dialect wants answered all the same is answered by the ticket.
                    self.waiting.retain(|waiting| !waiting.ticket.is_cancelled());
                    Observed::Cancelled
                }
                Event::Response(..) => {
                    self.held_until = Some(Instant::now());
                    Observed::Response
                }
                Event::Stray(..) => Observed::Stray,
                Event::Fault(fault) => Observed::Fault { kind: fault.kind().name().to_owned() },
                _ => continue,
            };
            self.log.note(&observed);
            self.send_answers();
        }
        self.settle_due();
    }

    /// Answers what is due, and releases what was held back until now.
    fn settle_due(&mut self) {
        let now = Instant::now();
        for Waiting { ticket, result, .. } in self.waiting.extract_if(.., |waiting| waiting.due <= now) {
            ticket.respond(&result);
        }
        self.send_answers();
        if self.held_until.is_some_and(|until| until <= now) {
            self.release();
        }
    }

    /// Answers the requests in flight with an error, and returns the exit code.
    fn end(mut self) -> u8 {
        self.log.note(&Observed::InputEnded);
        self.connection.finish();
        self.take_events(None);
        if let Hook::End(end) = self.hook {
            end(&mut self);
        }
        self.connection
            .abort(&wireline::RpcError::new(wireline::RpcError::INTERNAL_ERROR, "the server is shutting down"));
        self.send_answers();
        self.release();
        if let Hook::Exit(exit) = self.hook {
            exit(&mut self);
        }
        self.log.note(&Observed::Exited { code: exit::SUCCESS });
        exit::SUCCESS
    }

    /// Sends the answers that are queued, or what the misbehaviour makes of them.
    fn send_answers(&mut self) {
        let bytes = self.connection.pending().to_vec();
        self.connection.advance(bytes.len());
        for line in bytes.split(|byte| *byte == b'\n') {
            match std::str::from_utf8(line) {
                Ok(line) if !line.is_empty() => self.send(line),
                _ => {}
            }
        }
    }

    fn send(&mut self, line: &str) {
        if let Hook::Batch(hook) = self.hook
            && line.starts_with('[')
        {
            return hook(self, line);
        }
        let message = RawJson::parse(line.as_bytes()).ok();
        let member = |name| message.as_ref().and_then(|message| message.pointer(name));
        let (result, error) = (member("/result"), member("/error"));
        let body = match (&result, &error) {
            (Some(result), _) => ("result", result.as_json()),
            (_, Some(error)) => ("error", error.as_json()),
            _ => return self.write_line(line),
        };
        let id = member("/id").map_or_else(|| "null".to_owned(), |id| id.as_json().to_owned());
        let origin = self.requests.remove(&id);
        let is_handshake = origin.as_ref().is_some_and(|origin| self.is_handshake(&origin.method));
        let code = member("/error/code").and_then(|code| code.deserialize().ok());
        match self.hook {
            Hook::Answer(hook) if !is_handshake => {
                self.memory.answers += 1;
                hook(self, &Answered { line, id, body, code, origin });
            }
            _ => self.write_line(line),
        }
    }

    /// Whether this is the first answer to a method of the handshake. Clients use some of them as pings later.
    fn is_handshake(&mut self, method: &str) -> bool {
        let method = self.service.handshake.iter().find(|handshake| **handshake == method);
        let Some(method) = method.filter(|method| !self.greeted.contains(method)) else { return false };
        self.greeted.push(method);
        true
    }

    // What hooks use.

    /// Whether a line is no valid message, and not blank either.
    pub(super) fn is_bad(&self, line: &Line<'_>) -> bool {
        !line.is_blank() && Frame::parse(line.bytes, &self.rules).is_err()
    }

    /// Whether the input ends within this time, with nothing more in it.
    pub(super) fn ends_within(&mut self, time: Duration) -> bool {
        if self.ahead.is_empty() {
            match self.input.recv_timeout(time) {
                Ok(read) => self.ahead.push_back(Some(read)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.ahead.push_back(None),
            }
        }
        self.ahead.front() == Some(&None)
    }

    /// Sends a line as it should be.
    pub(super) fn write_line(&mut self, line: &str) {
        self.write(&[line.as_bytes(), b"\n"].concat());
    }

    /// Sends bytes that shouldn't be sent.
    pub(super) fn deviate(&mut self, bytes: impl AsRef<[u8]>) {
        self.note_misbehaviour();
        self.write(bytes.as_ref());
    }

    pub(super) fn note_misbehaviour(&mut self) {
        self.log.note(&Observed::Misbehaved);
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.is_mute {
            return;
        }
        let Some(stdout) = &mut self.stdout else { return };
        if stdout.write_all(bytes).and_then(|()| stdout.flush()).is_err() {
            // The client has left, or at least reads no more.
            self.stdout = None;
            self.log.note(&Observed::OutputClosed);
        }
    }

    pub(super) fn stdout(&self) -> Option<&Stdout> {
        self.stdout.as_ref()
    }

    pub(super) fn close_stdout(&mut self) {
        self.note_misbehaviour();
        self.stdout = None;
    }

    /// Sends nothing from now on.
    pub(super) fn fall_silent(&mut self) {
        self.note_misbehaviour();
        self.is_mute = true;
    }

    /// Sends a request to the client that every client of the protocol can answer.
    pub(super) fn ask(&mut self) {
        let (method, params) = self.service.request;
        self.ask_for(method, params);
    }

    pub(super) fn ask_for(&mut self, method: &str, params: &str) {
        let client: Peer<()> = self.connection.peer();
        let Ok(params) = RawJson::parse(params.as_bytes()) else { return };
        if client.request(method, &params, ()).is_ok() {
            self.note_misbehaviour();
            self.log.note(&Observed::Asked);
        }
    }

    /// Holds an answer back, until a response comes or this time has passed.
    pub(super) fn hold(&mut self, line: &str, time: Duration) {
        self.note_misbehaviour();
        self.held.push(line.to_owned());
        self.held_until = Some(Instant::now() + time);
    }

    /// Sends what was held back, the newest first.
    fn release(&mut self) {
        self.held_until = None;
        while let Some(line) = self.held.pop() {
            self.write_line(&line);
        }
    }

    /// Ends the process.
    pub(super) fn exit(&mut self, code: u8) -> ! {
        self.note_misbehaviour();
        self.log.note(&Observed::Exited { code });
        std::process::exit(code.into())
    }

    /// Ends the process as a failed assertion or an overflowing stack does.
    pub(super) fn crash(&mut self) -> ! {
        self.note_misbehaviour();
        std::process::abort()
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
