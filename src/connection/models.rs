//! Models of what threads do to a connection at the same time, for loom: see [`crate::sync`].
//!
//! A waker that isn't woken leaves a model with threads that all wait, which is a failure.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use loom::future::block_on;
use loom::thread::JoinHandle;

use crate::encode::RpcError;
use crate::ledger::Number;
use crate::message::{Id, Rules};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{check, spawn};

use super::link::{Until, Writable};
use super::{CallError, Caller, Config, Connection, Event, Link, Peer, SendError, Ticket};

/// What a thread does, before it answers its request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    /// Answers.
    Respond,
    /// Drops its ticket instead.
    Drop,
    /// Waits until its request is cancelled.
    AwaitCancelled,
    /// Sends a notification, and waits for room.
    Notify,
    /// Sends a notification, and takes it back if there is no room yet.
    GiveUpNotifying,
    /// Makes a call, and waits for its outcome. The peer doesn't respond.
    Call,
    /// Makes a call, and drops its reply.
    GiveUpCalling,
    /// Cancels the other thread's request, as the peer does.
    Cancel,
    /// Answers in place of the other thread, as at a deadline.
    Expire,
    Abort,
    Close,
    End,
}

const ACTS: [Act; 12] = [
    Act::Respond,
    Act::Drop,
    Act::AwaitCancelled,
    Act::Notify,
    Act::GiveUpNotifying,
    Act::Call,
    Act::GiveUpCalling,
    Act::Cancel,
    Act::Expire,
    Act::Abort,
    Act::Close,
    Act::End,
];

impl Act {
    /// Whether it stops the other thread's request.
    fn stops_other(self) -> bool {
        matches!(self, Self::Cancel | Self::Expire | Self::Abort)
    }

    fn sends(self) -> bool {
        matches!(self, Self::Notify | Self::GiveUpNotifying | Self::Call | Self::GiveUpCalling)
    }
}

/// A thread, with the request that it answers and the other's.
struct Actor {
    ticket: Ticket,
    peer: Peer<Caller>,
    other: (Id<'static>, Number),
}

impl Actor {
    /// Does one thing, and returns whether a notification was sent, if it is known.
    fn act(self, act: Act) -> Option<bool> {
        let Self { ticket, peer, other: (id, number) } = self;
        let link = Arc::clone(&peer.shared.link);
        let mut is_sent = Some(false);
        match act {
            Act::Respond | Act::Drop => {}
            Act::AwaitCancelled => block_on(ticket.cancelled()),
            Act::Notify => match block_on(peer.notify("n", &())) {
                Ok(()) => is_sent = Some(true),
                Err(SendError::Closed) => {}
                Err(error) => panic!("{error}"),
            },
            Act::GiveUpNotifying => {
                let sending = pin!(peer.notify("n", &()));
                is_sent = match sending.poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(Ok(())) => Some(true),
                    Poll::Ready(Err(_)) => Some(false),
                    Poll::Pending => None,
                };
            }
            Act::Call => {
                let outcome = block_on(peer.call::<()>("c", &()));
                assert!(matches!(outcome, Err(CallError::Send(SendError::Closed) | CallError::Lost(_))));
            }
            Act::GiveUpCalling => drop(peer.call::<()>("c", &())),
            Act::Cancel => drop(link.cancel(&id)),
            Act::Expire => link.expire(number, &RpcError::new(1, "too late")),
            Act::Abort => link.abort(&RpcError::new(2, "aborted")),
            Act::Close => link.close(),
            Act::End => link.end(),
        }
        match act {
            Act::Drop => drop(ticket),
            _ => ticket.respond(&true),
        }
        is_sent
    }

    fn start(self, act: Act) -> JoinHandle<Option<bool>> {
        spawn(move || self.act(act))
    }
}

/// A connection with two requests, after which its peer has closed its side, and two threads for them. There is room to
/// send only while nothing is queued.
fn two_requests(in_batch: bool) -> (Connection<Caller>, [Actor; 2]) {
    let mut connection = Connection::new(Config::new(Rules::json_rpc()).backlog(0));
    let [first, second] = [1, 2].map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#));
    match in_batch {
        true => connection.feed(format!("[{first},{second}]\n").as_bytes()),
        false => connection.feed(format!("{first}\n{second}\n").as_bytes()),
    }
    connection.finish();
    let [first, second] = [(); 2].map(|()| match connection.next_event() {
        Some(Event::Request(_, ticket)) => ticket,
        event => panic!("{event:?}"),
    });
    let name = |ticket: &Ticket| (ticket.id().clone(), ticket.number().unwrap());
    let names = (name(&first), name(&second));
    let actors = [
        Actor { ticket: first, peer: connection.peer(), other: names.1 },
        Actor { ticket: second, peer: connection.peer(), other: names.0 },
    ];
    (connection, actors)
}

