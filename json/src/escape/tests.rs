use bytes::BytesMut;
use quickcheck::{QuickCheck, TestResult};

use super::*;

/// Escapes `text` one character at a time.
fn naive(text: &str) -> Vec<u8> {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\u{8}' => escaped.push_str("\\b"),
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\u{c}' => escaped.push_str("\\f"),
            '\r' => escaped.push_str("\\r"),
            ..' ' => escaped.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => escaped.push(character),
        }
    }
    escaped.into_bytes()
}

/// Escapes bytes that may not be UTF-8, since an escaper treats each byte separately.
fn naive_bytes(text: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(6 * text.len());
    for &byte in text {
        match byte {
            b' ' | b'!' | b'#'..=b'[' | b']'.. => escaped.push(byte),
            _ => escaped.extend_from_slice(&naive(char::from(byte).encode_utf8(&mut [0; 4]))),
        }
    }
    escaped
}

/// Escapes `text` into a room of the given size, and checks that nothing is written beyond it. Returns the output if
/// all of the text was consumed.
fn escape_into(escaper: &Escaper, text: &[u8], size: usize) -> Option<Vec<u8>> {
    const UNTOUCHED: u8 = 0xf7;
    let mut room = vec![UninitByte::new(UNTOUCHED); size + 128];
    let (consumed, taken) = escaper.escape(text, &mut room[..size]);
    assert!(consumed <= text.len() && taken <= size);
    // SAFETY: the whole room was initialized at the beginning.
    let room: Vec<u8> = room.iter().map(|byte| unsafe { byte.assume_init() }).collect();
    assert!(room[size..].iter().all(|&byte| byte == UNTOUCHED), "{escaper:?} writes beyond the room");
    assert_eq!(room[..taken], naive_bytes(&text[..consumed]), "{escaper:?}");
    (consumed == text.len()).then(|| room[..taken].to_vec())
}

/// All that run on this CPU.
fn escapers() -> impl Iterator<Item = &'static Escaper> {
    Cpu::ALL.into_iter().filter_map(Escaper::new)
}

fn check(text: &[u8]) {
    let escapes = text.iter().filter(|&&byte| is_special(byte)).count();
    // Copy the text to an allocation of exactly its length, so that a sanitizer or valgrind detects reads beyond it.
    let text = &*Box::<[u8]>::from(text);
    for escaper in escapers() {
        let enough = text.len() + 5 * escapes + 2 * BLOCK;
        assert_eq!(escape_into(escaper, text, enough).as_deref(), Some(&naive_bytes(text)[..]), "{escaper:?} {text:?}");
    }
}

#[test]
fn every_byte_at_every_position() {
    for byte in 0..=u8::MAX {
        for len in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 160] {
            for at in 0..len {
                let mut text = vec![b'x'; len];
                text[at] = byte;
                check(&text);
            }
        }
    }
}

#[test]
fn every_length() {
    for len in 0..=200 {
        check(&vec![b'x'; len]);
        for byte in [b'"', b'\\', b'\n', 0x1f, 0x7f, 0x80, b' ', b'!', b'#'] {
            check(&vec![byte; len]);
            // Every third byte, and both ends.
            check(&(0..len).map(|at| if at % 3 == 0 { byte } else { b'x' }).collect::<Vec<_>>());
            check(&(0..len).map(|at| if at == 0 || at + 1 == len { byte } else { b'x' }).collect::<Vec<_>>());
        }
        // All byte values side by side.
        check(&(0..len).map(|at| (at * 7) as u8).collect::<Vec<_>>());
    }
}

#[test]
fn any_bytes() {
    QuickCheck::new().tests(20_000).max_tests(20_000).quickcheck(
        (|bytes: Vec<u8>, repeat: u8| {
            check(&bytes.repeat(1 + usize::from(repeat % 4)));
            // Smaller bytes, so that more of them need an escape.
            check(&bytes.iter().map(|byte| byte % 0x60).collect::<Vec<_>>());
            true
        }) as fn(Vec<u8>, u8) -> bool,
    );
}

/// With less room, an escaper stops early, without writing beyond it.
#[test]
fn any_room() {
    for len in [0, 1, 5, 20, 40, 63, 64, 65, 100, 150] {
        for (step, byte) in [(1, b'\n'), (1, 1), (3, b'"'), (9, 0x1f), (200, b'x')] {
            let text: Vec<u8> = (0..len).map(|at| if at % step == 0 { byte } else { b'x' }).collect();
            let enough = room_for_some(&text);
            for size in 0..=text.len() * 6 + 2 * BLOCK {
                for escaper in escapers() {
                    let all = escape_into(escaper, &text, size);
                    assert!(all.is_some() || size < text.len() * 6 + 2 * BLOCK, "{escaper:?}");
                    if size >= enough && !text.is_empty() {
                        let mut room = vec![UninitByte::uninit(); size];
                        assert_ne!(escaper.escape(&text, &mut room).0, 0, "{escaper:?} makes no progress");
                    }
                }
            }
        }
    }
}

