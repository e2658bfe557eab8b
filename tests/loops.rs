//! Feeds hostile lines to the loops in the documentation and the examples: each must continue and answer the next
//! request.
//!
//! A `mirror` is a copy of code from a document. [`mirrors_are_true`] compares them, and [`no_loop_is_forgotten`] finds
//! loops that are neither here nor run as a process by `tests/examples.rs`.
#![cfg(feature = "tokio")]

mod common;

use std::path::{Path, PathBuf};

use common::{check_hostile, hostile_lines, hostile_stream};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn is_unknown(answer: &Value) -> bool {
    answer["error"]["code"] == -32601
}

/// A server's output for `input`, until it has read all of it and ended.
async fn exchange<F, E>(serve: impl FnOnce(TcpStream) -> F, input: Vec<u8>) -> Vec<u8>
where
    F: Future<Output = Result<(), E>>,
    E: std::fmt::Debug,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (mut reader, mut writer) = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap().into_split();
    let (server, _) = listener.accept().await.unwrap();
    let mut answers = Vec::new();
    let write = async {
        writer.write_all(&input).await.unwrap();
        writer.shutdown().await.unwrap();
    };
    let (served, (), read) = tokio::join!(serve(server), write, reader.read_to_end(&mut answers));
    served.unwrap();
    read.unwrap();
    answers
}

mod readme_tokio {
    // mirror README.md
    use futures_util::{SinkExt, StreamExt};
    use wireline::{Frame, Message, RpcError, Rules, codec::Codec, ledger::Inbound};

    async fn answer(stream: tokio::net::TcpStream) -> std::io::Result<()> {
        let rules = Rules::mcp();
        let owed = Inbound::new(rules, 1000); // requests in flight
        let mut lines = tokio_util::codec::Framed::new(stream, Codec::new(rules));
        while let Some(frame) = lines.next().await {
            let answer = match frame? {
                Ok(Frame::Message(Message::Request(request))) => match owed.admit(&request) {
                    Ok(ticket) if request.method() == "ping" => ticket.respond(&serde_json::json!({})),
                    Ok(ticket) => ticket.fail(&RpcError::method_not_found()),
                    Err(refusal) => refusal, // a duplicate id, or too many in flight
                },
                Ok(_) => continue,
                Err(fault) => match fault.reply() {
                    Some(reply) => owed.reply(&reply), // a bad line is an item: the stream goes on
                    None => continue,
                },
            };
            lines.send(answer).await?; // fails only if the connection does
        }
        Ok(())
    }
    // end

    #[tokio::test]
    async fn survives() {
        let answers = super::exchange(answer, super::hostile_stream("ping", "{}")).await;
        super::check_hostile(&answers, |answer| answer["result"] == super::json!({}));
        let answers = super::exchange(answer, super::hostile_stream("nope", "{}")).await;
        super::check_hostile(&answers, super::is_unknown);
    }
}

mod sockets_tokio {
    use std::error::Error;

    use futures_util::{SinkExt, StreamExt};
    use tokio::io::{AsyncRead, AsyncWrite};
    use tokio_util::codec::Framed;
    use wireline::codec::Codec;
    use wireline::ledger::{Answer, Inbound};
    use wireline::{Frame, Message, RpcError, Rules};

    // mirror examples/sockets_tokio.rs
    async fn answer(socket: impl AsyncRead + AsyncWrite + Unpin) -> Result<(), Box<dyn Error>> {
        let rules = Rules::json_rpc();
        let owed = Inbound::new(rules, 1000);
        let mut framed = Framed::new(socket, Codec::new(rules));
        while let Some(frame) = framed.next().await {
            let answer = match frame? {
                Ok(Frame::Message(message)) => answer_message(&owed, &message),
                // One array for all of its requests.
                Ok(Frame::Batch(batch)) => Some(owed.batch(batch.iter().filter_map(|entry| match entry {
                    Ok(message) => answer_message(&owed, &message),
                    Err(fault) => fault.reply().map(|reply| owed.reply(&reply)),
                }))),
                // A bad line is an item, not the end of the stream.
                Err(fault) => fault.reply().map(|reply| owed.reply(&reply)),
            };
            if let Some(answer) = answer {
                framed.send(answer).await?; // fails only if the connection does
            }
        }
        Ok(())
    }

