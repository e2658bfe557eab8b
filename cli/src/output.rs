//! Standard output, standard error, and the progress bar that must not get between them.

use std::fmt;
use std::io::{self, IsTerminal, StdoutLock, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::source::Source;

/// What is over sooner needs no progress bar.
const SHORT: Duration = Duration::from_millis(300);

const BAR: &str = "{bar:20.cyan} {percent:>3}%  {binary_bytes} of {binary_total_bytes}  {binary_bytes_per_sec}  {left}";
const SPINNER: &str = "{spinner:.cyan} {binary_bytes}  {binary_bytes_per_sec}  {elapsed}";

/// Where the report goes.
pub(crate) struct Output {
    stdout: StdoutLock<'static>,
    /// Whether standard output is where the progress bar may be as well.
    is_terminal: bool,
    progress: Progress,
}

impl Output {
    /// With progress on standard error, unless that is no terminal or nothing is to be printed.
    pub(crate) fn new(sources: &[Source], quiet: bool) -> Self {
        // Where lines are typed in, a spinner would be drawn over them.
        let typed = io::stdin().is_terminal() && sources.iter().any(|source| matches!(source, Source::Stdin));
        let is_wanted = !quiet && !typed && io::stderr().is_terminal();
        let total = sources.iter().map(Source::len).sum::<Option<u64>>().filter(|total| *total > 0);
        let stdout = io::stdout().lock();
        Self { is_terminal: stdout.is_terminal(), stdout, progress: Progress::new(total, is_wanted) }
    }

    /// For those who read.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Takes the progress bar away for good.
    pub(crate) fn end_progress(&self) {
        self.progress.end();
    }

    /// Writes whole lines to standard output at once, and leaves the text empty.
    pub(crate) fn send(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        let Self { stdout, is_terminal, progress } = self;
        progress.show_if_due();
        let mut write = || stdout.write_all(text).and_then(|()| stdout.flush());
        // A pipe does not show it, and may take its time.
        let sent = if *is_terminal { progress.bar.suspend(write) } else { write() };
        text.clear();
        sent
    }

    /// Says on standard error what went wrong.
    pub(crate) fn complain(&self, what: &str) {
        // If nobody hears it there is nothing left to be done.
        self.progress.bar.suspend(|| writeln!(io::stderr(), "wireline: {what}").ok());
    }
}

/// The progress bar, which threads move together. It is shown when it has taken long enough.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    /// Whether it is still to be shown.
    is_due: Arc<AtomicBool>,
}

impl Progress {
    /// Up to a total, if that is known.
    fn new(total: Option<u64>, is_wanted: bool) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        // The templates are constants, which the tests go through.
        if let Ok(style) = ProgressStyle::with_template(if total.is_some() { BAR } else { SPINNER }) {
            bar.set_style(style.progress_chars("━╸─").with_key("left", write_left));
        }
        Self { bar, started: Instant::now(), is_due: Arc::new(AtomicBool::new(is_wanted)) }
    }

    /// Says that so much more has been read.
    pub(crate) fn advance(&self, bytes: u64) {
        self.show_if_due();
        self.bar.inc(bytes);
    }

    fn show_if_due(&self) {
        if self.is_due.load(Ordering::Relaxed)
            && self.started.elapsed() >= SHORT
            && self.is_due.swap(false, Ordering::Relaxed)
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.tick();
        }
    }

    fn end(&self) {
        self.is_due.store(false, Ordering::Relaxed);
        self.bar.finish_and_clear();
    }
}

/// How long it will take, once there is something to tell it by.
fn write_left(state: &ProgressState, text: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        // Whether it is shown is not its business.
        let _ = write!(text, "{:#} left", HumanDuration(state.eta()));
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
