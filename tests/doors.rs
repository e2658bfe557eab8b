//! Every door that an answer can go out by, times everything that can go wrong on the way: each request gets exactly one
//! response, or is still owed and can be seen to be.

mod common;

use std::collections::HashMap;
use std::future::Future;
use std::io::{self, ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use wireline::aio::{LineSender, LineWriter};
use wireline::io::{Call, FrameWriter, Incident, answer_with, serve_with};
use wireline::ledger::{Answer, Inbound, Ticket};
use wireline::{Decoder, Encoder, Frame, Id, Message, RpcError, Rules};

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    NotANumber,
    RefusedByRules,
    PayloadPanics,
    TooLong,
    BacklogFull,
    WriterBreaks,
    TicketDropped,
    Cancelled,
    DuplicateId,
    IdAtItsLimit,
}

/// A result of some kind.
enum Payload {
    Fine(Value),
    NotANumber,
    Panics,
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fine(value) => value.serialize(serializer),
            Self::NotANumber => f64::NAN.serialize(serializer),
            Self::Panics => panic!("on purpose"),
        }
    }
}

impl Trouble {
    fn rules(self) -> Rules {
        match self {
            Self::RefusedByRules => Rules::mcp(),
            // The limits of lines and ids are close to each other.
            Self::IdAtItsLimit => Rules::json_rpc().max_line_len(200),
            _ => Rules::json_rpc().max_line_len(2000),
        }
    }

    /// Ids of three requests, of which the second is in trouble.
    fn ids(self) -> [String; 3] {
        let longest = match self {
            Self::IdAtItsLimit => "7".repeat(self.rules().limits().max_id_len),
            _ => "2".to_owned(),
        };
        ["1".to_owned(), longest, "\"3\"".to_owned()]
    }

    /// The result of the second request.
    fn payload(self) -> Payload {
        match self {
            Self::NotANumber | Self::IdAtItsLimit => Payload::NotANumber,
            Self::RefusedByRules => Payload::Fine(json!([1])),
            Self::PayloadPanics => Payload::Panics,
            Self::TooLong => Payload::Fine(json!("x".repeat(3000))),
            _ => Payload::Fine(json!({})),
        }
    }
}

fn request(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)
}

fn admit(owed: &Inbound, id: &str) -> Result<Ticket, Answer> {
    let line = request(id);
    let Frame::Message(Message::Request(request)) = Frame::parse(line.as_bytes(), &Rules::json_rpc()).unwrap() else {
        panic!()
    };
    owed.admit(&request)
}

/// The responses in `lines` to each id, batches taken apart.
fn count(lines: &[u8], rules: Rules) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let mut add = |message: &Message<'_>| match message {
        Message::Response(response) => {
            *counts.entry(response.id().unwrap().as_json().to_owned()).or_default() += 1;
        }
        other => panic!("{other:?}"),
    };
    let mut decoder = Decoder::new(rules);
    decoder.feed(lines);
    decoder.finish();
    while let Some(frame) = decoder.next_frame() {
        match frame.unwrap() {
            Frame::Message(message) => add(&message),
            Frame::Batch(batch) => batch.iter().for_each(|entry| add(&entry.unwrap())),
        }
    }
    counts
}

/// The state of the other end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Open,
    Blocked,
    Broken,
}

/// The other end, as a writer.
#[derive(Clone)]
struct Link {
    state: Arc<Mutex<State>>,
    taken: Arc<Mutex<Vec<u8>>>,
}

impl Link {
    fn new() -> Self {
        Self { state: Arc::new(Mutex::new(State::Open)), taken: Arc::default() }
    }

    fn state(&self) -> State {
        *self.state.lock().unwrap()
    }

    fn set(&self, state: State) {
        *self.state.lock().unwrap() = state;
    }

