//! Checks a large file with several threads, with the same result as a single pass over it.
//!
//! The file is cut into segments of equal length. A segment owns the lines that *start* in it: it skips the rest of a
//! line that started earlier, and reads past its own end until its last line is complete.
//!
//! ```text
//!          segment 0         segment 1         segment 2         segment 3
//!      ├─────────────────┼─────────────────┼─────────────────┼────────────
//!      a\n   bbbb\n   cccccccc\n   dddddddddddddddddddddddddddddd\n   ee\n
//!      └── a, b, c ─────────────┘
//!                                  └── d ──────────────────────────┘
//!                                          (none)
//!                                                                     └── e
//! ```
//!
//! So threads need not agree on where to cut, and the file's length need not be known: segments are handed out until one
//! of them reaches the end of the file, wherever that is by then. A segment learns the number of its first line from the
//! segment before, which counts its newlines before it checks its lines.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use wireline::{Decoder, Rules};

use super::Failure;
use super::counts::Counts;
use super::folding::Text;
use super::line_reporter::{Ends, LineReporter, SendText};
use super::report::Report;
use crate::input::{READ_LEN, read_retrying};
use crate::line_ends::count_returns;

/// The length of a segment, small enough that it is still in the cache when it is checked.
pub(super) const SEGMENT_LEN: usize = 1 << 20;

/// How much to read at once for the end of a segment's last line.
const LINE_END_LEN: usize = 16 << 10;

/// How many texts of a segment are queued while those of earlier segments are written. Its thread then blocks.
const MAX_QUEUED_TEXTS: usize = 32;

/// Reads at an offset, as `FileExt::read_at` does.
type ReadAt<'a> = dyn Fn(&mut [u8], u64) -> io::Result<usize> + Sync + 'a;

/// How to check a file.
pub(super) struct ParallelCheck<'a> {
    pub(super) rules: Rules,
    pub(super) ends: Ends,
    /// Whether to judge each line on its own.
    pub(super) judges_lines: bool,
    /// The number of threads.
    pub(super) jobs: usize,
    /// The length of a segment, at least 1.
    pub(super) segment_len: usize,
    pub(super) read_at: &'a ReadAt<'a>,
    /// Called with the number of bytes whenever some have been checked.
    pub(super) advance: &'a (dyn Fn(u64) + Sync),
}

/// A segment for a thread to check.
struct Segment {
    start: u64,
    /// Receives the number of the first line that starts in it.
    first_line: Receiver<u64>,
    /// Sends that number to the next segment.
    next_first_line: Sender<u64>,
    updates: SyncSender<Update>,
}

/// What a thread sends about its segment.
enum Update {
    Text(Text),
    Done(Counts, End),
}

/// Where reading a segment ended.
enum End {
    /// At the end of its last line. More segments follow.
    Segment,
    /// At the end of the file.
    File,
    Failed(io::Error),
}

