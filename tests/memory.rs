//! Allocations and retained memory.

use crate::common;

use std::io::{self, Read};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use serde_json::json;
use wireline::aio::{self, Source, Target};
use wireline::connection::{Config, Connection, Event, Ticket};
use wireline::{Decoder, Encoder, Frame, Framing, Id, Message, RawJson, RpcError, Rules};
use wireline_json::Cpu;

/// Ten messages of all kinds.
fn mixed() -> Vec<u8> {
    let mut stream = Vec::new();
    for i in 0..10 {
        let id = i * 1_000_003;
        let line = match i % 5 {
            0 => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","n":[{i},true]}}}}"#
            ),
            1 => format!(r#"{{"method":"notifications/progress","params":{{"progressToken":{i}}},"jsonrpc":"2.0"}}"#),
            2 => {
                format!(r#"{{"result":{{"content":[{{"type":"text","text":"a\nb é"}}]}},"jsonrpc":"2.0","id":"{id}"}}"#)
            }
            3 => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no","data":{{"x":{i}}}}}}}"#)
            }
            _ => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"deep":{}1{}}}}}"#, "[".repeat(100), "]".repeat(100))
            }
        };
        stream.extend_from_slice(line.as_bytes());
        stream.extend_from_slice(if i % 3 == 0 { b"\r\n" } else { b"\n" });
    }
    stream
}

/// Takes all available frames, reads every part of them, and returns their number.
fn drain(decoder: &mut Decoder) -> usize {
    let mut frames = 0;
    while let Some(frame) = decoder.next_frame() {
        let read = match frame.unwrap() {
            Frame::Message(Message::Request(r)) => {
                r.id().as_json().len() + r.method().len() + r.params().map_or(0, |params| params.as_json().len())
            }
            Frame::Message(Message::Notification(n)) => {
                n.method().len() + n.params().unwrap().pointer("/progressToken").unwrap().as_json().len()
            }
            Frame::Message(Message::Response(r)) => {
                r.id().unwrap().as_json().len()
                    + match r.outcome() {
                        Ok(result) => result.as_json().len(),
                        Err(error) => error.message().len() + error.data().unwrap().as_json().len(),
                    }
            }
            Frame::Batch(_) => unreachable!(),
        };
        assert_ne!(read, 0);
        frames += 1;
    }
    frames
}

#[test]
fn nothing_is_allocated_for_a_message() {
    let stream = mixed();
    for kernel in Cpu::available() {
        for piece in [1, 100, stream.len()] {
            let mut decoder = Decoder::new(Rules::json_rpc());
            let mut run = |rounds: usize| {
                let mut frames = 0;
                for _ in 0..rounds {
                    for piece in stream.chunks(piece) {
                        decoder.feed(piece);
                        frames += drain(&mut decoder);
                    }
                }
                assert_eq!(frames, rounds * 10);
            };
            kernel.run(|| run(100)); // warm up
            let rounds = if piece == 1 { 100 } else { 1000 };
            let info = measure(|| kernel.run(|| run(rounds)));
            assert_eq!(info.count_total, 0, "{kernel:?} in pieces of {piece}");
        }
    }
}

/// The same for other framings, also if the data of an event are on several lines.
#[test]
fn nothing_is_allocated_for_a_message_in_other_framings() {
    let mut streams =
        [(Framing::ContentLength, Vec::new()), (Framing::EventStream, Vec::new()), (Framing::EventStream, Vec::new())];
    for line in mixed().split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let line = line.trim_ascii();
        let comma = line.iter().position(|&byte| byte == b',').unwrap() + 1;
        streams[0].1.extend([format!("Content-Length: {}\r\n\r\n", line.len()).as_bytes(), line].concat());
        streams[1].1.extend([b"event: message\nid: 5\ndata: ", line, b"\n\n"].concat());
        streams[2].1.extend([b"data: ", &line[..comma], b"\r\ndata: ", &line[comma..], b"\r\n\r\n"].concat());
    }
    for (framing, stream) in &streams {
        for piece in [1, 100, stream.len()] {
            let mut decoder = Decoder::new(Rules::json_rpc()).framing(*framing);
            let mut run = |rounds: usize| {
                let mut frames = 0;
                for _ in 0..rounds {
                    for piece in stream.chunks(piece) {
                        decoder.feed(piece);
                        frames += drain(&mut decoder);
                    }
                }
                assert_eq!(frames, rounds * 10);
            };
            run(100); // warm up
            let info = measure(|| run(100));
            assert_eq!(info.count_total, 0, "{framing} in pieces of {piece}");
        }
    }
}

