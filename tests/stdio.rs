//! Only the protocol reaches a claimed stdout, and prints neither fail nor block, whatever becomes of stderr.
//!
//! This test runs without a harness, which would print to stdout itself. It starts itself as a server that prints in
//! every way and at every stage, for each combination of stdout, stderr and end.

#[cfg(unix)]
#[path = "stdio/server.rs"]
mod server;
#[cfg(unix)]
#[path = "stdio/streams.rs"]
mod streams;

#[cfg(not(unix))]
fn main() {
    // Nothing is redirected here.
    let stdout = wireline::stdio::claim().unwrap();
    assert_eq!(wireline::stdio::claim().unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    drop(stdout);
    assert_eq!(wireline::stdio::claim().unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
}

#[cfg(unix)]
fn main() {
    let args: Vec<_> = std::env::args().skip(1).collect();
    match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", program] => server::run(program),
        // Some test runners ask for a list first.
        args if args.contains(&"--list") => {}
        _ => tests::run(),
    }
}

#[cfg(unix)]
mod tests {
    use std::panic::catch_unwind;
    use std::process::{Child, Command, ExitStatus, Stdio};
    use std::time::{Duration, Instant};

    use super::server::{self, End, MESSAGES, Printer, Stage};
    use super::streams::{Stderr, Stdout};

    /// Far longer than any server takes, so that one that hangs fails the test.
    const HANG: Duration = Duration::from_secs(30);

    pub(super) fn run() {
        let (mut combinations, mut failed) = (0, Vec::new());
        for stdout in Stdout::ALL {
            for stderr in Stderr::ALL {
                for end in End::ALL {
                    combinations += 1;
                    if catch_unwind(|| only_the_protocol_reaches_stdout(stdout, stderr, end)).is_err() {
                        failed.push((stdout, stderr, end));
                    }
                }
            }
        }
        assert!(failed.is_empty(), "{} of {combinations} failed: {failed:?}", failed.len());
        dropping_it_ends_the_stream();
        streams_closed_at_startup_are_null();
        the_result_of_a_program("claims twice");
        the_result_of_a_program("stdout is closed");
        the_result_of_a_program("stderr is closed");
        the_result_of_a_program("only stdout is open");
        println!("test result: ok. {combinations} combinations and 6 programs passed; 0 failed");
    }

    fn only_the_protocol_reaches_stdout(stdout: Stdout, stderr: Stderr, end: End) {
        let context = format!("stdout {stdout:?}, stderr {stderr:?}, end {end:?}");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["server", end.name()]);
        let mut stdout = stdout.attach(&mut command);
        let mut stderr = stderr.attach(&mut command);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        // The command holds the server's ends.
        drop(command);
        // The server waits for a line in the middle of the session.
        let started = Instant::now();
        while !stdout.so_far().contains(server::HALF) {
            assert!(started.elapsed() < HANG, "{context}: no message");
            if let Some(status) = child.try_wait().unwrap() {
                panic!("{context}: {status} before the middle: {}", stderr.text().unwrap_or_default());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        stderr.at_half_time();
        drop(child.stdin.take());
        let status = wait(&mut child, &context);
        let printed = stderr.text();
        assert!(status.success(), "{context}: {status}: {}", printed.as_deref().unwrap_or_default());
        assert_eq!(stdout.text(), MESSAGES, "{context}");
        let Some(printed) = printed.filter(|_| end.shows_everything()) else { return };
        for stage in Stage::ALL {
            for printer in Printer::ALL.into_iter().filter(|printer| printer.can_print(stage)) {
                let text = printer.text(stage);
                assert_eq!(printed.matches(&text).count(), 1, "{context}: `{text}` on stderr: {printed}");
            }
        }
    }

    fn wait(child: &mut Child, context: &str) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            if started.elapsed() > HANG {
                child.kill().unwrap();
                panic!("{context}: the server hangs");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Neither descriptor 1 nor a child process keeps the real stdout open.
    fn dropping_it_ends_the_stream() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["server", "waits after the drop"]);
        let mut stdout = Stdout::Pipe.attach(&mut command);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        drop(command);
        // Returns at the end of the stream, while the server still waits for its own input to end.
        assert_eq!(stdout.text(), server::HALF);
        assert_eq!(child.try_wait().unwrap(), None);
        drop(child.stdin.take());
        assert!(wait(&mut child, "waits after the drop").success());
    }

    /// Before `main`, Rust's runtime opens `/dev/null` in place of a closed stream.
    fn streams_closed_at_startup_are_null() {
        for closed in ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exec \"$0\" server drop {closed}")]).arg(std::env::current_exe().unwrap());
            let mut stdout = Stdout::Pipe.attach(&mut command);
            let mut stderr = Stderr::Read.attach(&mut command);
            let mut child = command.stdin(Stdio::null()).spawn().unwrap();
            drop(command);
            let status = wait(&mut child, closed);
            assert!(status.success(), "{closed}: {status}: {}", stderr.text().unwrap());
            let expected = if closed.split(' ').any(|stream| stream == ">&-") { "" } else { MESSAGES };
            assert_eq!(stdout.text(), expected, "{closed}");
        }
    }

    /// Runs a program that checks everything itself.
    fn the_result_of_a_program(name: &str) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["server", name]);
        let mut stdout = Stdout::Pipe.attach(&mut command);
        let mut stderr = Stderr::Read.attach(&mut command);
        let mut child = command.spawn().unwrap();
        drop(command);
        let status = wait(&mut child, name);
        assert!(status.success(), "{name}: {status}: {}", stderr.text().unwrap());
        assert_eq!(stdout.text(), "", "{name}");
    }
}
