//! How wide a terminal is.

/// The columns of a line where there is no terminal to say it.
const COLUMNS: usize = 80;

/// How many columns a line on `stream` may have: those of the terminal, if it is one.
#[cfg(unix)]
pub(crate) fn columns(stream: impl std::os::fd::AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(stream);
    // A terminal that does not know its size says 0.
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}

#[cfg(not(unix))]
pub(crate) fn columns<T>(_: T) -> usize {
    COLUMNS
}
