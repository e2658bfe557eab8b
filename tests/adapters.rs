//! Runs the same cases and splits through each adapter, which must return the same frames; and tests misbehaving
//! streams.

mod common;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;
use std::thread;

use common::{Dialect, cases, describe};
use wireline::io::{FrameReader, FrameWriter, Progress, SendError};
use wireline::ledger::Inbound;
use wireline::{Decoder, EncodeErrorKind, Frame, Id, Message, Rules, to_line};

/// All cases in one stream, and the expected results for each dialect.
fn all_cases(dialect: Dialect) -> (Vec<u8>, Vec<String>) {
    let cases = cases();
    let stream = cases.iter().flat_map(|case| [&case.line[..], b"\r\n"].concat()).collect();
    (stream, cases.iter().map(|case| case.expected(dialect).to_owned()).collect())
}

/// Returns its bytes in pieces of a fixed size, and now and then an error that isn't fatal.
struct Unsteady<'a> {
    left: &'a [u8],
    size: usize,
    calls: usize,
}

impl Read for Unsteady<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        match self.calls % 5 {
            1 => return Err(ErrorKind::Interrupted.into()),
            3 => return Err(ErrorKind::WouldBlock.into()),
            _ => {}
        }
        let len = self.size.min(self.left.len()).min(buffer.len());
        buffer[..len].copy_from_slice(&self.left[..len]);
        self.left = &self.left[len..];
        Ok(len)
    }
}

#[test]
fn frame_reader_gives_the_same_frames() {
    for dialect in Dialect::ALL {
        let (stream, expected) = all_cases(dialect);
        for size in [1, 3, 64, 1000, 5000, usize::MAX] {
            let mut reader = FrameReader::new(Unsteady { left: &stream, size, calls: 0 }, dialect.rules());
            let mut found = Vec::new();
            loop {
                match reader.next_frame() {
                    Ok(Some(frame)) => found.push(describe(&frame)),
                    Ok(None) => break,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
            }
            assert_eq!(found, expected, "{dialect:?} in pieces of {size}");
            assert!(matches!(reader.next_frame(), Ok(None)));
        }
    }
}

#[test]
fn frame_reader_gives_back_what_it_holds() {
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
    let stream = line.repeat(3) + "{\"half";
    let mut reader = FrameReader::new(stream.as_bytes(), Rules::mcp());
    reader.next_frame().unwrap().unwrap().unwrap();
    assert_eq!(reader.decoder().last_line(), line.trim_end().as_bytes());
    let (rest, buffered) = reader.into_parts();
    assert_eq!([&buffered[..], rest].concat(), stream.as_bytes()[line.len()..]);
    // Nothing is lost by continuing with another reader.
    let mut decoder = Decoder::new(Rules::mcp());
    decoder.feed_buffer(buffered);
    let mut reader = FrameReader::with_decoder(rest, decoder);
    reader.next_frame().unwrap().unwrap().unwrap();
    reader.next_frame().unwrap().unwrap().unwrap();
    assert!(reader.next_frame().unwrap().unwrap().is_err());
}

#[test]
fn errors_of_a_reader_surface_and_lose_nothing() {
    struct Failing<'a>(VecDeque<io::Result<&'a [u8]>>);
    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.pop_front().unwrap_or(Ok(b""))?;
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }
    let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
    let (one, two) = line.split_at(10);
    let pieces = [Ok(one), Err(ErrorKind::TimedOut.into()), Ok(two), Err(ErrorKind::ConnectionReset.into()), Ok(line)];
    let mut reader = FrameReader::new(Failing(pieces.into()), Rules::mcp());
    assert_eq!(reader.next_frame().unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(reader.next_frame().unwrap().unwrap().is_ok());
    assert_eq!(reader.next_frame().unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!(reader.next_frame().unwrap().unwrap().is_ok());
    assert!(reader.next_frame().unwrap().is_none());
}

/// Accepts as many bytes in each call as its plan says, or fails accordingly; and keeps what each call passed. Flushing
/// fails as planned too.
#[derive(Clone, Default)]
struct Planned {
    plan: Rc<RefCell<VecDeque<Result<usize, ErrorKind>>>>,
    flushes: Rc<RefCell<VecDeque<ErrorKind>>>,
    taken: Rc<RefCell<Vec<Vec<u8>>>>,
}

impl Planned {
    fn all(&self) -> Vec<u8> {
        self.taken.borrow().concat()
    }
}

impl Write for Planned {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = self.plan.borrow_mut().pop_front().unwrap_or(Ok(usize::MAX))?.min(bytes.len());
        self.taken.borrow_mut().push(bytes[..len].to_vec());
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushes.borrow_mut().pop_front().map_or(Ok(()), |kind| Err(kind.into()))
    }
}

const PING: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\n";