    fn answer_message(owed: &Inbound, message: &Message<'_>) -> Option<Answer> {
        let Message::Request(request) = message else { return None };
        let ticket = match owed.admit(request) {
            Ok(ticket) => ticket,
            Err(refusal) => return Some(refusal),
        };
        let name = request.params().and_then(|params| params.deserialize::<[String; 1]>().ok());
        Some(match (&*request.method(), name) {
            ("hello", Some([name])) => ticket.respond(&format!("hello, {name}")),
            ("hello", None) => ticket.fail(&RpcError::invalid_params("expected a name")),
            _ => ticket.fail(&RpcError::method_not_found()),
        })
    }
    // end

    #[tokio::test]
    async fn survives() {
        let answers = super::exchange(answer, super::hostile_stream("hello", "[\"Ada\"]")).await;
        super::check_hostile(&answers, |answer| answer["result"] == "hello, Ada");
        // Each request of the batch among them, too.
        let answers = String::from_utf8(answers).unwrap();
        assert!(answers.contains("\"batch 1\"") && answers.contains("\"batch 2\""));
    }
}

mod aio {
    use serde_json::json;
    use wireline::aio::{FrameReader, LineWriter, Tokio};
    use wireline::ledger::Inbound;
    use wireline::{Frame, Message, Rules};

    // mirror src/aio/mod.rs
    async fn serve(stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + 'static) -> std::io::Result<()> {
        let (reader, writer) = tokio::io::split(stream);
        let rules = Rules::mcp();
        let (owed, mut frames) = (Inbound::new(rules, 1000), FrameReader::new(Tokio(reader), rules));
        let writer = LineWriter::new(Tokio(writer), rules);
        let sender = writer.sender();
        let writing = tokio::spawn(writer.run());
        while let Some(frame) = frames.next_frame().await? {
            let answer = match frame {
                Ok(Frame::Message(Message::Request(request))) => match owed.admit(&request) {
                    Ok(ticket) => {
                        let (request, sender) = (request.into_owned(), sender.clone());
                        tokio::spawn(async move {
                            // If the connection is gone, there is nobody left to answer.
                            let _ = sender.answer(ticket.respond(&json!({"called": request.method()}))).await;
                        });
                        continue;
                    }
                    Err(refusal) => refusal,
                },
                Ok(_) => continue,
                Err(fault) => match fault.reply() {
                    Some(reply) => owed.reply(&reply),
                    None => continue,
                },
            };
            sender.answer(answer).await?;
        }
        drop(sender);
        writing.await??; // when the last task has answered
        Ok(())
    }
    // end

    #[tokio::test]
    async fn survives() {
        let answers = super::exchange(serve, super::hostile_stream("ping", "{}")).await;
        super::check_hostile(&answers, |answer| answer["result"]["called"] == "ping");
    }
}

mod codec {
    use futures_util::{SinkExt, StreamExt};
    use tokio_util::codec::Framed;
    use wireline::codec::Codec;
    use wireline::{Frame, Rules, to_line};

    async fn echo(server: tokio::net::TcpStream) -> Result<(), Box<dyn std::error::Error>> {
        let rules = Rules::mcp();
        let (mut lines, mut frames) = Framed::new(server, Codec::new(rules)).split();
        // mirror src/codec.rs
        while let Some(frame) = frames.next().await {
            match frame? {
                // Sends a message back as it came.
                Ok(Frame::Message(message)) => match to_line(&rules, |encoder| encoder.forward(&message)) {
                    Ok(line) => lines.send(line).await?,
                    Err(error) => eprintln!("{error}"), // about this message alone
                },
                Ok(Frame::Batch(_)) => {}
                Err(fault) => {
                    if let Some(Ok(line)) =
                        fault.reply().map(|reply| to_line(&rules, |encoder| encoder.error_reply(&reply)))
                    {
                        lines.send(line).await?;
                    }
                }
            }
        }
        // end
        Ok(())
    }

