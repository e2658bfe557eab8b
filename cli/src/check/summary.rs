//! The end of the human-readable report: the verdict first, then totals.

use std::io::{self, Write};
use std::time::Instant;

use super::NO_MESSAGES;
use super::counts::Counts;
use crate::input::Source;
use crate::judge::Severity;
use crate::line_ends::RETURN_HINT;
use crate::message_kind::MessageKind;
use crate::session::Side;
use crate::terminal::{Styles, wrap};
use crate::units::{Bytes, Count, Seconds, counted};

/// How many files are listed by name.
const MAX_LISTED: usize = 20;

/// The verdict on a file whose only problem is that its last line has no line end.
const OPEN_END: &str = "no line end";

/// The verdict on a file without messages.
const EMPTY: &str = "no messages";

/// The least width of a file name.
const MIN_NAME_COLUMNS: usize = 12;

/// What was found in each source, and in all.
pub(crate) struct Summary<'a> {
    started: Instant,
    sources: Vec<CheckedSource<'a>>,
    total: Counts,
}

struct CheckedSource<'a> {
    source: &'a Source,
    lines: u64,
    has_frames: bool,
    faulty_lines: u64,
    is_unterminated: bool,
    /// Whether it should have messages, and has none.
    is_empty: bool,
    /// Whether it was read to its end.
    is_complete: bool,
}

