//! How wide text for people may be.

use std::io::IsTerminal;
#[cfg(unix)]
use std::os::fd::AsFd as AsStream;
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsStream;

/// The width to lay text out for if there is no terminal, or its size is unknown.
pub(super) const DEFAULT_COLUMNS: usize = 80;

/// The narrowest column of ids that are cut. Wide terminals leave more.
const MIN_ID_COLUMNS: usize = 16;

/// The width of a stream: what text is laid out for, and whether it is cut to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Width {
    columns: usize,
    is_limited: bool,
}

impl Width {
    /// The width that the variable `COLUMNS` names, or that of the terminal. Without either, nothing is cut: a program
    /// reads it, or a file keeps it.
    pub(crate) fn of(stream: &(impl AsStream + IsTerminal)) -> Self {
        let variable = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let size = || if stream.is_terminal() { Some(terminal_columns(stream)) } else { None };
        match variable.filter(|columns| *columns > 0).or_else(size) {
            Some(columns) => Self { columns, is_limited: true },
            None => Self { columns: DEFAULT_COLUMNS, is_limited: false },
        }
    }

    /// The width to lay text out for.
    pub(crate) fn columns(self) -> usize {
        self.columns
    }

    /// Whether text is cut.
    pub(crate) fn is_limited(self) -> bool {
        self.is_limited
    }

    /// What text is cut to that has room for this many columns. Without a limit it is not cut.
    pub(crate) fn cut_to(self, room: usize) -> usize {
        if self.is_limited { room } else { usize::MAX }
    }

    /// The longest line.
    pub(crate) fn limit(self) -> usize {
        self.cut_to(self.columns)
    }

    /// What ids are cut to.
    pub(crate) fn id_columns(self) -> usize {
        self.cut_to((self.columns / 5).max(MIN_ID_COLUMNS))
    }
}

/// The width of the terminal that `stream` is, or [`DEFAULT_COLUMNS`].
#[cfg(unix)]
fn terminal_columns(stream: impl AsStream) -> usize {
    let size = rustix::termios::tcgetwinsize(stream);
    // A terminal that does not know its size reports 0.
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(DEFAULT_COLUMNS)
}

#[cfg(windows)]
fn terminal_columns(stream: impl AsStream) -> usize {
    let size = terminal_size::terminal_size_of(stream);
    size.map_or(DEFAULT_COLUMNS, |(columns, _)| columns.0.into())
}
