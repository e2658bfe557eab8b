//! A parallel check against a sequential one.

use std::sync::atomic::AtomicU64;

use quickcheck::{Arbitrary, Gen, QuickCheck};

use super::*;
use crate::check::check_stream;
use crate::check::report::{Human, Ndjson};
use crate::input::Source;

/// The content of a file: lines of every kind, with every line ending.
#[derive(Clone, Debug)]
struct Content(Vec<u8>);

impl Arbitrary for Content {
    fn arbitrary(g: &mut Gen) -> Self {
        const LINES: &[&str] = &[
            "",
            "",
            " \t",
            "oops",
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","method":"b","params":["x y z","x y z","x y z","x y z"]}"#,
            r#"{"jsonrpc":"2.0","id":"c","result":"a line that is longer than all limits, and still has its id"}"#,
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}"#,
            r#"[{"jsonrpc":"2.0","method":"d"},1,{"jsonrpc":"2.0","id":null}]"#,
            "\u{feff}",
            r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"a","params":{"b":"\ud83d","b":1}}"#,
            "\u{feff}{}",
            r#"{"jsonrpc":"2.0","id":3,"method":NaN}"#,
        ];
        const LINE_ENDINGS: &[&str] = &["\n", "\n", "\r\n", "\r\r\n", "\n\n", "\r"];
        let mut content = Vec::new();
        for _ in 0..usize::arbitrary(g) % 12 {
            content.extend_from_slice(g.choose(LINES).unwrap().as_bytes());
            content.extend_from_slice(g.choose(LINE_ENDINGS).unwrap().as_bytes());
        }
        if bool::arbitrary(g) {
            content.extend_from_slice(g.choose(LINES).unwrap().as_bytes());
        }
        Self(content)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        Box::new(self.0.shrink().map(Self))
    }
}

/// Everything observable: the report, the counts, and whether the input was read to its end.
type Outcome = (String, String, Result<(), String>);

