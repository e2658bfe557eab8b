//! Compares the time per message through the C functions and in Rust: `cargo bench -p wireline-c`.
//!
//! Both decode the same stream, access the same members and take turns, in many short rounds; the best round of each
//! counts. The C functions are called through opaque pointers, so that the compiler can't inline them, as in a C
//! program.

use std::hint::black_box;
use std::time::{Duration, Instant};

use wireline::{Decoder, Frame, Message, Rules};
use wireline_c::decoder::{wl_decoder, wl_decoder_feed, wl_decoder_free, wl_decoder_new, wl_decoder_next};
use wireline_c::kinds::wl_kind;
use wireline_c::message::wl_message;
use wireline_c::rules::{wl_rules, wl_rules_init};
use wireline_c::status::wl_status;
use wireline_c::wl_span;

const CHUNK: usize = 64 << 10;
const ROUNDS: usize = 400;

fn main() {
    // `cargo test --benches` runs it once.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 1 };
    let ping = r#"{"jsonrpc":"2.0","id":17,"method":"ping"}"#;
    let call = r#"{"jsonrpc":"2.0","id":1234,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a few words to send back"},"_meta":{"progressToken":7}}}"#;
    let result =
        r#"{"jsonrpc":"2.0","id":"b4c1","result":{"content":[{"type":"text","text":"a few words to send back"}]}}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":50}}"#;
    let mixed = [ping, call, result, note].join("\n");
    println!("ns per message, best of {rounds} rounds: {:>10} {:>10} {:>10}", "Rust", "C", "difference");
    for (name, lines) in [("ping", ping), ("call", call), ("result", result), ("notification", note), ("mixed", &mixed)]
    {
        let lines = format!("{lines}\n");
        let stream = lines.repeat((1 << 20) / lines.len()).into_bytes();
        let count = stream.iter().filter(|&&byte| byte == b'\n').count();
        let (mut rust, mut c) = (Duration::MAX, Duration::MAX);
        for round in 0..rounds {
            // Alternate which one comes first.
            for turn in 0..2 {
                let start = Instant::now();
                if (round + turn) % 2 == 0 {
                    assert_eq!(in_rust(&stream), count);
                    rust = rust.min(start.elapsed());
                } else {
                    assert_eq!(in_c(&stream), count);
                    c = c.min(start.elapsed());
                }
            }
        }
        let each = |time: Duration| time.as_secs_f64() * 1e9 / count as f64;
        let (rust, c) = (each(rust), each(c));
        println!("{name:<36} {rust:>10.1} {c:>10.1} {:>10.1}", c - rust);
    }
}

fn in_rust(stream: &[u8]) -> usize {
    let mut decoder = Decoder::new(Rules::mcp());
    let (mut count, mut seen) = (0, 0);
    for chunk in stream.chunks(CHUNK) {
        decoder.feed(chunk);
        while let Some(frame) = decoder.next_frame() {
            let Ok(Frame::Message(message)) = frame else { panic!("not a message") };
            count += 1;
            seen += match &message {
                Message::Request(request) => {
                    request.id().as_json().len()
                        + request.method().len()
                        + request.params().map_or(0, |params| params.as_json().len())
                }
                Message::Notification(note) => {
                    note.method().len() + note.params().map_or(0, |params| params.as_json().len())
                }
                Message::Response(response) => {
                    response.id().map_or(0, |id| id.as_json().len())
                        + response.result().map_or(0, |result| result.as_json().len())
                }
            };
        }
    }
    black_box(seen);
    count
}

fn in_c(stream: &[u8]) -> usize {
    type Feed = unsafe extern "C" fn(*mut wl_decoder, wl_span) -> wl_status;
    type Next = unsafe extern "C" fn(*mut wl_decoder, *mut wl_message) -> wl_kind;
    let (feed, next) = black_box((wl_decoder_feed as Feed, wl_decoder_next as Next));
    let (mut count, mut seen) = (0, 0);
    let mut rules = std::mem::MaybeUninit::<wl_rules>::uninit();
    let mut message = std::mem::MaybeUninit::<wl_message>::uninit();
    // SAFETY: the rules are filled before they are used, the decoder isn't used after it was freed, and a message is
    // only read if there is one, before the next call.
    unsafe {
        assert_eq!(wl_rules_init(rules.as_mut_ptr(), 1), wl_status::Ok);
        let decoder = wl_decoder_new(rules.as_ptr());
        for chunk in stream.chunks(CHUNK) {
            assert_eq!(feed(decoder, wl_span::of(chunk)), wl_status::Ok);
            loop {
                let kind = next(decoder, message.as_mut_ptr());
                if kind == wl_kind::None {
                    break;
                }
                assert!(matches!(kind, wl_kind::Request | wl_kind::Notification | wl_kind::Result), "not a message");
                let message = message.assume_init_ref();
                count += 1;
                seen += match kind {
                    wl_kind::Request => message.id.len + message.method.len + message.params.len,
                    wl_kind::Notification => message.method.len + message.params.len,
                    _ => message.id.len + message.result.len,
                };
            }
        }
        wl_decoder_free(decoder);
    }
    black_box(seen);
    count
}
