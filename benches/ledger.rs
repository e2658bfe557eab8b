//! The cost of a request in the ledger, beside what programs write by hand: a `Mutex<HashMap>` of ids.
//!
//! All contenders take turns in short rounds, and the fastest round of each counts: on a busy machine that is the one
//! that nothing else got in the way of. Answering includes encoding, except where it says so. On several threads, rounds
//! are longer, so that the threads run at the same time.
//!
//! ```console
//! $ cargo bench --manifest-path benches/Cargo.toml --bench ledger
//! ```

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use wireline::ledger::{Answer, Inbound, Outbound, Ticket};
use wireline::{Encoder, Frame, Id, Message, Request, RpcError, Rules};

/// Operations in a round of one thread: some 100 microseconds.
const ROUND: usize = 1000;
const ROUNDS: usize = 2000;

/// Parses a line into an owned message.
fn message(line: &str) -> Message<'static> {
    match Frame::parse(line.as_bytes(), &Rules::json_rpc()) {
        Ok(Frame::Message(message)) => message.into_owned(),
        other => panic!("{other:?}"),
    }
}

fn request(id: &str) -> Request<'static> {
    match message(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)) {
        Message::Request(request) => request,
        other => panic!("{other:?}"),
    }
}

/// Consecutive ids, as clients make them, so that none is measured over and over again.
fn requests(from: u64) -> Vec<Request<'static>> {
    (0..1024).map(|i| request(&(from + i).to_string())).collect()
}

/// Something that admits a request, answers it, and appends the line.
trait Ledger: Sync {
    fn admit_and_answer(&self, request: &Request<'_>, out: &mut BytesMut);
}

impl Ledger for Inbound {
    fn admit_and_answer(&self, request: &Request<'_>, out: &mut BytesMut) {
        let ticket = self.admit(request).expect("there is room");
        ticket.respond(&1).accept_into(out);
    }
}

/// What is in flight, and whether it was cancelled.
#[derive(Default)]
struct ByHand(Mutex<HashMap<Id<'static>, Arc<AtomicBool>>>);

impl Ledger for ByHand {
    fn admit_and_answer(&self, request: &Request<'_>, out: &mut BytesMut) {
        let cancelled = Arc::new(AtomicBool::new(false));
        let id = request.id().clone().into_owned();
        assert!(self.0.lock().expect("no panics").insert(id.clone(), Arc::clone(&cancelled)).is_none());
        let line = wireline::to_line(&Rules::json_rpc(), |encoder| encoder.response(&id, &1)).expect("it fits");
        if !cancelled.load(Ordering::Relaxed) {
            out.extend_from_slice(line.as_bytes());
        }
        self.0.lock().expect("no panics").remove(&id);
    }
}

/// Only the encoding, into a buffer that is used again.
struct Encoding;

impl Ledger for Encoding {
    fn admit_and_answer(&self, request: &Request<'_>, out: &mut BytesMut) {
        Encoder::append_to(out, Rules::json_rpc()).response(request.id(), &1).expect("it fits");
    }
}

/// The ledger alone, without the encoding.
struct Unencoded(Inbound);

impl Ledger for Unencoded {
    fn admit_and_answer(&self, request: &Request<'_>, out: &mut BytesMut) {
        let ticket = self.0.admit(request).expect("there is room");
        ticket.answer_without_encoding().accept_into(out);
    }
}

/// What is done in a round, and how many operations that is.
struct Contender<'c> {
    name: String,
    operations: usize,
    /// Returns how long a round took.
    run: Box<dyn FnMut() -> Duration + 'c>,
}

fn timed(mut run: impl FnMut()) -> impl FnMut() -> Duration {
    move || {
        let start = Instant::now();
        run();
        start.elapsed()
    }
}

/// Lets contenders take turns, and prints the fastest round of each, and the median, per operation.
fn compare(title: &str, rounds: usize, mut contenders: Vec<Contender<'_>>) {
    let rounds = if is_test() { 1 } else { rounds };
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for _ in 0..rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            times.push((contender.run)());
        }
    }
    println!("{title}");
    for (Contender { name, operations, .. }, times) in contenders.iter().zip(&mut times) {
        times.sort_unstable();
        let per_operation = |time: Duration| time.as_nanos() as f64 / *operations as f64;
        let (fastest, median) = (per_operation(times[0]), per_operation(times[times.len() / 2]));
        println!("  {name:<40} {fastest:8.1} ns  (median {median:8.1})");
    }
}

