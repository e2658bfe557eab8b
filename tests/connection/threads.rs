//! `io::Connection`.

use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, sleep};
use std::time::Duration;

use serde_json::{Value, json};
use wireline::connection::{CallError, Caller, Config, Event, Incident, Lost, Peer, Refusal};
use wireline::io::Connection;
use wireline::{RpcError, Rules};

use super::{Explosive, common, describe, lines, request, within};

type Ends = ((Peer<Caller>, Connection<PipeReader>), (Peer<Caller>, Connection<PipeReader>));

/// Two connections over pipes.
fn pair(config: Config) -> Ends {
    let ((one_reads, other_writes), (other_reads, one_writes)) = (pipe().unwrap(), pipe().unwrap());
    (Connection::new(one_reads, one_writes, config), Connection::new(other_reads, other_writes, config))
}

/// A server's connection, and the pipes to it and from it.
fn server(config: impl Into<Config>) -> (PipeWriter, PipeReader, Connection<PipeReader>) {
    let ((reader, to_server), (from_server, writer)) = (pipe().unwrap(), pipe().unwrap());
    let (_, connection) = Connection::new(reader, writer, config);
    (to_server, from_server, connection.report(|_| {}))
}

fn answers(mut reader: impl Read) -> Vec<String> {
    let mut output = String::new();
    reader.read_to_string(&mut output).unwrap();
    let mut answers: Vec<_> = output.lines().map(describe).collect();
    answers.sort();
    answers
}

