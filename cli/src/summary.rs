//! What there is to say at the end, for a person to read at a glance.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, HumanCount};

use crate::colours::Colours;
use crate::source::Source;
use crate::tally::{Kind, Tally};

/// How many files are named: beyond that it is no glance any more.
const NAMED: usize = 20;

/// How wide a terminal is, at the least.
const COLUMNS: usize = 80;

/// What became of each source, and of all.
pub(crate) struct Summary<'a> {
    started: Instant,
    sources: Vec<Judged<'a>>,
    total: Tally,
}

struct Judged<'a> {
    source: &'a Source,
    lines: u64,
    faulty: u64,
    /// Whether it could be read to its end.
    is_read: bool,
}

impl<'a> Summary<'a> {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), sources: Vec::new(), total: Tally::default() }
    }

    pub(crate) fn add(&mut self, source: &'a Source, tally: &Tally, is_read: bool) {
        self.total.add(tally);
        self.sources.push(Judged { source, lines: tally.lines, faulty: tally.faulty, is_read });
    }

    pub(crate) fn total(&self) -> &Tally {
        &self.total
    }

    /// How many sources could not be read to their ends.
    pub(crate) fn unread(&self) -> usize {
        self.sources.iter().filter(|judged| !judged.is_read).count()
    }

    /// The verdict, then what it is made of. On a terminal, the names of files are cut to its width.
    pub(crate) fn write(&self, colours: &Colours, is_terminal: bool, text: &mut Vec<u8>) -> io::Result<()> {
        if self.total.faults() > 0 {
            writeln!(text)?;
        }
        self.write_verdict(colours, text)?;
        if self.sources.len() > 1 {
            writeln!(text)?;
            self.write_sources(colours, is_terminal, text)?;
        }
        writeln!(text)?;
        self.write_counts(colours, text)
    }

    fn write_verdict(&self, colours: &Colours, text: &mut Vec<u8>) -> io::Result<()> {
        let Tally { lines, faulty, .. } = self.total;
        let what = if self.total.of_kind(Kind::Batch) > 0 || faulty > 0 { "line" } else { "message" };
        let verdict = match (faulty, lines) {
            (_, 0) => "there is no line that is not blank".to_owned(),
            (0, 1) => format!("the only {what} is fine"),
            (0, _) => format!("all {} {what}s are fine", HumanCount(lines)),
            (1, 1) => "the only line is faulty".to_owned(),
            (1, _) => format!("1 of {} lines is faulty", HumanCount(lines)),
            _ => format!("{} of {} lines are faulty", HumanCount(faulty), HumanCount(lines)),
        };
        let style = if faulty == 0 { colours.good } else { colours.bad };
        write!(text, "{style}{verdict}{style:#}")?;
        let bad = colours.bad;
        match self.unread() {
            0 => {}
            1 => write!(text, "{bad}, but 1 file could not be read to its end{bad:#}")?,
            unread => write!(text, "{bad}, but {unread} files could not be read to their ends{bad:#}")?,
        }
        writeln!(text)
    }

    /// A line for each source; if they are many, only for those with something wrong.
    fn write_sources(&self, colours: &Colours, is_terminal: bool, text: &mut Vec<u8>) -> io::Result<()> {
        let is_bad = |judged: &&Judged<'_>| judged.faulty > 0 || !judged.is_read;
        let all_named = self.sources.len() <= NAMED;
        let named: Vec<_> = self.sources.iter().filter(|judged| all_named || is_bad(judged)).collect();
        let count = |number: u64| HumanCount(number).to_string();
        let width = |numbers: &dyn Fn(&Judged<'_>) -> u64| {
            let widths = named.iter().map(|judged| count(numbers(judged)).len());
            widths.max().unwrap_or(0)
        };
        let faulty_width = width(&|judged| judged.faulty);
        let lines_width = width(&|judged| judged.lines).max(6);

        for Judged { source, lines, faulty, is_read } in named.iter().take(NAMED) {
            let (style, verdict) = match (is_read, faulty) {
                (false, _) => (colours.bad, "unread".to_owned()),
                (true, 0) => (colours.good, "fine".to_owned()),
                (true, _) => (colours.bad, format!("{:>faulty_width$} faulty", count(*faulty))),
            };
            let verdict_width = faulty_width + " faulty".len();
            let (lines, what) = (count(*lines), if *lines == 1 { "line " } else { "lines" });
            let before = format!("{lines:>lines_width$} {what}  {style}{verdict:<verdict_width$}{style:#}  ");
            let taken = lines_width.max(lines.len()) + 1 + what.len() + 2 + verdict_width + 2;
            let name = match is_terminal {
                true => source.shown_within(COLUMNS - taken),
                false => source.shown(),
            };
            writeln!(text, "{before}{name}")?;
        }
        let quiet = colours.quiet;
        let more = named.len().saturating_sub(NAMED);
        if more > 0 {
            writeln!(text, "{quiet}{:lines_width$} and {} more like these{quiet:#}", "", count(more as u64))?;
        }
        let fine = self.sources.len() - named.len();
        if fine > 0 {
            let files = if fine == 1 { "file is" } else { "files are" };
            writeln!(text, "{quiet}{:>lines_width$} other {files} fine{quiet:#}", count(fine as u64))?;
        }
        Ok(())
    }

    /// How many of which kind there are, how much that was, and how long it took.
    fn write_counts(&self, colours: &Colours, text: &mut Vec<u8>) -> io::Result<()> {
        let total = &self.total;
        let (faults, elapsed) = (total.faults(), self.started.elapsed());
        let count = |number: u64| HumanCount(number).to_string();
        let width = count(total.lines.max(faults)).len().max(6);
        for (kind, one, more) in [
            (Kind::Request, "request", "requests"),
            (Kind::Notification, "notification", "notifications"),
            (Kind::Response, "response", "responses"),
            (Kind::Error, "error response", "error responses"),
            (Kind::Batch, "batch", "batches"),
        ] {
            match total.of_kind(kind) {
                0 => {}
                1 => writeln!(text, "{:>width$} {one}", 1)?,
                number => writeln!(text, "{:>width$} {more}", count(number))?,
            }
        }
        if faults > 0 {
            let bad = colours.bad;
            let what = if faults == 1 { "fault" } else { "faults" };
            writeln!(text, "{bad}{:>width$} {what}{bad:#}", count(faults))?;
        }
        for (kind, number) in total.faults_by_kind() {
            writeln!(text, "{:width$} {:>width$} {}", "", count(number), kind.name())?;
        }
        let (size, rate) = (BinaryBytes(total.bytes), BinaryBytes(per_second(total.bytes, elapsed)));
        let lines = if total.lines == 1 { "line" } else { "lines" };
        writeln!(text, "{:>width$} {lines}, {size} in {elapsed:.1?}, {rate}/s", count(total.lines))
    }
}

fn per_second(bytes: u64, elapsed: Duration) -> u64 {
    (bytes as f64 / elapsed.as_secs_f64().max(1e-9)) as u64
}
