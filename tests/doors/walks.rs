//! 100,000 random walks through the table: what programs do with tickets and answers, in any order and on every path,
//! with links that block and break. Four threads share each ledger.
//!
//! The model is naive: it counts the admitted requests for each id. In the end, as many responses must have been
//! written or returned with a broken writer.

use std::collections::HashMap;
use std::io::{self, Read};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Barrier, Mutex};
use std::thread;

use serde_json::{Value, json};
use wireline::connection::Call;
use wireline::io::{answer_with, serve_with};
use wireline::ledger::{Answer, Inbound, Refusal, Ticket};
use wireline::{Id, RpcError, Rules};

#[cfg(feature = "tokio")]
use super::framed;
use super::thousand::handler;
use super::{
    BATCH, Channel, Door, Link, ONE_BY_ONE, OwnEncoder, Payload, State, TOGETHER, Task, Writer, admit, common, count,
    request,
};

const WALKS: usize = 100_000;
const THREADS: usize = 4;
const STEPS: usize = 24;
/// So few that several threads often use the same id.
const IDS: usize = 12;

type Walk = fn(&Inbound, Rules, &mut common::Random) -> Seen;

const DOORS: &[Walk] = &[
    walk::<OwnEncoder>,
    walk::<Writer<ONE_BY_ONE>>,
    walk::<Writer<TOGETHER>>,
    walk::<Writer<BATCH>>,
    walk::<Channel>,
    walk::<Task>,
    #[cfg(feature = "tokio")]
    walk::<framed::TokioFramed>,
    serve_session,
    answer_bodies,
];

/// What happened to requests, by id.
#[derive(Default)]
struct Seen {
    admitted: HashMap<u64, usize>,
    refused: HashMap<u64, usize>,
    cancelled: HashMap<u64, usize>,
    /// Everything that was written, or accepted to be written.
    lines: Vec<u8>,
}

impl Seen {
    fn merge(&mut self, other: Self) {
        let maps = [
            (&mut self.admitted, other.admitted),
            (&mut self.refused, other.refused),
            (&mut self.cancelled, other.cancelled),
        ];
        for (all, some) in maps {
            some.into_iter().for_each(|(id, count)| *all.entry(id).or_default() += count);
        }
        self.lines.extend(other.lines);
    }
}

/// One end of a connection, with the tickets and answers that its program holds.
struct Walker<'o, D> {
    owed: &'o Inbound,
    rules: Rules,
    link: Link,
    door: D,
    tickets: Vec<Ticket>,
    answers: Vec<Answer>,
    seen: Seen,
}

fn walk<D: Door>(owed: &Inbound, rules: Rules, random: &mut common::Random) -> Seen {
    let link = Link::new();
    let door = D::open(link.clone(), rules);
    let mut walker =
        Walker { owed, rules, link, door, tickets: Vec::new(), answers: Vec::new(), seen: Seen::default() };
    for _ in 0..random.below(STEPS) {
        walker.step(random);
    }
    walker.end()
}

