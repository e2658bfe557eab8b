//! Runs servers as child processes.
//!
//! [`Child`] starts a program with pipes for its stdin and stdout, in its own process group, and makes sure that it
//! exits, together with the processes that it has started. It works with threads and with any asynchronous runtime,
//! because a small thread for each child waits for its exit.
//!
//! ```
//! # #[cfg(unix)]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::process::Command;
//! use std::time::Duration;
//! use wireline::process::Child;
//! use wireline::{Rules, io::Connection};
//!
//! # let echo = r#"read -r line; printf '{"jsonrpc":"2.0","id":1,"result":"pong"}\n'; cat >/dev/null; exit 3"#;
//! # let command = &mut Command::new("sh");
//! # command.arg("-c").arg(echo);
//! # /*
//! let command = &mut Command::new("my-server");
//! # */
//! let mut server = Child::spawn(command)?;
//! let (Some(stdout), Some(stdin)) = (server.take_stdout(), server.take_stdin()) else { unreachable!() };
//! let (peer, connection) = Connection::new(stdout, stdin, Rules::json_rpc());
//! std::thread::spawn(move || connection.run());
//! let answer: String = peer.call("ping", &()).wait()?;
//! assert_eq!(answer, "pong");
//! peer.end(); // closes its stdin
//! let status = server.end(Duration::from_secs(3));
//! # assert_eq!(status.and_then(|status| status.code()), Some(3));
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! On tokio, convert the pipes to tokio's types, for example with `tokio::process::ChildStdout::from_std`. Wait for
//! [`exited`](Child::exited), and end the server with [`end_with`](Child::end_with).
//!
//! # Process groups
//!
//! On Unix, the child leads its own process group, so signals also reach processes that a wrapper such as `sh -c` or
//! `npx` has started. When the child has exited, the rest of its group gets SIGTERM. Processes that have moved to
//! another group or session, as daemons do, aren't signalled. A Ctrl-C in a terminal goes to your program only; the
//! child notices the end of its stdin.
//!
//! On Windows there are no groups and no SIGTERM, and only the child itself is killed.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, BufRead, BufReader};
use std::pin::{Pin, pin};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

/// The stack size of the thread that waits for an exit, which needs very little.
const STACK_SIZE: usize = 64 << 10;

/// The longest piece of a stderr line that is passed on at once.
const MAX_PIECE_LEN: usize = 8 << 10;

/// A running program and its process group.
///
/// Dropping it kills the group, unless the program has exited. To let the program exit by itself, close its stdin and
/// call [`end`](Self::end).
pub struct Child {
    process: Arc<Process>,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

struct Process {
    state: Mutex<ChildState>,
    has_exited: Condvar,
}

struct ChildState {
    /// Reaped only under the lock, so while `outcome` is `None`, the process id can't belong to another process.
    child: std::process::Child,
    /// `None` while the program runs, then its exit status, if that is known.
    outcome: Option<Option<ExitStatus>>,
    wakers: BTreeMap<u64, Waker>,
    next_key: u64,
}

impl Child {
    /// Starts a program. Its stdin and stdout become pipes, and it gets its own process group, regardless of the
    /// settings in `command`. Its stderr is as set in `command`, and inherited by default.
    ///
    /// # Errors
    ///
    /// The program, or the thread that waits for its exit, can't be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let state = ChildState { child, outcome: None, wakers: BTreeMap::new(), next_key: 0 };
        let process = Arc::new(Process { state: Mutex::new(state), has_exited: Condvar::new() });
        // If the thread can't be started, dropping this kills the program.
        let this = Self { process: Arc::clone(&process), stdin, stdout, stderr };
        thread::Builder::new().name("child".to_owned()).stack_size(STACK_SIZE).spawn(move || process.reap())?;
        Ok(this)
    }

