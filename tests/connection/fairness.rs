//! Tasks that send at the same time get about the same share, whatever the backlog and the length of their lines.
//!
//! On several threads with a large backlog, shares also depend on the runtime: tasks that were woken by the connection's
//! task run on its thread, and those on another thread find room more often. There, no task may starve.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use wireline::Rules;
use wireline::aio::{Connection, Tokio};
use wireline::connection::Config;

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

/// Checks each combination. If shares differ too much, it tries again with more lines, so many times.
fn check(runtime: &Runtime, scale: usize, retries: u32, ratio: impl Fn(usize) -> usize) {
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
                    let is_fair = *busiest < ratio(backlog) * *idlest;
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
    check(&Builder::new_current_thread().enable_all().build().unwrap(), 1, 0, |_| 2);
}

/// Within milliseconds, shares depend on which threads the system lets run; in the long run, on the queue.
#[test]
fn on_several_threads() {
    let ratio = |backlog| if backlog < 1 << 20 { 2 } else { 50 };
    check(&Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(), 3, 4, ratio);
}