impl<D: Door> Walker<'_, D> {
    fn step(&mut self, random: &mut common::Random) {
        match random.below(16) {
            0..5 => self.admit(1 + random.below(IDS) as u64),
            5..10 => {
                let Some(ticket) = take(&mut self.tickets, random) else { return };
                let payload = match random.below(8) {
                    0 => return drop(ticket),
                    1 => return self.answers.push(ticket.fail(&RpcError::invalid_params("no such thing"))),
                    2 => Payload::NotANumber,
                    3 => Payload::Panics,
                    4 => Payload::Fine(json!({"text": "x".repeat(3000)})),
                    // MCP has no such results.
                    5 => Payload::Fine(json!([1])),
                    _ => Payload::Fine(json!({"a": random.below(1000)})),
                };
                self.answers.extend(catch_unwind(AssertUnwindSafe(|| ticket.respond(&payload))));
            }
            10 => drop(take(&mut self.answers, random)),
            11 => {
                let id = 1 + random.below(IDS) as u64;
                if self.owed.cancel(&Id::from(id)) {
                    *self.seen.cancelled.entry(id).or_default() += 1;
                }
            }
            12 => self.link.set([State::Open, State::Blocked][random.below(2)]),
            13 if D::KNOWS_WHAT_IS_LOST => self.replace_link(),
            13 | 14 => {
                let dropped = self.owed.dropped().collect();
                self.send(dropped);
            }
            _ => {
                let some = self.answers.len() - random.below(self.answers.len() + 1);
                let answers = self.answers.split_off(self.answers.len() - some);
                self.send(answers);
            }
        }
    }

    fn admit(&mut self, id: u64) {
        match admit(self.owed, &id.to_string()) {
            Ok(ticket) => {
                *self.seen.admitted.entry(id).or_default() += 1;
                self.tickets.push(ticket);
            }
            Err(refusal) => {
                assert_eq!(refusal.refusal(), Some(Refusal::Duplicate));
                *self.seen.refused.entry(id).or_default() += 1;
                self.answers.push(refusal);
            }
        }
    }

    /// Sends answers, and keeps those that are handed back.
    fn send(&mut self, answers: Vec<Answer>) {
        if !answers.is_empty() {
            self.answers.extend(self.door.send(self.owed, answers));
        }
    }

    /// The link breaks while something is sent, and another one takes its place.
    fn replace_link(&mut self) {
        self.link.set(State::Broken);
        let answers = mem::take(&mut self.answers);
        self.send(answers);
        self.door.flush();
        let link = Link::new();
        let door = mem::replace(&mut self.door, D::open(link.clone(), self.rules));
        self.seen.lines.extend(mem::replace(&mut self.link, link).taken());
        self.seen.lines.extend(door.unwritten());
    }

    /// Drops its tickets, and sends everything that is left.
    fn end(mut self) -> Seen {
        self.link.set(State::Open);
        self.tickets.clear();
        let mut rounds = 0;
        while !self.answers.is_empty() {
            rounds += 1;
            assert!(rounds < 100, "answers are handed back again and again");
            self.door.flush();
            let answers = mem::take(&mut self.answers);
            self.send(answers);
        }
        self.door.flush();
        self.seen.lines.extend(self.link.taken());
        assert!(self.door.unwritten().is_empty());
        self.seen
    }
}

/// Requests as lines or bodies, some of which are batches, with other lines between them; and how many there are of each id.
fn random_lines(rules: Rules, random: &mut common::Random) -> (Vec<String>, HashMap<String, usize>) {
    let mut expected = HashMap::new();
    let lines = (0..random.below(STEPS)).map(|_| {
        let len = if rules.allows_batches() { 1 + random.below(3) } else { 1 };
        let requests: Vec<_> = (0..len)
            .map(|_| {
                let id = (1 + random.below(IDS)).to_string();
                let line = request(&id);
                *expected.entry(id).or_default() += 1;
                line
            })
            .collect();
        match random.below(6) {
            0 => format!("Listening\n{}", requests.join("\n")),
            _ if len == 1 => requests.concat(),
            _ => format!("[{}]", requests.join(",")),
        }
    });
    (lines.collect(), expected)
}

/// Reads a few bytes at a time, so that there is something to write in between.
struct Sips<'b>(&'b [u8], usize);

impl Read for Sips<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let some = room.len().min(self.1);
        self.0.read(&mut room[..some])
    }
}

/// `serve` keeps a ledger of its own, so to speak. If its link breaks, it ends, and says so.
fn serve_session(_: &Inbound, rules: Rules, random: &mut common::Random) -> Seen {
    let (lines, expected) = random_lines(rules, random);
    let input = lines.join("\n");
    let (link, mut calls) = (Link::new(), 0);
    let breaks_at = if random.below(4) == 0 { 1 + random.below(STEPS) } else { usize::MAX };
    let mut handle = handler(random.below(1 << 30) as u64);
    let counting = |call: Call<'_>| {
        calls += 1;
        if calls == breaks_at {
            link.set([State::Blocked, State::Broken][calls % 2]);
        }
        handle(call)
    };
    let reader = Sips(input.as_bytes(), 1 + random.below(300));
    let served = serve_with(reader, link.clone(), rules, counting, |_| {});
    let mut found = count(&link.taken(), rules);
    // Those to lines that are no messages.
    found.remove("null");
    match served {
        Ok(()) => assert_eq!(found, expected, "{input}"),
        Err(_) => {
            assert!(calls >= breaks_at);
            assert!(found.iter().all(|(id, responses)| *responses <= expected[id]), "{found:?} to {input}");
        }
    }
    Seen::default()
}