fn outcome<R: Report>(
    report: &mut R,
    check: impl FnOnce(&R, &mut Counts, &mut SendText<'_>) -> Result<(), Failure>,
) -> Outcome {
    let (mut counts, mut sent) = (Counts::default(), Vec::new());
    report.set_source(&Source::Stdin);
    let checked = check(report, &mut counts, &mut |text| {
        sent.append(&mut text.bytes);
        text.faults.clear();
        Ok(())
    });
    let checked = checked.map_err(|failure| match failure {
        Failure::Read(error) => error.to_string(),
        Failure::Write(error) => panic!("{error}"),
    });
    (String::from_utf8(sent).unwrap(), format!("{counts:?}"), checked)
}

fn sequential<R: Report>(rules: Rules, input: &mut dyn Read, report: &mut R) -> Outcome {
    outcome(report, |report, counts, send| {
        let reporter = LineReporter::new(report, counts, send).judging_lines(true);
        check_stream(rules, None, Ends::Required, input, reporter, &|_| {})
    })
}

fn parallel<R: Report>(
    rules: Rules,
    (jobs, segment_len): (usize, usize),
    read_at: &ReadAt<'_>,
    report: &mut R,
) -> Outcome {
    let check =
        ParallelCheck { rules, ends: Ends::Required, judges_lines: true, jobs, segment_len, read_at, advance: &|_| {} };
    outcome(report, |report, counts, send| check.run(report, counts, send))
}

/// Reads at most `max_len` bytes at a time.
fn reader(content: &[u8], max_len: usize) -> impl Fn(&mut [u8], u64) -> io::Result<usize> + Sync {
    move |buffer, offset| {
        let rest = &content[content.len().min(offset as usize)..];
        let len = rest.len().min(buffer.len()).min(max_len);
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

#[test]
fn parallel_equals_sequential() {
    fn property(content: Content, segment_len: u8, jobs: u8, read_len: u8, max_len: u8) -> bool {
        let Content(content) = content;
        let shape = (usize::from(jobs % 4) + 1, usize::from(segment_len % 90) + 1);
        let rules = Rules::json_rpc().max_line_len(usize::from(max_len) + 1);
        let read_at = reader(&content, usize::from(read_len) + 1);
        let (mut human, mut ndjson) = (Human::new(true, true), Ndjson::new(true));
        sequential(rules, &mut &content[..], &mut human) == parallel(rules, shape, &read_at, &mut human)
            && sequential(rules, &mut &content[..], &mut ndjson) == parallel(rules, shape, &read_at, &mut ndjson)
    }
    let property: fn(Content, u8, u8, u8, u8) -> bool = property;
    QuickCheck::new().tests(500).quickcheck(property);
}

#[test]
fn line_may_span_many_segments() {
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"{}\"}}\r\noops\n", "x".repeat(100_000));
    for max_len in [1_000, 200_000] {
        let rules = Rules::mcp().max_line_len(max_len);
        let expected = sequential(rules, &mut long.as_bytes(), &mut Ndjson::new(false));
        assert_eq!(expected.0.lines().count(), 2);
        for segment_len in [1, 100, 1 << 10, 99_999, 1 << 20] {
            let read_at = reader(long.as_bytes(), 1 << 20);
            let outcome = parallel(rules, (3, segment_len), &read_at, &mut Ndjson::new(false));
            assert_eq!(outcome, expected, "{max_len} {segment_len}");
        }
    }
}

/// Both ways report the lines that were complete before a read error.
#[test]
fn read_error_comes_after_the_lines_before_it() {
    let content = b"oops\n".repeat(100);
    for bad_offset in (0..500).step_by(3) {
        let read_at = |buffer: &mut [u8], offset: u64| match usize::try_from(offset).unwrap() {
            at if at < bad_offset => {
                let len = buffer.len().min(bad_offset - at);
                buffer[..len].copy_from_slice(&content[at..at + len]);
                Ok(len)
            }
            _ => Err(io::Error::other("bad sector")),
        };
        let mut stream = ReaderAt { read_at: &read_at, offset: 0 };
        let expected = sequential(Rules::mcp(), &mut stream, &mut Human::new(true, true));
        assert_eq!(expected.2, Err("bad sector".to_owned()));
        assert_eq!(parallel(Rules::mcp(), (3, 64), &read_at, &mut Human::new(true, true)), expected, "{bad_offset}");
    }
}

/// The file ends where a read first finds its end.
#[test]
fn file_may_grow_and_shrink() {
    let content = b"oops\n".repeat(1_000);
    for (first_len, later_len) in [(100, 5_000), (5_000, 103), (4_999, 0), (0, 5_000)] {
        let reads = AtomicU64::new(0);
        let read_at = |buffer: &mut [u8], offset: u64| {
            let len = if reads.fetch_add(1, Ordering::Relaxed) < 5 { first_len } else { later_len };
            reader(&content[..len], 64)(buffer, offset)
        };
        let (text, _, end) = parallel(Rules::mcp(), (2, 64), &read_at, &mut Ndjson::new(false));
        assert_eq!(end, Ok(()));
        for (line, number) in text.lines().zip(1..) {
            assert!(line.starts_with(&format!("{{\"line\":{number},\"offset\":{},", (number - 1) * 5)), "{line}");
        }
        assert!(text.lines().count() <= 1_000);
    }
}

#[test]
fn stops_when_the_report_cannot_be_written() {
    let content = b"oops\n".repeat(100_000);
    let check = ParallelCheck {
        rules: Rules::mcp(),
        ends: Ends::Required,
        judges_lines: false,
        jobs: 3,
        segment_len: 1 << 10,
        read_at: &reader(&content, usize::MAX),
        advance: &|_| {},
    };
    let mut sent = 0;
    let checked = check.run(&Human::new(true, true), &mut Counts::default(), &mut |_| {
        sent += 1;
        if sent == 3 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    assert!(matches!(checked, Err(Failure::Write(_))));
    assert_eq!(sent, 3);
}