fn contender<'c>(name: &str, ledger: &'c (impl Ledger + 'c), requests: &'c [Request<'static>]) -> Contender<'c> {
    let mut out = BytesMut::new();
    let mut next = requests.iter().cycle();
    let run = move || {
        for _ in 0..ROUND {
            out.clear();
            ledger.admit_and_answer(black_box(next.next().expect("a cycle")), &mut out);
            black_box(&out);
        }
    };
    Contender { name: name.to_owned(), operations: ROUND, run: Box::new(timed(run)) }
}

fn inbound() {
    let new = requests(5_000_000);
    for in_flight in [1, 1_000, 1_000_000] {
        let owed = Inbound::new(Rules::json_rpc(), 2_000_000);
        let unencoded = Unencoded(owed.clone());
        let admit = |id: u64| owed.admit(&request(&id.to_string())).expect("there is room");
        let tickets: Vec<Ticket> = (0..in_flight).map(admit).collect();
        let by_hand = ByHand::default();
        let insert = |id: u64| by_hand.0.lock().expect("no panics").insert(Id::from(id), Arc::default());
        assert!((0..in_flight).map(insert).all(|before| before.is_none()));
        compare(
            &format!("admit and answer, integer ids, {in_flight} others in flight"),
            ROUNDS,
            vec![
                contender("wireline, without encoding", &unencoded, &new),
                contender("wireline", &owed, &new),
                contender("by hand", &by_hand, &new),
                contender("encoding alone", &Encoding, &new),
            ],
        );
        assert_eq!(owed.in_flight() as u64, in_flight);
        owed.answer_rest(&RpcError::internal()).into_iter().map(Answer::accept).for_each(drop);
        assert_eq!((owed.in_flight(), tickets.len() as u64), (0, in_flight));
    }
    let owed = Inbound::new(Rules::json_rpc(), 2_000_000);
    let unencoded = Unencoded(owed.clone());
    let strings: Vec<_> = (0..1024).map(|i| request(&format!("\"request-{i}\""))).collect();
    let uuids: Vec<_> = (0..1024).map(|i| request(&format!("\"{i:08x}-8e6b-4fd6-9c1c-0a2b3c4d5e6f\""))).collect();
    compare(
        "admit and answer, strings, none in flight, without encoding",
        ROUNDS,
        vec![contender("short strings", &unencoded, &strings), contender("UUIDs", &unencoded, &uuids)],
    );
}

/// Requests in all, from several threads that have ids of their own, on one ledger.
fn threads() {
    let (owed, by_hand) = (Inbound::new(Rules::json_rpc(), 2_000_000), ByHand::default());
    let unencoded = Unencoded(owed.clone());
    let crowded = Unencoded(Inbound::new(Rules::json_rpc(), 2_000_000));
    let admit = |id: u64| crowded.0.admit(&request(&id.to_string())).expect("there is room");
    let _others: Vec<Ticket> = (100_000_000..100_001_000).map(admit).collect();
    let ledgers: [(&str, &dyn Ledger); 4] = [
        ("wireline, without encoding", &unencoded),
        ("the same, 1000 others in flight", &crowded),
        ("wireline", &owed),
        ("by hand", &by_hand),
    ];
    let mut contenders = Vec::new();
    for (name, ledger) in ledgers {
        for threads in [1, 2, 16] {
            let requests: Vec<_> = (0..threads).map(|thread| requests(thread * 1_000_000)).collect();
            contenders.push((format!("{name}, {threads} threads"), ledger, requests, Vec::new()));
        }
    }
    for _ in 0..if is_test() { 1 } else { 30 } {
        for (_, ledger, requests, rounds) in &mut contenders {
            rounds.push(in_parallel(*ledger, requests));
        }
    }
    println!("admit and answer on several threads, time for each of all requests, and the CPUs in use");
    for (name, _, _, rounds) in &mut contenders {
        rounds.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let ((fastest, cpus), (median, usual_cpus)) = (rounds[0], rounds[rounds.len() / 2]);
        println!("  {name:<44} {fastest:6.1} ns, {cpus:.1}  (median {median:6.1}, {usual_cpus:.1})");
    }
}

/// Threads that admit and answer requests for a while. Returns the nanoseconds that passed for each request of them all,
/// and how many CPUs they used.
///
/// Counting begins some time after the last thread has started, because the system needs a while to spread threads over
/// the CPUs. Threads that take turns on one CPU don't disturb each other, which would look faster than it is.
fn in_parallel(ledger: &dyn Ledger, requests: &[Vec<Request<'static>>]) -> (f64, f64) {
    let (warm_up, measured) = if is_test() { (1, 1) } else { (15, 30) };
    let barrier = Barrier::new(requests.len() + 1);
    let (is_counting, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let work = |requests: &[Request<'static>]| {
        let (mut out, mut count, mut cpu_time) = (BytesMut::new(), 0_u64, None);
        barrier.wait();
        for request in requests.iter().cycle() {
            out.clear();
            ledger.admit_and_answer(black_box(request), &mut out);
            if is_counting.load(Ordering::Relaxed) {
                cpu_time.get_or_insert_with(thread_cpu_time);
                count += 1;
            }
            if is_over.load(Ordering::Relaxed) {
                break;
            }
        }
        (count, thread_cpu_time().saturating_sub(cpu_time.unwrap_or_default()))
    };
    thread::scope(|scope| {
        let threads: Vec<_> = requests.iter().map(|requests| scope.spawn(|| work(requests))).collect();
        barrier.wait();
        thread::sleep(Duration::from_millis(warm_up));
        let start = Instant::now();
        is_counting.store(true, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(measured));
        is_over.store(true, Ordering::Relaxed);
        let passed = start.elapsed();
        let done: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panics")).collect();
        let count: u64 = done.iter().map(|(count, _)| count).sum();
        let cpu_time: Duration = done.iter().map(|(_, cpu_time)| cpu_time).sum();
        (passed.as_nanos() as f64 / count as f64, cpu_time.as_secs_f64() / passed.as_secs_f64())
    })
}

/// The time that the current thread has run. Zero where the system doesn't say it in this way.
fn thread_cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

fn cancellation() {
    let owed = Inbound::new(Rules::json_rpc(), 1000);
    let tickets = [1, 2].map(|id| owed.admit(&request(&id.to_string())).expect("there is room"));
    assert!(owed.cancel(&Id::from(2)));
    let ask = || {
        for _ in 0..ROUND {
            assert!(!black_box(&tickets[0]).is_cancelled());
        }
    };
    let contender = Contender { name: "is_cancelled".to_owned(), operations: ROUND, run: Box::new(timed(ask)) };
    compare("cancellation", ROUNDS, vec![contender]);
    assert!(tickets[1].is_cancelled());
}

fn outbound() {
    for in_flight in [1, 1_000, 1_000_000] {
        let mut asked = Outbound::new(2_000_000);
        for value in 0..in_flight {
            asked.issue(value).expect("there is room");
        }
        let mut next = in_flight;
        let responses = |from: u64| {
            (from..from + ROUND as u64).map(|id| message(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#)))
        };
        // Ids are counted, so each response is only good once. Making them isn't measured.
        let mut times = Vec::new();
        for _ in 0..if is_test() { 1 } else { ROUNDS / 4 } {
            let responses: Vec<_> = responses(next + 1).collect();
            let start = Instant::now();
            for response in &responses {
                let Message::Response(response) = response else { panic!("it is a response") };
                black_box(asked.issue(black_box(next)).expect("there is room"));
                assert_eq!(asked.settle(response), Ok(next));
            }
            times.push(start.elapsed());
            next += ROUND as u64;
        }
        let fastest = times.iter().min().expect("there are rounds").as_nanos() as f64 / ROUND as f64;
        println!("issue and settle, {in_flight} others in flight\n  {:<40} {fastest:8.1} ns", "wireline");
    }
}

fn is_test() -> bool {
    std::env::args().any(|argument| argument == "--test")
}

fn main() {
    inbound();
    threads();
    cancellation();
    outbound();
}
