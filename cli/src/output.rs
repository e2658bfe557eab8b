//! Standard output and standard error, and the progress bar that shares the terminal with them.

use std::fmt;
use std::io::{self, IsTerminal, StdoutLock, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::exit;
use crate::input::Source;
use crate::terminal::{Width, has_color, wrap_message};
use crate::units::{Bytes, Seconds};

/// How long the work takes before a progress bar appears.
const PROGRESS_DELAY: Duration = Duration::from_millis(300);

const BAR: &str = "{bar:20.cyan} {percent:>3}%  {read} of {size}  {rate}/s  {left}";
const SPINNER: &str = "{spinner:.cyan} {read}  {rate}/s  {time}";

/// Prints an error on standard error.
pub(crate) fn report_error(message: &str) {
    let stderr = io::stderr();
    // If standard error is closed, there is nowhere left to report to.
    let _ = writeln!(&stderr, "{}", wrap_message(&format!("wireline: {message}"), Width::of(&stderr).limit()));
}

/// Prints `text` on standard output and returns the exit code.
pub(crate) fn print(text: &[u8]) -> u8 {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Ok(()) => exit::SUCCESS,
        Err(error) => write_failed(&error, report_error),
    }
}

/// Reports that standard output cannot be written, and returns the exit code.
///
/// A closed pipe is not reported: its reader, such as `head`, has seen enough.
fn write_failed(error: &io::Error, report: impl FnOnce(&str)) -> u8 {
    if error.kind() != io::ErrorKind::BrokenPipe {
        report(&format!("cannot write to standard output: {error}"));
    }
    exit::FAILURE
}

/// Standard output and standard error of a command that shows its progress.
pub(crate) struct Output {
    stdout: StdoutLock<'static>,
    /// Whether standard output may be the terminal that shows the progress bar.
    is_terminal: bool,
    progress: Progress,
}

impl Output {
    /// Shows progress on standard error if that is a terminal and `quiet` is not set.
    pub(crate) fn new(sources: &[Source], quiet: bool) -> Self {
        // A spinner would overwrite lines that the user is typing.
        let is_typed = io::stdin().is_terminal() && sources.iter().any(|source| matches!(source, Source::Stdin));
        let is_wanted = !quiet && !is_typed && io::stderr().is_terminal();
        let total = sources.iter().map(Source::len).sum::<Option<u64>>().filter(|total| *total > 0);
        let stdout = io::stdout().lock();
        Self { is_terminal: stdout.is_terminal(), stdout, progress: Progress::new(total, is_wanted) }
    }

    /// A handle to the progress bar, for the code that reads the input.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Removes the progress bar for good.
    pub(crate) fn end_progress(&self) {
        self.progress.end();
    }

    /// Writes whole lines to standard output without delay, and clears `text`.
    pub(crate) fn send(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        let Self { stdout, is_terminal, progress } = self;
        progress.show_if_due();
        let mut write = || stdout.write_all(text).and_then(|()| stdout.flush());
        // Writing to a pipe may block, and does not disturb the bar: keep it visible meanwhile.
        let sent = if *is_terminal { progress.bar.suspend(write) } else { write() };
        text.clear();
        sent
    }

    /// Prints an error on standard error, above the progress bar.
    pub(crate) fn report_error(&self, message: &str) {
        self.progress.bar.suspend(|| report_error(message));
    }

    /// Like the function of this name, above the progress bar.
    pub(crate) fn write_failed(&self, error: &io::Error) -> u8 {
        write_failed(error, |message| self.report_error(message))
    }
}

/// A progress bar that several threads advance. It appears after [`PROGRESS_DELAY`].
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    /// Whether the bar is wanted but not shown yet.
    is_due: Arc<AtomicBool>,
}

impl Progress {
    /// Shows a bar if the total is known, otherwise a spinner.
    fn new(total: Option<u64>, is_wanted: bool) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        // The templates are constants, and a test parses them.
        let mut template = if total.is_some() { BAR } else { SPINNER }.to_owned();
        if !has_color(true) {
            template = template.replace(".cyan", "");
        }
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(with_keys(style).progress_chars("━╸─"));
        }
        Self { bar, started: Instant::now(), is_due: Arc::new(AtomicBool::new(is_wanted)) }
    }

    /// Records that `bytes` more have been read.
    pub(crate) fn advance(&self, bytes: u64) {
        self.show_if_due();
        self.bar.inc(bytes);
    }

    fn show_if_due(&self) {
        if self.is_due.load(Ordering::Relaxed)
            && self.started.elapsed() >= PROGRESS_DELAY
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

/// Defines the keys of the templates, which print the units of the rest of the tool.
fn with_keys(style: ProgressStyle) -> ProgressStyle {
    // Writing to the bar's string cannot fail.
    style
        .with_key("read", |state: &ProgressState, text: &mut dyn fmt::Write| {
            let _ = write!(text, "{}", Bytes(state.pos()));
        })
        .with_key("size", |state: &ProgressState, text: &mut dyn fmt::Write| {
            let _ = write!(text, "{}", Bytes(state.len().unwrap_or(0)));
        })
        .with_key("rate", |state: &ProgressState, text: &mut dyn fmt::Write| {
            let _ = write!(text, "{}", Bytes(state.per_sec() as u64));
        })
        .with_key("time", |state: &ProgressState, text: &mut dyn fmt::Write| {
            let _ = write!(text, "{}", Seconds(state.elapsed()));
        })
        .with_key("left", |state: &ProgressState, text: &mut dyn fmt::Write| {
            // There is no estimate before the first bytes.
            if state.pos() > 0 {
                let _ = write!(text, "{:#} left", HumanDuration(state.eta()));
            }
        })
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
