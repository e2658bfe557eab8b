//! Tasks that send at the same time get about the same share, whatever the backlog and the length of their lines.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use wireline::Rules;
use wireline::aio::{Connection, Tokio};
use wireline::connection::{self, Config};

const TASKS: usize = 10;

/// Has ten tasks send lines of a length until there are `total`, and returns how many each has sent.
async fn shares(stream: Stream, backlog: usize, len: usize, total: usize) -> Vec<usize> {
    let config = Config::new(Rules::json_rpc()).backlog(backlog);
    let (mut theirs, peer, running) = match stream {
        Stream::Duplex => {
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            let (reader, writer) = tokio::io::split(ours);
            let (peer, connection) = Connection::new(Tokio(reader), Tokio(writer), config);
            (Box::new(theirs) as Box<dyn tokio::io::AsyncRead + Send + Unpin>, peer, tokio::spawn(connection.run()))
        }
        #[cfg(unix)]
        Stream::Socket => {
            let (ours, theirs) = tokio::net::UnixStream::pair().unwrap();
            let (reader, writer) = ours.into_split();
            let (peer, connection) = Connection::new(Tokio(reader), Tokio(writer), config);
            (Box::new(theirs) as Box<dyn tokio::io::AsyncRead + Send + Unpin>, peer, tokio::spawn(connection.run()))
        }
    };
    let reading = tokio::spawn(async move {
        let mut buffer = vec![0; 64 << 10];
        while theirs.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    });
    let sent = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (peer, sent) = (peer.clone(), Arc::clone(&sent));
            tokio::spawn(async move {
                let params = ["x".repeat(len)];
                let mut own = 0;
                while sent.fetch_add(1, Ordering::Relaxed) < total {
                    peer.notify("n", &params).await.unwrap();
                    own += 1;
                }
                own
            })
        })
        .collect();
    let mut shares = Vec::new();
    for task in tasks {
        shares.push(task.await.unwrap());
    }
    peer.end();
    running.abort();
    reading.abort();
    shares
}

#[derive(Clone, Copy, Debug)]
enum Stream {
    Duplex,
    #[cfg(unix)]
    Socket,
}

/// Checks that in each combination, the busiest task sends less than twice as many lines as the idlest. If it sends more,
/// it tries again with more lines, so many times.
fn check(runtime: &Runtime, scale: usize, retries: u32) {
    let streams = [
        Stream::Duplex,
        #[cfg(unix)]
        Stream::Socket,
    ];
    for stream in streams {
        for backlog in [0, 100, 4000, 1 << 20] {
            for (len, total) in [(10, 20_000), (3000, 4000), (1_200_000, 100)] {
                let mut found = Vec::new();
                let is_fair = (0..=retries).any(|retry| {
                    let total = total * scale * 3_usize.pow(retry);
                    let sending = async { timeout(Duration::from_secs(60), shares(stream, backlog, len, total)).await };
                    let shares = runtime.block_on(sending).expect("senders hang");
                    let (busiest, idlest) = (shares.iter().max().unwrap(), shares.iter().min().unwrap());
                    let is_fair = *busiest < 2 * *idlest;
                    found.push(shares);
                    is_fair
                });
                assert!(is_fair, "{stream:?}, backlog {backlog}, lines of {len}: {found:?}");
            }
        }
    }
}

#[test]
fn on_one_thread() {
    check(&Builder::new_current_thread().enable_all().build().unwrap(), 1, 0);
}

/// Within milliseconds, shares depend on which threads the system lets run; in the long run, on the queue.
#[test]
fn on_several_threads() {
    check(&Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(), 1, 5);
}

/// With room for many lines, those that waited are queued together. The sender that runs first must not take the rest of
/// the room.
#[test]
fn senders_that_waited_together_all_run_before_one_sends_again() {
    let params = ["x".repeat(30_000)];
    let mut connection: connection::Connection<()> =
        connection::Connection::new(Config::new(Rules::json_rpc()).backlog(150_000));
    let peer = connection.peer();
    let cx = &mut Context::from_waker(Waker::noop());
    let mut sent = 0;
    while peer.try_notify("n", &params).is_ok() {
        sent += 1;
    }
    assert_eq!(sent, 5);

    let (mut first, mut second) = (pin!(peer.notify("first", &params)), pin!(peer.notify("second", &params)));
    assert!(first.as_mut().poll(cx).is_pending() && second.as_mut().poll(cx).is_pending());
    // Half of it is written: room for both, and for one more.
    let half = connection.pending().len() / 2;
    connection.advance(half);
    assert!(first.as_mut().poll(cx).is_ready());
    let mut again = pin!(peer.notify("first again", &params));
    assert!(again.as_mut().poll(cx).is_pending(), "the second sender hasn't run");
    assert!(peer.try_notify("third", &params).is_err(), "nor can others overtake it");
    assert!(second.as_mut().poll(cx).is_ready());
    assert!(again.as_mut().poll(cx).is_ready());
}

/// A sender that was woken and never runs again doesn't hold up the others for longer than the queue takes to be written.
#[test]
fn a_sender_that_never_runs_again_holds_up_nobody_for_long() {
    let params = ["x".repeat(30_000)];
    for drops in [false, true] {
        let mut connection: connection::Connection<()> =
            connection::Connection::new(Config::new(Rules::json_rpc()).backlog(150_000));
        let peer = connection.peer();
        let cx = &mut Context::from_waker(Waker::noop());
        while peer.try_notify("n", &params).is_ok() {}
        let mut idle = Box::pin(peer.notify("idle", &params));
        assert!(idle.as_mut().poll(cx).is_pending());
        let half = connection.pending().len() / 2;
        connection.advance(half);
        let mut other = pin!(peer.notify("other", &params));
        assert!(other.as_mut().poll(cx).is_pending());
        match drops {
            true => drop(idle),
            false => {
                let rest = connection.pending().len();
                connection.advance(rest);
            }
        }
        assert!(other.as_mut().poll(cx).is_ready(), "dropped: {drops}");
    }
}
