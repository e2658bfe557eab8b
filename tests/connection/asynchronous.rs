//! `aio::Connection`.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn, ready};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split};
use tokio::sync::{Barrier, Notify};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use wireline::aio::{Connection, Source, Target, Tokio};
use wireline::connection::{Call, CallError, Caller, Config, Event, Incident, Lost, Peer, SendError};
use wireline::{RpcError, Rules};

use super::{Explosive, common, describe, lines, request};

type Reader = Tokio<tokio::io::ReadHalf<DuplexStream>>;
type Writer = Tokio<tokio::io::WriteHalf<DuplexStream>>;

/// A connection over one end of a duplex stream.
fn over(stream: DuplexStream, config: impl Into<Config>) -> (Peer<Caller>, Connection<Reader, Writer>) {
    let (reader, writer) = split(stream);
    Connection::new(Tokio(reader), Tokio(writer), config)
}

/// Runs a future, and fails if it takes so long that it must hang.
fn run<F: Future>(what: &str, future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { timeout(Duration::from_secs(20), future).await.unwrap_or_else(|_| panic!("{what} hangs")) })
}

fn answers(output: &[u8]) -> String {
    str::from_utf8(output).unwrap().lines().map(describe).collect::<Vec<_>>().join(" ")
}

/// Serves `input` to its end, and returns the answers.
async fn serve<F: Future<Output = Result<Value, RpcError>>>(
    input: &[u8],
    handler: impl FnMut(wireline::connection::Call<'static>) -> F,
) -> String {
    let mut output = Vec::new();
    let (_, connection) = Connection::new(Tokio(input), Tokio(&mut output), Rules::json_rpc());
    connection.report(|_| {}).serve(handler).await.unwrap();
    answers(&output)
}

fn batch(entries: usize) -> Vec<u8> {
    let entries: Vec<String> = (0..entries).map(|id| request(&id.to_string())).collect();
    format!("[{}]", entries.join(",")).into_bytes()
}

#[test]
fn a_handler_may_fail_in_any_way() {
    common::quiet_panics_on_purpose();
    enum Outcome {
        Fine,
        NotANumber,
        Explosive,
        ExplodesWhenDropped,
    }
    impl serde::Serialize for Outcome {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                Self::Fine | Self::ExplodesWhenDropped => serializer.serialize_i8(1),
                Self::NotANumber => serializer.serialize_f64(f64::NAN),
                Self::Explosive => Explosive.serialize(serializer),
            }
        }
    }
    impl Drop for Outcome {
        fn drop(&mut self) {
            if matches!(self, Self::ExplodesWhenDropped) {
                panic!("on purpose");
            }
        }
    }
    struct ExplodesWhenDropped;
    impl Drop for ExplodesWhenDropped {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    let methods = ["fine", "call", "future", "later", "nan", "encode", "result", "destructor", "error", "fine"];
    let input: String = (0..)
        .zip(methods)
        .map(|(id, method)| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}\n"))
        .collect();
    // Notifications may fail in the same ways.
    let notes: String =
        methods.iter().map(|method| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}\n")).collect();
    let input = notes + &input;
    let mut output = Vec::new();
    let incidents = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let counts = Arc::clone(&incidents);
    let (_, connection) = Connection::new(Tokio(input.as_bytes()), Tokio(&mut output), Rules::json_rpc());
    let connection = connection.report(move |incident| {
        let count = match incident {
            Incident::Panic { .. } => &counts.0,
            _ => &counts.1,
        };
        count.fetch_add(1, Ordering::SeqCst);
    });
    run(
        "a server",
        connection.serve(|call| {
            if call.method() == "call" {
                panic!("on purpose");
            }
            async move {
                match call.method() {
                    "future" => panic!("on purpose"),
                    "later" => {
                        yield_now().await;
                        panic!("on purpose");
                    }
                    "nan" => Ok(Outcome::NotANumber),
                    "encode" => Ok(Outcome::Explosive),
                    "result" => Ok(Outcome::ExplodesWhenDropped),
                    "destructor" => {
                        let _explosive = ExplodesWhenDropped;
                        Ok(Outcome::Fine)
                    }
                    "error" => Err(RpcError::new(1, "x")),
                    _ => Ok(Outcome::Fine),
                }
            }
        }),
    )
    .unwrap();
    let mut answers: Vec<_> = answers(&output).split(' ').map(str::to_owned).collect();
    answers.sort();
    let code = "-32603";
    let expected = ["0".to_owned(), format!("1:{code}"), format!("2:{code}"), format!("3:{code}"), format!("4:{code}")];
    assert_eq!(answers[..5], expected);
    assert_eq!(
        answers[5..],
        [format!("5:{code}"), "6".to_owned(), format!("7:{code}"), "8:1".to_owned(), "9".to_owned()]
    );
    // A notification's result is dropped, but not encoded.
    assert_eq!((incidents.0.load(Ordering::SeqCst), incidents.1.load(Ordering::SeqCst)), (6 + 5, 1));
}

