//! The servers: programs that claim stdout and print in every way.

use std::ffi::{c_char, c_int, c_void};
use std::io::{self, ErrorKind, Read, Write};
use std::process::Command;

use wireline::{Id, Rules, stdio, to_line};

/// The message that a server sends before it waits, and all messages of a session.
pub(crate) const HALF: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"half\"}\n";
pub(crate) const MESSAGES: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"half\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"whole\"}\n";

/// When something is printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stage {
    BeforeClaim,
    AfterClaim,
    /// After the server has waited.
    Halfway,
    AfterEnd,
}

impl Stage {
    pub(crate) const ALL: [Self; 4] = [Self::BeforeClaim, Self::AfterClaim, Self::Halfway, Self::AfterEnd];
}

/// Who prints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Printer {
    Println,
    /// Without a line end, so that Rust buffers it.
    Print,
    /// Without a line end, so that C buffers it, even on a terminal.
    Printf,
    PrintfFlushed,
    Descriptor,
    ChildProcess,
}

impl Printer {
    pub(crate) const ALL: [Self; 6] =
        [Self::Println, Self::Print, Self::Printf, Self::PrintfFlushed, Self::Descriptor, Self::ChildProcess];

    /// Before the claim, only what stays in a buffer can be kept off stdout.
    pub(crate) fn can_print(self, stage: Stage) -> bool {
        stage != Stage::BeforeClaim || matches!(self, Self::Print | Self::Printf)
    }

    pub(crate) fn text(self, stage: Stage) -> String {
        format!("<{self:?} {stage:?}>")
    }

    fn print(self, stage: Stage) {
        let text = self.text(stage);
        match self {
            Self::Println => println!("{text}"),
            Self::Print => print!("{text}"),
            Self::Printf => c_printf(&text),
            Self::PrintfFlushed => {
                c_printf(&text);
                c_flush();
            }
            Self::Descriptor => drop(rustix::io::write(rustix::stdio::stdout(), text.as_bytes()).unwrap()),
            Self::ChildProcess => {
                let status = Command::new("sh").args(["-c", "echo \"$0\"", &text]).status().unwrap();
                assert!(status.success(), "{status}");
            }
        }
    }
}

fn print_all(stage: Stage) {
    // What is flushed takes along what was buffered, so what is to stay in a buffer comes last.
    let (buffered, flushed): (Vec<_>, Vec<_>) =
        Printer::ALL.into_iter().partition(|printer| matches!(printer, Printer::Print | Printer::Printf));
    let printers = flushed.into_iter().chain(buffered);
    printers.filter(|printer| printer.can_print(stage)).for_each(|printer| printer.print(stage));
}

/// What becomes of the claimed stdout.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Drop,
    /// The process exits while a variable holds it.
    Exit,
    Leak,
    /// A thread that owns it panics.
    Panic,
    /// Another thread exits the process.
    ExitElsewhere,
    /// Another thread has claimed it, and drops it.
    ClaimElsewhere,
}

impl End {
    pub(crate) const ALL: [Self; 6] =
        [Self::Drop, Self::Exit, Self::Leak, Self::Panic, Self::ExitElsewhere, Self::ClaimElsewhere];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Exit => "exit",
            Self::Leak => "leak",
            Self::Panic => "panic",
            Self::ExitElsewhere => "exit elsewhere",
            Self::ClaimElsewhere => "claim elsewhere",
        }
    }

    /// Whether all prints are promised to reach stderr, even the last.
    pub(crate) fn shows_everything(self) -> bool {
        !matches!(self, Self::ExitElsewhere | Self::ClaimElsewhere)
    }
}

pub(crate) fn run(program: &str) {
    match program {
        "waits after the drop" => waits_after_the_drop(),
        "claims twice" => claims_twice(),
        "stdout is closed" => stdout_is_closed(),
        "stderr is closed" => stderr_is_closed(),
        "only stdout is open" => only_stdout_is_open(),
        "claim elsewhere" => {
            std::thread::spawn(|| serve(End::ClaimElsewhere)).join().unwrap();
            print_all(Stage::AfterEnd);
        }
        _ => serve(End::ALL.into_iter().find(|end| end.name() == program).unwrap()),
    }
}

