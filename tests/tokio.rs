//! The codec for tokio: the same frames, cancelled reads, many connections, slow readers.
#![cfg(feature = "tokio")]

use crate::common;

use std::collections::HashSet;
use std::time::Duration;

use bytes::BytesMut;
use common::{Dialect, cases, describe};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_util::codec::{Decoder, Framed, FramedRead};
use wireline::codec::Codec;
use wireline::{EncodeError, Encoder, Frame, Id, Line, Message, Rules, to_line};

#[tokio::test]
async fn gives_the_same_frames() {
    let stream: Vec<u8> = cases().iter().flat_map(|case| [&case.line[..], b"\n"].concat()).collect();
    for dialect in Dialect::ALL {
        for size in [1, 7, 64, 1000, 100_000] {
            let (mut near, far) = duplex(size.min(4096));
            let pieces: Vec<Vec<u8>> = stream.chunks(size).map(<[u8]>::to_vec).collect();
            let writer = tokio::spawn(async move {
                for piece in pieces {
                    near.write_all(&piece).await.unwrap();
                }
            });
            let mut frames = FramedRead::new(far, Codec::new(dialect.rules()));
            for case in cases() {
                let frame = frames.next().await.unwrap().unwrap();
                assert_eq!(describe(&frame), case.expected(dialect), "{dialect:?} in pieces of {size}");
            }
            assert!(frames.next().await.is_none());
            writer.await.unwrap();
        }
    }
}

