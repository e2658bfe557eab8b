//! Frames and faults depend on the bytes alone, not on how they are split or on the CPU.
//!
//! Input: five bytes of [`Settings`], the capacity to keep, three chunk sizes, and the stream.

use bytes::{BufMut, BytesMut};
use wireline::{Decoder, Fault, Frame, Id, Message};
use wireline_json::Cpu;

use super::input::{Choices, Settings};
use super::lines::{Line, lines};

/// The smallest buffer that a decoder allocates.
const SMALLEST: usize = 512;

/// How the stream is fed to a decoder.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Whole,
    Bytes,
    Pieces,
    /// Written to the decoder's buffer through a slice.
    Room,
    /// Written to the decoder's buffer through a `BytesMut`; each frame is kept to the end.
    Spare,
    /// As buffers split off one `BytesMut`; frames are taken only now and then.
    Buffers,
}

/// See the [module](self).
pub fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    let settings = Settings::choose(&mut choices);
    let kept = choices.limit(64 << 10);
    let sizes = [(); 3].map(|()| usize::from(choices.byte()).max(1));
    let stream = choices.rest();
    let lines = lines(stream, &settings);

    let rules = settings.rules();
    let expected: Vec<_> = lines.iter().map(|line| Frame::parse(line.part(&settings), &rules)).collect();
    let run = |way| {
        let decoder = Decoder::new(rules).keep_capacity(kept);
        Run { way, settings: &settings, decoder, lines: &lines, expected: &expected, next: 0, kept: vec![] }
            .stream(stream, sizes);
    };
    for kernel in Cpu::available() {
        for way in [Way::Whole, Way::Bytes, Way::Pieces] {
            kernel.run(|| run(way));
        }
    }
    // How the bytes get into the buffer doesn't depend on the kernel.
    for way in [Way::Room, Way::Spare, Way::Buffers] {
        run(way);
    }
}

/// A decoder and its position in the stream.
struct Run<'a> {
    way: Way,
    settings: &'a Settings,
    decoder: Decoder,
    lines: &'a [Line<'a>],
    expected: &'a [Result<Frame<'a>, Fault>],
    next: usize,
    kept: Vec<Result<Frame<'static>, Fault>>,
}

