//! Standard output, standard error, and the progress bar that must not get between them.

use std::io::{self, IsTerminal, StdoutLock, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::source::Source;
use crate::terminal::columns;

/// How much is gathered before it is written.
const FULL: usize = 64 << 10;

/// What is over sooner needs no progress bar.
const SHORT: Duration = Duration::from_millis(300);

const BAR: &str =
    "{bar:20.cyan} {percent:>3}%  {binary_bytes} of {binary_total_bytes}  {binary_bytes_per_sec}  {eta} left";
const SPINNER: &str = "{spinner:.cyan} {binary_bytes}  {binary_bytes_per_sec}  {elapsed}";

/// Gathers what is written to it. It goes to standard output by [`send`](Self::send), or by
/// [`end_line`](Self::end_line) when there is enough of it: whole lines in any case.
pub(crate) struct Output {
    gathered: Vec<u8>,
    stdout: StdoutLock<'static>,
    bar: ProgressBar,
    /// When the bar is to be shown, unless it is already, or never will.
    shown_from: Option<Instant>,
}

impl Output {
    /// With progress on standard error, unless that is no terminal or nothing is to be printed.
    pub(crate) fn new(sources: &[Source], quiet: bool) -> Self {
        let total = sources.iter().map(Source::len).sum::<Option<u64>>().filter(|total| *total > 0);
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        // The templates are constants, which the tests go through.
        if let Ok(style) = ProgressStyle::with_template(if total.is_some() { BAR } else { SPINNER }) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        // Where lines are typed in, a spinner would be drawn over them.
        let typed = io::stdin().is_terminal() && sources.iter().any(|source| matches!(source, Source::Stdin));
        let has_bar = !quiet && !typed && io::stderr().is_terminal();
        Self {
            gathered: Vec::with_capacity(2 * FULL),
            stdout: io::stdout().lock(),
            bar,
            shown_from: has_bar.then(|| Instant::now() + SHORT),
        }
    }

    /// How wide a line may be.
    pub(crate) fn columns(&self) -> usize {
        columns(&self.stdout)
    }

    /// Moves the progress bar.
    pub(crate) fn advance(&mut self, bytes: u64) {
        self.bar.inc(bytes);
        if self.shown_from.is_some_and(|from| Instant::now() >= from) {
            self.shown_from = None;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Takes the progress bar away for good.
    pub(crate) fn end_progress(&mut self) {
        self.shown_from = None;
        self.bar.finish_and_clear();
    }

    /// Says that a line is complete.
    pub(crate) fn end_line(&mut self) -> io::Result<()> {
        self.gathered.push(b'\n');
        if self.gathered.len() >= FULL { self.send() } else { Ok(()) }
    }

    /// Writes what has been gathered to standard output.
    pub(crate) fn send(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let Self { gathered, stdout, bar, .. } = self;
        let sent = bar.suspend(|| stdout.write_all(gathered).and_then(|()| stdout.flush()));
        gathered.clear();
        gathered.shrink_to(2 * FULL);
        sent
    }

    /// Says on standard error what went wrong.
    pub(crate) fn complain(&self, what: &str) {
        // If nobody hears it there is nothing left to be done.
        self.bar.suspend(|| writeln!(io::stderr(), "wireline: {what}").ok());
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gathered.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_valid() {
        assert!(ProgressStyle::with_template(BAR).is_ok());
        assert!(ProgressStyle::with_template(SPINNER).is_ok());
    }
}
