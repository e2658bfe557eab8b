//! What differs between systems: pipes and streams, signals, the end of the server. Each system has the same functions.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// What a stream that does not block is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ready {
    Input,
    Output,
}