    #[tokio::test]
    async fn survives() {
        // What comes back is the message itself: a notification and stray responses have no answer to be counted.
        let answers = super::exchange(echo, super::hostile_stream("echo", "{}")).await;
        super::check_hostile(&answers, |answer| answer["method"] == "echo");
    }
}

mod ledger {
    use wireline::io::FrameWriter;
    use wireline::ledger::Inbound;
    use wireline::{Decoder, Frame, Message, Rules};

    fn answers(input: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let rules = Rules::json_rpc();
        let (owed, writer) = (Inbound::new(rules, 100), FrameWriter::new(Vec::new(), rules));
        let mut decoder = Decoder::new(rules);
        decoder.feed(input);
        // mirror src/ledger/mod.rs
        while let Some(frame) = decoder.next_frame() {
            let answer = match frame {
                Ok(Frame::Message(Message::Request(request))) => match owed.admit(&request) {
                    Ok(ticket) => ticket.respond("world"),
                    Err(refusal) => refusal,
                },
                Ok(_) => continue,
                Err(fault) => match fault.reply() {
                    Some(reply) => owed.reply(&reply),
                    None => continue,
                },
            };
            let _ = writer.answer(answer)?;
        }
        // end
        Ok(writer.into_parts().unwrap().0)
    }

    #[test]
    fn survives() {
        super::check_hostile(&answers(&super::hostile_stream("hello", "[]")).unwrap(), |answer| {
            answer["result"] == "world"
        });
    }
}

mod reader {
    use bytes::BytesMut;
    use wireline::{Frame, Message, Rules, io::FrameReader, ledger::Inbound};

    fn writes(input: &[u8]) -> std::io::Result<Vec<BytesMut>> {
        let mut reader = FrameReader::new(input, Rules::json_rpc());
        // mirror src/io/reader.rs
        let owed = Inbound::new(Rules::json_rpc(), 100);
        let (mut answers, mut writes) = (BytesMut::new(), Vec::new());
        loop {
            while let Some(frame) = reader.next_buffered() {
                if let Ok(Frame::Message(Message::Request(request))) = frame {
                    match owed.admit(&request) {
                        Ok(ticket) => ticket.respond(&request.method()).accept_into(&mut answers),
                        Err(refusal) => refusal.accept_into(&mut answers),
                    }
                }
            }
            writes.push(answers.split()); // all answers to one read, in one write
            if !reader.fill()? {
                break;
            }
        }
        // end
        Ok(writes)
    }

    #[test]
    fn survives() {
        let answers = writes(&super::hostile_stream("hello", "[]")).unwrap().concat();
        // It leaves out bad lines.
        let good = answers.split(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\"result\":\"hello\"}"));
        assert_eq!(good.count(), super::hostile_lines().len());
    }
}

mod answering_faults {
    // mirror docs/answering-faults.md
    use wireline::{Decoder, Encoder, Rules};

    /// The answers to the bad lines of `input`.
    fn answers(input: &[u8], rules: Rules) -> String {
        let (mut decoder, mut encoder) = (Decoder::new(rules), Encoder::new(rules));
        decoder.feed(input);
        while let Some(frame) = decoder.next_frame() {
            let Err(fault) = frame else { continue };
            let Some(reply) = fault.reply() else { continue };
            if let Err(error) = encoder.error_reply(&reply) {
                eprintln!("line {}: no answer fits the limits: {error}", fault.line());
            }
        }
        String::from_utf8(encoder.take().to_vec()).unwrap()
    }
    // end

    #[test]
    fn survives() {
        let input = super::hostile_stream("hello", "1");
        super::check_hostile([answers(&input, Rules::json_rpc()), valid_ones()].concat().as_bytes(), |answer| {
            answer["error"]["code"] == -32600
        });
    }

    /// Those that aren't faults, and so get no answer here.
    fn valid_ones() -> String {
        let valid = super::hostile_lines()
            .into_iter()
            .filter(|(line, _)| wireline::Frame::parse(line, &Rules::json_rpc()).is_ok());
        valid.filter_map(|(_, id)| Some(format!("{{\"id\":{}}}\n", id?))).collect()
    }
}