#[test]
fn an_idle_decoder_is_small() {
    assert!(size_of::<Decoder>() <= 576, "{}", size_of::<Decoder>());
    for &framing in Framing::ALL {
        let info = measure(|| drop(Decoder::new(Rules::mcp()).framing(framing)));
        assert_eq!(info.count_total, 0);
    }
}

/// Messages within the limit, and beyond it, in other framings.
#[test]
fn other_framings_take_no_more_than_the_limit() {
    let limit = 1 << 20;
    let message = |len: usize| format!(r#"{{"jsonrpc":"2.0","method":"{}","id":5}}"#, "m".repeat(len - 36));
    let in_parts = |text: &str| format!("data: {}\ndata: {}\n\n", &text[..16], &text[16..]);
    let (within, beyond) = (message(limit), message(8 * limit));
    let accepted = "request 5";
    let too_long = "fault line-too-long @1048577 id=5 reply=5";
    let unframed = "fault invalid-header @1 id=5 reply=5";
    for (framing, stream, expected) in [
        (Framing::ContentLength, format!("Content-Length: {limit}\r\n\r\n{within}"), accepted),
        (Framing::ContentLength, format!("Content-Length: {}\r\n\r\n{beyond}", 8 * limit), too_long),
        (Framing::ContentLength, format!("{within}\n"), unframed),
        (Framing::ContentLength, format!("{beyond}\n"), too_long),
        (Framing::EventStream, format!("data: {within}\n\n"), accepted),
        (Framing::EventStream, in_parts(&within.replacen(",", ", ", 1).replacen("mm", "", 1)), accepted),
        (Framing::EventStream, format!("data: {beyond}\n\n"), too_long),
        (Framing::EventStream, in_parts(&beyond), too_long),
        (Framing::EventStream, format!(": {beyond}\n\ndata: {within}\n\n"), accepted),
    ] {
        for retain in [0, 64 << 10] {
            let rules = Rules::json_rpc().max_line_len(limit);
            let mut decoder = Decoder::new(rules).framing(framing).keep_capacity(retain);
            let mut found = Vec::new();
            let info = measure(|| {
                for piece in stream.as_bytes().chunks(4096) {
                    decoder.feed(piece);
                    while let Some(frame) = decoder.next_frame() {
                        found.push(match &frame {
                            Ok(Frame::Message(message)) => format!("request {}", message.id().unwrap().as_json()),
                            _ => common::describe(&frame),
                        });
                    }
                }
                assert!(decoder.next_frame().is_none());
                decoder.feed(b"");
                assert_eq!(found, [expected], "{framing}");
                found = Vec::new();
            });
            let shown = &stream[..50];
            // An event in parts is also joined.
            let most = if shown.starts_with("data: ") && stream.contains("\ndata: ") { 4 } else { 3 } * limit;
            assert!((info.bytes_max as usize) < most, "{} bytes at once: {shown}", info.bytes_max);
            assert!(info.bytes_current as usize <= retain + 1024, "{} bytes kept: {shown}", info.bytes_current);
        }
    }
}

/// Byte by byte, nothing is copied for each byte, whatever is incomplete.
#[test]
fn growing_frames_are_copied_only_a_few_times() {
    for (framing, start, byte) in [
        (Framing::ContentLength, "Content-Length: 200000\r\n\r\n", b"x"),
        (Framing::ContentLength, "", b"x"),
        (Framing::ContentLength, "", b"\r"),
        (Framing::EventStream, "data: ", b"x"),
        (Framing::EventStream, ":", b"x"),
        (Framing::EventStream, "id: ", b"x"),
    ] {
        let mut decoder = Decoder::new(Rules::mcp()).framing(framing);
        decoder.feed(start.as_bytes());
        let info = measure(|| {
            for _ in 0..100_000 {
                decoder.spare(64 << 10).extend_from_slice(byte);
                assert!(decoder.next_frame().is_none());
            }
        });
        assert!(info.count_total < 30, "{} allocations: {framing} {start}", info.count_total);
    }
}

#[test]
fn memory_is_given_back() {
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"{}"}}}}"#, "y".repeat((16 << 20) - 50)) + "\n";
    let small = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    for (retain, most) in [(None, 64 << 10), (Some(1000), 1000), (Some(0), 0)] {
        for chunk in [4096, 100_000, long.len()] {
            let mut decoder = Decoder::new(Rules::mcp());
            if let Some(bytes) = retain {
                decoder = decoder.keep_capacity(bytes);
            }
            let info = measure(|| {
                for piece in long.as_bytes().chunks(chunk).chain([small.as_bytes()]) {
                    decoder.feed(piece);
                    drain(&mut decoder);
                }
            });
            // 64 bytes for the reference count that `bytes` allocates.
            let kept = info.bytes_current as usize;
            assert!(kept <= most + 64, "{kept} bytes kept, {retain:?}, pieces of {chunk}");
            assert!((info.bytes_max as usize) < (16 << 20) * 2 + chunk + 4096, "{} bytes at once", info.bytes_max);
        }
    }
}