fn ping(writer: &FrameWriter<impl Write>) -> Result<Progress, SendError> {
    writer.send(|encoder| encoder.notification("ping", &()))
}

#[test]
fn each_line_is_one_call() {
    let planned = Planned::default();
    let writer = FrameWriter::new(planned.clone(), Rules::mcp());
    for _ in 0..3 {
        assert_eq!(ping(&writer).unwrap(), Progress::Written);
    }
    assert_eq!(*planned.taken.borrow(), [PING.as_bytes(); 3]);
}

#[test]
fn a_writer_may_take_a_byte_at_a_time() {
    let planned = Planned::default();
    planned.plan.borrow_mut().extend((0..100).map(|i| if i % 3 == 0 { Err(ErrorKind::Interrupted) } else { Ok(1) }));
    let writer = FrameWriter::new(planned.clone(), Rules::mcp());
    assert_eq!(ping(&writer).unwrap(), Progress::Written);
    assert_eq!(ping(&writer).unwrap(), Progress::Written);
    assert_eq!(planned.all(), PING.repeat(2).as_bytes());
}

#[test]
fn what_would_block_goes_first_later() {
    let planned = Planned::default();
    planned.plan.borrow_mut().extend([Ok(5), Err(ErrorKind::WouldBlock), Ok(1), Err(ErrorKind::WouldBlock)]);
    let writer = FrameWriter::new(planned.clone(), Rules::mcp());
    assert_eq!(ping(&writer).unwrap(), Progress::Pending);
    assert_eq!(ping(&writer).unwrap(), Progress::Pending);
    assert_eq!(planned.all(), &PING.as_bytes()[..6]);
    assert_eq!(writer.flush().unwrap(), Progress::Written);
    assert_eq!(planned.all(), PING.repeat(2).as_bytes());

    // The backlog is bounded.
    planned.plan.borrow_mut().extend(std::iter::repeat_n(Err(ErrorKind::WouldBlock), 1 << 20));
    let mut sent = 2;
    loop {
        match ping(&writer) {
            Ok(Progress::Pending) => sent += 1,
            Err(SendError::Full) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(sent * PING.len() < 2 << 20);
    planned.plan.borrow_mut().clear();
    assert_eq!(writer.flush().unwrap(), Progress::Written);
    assert_eq!(planned.all(), PING.repeat(sent).as_bytes());
}

#[test]
fn flushing_is_repeated_postponed_or_fails() {
    let planned = Planned::default();
    let writer = FrameWriter::new(planned.clone(), Rules::mcp());
    assert_eq!(ping(&writer).unwrap(), Progress::Written);
    planned.flushes.borrow_mut().extend([ErrorKind::Interrupted, ErrorKind::WouldBlock, ErrorKind::Interrupted]);
    assert_eq!(writer.flush().unwrap(), Progress::Pending);
    assert_eq!(writer.flush().unwrap(), Progress::Written);
    assert!(planned.flushes.borrow().is_empty());
    assert_eq!(ping(&writer).unwrap(), Progress::Written);

    planned.flushes.borrow_mut().push_back(ErrorKind::StorageFull);
    assert!(matches!(writer.flush(), Err(SendError::Io(error)) if error.kind() == ErrorKind::StorageFull));
    assert!(matches!(writer.flush(), Err(SendError::Broken)));
    assert!(matches!(ping(&writer), Err(SendError::Broken)));
    assert_eq!(planned.all(), PING.repeat(2).as_bytes());
}

/// Whichever way they are sent.
#[test]
fn lines_are_collected_until_there_are_enough() {
    let rules = Rules::mcp();
    let line = to_line(&rules, |encoder| encoder.notification("ping", &())).unwrap();
    let owed = Inbound::new(rules, 10);
    let answer = |id: i32| {
        let line = to_line(&rules, |encoder| encoder.request(&Id::from(id), "m", &())).unwrap();
        let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line.text(), &rules) else { panic!() };
        owed.admit(&request).unwrap().respond(&serde_json::json!({}))
    };
    let answered = |id: i32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n");
    let round = [PING, PING, &answered(1)].concat();

    let planned = Planned::default();
    let writer = FrameWriter::new(planned.clone(), rules).collect(round.len() + 1);
    assert_eq!(ping(&writer).unwrap(), Progress::Pending);
    assert_eq!(writer.send_line(&line).unwrap(), Progress::Pending);
    assert_eq!(writer.answer(answer(1)).unwrap(), Progress::Pending);
    // It counts as answered although it waits.
    assert_eq!((owed.in_flight(), planned.all().len()), (0, 0));
    assert_eq!(ping(&writer).unwrap(), Progress::Written);
    assert_eq!(*planned.taken.borrow(), [[&round, PING].concat().as_bytes()]);

    // Exactly enough is enough.
    let planned = Planned::default();
    let writer = FrameWriter::new(planned.clone(), rules).collect(round.len());
    assert_eq!(ping(&writer).unwrap(), Progress::Pending);
    assert_eq!(writer.send_line(&line).unwrap(), Progress::Pending);
    assert_eq!(writer.answer(answer(1)).unwrap(), Progress::Written);
    assert_eq!(writer.answer(answer(2)).unwrap(), Progress::Pending);
    assert_eq!(writer.flush().unwrap(), Progress::Written);
    assert_eq!(*planned.taken.borrow(), [round.as_bytes(), answered(2).as_bytes()]);
}

#[test]
fn a_pipe_that_closes_half_way_is_reported_once() {
    for end in [Err(ErrorKind::BrokenPipe), Ok(0)] {
        let planned = Planned::default();
        planned.plan.borrow_mut().extend([Ok(7), end]);
        let writer = FrameWriter::new(planned.clone(), Rules::mcp());
        assert!(matches!(ping(&writer), Err(SendError::Io(_))));
        // Nothing follows a partly written line, and nothing is reported as sent.
        assert!(matches!(ping(&writer), Err(SendError::Broken)));
        assert!(matches!(writer.clone().flush(), Err(SendError::Broken)));
        assert_eq!(planned.all(), &PING.as_bytes()[..7]);
        let (_, unwritten) = writer.into_parts().unwrap();
        assert_eq!(unwritten, &PING[7..]);
    }
}

#[test]
fn what_cannot_be_encoded_is_not_sent() {
    common::quiet_panics_on_purpose();
    let planned = Planned::default();
    let writer = FrameWriter::new(planned.clone(), Rules::mcp());
    let error = writer.send(|encoder| {
        encoder.notification("ping", &())?;
        encoder.response(&Id::from(1), &f64::NAN)
    });
    assert!(matches!(error, Err(SendError::Encode(error)) if error.kind() == EncodeErrorKind::NonFiniteFloat));
    let panicking = std::panic::AssertUnwindSafe(|| {
        writer.send(|encoder| {
            encoder.notification("ping", &())?;
            panic!("on purpose")
        })
    });
    assert!(std::panic::catch_unwind(panicking).is_err());
    assert!(planned.all().is_empty());
    assert_eq!(ping(&writer).unwrap(), Progress::Written);
    assert_eq!(planned.all(), PING.as_bytes());
}

/// A ticket that is dropped while a message is encoded may wake a task that sends.
#[test]
fn sending_while_sending_does_not_hang() {
    let planned = Planned::default();
    let writer = FrameWriter::new(planned.clone(), Rules::mcp());
    let sent = writer.send(|encoder| {
        let _ = ping(&writer).unwrap();
        encoder.notification("outer", &())
    });
    assert_eq!(sent.unwrap(), Progress::Written);
    assert_eq!(planned.all(), [PING, &PING.replace("ping", "outer")].concat().as_bytes());
}

#[test]
fn a_stream_that_panics_leaves_no_garbage() {
    struct Panicking(u8);
    impl Read for Panicking {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => panic!("on purpose"),
                2 => {
                    buffer[..PING.len()].copy_from_slice(PING.as_bytes());
                    Ok(PING.len())
                }
                _ => Ok(0),
            }
        }
    }
    impl Write for Panicking {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            panic!("on purpose")
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    common::quiet_panics_on_purpose();
    let mut reader = FrameReader::new(Panicking(0), Rules::mcp());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reader.next_frame().map(drop))).is_err());
    assert_eq!(describe(&reader.next_frame().unwrap().unwrap()), r#"notification "ping" -"#);
    assert!(reader.next_frame().unwrap().is_none());
    let writer = FrameWriter::new(Panicking(0), Rules::mcp());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ping(&writer))).is_err());
    assert!(matches!(ping(&writer), Err(SendError::Broken)));
}

#[test]
fn threads_do_not_get_into_each_others_lines() {
    let (receiver, sender) = io::pipe().unwrap();
    let writer = FrameWriter::new(sender, Rules::mcp());
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let writer = writer.clone();
            thread::spawn(move || {
                for i in 0..500 {
                    let text = "x".repeat(i * 37 % 9000);
                    let sent = writer.send(|encoder| {
                        encoder.request(&Id::from(thread * 1000 + i as i64), "m", &serde_json::json!({"text": text}))
                    });
                    assert_eq!(sent.unwrap(), Progress::Written);
                }
            })
        })
        .collect();
    drop(writer);
    let mut reader = FrameReader::new(receiver, Rules::mcp());
    let mut ids = std::collections::HashSet::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        let wireline::Frame::Message(message) = frame.unwrap() else { panic!() };
        assert!(ids.insert(message.id().unwrap().as_i64().unwrap()));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(ids.len(), 8 * 500);
}