mod noisy_stdout {
    use std::io;
    use wireline::io::FrameReader;
    use wireline::ledger::Outbound;
    use wireline::{Frame, Hint, Message, Rules};

    // mirror docs/surviving-a-noisy-stdout.md
    fn read_all(stdout: impl io::Read, calls: &mut Outbound<&'static str>) -> io::Result<(usize, Vec<&'static str>)> {
        let mut reader = FrameReader::new(stdout, Rules::mcp());
        let (mut prints, mut failed) = (0, Vec::new());
        while let Some(frame) = reader.next_frame()? {
            match frame {
                Ok(Frame::Message(Message::Response(response))) => match calls.settle(&response) {
                    Ok(call) => println!("{call} succeeded: {}", response.result().is_some()),
                    Err(stray) => eprintln!("line {}: {stray}", response.line()),
                },
                Ok(_) => {}
                Err(fault) if fault.is_response() => failed.extend(fault.id().and_then(|id| calls.withdraw(id))),
                Err(fault) if fault.hint() == Some(Hint::LogText) => prints += 1,
                Err(fault) => eprintln!("{fault}"), // contains none of the server's output
            }
        }
        failed.extend(calls.drain().map(|(_, call)| call));
        Ok((prints, failed))
    }
    // end

    #[test]
    fn survives() {
        let (mut calls, mut stdout) = (Outbound::new(1000), Vec::new());
        for (line, _) in super::hostile_lines() {
            let id = calls.issue("a call").unwrap();
            stdout.extend([&line[..], b"\n"].concat());
            stdout.extend(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{}}}}\n", id.as_json()).into_bytes());
        }
        let (prints, failed) = read_all(&stdout[..], &mut calls).unwrap();
        assert!(prints > 0);
        assert_eq!(failed, [""; 0]);
    }
}

mod proxy {
    use serde_json::{Map, Value, json};
    use std::collections::HashMap;
    use std::time::{Duration, Instant};
    use wireline::ledger::Outbound;
    use wireline::{EncodeError, Encoder, Fault, Frame, Id, Line, Message, Notification, Request};
    use wireline::{RpcError, Rules, to_line};

    // mirror docs/writing-a-proxy.md
    #[derive(Debug, PartialEq)]
    enum To {
        Server,
        Client(usize),
    }

