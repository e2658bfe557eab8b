//! Starts the calculator of `server.rs` and sends it many requests at once.
//!
//! ```console
//! $ cargo build --examples && cargo run -q --example client
//! 1000 answers to 1000 requests from 4 threads, 252 of them errors
//! ```
//!
//! Several threads send requests without waiting for answers. For each request the ledger stores a channel, through
//! which the reading thread passes on the answer.

use std::error::Error;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use wireline::ledger::Outbound;
use wireline::{Decoder, Frame, Message, Rules};

const THREADS: usize = 4;
const REQUESTS: usize = 250;

/// The result, or the code of an error.
type Answer = Result<f64, i64>;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo builds the server next to this example.
    let server = std::env::current_exe()?.with_file_name(format!("server{}", std::env::consts::EXE_SUFFIX));
    let mut server = Command::new(server).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else { unreachable!() };

    let open = Mutex::new(Outbound::new(THREADS * REQUESTS));
    let input = Arc::new(Mutex::new(input));
    let errors = thread::scope(|scope| {
        scope.spawn(|| read_answers(output, &open));
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (input, open) = (Arc::clone(&input), &open);
                scope.spawn(move || ask(thread, &input, open))
            })
            .collect();
        // When the last thread is done, the server's input closes. The server exits, and the reading thread ends.
        drop(input);
        threads.into_iter().map(|thread| thread.join().unwrap_or(Ok(0))).sum::<Result<usize, _>>()
    });
    let errors = errors.map_err(|error| error.to_string())?;
    let total = THREADS * REQUESTS;
    println!("{total} answers to {total} requests from {THREADS} threads, {errors} of them errors");
    server.wait()?;
    Ok(())
}

/// Sends all requests of one thread, then waits for the answers and returns the number of errors.
fn ask(
    thread: usize,
    input: &Mutex<impl Write>,
    open: &Mutex<Outbound<Sender<Answer>>>,
) -> Result<usize, Box<dyn Error + Send + Sync>> {
    let mut answers = Vec::new();
    for i in 0..REQUESTS {
        let (sender, receiver) = channel();
        let id = open.lock().unwrap_or_else(PoisonError::into_inner).issue(sender)?;
        // Every fourth request divides by zero, which is an error.
        let (a, b) = ((thread * REQUESTS + i) as f64, (i % 4) as f64);
        let line = match wireline::to_line(&Rules::json_rpc(), |encoder| encoder.request(&id, "divide", &[a, b])) {
            Ok(line) => line,
            Err(error) => {
                // Only this request failed, for example because JSON has no NaN.
                eprintln!("{error}");
                open.lock().unwrap_or_else(PoisonError::into_inner).withdraw(&id);
                continue;
            }
        };
        input.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes())?;
        answers.push((a / b, receiver));
    }
    let mut errors = 0;
    for (expected, receiver) in answers {
        match receiver.recv()? {
            Ok(number) => assert_eq!(number, expected),
            Err(code) => {
                assert_eq!((code, expected.is_finite()), (1, false));
                errors += 1;
            }
        }
    }
    Ok(errors)
}

/// Passes each answer to the thread that is waiting for it, until the output ends.
fn read_answers(mut output: impl Read, open: &Mutex<Outbound<Sender<Answer>>>) -> std::io::Result<()> {
    let mut decoder = Decoder::new(Rules::json_rpc());
    let mut chunk = [0; 8192];
    loop {
        let read = output.read(&mut chunk)?;
        if read == 0 {
            // Dropping the senders closes the channels of threads that are still waiting.
            open.lock().unwrap_or_else(PoisonError::into_inner).drain().for_each(drop);
            return Ok(());
        }
        decoder.feed(&chunk[..read]);
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Ok(Frame::Message(Message::Response(response))) => {
                    let settled = open.lock().unwrap_or_else(PoisonError::into_inner).settle(&response);
                    let answer = match response.outcome() {
                        Ok(result) => result.deserialize().map_err(|_| 0),
                        Err(error) => Err(error.code()),
                    };
                    match settled {
                        Ok(sender) => drop(sender.send(answer)),
                        Err(stray) => eprintln!("{stray}"),
                    }
                }
                Ok(_) => eprintln!("unexpected message from the server"),
                Err(fault) => {
                    eprintln!("{fault}");
                    // If it was a response, there won't be another. Dropping the sender notifies the waiting thread.
                    if let Some(id) = fault.id().filter(|_| fault.is_response()) {
                        drop(open.lock().unwrap_or_else(PoisonError::into_inner).withdraw(id));
                    }
                }
            }
        }
    }
}
