//! Runs the acceptance table: every case under each dialect, on every kernel, at every split point.

use crate::common;

use common::{Dialect, cases, decode, describe, times};
use wireline::{Decoder, EncodeErrorKind, Encoder, FaultKind, Frame, Id, Message};
use wireline_json::Cpu;

/// Tests skip kernels that the CPU can't run. A job that emulates a CPU to test its kernels lists them in
/// `WIRELINE_CPUS`, so that skipping one is an error.
#[test]
fn the_expected_kernels_run() {
    if let Ok(expected) = std::env::var("WIRELINE_CPUS") {
        assert_eq!(Cpu::available().map(|cpu| format!("{cpu:?}")).collect::<Vec<_>>().join(" "), expected);
    }
}

#[test]
fn each_line_alone() {
    for case in cases() {
        for dialect in Dialect::ALL {
            for kernel in Cpu::available() {
                let (rules, expected) = (dialect.rules(), case.expected(dialect));
                let line = String::from_utf8_lossy(&case.line);
                let found = kernel.run(|| describe(&Frame::parse(&case.line, &rules)));
                assert_eq!(found, expected, "{dialect:?} {kernel:?} {line}");

                for end in ["\n", "\r\n", ""] {
                    let stream = [&case.line, end.as_bytes()].concat();
                    let found = kernel.run(|| decode(rules, [&stream[..]]));
                    assert_eq!(found, [expected], "{dialect:?} {kernel:?} {line}");
                }
            }
        }
    }
}

#[test]
fn at_every_split_point() {
    for (nth, case) in cases().into_iter().enumerate() {
        // The messages before and after must not be affected.
        let neighbour = r#"{"jsonrpc":"2.0","id":0,"method":"neighbour"}"#;
        let stream = [neighbour.as_bytes(), b"\n", &case.line, b"\r\n", neighbour.as_bytes(), b"\n"].concat();
        let from = neighbour.len();
        for (dialect, turn) in Dialect::ALL.into_iter().zip(nth..) {
            let expected = [r#"request 0 "neighbour" -"#, case.expected(dialect), r#"request 0 "neighbour" -"#];
            // Usually, each split point in one of the dialects on one of the kernels.
            let kernels: Vec<_> = Cpu::available().collect();
            let step = if times(1) > 1 { 1 } else { kernels.len() * Dialect::ALL.len() };
            for (kernel, offset) in kernels.into_iter().zip((0..).step_by(Dialect::ALL.len())) {
                let line = String::from_utf8_lossy(&case.line);
                kernel.run(|| {
                    assert_eq!(decode(dialect.rules(), stream.chunks(1)), expected, "byte by byte: {line}");
                    let end = (from + case.line.len() + 3).min(from + 400);
                    for at in (from + (offset + turn) % step..end).step_by(step) {
                        let (one, two) = stream.split_at(at);
                        let found = decode(dialect.rules(), [one, two]);
                        assert_eq!(found, expected, "{dialect:?} {kernel:?} split at {at}: {line}");
                    }
                });
            }
        }
    }
}

/// The encoder forwards everything that the decoder accepts under the same rules, alone and in a batch, as one line
/// with the same meaning.
#[test]
fn what_is_accepted_can_be_forwarded() {
    let longest = Id::parse(&"8".repeat(1024)).unwrap().into_owned();
    let mut forwarded = 0;
    for dialect in Dialect::ALL {
        let rules = dialect.rules();
        let mut encoder = Encoder::new(rules);
        let mut forward = |message: &Message<'_>, line: &str| {
            encoder.forward(message).unwrap_or_else(|error| panic!("{dialect:?}, {error}: {line}"));
            let said = describe(&Ok(message.clone().into()));
            assert_eq!(decode(rules, [&encoder.take()[..]]), [&said[..]], "{dialect:?}: {line}");
            if rules.settings().batches {
                // The array around it adds one level.
                let deep = line.contains(&"[".repeat(127));
                match encoder.batch(|batch| batch.forward(message)) {
                    Err(error) => assert!(deep && error.kind() == EncodeErrorKind::Rule(FaultKind::TooDeep)),
                    Ok(()) => {
                        let batch = [format!("batch [{said}]")];
                        assert_eq!(decode(rules, [&encoder.take()[..]]), batch, "{dialect:?}: {line}");
                    }
                }
            }
            for id in [Id::from(1), longest.clone()] {
                if let Some(before) = message.id() {
                    encoder
                        .forward_with_id(message, &id)
                        .unwrap_or_else(|error| panic!("{dialect:?}, {error}: {line}"));
                    let said = said.replacen(before.as_json(), id.as_json(), 1);
                    assert_eq!(decode(rules, [&encoder.take()[..]]), [said], "{dialect:?}: {line}");
                }
            }
            forwarded += 1;
        };
        for case in cases() {
            let line = String::from_utf8_lossy(&case.line);
            match Frame::parse(&case.line, &rules) {
                Ok(Frame::Message(message)) => forward(&message, &line),
                Ok(Frame::Batch(batch)) => batch.iter().flatten().for_each(|entry| forward(&entry, &line)),
                Err(_) => {}
            }
        }
    }
    assert!(forwarded > 100, "{forwarded}");
}

#[test]
fn in_one_long_stream() {
    let good = br#"{"jsonrpc":"2.0","id":"good","method":"m"}"#;
    let cases = cases();
    let mut stream = b"\xef\xbb\xbf".to_vec();
    let mut lines = Vec::new();
    for case in &cases {
        // Blank lines are counted but yield nothing.
        for line in [&case.line[..], b" \t", good, b""] {
            lines.push((stream.len(), line.to_vec()));
            stream.extend_from_slice(line);
            stream.extend_from_slice(if lines.len() % 3 == 0 { b"\r\n" } else { b"\n" });
        }
    }
    for dialect in Dialect::ALL {
        let mut expected = Vec::new();
        for case in &cases {
            expected.extend([case.expected(dialect), r#"request "good" "m" -"#]);
        }
        for kernel in Cpu::available() {
            for size in [1, 2, 3, 5, 16, 63, 64, 65, 1000, 4096, usize::MAX] {
                let found = kernel.run(|| decode(dialect.rules(), stream.chunks(size.min(stream.len()))));
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found, expected, "{dialect:?} {kernel:?} in pieces of {size}");
                }
                assert_eq!(found.len(), expected.len());
            }
        }
        // Every frame and fault reports its line and offset.
        let mut decoder = Decoder::new(dialect.rules());
        for piece in stream.chunks(777) {
            decoder.feed(piece);
            while let Some(frame) = decoder.next_frame() {
                let (number, offset, len) = match &frame {
                    Ok(frame) => (frame.line(), frame.offset(), frame.as_bytes().len()),
                    Err(fault) => (fault.line(), fault.offset(), fault.line_len() as usize),
                };
                let (start, line) = &lines[number as usize - 1];
                assert_eq!((offset, len), (*start as u64, line.len()));
                assert_eq!(decoder.last_line(), line);
            }
        }
    }
}