impl Run<'_> {
    fn stream(mut self, stream: &[u8], sizes: [usize; 3]) {
        let mut sizes = match self.way {
            Way::Whole => [stream.len().max(1); 3],
            Way::Bytes => [1; 3],
            Way::Pieces | Way::Room | Way::Spare | Way::Buffers => sizes,
        }
        .into_iter()
        .cycle();
        let mut buffer = if self.way == Way::Buffers { BytesMut::from(stream) } else { BytesMut::new() };
        let mut rest = stream;
        let mut longest = 0;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(sizes.next().unwrap_or(1).min(rest.len()));
            rest = after;
            longest = longest.max(piece.len());
            match self.way {
                Way::Whole | Way::Bytes | Way::Pieces => self.decoder.feed(piece),
                Way::Room => {
                    // A reader may overwrite any part of the room.
                    let mut left = piece;
                    while !left.is_empty() {
                        let read = self.decoder.read_with(left.len(), |room| {
                            assert!(room.len() >= left.len().div_ceil(2), "too little room");
                            room.fill(b'!');
                            room.copy_from_slice(&left[..room.len()]);
                            Ok(room.len())
                        });
                        left = &left[read.expect("this reader doesn't fail")..];
                    }
                }
                Way::Spare => {
                    let spare = self.decoder.spare(piece.len());
                    assert!(spare.capacity() - spare.len() >= piece.len().div_ceil(2), "too little room");
                    spare.put_slice(piece);
                }
                Way::Buffers => {
                    self.decoder.feed_buffer(buffer.split_to(piece.len()));
                    if piece.len() % 2 == 1 {
                        continue;
                    }
                }
            }
            self.drain();
            self.check_memory(longest);
        }
        self.decoder.finish();
        self.drain();
        let Self { way, lines, expected, mut decoder, .. } = self;
        assert!(decoder.next_frame().is_none(), "{way:?}: frames after the end");
        assert_eq!(decoder.buffered(), 0, "{way:?}: bytes are left");
        assert_eq!(self.next, lines.len(), "{way:?}: lines are missing");
        for (line, (kept, expected)) in lines.iter().zip(self.kept.iter().zip(expected)) {
            assert!(same(kept, expected), "{way:?}: kept frame {kept:?} has changed, on {line:?}");
        }
    }

    fn drain(&mut self) {
        let Self { way, .. } = *self;
        while let Some(found) = self.decoder.next_frame() {
            let line = self.lines.get(self.next);
            let line = line.unwrap_or_else(|| panic!("{way:?}: {found:?} after the last line"));
            let expected = &self.expected[self.next];
            assert!(same(&found, expected), "{way:?}: found {found:?}, expected {expected:?}, on {line:?}");
            let place = match &found {
                Ok(frame) => (frame.line(), frame.offset()),
                Err(fault) => (fault.line(), fault.offset()),
            };
            assert_eq!(place, (line.number, line.offset), "{way:?}: {found:?} has the wrong position");
            if let Ok(Frame::Batch(batch)) = &found {
                for fault in batch.iter().filter_map(Result::err) {
                    assert_eq!((fault.line(), fault.offset()), place, "{way:?}: {fault:?} has the wrong position");
                }
            }
            if way == Way::Spare {
                let kept = found.map(Frame::into_owned);
                self.kept.push(kept);
            }
            let text = if line.text.len() <= self.settings.max_line_len { line.text } else { b"" };
            assert_eq!(self.decoder.last_line(), text, "{way:?}: wrong last line");
            self.next += 1;
        }
    }

    /// The buffer holds at most the longest line, with its byte order mark and carriage return, and one read.
    fn check_memory(&mut self, read: usize) {
        let line = self.settings.max_line_len.saturating_add(1 + 3);
        let buffered = self.decoder.buffered();
        assert!(buffered <= line, "{:?}: {buffered} bytes of an incomplete line", self.way);
        let capacity = buffered + self.decoder.spare(0).capacity();
        let most = (line + 1).saturating_add(read).max(SMALLEST);
        // How much to allocate for joined buffers is up to `bytes`.
        let most = if self.way == Way::Buffers { 2 * most } else { most };
        assert!(capacity <= most, "{:?}: capacity of {capacity} bytes exceeds {most}", self.way);
    }
}

/// Whether two results are the same apart from their position in the stream.
fn same(one: &Result<Frame<'_>, Fault>, other: &Result<Frame<'_>, Fault>) -> bool {
    match (one, other) {
        (Ok(Frame::Message(one)), Ok(Frame::Message(other))) => same_message(one, other),
        (Ok(Frame::Batch(one)), Ok(Frame::Batch(other))) => {
            one.as_bytes() == other.as_bytes()
                && one.len() == other.len()
                && one.iter().len() == one.len()
                && one.iter().zip(other).filter(same_entry).count() == one.len()
        }
        (Err(one), Err(other)) => same_fault(one, other),
        _ => false,
    }
}

fn same_entry((one, other): &(Entry<'_>, Entry<'_>)) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => same_message(one, other),
        (Err(one), Err(other)) => same_fault(one, other),
        _ => false,
    }
}

type Entry<'a> = Result<Message<'a>, Fault>;

fn same_message(one: &Message<'_>, other: &Message<'_>) -> bool {
    one.as_bytes() == other.as_bytes()
        && one.id().map(Id::as_json) == other.id().map(Id::as_json)
        && match (one, other) {
            (Message::Request(one), Message::Request(other)) => {
                one.method() == other.method() && one.params() == other.params()
            }
            (Message::Notification(one), Message::Notification(other)) => {
                one.method() == other.method() && one.params() == other.params()
            }
            (Message::Response(one), Message::Response(other)) => match (one.outcome(), other.outcome()) {
                (Ok(one), Ok(other)) => one == other,
                (Err(one), Err(other)) => one.raw() == other.raw(),
                _ => false,
            },
            _ => false,
        }
}

fn same_fault(one: &Fault, other: &Fault) -> bool {
    let parts = |fault: &Fault| (fault.kind(), fault.column(), fault.line_len(), fault.hint(), fault.is_response());
    let answer = |fault: &Fault| fault.reply().map(|reply| (reply.code(), reply.id().map(|id| id.is_null())));
    parts(one) == parts(other)
        && one.id().map(Id::as_json) == other.id().map(Id::as_json)
        && answer(one) == answer(other)
        && one.column() <= one.line_len() + 1
}