    /// The pipe to the program's stdin; `None` once taken. When the pipe is dropped, the program sees the end of its
    /// input.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// The pipe from the program's stdout; `None` once taken.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// The pipe from the program's stderr, if `command` set it to [`Stdio::piped`]; `None` once taken.
    ///
    /// Read from it, or the program will block when the pipe is full. [`drain_stderr`](Self::drain_stderr) does that
    /// for you.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// Starts a thread that passes each line of stderr to `report`, without its line ending. A line of more than 8 KiB
    /// comes in pieces. Does nothing unless `command` set stderr to [`Stdio::piped`].
    ///
    /// # Errors
    ///
    /// The thread can't be started.
    pub fn drain_stderr(&mut self, mut report: impl FnMut(&[u8]) + Send + 'static) -> io::Result<()> {
        let Some(stderr) = self.stderr.take() else { return Ok(()) };
        thread::Builder::new().name("stderr".to_owned()).spawn(move || {
            // An error can't be handled: the program may still print, but its output can't be read.
            let _ = read_lines(BufReader::with_capacity(MAX_PIECE_LEN, stderr), &mut report);
        })?;
        Ok(())
    }

    /// The process id, or `None` once the program has exited.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        let state = self.process.lock();
        state.outcome.is_none().then(|| state.child.id())
    }

    /// The exit status, or `None` if the program hasn't exited or its status isn't known.
    #[must_use]
    pub fn status(&self) -> Option<ExitStatus> {
        self.process.lock().outcome.flatten()
    }

    /// A future that waits until the program has exited, and returns its exit status if that is known. It works on any
    /// runtime, and outlives the handle.
    pub fn exited(&self) -> Exited {
        Exited { process: Arc::clone(&self.process), key: None }
    }

    /// Blocks until the program has exited, and returns its exit status if that is known.
    pub fn wait(&self) -> Option<ExitStatus> {
        let state = self.process.lock();
        let exited = self.process.has_exited.wait_while(state, |state| state.outcome.is_none());
        exited.unwrap_or_else(PoisonError::into_inner).outcome.flatten()
    }

    /// Asks the program and its group to exit, by sending SIGTERM. Returns false if the program has exited, or if the
    /// system has no such signal.
    #[cfg_attr(not(unix), expect(clippy::unused_self, reason = "there are no signals"))]
    pub fn terminate(&self) -> bool {
        #[cfg(unix)]
        return self.process.lock().signal(rustix::process::Signal::TERM);
        #[cfg(not(unix))]
        false
    }

    /// Kills the program and its group. Returns false if the program has exited.
    pub fn kill(&self) -> bool {
        self.process.lock().kill()
    }

    /// Waits until the program exits. After `grace`, [terminates](Self::terminate) it, and after the same time again,
    /// kills it.
    ///
    /// The program's stdin has to be closed. If you didn't take it, this closes it. If nothing reads the program's
    /// stdout, drop that too, because the program may block while printing.
    pub fn end(&mut self, grace: Duration) -> Option<ExitStatus> {
        self.stdin = None;
        if self.has_exited_within(grace) || self.terminate() && self.has_exited_within(grace) {
            return self.status();
        }
        self.kill();
        self.wait()
    }

    fn has_exited_within(&self, timeout: Duration) -> bool {
        let state = self.process.lock();
        let exited = self.process.has_exited.wait_timeout_while(state, timeout, |state| state.outcome.is_none());
        exited.unwrap_or_else(PoisonError::into_inner).0.outcome.is_some()
    }

    /// Like [`end`](Self::end), for a task. `grace` starts one of the runtime's timers.
    ///
    /// ```
    /// # #[cfg(all(unix, feature = "tokio"))]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// use std::time::Duration;
    /// use wireline::process::Child;
    ///
    /// let mut server = Child::spawn(std::process::Command::new("sleep").arg("1000"))?;
    /// let status = server.end_with(|| tokio::time::sleep(Duration::from_millis(10))).await;
    /// assert!(status.is_some_and(|status| !status.success())); // it had to be terminated
    /// # Ok(())
    /// # }
    /// # #[cfg(not(all(unix, feature = "tokio")))]
    /// # fn main() {}
    /// ```
    pub async fn end_with<F: Future>(&mut self, mut grace: impl FnMut() -> F) -> Option<ExitStatus> {
        self.stdin = None;
        let has_exited = self.exits_before(grace()).await || self.terminate() && self.exits_before(grace()).await;
        if !has_exited {
            self.kill();
        }
        self.exited().await
    }

    async fn exits_before(&self, timer: impl Future) -> bool {
        let (mut exited, mut timer) = (self.exited(), pin!(timer));
        poll_fn(|cx| match Pin::new(&mut exited).poll(cx) {
            Poll::Ready(_) => Poll::Ready(true),
            Poll::Pending => timer.as_mut().poll(cx).map(|_| false),
        })
        .await
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child").field("id", &self.id()).field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Process {
    fn lock(&self) -> MutexGuard<'_, ChildState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the exit, and wakes all waiters.
    fn reap(&self) {
        let outcome = self.wait_and_reap();
        let wakers = {
            let mut state = self.lock();
            state.outcome = Some(outcome);
            std::mem::take(&mut state.wakers)
        };
        self.has_exited.notify_all();
        wakers.into_values().for_each(Waker::wake);
    }

    /// First waits without reaping, which needs no lock, and then reaps under the lock. So while the lock is held, the
    /// id can't be reused for another process.
    #[cfg(unix)]
    fn wait_and_reap(&self) -> Option<ExitStatus> {
        use rustix::process::{Signal, WaitId, WaitIdOptions, waitid};

        let pid = self.lock().pid();
        if let Some(pid) = pid {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
        }
        let mut state = self.lock();
        state.signal(Signal::TERM);
        let status = state.child.wait().ok();
        state.outcome = Some(status);
        status
    }

    #[cfg(not(unix))]
    fn wait_and_reap(&self) -> Option<ExitStatus> {
        const INTERVAL: Duration = Duration::from_millis(10);

        loop {
            match self.lock().child.try_wait() {
                Ok(None) => {}
                Ok(status) => return status,
                Err(_) => return None,
            }
            thread::sleep(INTERVAL);
        }
    }
}

