//! `wireline stats`: the table of a session that is over.

use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Duration;

use crate::args::Stats;
use crate::colours::Colours;
use crate::follow::Follower;
use crate::output::Output;
use crate::recording::{Event, Reader};
use crate::session::Side;
use crate::source::Source;
use crate::summary::{histogram, summary};
use crate::units::{Size, Span};
use crate::{FAILED, FINE};

/// Reads what `args` name, and returns the exit code.
pub(crate) fn run(args: &Stats) -> u8 {
    let sources = Source::all(&args.files);
    let mut output = Output::new(&sources, false);
    let mut reading = Reading { follower: Follower::new(args.judging.rules()), elapsed: Duration::ZERO };
    let mut code = FINE;
    for source in &sources {
        if let Err(error) = reading.read(source, &mut output) {
            output.complain(&format!("cannot read {}: {error}", source.shown()));
            code = FAILED;
        }
    }
    output.end_progress();
    match write(&reading, &mut output) {
        Ok(()) => code,
        Err(error) => {
            // A reader that has gone away, like `head`, has seen enough.
            if error.kind() != io::ErrorKind::BrokenPipe {
                output.complain(&format!("cannot write to standard output: {error}"));
            }
            FAILED
        }
    }
}

fn write(reading: &Reading, output: &mut Output) -> io::Result<()> {
    let Reading { follower: Follower { session, .. }, elapsed } = reading;
    let colours = Colours::detect(io::stdout().is_terminal());
    let elapsed = Some(*elapsed).filter(|elapsed| !elapsed.is_zero());
    write!(output, "{}", summary(session, elapsed, output.columns(), colours))?;
    for (title, octaves, unit) in [
        ("sizes of messages", session.sizes(), (|bytes| Size(bytes).to_string()) as fn(u64) -> String),
        ("latencies", &session.latencies(), |nanoseconds| Span(Duration::from_nanos(nanoseconds)).to_string()),
    ] {
        let histogram = histogram(title, octaves, unit, colours);
        if !histogram.is_empty() {
            write!(output, "\n{histogram}")?;
        }
    }
    output.send()
}

struct Reading {
    follower: Follower,
    /// The length of all sessions so far.
    elapsed: Duration,
}

impl Reading {
    fn read(&mut self, source: &Source, output: &mut Output) -> io::Result<()> {
        let (is_recording, input) = source.open_any()?;
        self.follower.session.mix(!is_recording);
        if is_recording { self.read_recording(input, output) } else { self.read_plain(input, output) }
    }

    fn read_plain(&mut self, mut input: impl BufRead, output: &mut Output) -> io::Result<()> {
        loop {
            let len = match input.fill_buf() {
                Ok(bytes) => {
                    self.follower.bytes(Side::Client, bytes, None, |_, _| {});
                    bytes.len()
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if len == 0 {
                self.follower.end(Side::Client, None, |_, _| {});
                self.follower.close(None);
                return Ok(());
            }
            input.consume(len);
            output.advance(len as u64);
        }
    }

    fn read_recording(&mut self, input: impl BufRead, output: &mut Output) -> io::Result<()> {
        let mut reader = Reader::new(input);
        // When the session began, in seconds since 1970, and how long it has lasted.
        let (mut start, mut at) = (None, Duration::ZERO);
        let mut unreadable = None;
        loop {
            let len = reader.read_line()?;
            if len == 0 {
                break;
            }
            output.advance(len as u64);
            let bytes = reader.record().map(|record| (record.bytes(), record));
            let Some((bytes, record)) = bytes.filter(|(bytes, record)| bytes.is_some() == record.from.is_some()) else {
                if !reader.is_blank() {
                    unreadable = unreadable.or(Some(reader.number));
                }
                continue;
            };
            if record.event == Some(Event::Start) {
                self.end_session(at);
                start = None;
            }
            let start = *start.get_or_insert(record.time);
            at = Duration::try_from_secs_f64(record.time - start).unwrap_or_default();
            if let (Some(from), Some(bytes)) = (record.from, bytes) {
                self.follower.bytes(from, &bytes, Some(at), |_, _| {});
                if record.open {
                    self.follower.end(from, Some(at), |_, _| {});
                }
            }
        }
        self.end_session(at);
        match unreadable {
            Some(line) => Err(io::Error::other(format!("expected a record on line {line}"))),
            None => Ok(()),
        }
    }

    fn end_session(&mut self, at: Duration) {
        for from in Side::BOTH {
            self.follower.end(from, Some(at), |_, _| {});
        }
        self.follower.close(Some(at));
        self.elapsed += at;
    }
}