#[tokio::test]
async fn the_last_line_needs_no_end() {
    for (end, last) in [("", r#"request 1 "m" -"#), ("x", "fault trailing-data @38 id=1 reply=1")] {
        let (mut near, far) = duplex(1024);
        let line = r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;
        near.write_all(format!("{line}\n{line}{end}").as_bytes()).await.unwrap();
        let task = tokio::spawn(async move {
            let mut frames = FramedRead::new(far, Codec::new(Rules::mcp()));
            let mut found = Vec::new();
            while let Some(frame) = frames.next().await {
                found.push(describe(&frame.unwrap()));
            }
            found
        });
        near.shutdown().await.unwrap();
        drop(near);
        assert_eq!(task.await.unwrap(), [r#"request 1 "m" -"#, last]);
    }
}

/// A transport may hand over its last bytes together with the end.
#[test]
fn bytes_that_come_with_the_end() {
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;
    let mut codec = Codec::new(Rules::mcp());
    let mut bytes = BytesMut::from(format!("{line}\n{line}").as_str());
    for _ in 0..2 {
        let frame = codec.decode_eof(&mut bytes).unwrap().unwrap();
        assert_eq!(describe(&frame), r#"request 1 "m" -"#);
        assert_eq!(codec.decoder().last_line(), line.as_bytes());
    }
    assert!(codec.decode_eof(&mut bytes).unwrap().is_none());
}

#[tokio::test]
async fn sends_lines_from_anywhere() {
    let rules = Rules::json_rpc();
    let (near, mut far) = duplex(10_000);
    // Through a channel, and through the two halves of a `Framed`.
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<Line>(10);
    let (mut lines, _frames) = Framed::new(near, Codec::new(rules)).split();
    let send = |write: fn(&mut Encoder) -> Result<(), EncodeError>| {
        sender.try_send(to_line(&rules, write).unwrap()).unwrap();
    };
    send(|encoder| encoder.request(&Id::from(1), "m", &[1]));
    send(|encoder| encoder.batch(|batch| batch.notification("n", &())));
    send(|encoder| {
        let line = br#"{"jsonrpc":"2.0", "id":3,"result":1}"#;
        let Frame::Message(message) = Frame::parse(line, &Rules::json_rpc()).unwrap() else { panic!() };
        encoder.forward(&message)
    });
    send(|encoder| encoder.error_reply(&Frame::parse(b"oops", &Rules::json_rpc()).unwrap_err().reply().unwrap()));
    drop(sender);
    while let Some(line) = receiver.recv().await {
        lines.send(line.clone()).await.unwrap();
    }
    lines.close().await.unwrap();
    drop((lines, _frames));
    let mut sent = Vec::new();
    far.read_to_end(&mut sent).await.unwrap();
    let found = common::decode(rules, [&sent[..]]);
    assert_eq!(found[..3], [r#"request 1 "m" [1]"#, r#"batch [notification "n" -]"#, "result 3 1"]);
    assert!(found[3].starts_with("error null -32700"));
    assert_eq!(found.len(), 4);
}

/// The line that `write` encodes.
fn line(write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>) -> Line {
    to_line(&Rules::json_rpc(), write).unwrap()
}

/// An echo server, whose reads are cancelled now and then.
async fn echo(socket: TcpStream) {
    let mut framed = Framed::new(socket, Codec::new(Rules::json_rpc()));
    let mut turn = 0_u32;
    loop {
        turn = turn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let frame = tokio::select! {
            biased;
            // A cancelled read must lose nothing.
            () = sleep(Duration::from_micros(u64::from(turn >> 24))), if turn & 0x10000 != 0 => continue,
            frame = framed.next() => frame,
        };
        match frame {
            None => return,
            Some(Err(error)) => panic!("{error}"),
            Some(Ok(Ok(Frame::Message(Message::Request(request))))) => {
                let params = request.params().unwrap();
                framed.send(line(|encoder| encoder.response(request.id(), &params))).await.unwrap();
            }
            Some(Ok(Err(fault))) => {
                framed.send(line(|encoder| encoder.error_reply(&fault.reply().unwrap()))).await.unwrap();
            }
            Some(Ok(_)) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_connections_lose_nothing() {
    const CONNECTIONS: usize = 1000;
    const REQUESTS: usize = 20;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut clients = Vec::new();
    for connection in 0..CONNECTIONS {
        // One after the other, for the listener's backlog.
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (socket, (far, _)) = (near.unwrap(), far.unwrap());
        tokio::spawn(echo(far));
        clients.push(tokio::spawn(async move {
            let (read, mut write) = socket.into_split();
            let writer = tokio::spawn(async move {
                for i in 0..REQUESTS {
                    // Each in two pieces, and noise in between.
                    let line = format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":{i},\"method\":\"echo\",\"params\":[{connection},{i}]}}\nnoise\n"
                    );
                    let (one, two) = line.split_at(i * 7 % line.len());
                    write.write_all(one.as_bytes()).await.unwrap();
                    write.flush().await.unwrap();
                    write.write_all(two.as_bytes()).await.unwrap();
                }
                write
            });
            let mut frames = FramedRead::new(read, Codec::new(Rules::json_rpc()));
            let mut answers = HashSet::new();
            let mut faults = 0;
            while answers.len() + faults < 2 * REQUESTS {
                match describe(&frames.next().await.unwrap().unwrap()) {
                    answer if answer.starts_with("error null -32700") => faults += 1,
                    answer => assert!(answers.insert(answer)),
                }
            }
            let expected: HashSet<_> = (0..REQUESTS).map(|i| format!("result {i} [{connection},{i}]")).collect();
            assert_eq!(answers, expected);
            assert_eq!(faults, REQUESTS);
            drop(writer.await.unwrap());
        }));
    }
    for client in clients {
        timeout(Duration::from_secs(60), client).await.unwrap().unwrap();
    }
}

/// A peer that sends without reading is throttled, instead of filling memory with answers.
#[tokio::test]
async fn a_slow_reader_holds_back_the_writer() {
    let (mut near, far) = duplex(8 << 10);
    let server = tokio::spawn(async move {
        let mut framed = Framed::new(far, Codec::new(Rules::json_rpc()));
        while let Some(Ok(Ok(Frame::Message(Message::Request(request))))) = framed.next().await {
            let params = request.params().unwrap();
            let answer = line(|encoder| encoder.response(request.id(), &params));
            if framed.send(answer).await.is_err() {
                return;
            }
        }
    });
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[\"{}\"]}}\n", "x".repeat(1000));
    let mut taken = 0;
    while let Ok(result) = timeout(Duration::from_millis(200), near.write_all(line.as_bytes())).await {
        result.unwrap();
        taken += line.len();
        assert!(taken < 256 << 10, "{taken} bytes were taken in while no answer was");
    }
    drop(near);
    server.await.unwrap();
}