    /// A client, and the id of one of its requests.
    type Origin = (usize, Id<'static>);

    /// For how long clients wait for the server.
    const TIMEOUT: Duration = Duration::from_secs(60);

    struct Proxy {
        rules: Rules,
        /// The requests at the server.
        open: Outbound<Origin>,
        /// The ids they were forwarded with.
        forwarded: HashMap<Origin, Id<'static>>,
        /// Whether the server is gone.
        gone: bool,
    }

    impl Proxy {
        /// The line to send because of what a client sent, if any.
        fn client_sent(&mut self, client: usize, frame: Result<Frame<'_>, Fault>, now: Instant) -> Option<(To, Line)> {
            match frame {
                Ok(Frame::Message(Message::Request(request))) => self.request(client, &request, now),
                Ok(Frame::Message(Message::Notification(note))) if note.method() == "notifications/cancelled" => {
                    self.cancel(client, &note)
                }
                Ok(Frame::Message(Message::Notification(note))) => {
                    self.line(To::Server, |encoder| encoder.forward(&note))
                }
                Ok(_) => None, // this server sends no requests, and MCP has no batches
                Err(fault) => {
                    let reply = fault.reply()?;
                    self.line(To::Client(client), |encoder| encoder.error_reply(&reply))
                }
            }
        }

        /// The line to send because of what the server sent, if any.
        fn server_sent(&mut self, frame: Result<Frame<'_>, Fault>) -> Option<(To, Line)> {
            match frame {
                Ok(Frame::Message(Message::Response(response))) => {
                    let origin = self.open.settle(&response).ok()?; // nobody waits for a stray response
                    self.forwarded.remove(&origin);
                    self.line(To::Client(origin.0), |encoder| encoder.with_id(&response, &origin.1))
                        .or_else(|| self.error(&origin, &RpcError::internal()))
                }
                // A broken response can't be forwarded, but there won't be another.
                Err(fault) if fault.is_response() => {
                    let origin = self.open.withdraw(fault.id()?)?;
                    self.forwarded.remove(&origin);
                    self.error(&origin, &RpcError::internal())
                }
                _ => None,
            }
        }

        /// The lines to send when the server's output has ended, or a line can't be written to its input.
        fn server_is_gone(&mut self) -> Vec<(To, Line)> {
            self.gone = true; // later requests are answered at once
            self.forwarded.clear();
            let waiting = self.open.drain();
            waiting.filter_map(|(_, origin)| self.error(&origin, &RpcError::new(-32000, "server is gone"))).collect()
        }

        /// The lines to send when `self.open.next_deadline()` has come.
        fn time_has_passed(&mut self, now: Instant) -> Vec<(To, Line)> {
            let mut lines = Vec::new();
            while let Some((_, origin)) = self.open.take_expired(now) {
                self.forwarded.remove(&origin);
                lines.extend(self.error(&origin, &RpcError::new(-32000, "server did not answer in time")));
            }
            lines
        }

        fn request(&mut self, client: usize, request: &Request<'_>, now: Instant) -> Option<(To, Line)> {
            let origin = (client, request.id().clone().into_owned());
            if self.gone {
                return self.error(&origin, &RpcError::new(-32000, "server is gone"));
            }
            if self.forwarded.contains_key(&origin) {
                return self.error(&origin, &RpcError::invalid_request("id is already in use"));
            }
            let Ok(id) = self.open.issue(origin.clone()) else {
                return self.error(&origin, &RpcError::new(-32000, "server is busy"));
            };
            self.open.set_deadline(&id, now + TIMEOUT);
            let Some(line) = self.line(To::Server, |encoder| encoder.with_id(request, &id)) else {
                self.open.withdraw(&id); // with the new id, the line exceeds the limit
                return self.error(&origin, &RpcError::internal());
            };
            self.forwarded.insert(origin, id);
            Some(line)
        }

        fn cancel(&mut self, client: usize, note: &Notification<'_>) -> Option<(To, Line)> {
            let params = note.params()?;
            let id = params.pointer("/requestId")?.deserialize().ok()?;
            let id = self.forwarded.remove(&(client, id))?; // already answered
            self.open.withdraw(&id); // MCP doesn't answer cancelled requests
            let mut params: Map<String, Value> = params.deserialize().unwrap_or_default();
            params.insert("requestId".to_owned(), json!(id));
            self.line(To::Server, |encoder| encoder.notification("notifications/cancelled", &params))
        }

        fn error(&self, (client, id): &Origin, error: &RpcError) -> Option<(To, Line)> {
            self.line(To::Client(*client), |encoder| encoder.error(id, error))
        }

        /// `None` if the message can't be encoded. That affects no other message.
        fn line(&self, to: To, write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>) -> Option<(To, Line)> {
            Some((to, to_line(&self.rules, write).ok()?))
        }
    }
    // end

    #[test]
    fn survives() {
        let (rules, now) = (Rules::mcp(), Instant::now());
        let mut proxy = Proxy { rules, open: Outbound::new(1000), forwarded: HashMap::new(), gone: false };
        let (mut from_client, mut from_server) = (wireline::Decoder::new(rules), wireline::Decoder::new(rules));
        from_client.feed(&super::hostile_stream("sum", "{}"));
        // The server sends hostile lines too, and answers each request.
        let mut noise = super::hostile_lines().into_iter().map(|(line, _)| line).cycle();
        let mut answers = Vec::new();
        while let Some(frame) = from_client.next_frame() {
            let sent = proxy.client_sent(0, frame, now);
            if let Some((To::Server, line)) = &sent
                && let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line.text(), &rules)
            {
                let answer = to_line(&rules, |encoder| encoder.response(request.id(), &json!({"sum": 7}))).unwrap();
                from_server.feed(&[&noise.next().unwrap(), &b"\n"[..], answer.as_bytes()].concat());
            }
            let mut sent: Vec<_> = sent.into_iter().collect();
            while let Some(frame) = from_server.next_frame() {
                sent.extend(proxy.server_sent(frame));
            }
            for (to, line) in sent {
                if to == To::Client(0) {
                    answers.extend_from_slice(line.as_bytes());
                }
            }
        }
        super::check_hostile(&answers, |answer| answer["result"] == json!({"sum": 7}));

        let request = br#"{"jsonrpc":"2.0","id":1,"method":"sum"}"#;
        assert_eq!(proxy.client_sent(0, Frame::parse(request, &rules), now).unwrap().0, To::Server);
        assert_eq!(proxy.time_has_passed(now).len(), 0);
        assert_eq!(proxy.time_has_passed(now + TIMEOUT).len(), 1);
        assert_eq!(proxy.server_is_gone().len(), 0);
        assert!(proxy.forwarded.is_empty() && proxy.open.in_flight() == 0);
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Code from a file or a documentation comment, without anything that rustfmt may format differently in each place.
fn normalized(code: &str) -> String {
    let line = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("//!").or_else(|| line.strip_prefix("///")).unwrap_or(line).trim();
        line.strip_prefix("# ").unwrap_or(line).to_owned()
    };
    code.lines().map(line).collect::<String>().replace(|c: char| c.is_whitespace() || ",{}".contains(c), "")
}

#[test]
fn mirrors_are_true() {
    let (mut mirrors, mut lines) = (0, include_str!("loops.rs").lines());
    while let Some(line) = lines.next() {
        let Some(path) = line.trim().strip_prefix("// mirror ") else { continue };
        let code: Vec<_> = lines.by_ref().take_while(|line| line.trim() != "// end").collect();
        let code = code.join("\n");
        assert!(normalized(&read(path)).contains(&normalized(&code)), "{path} differs from this:\n{code}");
        mirrors += 1;
    }
    assert_eq!(mirrors, 9);
}

/// How many loops over frames each file has. Those that answer are mirrored here, or are examples that are run with
/// hostile lines. If you add one, do the same, and count it here.
#[test]
fn no_loop_is_forgotten() {
    const LOOPS: &[(&str, usize)] = &[
        ("README.md", 2),                        // one is mirrored, one answers nothing
        ("docs/answering-faults.md", 1),         // mirrored
        ("docs/framing-a-stream.md", 2),         // they answer nothing
        ("docs/surviving-a-noisy-stdout.md", 1), // mirrored
        ("examples/client.rs", 1),               // a client
        ("examples/proxy.rs", 2),                // run
        ("examples/server_threads.rs", 1),       // run
        ("examples/server_tokio.rs", 1),         // run
        ("examples/sockets.rs", 1),              // a client
        ("examples/sockets_tokio.rs", 1),        // mirrored
        ("src/aio/mod.rs", 1),                   // mirrored
        ("src/aio/reader.rs", 1),                // answers nothing
        ("src/codec.rs", 1),                     // mirrored
        ("src/decode/decoder.rs", 3),            // they answer nothing
        ("src/io/reader.rs", 2),                 // one is mirrored, one answers nothing
        ("src/ledger/mod.rs", 1),                // mirrored
        ("src/lib.rs", 1),                       // answers only by text
        ("src/message/frame.rs", 1),             // answers nothing
    ];
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("docs"), PathBuf::from("examples"), PathBuf::from("src")];
    let mut files = vec![PathBuf::from("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    for file in files {
        let path = file.to_str().unwrap().replace('\\', "/");
        let text = read(&path);
        // The library's own code is not an example.
        let is_shown = |line: &&str| !path.starts_with("src/") || line.trim().starts_with("//");
        let loops = text.lines().filter(is_shown).filter(|line| line.contains("while let Some(frame) =")).count();
        if loops > 0 {
            found.push((path, loops));
        }
    }
    found.sort_unstable();
    assert_eq!(found.iter().map(|(path, loops)| (path.as_str(), *loops)).collect::<Vec<_>>(), LOOPS);
}
