//! Combines every path ("door") that an answer can take with everything that can go wrong on it: each request must get
//! exactly one response, unless the stream visibly breaks, or MCP's rules forbid a response because it was cancelled.

mod script;
mod streams;
mod walks;
mod ways;

use crate::common;

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use common::Dialect;
use script::{Act, Payload, Script, Shutdown, check_whole, count, request, responses, whole_lines};
use streams::{Feed, Wire};
use ways::Door;

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    NotANumber,
    RefusedByRules,
    PayloadPanics,
    TooLong,
    /// The peer doesn't read for a while.
    BacklogFull,
    WriterBreaks,
    TicketDropped,
    HandlerPanics,
    Cancelled(Dialect),
    DuplicateId,
    IdAtItsLimit,
    /// The stream ends right behind the last request.
    EndsAtOnce,
    BadLinesBetween,
    /// Requests, notifications, responses and faults, with ids that repeat.
    BatchOfEverything,
    /// Further requests are refused, and those in flight are answered by handlers or with an error.
    ShutdownMeanwhile,
}

/// How requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Layout {
    Lines,
    /// Adjacent messages are one array.
    Batch,
}

impl Trouble {
    fn script(self, layout: Layout, round: usize) -> Script {
        let rules = match self {
            Self::RefusedByRules => Dialect::Mcp.rules(),
            Self::Cancelled(dialect) => dialect.rules(),
            _ => Dialect::JsonRpc.rules(),
        };
        let rules = match self {
            // The limits of lines and ids are close to each other.
            Self::IdAtItsLimit => rules.max_line_len(200),
            _ => rules.max_line_len(2000),
        };
        let rules = rules.batches(layout == Layout::Batch);
        let second = match self {
            Self::IdAtItsLimit => "7".repeat(rules.settings().max_id_len),
            _ => "2".to_owned(),
        };
        let [first, troubled, third] = ["1", &second, "\"3\""].map(request);
        let more = |from: usize| (from..from + 20).map(|id| request(&id.to_string()));
        let mut lines: Vec<Vec<String>> = vec![vec![first, troubled.clone(), third]];
        match self {
            Self::Cancelled(dialect) => lines[0].insert(2, cancellation(dialect)),
            Self::DuplicateId => lines[0].insert(1, troubled),
            // Each in a line of its own: together they exceed the limit.
            Self::IdAtItsLimit => lines = lines[0].iter().map(|line| vec![line.clone()]).collect(),
            Self::BacklogFull | Self::EndsAtOnce | Self::ShutdownMeanwhile => {
                lines[0].extend(more(10));
                lines.push(more(40).collect());
            }
            Self::BatchOfEverything => lines = vec![everything()],
            _ => {}
        }
        let mut input = Vec::new();
        for messages in &lines {
            if self == Self::BadLinesBetween {
                bad_lines().iter().for_each(|line| input.extend([line, &b"\n"[..]].concat()));
            }
            let text = match layout {
                Layout::Lines => messages.join("\n"),
                Layout::Batch => format!("[{}]", messages.join(",")),
            };
            input.extend_from_slice(format!("{text}\n").as_bytes());
        }
        match self {
            Self::EndsAtOnce => drop(input.pop()),
            Self::BadLinesBetween => input.extend_from_slice(&request("9").as_bytes()[..20]),
            _ => {}
        }

        let mut script = Script::new(rules, input);
        let act = match self {
            Self::NotANumber | Self::IdAtItsLimit => Act::Respond(Payload::NotANumber),
            Self::RefusedByRules => Act::Respond(Payload::Array),
            Self::PayloadPanics => Act::Respond(Payload::Panics),
            Self::TooLong => Act::Respond(Payload::Text(3000)),
            Self::TicketDropped => Act::Drop,
            Self::HandlerPanics => Act::Panic,
            Self::Cancelled(_) => Act::AwaitCancel { responds: round.is_multiple_of(2) },
            _ => Act::Respond(Payload::Fine),
        };
        script.act = Box::new(move |id| if id == second { act } else { Act::Respond(Payload::Fine) });
        script.is_slow =
            matches!(self, Self::EndsAtOnce | Self::ShutdownMeanwhile | Self::BacklogFull | Self::DuplicateId);
        if self == Self::BacklogFull {
            script.backlog = [0, 100, 1000][round % 3];
        }
        if self == Self::ShutdownMeanwhile {
            script.shutdown = Some(Shutdown { at: round * 7 % 23, aborts: !round.is_multiple_of(3) });
        }
        script
    }

    /// Whether the second request must be answered with an error, and the others must not.
    fn is_answered_with_error(self) -> bool {
        matches!(
            self,
            Self::NotANumber
                | Self::RefusedByRules
                | Self::PayloadPanics
                | Self::TooLong
                | Self::TicketDropped
                | Self::HandlerPanics
                | Self::IdAtItsLimit
        )
    }
}

fn cancellation(dialect: Dialect) -> String {
    let (method, member) = dialect.cancellation().expect("a cancellation");
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"{member}":2}}}}"#)
}

/// Messages of all kinds, and what isn't one.
fn everything() -> Vec<String> {
    let others = [
        r#"{"jsonrpc":"2.0","method":"note"}"#,
        r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":77}}"#,
        r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":6}"#,
        r#"{"id":6}"#,
        r#"{"jsonrpc":"2.0","id":[7],"method":"m"}"#,
        "8",
        r#""text""#,
        "{}",
    ];
    let mut all = Vec::new();
    for (number, other) in others.into_iter().enumerate() {
        all.extend([other.to_owned(), request(&(number % 4).to_string())]);
    }
    all.extend([request("null"), request("1.5"), request("\"1\"")]);
    all
}