fn put_string(before: &[u8], text: &str, limit: usize, spare: usize) -> (BytesMut, Result<(), Full>) {
    let mut buffer = BytesMut::with_capacity(before.len() + spare);
    buffer.extend_from_slice(before);
    let mut cursor = OutputCursor::new(&mut buffer, limit);
    let done = cursor.put_string(true, b"<", text, b">").and_then(|()| cursor.commit(false));
    drop(cursor);
    (buffer, done)
}

/// Tries various capacities and limits.
#[test]
fn a_cursor_makes_room_up_to_its_limit() {
    for cpu in Cpu::available() {
        cpu.run(|| a_cursor_makes_room(cpu));
    }
}

fn a_cursor_makes_room(cpu: Cpu) {
    for text in ["", "plain", "\"\n\u{1}", &"long text \"with\" escapes ".repeat(40), &"\u{1}".repeat(300)] {
        let whole = [b"before,<", &naive(text)[..], b">"].concat();
        for spare in [0, 1, 64, 65, 66, 67, 100, 500, 2000, 10_000] {
            let (buffer, done) = put_string(b"before", text, whole.len(), spare);
            assert_eq!((done, &buffer[..]), (Ok(()), &whole[..]), "{cpu:?}");
            for less in [1, 2, whole.len() / 2, whole.len() - 6, whole.len()] {
                let (buffer, done) = put_string(b"before", text, whole.len() - less, spare);
                assert_eq!((done, &buffer[..]), (Err(Full), &b"before"[..]), "{cpu:?} with {less} too few");
            }
        }
    }
}

#[test]
fn a_cursor_that_is_dropped_leaves_no_trace() {
    for spare in [0, 10, 1000] {
        let mut buffer = BytesMut::with_capacity(6 + spare);
        buffer.extend_from_slice(b"before");
        let mut cursor = OutputCursor::new(&mut buffer, usize::MAX);
        for _ in 0..100 {
            cursor.put([b"some ", b"text"]).unwrap();
        }
        assert_eq!(cursor.position(), 906);
        drop(cursor);
        assert_eq!(buffer, &b"before"[..]);
    }
}

#[test]
fn pieces_and_words() {
    for spare in [0, 3, 8, 20, 40, 100] {
        let mut buffer = BytesMut::with_capacity(spare);
        let mut cursor = OutputCursor::new(&mut buffer, usize::MAX);
        cursor.put([]).unwrap();
        cursor.put([b"ab", b"", b"c"]).unwrap();
        for len in 0..=9 {
            cursor.put_word(len == 2, *b"12345678", len).unwrap();
        }
        cursor.put_number(true, true, (*b"42\0\0", 2), []).unwrap();
        cursor.put_number(true, false, (*b"7\0\0\0\0\0\0\0", 7), [*b"00000001", *b"12345678"]).unwrap();
        cursor.put_number(false, true, (*b"\0\0\0\0", 5), []).unwrap();
        cursor.commit(false).unwrap();
        drop(cursor);
        assert_eq!(buffer, "abc1,1212312341234512345612345671234567812345678,-42,70000000112345678-");
    }
}

#[test]
fn few_bytes() {
    fn property(bytes: Vec<u8>, spare: u8) -> TestResult {
        let mut buffer = BytesMut::with_capacity(spare.into());
        let mut cursor = OutputCursor::new(&mut buffer, usize::MAX);
        cursor.put_few(false, &bytes).unwrap();
        cursor.put_few(true, &bytes).unwrap();
        cursor.put_around(b"<", &bytes, b"/>").unwrap();
        cursor.commit(true).unwrap();
        drop(cursor);
        TestResult::from_bool(buffer == [&bytes[..], b",", &bytes, b"<", &bytes, b"/>\n"].concat())
    }
    QuickCheck::new().quickcheck(property as fn(_, _) -> _);
    for len in 0..70 {
        assert!(!property((0..len).collect(), len).is_failure(), "{len} bytes");
    }
}

#[test]
fn a_line_feed_is_beyond_the_limit() {
    for (limit, expected) in [(5, "before"), (6, "before1\n"), (7, "before1\n")] {
        for line_feed in [true, false] {
            let mut buffer = BytesMut::from("before");
            let mut cursor = OutputCursor::new(&mut buffer, 1 + limit);
            cursor.put([b"1"]).unwrap();
            let done = cursor.commit(line_feed);
            drop(cursor);
            assert_eq!(done.is_ok(), limit > 5);
            assert_eq!(buffer, if line_feed { expected } else { expected.trim_end() });
        }
    }
}

#[test]
fn spliced_texts() {
    for len in [0, 1, 31, 32, 33, 64, 100] {
        let text: Vec<u8> = (0..len).collect();
        for start in 0..=text.len() {
            for end in start..=text.len() {
                for instead in [&b""[..], b"7", b"17", b"12345", b"a string of more than 32 bytes, in quotes"] {
                    let spare = start + end;
                    for line_feed in [true, false] {
                        let mut buffer = BytesMut::with_capacity(spare);
                        buffer.extend_from_slice(b"before");
                        append_spliced(&mut buffer, &text, start..end, instead, line_feed);
                        let line_end: &[u8] = if line_feed { b"\n" } else { b"" };
                        assert_eq!(buffer, [b"before", &text[..start], instead, &text[end..], line_end].concat());
                    }
                }
            }
        }
    }
}