/// Does what a driver does until everything is written, and returns that.
fn drive(connection: &mut Connection<Caller>) -> String {
    let mut output = Vec::new();
    loop {
        while connection.next_event().is_some() {}
        let bytes = connection.pending();
        output.extend_from_slice(bytes);
        let written = bytes.len();
        connection.advance(written);
        if connection.is_done() {
            return String::from_utf8(output).unwrap();
        }
        block_on(poll_fn(|cx| connection.poll_wake(cx)));
    }
}

fn answers(output: &str, id: &str) -> usize {
    output.matches(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result""#)).count()
        + output.matches(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error""#)).count()
}

/// Every pair of acts, each in its own thread.
fn every_pair(mut model: impl FnMut(Act, Act)) {
    for (at, &first) in ACTS.iter().enumerate() {
        for &second in &ACTS[at..] {
            model(first, second);
        }
    }
}

/// Whether a thread would wait for a cancellation that doesn't come, or send something after the other has answered in its
/// place, when the driver may have finished.
fn comes_too_late(act: Act, other: Act) -> bool {
    act == Act::AwaitCancelled && !other.stops_other() || act.sends() && matches!(other, Act::Expire | Act::Abort)
}

fn one_answer_to_each(in_batch: bool) {
    every_pair(|first, second| {
        if comes_too_late(first, second) || comes_too_late(second, first) {
            return;
        }
        check(&format!("{first:?} and {second:?}"), 1, move || {
            let (mut connection, [one, two]) = two_requests(in_batch);
            let threads = [one.start(first), two.start(second)];
            let output = drive(&mut connection);
            let sent = threads.map(|thread| thread.join().unwrap());
            assert_eq!([answers(&output, "1"), answers(&output, "2")], [1, 1], "{output}");
            let least = sent.iter().filter(|sent| **sent == Some(true)).count();
            let most = sent.iter().filter(|sent| **sent != Some(false)).count();
            let written = output.matches(r#""method":"n""#).count();
            assert!((least..=most).contains(&written), "{sent:?}: {output}");
            assert_eq!(output.starts_with('[') || output.contains("\n["), in_batch, "{output}");
            assert_eq!((connection.in_flight(), connection.pending().len()), (0, 0));
            assert!(connection.is_done());
        });
    });
}

#[test]
fn every_request_is_answered_once() {
    one_answer_to_each(false);
}

#[test]
fn every_entry_of_a_batch_is_answered_once() {
    one_answer_to_each(true);
}

/// When the connection is dropped, all threads come to an end.
#[test]
fn nothing_waits_for_a_connection_that_is_gone() {
    every_pair(|first, second| {
        check(&format!("{first:?}, {second:?} and the drop of the connection"), 2, move || {
            let (mut connection, [one, two]) = two_requests(false);
            let threads = [one.start(first), two.start(second)];
            let written = connection.pending().len();
            connection.advance(written);
            drop(connection);
            for thread in threads {
                thread.join().unwrap();
            }
        });
    });
}

fn link(backlog: usize) -> Arc<Link> {
    Arc::new(Link::new(&Config::new(Rules::json_rpc()).backlog(backlog)))
}

fn admit(link: &Arc<Link>, id: i64) -> Ticket {
    let body = link.admit(&Id::from(id), None).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    Ticket::new(link, body)
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

/// Writes like the thread of [`io::Connection`](crate::io::Connection), and counts the lines that are written.
fn write(link: &Link, lines: &AtomicUsize) {
    let mut bytes = BytesMut::new();
    while block_on(poll_fn(|cx| link.poll_writable(cx))) == Writable::Lines {
        link.take(&mut bytes);
        lines.fetch_add(count_lines(&bytes), Ordering::Relaxed);
        link.set_unwritten(0);
    }
    link.mark_closed();
}

/// A thread that writes, one that reads to the end and then waits, and one that answers.
#[test]
fn the_end_comes_after_the_last_answer() {
    check("a reader, a writer and an answer", 1, || {
        let link = link(0);
        let ticket = admit(&link, 1);
        let lines = Arc::new(AtomicUsize::new(0));
        let writer = spawn({
            let (link, lines) = (Arc::clone(&link), Arc::clone(&lines));
            move || write(&link, &lines)
        });
        let handler = spawn(move || ticket.respond(&true));
        block_on(poll_fn(|cx| link.poll_until(Until::Idle, cx)));
        assert_eq!(link.in_flight(), 0);
        if link.is_quiet() {
            assert_eq!(lines.load(Ordering::Relaxed), 1);
        }
        link.end();
        block_on(poll_fn(|cx| link.poll_until(Until::Closed, cx)));
        assert!(link.is_quiet());
        assert_eq!(lines.load(Ordering::Relaxed), 1);
        writer.join().unwrap();
        handler.join().unwrap();
    });
}

/// Nothing but the end itself wakes the writer then.
#[test]
fn the_end_wakes_the_writer() {
    check("a writer, an answer and the end", 2, || {
        let link = link(0);
        let ticket = admit(&link, 1);
        let ending = spawn({
            let link = Arc::clone(&link);
            move || {
                ticket.respond(&true);
                link.end();
            }
        });
        let lines = AtomicUsize::new(0);
        write(&link, &lines);
        assert_eq!(lines.load(Ordering::Relaxed), 1);
        ending.join().unwrap();
    });
}

/// One task that reads and writes, like [`aio::Connection`](crate::aio::Connection). It takes no lock if the writer
/// waits, or isn't woken while it runs.
#[test]
fn a_task_that_skips_its_lock_misses_nothing() {
    for forgets in [false, true] {
        check(if forgets { "a task that isn't woken while it runs" } else { "a task and two answers" }, 2, move || {
            let link = link(1 << 10);
            let handlers = [1, 2].map(|id| {
                let ticket = admit(&link, id);
                spawn(move || ticket.respond(&true))
            });
            let (mut bytes, mut lines) = (BytesMut::new(), 0);
            block_on(poll_fn(|cx| {
                loop {
                    if forgets {
                        link.forget_writer();
                    }
                    if link.is_writer_waiting() {
                        return Poll::Pending;
                    }
                    link.take(&mut bytes);
                    lines += count_lines(&bytes);
                    link.set_unwritten(0);
                    match lines {
                        2 => return Poll::Ready(()),
                        _ if link.poll_writable(cx).is_pending() => return Poll::Pending,
                        _ => {}
                    }
                }
            }));
            assert!(link.is_quiet());
            for handler in handlers {
                handler.join().unwrap();
            }
        });
    }
}

/// Reading goes on as soon as there is room, or a response is awaited.
#[test]
fn reading_goes_on() {
    for by_writing in [true, false] {
        check(if by_writing { "room for a reader" } else { "a call while reading is paused" }, 2, move || {
            let connection: Connection<Caller> = Connection::new(Config::new(Rules::json_rpc()).backlog(0));
            let (link, peer) = (Arc::clone(connection.link()), connection.peer());
            let ticket = admit(&link, 1);
            let other = spawn({
                let link = Arc::clone(&link);
                move || match by_writing {
                    true => {
                        link.take(&mut BytesMut::new());
                        link.set_unwritten(0);
                        None
                    }
                    false => Some(peer.call::<()>("c", &())),
                }
            });
            ticket.respond(&true);
            let mut bytes = BytesMut::new();
            block_on(poll_fn(|cx| {
                // The other thread may have taken nothing.
                if by_writing && link.poll_writable(cx).is_ready() {
                    link.take(&mut bytes);
                    link.set_unwritten(0);
                }
                link.poll_until(Until::Room, cx)
            }));
            assert!(!link.is_full());
            drop(other.join().unwrap());
        });
    }
}

/// Two senders, of which one may give up, and a writer that makes room.
#[test]
fn senders_get_their_turn() {
    for gives_up in [false, true] {
        check(if gives_up { "one sender of two gives up" } else { "two senders" }, 1, move || {
            let connection: Connection<Caller> = Connection::new(Config::new(Rules::json_rpc()).backlog(0));
            let link = Arc::clone(connection.link());
            connection.peer().try_notify("n", &()).unwrap();
            let senders = [gives_up, false].map(|gives_up| {
                let peer = connection.peer();
                spawn(move || {
                    let sending = peer.notify("n", &());
                    match gives_up {
                        true => drop(sending),
                        false => block_on(sending).unwrap(),
                    }
                })
            });
            let mut bytes = BytesMut::new();
            let mut lines = 0;
            let mut take = || {
                link.take(&mut bytes);
                lines += count_lines(&bytes);
                link.set_unwritten(0);
            };
            take();
            block_on(poll_fn(|cx| link.poll_writable(cx).map(|_| ())));
            take();
            if !gives_up {
                block_on(poll_fn(|cx| link.poll_writable(cx).map(|_| ())));
                take();
            }
            for sender in senders {
                sender.join().unwrap();
            }
            take();
            assert!(if gives_up { (2..=3).contains(&lines) } else { lines == 3 }, "{lines} lines");
            assert!(link.is_quiet());
        });
    }
}

/// A request that was admitted before all were stopped knows that it was.
#[test]
fn no_request_misses_that_it_was_stopped() {
    type Stop = (&'static str, fn(&Link));
    const STOPS: [Stop; 2] = [("an abort", |link| link.abort(&RpcError::internal())), ("the end", Link::break_off)];
    for (name, stop) in STOPS {
        check(&format!("a request and {name}"), 2, move || {
            let link = link(0);
            let stopping = spawn({
                let link = Arc::clone(&link);
                move || stop(&link)
            });
            let admitted = link.admit(&Id::from(1), None);
            let was_cancelled = admitted.as_ref().is_ok_and(|body| link.is_stopped(body));
            stopping.join().unwrap();
            if let Ok(body) = admitted {
                assert!(link.is_stopped(&body));
                drop(Ticket::new(&link, body));
            } else {
                assert!(!was_cancelled);
            }
            assert_eq!(link.in_flight(), 0);
        });
    }
}

/// A ticket that asks too early finds out the next time.
#[test]
fn no_ticket_misses_that_it_was_stopped() {
    type Stop = (&'static str, fn(&Link, Number));
    const STOPS: [Stop; 4] = [
        ("its cancellation", |link, _| assert!(link.cancel(&Id::from(1)))),
        ("its deadline", |link, number| link.expire(number, &RpcError::internal())),
        ("an abort", |link, _| link.abort(&RpcError::internal())),
        ("the end", |link, _| link.break_off()),
    ];
    for (name, stop) in STOPS {
        check(&format!("a ticket and {name}"), 2, move || {
            let link = link(0);
            let ticket = admit(&link, 1);
            let number = ticket.number().unwrap();
            let stopping = spawn({
                let link = Arc::clone(&link);
                move || stop(&link, number)
            });
            let _ = ticket.is_cancelled();
            stopping.join().unwrap();
            assert!(ticket.is_cancelled());
        });
    }
}

/// A response, or the end of the connection, and a caller that waits or gives up.
#[test]
fn every_call_has_an_outcome() {
    for responds in [true, false] {
        for gives_up in [true, false] {
            check(&format!("a call: responds {responds}, gives up {gives_up}"), 2, move || {
                let mut connection: Connection<Caller> = Connection::new(Rules::json_rpc());
                let reply = connection.peer().call::<bool>("c", &());
                let id = reply.id().unwrap().clone();
                let caller = spawn(move || match gives_up {
                    true => None,
                    false => Some(block_on(reply)),
                });
                if responds {
                    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":true}}\n", id.as_json());
                    connection.feed(line.as_bytes());
                    match connection.next_event() {
                        Some(Event::Response(response, caller)) => caller.deliver(Ok(&response)),
                        Some(Event::Stray(..)) if gives_up => {}
                        event => panic!("{event:?}"),
                    }
                } else {
                    drop(connection);
                }
                match caller.join().unwrap() {
                    Some(Ok(outcome)) => assert!(outcome && responds),
                    Some(Err(error)) => assert!(!responds, "{error}"),
                    None => assert!(gives_up),
                }
            });
        }
    }
}

/// After a connection has broken, a driver reads on while a call waits for its response, and no longer.
#[test]
fn the_last_call_ends_a_broken_connection() {
    check("a broken connection and a call that is given up", 2, || {
        let connection = Connection::new(Rules::json_rpc());
        let peer = connection.peer();
        let id = peer.request("c", &(), ()).unwrap();
        // Without telling the server, which would wake the driver as well.
        let caller = spawn(move || peer.withdraw(&id));
        connection.link().break_off();
        block_on(poll_fn(|cx| connection.poll_no_calls(cx)));
        assert!(!connection.awaits_responses());
        caller.join().unwrap();
    });
}
