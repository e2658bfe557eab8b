//! Text for a terminal: its width, its styles, and how untrusted bytes are escaped.

mod escape;
mod excerpt;
mod printable;
mod styles;
mod wrap;

pub(crate) use escape::{columns, escape, escape_end, escape_start};
pub(crate) use excerpt::Excerpt;
pub(crate) use printable::{printable_columns, printable_json};
pub(crate) use styles::{Styles, has_color, set_color};
pub(crate) use wrap::{wrap, wrap_message};

/// The width to assume if there is no terminal, or its size is unknown.
pub(crate) const DEFAULT_COLUMNS: usize = 80;

/// The width of the terminal that `stream` is, or [`DEFAULT_COLUMNS`].
#[cfg(unix)]
pub(crate) fn terminal_columns(stream: impl std::os::fd::AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(stream);
    // A terminal that does not know its size reports 0.
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(DEFAULT_COLUMNS)
}

#[cfg(windows)]
pub(crate) fn terminal_columns(stream: impl std::os::windows::io::AsHandle) -> usize {
    let size = terminal_size::terminal_size_of(stream);
    size.map_or(DEFAULT_COLUMNS, |(columns, _)| columns.0.into())
}

#[cfg(not(any(unix, windows)))]
pub(crate) fn terminal_columns<T>(_: T) -> usize {
    DEFAULT_COLUMNS
}