fn serve(end: End) {
    print_all(Stage::BeforeClaim);
    let mut writer = stdio::claim().unwrap();
    print_all(Stage::AfterClaim);
    send(&mut writer, 1, "half");
    wait_for_input();
    print_all(Stage::Halfway);
    // More than any pipe holds.
    (0..5_000).for_each(|line| println!("{line:>99}"));
    send(&mut writer, 2, "whole");
    match end {
        End::Drop | End::ClaimElsewhere => drop(writer),
        End::Exit => {
            print_all(Stage::AfterEnd);
            std::process::exit(0);
        }
        End::ExitElsewhere => {
            let thread = std::thread::spawn(|| {
                print_all(Stage::AfterEnd);
                std::process::exit(0);
            });
            thread.join().unwrap();
        }
        End::Leak => std::mem::forget(writer),
        End::Panic => {
            // Without a message: stderr may be closed.
            let thread = std::thread::spawn(move || {
                let _owned = writer;
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            assert!(thread.join().is_err());
        }
    }
    print_all(Stage::AfterEnd);
}

fn send(stdout: &mut stdio::Stdout, id: i32, result: &str) {
    let line = to_line(&Rules::json_rpc(), |encoder| encoder.response(&Id::from(id), &result)).unwrap();
    stdout.write_all(line.as_bytes()).unwrap();
    stdout.flush().unwrap();
}

fn wait_for_input() {
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn waits_after_the_drop() {
    let mut writer = stdio::claim().unwrap();
    let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    send(&mut writer, 1, "half");
    drop(writer);
    wait_for_input();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

fn claims_twice() {
    let stdout = stdio::claim().unwrap();
    assert_eq!(format!("{stdout:?}"), "Stdout { .. }");
    // It is the real one, which descriptor 1 no longer is.
    let [real, current] = [rustix::fs::fstat(&stdout), rustix::fs::fstat(rustix::stdio::stdout())].map(Result::unwrap);
    assert_ne!(real.st_ino, current.st_ino);
    assert_eq!(stdio::claim().unwrap_err().kind(), ErrorKind::AlreadyExists);
    drop(stdout);
    assert_eq!(stdio::claim().unwrap_err().kind(), ErrorKind::AlreadyExists);
}

fn stdout_is_closed() {
    c_close(1);
    assert_eq!(stdio::claim().unwrap_err().raw_os_error(), Some(rustix::io::Errno::BADF.raw_os_error()));
    // Nothing was claimed, and no descriptor took the place of the closed one.
    rustix::stdio::dup2_stdout(rustix::stdio::stderr()).unwrap();
    stdio::claim().unwrap();
}

/// Prints are discarded, and don't end up in a file that gets the free descriptor.
fn stderr_is_closed() {
    c_close(2);
    let stdout = stdio::claim().unwrap();
    let (mut reader, writer) = io::pipe().unwrap();
    println!("discarded");
    drop(stdout);
    drop(writer);
    let mut read = Vec::new();
    reader.read_to_end(&mut read).unwrap();
    assert_eq!(read, b"");
}

/// As a C program may be started. The claim must not put its own descriptors there.
fn only_stdout_is_open() {
    c_close(2);
    c_close(0);
    let stdout = stdio::claim().unwrap();
    for closed in [rustix::stdio::stdin(), rustix::stdio::stderr()] {
        assert_eq!(rustix::io::fcntl_getfd(closed).unwrap_err(), rustix::io::Errno::BADF);
    }
    println!("discarded");
    drop(stdout);
}

#[allow(unsafe_code)]
mod c {
    use super::{c_char, c_int, c_void};

    unsafe extern "C" {
        pub(super) fn printf(format: *const c_char, ...) -> c_int;
        pub(super) fn fflush(stream: *mut c_void) -> c_int;
        pub(super) fn close(descriptor: c_int) -> c_int;
    }
}

#[allow(unsafe_code)]
fn c_printf(text: &str) {
    let text = std::ffi::CString::new(text).unwrap();
    // SAFETY: both strings end with a zero byte, and the format takes one string.
    assert!(unsafe { c::printf(c"%s".as_ptr(), text.as_ptr()) } > 0);
}

#[allow(unsafe_code)]
fn c_flush() {
    // SAFETY: a null pointer means all streams. Failures are C's own.
    unsafe { c::fflush(std::ptr::null_mut()) };
}

#[allow(unsafe_code)]
fn c_close(descriptor: c_int) {
    // SAFETY: nothing else in the program uses the descriptor now.
    assert_eq!(unsafe { c::close(descriptor) }, 0);
}
