//! Starts the calculator of `server.rs` and sends it many requests at once.
//!
//! ```console
//! $ cargo build --examples && cargo run -q --example client
//! 1000 answers to 1000 requests from 4 threads, 252 of them errors
//! ```
//!
//! Four threads share one connection. Each sends all its requests before it waits for the first answer.

use std::env::{consts::EXE_SUFFIX, current_exe};
use std::error::Error;
use std::process::{Command, Stdio};
use std::thread;

use wireline::Rules;
use wireline::connection::{CallError, Caller, Peer};
use wireline::io::Connection;

const THREADS: usize = 4;
const REQUESTS: usize = 250;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo builds the server next to this example.
    let server = current_exe()?.with_file_name(format!("server{EXE_SUFFIX}"));
    let mut server = Command::new(server).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(stdin), Some(stdout)) = (server.stdin.take(), server.stdout.take()) else { unreachable!() };
    let (peer, connection) = Connection::new(stdout, stdin, Rules::json_rpc());
    let connection = thread::spawn(|| connection.run());

    let errors = thread::scope(|scope| {
        let peer = &peer;
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || ask(thread, peer))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it doesn't panic")).sum::<Result<usize, CallError>>()
    })?;
    let total = THREADS * REQUESTS;
    println!("{total} answers to {total} requests from {THREADS} threads, {errors} of them errors");

    peer.end(); // closes the server's input, so that it exits
    connection.join().expect("it doesn't panic")?;
    server.wait()?;
    Ok(())
}

/// Sends all requests of one thread, then waits for the answers and returns the number of errors.
fn ask(thread: usize, peer: &Peer<Caller>) -> Result<usize, CallError> {
    // Every fourth request divides by zero, which is an error.
    let numbers = (0..REQUESTS).map(|i| ((thread * REQUESTS + i) as f64, (i % 4) as f64));
    let calls: Vec<_> = numbers.map(|(a, b)| (a / b, peer.call::<f64>("divide", &(a, b)))).collect();
    let mut errors = 0;
    for (expected, call) in calls {
        match call.wait() {
            Ok(number) => assert_eq!(number, expected),
            Err(CallError::Rpc(error)) if error.code() == 1 => errors += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(errors)
}
