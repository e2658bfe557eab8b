//! A progress line on stderr, if that is a terminal.

use std::io::{IsTerminal, Write, stderr};

pub(crate) struct Progress {
    /// What is being measured, or `None` if stderr is not a terminal.
    what: Option<String>,
}

impl Progress {
    pub(crate) fn of(what: &str) -> Self {
        Self { what: stderr().is_terminal().then(|| what.to_owned()) }
    }

    #[cfg(test)]
    pub(crate) fn silent() -> Self {
        Self { what: None }
    }

    /// Shows the number of rounds and the `share` of the time that has passed.
    pub(crate) fn rounds(&self, rounds: u32, share: f64) {
        if let Some(what) = &self.what {
            let percent = (share * 100.0).min(100.0);
            let _ = write!(stderr(), "\r\x1b[K{what}: round {rounds}, {percent:.0}%");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.what.is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
