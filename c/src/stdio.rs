//! Reserves standard output for the protocol.
//!
//! No parameter is named `stdout`, which is a macro in C. On systems where it expands to an expression, the header
//! wouldn't compile.

use std::io::{ErrorKind, Write};

use wireline::stdio::{self, Stdout};

use crate::boundary::catch_panic;
use crate::memory::{exclusive, from_handle, into_handle, shared, store, wl_span};
use crate::status::wl_status;

/// The process's real standard output, reserved for the protocol. One thread at a time may use it.
pub struct wl_stdout {
    stdout: Stdout,
}

/// Reserves standard output for the protocol, for the rest of the process. Descriptor 1 is redirected to stderr, where
/// output of a stray `printf`, a library or a child process does no harm. Standard output can be claimed only once,
/// even after `wl_stdout_free`. Returns `WL_STATUS_IO` if standard output is closed, or no pipe or thread can be
/// created.
///
/// Output that C's `stdout` has already buffered goes to stderr too. Stray prints don't fail, and wait at most a
/// second; output that stderr doesn't accept by then is discarded. A thread copies it from a pipe, so it may appear a
/// little later. Claim on the main thread, or output right before the exit may be lost.
///
/// Output is only redirected on Unix; elsewhere this is the ordinary standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_stdout_claim(claimed: *mut *mut wl_stdout) -> wl_status {
    catch_panic(wl_status::Panic, || {
        if claimed.is_null() {
            return wl_status::InvalidArgument;
        }
        // SAFETY: the caller promises that it points to memory for a pointer.
        unsafe { store(claimed, std::ptr::null_mut()) };
        match stdio::claim() {
            Ok(stdout) => {
                // SAFETY: as above.
                unsafe { store(claimed, into_handle(wl_stdout { stdout })) };
                wl_status::Ok
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => wl_status::AlreadyClaimed,
            Err(_) => wl_status::Io,
        }
    })
}

/// Writes all of `bytes`, unbuffered, and blocks until they are written. Returns `WL_STATUS_IO` on failure, for example
/// because the reader is gone; some of the bytes may have been written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_stdout_write(claimed: *mut wl_stdout, bytes: wl_span) -> wl_status {
    catch_panic(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a claimed output that nothing else accesses.
        let Some(wl_stdout { stdout }) = (unsafe { exclusive(claimed) }) else { return wl_status::InvalidArgument };
        // SAFETY: the caller promises that each span is valid.
        let bytes = match unsafe { bytes.bytes() } {
            Some(bytes) => bytes,
            None if bytes.len == 0 => return wl_status::Ok,
            None => return wl_status::InvalidArgument,
        };
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => wl_status::Ok,
            Err(_) => wl_status::Io,
        }
    })
}

/// The descriptor of the real standard output, for `poll` or `writev`. `wl_stdout_free` closes it. Returns -1 on
/// systems without descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_stdout_fd(claimed: *const wl_stdout) -> i32 {
    catch_panic(-1, || {
        // SAFETY: the caller promises that it is NULL or a claimed output.
        let claimed = unsafe { shared(claimed) };
        #[cfg(unix)]
        {
            use std::os::fd::{AsFd, AsRawFd};
            claimed.map_or(-1, |claimed| claimed.stdout.as_fd().as_raw_fd())
        }
        #[cfg(not(unix))]
        {
            let _ = claimed;
            -1
        }
    })
}

/// Closes the real standard output, so the peer sees the end of the stream. NULL is ignored.
///
/// Descriptor 1 stays redirected, so later prints, and output still in C's buffers, go to stderr as well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_stdout_free(claimed: *mut wl_stdout) {
    // SAFETY: the caller promises that it is NULL or a claimed output that is no longer used.
    catch_panic((), || drop(unsafe { from_handle(claimed) }));
}