/// Handlers need be neither `Send` nor `'static`, and at most so many run at a time.
#[test]
fn handlers_run_in_the_task_of_the_connection() {
    for limit in [1, 3, 100] {
        let input: Vec<u8> = (0..50).flat_map(|id| (request(&id.to_string()) + "\n").into_bytes()).collect();
        let (running, most) = (Cell::new(0), Cell::new(0));
        let order = Rc::new(RefCell::new(Vec::new()));
        let mut output = Vec::new();
        let (_, connection) = Connection::new(Tokio(&input[..]), Tokio(&mut output), Rules::json_rpc());
        let (running, most_at_once) = (&running, &most);
        run(
            "a server",
            connection.concurrency(limit).serve(|call| {
                let order = Rc::clone(&order);
                async move {
                    order.borrow_mut().push(call.id().unwrap().as_u64().unwrap());
                    running.set(running.get() + 1);
                    most_at_once.set(most_at_once.get().max(running.get()));
                    yield_now().await;
                    running.set(running.get() - 1);
                    Ok(())
                }
            }),
        )
        .unwrap();
        assert_eq!((most.get(), answers(&output).split(' ').count()), (limit.min(50), 50));
        assert!(order.borrow().iter().copied().eq(0..50), "they start in order");
    }
}

#[test]
fn a_cancelled_handler_is_dropped() {
    struct Dropped<'c>(&'c Cell<usize>);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let cancel = |id: usize| format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#);
    let input = lines(&[&request("1"), &request("2"), &request("3"), &cancel(3), &cancel(2), &cancel(1)]);
    for concurrency in [1, 2, 10] {
        let dropped = Cell::new(0);
        let mut output = Vec::new();
        let (_, connection) = Connection::new(Tokio(&input[..]), Tokio(&mut output), Rules::json_rpc());
        run(
            "a server",
            connection.concurrency(concurrency).serve(|_| {
                let dropped = Dropped(&dropped);
                async move {
                    let _dropped = dropped;
                    pending::<Result<(), _>>().await
                }
            }),
        )
        .unwrap();
        // Those that waited for their turn were never started.
        assert_eq!(dropped.get(), concurrency.min(3));
        assert_eq!(answers(&output).matches("-32800").count(), 3);
    }
}

/// The last line may be a long batch that isn't terminated: its answers are written before the end.
#[test]
fn a_long_batch_at_the_end_is_answered() {
    for entries in [1, 63, 64, 65, 127, 128, 129, 1000] {
        for end in ["", "\n"] {
            let input = [&batch(entries)[..], end.as_bytes()].concat();
            let answers = run("a server", serve(&input, async |_| Ok(json!(1))));
            let answered = answers.split(' ').filter(|answer| !answer.is_empty()).count();
            assert_eq!((answered, answers.matches('[').count()), (entries, 1), "{entries} entries");
        }
    }
}

/// Whenever the server is shut down, what it has begun to answer is answered.
#[test]
fn a_batch_is_answered_when_the_server_is_shut_down() {
    for entries in [1, 64, 65, 200] {
        for until in 1..6 {
            let (mut client, server) = duplex(100_000);
            let started = Cell::new(0);
            let answered = run("a server", async {
                client.write_all(&[&batch(entries)[..], b"\n"].concat()).await.unwrap();
                let (_, connection) = over(server, Rules::json_rpc());
                let shutdown = async {
                    for _ in 0..until {
                        yield_now().await;
                    }
                };
                let serving = connection.serve_until(
                    shutdown,
                    || sleep(Duration::from_millis(50)),
                    |_| {
                        started.set(started.get() + 1);
                        ready(Ok(()))
                    },
                );
                serving.await.unwrap();
                let mut output = Vec::new();
                client.read_to_end(&mut output).await.unwrap();
                answers(&output).split(' ').filter(|answer| !answer.is_empty()).count()
            });
            // None if it was shut down before it has read anything.
            assert!(answered == entries || started.get() == 0, "{answered} of {entries} answers");
        }
    }
}