fn answer_bodies(_: &Inbound, rules: Rules, random: &mut common::Random) -> Seen {
    let (lines, expected) = random_lines(rules, random);
    let mut handle = handler(random.below(1 << 30) as u64);
    let mut found = HashMap::new();
    for body in lines.iter().flat_map(|line| line.lines()) {
        let answer = answer_with(body.as_bytes(), &rules, &mut handle, |_| {}).unwrap_or_default();
        // An answer to a batch may be longer than a line.
        for (id, responses) in count(&answer, Rules::json_rpc()) {
            *found.entry(id).or_default() += responses;
        }
    }
    found.remove("null");
    assert_eq!(found, expected, "{lines:?}");
    Seen::default()
}

fn take<T>(from: &mut Vec<T>, random: &mut common::Random) -> Option<T> {
    if from.is_empty() { None } else { Some(from.swap_remove(random.below(from.len()))) }
}

/// Responses by id: of refusals, and others.
fn responses(lines: &[u8]) -> [HashMap<u64, usize>; 2] {
    let mut counts = [HashMap::new(), HashMap::new()];
    for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let entries = match serde_json::from_slice(line).unwrap() {
            Value::Array(entries) => entries,
            one => vec![one],
        };
        for entry in entries {
            assert_ne!(entry.get("result").is_some(), entry.get("error").is_some());
            let is_refusal = entry["error"]["message"] == Refusal::Duplicate.error().message();
            *counts[usize::from(!is_refusal)].entry(entry["id"].as_u64().unwrap()).or_default() += 1;
        }
    }
    counts
}

fn check(seed: u64, rules: Rules, answers_cancelled: bool, seen: &Seen) {
    let [refusals, answers] = responses(&seen.lines);
    for id in 1..=IDS as u64 {
        let count = |map: &HashMap<u64, usize>| map.get(&id).copied().unwrap_or_default();
        let (admitted, answered) = (count(&seen.admitted), count(&answers));
        let silent = if answers_cancelled { 0 } else { count(&seen.cancelled) };
        assert!(
            answered <= admitted && answered + silent >= admitted,
            "seed {seed}, {rules:?}, id {id}: {admitted} admitted, {silent} cancelled, {answered} answered"
        );
        // A refusal that a broken writer drops is lost, because the ledger doesn't track it.
        assert!(count(&refusals) <= count(&seen.refused), "seed {seed}, {rules:?}, id {id}: too many refusals");
    }
}

#[test]
fn exactly_one_response_by_every_door() {
    common::quiet_panics_on_purpose();
    let groups = (WALKS / THREADS) as u64;
    let (start, end) = (Barrier::new(THREADS), Barrier::new(THREADS));
    let (ledger, all) = (Mutex::new(Inbound::new(Rules::json_rpc(), 100)), Mutex::new(Seen::default()));
    // A thread that panics would leave the others at a barrier, so it tells them, and all end together.
    let failure = Mutex::new(None);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (start, end, ledger, all, failure) = (&start, &end, &ledger, &all, &failure);
            scope.spawn(move || {
                for group in 0..groups {
                    let is_mcp = group % 2 == 1;
                    let rules = if is_mcp { Rules::mcp() } else { Rules::json_rpc() }.max_line_len(2000);
                    if thread == 0 {
                        // Now and then large enough for several shards.
                        *ledger.lock().unwrap() = Inbound::new(rules, if group % 8 == 0 { 10_000 } else { 100 });
                    }
                    start.wait();
                    let owed = ledger.lock().unwrap().clone();
                    let mut random = common::Random::new(group * THREADS as u64 + thread as u64);
                    let door = DOORS[random.below(DOORS.len())];
                    match catch_unwind(AssertUnwindSafe(|| door(&owed, rules, &mut random))) {
                        Ok(seen) => all.lock().unwrap().merge(seen),
                        Err(_) => *failure.lock().unwrap() = Some(group),
                    }
                    if end.wait().is_leader() {
                        let mut seen = mem::take(&mut *all.lock().unwrap());
                        let checked = catch_unwind(AssertUnwindSafe(|| {
                            // Answers that nobody has sent are still owed, and can still be sent.
                            seen.lines.extend(owed.dropped().flat_map(Answer::accept));
                            assert_eq!(owed.in_flight(), 0);
                            check(group, rules, !is_mcp, &seen);
                        }));
                        if checked.is_err() {
                            *failure.lock().unwrap() = Some(group);
                        }
                    }
                    end.wait();
                    if failure.lock().unwrap().is_some() {
                        return;
                    }
                }
            });
        }
    });
    assert_eq!(failure.into_inner().unwrap(), None, "the group of walks that failed");
}