impl ParallelCheck<'_> {
    /// Checks the whole file. `send` receives the report in the order of the lines.
    pub(super) fn run(
        &self,
        report: &impl Report,
        counts: &mut Counts,
        send: &mut SendText<'_>,
    ) -> Result<(), Failure> {
        let is_cancelled = AtomicBool::new(false);
        let (segment_sender, segments) = channel();
        let segments = Mutex::new(segments);
        thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    // One buffer per thread: allocating one per segment would double the time.
                    let mut buffer = vec![0; self.segment_len];
                    let mut decoder = Decoder::new(self.rules).keep_capacity(4 * READ_LEN);
                    // One thread waits for a segment with the lock held, and the others wait for the lock.
                    let next = || segments.lock().ok()?.recv().ok();
                    while let Some(segment) = next().filter(|_| !is_cancelled.load(Ordering::Relaxed)) {
                        self.check_segment(segment, &mut buffer, &mut decoder, report, &is_cancelled);
                    }
                });
            }
            let checked = self.collect(segment_sender, counts, send);
            is_cancelled.store(true, Ordering::Relaxed);
            checked
        })
    }

    /// Hands out the segments, and collects their updates in order.
    fn collect(&self, segments: Sender<Segment>, counts: &mut Counts, send: &mut SendText<'_>) -> Result<(), Failure> {
        let mut under_way: VecDeque<Receiver<Update>> = VecDeque::new();
        let mut start = 0;
        let (line_sender, mut first_line) = channel();
        // Cannot fail: the receiver is alive.
        let _ = line_sender.send(1);
        loop {
            // Twice as many as threads, so that no thread is idle while the first segment is awaited.
            while under_way.len() < 2 * self.jobs {
                let (next_first_line, line_after) = channel();
                let (updates, update_receiver) = sync_channel(MAX_QUEUED_TEXTS);
                let first_line = std::mem::replace(&mut first_line, line_after);
                // Fails only if all threads have panicked, which shows below.
                let _ = segments.send(Segment { start, first_line, next_first_line, updates });
                under_way.push_back(update_receiver);
                start += self.segment_len as u64;
            }
            let Some(updates) = under_way.pop_front() else { return Ok(()) };
            let (segment_counts, end) = loop {
                match updates.recv() {
                    Ok(Update::Text(mut text)) => send(&mut text).map_err(Failure::Write)?,
                    Ok(Update::Done(segment_counts, end)) => break (segment_counts, end),
                    // Its thread has panicked. The scope propagates the panic.
                    Err(_) => return Ok(()),
                }
            };
            counts.add(&segment_counts);
            match end {
                End::Segment => {}
                End::File => return Ok(()),
                End::Failed(error) => return Err(Failure::Read(error)),
            }
        }
    }

    fn check_segment(
        &self,
        segment: Segment,
        buffer: &mut [u8],
        decoder: &mut Decoder,
        report: &impl Report,
        is_cancelled: &AtomicBool,
    ) {
        let mut counts = Counts::default();
        let mut send = |text: &mut Text| {
            let cancelled = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            segment.updates.send(Update::Text(std::mem::take(text))).map_err(cancelled)
        };
        let reporter = LineReporter::new(report, &mut counts, &mut send).judging_lines(self.judges_lines);
        if let Some(end) = self.check_lines(&segment, buffer, decoder, reporter, is_cancelled) {
            // Fails if the check has been cancelled.
            let _ = segment.updates.send(Update::Done(counts, end));
        }
    }

    /// Checks the lines that start in a segment. Returns `None` if the check is cancelled.
    fn check_lines(
        &self,
        segment: &Segment,
        buffer: &mut [u8],
        decoder: &mut Decoder,
        mut reporter: LineReporter<'_, '_, impl Report>,
        is_cancelled: &AtomicBool,
    ) -> Option<End> {
        // A line starts after a newline, so the newlines to look at begin one byte before the segment.
        let is_first = segment.start == 0;
        let offset = segment.start.saturating_sub(1);
        let mut input = ReaderAt { read_at: self.read_at, offset };
        let (len, mut end) = read_full(&mut input, &mut buffer[usize::from(is_first)..]);
        let bytes = &buffer[usize::from(is_first)..][..len];

        let first_line = segment.first_line.recv().ok()?;
        let lines = memchr::memchr_iter(b'\n', bytes).count() as u64 + u64::from(is_first);
        if end.is_none() {
            // Fails if the next segment has been dropped.
            let _ = segment.next_first_line.send(first_line + lines);
        }
        // Each line feed is in one segment's bytes. The carriage return before the first one may not be.
        let mut returns = count_returns(bytes);
        if offset > 0 && bytes.first() == Some(&b'\n') {
            let mut before = [0];
            let len = (self.read_at)(&mut before, offset - 1).unwrap_or(0);
            returns += u64::from(before[..len] == *b"\r");
        }
        let lines_start = if is_first { Some(0) } else { memchr::memchr(b'\n', bytes).map(|at| at + 1) };
        if let Some(start) = lines_start {
            // Nothing is left in the decoder: the previous segment's last line was complete.
            *decoder =
                std::mem::replace(decoder, Decoder::new(self.rules)).starting_at(first_line, offset + start as u64);
            for chunk in bytes[start..].chunks(READ_LEN) {
                decoder.feed(chunk);
                reporter.report_lines(decoder).ok()?;
            }
            let mut is_complete = false;
            while end.is_none() && !is_complete {
                if is_cancelled.load(Ordering::Relaxed) {
                    return None;
                }
                // The rest of the line, which belongs to this segment. What follows it is the next segment's.
                let read = decoder.read_with(LINE_END_LEN, |room| {
                    let len = read_retrying(&mut input, room)?;
                    let line_feed = memchr::memchr(b'\n', &room[..len]);
                    is_complete = line_feed.is_some();
                    Ok(line_feed.map_or(len, |at| at + 1))
                });
                match read {
                    Err(error) => end = Some(End::Failed(error)),
                    Ok(0) => end = Some(End::File),
                    Ok(_) => reporter.report_lines(decoder).ok()?,
                }
            }
            if matches!(end, Some(End::File)) {
                reporter.finish(decoder, self.ends).ok()?;
            }
        }
        reporter.add_returns(returns);
        reporter.add_bytes(match end {
            None => self.segment_len as u64,
            Some(_) => input.offset.saturating_sub(segment.start),
        });
        reporter.send().ok()?;
        (self.advance)(len as u64);
        Some(end.unwrap_or(End::Segment))
    }
}

/// Fills the buffer as far as possible. Returns the length, and why the buffer is not full.
fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> (usize, Option<End>) {
    let mut len = 0;
    while len < buffer.len() {
        match read_retrying(input, &mut buffer[len..]) {
            Ok(0) => return (len, Some(End::File)),
            Ok(more) => len += more,
            Err(error) => return (len, Some(End::Failed(error))),
        }
    }
    (len, None)
}

/// Reads from an offset on.
struct ReaderAt<'a> {
    read_at: &'a ReadAt<'a>,
    offset: u64,
}

impl Read for ReaderAt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = (self.read_at)(buffer, self.offset)?;
        self.offset += len as u64;
        Ok(len)
    }
}
