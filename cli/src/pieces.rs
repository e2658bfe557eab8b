//! A large file in pieces, which threads judge at the same time. What comes of it is as if one had gone through it all.
//!
//! A piece has the lines that *begin* in it: it passes over the end of a line that began before, and reads on behind its
//! own end until its last line is complete.
//!
//! ```text
//!           piece 0           piece 1           piece 2           piece 3
//!      ├─────────────────┼─────────────────┼─────────────────┼────────────
//!      a\n   bbbb\n   cccccccc\n   dddddddddddddddddddddddddddddd\n   ee\n
//!      └── a, b, c ─────────────┘
//!                                  └── d ──────────────────────────┘
//!                                          (none)
//!                                                                     └── e
//! ```
//!
//! So the pieces need not agree on where to cut, and nothing must be known of the file's length: pieces are given out until
//! one comes to the end of the file, wherever that is by then. On which line a piece begins it learns from the one before,
//! which counts its line ends before it judges them.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use wireline::{Decoder, Rules};

use crate::check::Failure;
use crate::judge::{Judge, READ, Sink, read, read_some};
use crate::report::Report;
use crate::tally::Tally;

/// How large a piece is. It is kept until it is judged, and should not be driven out of the cache by then.
pub(crate) const PIECE: usize = 1 << 20;

/// How much is read at once for the rest of a line that began in a piece.
const REST: usize = 16 << 10;

/// How many texts may wait for those about the pieces before. With more, a piece would have to wait itself.
const WAITING: usize = 32;

/// Reads at an offset, as `FileExt::read_at` does.
pub(crate) type ReadAt<'a> = dyn Fn(&mut [u8], u64) -> io::Result<usize> + Sync + 'a;

/// How to go through a file.
pub(crate) struct Pieces<'a> {
    pub(crate) rules: Rules,
    /// How many threads there are.
    pub(crate) jobs: usize,
    /// How large a piece is: at least 1.
    pub(crate) size: usize,
    pub(crate) read_at: &'a ReadAt<'a>,
    /// Told how much has been judged.
    pub(crate) advance: &'a (dyn Fn(u64) + Sync),
}

/// A piece that is to be judged.
struct Piece {
    start: u64,
    /// Says on which line it begins, or rather the first line that begins in it.
    line: Receiver<u64>,
    /// Tells the next piece the same.
    next_line: Sender<u64>,
    news: SyncSender<News>,
}

/// What becomes of a piece.
enum News {
    Text(Vec<u8>),
    Done(Tally, End),
}

/// Where reading a piece has ended.
enum End {
    /// With its last line: other pieces follow.
    Piece,
    /// With the file.
    File,
    Failed(io::Error),
}

