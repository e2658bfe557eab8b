//! The cost of a request through a connection, beside a loop written by hand: decoder, map of ids in flight, encoder.
//!
//! All contenders take turns, and the fastest round of each counts: on a busy machine that is the one that nothing else
//! got in the way of.
//!
//! ```console
//! $ cargo bench --manifest-path benches/Cargo.toml --bench connection
//! ```

use std::collections::HashSet;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use wireline::connection::{Config, Connection, Event, Ticket};
use wireline::{Decoder, Encoder, Frame, Id, Message, Rules};

const ROUNDS: usize = 300;
/// As much as is usually read at once.
const READ: usize = 16 << 10;
const IN_FLIGHT: usize = 2_000_000;

/// Requests with consecutive ids, each of about `len` bytes.
fn requests(len: usize, count: usize) -> Vec<u8> {
    let line = |id: usize, text: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"echo\",\"params\":[\"{text}\"]}}\n")
    };
    let text = "x".repeat(len.saturating_sub(line(count, "").len()));
    (0..count).flat_map(|id| line(id, &text).into_bytes()).collect()
}

fn through_a_connection(connection: &mut Connection<()>, stream: &[u8]) {
    for chunk in stream.chunks(READ) {
        connection.feed(chunk);
        while let Some(event) = connection.next_event() {
            if let Event::Request(request, ticket) = event {
                ticket.respond(&request.method());
            }
        }
        let len = black_box(connection.pending()).len();
        connection.advance(len);
    }
}

/// Refuses repeated ids, and does nothing about batches, bad lines, cancellation or handlers in other threads.
fn by_hand(stream: &[u8]) {
    let rules = Rules::json_rpc();
    let (mut decoder, mut out) = (Decoder::new(rules), BytesMut::new());
    let mut in_flight: HashSet<Id<'static>> = HashSet::new();
    for chunk in stream.chunks(READ) {
        decoder.feed(chunk);
        while let Some(frame) = decoder.next_frame() {
            if let Ok(Frame::Message(Message::Request(request))) = frame {
                let id = request.id().clone().into_owned();
                assert!(in_flight.insert(id.clone()));
                Encoder::append_to(&mut out, rules).response(&id, &request.method()).expect("it fits");
                in_flight.remove(&id);
            }
        }
        black_box(&out);
        out.clear();
    }
}

/// Tickets that are answered by another thread.
fn from_a_thread(stream: &[u8], count: usize) {
    let mut connection: Connection<()> = Connection::new(Config::new(Rules::json_rpc()).backlog(usize::MAX));
    let (sender, receiver) = std::sync::mpsc::channel::<Ticket>();
    let answering = thread::spawn(move || receiver.into_iter().for_each(|ticket| ticket.respond(&1)));
    let mut written = 0;
    for chunk in stream.chunks(READ) {
        connection.feed(chunk);
        while let Some(event) = connection.next_event() {
            if let Event::Request(_, ticket) = event {
                sender.send(ticket).expect("the thread answers");
            }
        }
        while connection.in_flight() > 512 {
            thread::yield_now();
        }
        let pending = connection.pending();
        written += pending.iter().filter(|&&byte| byte == b'\n').count();
        let len = pending.len();
        connection.advance(len);
    }
    drop(sender);
    answering.join().expect("the thread ends");
    written += connection.pending().iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(written, count);
}

type Contender<'c> = (String, Box<dyn FnMut() + 'c>);

/// Lets contenders take turns, and prints the fastest round of each, and the median, per request.
fn compare(title: &str, count: usize, mut contenders: Vec<Contender<'_>>) {
    let rounds = if is_test() { 1 } else { ROUNDS };
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for _ in 0..rounds {
        for ((_, run), times) in contenders.iter_mut().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed());
        }
    }
    println!("{title}");
    for ((name, _), times) in contenders.iter().zip(&mut times) {
        times.sort_unstable();
        let per_request = |time: Duration| time.as_nanos() as f64 / count as f64;
        let (fastest, median) = (per_request(times[0]), per_request(times[times.len() / 2]));
        println!("  {name:<40} {fastest:8.1} ns  (median {median:8.1})");
    }
}

/// `cargo test --benches` passes `--test`.
fn is_test() -> bool {
    std::env::args().any(|arg| arg == "--test")
}

fn main() {
    for len in [60, 1000] {
        let count = (1 << 20) / len;
        let stream = &requests(len, count);
        let mut contenders: Vec<Contender<'_>> = vec![("by hand".to_owned(), Box::new(|| by_hand(stream)))];
        for held in [0, 1_000, 1_000_000] {
            let mut connection = Connection::new(Config::new(Rules::json_rpc()).in_flight(IN_FLIGHT));
            let mut tickets = Vec::new();
            for id in 0..held {
                connection.feed(format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"method\":\"m\"}}\n").as_bytes());
                let Some(Event::Request(_, ticket)) = connection.next_event() else { panic!("a request") };
                tickets.push(ticket);
            }
            let run = move || {
                black_box(&tickets);
                through_a_connection(&mut connection, stream);
            };
            contenders.push((format!("a connection, {held} others in flight"), Box::new(run)));
        }
        contenders.push(("answers from another thread".to_owned(), Box::new(|| from_a_thread(stream, count))));
        compare(&format!("requests of {len} bytes"), count, contenders);
    }
}