#[test]
fn a_partial_line_does_not_keep_the_buffer_of_a_long_one() {
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"{}"}}}}"#, "y".repeat(1 << 20)) + "\n{\"json";
    let mut decoder = Decoder::new(Rules::mcp());
    let info = measure(|| {
        decoder.feed(long.as_bytes());
        drain(&mut decoder);
    });
    assert!(info.bytes_current < 1000, "{}", info.bytes_current);
}

/// Neither do lines that get shorter and shorter, although each read ends with a part of the next line.
#[test]
fn shrinking_lines_do_not_keep_the_buffer_of_a_long_one() {
    let line = |len: usize| format!(r#"{{"jsonrpc":"2.0","method":"m","x":"{}"}}"#, "y".repeat(len)) + "\n";
    let mut stream = line(3 << 20);
    let mut pieces = vec![2 << 20];
    for len in [200_000, 14_000, 1_100, 100].into_iter().chain([100; 100]) {
        // Each read ends with a little more than a sixteenth of the next line.
        pieces.push(stream.len() + len / 15 + 1);
        stream += &line(len);
    }
    let mut decoder = Decoder::new(Rules::json_rpc());
    let info = measure(|| {
        let mut from = 0;
        for to in pieces {
            decoder.feed(&stream.as_bytes()[from..to]);
            while decoder.next_frame().is_some() {}
            from = to;
        }
    });
    assert!(info.bytes_current < 300_000, "{} bytes kept for {}", info.bytes_current, decoder.buffered());
}

/// Feeding a line doesn't copy all lines that wait to be taken, even if together they exceed the line limit.
#[test]
fn waiting_lines_are_copied_only_a_few_times() {
    let line = format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "m".repeat(96)) + "\n";
    for lines in [4_000, 16_000] {
        let mut decoder = Decoder::new(Rules::mcp().max_line_len(4096));
        let info = measure(|| {
            for _ in 0..lines {
                decoder.feed(line.as_bytes());
            }
        });
        assert!(info.bytes_total as usize <= 6 * lines * line.len(), "{} bytes for {lines}", info.bytes_total);
        assert_eq!(std::iter::from_fn(|| decoder.next_frame().map(|frame| frame.is_ok())).count(), lines);
    }
}

/// A buffer that isn't adjacent to the previous one is copied like any other bytes.
#[test]
fn separate_buffers_stay_within_the_limit() {
    let line = format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "m".repeat((16 << 20) - 100)) + "\n";
    let chunks: Vec<_> = line.as_bytes().chunks(64 << 10).map(bytes::BytesMut::from).collect();
    let mut decoder = Decoder::new(Rules::mcp());
    let info = measure(|| {
        for chunk in chunks {
            decoder.feed_buffer(chunk);
        }
        assert!(decoder.next_frame().unwrap().is_ok());
    });
    assert!((info.bytes_max as usize) < 2 * (16 << 20), "{} bytes at once", info.bytes_max);
}