impl Pieces<'_> {
    /// Judges all of the file. The text about it goes to `send` in order.
    pub(crate) fn check(&self, report: &impl Report, tally: &mut Tally, send: &mut Sink<'_>) -> Result<(), Failure> {
        let is_over = AtomicBool::new(false);
        let (give, take) = channel();
        let take = Mutex::new(take);
        thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    // Used for all its pieces: memory of their own would take the system as long again to give out.
                    let mut buffer = vec![0; self.size];
                    let mut decoder = Decoder::new(self.rules).retain(4 * READ);
                    // Whoever waits for a piece holds the lock, and the others wait for that.
                    let take = || take.lock().ok()?.recv().ok();
                    while let Some(piece) = take().filter(|_| !is_over.load(Ordering::Relaxed)) {
                        self.judge(piece, &mut buffer, &mut decoder, report, &is_over);
                    }
                });
            }
            let checked = self.collect(give, tally, send);
            is_over.store(true, Ordering::Relaxed);
            checked
        })
    }

    /// Gives out the pieces, and collects what becomes of them in their order.
    fn collect(&self, give: Sender<Piece>, tally: &mut Tally, send: &mut Sink<'_>) -> Result<(), Failure> {
        let mut under_way: VecDeque<Receiver<News>> = VecDeque::new();
        let mut start = 0;
        let (first, mut line) = channel();
        // The receiver is at hand.
        let _ = first.send(1);
        loop {
            // Enough that nobody is without one while the first is waited for.
            while under_way.len() < 2 * self.jobs {
                let (next_line, line_after) = channel();
                let (news, from_piece) = sync_channel(WAITING);
                let piece = Piece { start, line: std::mem::replace(&mut line, line_after), next_line, news };
                // If all threads have panicked, that shows below.
                let _ = give.send(piece);
                under_way.push_back(from_piece);
                start += self.size as u64;
            }
            let Some(first) = under_way.pop_front() else { return Ok(()) };
            let (of_piece, end) = loop {
                match first.recv() {
                    Ok(News::Text(mut text)) => send(&mut text).map_err(Failure::Write)?,
                    Ok(News::Done(of_piece, end)) => break (of_piece, end),
                    // Its thread has panicked, which the scope passes on.
                    Err(_) => return Ok(()),
                }
            };
            tally.add(&of_piece);
            match end {
                End::Piece => {}
                End::File => return Ok(()),
                End::Failed(error) => return Err(Failure::Read(error)),
            }
        }
    }

    /// Judges a piece, unless nobody wants to know any more.
    fn judge(
        &self,
        piece: Piece,
        buffer: &mut [u8],
        decoder: &mut Decoder,
        report: &impl Report,
        is_over: &AtomicBool,
    ) {
        let mut tally = Tally::default();
        let mut send = |text: &mut Vec<u8>| {
            let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            piece.news.send(News::Text(std::mem::take(text))).map_err(gone)
        };
        let judge = Judge::new(report, &mut tally, &mut send);
        if let Some(end) = self.judge_lines(&piece, buffer, decoder, judge, is_over) {
            // Nobody may want to know by now.
            let _ = piece.news.send(News::Done(tally, end));
        }
    }

    /// Judges the lines that begin in a piece. `None` if nobody wants to know any more.
    fn judge_lines(
        &self,
        piece: &Piece,
        buffer: &mut [u8],
        decoder: &mut Decoder,
        mut judge: Judge<'_, impl Report>,
        is_over: &AtomicBool,
    ) -> Option<End> {
        // Lines begin behind line ends, so that it is those of one byte before that count.
        let is_first = piece.start == 0;
        let offset = piece.start.saturating_sub(1);
        let mut input = At { read_at: self.read_at, offset };
        let (len, mut end) = read_full(&mut input, &mut buffer[usize::from(is_first)..]);
        let bytes = &buffer[usize::from(is_first)..][..len];

        let line = piece.line.recv().ok()?;
        let lines = memchr::memchr_iter(b'\n', bytes).count() as u64 + u64::from(is_first);
        if end.is_none() {
            // The next one may have been given up.
            let _ = piece.next_line.send(line + lines);
        }
        let skipped = if is_first { Some(0) } else { memchr::memchr(b'\n', bytes).map(|at| at + 1) };
        if let Some(skipped) = skipped {
            // It is done with the last line of another piece, and nothing is left in it.
            *decoder = std::mem::replace(decoder, Decoder::new(self.rules)).resume(line, offset + skipped as u64);
            for chunk in bytes[skipped..].chunks(READ) {
                decoder.feed(chunk);
                judge.judge(decoder).ok()?;
            }
            let mut is_complete = false;
            while end.is_none() && !is_complete {
                if is_over.load(Ordering::Relaxed) {
                    return None;
                }
                match read(&mut input, decoder, REST) {
                    Err(error) => end = Some(End::Failed(error)),
                    Ok(0) => end = Some(End::File),
                    Ok(len) => {
                        let buffer = decoder.spare(0);
                        let rest = buffer.len() - len;
                        if let Some(at) = memchr::memchr(b'\n', &buffer[rest..]) {
                            buffer.truncate(rest + at + 1);
                            is_complete = true;
                        }
                        judge.judge(decoder).ok()?;
                    }
                }
            }
            if matches!(end, Some(End::File)) {
                decoder.finish();
                judge.judge(decoder).ok()?;
            }
        }
        judge.count_bytes(if end.is_none() { self.size as u64 } else { input.offset.saturating_sub(piece.start) });
        judge.send().ok()?;
        (self.advance)(len as u64);
        Some(end.unwrap_or(End::Piece))
    }
}