impl ChildState {
    #[cfg(unix)]
    fn pid(&self) -> Option<rustix::process::Pid> {
        i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw)
    }

    /// Sends a signal to the group, unless the child has been reaped.
    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) -> bool {
        let pid = self.pid().filter(|_| self.outcome.is_none());
        pid.is_some_and(|pid| rustix::process::kill_process_group(pid, signal).is_ok())
    }

    #[cfg(unix)]
    fn kill(&mut self) -> bool {
        self.signal(rustix::process::Signal::KILL)
    }

    #[cfg(not(unix))]
    fn kill(&mut self) -> bool {
        self.outcome.is_none() && self.child.kill().is_ok()
    }
}

/// Ready when a [`Child`] has exited; see [`Child::exited`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Exited {
    process: Arc<Process>,
    /// The key of its waker.
    key: Option<u64>,
}

impl Future for Exited {
    type Output = Option<ExitStatus>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { process, key } = &mut *self;
        let mut state = process.lock();
        if let Some(outcome) = state.outcome {
            return Poll::Ready(outcome);
        }
        let next_key = state.next_key;
        let key = *key.get_or_insert(next_key);
        state.next_key += u64::from(key == next_key);
        let before = state.wakers.insert(key, cx.waker().clone());
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl Clone for Exited {
    fn clone(&self) -> Self {
        Self { process: Arc::clone(&self.process), key: None }
    }
}

impl Drop for Exited {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = self.process.lock().wakers.remove(&key);
            drop(waker);
        }
    }
}

impl fmt::Debug for Exited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exited")
    }
}

fn read_lines(mut reader: BufReader<ChildStderr>, report: &mut impl FnMut(&[u8])) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = available.iter().position(|byte| *byte == b'\n');
        let len = end.unwrap_or(available.len()).min(MAX_PIECE_LEN - line.len());
        line.extend_from_slice(&available[..len]);
        let (is_line, is_over) = (end == Some(len), available.is_empty());
        reader.consume(len + usize::from(is_line));
        if is_line || line.len() == MAX_PIECE_LEN || is_over && !line.is_empty() {
            report(line.strip_suffix(b"\r").unwrap_or(&line));
            line.clear();
        }
        if is_over {
            return Ok(());
        }
    }
}