    fn taken(&self) -> Vec<u8> {
        self.taken.lock().unwrap().clone()
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.state() {
            State::Open => self.taken.lock().unwrap().write(bytes),
            State::Blocked => Err(ErrorKind::WouldBlock.into()),
            State::Broken => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A way out.
trait Door {
    fn open(link: Link, rules: Rules) -> Self;
    /// Sends answers, and returns those that were handed back.
    fn send(&mut self, owed: &Inbound, answers: Vec<Answer>) -> Vec<Answer>;
    /// Writes what waits, as far as possible.
    fn flush(&mut self);
    /// What was accepted and is not written.
    fn unwritten(self) -> Vec<u8>;
}

/// The program's own buffer, and an encoder on it.
struct OwnEncoder {
    link: Link,
    out: BytesMut,
    rules: Rules,
}

impl Door for OwnEncoder {
    fn open(link: Link, rules: Rules) -> Self {
        Self { link, out: BytesMut::new(), rules }
    }

    fn send(&mut self, _: &Inbound, answers: Vec<Answer>) -> Vec<Answer> {
        let mut handed_back = Vec::new();
        for answer in answers {
            // What the program refuses itself is refused before it is accepted.
            match self.link.state() {
                State::Open => answer.accept_into(&mut self.out),
                State::Blocked | State::Broken => handed_back.push(answer),
            }
            // Another message, which is rolled back, leaves no trace.
            assert!(Encoder::append_to(&mut self.out, self.rules).response(&Id::from(1), &f64::NAN).is_err());
        }
        self.flush();
        handed_back
    }

    fn flush(&mut self) {
        if self.link.write_all(&self.out).is_ok() {
            self.out.clear();
        }
    }

    fn unwritten(self) -> Vec<u8> {
        self.out.to_vec()
    }
}

/// Answers through a writer: one by one, several together, or as a batch.
struct Writer<const TOGETHER: u8> {
    writer: FrameWriter<Link>,
}

const ONE_BY_ONE: u8 = 0;
const TOGETHER: u8 = 1;
const BATCH: u8 = 2;

impl<const HOW: u8> Door for Writer<HOW> {
    fn open(link: Link, rules: Rules) -> Self {
        Self { writer: FrameWriter::new(link, rules).backlog(0) }
    }

    fn send(&mut self, owed: &Inbound, answers: Vec<Answer>) -> Vec<Answer> {
        let answers = match HOW {
            ONE_BY_ONE => answers,
            TOGETHER => vec![answers.into_iter().collect()],
            _ => vec![owed.batch(answers)],
        };
        answers.into_iter().filter_map(|answer| self.writer.answer(answer).err()?.answer).collect()
    }

    fn flush(&mut self) {
        drop(self.writer.flush());
    }

    fn unwritten(self) -> Vec<u8> {
        self.writer.into_parts().unwrap().1.to_vec()
    }
}

/// A channel of answers to whoever writes, who accepts them.
struct Channel {
    link: Link,
    sender: SyncSender<Answer>,
    receiver: Option<Receiver<Answer>>,
}

impl Door for Channel {
    fn open(link: Link, _: Rules) -> Self {
        let (sender, receiver) = sync_channel(2);
        Self { link, sender, receiver: Some(receiver) }
    }

    fn send(&mut self, _: &Inbound, answers: Vec<Answer>) -> Vec<Answer> {
        let mut handed_back = Vec::new();
        for answer in answers {
            match self.sender.try_send(answer) {
                Ok(()) => {}
                Err(TrySendError::Full(answer) | TrySendError::Disconnected(answer)) => handed_back.push(answer),
            }
            self.flush();
        }
        handed_back
    }

    fn flush(&mut self) {
        match self.link.state() {
            State::Open => {
                for answer in self.receiver.iter().flat_map(Receiver::try_iter) {
                    self.link.write_all(&answer.accept()).unwrap();
                }
            }
            State::Blocked => {}
            // The writer's thread has ended.
            State::Broken => self.receiver = None,
        }
    }

    fn unwritten(self) -> Vec<u8> {
        Vec::new()
    }
}

impl wireline::aio::Target for Link {
    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.write(bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
            written => Poll::Ready(written),
        }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Answers sent to the task that writes.
struct Task {
    sender: LineSender,
    link: Link,
    writing: Option<Pin<Box<dyn Future<Output = io::Result<Link>>>>>,
}

impl Door for Task {
    fn open(link: Link, rules: Rules) -> Self {
        let writer = LineWriter::new(link.clone(), rules).backlog(0);
        Self { sender: writer.sender(), link, writing: Some(Box::pin(writer.run())) }
    }

    fn send(&mut self, _: &Inbound, answers: Vec<Answer>) -> Vec<Answer> {
        let mut handed_back = Vec::new();
        for answer in answers {
            handed_back.extend(self.sender.try_answer(answer).err().and_then(|unsent| unsent.answer));
            self.flush();
        }
        handed_back
    }

    fn flush(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        if self.writing.as_mut().is_some_and(|writing| writing.as_mut().poll(&mut cx).is_ready()) {
            self.writing = None;
        }
    }

    /// What a broken target didn't take is lost with it: the first answer.
    fn unwritten(self) -> Vec<u8> {
        match self.link.state() {
            State::Broken => b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n".to_vec(),
            State::Open | State::Blocked => Vec::new(),
        }
    }
}

#[cfg(feature = "tokio")]
mod framed {
    use futures_util::{FutureExt, SinkExt};
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
    use tokio_util::codec::Framed;
    use wireline::codec::Codec;

    use super::*;

    impl AsyncRead for Link {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Link {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            match self.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
                written => Poll::Ready(written),
            }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    pub(crate) struct TokioFramed {
        framed: Framed<Link, Codec>,
    }

    impl Door for TokioFramed {
        fn open(link: Link, rules: Rules) -> Self {
            let mut framed = Framed::new(link, Codec::new(rules));
            // The second answer finds no room while the first is not taken.
            framed.set_backpressure_boundary(1);
            Self { framed }
        }

        /// A send that is given up before the line is in the buffer drops the answer, which is then owed.
        fn send(&mut self, _: &Inbound, answers: Vec<Answer>) -> Vec<Answer> {
            for answer in answers {
                drop(self.framed.send(answer).now_or_never());
            }
            Vec::new()
        }

        fn flush(&mut self) {
            drop(SinkExt::<Answer>::flush(&mut self.framed).now_or_never());
        }

        fn unwritten(self) -> Vec<u8> {
            self.framed.write_buffer().to_vec()
        }
    }
}

/// One cell of the table.
fn check<D: Door>(trouble: Trouble) {
    common::quiet_panics_on_purpose();
    // What is handed back is sent again, or dropped.
    for resend in [true, false] {
        check_once::<D>(trouble, resend);
    }
}

fn check_once<D: Door>(trouble: Trouble, resend: bool) {
    let rules = trouble.rules();
    let (link, owed, ids) = (Link::new(), Inbound::new(rules, 10), trouble.ids());
    let mut door = D::open(link.clone(), rules);
    let mut expected: HashMap<String, usize> = ids.iter().map(|id| (id.clone(), 1)).collect();

    let mut answers = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let ticket = admit(&owed, id).unwrap();
        match trouble {
            _ if at != 1 => answers.push(ticket.respond(&json!({}))),
            Trouble::TicketDropped => drop(ticket),
            Trouble::Cancelled => {
                assert!(owed.cancel(ticket.id()));
                answers.push(ticket.respond(&json!({})));
            }
            Trouble::DuplicateId => {
                answers.push(admit(&owed, id).unwrap_err());
                answers.push(ticket.respond(&json!({})));
                expected.insert(id.clone(), 2);
            }
            _ => {
                let answered = catch_unwind(AssertUnwindSafe(|| ticket.respond(&trouble.payload())));
                assert_eq!(answered.is_err(), trouble == Trouble::PayloadPanics);
                answers.extend(answered);
            }
        }
    }
    // Nothing counts before it is accepted.
    assert_eq!(owed.in_flight(), 3);

    match trouble {
        Trouble::BacklogFull => link.set(State::Blocked),
        Trouble::WriterBreaks => link.set(State::Broken),
        _ => {}
    }
    let mut handed_back = door.send(&owed, answers);
    if trouble == Trouble::BacklogFull {
        link.set(State::Open);
        door.flush();
    }
    if resend {
        handed_back = door.send(&owed, handed_back);
    }
    drop(handed_back);
    let dropped: Vec<_> = owed.dropped().collect();
    let left = door.send(&owed, dropped);
    door.flush();

    let written = count(&link.taken(), rules);
    if trouble == Trouble::WriterBreaks {
        // Each is on its way, in the hands of whoever owns the broken writer, or owed.
        assert!(written.is_empty());
        let unwritten = count(&door.unwritten(), rules);
        assert!(unwritten.values().all(|&count| count == 1));
        assert_eq!(unwritten.len() + owed.in_flight(), 3);
        drop(left);
        assert_eq!(owed.dropped().count(), owed.in_flight());
        return;
    }
    assert!(left.is_empty() && door.unwritten().is_empty());
    assert_eq!(written, expected, "{trouble:?}");
    assert_eq!(owed.in_flight(), 0);
    assert_eq!(owed.dropped().count(), 0);
}

/// `serve` and `answer` have tickets of their own, so to speak: what they are given is requests.
fn handle(trouble: Trouble) -> impl FnMut(Call<'_>) -> Result<Payload, RpcError> {
    move |call| {
        let is_troubled = call.id().is_some_and(|id| id.as_json() == trouble.ids()[1]);
        match trouble {
            // Nothing but a panic keeps a handler from returning something.
            Trouble::TicketDropped if is_troubled => panic!("on purpose"),
            _ if is_troubled => Ok(trouble.payload()),
            _ => Ok(Payload::Fine(json!({}))),
        }
    }
}

fn check_serve(trouble: Trouble) {
    common::quiet_panics_on_purpose();
    let rules = trouble.rules();
    let mut lines: Vec<String> = trouble.ids().iter().map(|id| request(id)).collect();
    match trouble {
        Trouble::DuplicateId => lines.insert(1, request("2")),
        Trouble::Cancelled => {
            lines.push(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#.to_owned());
        }
        _ => {}
    }
    let mut expected: HashMap<String, usize> = HashMap::new();
    for line in lines.iter().filter(|line| line.contains("\"id\"")) {
        let Ok(Frame::Message(message)) = Frame::parse(line.as_bytes(), &rules) else { panic!() };
        *expected.entry(message.id().unwrap().as_json().to_owned()).or_default() += 1;
    }
    for input in [lines.join("\n"), format!("[{}]", lines.join(","))] {
        if input.starts_with('[') && (!rules.allows_batches() || input.len() > rules.limits().max_line_len) {
            continue;
        }
        let link = Link::new();
        match trouble {
            Trouble::BacklogFull => link.set(State::Blocked),
            Trouble::WriterBreaks => link.set(State::Broken),
            _ => {}
        }
        let mut incidents = 0;
        let report = |incident: Incident<'_>| {
            assert!(!matches!(incident, Incident::Fault(_)), "{incident}");
            incidents += 1;
        };
        let served = serve_with(input.as_bytes(), link.clone(), rules, handle(trouble), report);
        if matches!(trouble, Trouble::BacklogFull | Trouble::WriterBreaks) {
            // Nothing is written, and the caller knows.
            assert!(served.is_err() && link.taken().is_empty());
            continue;
        }
        served.unwrap();
        assert_eq!(count(&link.taken(), rules), expected, "{trouble:?}");
        let is_reported = !matches!(trouble, Trouble::Cancelled | Trouble::DuplicateId);
        assert_eq!(incidents, usize::from(is_reported), "{trouble:?}");
    }
}

fn check_answer(trouble: Trouble) {
    common::quiet_panics_on_purpose();
    let rules = trouble.rules();
    let mut bodies: Vec<String> = trouble.ids().iter().map(|id| request(id)).collect();
    if trouble == Trouble::DuplicateId {
        bodies.insert(1, request("2"));
    }
    if rules.allows_batches() && trouble != Trouble::IdAtItsLimit {
        bodies.push(format!("[{}]", bodies.join(",\r\n")));
    }
    for body in bodies {
        let answer = answer_with(body.as_bytes(), &rules, handle(trouble), |_| {}).unwrap();
        assert!(!answer.ends_with(b"\n"));
        let expected = match Frame::parse(body.as_bytes(), &rules).unwrap() {
            Frame::Message(message) => vec![message.id().unwrap().as_json().to_owned()],
            Frame::Batch(batch) => {
                batch.iter().map(|entry| entry.unwrap().id().unwrap().as_json().to_owned()).collect()
            }
        };
        let mut counts = HashMap::new();
        expected.into_iter().for_each(|id| *counts.entry(id).or_default() += 1);
        assert_eq!(count(&answer, rules), counts, "{trouble:?}");
        assert_eq!(answer.starts_with(b"["), body.starts_with('['));
    }
}

/// A module for each door, with a test for each trouble.
macro_rules! doors {
    ($($(#[$attribute:meta])* $door:ident: $check:expr;)*) => {$(
        $(#[$attribute])*
        mod $door {
            use super::*;

            doors! { @ $check;
                not_a_number: NotANumber,
                refused_by_rules: RefusedByRules,
                payload_panics: PayloadPanics,
                too_long: TooLong,
                backlog_full: BacklogFull,
                writer_breaks: WriterBreaks,
                ticket_dropped: TicketDropped,
                cancelled: Cancelled,
                duplicate_id: DuplicateId,
                id_at_its_limit: IdAtItsLimit,
            }
        }
    )*};
    (@ $check:expr; $($test:ident: $trouble:ident,)*) => {$(
        #[test]
        fn $test() {
            $check(Trouble::$trouble);
        }
    )*};
}

doors! {
    own_encoder: check::<OwnEncoder>;
    send: check::<Writer<ONE_BY_ONE>>;
    several_in_one_send: check::<Writer<TOGETHER>>;
    batch: check::<Writer<BATCH>>;
    channel: check::<Channel>;
    task: check::<Task>;
    #[cfg(feature = "tokio")]
    tokio_framed: check::<framed::TokioFramed>;
    serve: check_serve;
    answer: check_answer;
}

/// A cancelled request under MCP rules gets no answer, by whichever door; not even as a part of something.
#[test]
fn cancelled_under_mcp() {
    fn check<D: Door>() {
        // Before the answer is made, and after.
        for early in [true, false] {
            let (link, owed) = (Link::new(), Inbound::new(Rules::mcp(), 10));
            let mut door = D::open(link.clone(), Rules::mcp());
            let mut answers = Vec::new();
            for id in 1..=3 {
                let ticket = admit(&owed, &id.to_string()).unwrap();
                if early && id == 2 {
                    assert!(owed.cancel(&Id::from(id)));
                }
                answers.push(ticket.respond(&json!({})));
            }
            assert!(early || owed.cancel(&Id::from(2)));
            assert!(door.send(&owed, answers).is_empty());
            assert_eq!(count(&link.taken(), Rules::mcp()), HashMap::from([("1".into(), 1), ("3".into(), 1)]));
            assert_eq!(owed.in_flight(), 0);
        }
    }
    check::<OwnEncoder>();
    check::<Writer<ONE_BY_ONE>>();
    check::<Writer<TOGETHER>>();
    check::<Writer<BATCH>>();
    check::<Channel>();
    check::<Task>();
    #[cfg(feature = "tokio")]
    check::<framed::TokioFramed>();
}

/// 1,000 requests with random ids and random fates get 1,000 responses.
#[test]
fn a_thousand_requests_get_a_thousand_responses() {
    fn check<D: Door>(seed: u64) {
        let rules = Rules::json_rpc();
        let (link, owed) = (Link::new(), Inbound::new(rules, 1000));
        let mut door = D::open(link.clone(), rules);
        let mut random = common::Random::new(seed);
        let mut expected = HashMap::new();
        let mut answers = Vec::new();
        for i in 0..1000 {
            let id = match random.below(4) {
                0 => i.to_string(),
                1 => format!("\"{i}-{}\"", "é".repeat(random.below(30))),
                2 => format!("{i}.5"),
                _ => format!("-{i}{}", "0".repeat(random.below(30))),
            };
            let ticket = match admit(&owed, &id) {
                Ok(ticket) => ticket,
                Err(refusal) => {
                    answers.push(refusal);
                    *expected.entry(id).or_default() += 1;
                    continue;
                }
            };
            *expected.entry(id).or_default() += 1;
            match random.below(5) {
                0 => answers.push(ticket.respond(&f64::NAN)),
                1 => drop(ticket),
                2 => answers.push(ticket.fail(&RpcError::internal())),
                _ => answers.push(ticket.respond(&"x".repeat(random.below(300)))),
            }
            if random.below(7) == 0 {
                assert!(door.send(&owed, std::mem::take(&mut answers)).is_empty());
            }
            if random.below(31) == 0 {
                let dropped = owed.dropped().collect();
                assert!(door.send(&owed, dropped).is_empty());
            }
        }
        answers.extend(owed.dropped());
        assert!(door.send(&owed, answers).is_empty());
        door.flush();
        assert_eq!(count(&link.taken(), rules), expected);
        assert_eq!(expected.values().sum::<usize>(), 1000);
        assert_eq!(owed.in_flight(), 0);
    }
    for seed in 0..5 {
        check::<OwnEncoder>(seed);
        check::<Writer<ONE_BY_ONE>>(seed);
        check::<Writer<TOGETHER>>(seed);
        check::<Writer<BATCH>>(seed);
        check::<Channel>(seed);
        check::<Task>(seed);
        #[cfg(feature = "tokio")]
        check::<framed::TokioFramed>(seed);
    }
}