/// Fills the buffer as far as possible. Returns how much that was, and what was in the way of more.
fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> (usize, Option<End>) {
    let mut len = 0;
    while len < buffer.len() {
        match read_some(input, &mut buffer[len..]) {
            Ok(0) => return (len, Some(End::File)),
            Ok(more) => len += more,
            Err(error) => return (len, Some(End::Failed(error))),
        }
    }
    (len, None)
}

/// Reads from an offset on.
struct At<'a> {
    read_at: &'a ReadAt<'a>,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = (self.read_at)(buffer, self.offset)?;
        self.offset += len as u64;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use quickcheck::{Arbitrary, Gen, QuickCheck};

    use super::*;
    use crate::check::check_stream;
    use crate::human::Human;
    use crate::ndjson::Ndjson;
    use crate::source::Source;

    /// A file in memory, with all that can be in one.
    #[derive(Clone, Debug)]
    struct Content(Vec<u8>);

    impl Arbitrary for Content {
        fn arbitrary(g: &mut Gen) -> Self {
            const LINES: &[&str] = &[
                "",
                "",
                " \t",
                "oops",
                r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
                r#"{"jsonrpc":"2.0","method":"b","params":["x y z","x y z","x y z","x y z"]}"#,
                r#"{"jsonrpc":"2.0","id":"c","result":"a line that is longer than all limits, and still has its id"}"#,
                r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}"#,
                r#"[{"jsonrpc":"2.0","method":"d"},1,{"jsonrpc":"2.0","id":null}]"#,
                "\u{feff}",
                "\u{feff}{}",
                r#"{"jsonrpc":"2.0","id":3,"method":NaN}"#,
            ];
            const ENDS: &[&str] = &["\n", "\n", "\r\n", "\r\r\n", "\n\n", "\r"];
            let mut content = Vec::new();
            for _ in 0..usize::arbitrary(g) % 12 {
                content.extend_from_slice(g.choose(LINES).unwrap().as_bytes());
                content.extend_from_slice(g.choose(ENDS).unwrap().as_bytes());
            }
            if bool::arbitrary(g) {
                content.extend_from_slice(g.choose(LINES).unwrap().as_bytes());
            }
            Self(content)
        }

        fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
            Box::new(self.0.shrink().map(Self))
        }
    }

    /// All that can be told apart from outside: the text, the counts, and whether it was read to the end.
    type Outcome = (String, String, Result<(), String>);

    fn outcome<R: Report>(
        report: &mut R,
        check: impl FnOnce(&R, &mut Tally, &mut Sink<'_>) -> Result<(), Failure>,
    ) -> Outcome {
        let (mut tally, mut sent) = (Tally::default(), Vec::new());
        report.open(&Source::Stdin);
        let checked = check(report, &mut tally, &mut |text| {
            sent.append(text);
            Ok(())
        });
        let checked = checked.map_err(|failure| match failure {
            Failure::Read(error) => error.to_string(),
            Failure::Write(error) => panic!("{error}"),
        });
        (String::from_utf8(sent).unwrap(), format!("{tally:?}"), checked)
    }

    fn in_one<R: Report>(rules: Rules, input: &mut dyn Read, report: &mut R) -> Outcome {
        outcome(report, |report, tally, send| check_stream(rules, input, report, tally, &|_| {}, send))
    }

    fn in_pieces<R: Report>(
        rules: Rules,
        (jobs, size): (usize, usize),
        read_at: &ReadAt<'_>,
        report: &mut R,
    ) -> Outcome {
        let pieces = Pieces { rules, jobs, size, read_at, advance: &|_| {} };
        outcome(report, |report, tally, send| pieces.check(report, tally, send))
    }

    /// Reads at most `most` bytes at a time.
    fn reader(content: &[u8], most: usize) -> impl Fn(&mut [u8], u64) -> io::Result<usize> + Sync {
        move |buffer, offset| {
            let rest = &content[content.len().min(offset as usize)..];
            let len = rest.len().min(buffer.len()).min(most);
            buffer[..len].copy_from_slice(&rest[..len]);
            Ok(len)
        }
    }

    #[test]
    fn pieces_are_as_one() {
        fn property(content: Content, size: u8, jobs: u8, most: u8, max_len: u8) -> bool {
            let Content(content) = content;
            let (size, jobs, most) = (usize::from(size % 90) + 1, usize::from(jobs % 4) + 1, usize::from(most) + 1);
            let rules = Rules::json_rpc().max_line_len(usize::from(max_len) + 1);
            let read_at = reader(&content, most);
            let same = |report: &mut Human| {
                let one = in_one(rules, &mut &content[..], report);
                one == in_pieces(rules, (jobs, size), &read_at, report)
            };
            let mut ndjson = Ndjson::new(true);
            same(&mut Human::new(true))
                && in_one(rules, &mut &content[..], &mut ndjson)
                    == in_pieces(rules, (jobs, size), &read_at, &mut ndjson)
        }
        let property: fn(Content, u8, u8, u8, u8) -> bool = property;
        QuickCheck::new().tests(2_000).quickcheck(property);
    }

    #[test]
    fn line_may_be_longer_than_many_pieces() {
        let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"{}\"}}\r\noops\n", "x".repeat(100_000));
        for max_len in [1_000, 200_000] {
            let rules = Rules::mcp().max_line_len(max_len);
            let one = in_one(rules, &mut long.as_bytes(), &mut Ndjson::new(false));
            assert_eq!(one.0.lines().count(), 2);
            for size in [1, 100, 1 << 10, 99_999, 1 << 20] {
                let pieces = in_pieces(rules, (3, size), &reader(long.as_bytes(), 1 << 20), &mut Ndjson::new(false));
                assert_eq!(pieces, one, "{max_len} {size}");
            }
        }
    }

    /// What was complete before the error is reported, in both ways.
    #[test]
    fn read_errors_come_where_they_are() {
        let content = b"oops\n".repeat(100);
        for bad in 0..500 {
            let read_at = |buffer: &mut [u8], offset: u64| match usize::try_from(offset).unwrap() {
                at if at < bad => {
                    let len = buffer.len().min(bad - at);
                    buffer[..len].copy_from_slice(&content[at..at + len]);
                    Ok(len)
                }
                _ => Err(io::Error::other("bad sector")),
            };
            let mut stream = At { read_at: &read_at, offset: 0 };
            let one = in_one(Rules::mcp(), &mut stream, &mut Human::new(true));
            assert_eq!(one.2, Err("bad sector".to_owned()));
            assert_eq!(in_pieces(Rules::mcp(), (3, 64), &read_at, &mut Human::new(true)), one, "{bad}");
        }
    }

    /// Wherever the end is when it is come upon, it is the end.
    #[test]
    fn file_may_grow_and_shrink() {
        let content = b"oops\n".repeat(1_000);
        for (first, later) in [(100, 5_000), (5_000, 103), (4_999, 0), (0, 5_000)] {
            let reads = AtomicU64::new(0);
            let read_at = |buffer: &mut [u8], offset: u64| {
                let len = if reads.fetch_add(1, Ordering::Relaxed) < 5 { first } else { later };
                reader(&content[..len], 64)(buffer, offset)
            };
            let (text, _, end) = in_pieces(Rules::mcp(), (2, 64), &read_at, &mut Ndjson::new(false));
            assert_eq!(end, Ok(()));
            for (line, number) in text.lines().zip(1..) {
                assert!(line.starts_with(&format!("{{\"line\":{number},\"offset\":{},", (number - 1) * 5)), "{line}");
            }
            assert!(text.lines().count() <= 1_000);
        }
    }

    #[test]
    fn ends_when_nothing_can_be_written() {
        let content = b"oops\n".repeat(100_000);
        let pieces = Pieces {
            rules: Rules::mcp(),
            jobs: 3,
            size: 1 << 10,
            read_at: &reader(&content, usize::MAX),
            advance: &|_| {},
        };
        let mut sent = 0;
        let checked = pieces.check(&Human::new(true), &mut Tally::default(), &mut |_| {
            sent += 1;
            if sent == 3 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
        });
        assert!(matches!(checked, Err(Failure::Write(_))));
        assert_eq!(sent, 3);
    }
}