/// A line that arrives byte by byte isn't copied for each byte, however much room the reader asks for.
#[test]
fn a_growing_line_is_copied_only_a_few_times() {
    for retain in [0, 64 << 10] {
        let mut decoder = Decoder::new(Rules::mcp()).keep_capacity(retain);
        let info = measure(|| {
            for _ in 0..100_000 {
                decoder.spare(1 << 20).extend_from_slice(b"x");
                assert!(decoder.next_frame().is_none());
            }
        });
        assert!(info.count_total < 30, "{} allocations", info.count_total);
    }
}

#[test]
fn an_oversized_line_takes_no_more_than_the_limit() {
    // A line of 64 MiB with its id last, under the default limit of 16 MiB.
    let piece = "y".repeat(1 << 16);
    let mut decoder = Decoder::new(Rules::mcp());
    let mut found = Vec::new();
    let info = measure(|| {
        let mut feed = |piece: &[u8]| {
            decoder.feed(piece);
            while let Some(frame) = decoder.next_frame() {
                found.push(common::describe(&frame));
            }
        };
        feed(br#"{"method":"m","params":{"x":""#);
        for _ in 0..1 << 10 {
            feed(piece.as_bytes());
        }
        feed(b"\"},\"jsonrpc\":\"2.0\",\"id\":5}\n");
        feed(b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"next\"}\n");
    });
    assert_eq!(found, ["fault line-too-long @16777217 id=5 reply=5", r#"request 6 "next" -"#]);
    assert!(info.bytes_max < 25 << 20, "{} bytes at once", info.bytes_max);
}

/// How bytes get into a decoder.
#[derive(Clone, Copy, Debug)]
enum Way {
    Feed,
    ReadWith,
    Spare,
}

/// The most that a decoder takes at any moment, and the most that it holds once its frames have been taken, for lines of
/// these lengths. Each step says how many bytes arrive in which way; a reader asks for `read`.
fn peak_and_held(limit: usize, read: usize, lens: &[usize], mut step: impl FnMut() -> (Way, usize)) -> (i64, i64) {
    let line = |len: &usize| {
        let mut line = br#"{"jsonrpc":"2.0","id":1,"method":""#.to_vec();
        line.resize(len - 2, b'x');
        line.extend(b"\"}\n");
        line
    };
    let bytes: Vec<u8> = lens.iter().flat_map(line).collect();
    let mut decoder = Decoder::new(Rules::json_rpc().max_line_len(limit));
    let (mut left, mut frames) = (&bytes[..], 0);
    let (mut now, mut peak, mut held) = (0, 0, 0);
    while !left.is_empty() {
        let (way, len) = step();
        let chunk = &left[..len.min(left.len())];
        let mut taken = chunk.len();
        let info = measure(|| {
            match way {
                Way::Feed => decoder.feed(chunk),
                Way::ReadWith => {
                    let fill = |room: &mut [u8]| {
                        let len = chunk.len().min(room.len());
                        room[..len].copy_from_slice(&chunk[..len]);
                        Ok(len)
                    };
                    taken = decoder.read_with(read, fill).unwrap();
                }
                Way::Spare => {
                    let spare = decoder.spare(read);
                    taken = chunk.len().min(spare.capacity());
                    spare.extend_from_slice(&chunk[..taken]);
                }
            }
            while decoder.next_frame().is_some() {
                frames += 1;
            }
        });
        left = &left[taken..];
        peak = peak.max(now + i64::try_from(info.bytes_max).unwrap());
        now += info.bytes_current;
        held = held.max(now);
    }
    assert_eq!(frames, lens.len());
    (peak, held)
}

/// Lines of all lengths, some beyond the limit, in reads of all sizes: the bounds that SECURITY.md states.
#[test]
fn memory_is_bounded_by_the_limit_and_a_read() {
    // The worst that a search has found for each.
    let (peak, _) = peak_and_held(100_000, 65_536, &[60_000, 80_000, 100_000], || (Way::Feed, 65_536));
    assert!(peak > 2 * 100_000 + 65_536, "{peak}: a lower bound can be promised");
    let (_, held) = peak_and_held(200, 1, &[157, 1575, 143], || (Way::Feed, 1));
    assert!(held > 200 + 1 + 400, "{held}: a lower bound can be promised");
    let mut random = common::Random::new(1);
    for _ in 0..common::times(250) {
        let (limit, read) = (200 + random.below(100_000), 100 + random.below(70_000));
        let longest = if random.below(4) == 0 { 3 * limit } else { limit };
        let lens: Vec<_> = (0..1 + random.below(6)).map(|_| 100 + random.below(longest - 99)).collect();
        let ways = [[Way::Feed; 3], [Way::ReadWith; 3], [Way::Spare; 3], [Way::Feed, Way::ReadWith, Way::Spare]];
        let ways = ways[random.below(4)];
        let is_steady = random.below(2) == 0;
        let step = || (ways[random.below(3)], if is_steady { read } else { 1 + random.below(read) });
        let (peak, held) = peak_and_held(limit, read, &lens, step);
        let once = i64::try_from(limit + read).unwrap();
        let what = format!("lines of {lens:?}, limit {limit}, reads of {read}, {ways:?}");
        assert!(peak <= 2 * once + 512, "{peak} bytes at once: {what}");
        assert!(held <= once + 512, "{held} bytes held: {what}");
    }
}

#[test]
fn an_owned_frame_shares_the_buffer() {
    let stream = mixed();
    let mut decoder = Decoder::new(Rules::json_rpc());
    let mut owned = Vec::with_capacity(10);
    decoder.feed(&stream);
    let mut frames = 0;
    let info = measure(|| {
        while let Some(frame) = decoder.next_frame() {
            owned.push(frame.unwrap().into_owned());
            frames += 1;
        }
    });
    assert_eq!(frames, 10);
    // Only the buffer's reference count is allocated, once.
    assert!(info.count_total <= 1 && info.bytes_total < 100, "{info:?}");
}

/// A typical result of a tool.
#[derive(serde::Serialize)]
struct ToolResult {
    content: Vec<Content>,
    total: i64,
    ratio: f64,
}

#[derive(serde::Serialize)]
struct Content {
    r#type: &'static str,
    text: String,
}

fn tool_result(len: usize) -> ToolResult {
    let text = "some \"text\"\n".chars().cycle().take(len).collect();
    ToolResult { content: vec![Content { r#type: "text", text }], total: -1_234_567, ratio: 0.125 }
}

#[test]
fn nothing_is_allocated_to_encode_into_room_that_is_there() {
    for len in [0, 10, 100, 10_000] {
        let (result, id) = (tool_result(len), Id::from(17));
        let mut encoder = Encoder::new(Rules::mcp());
        encoder.response(&id, &result).unwrap();
        let info = measure(|| {
            for _ in 0..100 {
                encoder.clear();
                encoder.response(&id, &result).unwrap();
                encoder.error(&id, &RpcError::method_not_found()).unwrap();
                encoder.clear();
                encoder.notification("notifications/progress", &result).unwrap();
            }
        });
        // Room for an error besides a short result may have to be made once.
        assert!(info.count_total <= 1, "{} allocations for {len} bytes of text", info.count_total);
    }
}

/// Their text is written as it is.
#[test]
fn nothing_is_allocated_for_ids_and_raw_json_in_a_payload() {
    #[derive(serde::Serialize)]
    struct Payload<'a> {
        request_id: Id<'a>,
        arguments: RawJson<'a>,
    }
    let arguments = format!(r#"{{"x": 1.50, "text": "{}"}}"#, "x".repeat(100));
    let payload = Payload {
        request_id: Id::parse("12345678901234567890123").unwrap(),
        arguments: RawJson::parse(arguments.as_bytes()).unwrap(),
    };
    let mut encoder = Encoder::new(Rules::mcp());
    encoder.notification("m", &payload).unwrap();
    let info = measure(|| {
        for _ in 0..100 {
            encoder.clear();
            encoder.notification("m", &payload).unwrap();
        }
    });
    assert_eq!(info.count_total, 0);
}

/// Room is reserved for the text and a vector or two, not for the escapes that might be needed.
#[test]
fn a_line_takes_little_more_memory_than_it_needs() {
    for len in [0, 10, 60, 100, 1000, 30_000] {
        let result = tool_result(len);
        let mut line = bytes::Bytes::new();
        let info = measure(|| {
            line = wireline::to_line(&Rules::mcp(), |e| e.response(&Id::from(17), &result)).unwrap().into_bytes();
        });
        let kept = info.bytes_current as usize;
        assert!(kept <= 2 * line.len() + 256, "{kept} bytes kept for {}", line.len());
        assert!(info.count_total <= 6, "{} allocations for {}", info.count_total, line.len());
    }
}

fn request(id: impl std::fmt::Display) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#) + "\n"
}

/// Feeds lines to a connection, and returns the tickets of all requests.
fn tickets(core: &mut Connection<()>, lines: impl IntoIterator<Item = String>) -> Vec<Ticket> {
    let mut tickets = Vec::new();
    for line in lines {
        core.feed(line.as_bytes());
        while let Some(event) = core.next_event() {
            if let Event::Request(_, ticket) = event {
                tickets.push(ticket);
            }
        }
    }
    tickets
}

/// Writes everything that is pending, and returns how much that was.
fn write_all(core: &mut Connection<()>) -> usize {
    let mut written = 0;
    while core.wants_write() {
        let len = core.pending().len();
        core.advance(len);
        written += len;
    }
    // Large buffers are given back when the next lines are asked for.
    assert!(core.pending().is_empty());
    written
}

#[test]
fn an_idle_connection_is_small() {
    let mut core = None;
    let info = measure(|| core = Some(Connection::<()>::new(Rules::mcp())));
    let size = info.bytes_current as usize + size_of::<Connection<()>>();
    assert!(size < 2000, "{size} bytes");
}

#[test]
fn a_request_in_flight_takes_little() {
    for (id_len, most) in [(10, 250), (1000, 1300)] {
        const REQUESTS: usize = 10_000;
        let mut core = Connection::new(Config::new(Rules::json_rpc()).in_flight(REQUESTS));
        let mut kept = Vec::with_capacity(REQUESTS);
        let info = measure(|| {
            let lines = (0..REQUESTS).map(|id| request(format_args!("\"{id:0id_len$}\"")));
            kept.extend(tickets(&mut core, lines));
        });
        assert_eq!(core.in_flight(), REQUESTS);
        let each = info.bytes_current as usize / REQUESTS;
        assert!(each < most, "{each} bytes for each request with an id of {id_len} bytes");
    }
}

/// Tickets that are dropped, cancelled or aborted leave nothing behind once their answers are written.
#[test]
fn nothing_is_kept_with_nothing_in_flight() {
    const REQUESTS: usize = 20_000;
    for how in ["answered", "dropped at once", "dropped later", "cancelled", "aborted"] {
        let config = Config::new(Rules::json_rpc()).in_flight(REQUESTS).backlog(usize::MAX);
        let mut core = Connection::new(config);
        let info = measure(|| {
            let lines = (0..REQUESTS).map(request);
            let kept = match how {
                "dropped at once" => {
                    for line in lines {
                        drop(tickets(&mut core, [line]));
                    }
                    Vec::new()
                }
                _ => tickets(&mut core, lines),
            };
            if how == "cancelled" {
                let cancel = |id| format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#);
                drop(tickets(&mut core, (0..REQUESTS).map(|id| cancel(id) + "\n")));
                assert!(kept.iter().all(Ticket::is_cancelled));
            }
            if how == "aborted" {
                core.abort(&RpcError::internal());
                assert_eq!(core.in_flight(), 0);
            }
            match how {
                "answered" => kept.into_iter().for_each(|ticket| ticket.respond(&"x".repeat(100))),
                _ => drop(kept),
            }
            assert!(write_all(&mut core) > REQUESTS * 50);
        });
        assert_eq!(core.in_flight(), 0);
        assert!(info.bytes_current < 512 << 10, "{how}: {} bytes kept", info.bytes_current);
    }
}

/// A waker of its own for each poll.
#[derive(Default)]
struct Idle;

impl Wake for Idle {
    fn wake(self: Arc<Self>) {}
}

/// Only the last of those who wait for the same thing is kept.
#[test]
fn waiting_keeps_one_waker() {
    let mut core = Connection::new(Rules::json_rpc());
    let ticket = tickets(&mut core, [request(1)]).pop().unwrap();
    let info = measure(|| {
        for _ in 0..100_000 {
            let waker = Waker::from(Arc::new(Idle));
            let cx = &mut Context::from_waker(&waker);
            assert!(ticket.poll_cancelled(cx).is_pending());
            assert!(pin!(ticket.cancelled()).poll(cx).is_pending());
            assert!(core.poll_wake(cx).is_pending());
        }
    });
    assert!(info.bytes_current < 200, "{} bytes kept", info.bytes_current);
    let info = measure(|| drop(ticket));
    assert!(info.bytes_current < 0 || info.bytes_max < 1000);
}

/// The answers to batches that aren't complete count together.
#[test]
fn answers_that_wait_for_a_batch_are_bounded() {
    const BACKLOG: usize = 100_000;
    let mut core = Connection::new(Config::new(Rules::json_rpc()).backlog(BACKLOG));
    let mut kept = Vec::with_capacity(1024);
    let info = measure(|| {
        for batch in 0..50 {
            let entries: Vec<_> = (0..20).map(|id| request(batch * 100 + id)).collect();
            let line = format!("[{}]\n", entries.join(",").replace('\n', ""));
            let mut tickets = tickets(&mut core, [line]);
            kept.extend(tickets.pop());
            tickets.into_iter().for_each(|ticket| ticket.respond(&"x".repeat(1000)));
            write_all(&mut core);
        }
    });
    assert_eq!(core.in_flight(), 50);
    assert!(info.bytes_current < 3 * BACKLOG as i64, "{} bytes are held for 50 batches", info.bytes_current);
}

/// A line of many entries, or of arrays within arrays, takes no more than any other line.
#[test]
fn huge_batches_are_not_expanded() {
    let limit = 256 << 10;
    let rules = Rules::json_rpc().max_line_len(limit).max_batch_len(usize::MAX);
    let entry = request(1).trim_end().to_owned();
    for (line, events) in [
        (format!("[{}1]\n", "1,".repeat(limit / 2 - 10)), None),
        (format!("[{}{entry}]\n", format!("{entry},").repeat(limit / 50)), None),
        (format!("{}{}\n", "[".repeat(100), "]".repeat(100)), Some(1)),
        (format!("{}{}\n", "[".repeat(limit / 2 - 10), "]".repeat(limit / 2 - 10)), Some(1)),
    ] {
        let mut core = Connection::new(Config::new(rules).backlog(100_000));
        let mut found = 0;
        let info = measure(|| {
            core.feed(line.as_bytes());
            loop {
                while let Some(event) = core.next_event() {
                    drop(event);
                    found += 1;
                }
                if write_all(&mut core) == 0 {
                    break;
                }
            }
        });
        assert!(events.is_none_or(|events| found == events), "{found} events");
        assert!(info.bytes_max < 3 * limit as u64, "{} bytes for {} bytes of line", info.bytes_max, line.len());
    }
}

/// Repeats a line forever, or so often. Counts what was read.
#[derive(Clone)]
struct Flood {
    line: Arc<[u8]>,
    lines: usize,
    read: Arc<AtomicUsize>,
}

impl Flood {
    fn new(line: String, lines: usize) -> Self {
        Self { line: line.into_bytes().into(), lines, read: Arc::default() }
    }

    fn lines_read(&self) -> usize {
        self.read.load(Ordering::Relaxed) / self.line.len()
    }
}

impl Read for Flood {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.read.load(Ordering::Relaxed);
        let len = room.len().min(self.lines.saturating_mul(self.line.len()) - read);
        let bytes = self.line.iter().cycle().skip(read % self.line.len());
        room[..len].iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.read.fetch_add(len, Ordering::Relaxed);
        Ok(len)
    }
}

impl Source for Flood {
    fn poll_read(&mut self, _: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.read(room))
    }
}

/// A peer that doesn't read, until it does.
#[derive(Clone, Default)]
struct Stuck(Rc<std::cell::Cell<bool>>);

impl Target for Stuck {
    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.0.get() { Poll::Ready(Ok(bytes.len())) } else { Poll::Pending }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// What is kept is bounded by the backlog, whatever a peer that doesn't read sends.
#[test]
fn a_peer_that_does_not_read_is_not_read_from() {
    const BACKLOG: usize = 100_000;
    let batch = format!("[{}]\n", [request(1), request(2)].join(",").replace('\n', ""));
    let lines = [request(1), "noise\n".to_owned(), batch, request(format_args!("\"{}\"", "x".repeat(1000)))];
    for (line, awaits) in lines.iter().flat_map(|line| [(line, false), (line, true)]) {
        let config = Config::new(Rules::json_rpc()).backlog(BACKLOG);
        let (source, target) = (Flood::new(line.clone(), usize::MAX / 1_000_000), Stuck::default());
        let (peer, connection) = aio::Connection::new(source.clone(), target, config);
        // The response may be behind everything else, so reading goes on for a while.
        let reply = awaits.then(|| peer.call::<()>("m", &()));
        let most = if awaits { 2 * 64 * BACKLOG } else { 3 * BACKLOG };
        let info = measure(|| {
            let mut serving = pin!(connection.report(|_| {}).serve(async |_| Ok(json!({"x": "y".repeat(1000)}))));
            for _ in 0..10_000 {
                assert!(serving.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
        });
        // And the buffers of a read and of a line.
        assert!(info.bytes_max < (most + (256 << 10)) as u64, "{} bytes for {line}", info.bytes_max);
        assert!(source.read.load(Ordering::Relaxed) < most, "read on");
        drop(reply);
    }
}

/// Notifications have no answers that could hold back their sender, so those that wait for a handler are counted.
#[test]
fn a_flood_of_notifications_is_held_back() {
    const LINES: usize = 100_000;
    /// The limit, and what fits a read.
    const MOST: usize = 1024 + 2 * (64 << 10) / 34;
    let note = "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n".to_owned();
    assert_eq!(note.len(), 34);

    for concurrency in [1, usize::MAX] {
        let (source, is_open) = (Flood::new(note.clone(), LINES), Rc::new(std::cell::Cell::new(false)));
        let target = Stuck(Rc::new(true.into()));
        let (_, connection) = aio::Connection::new(source.clone(), target, Rules::mcp());
        let handled = std::cell::Cell::new(0);
        let mut serving = pin!(connection.concurrency(concurrency).serve(async |_| {
            std::future::poll_fn(|cx| {
                cx.waker().wake_by_ref();
                if is_open.get() { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            handled.set(handled.get() + 1);
            Ok(())
        }));
        let mut poll = || serving.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!((0..1000).all(|_| poll().is_pending()));
        assert!(source.lines_read() <= MOST, "{} lines were read", source.lines_read());
        is_open.set(true);
        while poll().is_pending() {}
        assert_eq!(handled.get(), LINES);
    }

    let source = Flood::new(note, LINES);
    let handled = Arc::new(AtomicUsize::new(0));
    let (_, connection) = wireline::io::Connection::new(source.clone(), io::sink(), Rules::mcp());
    let (counts, reads) = (Arc::clone(&handled), source.clone());
    let is_first = AtomicBool::new(true);
    let served = connection.serve(1, move |_| {
        if is_first.swap(false, Ordering::Relaxed) {
            // More isn't read, however long this takes.
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(200) && reads.lines_read() < LINES {
                thread::sleep(Duration::from_millis(10));
            }
            assert!(reads.lines_read() <= MOST, "{} lines were read", reads.lines_read());
        }
        counts.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    served.unwrap();
    assert_eq!(handled.load(Ordering::Relaxed), LINES);
}