impl<'a> Summary<'a> {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), sources: Vec::new(), total: Counts::default() }
    }

    pub(crate) fn add(&mut self, source: &'a Source, counts: &Counts, is_complete: bool) {
        self.total.add(counts);
        let Counts { lines, faulty_lines, unterminated, .. } = *counts;
        let (has_frames, is_unterminated, is_empty) = (counts.frames > 0, unterminated > 0, counts.empty > 0);
        let checked = CheckedSource { source, lines, has_frames, faulty_lines, is_unterminated, is_empty, is_complete };
        self.sources.push(checked);
    }

    pub(crate) fn total(&self) -> &Counts {
        &self.total
    }

    /// How many sources could not be read to their end.
    pub(crate) fn incomplete(&self) -> usize {
        self.sources.iter().filter(|checked| !checked.is_complete).count()
    }

    /// Writes the summary, with file names cut to fit into `columns`.
    pub(crate) fn write(&self, styles: &Styles, columns: usize, text: &mut Vec<u8>) -> io::Result<()> {
        if self.total.failures(Severity::Warning) > self.total.empty {
            writeln!(text)?;
        }
        self.write_verdict(styles, columns, text)?;
        if self.sources.len() > 1 {
            writeln!(text)?;
            self.write_sources(styles, columns, text)?;
        }
        writeln!(text)?;
        self.write_totals(styles, columns, text)?;
        self.write_returns(styles, columns, text)
    }

    fn write_verdict(&self, styles: &Styles, columns: usize, text: &mut Vec<u8>) -> io::Result<()> {
        let Counts { lines, faulty_lines, unterminated, empty, .. } = self.total;
        let (line_noun, lines_noun) = if self.total.frames > 0 { ("frame", "frames") } else { ("line", "lines") };
        let mut verdict = match (faulty_lines, lines) {
            (_, 0) => NO_MESSAGES.to_owned(),
            (0, _) if self.total.messages(MessageKind::Batch) > 0 => {
                format!("{}, no faults", counted(lines, line_noun, lines_noun))
            }
            (0, _) => format!("{}, no faults", counted(lines, "message", "messages")),
            _ => {
                let faulty =
                    counted(faulty_lines, &format!("{line_noun} is faulty"), &format!("{lines_noun} are faulty"));
                match lines - faulty_lines {
                    0 => faulty,
                    1 => format!("{faulty}, 1 is fine"),
                    fine => format!("{faulty}, {} are fine", Count(fine)),
                }
            }
        };
        if unterminated > 0 {
            verdict.push_str("; ");
            verdict.push_str(&match self.sources.len() {
                1 => "the last one has no line end".to_owned(),
                _ => counted(unterminated, "file has no line end at its end", "files have no line end at their end"),
            });
        }
        if lines > 0 && empty > 0 {
            verdict.push_str(&format!("; {}", counted(empty, "file has no messages", "files have no messages")));
        }
        for (severity, singular, plural) in
            [(Severity::Error, "error", "errors"), (Severity::Warning, "warning", "warnings")]
        {
            let broken = self.total.broken_by(severity);
            if broken > 0 {
                verdict.push_str(&format!(", {}", counted(broken, singular, plural)));
            }
        }
        let incomplete = self.incomplete() as u64;
        if incomplete > 0 {
            verdict.push_str(&format!("; {} could not be read to the end", counted(incomplete, "file", "files")));
        }
        let style =
            if self.total.failures(Severity::Warning) == 0 && incomplete == 0 { styles.good } else { styles.bad };
        wrap(&verdict, columns.saturating_sub(1)).try_for_each(|line| writeln!(text, "{style}{line}{style:#}"))
    }

    /// Lists the sources; if there are many, only those with problems.
    fn write_sources(&self, styles: &Styles, columns: usize, text: &mut Vec<u8>) -> io::Result<()> {
        let has_problem = |checked: &&CheckedSource<'_>| {
            checked.faulty_lines > 0 || checked.is_unterminated || checked.is_empty || !checked.is_complete
        };
        let lists_all = self.sources.len() <= MAX_LISTED;
        let listed: Vec<_> = self.sources.iter().filter(|checked| lists_all || has_problem(checked)).collect();
        let count_width = |count: &dyn Fn(&CheckedSource<'_>) -> u64| {
            listed.iter().map(|checked| Count(count(checked)).to_string().len()).max().unwrap_or(0)
        };
        let faulty_width = count_width(&|checked| checked.faulty_lines);
        let lines_width = count_width(&|checked| checked.lines).max(6);
        let noun_width = if listed.iter().any(|checked| checked.has_frames) { "frames" } else { "lines" }.len();
        let has_open_end = listed.iter().any(|checked| checked.is_unterminated && checked.faulty_lines == 0);
        let has_empty = listed.iter().any(|checked| checked.is_empty);
        let verdict_width = (faulty_width + " faulty".len())
            .max(if has_open_end { OPEN_END.len() } else { 0 })
            .max(if has_empty { EMPTY.len() } else { 0 });

        for CheckedSource { source, lines, has_frames, faulty_lines, is_unterminated, is_empty, is_complete } in
            listed.iter().take(MAX_LISTED)
        {
            let (style, verdict) = match (is_complete, faulty_lines) {
                (false, _) => (styles.bad, "unread".to_owned()),
                (true, 0) if *is_unterminated => (styles.bad, OPEN_END.to_owned()),
                (true, 0) if *is_empty => (styles.bad, EMPTY.to_owned()),
                (true, 0) => (styles.good, "ok".to_owned()),
                (true, _) => (styles.bad, format!("{:>faulty_width$} faulty", Count(*faulty_lines))),
            };
            let noun = match (has_frames, lines) {
                (false, 1) => "line",
                (false, _) => "lines",
                (true, 1) => "frame",
                (true, _) => "frames",
            };
            let noun = format!("{noun:noun_width$}");
            let name = match columns {
                usize::MAX => source.escaped_name(),
                _ => {
                    let taken = lines_width + 1 + noun.len() + 2 + verdict_width + 2;
                    source.escaped_name_within(columns.saturating_sub(taken).max(MIN_NAME_COLUMNS))
                }
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
            let noun = match (listed.is_empty(), unlisted) {
                (true, 1) => "file",
                (true, _) => "files",
                (false, 1) => "other file",
                (false, _) => "other files",
            };
            writeln!(text, "{dim}{:>lines_width$} {noun} without faults{dim:#}", Count(unlisted))?;
        }
        Ok(())
    }

    /// Writes how many messages and faults of each kind there are, the size of the input, and the time it took.
    fn write_totals(&self, styles: &Styles, columns: usize, text: &mut Vec<u8>) -> io::Result<()> {
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
        let broken = total.broken();
        if !broken.is_empty() {
            let bad = styles.bad;
            let count = broken.iter().map(|(_, count)| count).sum();
            writeln!(text, "{bad}{:>width$} {}{bad:#}", Count(count), if count == 1 { "finding" } else { "findings" })?;
        }
        for (rule, count) in broken {
            writeln!(text, "{:width$} {:>width$} {}", "", Count(count), rule.name())?;
        }
        let (size, rate) = (Bytes(total.bytes), Bytes(total.bytes).per_second(elapsed));
        // Blank lines have numbers, but do not count.
        let noun = match (total.frames > 0, total.lines) {
            (false, 1) => "non-blank line",
            (false, _) => "non-blank lines",
            (true, 1) => "frame",
            (true, _) => "frames",
        };
        let what = format!("{noun}, {size} in {}, {rate}/s", Seconds(elapsed));
        for (number, line) in wrap(&what, columns.saturating_sub(width + 2)).enumerate() {
            let count = if number == 0 { Count(total.lines).to_string() } else { String::new() };
            writeln!(text, "{count:>width$} {line}")?;
        }
        Ok(())
    }

    /// Warns of lines that end in a carriage return.
    fn write_returns(&self, styles: &Styles, columns: usize, text: &mut Vec<u8>) -> io::Result<()> {
        let accent = styles.accent;
        if self.total.all_with_return() > 0 {
            writeln!(text)?;
        }
        for sender in [None, Some(Side::Client), Some(Side::Server)] {
            let count = self.total.with_return(sender);
            if count > 0 {
                let verb = if count == 1 { "ends" } else { "end" };
                let from = sender.map_or_else(String::new, |side| format!(" from the {}", side.name()));
                let lines = counted(count, "line", "lines");
                writeln!(text, "{accent}{lines}{from} {verb} in CRLF{accent:#}")?;
                for line in wrap(RETURN_HINT, columns.saturating_sub(3)) {
                    writeln!(text, "  {line}")?;
                }
            }
        }
        Ok(())
    }
}