fn bad_lines() -> [&'static [u8]; 8] {
    [
        b"Listening...",
        b"",
        b" \t\r",
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":\"BOM\",\"method\":\"m\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"half\",\"meth",
        b"\xff\xfe\0",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"twice\",\"id\":\"twice\",\"method\":\"m\"}",
        b"[",
    ]
}

/// One cell of the table.
fn check(name: &str, door: Door, trouble: Trouble, layout: Layout, rounds: usize) {
    common::quiet_panics_on_purpose();
    within_a_minute(&format!("{name}, {trouble:?}, {layout:?}"), move || {
        for round in 0..rounds {
            check_once(door, trouble, layout, round);
        }
    });
}

fn check_once(door: Door, trouble: Trouble, layout: Layout, round: usize) {
    let script = Arc::new(trouble.script(layout, round));
    let feed = Feed::new(&script.input, [usize::MAX, 1, 13, 100][round % 4]);
    let wire = Wire::new([usize::MAX, 7, 1][round % 3]);
    match trouble {
        Trouble::BacklogFull => wire.sleep(30),
        // In the first answer, or in the second.
        Trouble::WriterBreaks => wire.break_after([20, 50][round % 2]),
        _ => {}
    }
    let result = (door.run)(&script, feed, wire.clone());
    let written = wire.taken();
    check_whole(&written);
    let found = responses(&written, script.rules.max_line_len(1 << 20));
    let (counts, mut expected) = (count(&found), script.expected());
    let what = format!("{trouble:?}, {layout:?}, round {round}: {}", String::from_utf8_lossy(&written));
    if trouble == Trouble::WriterBreaks {
        assert!(result.is_err(), "{what}");
        assert!(counts.iter().all(|(id, count)| *count <= expected[id]), "{what}");
        return;
    }
    result.unwrap();
    if trouble == Trouble::Cancelled(Dialect::Mcp) && door.reads_on {
        expected.remove("2");
    }
    assert_eq!(counts, expected, "{what}");
    assert!(wire.is_closed() || !door.closes, "{what}");
    if trouble.is_answered_with_error() {
        for (at, (id, is_error)) in found.iter().enumerate() {
            assert_eq!(*is_error, id != "1" && id != "\"3\"", "answer {at}: {what}");
        }
        // An array is answered with an array.
        if layout == Layout::Batch && trouble != Trouble::IdAtItsLimit {
            assert!(written.starts_with(b"[") && whole_lines(&written).count() == 1, "{what}");
        }
    }
}

/// Fails if `run` takes too long, which means that something waits forever.
fn within_a_minute(what: &str, run: impl FnOnce() + Send + 'static) {
    let (done, is_done) = channel();
    let thread = thread::spawn(move || {
        run();
        let _ = done.send(());
    });
    if is_done.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
        panic!("{what}: hangs");
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// A module for each door, with a test for each trouble and layout.
macro_rules! doors {
    ($($(#[$attribute:meta])* $name:ident: $door:ident, $shutdowns:expr;)*) => {$(
        $(#[$attribute])*
        mod $name {
            use super::*;

            const DOOR: Door = ways::$door;
            const SHUTDOWNS: usize = $shutdowns;

            mod lines {
                use super::*;
                doors! { @ stringify!($name), Layout::Lines }
            }

            mod batch {
                use super::*;
                doors! { @ stringify!($name), Layout::Batch }
            }
        }
    )*};
    (@ $name:expr, $layout:expr) => {
        doors! { @ $name, $layout;
            not_a_number: NotANumber, 12;
            refused_by_rules: RefusedByRules, 12;
            payload_panics: PayloadPanics, 12;
            too_long: TooLong, 12;
            backlog_full: BacklogFull, 12;
            writer_breaks: WriterBreaks, 12;
            ticket_dropped: TicketDropped, 12;
            handler_panics: HandlerPanics, 12;
            cancelled: Cancelled(Dialect::JsonRpc), 12;
            cancelled_under_mcp: Cancelled(Dialect::Mcp), 12;
            cancelled_under_acp: Cancelled(Dialect::Acp), 12;
            duplicate_id: DuplicateId, 12;
            id_at_its_limit: IdAtItsLimit, 12;
            ends_at_once: EndsAtOnce, 12;
            bad_lines_between: BadLinesBetween, 12;
            batch_of_everything: BatchOfEverything, 12;
            shutdown_meanwhile: ShutdownMeanwhile, SHUTDOWNS;
        }
    };
    (@ $name:expr, $layout:expr; $($test:ident: $trouble:ident $(($dialect:expr))?, $rounds:expr;)*) => {$(
        #[test]
        fn $test() {
            check($name, DOOR, Trouble::$trouble $(($dialect))?, $layout, $rounds);
        }
    )*};
}

doors! {
    core_at_once: CORE_AT_ONCE, 24;
    core_later: CORE_LATER, 24;
    core_threads: CORE_THREADS, 24;
    core_proxy: CORE_PROXY, 24;
    io_next: IO_NEXT, 100;
    io_connection_serve: IO_CONNECTION_SERVE, 100;
    io_serve: IO_SERVE, 100;
    io_answer: IO_ANSWER, 24;
    #[cfg(feature = "tokio")]
    aio_next_tasks: AIO_NEXT_TASKS, 100;
    #[cfg(feature = "tokio")]
    aio_next_in_place: AIO_NEXT_IN_PLACE, 100;
    #[cfg(feature = "tokio")]
    aio_serve: AIO_SERVE, 100;
    #[cfg(feature = "tokio")]
    aio_proxy: AIO_PROXY, 100;
    #[cfg(feature = "futures-io")]
    futures_serve: FUTURES_SERVE, 100;
}
