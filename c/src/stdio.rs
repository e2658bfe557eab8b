//! A standard output reserved for the protocol.

use std::io::{ErrorKind, Write};

use wireline::stdio::{self, Stdout};

use crate::boundary::guarded;
use crate::memory::{exclusive, given, shared, store, taken, wl_span};
use crate::status::wl_status;

/// The process's real standard output, reserved for the protocol. One thread at a time may use it.
pub struct wl_stdout {
    stdout: Stdout,
}

/// Reserves standard output for the protocol until `wl_stdout_free`: descriptor 1 then leads to stderr, where a stray
/// `printf`, a library's print or a child process does no harm. There is one per process.
///
/// What C's `stdout` has buffered before goes to stderr too. Redirection works on Unix only; elsewhere this is the
/// ordinary standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_stdout_claim(stdout: *mut *mut wl_stdout) -> wl_status {
    guarded(wl_status::Panic, || {
        if stdout.is_null() {
            return wl_status::InvalidArgument;
        }
        // SAFETY: the caller promises that it points to memory for a pointer.
        unsafe { store(stdout, std::ptr::null_mut()) };
        match stdio::claim() {
            Ok(claimed) => {
                // SAFETY: as above.
                unsafe { store(stdout, given(wl_stdout { stdout: claimed })) };
                wl_status::Ok
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => wl_status::AlreadyClaimed,
            Err(_) => wl_status::Io,
        }
    })
}

/// Writes all of `bytes`, without a buffer, and waits until that is done. `WL_STATUS_IO` if the reader is gone, for
/// example; some of the bytes may have been written then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_stdout_write(stdout: *mut wl_stdout, bytes: wl_span) -> wl_status {
    guarded(wl_status::Panic, || {
        // SAFETY: the caller promises that it is NULL or a claimed output that nobody else uses, and that there are as
        // many bytes.
        let (Some(stdout), bytes) = (unsafe { (exclusive(stdout), bytes.bytes()) }) else {
            return wl_status::InvalidArgument;
        };
        match bytes.map_or(Ok(()), |bytes| stdout.stdout.write_all(bytes).and_then(|()| stdout.stdout.flush())) {
            Ok(()) => wl_status::Ok,
            Err(_) => wl_status::Io,
        }
    })
}

/// The descriptor of the real standard output, for `poll` or `writev`. It is closed by `wl_stdout_free`. -1 where there
/// are no descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_stdout_fd(stdout: *const wl_stdout) -> i32 {
    guarded(-1, || {
        // SAFETY: the caller promises that it is NULL or a claimed output.
        let stdout = unsafe { shared(stdout) };
        #[cfg(unix)]
        {
            use std::os::fd::{AsFd, AsRawFd};
            stdout.map_or(-1, |stdout| stdout.stdout.as_fd().as_raw_fd())
        }
        #[cfg(not(unix))]
        {
            let _ = stdout;
            -1
        }
    })
}

/// Gives standard output back to the rest of the process. NULL is ignored.
///
/// Call `fflush(stdout)` before, so that what was printed meanwhile goes to stderr as well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_stdout_free(stdout: *mut wl_stdout) {
    // SAFETY: the caller promises that it is NULL or a claimed output that is no longer used.
    guarded((), || drop(unsafe { taken(stdout) }));
}
