//! A client that costs as little as possible: its requests are encoded before, and it only counts the answers.

use std::io::ErrorKind;

use serde_json::{Value, json};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

use super::{Serve, WORKS, lines};

/// What a client sends.
pub(super) struct Session {
    /// How many requests may be in flight.
    pub(super) in_flight: usize,
    pub(super) stream: Vec<u8>,
    /// Where each request ends in the stream.
    ends: Vec<usize>,
}

impl Session {
    /// `requests` of about `len` bytes each, of which at most `in_flight` at a time.
    pub(super) fn new(len: usize, requests: usize, in_flight: usize) -> Self {
        let request = |id: usize, text: &str| {
            let params = json!({ "text": text });
            json!({"jsonrpc": "2.0", "id": id, "method": "echo", "params": params}).to_string() + "\n"
        };
        let around = request(requests, "").len();
        let text: String =
            "Plain text with a line break now and then.\n".chars().cycle().take(len.saturating_sub(around)).collect();
        let stream: Vec<u8> = (1..=requests).flat_map(|id| request(id, &text).into_bytes()).collect();
        let ends = memchr::memchr_iter(b'\n', &stream).map(|at| at + 1).collect();
        Self { in_flight, stream, ends }
    }

    pub(super) fn requests(&self) -> usize {
        self.ends.len()
    }

    /// Sends everything, and waits until everything is answered. Hands each piece of the answers to `seen`.
    ///
    /// Answers that arrive together are replaced by as many requests, in one write.
    pub(super) fn run(&self, runtime: &Runtime, serve: Serve, mut seen: impl FnMut(&[u8])) {
        runtime.block_on(async {
            let (client, server) = UnixStream::pair().expect(WORKS);
            // A task of its own, as for each connection that a server accepts.
            let server = tokio::spawn(serve(server));
            let (mut sent, mut answers, mut buffer) = (0, 0, vec![0; 64 << 10]);
            while answers < self.requests() {
                let allowed = self.ends[(answers + self.in_flight).min(self.requests()) - 1];
                while sent < allowed {
                    match client.try_write(&self.stream[sent..allowed]) {
                        Ok(len) => sent += len,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                        Err(error) => panic!("{WORKS}: {error}"),
                    }
                }
                match client.try_read(&mut buffer) {
                    Ok(len) => {
                        assert!(len > 0, "the server ended after {answers} answers");
                        answers += memchr::memchr_iter(b'\n', &buffer[..len]).count();
                        seen(&buffer[..len]);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        let is_blocked = sent < allowed;
                        let interest =
                            if is_blocked { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
                        client.ready(interest).await.expect(WORKS);
                    }
                    Err(error) => panic!("{WORKS}: {error}"),
                }
            }
            drop(client);
            server.await.expect(WORKS);
        });
    }

    /// Whether each request gets one response, with the text it has sent.
    pub(super) fn is_answered_by(&self, runtime: &Runtime, serve: Serve) -> bool {
        let mut said = Vec::new();
        self.run(runtime, serve, |piece| said.extend_from_slice(piece));
        let by_id = |stream: &[u8], payload: &str| {
            let messages = lines(stream).map(|line| serde_json::from_slice::<Value>(line).expect("JSON"));
            let mut texts: Vec<_> =
                messages.map(|message| (message["id"].as_u64(), message[payload]["text"].clone())).collect();
            texts.sort_by_key(|(id, _)| *id);
            texts
        };
        by_id(&said, "result") == by_id(&self.stream, "params")
    }
}
