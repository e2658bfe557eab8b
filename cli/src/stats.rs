//! `wireline stats`: the table of a session that is over.

use std::io::{self, BufRead, IsTerminal, Read};
use std::time::Duration;

use crate::args::Stats;
use crate::colours::Colours;
use crate::follow::Follower;
use crate::judge::{READ, read_some};
use crate::output::{Output, Progress};
use crate::overview::{histogram, overview};
use crate::recording::{Event, Reader, What};
use crate::session::Side;
use crate::source::{Input, Source};
use crate::terminal::columns;
use crate::units::{Size, Span};
use crate::{FAILED, FINE};

/// Reads what `args` name, and returns the exit code.
pub(crate) fn run(args: &Stats) -> u8 {
    let sources = Source::all(&args.files);
    let mut output = Output::new(&sources, false);
    let mut reading =
        Reading { follower: Follower::new(args.judging.rules()), elapsed: Duration::ZERO, progress: output.progress() };
    let mut code = FINE;
    for source in &sources {
        if let Err(error) = reading.read(source) {
            output.complain(&format!("cannot read {}: {error}", source.shown()));
            code = FAILED;
        }
    }
    reading.follower.close(None);
    output.end_progress();
    match output.send(&mut reading.text().into_bytes()) {
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

struct Reading {
    follower: Follower,
    /// The length of all sessions so far.
    elapsed: Duration,
    progress: Progress,
}

impl Reading {
    fn text(&self) -> String {
        let session = &self.follower.session;
        let colours = Colours::detect(io::stdout().is_terminal());
        let elapsed = Some(self.elapsed).filter(|elapsed| !elapsed.is_zero());
        let mut text = overview(session, elapsed, columns(io::stdout()), colours);
        for (title, octaves, unit) in [
            ("sizes of messages", session.sizes(), (|bytes| Size(bytes).to_string()) as fn(u64) -> String),
            ("latencies", &session.latencies(), |nanoseconds| Span(Duration::from_nanos(nanoseconds)).to_string()),
        ] {
            let histogram = histogram(title, octaves, unit, colours);
            if !histogram.is_empty() {
                text.push('\n');
                text.push_str(&histogram);
            }
        }
        text
    }

    fn read(&mut self, source: &Source) -> io::Result<()> {
        let input = source.open()?;
        let is_recording = matches!(input, Input::Recording(_));
        if is_recording {
            // What was asked in plain files before it is not answered in it.
            self.follower.close(None);
        }
        self.follower.session.mix(!is_recording);
        match input {
            Input::File { mut file, .. } => self.read_plain(&mut file),
            Input::Stream(mut stream) => self.read_plain(&mut stream),
            Input::Recording(input) => self.read_recording(input),
        }
    }

    fn read_plain(&mut self, input: &mut impl Read) -> io::Result<()> {
        let mut buffer = vec![0; READ];
        loop {
            let len = read_some(input, &mut buffer)?;
            if len == 0 {
                self.follower.end(Side::Client, None, |_, _| {});
                self.follower.restart();
                return Ok(());
            }
            self.follower.bytes(Side::Client, &buffer[..len], None, |_, _| {});
            self.progress.advance(len as u64);
        }
    }

    fn read_recording(&mut self, input: impl BufRead) -> io::Result<()> {
        let mut reader = Reader::new(input);
        // When the session began, in seconds since 1970, and how long it has lasted.
        let (mut start, mut at) = (None, Duration::ZERO);
        let read = loop {
            let before = reader.offset;
            let entry = match reader.next() {
                Ok(Some(entry)) => entry,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            self.progress.advance(reader.offset - before);
            if let What::Event(Event::Start) = entry.what {
                self.end_session(at);
                start = None;
            }
            let start = *start.get_or_insert(entry.time);
            at = Duration::try_from_secs_f64(entry.time - start).unwrap_or_default();
            if let What::Bytes { from, bytes, is_end } = entry.what {
                self.follower.bytes(from, &bytes, Some(at), |_, _| {});
                if is_end {
                    self.follower.end(from, Some(at), |_, _| {});
                }
            }
        };
        self.end_session(at);
        read
    }

    fn end_session(&mut self, at: Duration) {
        for from in Side::BOTH {
            self.follower.end(from, Some(at), |_, _| {});
        }
        self.follower.close(Some(at));
        self.elapsed = self.elapsed.saturating_add(at);
    }
}