/// A socket that is closed with unread input discards what the peer hasn't read yet. So whatever a client still sends
/// during a shutdown is read, and it gets the whole answer.
#[test]
fn a_client_that_sends_during_a_shutdown_gets_its_answer() {
    const LEN: usize = 1_000_000;
    for _ in 0..5 {
        run("a server", async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (reader, writer) = listener.accept().await.unwrap().0.into_split();
            let (_, connection) = Connection::new(Tokio(reader), Tokio(writer), Rules::json_rpc());
            let called = Notify::new();
            let handler = |_: Call<'static>| {
                called.notify_one();
                ready(Ok("x".repeat(LEN)))
            };
            let serving = connection.serve_until(called.notified(), || sleep(Duration::from_secs(10)), handler);
            let (mut from_server, mut to_server) = client.into_split();
            let sending = tokio::spawn(async move {
                to_server.write_all(&lines(&[&request("1")])).await.unwrap();
                while to_server.write_all(&lines(&[r#"{"jsonrpc":"2.0","method":"note"}"#])).await.is_ok() {
                    yield_now().await;
                }
            });
            let reading = async {
                let mut output = Vec::new();
                from_server.read_to_end(&mut output).await.unwrap();
                sending.abort();
                output.len()
            };
            let (served, read) = tokio::join!(serving, reading);
            served.unwrap();
            assert!(read > LEN, "only {read} bytes arrived");
        });
    }
}

#[test]
fn those_in_flight_have_until_the_grace_period_is_over() {
    let input = |end: &'static str| [&lines(&[&request("1"), &request("2")])[..], end.as_bytes()].concat();
    // The peer keeps its stream open, or closes it.
    for is_open in [true, false] {
        let (mut client, server) = duplex(1000);
        let output = run("a server", async {
            client.write_all(&input("")).await.unwrap();
            if !is_open {
                client.shutdown().await.unwrap();
            }
            let (peer, connection) = over(server, Rules::json_rpc());
            let started = Cell::new(0);
            let shutdown = async {
                while started.get() < 2 {
                    yield_now().await;
                }
            };
            let serving = connection.serve_until(
                shutdown,
                || sleep(Duration::from_millis(20)),
                |call| {
                    started.set(started.get() + 1);
                    let is_fast = call.id().unwrap().as_u64() == Some(1);
                    async move {
                        match is_fast {
                            true => sleep(Duration::from_millis(1)).await,
                            false => pending().await,
                        }
                        Ok(())
                    }
                },
            );
            serving.await.unwrap();
            assert!(matches!(peer.try_notify("late", &()), Err(SendError::Closed)));
            let mut output = Vec::new();
            client.read_to_end(&mut output).await.unwrap();
            output
        });
        let code = wireline::connection::Refusal::Closed.error().code();
        assert_eq!(answers(&output), format!("1 2:{code}"));
    }
}

/// A handler that doesn't end can't keep a server alive after its grace period, although nothing else happens.
#[test]
fn the_grace_period_limits_every_handler() {
    let note = r#"{"jsonrpc":"2.0","method":"hang"}"#;
    for input in [lines(&[&request("1")]), lines(&[note]), lines(&[note, note, &request("1"), note])] {
        for concurrency in [1, 10] {
            let mut output = Vec::new();
            let (_, connection) = Connection::new(Tokio(&input[..]), Tokio(&mut output), Rules::json_rpc());
            let grace = || sleep(Duration::from_millis(10));
            let hang = async |_| pending::<Result<(), _>>().await;
            run("a server", connection.concurrency(concurrency).serve_until(pending(), grace, hang)).unwrap();
            let answered = output.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(answered, str::from_utf8(&input).unwrap().matches("id").count());
        }
    }
}