#[test]
fn a_handler_may_fail_in_any_way() {
    common::quiet_panics_on_purpose();
    within(20, "a server", || {
        let (mut to_server, from_server, connection) = server(Rules::json_rpc());
        let panics = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&panics);
        let connection = connection.report(move |incident| {
            counted.fetch_add(usize::from(matches!(incident, Incident::Panic { .. })), Ordering::SeqCst);
        });
        for (id, method) in ["fine", "panic", "nan", "encode", "error"].iter().enumerate() {
            writeln!(to_server, r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#).unwrap();
            writeln!(to_server, r#"{{"jsonrpc":"2.0","method":"{method}"}}"#).unwrap();
        }
        drop(to_server);
        enum Outcome {
            Fine,
            NotANumber,
            Explosive,
        }
        impl serde::Serialize for Outcome {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    Self::Fine => serializer.serialize_i8(1),
                    Self::NotANumber => serializer.serialize_f64(f64::NAN),
                    Self::Explosive => Explosive.serialize(serializer),
                }
            }
        }
        let handler = |call: &wireline::connection::Call<'static>| match call.method() {
            "panic" => panic!("on purpose"),
            "nan" => Ok(Outcome::NotANumber),
            "encode" => Ok(Outcome::Explosive),
            "error" => Err(RpcError::new(1, "x")),
            _ => Ok(Outcome::Fine),
        };
        connection.serve(3, handler).unwrap();
        assert_eq!(answers(from_server), ["0", "1:-32603", "2:-32603", "3:-32603", "4:1"]);
        assert_eq!(panics.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn next_ends_when_all_is_answered_and_written() {
    within(20, "a server", || {
        let (mut to_server, from_server, mut connection) = server(Config::new(Rules::json_rpc()).backlog(100));
        let entries: Vec<String> = (0..100).map(|id| request(&id.to_string())).collect();
        to_server.write_all(format!("{}\n[{}]", request("\"a\""), entries.join(",")).as_bytes()).unwrap();
        drop(to_server);
        let reading = thread::spawn(|| answers(from_server));
        let mut requests = 0;
        while let Some(event) = connection.next().unwrap() {
            let Event::Request(_, ticket) = event else { panic!("{event:?}") };
            requests += 1;
            match requests % 30 {
                0 => drop(thread::spawn(move || {
                    sleep(Duration::from_millis(20));
                    drop(ticket);
                })),
                _ => ticket.respond(&()),
            }
        }
        assert!(connection.next().unwrap().is_none());
        let answers = reading.join().unwrap().join(" ");
        assert_eq!((requests, answers.split(' ').count()), (101, 101));
    });
}

/// A cancelled request is answered when its handler notices, and one that waits for a worker isn't handled.
#[test]
fn a_handler_can_ask_whether_it_is_cancelled() {
    within(20, "a server", || {
        let (mut to_server, from_server, connection) = server(Rules::json_rpc());
        to_server.write_all(&lines(&[&request("1"), &request("2")])).unwrap();
        let handled = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&handled);
        let serving = thread::spawn(|| {
            connection.serve(1, move |call| {
                counted.fetch_add(1, Ordering::SeqCst);
                while !call.is_cancelled() {
                    sleep(Duration::from_millis(1));
                }
                Err::<(), _>(RpcError::new(1, "stopped"))
            })
        });
        while handled.load(Ordering::SeqCst) == 0 {
            sleep(Duration::from_millis(1));
        }
        let cancel = |id: usize| format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#);
        to_server.write_all(&lines(&[&cancel(2), &cancel(1)])).unwrap();
        drop(to_server);
        serving.join().unwrap().unwrap();
        assert_eq!(handled.load(Ordering::SeqCst), 1);
        assert_eq!(answers(from_server), ["1:1", "2:-32800"]);
    });
}

#[test]
fn the_grace_period_ends_requests() {
    within(20, "a server", || {
        let (mut to_server, from_server, connection) = server(Rules::json_rpc());
        to_server.write_all(&lines(&[&request("1"), &request("2"), &request("3")])).unwrap();
        drop(to_server);
        connection
            .grace(Duration::from_millis(50))
            .serve(2, |call| {
                while !call.is_cancelled() && call.id().is_some_and(|id| id.as_u64() != Some(1)) {
                    sleep(Duration::from_millis(1));
                }
                Ok(())
            })
            .unwrap();
        let code = Refusal::Closed.error().code();
        assert_eq!(answers(from_server), ["1".to_owned(), format!("2:{code}"), format!("3:{code}")]);
    });
}

/// A request is answered at its deadline even if its handler doesn't stop, or hasn't begun. It counts for the limit as long
/// as its handler does, so a peer can't start any number of them.
#[test]
fn requests_are_answered_at_their_deadline() {
    within(20, "a server", || {
        let (mut to_server, mut from_server, connection) = server(Config::new(Rules::json_rpc()).in_flight(3));
        let release = Arc::new(Barrier::new(2));
        let released = Arc::clone(&release);
        let serving = thread::spawn(move || {
            connection.deadline(Duration::from_millis(50)).serve(1, move |call| {
                if call.id().is_some_and(|id| id.as_u64() == Some(1)) {
                    released.wait();
                    assert!(call.is_cancelled());
                }
                Ok(())
            })
        });
        let batch = format!("[{},{}]", request("2"), request("3"));
        to_server.write_all(&lines(&[&request("1"), &batch])).unwrap();
        // One blocks, and the others wait for its worker.
        let mut output = Vec::new();
        while output.iter().filter(|&&byte| byte == b'\n').count() < 2 {
            let mut room = [0; 1000];
            let len = from_server.read(&mut room).unwrap();
            output.extend_from_slice(&room[..len]);
        }
        to_server.write_all(&lines(&[&request("4")])).unwrap();
        let mut rest = Vec::new();
        while !rest.ends_with(b"\n") {
            let mut byte = [0];
            from_server.read_exact(&mut byte).unwrap();
            rest.extend(byte);
        }
        output.extend(rest);
        release.wait();
        drop(to_server);
        serving.join().unwrap().unwrap();
        let refused = Refusal::TooMany.error().code();
        let expected = ["1:-32001".to_owned(), format!("4:{refused}"), "[2:-32001 3:-32001]".to_owned()];
        assert_eq!(answers(&output[..]), expected);
        assert_eq!(answers(from_server), [""; 0]);
    });
}

/// Notifications are handled before `serve` returns, as requests are.
#[test]
fn notifications_are_handled_before_the_end() {
    within(20, "a server", || {
        let (mut to_server, from_server, connection) = server(Rules::json_rpc());
        for _ in 0..5 {
            to_server.write_all(&lines(&[r#"{"jsonrpc":"2.0","method":"note"}"#])).unwrap();
        }
        drop(to_server);
        let handled = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&handled);
        connection
            .serve(2, move |_| {
                sleep(Duration::from_millis(10));
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(())
            })
            .unwrap();
        assert_eq!(handled.load(Ordering::SeqCst), 5);
        drop(from_server);
    });
}

/// If reporting an incident panics, that worker is gone. When all are, `serve` fails instead of waiting forever.
#[test]
fn serve_fails_when_its_workers_are_gone() {
    common::quiet_panics_on_purpose();
    within(20, "a server", || {
        let (mut to_server, from_server, connection) = server(Rules::json_rpc());
        let serving = thread::spawn(|| {
            connection.report(|_| panic!("on purpose")).serve(2, |_| -> Result<(), _> { panic!("on purpose") })
        });
        let mut sent = 0;
        for id in 0..1000 {
            if writeln!(to_server, "{}", request(&id.to_string())).is_err() {
                break;
            }
            sent += 1;
            sleep(Duration::from_millis(1));
        }
        drop(to_server);
        assert!(serving.join().unwrap().is_err());
        assert!(answers(from_server).len() <= sent);
    });
}

#[test]
fn two_peers_that_call_and_notify_each_other_go_on() {
    for backlog in [0, 100, 20_000] {
        within(60, "a pair of peers", move || {
            let (one, other) = pair(Config::new(Rules::json_rpc()).backlog(backlog));
            let both = Arc::new(Barrier::new(2));
            let threads: Vec<_> = [one, other]
                .into_iter()
                .flat_map(|(peer, connection)| {
                    let both = Arc::clone(&both);
                    let calling = thread::spawn(move || {
                        let params = ["x".repeat(2000)];
                        let replies: Vec<_> = (0..100).map(|_| peer.call::<String>("echo", &params)).collect();
                        for _ in 0..200 {
                            peer.notify("note", &params).wait().unwrap();
                        }
                        for reply in replies {
                            assert_eq!(reply.wait().unwrap().len(), 2000);
                        }
                        both.wait();
                        peer.end();
                    });
                    let serving = thread::spawn(move || {
                        connection.serve(2, |call| Ok(call.params::<Vec<String>>()?.remove(0))).unwrap();
                    });
                    [calling, serving]
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}

/// A peer that doesn't read is left, whatever the connection is doing meanwhile.
#[test]
fn a_stalled_peer_is_left() {
    within(20, "a connection to a stalled peer", || {
        let (mut to_server, from_server, connection) = server(Config::new(Rules::json_rpc()).backlog(1000));
        // A read that waits for the peer couldn't be interrupted.
        let sending = thread::spawn(move || {
            for id in 0.. {
                if writeln!(to_server, "{}", request(&id.to_string())).is_err() {
                    break;
                }
            }
        });
        let served = connection.end_if_stalled(Duration::from_millis(50)).serve(2, |_| Ok("x".repeat(100_000)));
        assert_eq!(served.unwrap_err().kind(), io::ErrorKind::TimedOut);
        sending.join().unwrap();
        drop(from_server);
    });
    // At the end of the stream, while a handler waits for room.
    within(20, "a connection to a stalled peer", || {
        let (mut to_server, from_server, connection) = server(Config::new(Rules::json_rpc()).backlog(1000));
        writeln!(to_server, "{}", request("1")).unwrap();
        drop(to_server);
        let served = connection.end_if_stalled(Duration::from_millis(50)).serve(1, |call| {
            while call.peer().notify("note", &["x".repeat(10_000)]).wait().is_ok() {}
            Ok(())
        });
        assert_eq!(served.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(from_server);
    });
}

/// When a connection is gone, callers and senders are told, and its writer ends.
#[test]
fn a_dropped_connection_ends_those_who_wait() {
    /// Says when it is dropped.
    struct Tells(PipeWriter, Arc<Mutex<bool>>);
    impl Write for Tells {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            self.0.flush()
        }
    }
    impl Drop for Tells {
        fn drop(&mut self) {
            *self.1.lock().unwrap() = true;
        }
    }
    within(20, "a connection", || {
        let ((reader, to_client), (from_client, writer)) = (pipe().unwrap(), pipe().unwrap());
        let is_dropped = Arc::new(Mutex::new(false));
        let writer = Tells(writer, Arc::clone(&is_dropped));
        let (peer, connection) = Connection::new(reader, writer, Config::new(Rules::json_rpc()).backlog(0));
        let sent = peer.call::<Value>("m", &json!([1]));
        let waiting: Vec<_> = (0..4)
            .map(|n| {
                let peer = peer.clone();
                thread::spawn(move || match n {
                    0 | 1 => drop(peer.call::<Value>("m", &["x".repeat(100_000)]).wait()),
                    _ => while peer.notify("m", &["x".repeat(100_000)]).wait().is_ok() {},
                })
            })
            .collect();
        sleep(Duration::from_millis(20));
        drop(connection);
        assert!(matches!(sent.wait(), Err(CallError::Lost(Lost::Ended))));
        waiting.into_iter().for_each(|thread| thread.join().unwrap());
        // The writer is blocked in a write, which this ends.
        drop(from_client);
        while !*is_dropped.lock().unwrap() {
            sleep(Duration::from_millis(1));
        }
        drop(to_client);
    });
}

/// Fails to write after so many bytes.
struct Breaks(usize);

impl Write for Breaks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = bytes.len().min(self.0);
        self.0 -= written;
        if written == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(written) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn responses_arrive_after_writing_has_failed() {
    within(20, "a client", || {
        let (reader, mut server) = pipe().unwrap();
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#.len() + 1;
        let (peer, connection) = Connection::new(reader, Breaks(call), Rules::json_rpc());
        let (one, two) = (peer.call::<i32>("m", &[1]), peer.call::<i32>("m", &[2]));
        let running = thread::spawn(|| connection.run());
        while peer.try_notify("n", &()).is_ok() {
            thread::yield_now();
        }
        server.write_all(&lines(&[r#"{"jsonrpc":"2.0","id":1,"result":7}"#])).unwrap();
        assert_eq!(one.wait().unwrap(), 7);
        server.write_all(&lines(&[r#"{"jsonrpc":"2.0","id":2,"result":8}"#])).unwrap();
        assert_eq!(two.wait().unwrap(), 8);
        assert_eq!(running.join().unwrap().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    });
}
