//! A server with a pool of worker threads, on stdin and stdout.
//!
//! ```console
//! $ cargo run -q --features stdio --example server_threads <<'END'
//! {"jsonrpc":"2.0","id":1,"method":"sleep","params":[300]}
//! {"jsonrpc":"2.0","id":2,"method":"sleep","params":[100]}
//! {"jsonrpc":"2.0","id":3,"method":"sleep","params":[1000]}
//! {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}}
//! END
//! {"jsonrpc":"2.0","id":3,"error":{"code":-32800,"message":"Request cancelled"}}
//! {"jsonrpc":"2.0","id":2,"result":100.0}
//! {"jsonrpc":"2.0","id":1,"result":300.0}
//! ```
//!
//! Answers are sent as they are ready, in any order. Requests can be cancelled, have a deadline, and are refused when
//! too many are in flight. At the end of the input, those in flight get some time to finish. Each request gets exactly
//! one answer, even if its worker panics, as the method `panic` does. For results that JSON can't express, try `divide`
//! with `[1,0]`.
//!
//! A thread can't be stopped from outside, so a long-running method checks whether to stop. `block` doesn't.

use std::io::{self, Read, stdin};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use wireline::io::{FrameReader, FrameWriter, Unsent};
use wireline::ledger::{Answer, Inbound, Ticket};
use wireline::stdio::{self, Stdout};
use wireline::{Frame, Message, Notification, Request, RpcError, Rules};

const WORKERS: usize = 4;
/// Requests that are being worked on or wait for a worker. Further ones are refused.
const IN_FLIGHT: usize = 16;
/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long requests may run after the end of the input.
const GRACE: Duration = Duration::from_secs(1);

fn main() -> io::Result<()> {
    // Workers answer one by one, so batches, which need all answers in one array, are refused.
    let rules = Rules::json_rpc().batches(false);
    let owed = Inbound::new(rules, IN_FLIGHT);
    let writer = FrameWriter::new(stdio::claim()?, rules);
    // Bounded by the ledger, since each job has a ticket.
    let (queue, jobs) = channel();
    let jobs = Arc::new(Mutex::new(jobs));
    for _ in 0..WORKERS {
        let (jobs, owed, writer) = (Arc::clone(&jobs), owed.clone(), writer.clone());
        thread::spawn(move || work(&jobs, &owed, &writer));
    }

    let read = read_requests(stdin().lock(), &queue, &owed, &writer);
    owed.close();
    if !owed.wait_idle(GRACE) {
        for answer in owed.answer_rest(&RpcError::new(-32000, "the server is shutting down")) {
            send(answer, &writer);
        }
    }
    let _ = writer.flush()?;
    read
}

/// Queues requests until the input ends.
fn read_requests(
    input: impl Read,
    queue: &Sender<Job>,
    owed: &Inbound,
    writer: &FrameWriter<Stdout>,
) -> io::Result<()> {
    let mut frames = FrameReader::new(input, Rules::json_rpc().batches(false));
    while let Some(frame) = frames.next_frame()? {
        match frame {
            Ok(Frame::Message(Message::Request(request))) => match owed.admit(&request) {
                Ok(ticket) => {
                    let job = Job { ticket, request: request.into_owned(), deadline: Instant::now() + TIMEOUT };
                    queue.send(job).map_err(|_| io::Error::other("no workers left"))?;
                }
                // A duplicate id, or too many requests in flight.
                Err(refusal) => send(refusal, writer),
            },
            Ok(Frame::Message(Message::Notification(note))) => cancel(owed, &note),
            Ok(_) => {} // this server sends no requests, so it expects no responses
            Err(fault) => {
                eprintln!("{fault}");
                if let Some(reply) = fault.reply() {
                    send(owed.reply(&reply), writer);
                }
            }
        }
    }
    Ok(())
}

fn cancel(owed: &Inbound, note: &Notification<'_>) {
    let id = note.params().and_then(|params| params.pointer("/id")?.deserialize().ok());
    if let ("$/cancelRequest", Some(id)) = (&*note.method(), id) {
        owed.cancel(&id); // false if it has been answered
    }
}

fn work(jobs: &Mutex<Receiver<Job>>, owed: &Inbound, writer: &FrameWriter<Stdout>) {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        match catch_unwind(AssertUnwindSafe(|| job.run())) {
            Ok(answer) => send(answer, writer),
            // The panic dropped the ticket, so its answer is still owed.
            Err(_) => owed.dropped().for_each(|answer| send(answer, writer)),
        }
    }
}

/// Sends an answer. If that fails, the client is gone, and there is nobody to answer.
fn send(answer: Answer, writer: &FrameWriter<Stdout>) {
    if let Some(error) = answer.instead_of() {
        eprintln!("answered with an internal error: {error}");
    }
    if let Err(Unsent { error, .. }) = writer.answer(answer) {
        eprintln!("failed to send an answer: {error}");
    }
}

struct Job {
    ticket: Ticket,
    request: Request<'static>,
    deadline: Instant,
}

impl Job {
    fn run(self) -> Answer {
        match self.call() {
            Ok(result) => self.ticket.respond(&result),
            Err(error) => self.ticket.fail(&error),
        }
    }

    fn call(&self) -> Result<f64, RpcError> {
        self.check()?; // it may have waited in the queue for a long time
        match &*self.request.method() {
            "divide" => self.params().map(|[a, b]: [f64; 2]| a / b),
            "sleep" => {
                let [ms]: [u32; 1] = self.params()?;
                let end = Instant::now() + Duration::from_millis(ms.into());
                while Instant::now() < end {
                    self.check()?;
                    thread::sleep(Duration::from_millis(5));
                }
                Ok(ms.into())
            }
            "block" => {
                let [ms]: [u32; 1] = self.params()?;
                thread::sleep(Duration::from_millis(ms.into()));
                Ok(ms.into())
            }
            "panic" => panic!("as requested"),
            _ => Err(RpcError::method_not_found()),
        }
    }

    /// Fails if the work should stop. This is cheap, so it can be called often.
    fn check(&self) -> Result<(), RpcError> {
        match () {
            () if self.ticket.is_cancelled() => Err(RpcError::new(-32800, "Request cancelled")),
            () if Instant::now() >= self.deadline => Err(RpcError::new(-32000, "deadline exceeded")),
            () => Ok(()),
        }
    }

    fn params<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        let params = self.request.params().and_then(|params| params.deserialize().ok());
        params.ok_or_else(|| RpcError::invalid_params("Invalid params"))
    }
}