/// Two peers that call each other, with more than fits their streams and backlogs, don't wait for each other forever.
#[test]
fn two_peers_that_call_each_other_go_on() {
    for backlog in [0, 100, 20_000] {
        run("a pair of peers", async {
            let (one, other) = duplex(1000);
            let both = Arc::new(Barrier::new(2));
            let ends = [one, other].map(|stream| over(stream, Config::new(Rules::json_rpc()).backlog(backlog)));
            let mut tasks = Vec::new();
            for (peer, connection) in ends {
                let both = Arc::clone(&both);
                tasks.push(tokio::spawn(async move {
                    let params = ["x".repeat(2000)];
                    let replies: Vec<_> = (0..100).map(|_| peer.call::<String>("echo", &params)).collect();
                    for reply in replies {
                        assert_eq!(reply.await.unwrap().len(), 2000);
                    }
                    both.wait().await;
                    peer.end();
                }));
                tasks.push(tokio::spawn(async move {
                    connection.serve(async |call| Ok(call.params::<Vec<String>>()?.remove(0))).await.unwrap();
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

/// Two peers that notify each other, as fast as they can, don't wait for each other forever.
#[test]
fn two_peers_that_notify_each_other_go_on() {
    for backlog in [0, 100, 20_000] {
        run("a pair of peers", async {
            let (one, other) = duplex(1000);
            let both = Arc::new(Barrier::new(2));
            let ends = [one, other].map(|stream| over(stream, Config::new(Rules::json_rpc()).backlog(backlog)));
            let mut tasks = Vec::new();
            for (peer, mut connection) in ends {
                let both = Arc::clone(&both);
                tasks.push(tokio::spawn(async move {
                    for n in 0..200 {
                        peer.notify("note", &json!([n, "x".repeat(1000)])).await.unwrap();
                    }
                    both.wait().await;
                    peer.end();
                }));
                tasks.push(tokio::spawn(async move {
                    let mut notes = 0;
                    while let Some(event) = connection.next().await.unwrap() {
                        assert!(matches!(event, Event::Notification(_)));
                        notes += 1;
                    }
                    assert_eq!(notes, 200);
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
}

/// A peer that doesn't read is left, whether or not a response is awaited.
#[test]
fn a_stalled_peer_is_left() {
    for (calls, backlog) in [(0, 1000), (0, 1 << 20), (1, 1000), (1, 1 << 20)] {
        run("a connection to a stalled peer", async {
            let (mut client, server) = duplex(100);
            let (peer, connection) = over(server, Config::new(Rules::json_rpc()).backlog(backlog));
            let connection = connection.end_if_stalled(|| sleep(Duration::from_millis(50)));
            let replies: Vec<_> = (0..calls).map(|_| peer.call::<Value>("m", &["x".repeat(500)])).collect();
            let writing = tokio::spawn(async move {
                let _ = client.write_all(&lines(&[&request("1"), &request("2")])).await;
                client
            });
            let served = connection.serve(async |_| Ok("x".repeat(3000))).await;
            assert_eq!(served.unwrap_err().kind(), io::ErrorKind::TimedOut);
            for reply in replies {
                assert!(matches!(reply.await, Err(CallError::Lost(Lost::Ended))));
            }
            drop(writing.await);
        });
    }
}

/// A peer that reads slowly isn't stalled.
#[test]
fn a_slow_peer_is_not_left() {
    run("a connection to a slow peer", async {
        let (mut client, server) = duplex(10);
        let (_, connection) = over(server, Rules::json_rpc());
        let connection = connection.end_if_stalled(|| sleep(Duration::from_millis(1000)));
        let serving = tokio::spawn(connection.serve(async |_| Ok("x".repeat(300))));
        client.write_all(&lines(&[&request("1")])).await.unwrap();
        client.shutdown().await.unwrap();
        let mut output = Vec::new();
        while client.read_buf(&mut output).await.unwrap() > 0 {
            sleep(Duration::from_millis(40)).await;
        }
        assert_eq!(answers(&output), "1");
        serving.await.unwrap().unwrap();
    });
}

/// Fails to write after so many bytes.
struct Breaks(usize);

impl Target for Breaks {
    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = bytes.len().min(self.0);
        self.0 -= written;
        Poll::Ready(if written == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(written) })
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Responses that arrive after writing has failed are still delivered; then the error is reported.
#[test]
fn responses_arrive_after_writing_has_failed() {
    run("a client", async {
        let (mut server, reader) = duplex(1000);
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#.len() + 1;
        let (peer, connection) = Connection::new(Tokio(reader), Breaks(call), Rules::json_rpc());
        let (one, two) = (peer.call::<i32>("m", &[1]), peer.call::<i32>("m", &[2]));
        let running = tokio::spawn(connection.run());
        while peer.try_notify("n", &()).is_ok() {
            yield_now().await;
        }
        server.write_all(&lines(&[r#"{"jsonrpc":"2.0","id":1,"result":7}"#])).await.unwrap();
        assert_eq!(one.await.unwrap(), 7);
        assert!(!running.is_finished());
        // Nothing is awaited any more.
        drop(two);
        assert_eq!(running.await.unwrap().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        drop(server);
    });
}

/// A peer that takes no more input, and doesn't end its stream either, has some time for its last words.
#[test]
fn last_words_take_as_long_as_they_may() {
    run("a client", async {
        let (mut server, reader) = duplex(1000);
        let (peer, connection) = Connection::new(Tokio(reader), Breaks(80), Rules::json_rpc());
        let connection = connection.last_words(|| sleep(Duration::from_millis(100)));
        let (one, two) = (peer.call::<i32>("m", &[1]), peer.call::<i32>("m", &[2]));
        let running = tokio::spawn(connection.run());
        sleep(Duration::from_millis(20)).await;
        server.write_all(&lines(&[r#"{"jsonrpc":"2.0","id":1,"result":7}"#])).await.unwrap();
        assert_eq!(one.await.unwrap(), 7);
        assert!(matches!(two.await, Err(CallError::Lost(Lost::Ended))));
        assert_eq!(running.await.unwrap().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        drop(server);
    });
}

/// When a stream ends, calls fail, also those that wait for room.
#[test]
fn calls_end_when_the_stream_does() {
    run("a client", async {
        let (mut server, client) = duplex(100);
        let (peer, connection) = over(client, Config::new(Rules::json_rpc()).backlog(100));
        let replies: Vec<_> = (0..5).map(|_| peer.call::<Value>("m", &["x".repeat(300)])).collect();
        let running = tokio::spawn(connection.run());
        yield_now().await;
        server.shutdown().await.unwrap();
        // The peer reads nothing more, but keeps its stream open.
        for reply in replies {
            assert!(matches!(reply.await, Err(CallError::Lost(Lost::Ended) | CallError::Send(SendError::Closed))));
        }
        drop(server);
        assert!(running.await.unwrap().is_err());
    });
}

/// No event is lost if the future of `next` is dropped.
#[test]
fn next_is_cancel_safe() {
    run("a server", async {
        let (mut client, server) = duplex(50);
        let (_, mut connection) = over(server, Rules::json_rpc());
        let writing = tokio::spawn(async move {
            for id in 0..100 {
                client.write_all((request(&id.to_string()) + "\n").as_bytes()).await.unwrap();
                if id % 7 == 0 {
                    sleep(Duration::from_micros(50)).await;
                }
            }
            client.shutdown().await.unwrap();
            let mut output = Vec::new();
            client.read_to_end(&mut output).await.unwrap();
            answers(&output).split(' ').count()
        });
        let mut requests = 0;
        loop {
            let event = tokio::select! {
                biased;
                event = connection.next() => event.unwrap(),
                () = yield_now() => continue,
            };
            match event {
                Some(Event::Request(_, ticket)) => {
                    requests += 1;
                    ticket.respond(&());
                }
                Some(event) => panic!("{event:?}"),
                None => break,
            }
        }
        assert_eq!((requests, writing.await.unwrap()), (100, 100));
    });
}

/// A notification that was accepted is written, also while the stream is being closed; afterwards none is accepted.
#[test]
fn what_is_accepted_while_closing_is_written() {
    /// Takes its time to close, and fails to write afterwards.
    struct SlowToClose {
        written: Arc<AtomicUsize>,
        polls: usize,
    }
    impl Target for SlowToClose {
        fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            if self.polls > 0 {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
            self.written.fetch_add(lines, Ordering::SeqCst);
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.polls += 1;
            cx.waker().wake_by_ref();
            if self.polls < 10 { Poll::Pending } else { Poll::Ready(Ok(())) }
        }
    }
    /// Ends at once, or never.
    struct Ends(bool);
    impl Source for Ends {
        fn poll_read(&mut self, _: &mut Context<'_>, _: &mut [u8]) -> Poll<io::Result<usize>> {
            if self.0 { Poll::Ready(Ok(0)) } else { Poll::Pending }
        }
    }
    for ends in [true, false] {
        run("a connection", async {
            let written = Arc::new(AtomicUsize::new(0));
            let target = SlowToClose { written: Arc::clone(&written), polls: 0 };
            let (peer, connection) = Connection::new(Ends(ends), target, Config::new(Rules::json_rpc()).backlog(0));
            let mut call = (!ends).then(|| peer.call::<()>("m", &()));
            let mut running = Box::pin(connection.run());
            let mut accepted = usize::from(!ends);
            for round in 0..30 {
                if !ends && round == 5 {
                    peer.end();
                }
                if round == 8 {
                    // Cancels a call while the stream is closing.
                    drop(call.take());
                }
                tokio::select! {
                    biased;
                    ended = &mut running => {
                        ended.unwrap();
                        break;
                    }
                    () = ready(()) => {}
                }
                accepted += usize::from(peer.try_notify("n", &()).is_ok());
            }
            let told = usize::from(!ends && written.load(Ordering::SeqCst) > accepted);
            assert_eq!(written.load(Ordering::SeqCst), accepted + told);
        });
    }
}

/// Counts how often a task was woken.
#[derive(Default)]
struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl WakeCount {
    fn since_the_last_time(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// Another round of its runtime would cost a system call or wake another thread. Only what happens elsewhere wakes it.
#[test]
fn a_task_that_answers_does_not_wake_itself() {
    let wakes = Arc::new(WakeCount::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let cx = &mut Context::from_waker(&waker);
    let line = request("1") + "\n";

    let (mut theirs, ours) = duplex(1 << 10);
    let (peer, mut connection) = over(ours, Rules::json_rpc());
    let mut buffer = [0; 100];
    for _ in 0..3 {
        assert!(pin!(connection.next()).poll(cx).is_pending());
        assert!(pin!(theirs.write_all(line.as_bytes())).poll(cx).is_ready());
        assert_eq!(wakes.since_the_last_time(), 1, "a request arrives");
        let Poll::Ready(Ok(Some(Event::Request(_, ticket)))) = pin!(connection.next()).poll(cx) else { panic!() };
        ticket.respond(&1);
        assert!(pin!(connection.next()).poll(cx).is_pending());
        assert_eq!(wakes.since_the_last_time(), 0, "an answer");
        assert!(pin!(theirs.read(&mut buffer)).poll(cx).is_ready(), "it is written");
    }
    drop(peer.notify("n", &()));
    assert_eq!(wakes.since_the_last_time(), 1, "a notification from elsewhere");

    let (mut theirs, ours) = duplex(1 << 10);
    let (waits, goes_on) = (Rc::new(Cell::new(None::<Waker>)), Rc::new(Cell::new(false)));
    let handler = async |_: Call<'static>| {
        poll_fn(|cx| {
            waits.set(Some(cx.waker().clone()));
            if goes_on.get() { Poll::Ready(Ok(1)) } else { Poll::Pending }
        })
        .await
    };
    let mut served = pin!(over(ours, Rules::json_rpc()).1.serve(handler));
    for is_late in [false, true, false, true] {
        goes_on.set(!is_late);
        assert!(served.as_mut().poll(cx).is_pending());
        assert!(pin!(theirs.write_all(line.as_bytes())).poll(cx).is_ready());
        assert_eq!(wakes.since_the_last_time(), 1, "a request arrives");
        assert!(served.as_mut().poll(cx).is_pending());
        assert_eq!(wakes.since_the_last_time(), 0, "a handler");
        if is_late {
            goes_on.set(true);
            waits.take().unwrap().wake();
            assert_eq!(wakes.since_the_last_time(), 1, "what the handler waits for");
            assert!(served.as_mut().poll(cx).is_pending());
            assert_eq!(wakes.since_the_last_time(), 0, "a late handler");
        }
        assert!(pin!(theirs.read(&mut buffer)).poll(cx).is_ready(), "it is written");
    }
}
