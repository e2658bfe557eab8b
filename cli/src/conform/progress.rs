//! The progress bar of a run.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::has_color;

const BAR: &str = "{bar:20.cyan} {pos} of {len}  {msg}";

/// How often the bar is drawn while a check takes long.
const TICK: Duration = Duration::from_millis(200);

/// A bar on standard error, if that is a terminal.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new(checks: usize) -> Self {
        let is_shown = io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(checks as u64), target);
        let template = if has_color(true) { BAR.to_owned() } else { BAR.replace(".cyan", "") };
        // The template is a constant, and a test parses it.
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        if is_shown {
            bar.enable_steady_tick(TICK);
        }
        Self(bar)
    }

    /// Names what is done next. What was done before counts as one check, except for the handshake.
    pub(super) fn start(&self, name: &'static str) {
        if !self.0.message().is_empty() && self.0.message() != "handshake" {
            self.0.inc(1);
        }
        self.0.set_message(name);
    }

    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_is_valid() {
        assert!(ProgressStyle::with_template(BAR).is_ok());
    }
}
