//! The end of the human-readable report: the verdict first, then totals.

use std::io::{self, Write};
use std::time::Instant;

use super::counts::Counts;
use crate::input::Source;
use crate::message_kind::MessageKind;
use crate::terminal::{DEFAULT_COLUMNS, Styles};
use crate::units::{Bytes, Count, Seconds, counted};

/// How many files are listed by name.
const MAX_LISTED: usize = 20;

/// What was found in each source, and in all.
pub(crate) struct Summary<'a> {
    started: Instant,
    sources: Vec<CheckedSource<'a>>,
    total: Counts,
}

struct CheckedSource<'a> {
    source: &'a Source,
    lines: u64,
    faulty_lines: u64,
    /// Whether it was read to its end.
    is_complete: bool,
}

impl<'a> Summary<'a> {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), sources: Vec::new(), total: Counts::default() }
    }

    pub(crate) fn add(&mut self, source: &'a Source, counts: &Counts, is_complete: bool) {
        self.total.add(counts);
        let Counts { lines, faulty_lines, .. } = *counts;
        self.sources.push(CheckedSource { source, lines, faulty_lines, is_complete });
    }

    pub(crate) fn total(&self) -> &Counts {
        &self.total
    }

    /// How many sources could not be read to their end.
    pub(crate) fn incomplete(&self) -> usize {
        self.sources.iter().filter(|checked| !checked.is_complete).count()
    }

    /// Writes the summary. On a terminal, file names are cut to fit.
    pub(crate) fn write(&self, styles: &Styles, is_terminal: bool, text: &mut Vec<u8>) -> io::Result<()> {
        if self.total.faults() > 0 {
            writeln!(text)?;
        }
        self.write_verdict(styles, text)?;
        if self.sources.len() > 1 {
            writeln!(text)?;
            self.write_sources(styles, is_terminal, text)?;
        }
        writeln!(text)?;
        self.write_totals(styles, text)
    }

    fn write_verdict(&self, styles: &Styles, text: &mut Vec<u8>) -> io::Result<()> {
        let Counts { lines, faulty_lines, .. } = self.total;
        let verdict = match (faulty_lines, lines) {
            (_, 0) => "no messages found".to_owned(),
            (0, _) if self.total.messages(MessageKind::Batch) > 0 => {
                format!("{}, no faults", counted(lines, "line", "lines"))
            }
            (0, _) => format!("{}, no faults", counted(lines, "message", "messages")),
            _ => {
                let verb = if faulty_lines == 1 { "is" } else { "are" };
                format!("{} of {} {verb} faulty", Count(faulty_lines), counted(lines, "line", "lines"))
            }
        };
        let style = if faulty_lines == 0 { styles.good } else { styles.bad };
        write!(text, "{style}{verdict}{style:#}")?;
        let incomplete = self.incomplete() as u64;
        if incomplete > 0 {
            let bad = styles.bad;
            write!(text, "{bad}; {} could not be read to the end{bad:#}", counted(incomplete, "file", "files"))?;
        }
        writeln!(text)
    }

    /// Lists the sources; if there are many, only those with problems.
    fn write_sources(&self, styles: &Styles, is_terminal: bool, text: &mut Vec<u8>) -> io::Result<()> {
        let has_problem = |checked: &&CheckedSource<'_>| checked.faulty_lines > 0 || !checked.is_complete;
        let lists_all = self.sources.len() <= MAX_LISTED;
        let listed: Vec<_> = self.sources.iter().filter(|checked| lists_all || has_problem(checked)).collect();
        let count_width = |count: &dyn Fn(&CheckedSource<'_>) -> u64| {
            listed.iter().map(|checked| Count(count(checked)).to_string().len()).max().unwrap_or(0)
        };
        let faulty_width = count_width(&|checked| checked.faulty_lines);
        let lines_width = count_width(&|checked| checked.lines).max(6);
        let verdict_width = faulty_width + " faulty".len();

        for CheckedSource { source, lines, faulty_lines, is_complete } in listed.iter().take(MAX_LISTED) {
            let (style, verdict) = match (is_complete, faulty_lines) {
                (false, _) => (styles.bad, "unread".to_owned()),
                (true, 0) => (styles.good, "ok".to_owned()),
                (true, _) => (styles.bad, format!("{:>faulty_width$} faulty", Count(*faulty_lines))),
            };
            let noun = if *lines == 1 { "line " } else { "lines" };
            let name = match is_terminal {
                true => {
                    let taken = lines_width + 1 + noun.len() + 2 + verdict_width + 2;
                    source.escaped_name_within(DEFAULT_COLUMNS.saturating_sub(taken))
                }
                false => source.escaped_name(),
            };
            let lines = Count(*lines);
            writeln!(text, "{lines:>lines_width$} {noun}  {style}{verdict:<verdict_width$}{style:#}  {name}")?;
        }
        let dim = styles.dim;
        let unlisted_problems = listed.len().saturating_sub(MAX_LISTED) as u64;
        if unlisted_problems > 0 {
            let files = counted(unlisted_problems, "more file", "more files");
            writeln!(text, "{dim}{:lines_width$} and {files} with problems{dim:#}", "")?;
        }
        let unlisted = (self.sources.len() - listed.len()) as u64;
        if unlisted > 0 {
            let noun = if unlisted == 1 { "other file" } else { "other files" };
            writeln!(text, "{dim}{:>lines_width$} {noun} without faults{dim:#}", Count(unlisted))?;
        }
        Ok(())
    }

    /// Writes how many messages and faults of each kind there are, the size of the input, and the time it took.
    fn write_totals(&self, styles: &Styles, text: &mut Vec<u8>) -> io::Result<()> {
        let total = &self.total;
        let (faults, elapsed) = (total.faults(), self.started.elapsed());
        let width = Count(total.lines.max(faults)).to_string().len().max(6);
        for kind in MessageKind::ALL {
            let (singular, plural) = kind.nouns();
            match total.messages(kind) {
                0 => {}
                1 => writeln!(text, "{:>width$} {singular}", 1)?,
                count => writeln!(text, "{:>width$} {plural}", Count(count))?,
            }
        }
        if faults > 0 {
            let bad = styles.bad;
            let noun = if faults == 1 { "fault" } else { "faults" };
            writeln!(text, "{bad}{:>width$} {noun}{bad:#}", Count(faults))?;
        }
        for (kind, count) in total.faults_by_kind() {
            writeln!(text, "{:width$} {:>width$} {}", "", Count(count), kind.name())?;
        }
        let (size, rate) = (Bytes(total.bytes), Bytes(total.bytes).per_second(elapsed));
        let noun = if total.lines == 1 { "line" } else { "lines" };
        writeln!(text, "{:>width$} {noun}, {size} in {}, {rate}/s", Count(total.lines), Seconds(elapsed))
    }
}
