//! Compares every implementation with the byte-by-byte walk and serde_json.
//!
//! The scanner accepts the same texts as serde_json does when it skips over them. Decoding is stricter: serde_json then
//! rejects strings with lone surrogates, numbers beyond the range of `f64`, and nesting deeper than 127. The scanner's
//! limit for nesting is 1024, or lower if the rules say so.

mod recorded;

use quickcheck::{Arbitrary, Gen, QuickCheck};

use super::super::explain::{SyntaxError, SyntaxErrorKind, explain};
use super::super::{is_blank, kernel};
use super::*;

/// Whether serde_json can skip over the text. Skipping doesn't decode strings, so it accepts lone surrogates as the
/// scanner does. It also ignores non-ASCII bytes, so UTF-8 is validated separately.
fn oracle(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok() && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

#[derive(Default, Debug, PartialEq)]
struct Collected(Vec<(Vec<u8>, Vec<u8>)>);

impl Members for Collected {
    fn member(&mut self, text: &[u8], member: Member) {
        let (key, value) = member.key_and_value(text);
        assert!(member.may_have_blanks || (key.start(), value.end()) == (member.span.start(), member.span.end()));
        assert!(!member.may_have_blanks || text.iter().any(|&byte| is_blank(byte)));
        self.0.push((key.of(text).to_vec(), value.of(text).to_vec()));
    }
}

/// The implementations that this machine supports.
fn scanners() -> impl Iterator<Item = Scanner> {
    let by_cpu = Cpu::ALL.into_iter().filter_map(Scanner::new);
    #[cfg(target_arch = "x86_64")]
    let by_cpu = by_cpu.chain(cpu::avx2::Avx2::detect().map(Scanner::Avx2WithoutGather));
    by_cpu
}

fn check_escapes(text: &[u8], scanned: Scanned, members: Collected) -> (Root, Collected) {
    assert_eq!(scanned.len, text.len());
    assert_eq!(scanned.flags.has_escapes(), text.contains(&b'\\'));
    assert_eq!(scanned.flags.has_controls(), text.iter().any(|&byte| byte < b' '));
    (scanned.root, members)
}

/// Scans the text with all implementations that this machine supports, which must agree.
#[track_caller]
fn verdict(text: &[u8]) -> Option<(Root, Collected)> {
    let scan = |scanner: Scanner, input: Input<'_>| {
        let mut members = Collected::default();
        scanner.scan(input, DEEPEST, &mut members).map(|scanned| check_escapes(text, scanned, members))
    };
    let mut verdicts = scanners().map(|scanner| {
        let verdict = scan(scanner, text.into());
        // Scanned as the start of a buffer, the result must be the same regardless of the bytes after the text.
        for after in [b"\"]}1,\\\xff\x00\n".as_slice(), b"\"\\,1}".repeat(BLOCK / 4).as_slice()] {
            let buffer = [text, after].concat();
            let as_start = scan(scanner, Input::first_bytes_of(&buffer, text.len()));
            assert_eq!(as_start, verdict, "{scanner:?} on {:?}", String::from_utf8_lossy(&buffer));
        }
        if !text.contains(&b'\n') {
            // Scanned as a line, the result must be the same regardless of the bytes after the line.
            let junk = b"\n\n{\"a\":[1,\"\xff\x00\\".repeat(7);
            let after = [&b""[..], b"\n", b"\n\"]}\\", &junk][text.len() % 4];
            let line = [text, after].concat();
            let as_line = scan(scanner, Input::first_line(&line));
            assert_eq!(as_line, verdict, "{scanner:?} on {:?}", String::from_utf8_lossy(&line));
        }
        (scanner, verdict)
    });
    let (_, first) = verdicts.next().unwrap();
    for (scanner, other) in verdicts {
        assert_eq!(first, other, "{scanner:?} on {:?}", String::from_utf8_lossy(text));
    }
    first
}

#[track_caller]
fn check(text: &[u8]) -> bool {
    let accepted = verdict(text).is_some();
    assert_eq!(accepted, oracle(text), "serde_json on {:?}", String::from_utf8_lossy(text));
    let error = explain(text, DEEPEST);
    assert_eq!(accepted, error.is_none(), "{error:?} on {:?}", String::from_utf8_lossy(text));
    assert!(error.is_none_or(|error| error.at <= text.len()));
    accepted
}

/// Checks `text` at each position within a block, and at some in the next one.
#[track_caller]
fn check_everywhere(text: &[u8]) -> bool {
    let accepted = check(text);
    for blanks in (1..BLOCK).chain([64, 100, 127]) {
        let mut moved = vec![b' '; blanks];
        moved.extend_from_slice(text);
        assert_eq!(check(&moved), accepted, "after {blanks} blanks: {:?}", String::from_utf8_lossy(text));
    }
    accepted
}

const BLOCK: usize = super::cpu::BLOCK;

#[test]
#[rustfmt::skip]
fn accepts_what_is_json() {
    for text in [
        "{}", "[]", "\"\"", "0", "-0", "true", "false", "null", " \t\r\n{ \t\r\n} \t\r\n", "[1,2,3]",
        "[ 1 , 2 , 3 ]", "[[],[[]],{}]", r#"{"a":1}"#, r#"{ "a" : [ ] , "b" : { } }"#, r#"{"":""}"#,
        r#"{"a":{"b":{"c":[1,{"d":"e"},"f"]}}}"#, r#"["a","b"]"#, r#"{"a":"b","c":"d"}"#,
        r#"["\"\\\/\b\f\n\r\t\u0000\uABCD\uabcd"]"#, r#"["\\\\","\\\"","\\"]"#, r#""\ud800""#, r#""\udc00\ud800""#,
        "0.5", "-1.25e+10", "1E-2", "1e5", "10", "100.5", "-100", "1e100", "-1.001e-001", "1000000000000000000000000000000", "0e0", "-0.0", "9.0E+0",
        "[true,false,null]", "[true,12,null,0]", "[1.5,true,-20]",
        "\"\u{7f}\"", "\"\u{2028}\u{2029}\u{85}\"", "\"\u{10ffff}\u{e000}\u{800}\u{80}\"",
        "[\"a\",[\"b\",{\"c\":[]}],1,\"d\"]",
    ] {
        assert!(check_everywhere(text.as_bytes()), "{text}");
    }
}

#[test]
#[rustfmt::skip]
fn rejects_what_is_not() {
    for text in [
        "", " ", "{", "}", "[", "]", ",", ":", "\"", "\\", "{]", "[}", "{}}", "[]]", "{}{}", "[][]", "1 2", "{} x",
        "[],[]", "{},{}", "[]],[[]", "1]]]", "1]],[[1", "[],1", "1,[]",
        "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[1:2]", "{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}",
        "{\"a\",1}", "{\"a\"]", "{\"a\":1 \"b\":2}", "{\"a\":\"b\":\"c\"}", "{\"a\"::1}", "[\"a\":1]", "{\"a\":1,2}",
        "{\"a\":1,[]}", "{[]:1}", "\"a\":1", "1,2", "\"a\",\"b\"", "[\"a\" \"b\"]", "[\"a\"1]", "[1\"a\"]",
        "[true\"a\"]", "[{}[]]", "{\"a\":1]", "[\"a\"}", "{\"a\" 1}", "{\"a\":1:2}", "[[1,\"b\":2]]",
        "{\"a\":[1,\"b\":2]}", "{\"a\":{\"b\",1}}", "01", "-", "-a", "+1", ".5", "1.", "1.e5", "1e", "1e+", "1.2.3",
        "1e5.2", "1e5e6", "00", "-01", "0x10", "1a", "--1", "1-", "1-2", "1+2", "1e--5", "1e5-", "1e5+1", "0e",
        "1.2e3.4", "1.2e3e4", "1ee5", "-.5", "-e5", "1..2", "0.e1", "tru", "truee", "true1", "1true", "nul", "NULL",
        "[true,01]", "[null,00]", "[false,1.5,01]",
        "True", "falsee", "nulll", "truefalse", "NaN", "Infinity", "-Infinity", "-NaN", "t", "n", "f", "e5", "E",
        "undefined", "'a'", "\"\\x\"", "\"\\\"", "\"\\u\"", "\"\\u12\"", "\"\\u123\"", "\"\\u123g\"", "\"\\U1234\"",
        "\"\\ \"", "\"\t\"", "\"\n\"", "\"\u{0}\"", "\"\u{1f}\"", "\\\"a\\\"", "[\\\"a\"]", "{\"a\\\":1}", "\u{0}",
        "{}\u{0}", "\u{c}1", "\u{a0}1", "\u{feff}1", "é", "[é]", "1\u{2028}", "/*x*/1",
    ] {
        assert!(!check_everywhere(text.as_bytes()), "{text}");
    }
}

#[test]
fn every_short_text() {
    // All texts of up to four of these bytes, or five with `WIRELINE_TIMES`, which include each pair and triple of tokens.
    // Each is checked at the beginning of a block and across the end of one.
    let longest = if std::env::var_os("WIRELINE_TIMES").is_some() { 5 } else { 4 };
    let alphabet = b"{}[]:,\"\\1-.eu 0t";
    let mut text = Vec::new();
    for len in 0..=longest {
        for n in 0..alphabet.len().pow(len) {
            text.clear();
            text.extend((0..len).map(|i| alphabet[n / alphabet.len().pow(i) % alphabet.len()]));
            check(&text);
            if len > 1 {
                let mut moved = vec![b' '; BLOCK - len as usize / 2];
                moved.extend_from_slice(&text);
                check(&moved);
            }
        }
    }
}

#[test]
fn every_short_text_within_containers() {
    let alphabet = b"{}[]:,\"1 ";
    for (before, after) in [("{\"a\":", "}"), ("[1,", "]"), ("[", ",2]"), ("{\"a\":[", "]}"), ("[{\"k\":1,", "}]")] {
        for n in 0..alphabet.len().pow(5) {
            let inner = (0..5).map(|i| alphabet[n / alphabet.len().pow(i) % alphabet.len()]);
            let text: Vec<u8> = before.bytes().chain(inner).chain(after.bytes()).collect();
            check(&text);
        }
    }
}

#[test]
fn every_escape_at_every_place() {
    for byte in 0..=u8::MAX {
        for at in 40..70 {
            let mut text = vec![b'x'; at];
            text[0] = b'"';
            text.extend_from_slice(&[b'\\', byte, b'1', b'2', b'a', b'F']);
            // In the last block of a string, and in the middle of a longer one.
            check(&[&text[..], b"\""].concat());
            check(&[&text[..], &[b'y'; 2 * BLOCK], b"\""].concat());
        }
    }
    // Runs of backslashes at each position, up to more than two blocks long.
    for start in 1..70 {
        for run in 0..140 {
            let mut text = vec![b'x'; start];
            text[0] = b'"';
            text.extend(std::iter::repeat_n(b'\\', run));
            text.extend_from_slice(b"\"");
            assert_eq!(check(&text), run % 2 == 0, "{start} {run}");
        }
    }
    for cut in 0..6 {
        for at in 50..70 {
            let mut text = vec![b'x'; at];
            text[0] = b'"';
            text.extend_from_slice(&br"\u00e9"[..cut]);
            text.extend_from_slice(b"\"");
            check(&text);
        }
    }
    for wrong in 2..6 {
        for at in 50..70 {
            let mut text = vec![b'x'; at];
            text[0] = b'"';
            text.extend_from_slice(br#"\u00e9""#);
            text[at + wrong] = b'g';
            assert!(!check(&text));
        }
    }
}

/// Whole blocks inside a string with escapes are skipped in a separate loop.
#[test]
#[rustfmt::skip]
fn long_strings_with_escapes() {
    let pieces: [&[u8]; 11] = [
        br"\\\\", br"\\", br"\n", br#"\""#, br"\u00e9", br"\u00g9", br"\x", b"\xc3\xa9", b"\xff", b"\xe2\x82", b"\x1f",
    ];
    // With escapes in each block, or only in the first one.
    for (piece, filler) in pieces.into_iter().flat_map(|piece| [(piece, &b"xy"[..]), (piece, br"\t")]) {
        for at in 0..2 * BLOCK {
            let before = [&br#""\n"#[..], &filler.repeat(BLOCK), &vec![b'z'; at]].concat();
            check(&[&before, piece, &filler.repeat(BLOCK), b"\""].concat());
        }
    }
}

/// State carried over a block without numbers is neither lost nor used twice.
#[test]
#[rustfmt::skip]
fn numbers_around_a_block_without_any() {
    let before = ["0", "-0", "12", "-", "1.", "1.5", "1e", "1e+", "1e5", "-1.5E-2", "true", "null", "nul", "t", ""];
    let after = ["5", "05", "-5", ".5", "e5", "+5", "-", "false", "e", "", "\"x\""];
    for (before, after) in before.iter().flat_map(|before| after.iter().map(move |after| (before, after))) {
        for end in 61..67 {
            for separator in [",", " ", ",\"x\",", ":"] {
                let mut text = "[".to_owned() + &" ".repeat(end - 1 - before.len()) + before + separator;
                text += &" ".repeat(2 * BLOCK - text.len());
                text += after;
                check((text + "]").as_bytes());
            }
        }
    }
}

#[test]
fn one_byte_over_and_over() {
    for byte in 0..=u8::MAX {
        for len in [63, 64, 65, 128, 130] {
            check(&vec![byte; len]);
        }
    }
}

#[test]
fn every_control_character() {
    for byte in 0..0x20 {
        for at in [1, 5, 31, 32, 62, 63, 64, 65, 130, 200] {
            let mut text = vec![b'x'; 300];
            text[0] = b'"';
            text[at] = byte;
            text.push(b'"');
            assert!(!check(&text));
        }
    }
}

#[test]
fn utf8_at_every_place() {
    let sequences: &[&[u8]] = &[
        b"\xc3\xa9",
        b"\xe2\x82\xac",
        b"\xf0\x9f\x98\x80",
        b"\xf4\x8f\xbf\xbf",
        b"\xed\x9f\xbf",
        b"\xee\x80\x80",
        // Overlong, surrogates, beyond U+10FFFF, stray continuations, truncated.
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x80\x80",
        b"\xe0\x9f\xbf",
        b"\xf0\x80\x80\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xff",
        b"\xfe",
        b"\x80",
        b"\xbf",
        b"\xc3",
        b"\xe2\x82",
        b"\xe2",
        b"\xf0\x9f\x98",
        b"\xf0\x9f",
        b"\xf0",
        b"\xc3\xa9\xa9",
        b"\xc3\xc3\xa9",
    ];
    for sequence in sequences {
        for at in 1..200 {
            let mut text = vec![b'x'; at];
            text[0] = b'"';
            text.extend_from_slice(sequence);
            let mut closed = text.clone();
            closed.push(b'"');
            check(&closed);
            text.resize(at + 150, b'y');
            text.push(b'"');
            check(&text);
        }
        check(sequence);
    }
}

#[test]
fn tokens_across_block_boundaries() {
    let text = r#"{"key":"va\"l\\ue","n":[-12.5e+10,0,true,false,null,{"k\u0041":[]}],"é":"\ud83d\ude00"}"#.as_bytes();
    for filler in 0..140 {
        for glue in [" ", "\"long\",", "1,[],"] {
            let mut moved = b"[".to_vec();
            while moved.len() < filler {
                moved.extend_from_slice(glue.as_bytes());
            }
            moved.extend_from_slice(text);
            moved.push(b']');
            assert!(check(&moved));
            for broken in [b'x', b'"', b',', b']', b'\\'] {
                for at in (0..moved.len()).step_by(3) {
                    let mut text = moved.clone();
                    text[at] = broken;
                    check(&text);
                }
            }
        }
    }
}

/// Tokens are checked in groups of 64, and each group begins with the last two tokens of the previous one. Wrong tokens
/// must be detected wherever a group ends.
#[test]
fn tokens_across_groups() {
    for unit in
        ["1,", "[],", "{},", "\"a\",", "[[{}]],", "{\"a\":1,\"b\":[2]},", "\"a long string of more than that\",1 , "]
    {
        let tokens = unit.bytes().filter(|byte| b"{}[]:,".contains(byte)).count() + 1;
        for count in (50 / tokens)..(140 / tokens) {
            let text = ["[", &unit.repeat(count), "0]"].concat().into_bytes();
            assert!(check(&text));
            let mut text = text;
            for at in (0..text.len()).rev().take((6 * unit.len()).min(60)) {
                for wrong in [b',', b':', b'[', b']', b'{', b'}', b'"', b' ', b'1'] {
                    let right = std::mem::replace(&mut text[at], wrong);
                    check(&text);
                    text[at] = right;
                }
            }
        }
    }
}

/// Wrong tokens must also be detected if a group ends because its tokens come from eight blocks.
#[test]
fn few_tokens_in_many_blocks() {
    let long = ["\"", &"x".repeat(100), "\""].concat();
    for blanks in [0, 1, 60, 70] {
        for count in 1..14 {
            let member = [&long, &" ".repeat(blanks), ":", &" ".repeat(blanks), "[1]"].concat();
            let text = ["{", &vec![member; count].join(","), "}"].concat();
            assert_eq!(verdict(text.as_bytes()).unwrap().1.0.len(), count);
            for (at, _) in text.match_indices([':', ',', '{', '}', '[', ']']) {
                for wrong in [",", ":", "]", "}", "[", "{", ""] {
                    let mut text = text.clone();
                    text.replace_range(at..=at, wrong);
                    check(text.as_bytes());
                }
            }
        }
    }
}

/// Brackets that are opened and closed in different groups, correctly and incorrectly.
#[test]
fn brackets_across_groups() {
    for depth in [1, 2, 20, 21, 22, 40, 61, 62, 63, 64, 65, 66, 100, 130, 200] {
        for kinds in [0_u64, !0, 0x5555_5555_5555_5555, 0xf731_96a5_c0de_1234] {
            let is_object = |level: usize| kinds >> (level % 64) & 1 != 0;
            let mut text = Vec::new();
            for level in 0..depth {
                text.extend_from_slice(if is_object(level) { b"{\"a\":" } else { b"[" });
            }
            text.push(b'1');
            let middle = text.len();
            for level in (0..depth).rev() {
                if level % 7 == 3 {
                    text.extend_from_slice(if is_object(level) { b",\"b\":{\"c\":[]}" } else { b",[{}],2" });
                }
                text.push(if is_object(level) { b'}' } else { b']' });
            }
            assert!(check(&text));
            let brackets: Vec<_> = (middle..text.len()).filter(|&at| b"}]".contains(&text[at])).collect();
            for at in brackets {
                for wrong in b"}],:[1" {
                    let right = std::mem::replace(&mut text[at], *wrong);
                    check(&text);
                    text[at] = right;
                }
            }
        }
    }
}

#[test]
fn depth() {
    for depth in [1_u32, 2, 63, 64, 65, 127, 128, 129, 192, 1023, 1024] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let inner = if open == "[" { "" } else { "1" };
            let text = [open.repeat(depth as usize), inner.into(), close.repeat(depth as usize)].concat();
            for scanner in scanners() {
                assert!(scanner.scan(text.as_bytes().into(), depth, &mut ()).is_some(), "{depth}");
                assert!(scanner.scan(text.as_bytes().into(), depth - 1, &mut ()).is_none(), "{depth}");
            }
            assert_eq!(explain(text.as_bytes(), depth), None);
            let at = open.len() * (depth as usize - 1);
            assert_eq!(explain(text.as_bytes(), depth - 1), Some(SyntaxError { kind: SyntaxErrorKind::TooDeep, at }));
        }
    }
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    for scanner in scanners() {
        assert_eq!(scanner.scan(deep.as_bytes().into(), DEEPEST, &mut ()), None);
    }
    assert_eq!(explain(deep.as_bytes(), DEEPEST), Some(SyntaxError { kind: SyntaxErrorKind::TooDeep, at: 1024 }));
}

#[test]
fn members_and_elements() {
    let member = |key: &str, value: &str| (key.into(), value.into());
    for (text, root, members) in [
        ("{}", Root::Object, vec![]),
        (" { } ", Root::Object, vec![]),
        (r#"{"a":1}"#, Root::Object, vec![member("\"a\"", "1")]),
        (
            " {\t\"a\" : [ 1 , 2 ] , \"\\u0061\":{\"c\":{}}\t,\"\" : \"x,y:z}\" } ",
            Root::Object,
            vec![member("\"a\"", "[ 1 , 2 ]"), member("\"\\u0061\"", "{\"c\":{}}"), member("\"\"", "\"x,y:z}\"")],
        ),
        ("[]", Root::Array { len: 0 }, vec![]),
        ("[ ]", Root::Array { len: 0 }, vec![]),
        ("[[]]", Root::Array { len: 1 }, vec![]),
        (r#"[1,{"a":[1,2]},"b"]"#, Root::Array { len: 3 }, vec![]),
        ("\"x\"", Root::Scalar, vec![]),
        ("17", Root::Scalar, vec![]),
    ] {
        for blanks in 0..130 {
            let moved = " ".repeat(blanks) + text;
            assert_eq!(verdict(moved.as_bytes()), Some((root, Collected(members.clone()))), "{moved}");
            // With depth limits near the actual depth.
            for (scanner, max_depth) in scanners().flat_map(|scanner| (3..8).map(move |depth| (scanner, depth))) {
                let mut found = Collected::default();
                let scanned = scanner.scan(moved.as_bytes().into(), max_depth, &mut found);
                assert_eq!(scanned.map(|scanned| scanned.root), Some(root), "{scanner:?} {max_depth} {moved}");
                assert_eq!(found.0, members, "{scanner:?} {max_depth} {moved}");
            }
        }
    }
}

/// Bytes that look like JSON more often than not.
#[derive(Clone, Debug)]
struct Jsonish(Vec<u8>);

impl Arbitrary for Jsonish {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut text = Vec::new();
        value(g, 4, &mut text);
        // Sometimes replace, remove or double a few bytes.
        if bool::arbitrary(g) {
            for _ in 0..usize::arbitrary(g) % 3 {
                let at = usize::arbitrary(g) % text.len();
                match u8::arbitrary(g) % 4 {
                    0 => text[at] = u8::arbitrary(g),
                    1 => text[at] = *g.choose(b"{}[]:,\"\\ 0-.e\xc3").unwrap(),
                    2 if text.len() > 1 => drop(text.remove(at)),
                    _ => text.insert(at, text[at]),
                }
            }
        }
        Self(text)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        Box::new(self.0.shrink().map(Self))
    }
}

fn value(g: &mut Gen, depth: usize, text: &mut Vec<u8>) {
    let blanks = |g: &mut Gen, text: &mut Vec<u8>| {
        if u8::arbitrary(g) % 4 == 0 {
            text.extend(std::iter::repeat_n(*g.choose(b" \t\r\n").unwrap(), usize::arbitrary(g) % 80));
        }
    };
    let string = |g: &mut Gen, text: &mut Vec<u8>| {
        text.push(b'"');
        for _ in 0..usize::arbitrary(g) % 12 {
            match u8::arbitrary(g) % 8 {
                0 => {
                    text.extend_from_slice(g.choose(&[&b"\\\\"[..], b"\\\"", b"\\n", b"\\u00e9", b"\\ud800"]).unwrap());
                }
                1 => text.extend_from_slice(char::arbitrary(g).to_string().replace(['"', '\\'], "").as_bytes()),
                2 => text.extend(std::iter::repeat_n(b'x', usize::arbitrary(g) % 300)),
                _ => text.extend_from_slice(b"word "),
            }
        }
        text.retain(|&byte| byte >= 0x20 || matches!(byte, b'\t' | b'\r' | b'\n'));
        text.push(b'"');
    };
    blanks(g, text);
    match u8::arbitrary(g) % if depth == 0 { 4 } else { 7 } {
        0 | 1 => string(g, text),
        2 => text.extend_from_slice(
            g.choose(&[&b"0"[..], b"-0", b"1", b"1234567890123", b"-1.5e+300", b"0.001", b"1E5", b"01", b"1."])
                .unwrap(),
        ),
        3 => text.extend_from_slice(g.choose(&[&b"true"[..], b"false", b"null", b"nul"]).unwrap()),
        4 | 5 => {
            text.push(b'{');
            for i in 0..usize::arbitrary(g) % 5 {
                if i > 0 {
                    text.push(b',');
                }
                blanks(g, text);
                string(g, text);
                blanks(g, text);
                text.push(b':');
                value(g, depth - 1, text);
            }
            text.push(b'}');
        }
        _ => {
            text.push(b'[');
            for i in 0..usize::arbitrary(g) % 8 {
                if i > 0 {
                    text.push(b',');
                }
                value(g, depth - 1, text);
            }
            text.push(b']');
        }
    }
    blanks(g, text);
}

#[test]
fn random_texts() {
    fn property(Jsonish(text): Jsonish) -> bool {
        check(&text);
        true
    }
    QuickCheck::new().tests(20_000).quickcheck(property as fn(Jsonish) -> bool);
}

/// Reads a fixed opening ahead.
struct Ahead {
    opening: &'static str,
    others: Collected,
}

impl Members for Ahead {
    fn member(&mut self, text: &[u8], member: Member) {
        self.others.member(text, member);
    }

    fn opening<'a>(&mut self, opening: Opening<'a>, _: bool) -> Opening<'a> {
        opening.literal(self.opening).unwrap()
    }
}

/// If the scan begins after known members, only the remaining members are reported.
#[test]
fn random_texts_after_known_members() {
    fn property(Jsonish(rest): Jsonish, whole: bool) -> bool {
        let known = r#"{"a":[1,2],"b":"c","#;
        let end: &[u8] = if whole { b":1}" } else { b"" };
        let text = [known.as_bytes(), &rest[..], end].concat();
        for scanner in scanners() {
            let mut all = Collected::default();
            let input = Input::from(&text[..]);
            let scanned = scanner.scan(input, DEEPEST, &mut all);
            for (opening, members) in [("", 0), ("{", 0), (known, 2)] {
                let mut others = Ahead { opening, others: Collected::default() };
                assert_eq!(scanner.scan(input.reading_ahead(), DEEPEST, &mut others), scanned);
                assert!(scanned.is_none() || all.0[members..] == others.others.0);
                assert_eq!(scanner.scan(input.reading_ahead(), 0, &mut others), None);
            }
        }
        true
    }
    QuickCheck::new().tests(20_000).quickcheck(property as fn(Jsonish, bool) -> bool);
}

#[test]
fn random_members() {
    use serde_json::value::RawValue;
    fn property(Jsonish(text): Jsonish) -> bool {
        // serde_json gives the members with their order and spelling through a map visitor over raw values.
        struct Pairs(Vec<(String, String)>);
        impl<'de> serde::Deserialize<'de> for Pairs {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = Pairs;
                    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                        let mut pairs = Vec::new();
                        while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                            pairs.push((key, value.get().to_owned()));
                        }
                        Ok(Pairs(pairs))
                    }
                }
                deserializer.deserialize_map(Visitor)
            }
        }
        let Some((Root::Object, Collected(members))) = verdict(&text) else { return true };
        let Ok(Pairs(expected)) = serde_json::from_slice::<Pairs>(&text) else { return true };
        let members: Vec<_> = members
            .into_iter()
            .map(|(key, value)| (serde_json::from_slice::<String>(&key).unwrap(), String::from_utf8(value).unwrap()))
            .collect();
        assert_eq!(members, expected);
        true
    }
    QuickCheck::new().tests(20_000).quickcheck(property as fn(Jsonish) -> bool);
}

#[test]
fn one_implementation_runs_anywhere() {
    assert!(Scanner::new(Cpu::Portable).is_some());
    assert_eq!(Scanner::new(Cpu::Neon).is_some(), cfg!(all(target_arch = "aarch64", target_endian = "little")));
    assert_eq!(Scanner::new(Cpu::Simd128).is_some(), cfg!(all(target_arch = "wasm32", target_feature = "simd128")));
    let available: Vec<_> = Cpu::ALL.into_iter().filter(|cpu| Scanner::new(*cpu).is_some()).collect();
    assert!(available.iter().all(|&cpu| scanners().any(|scanner| Scanner::new(cpu) == Some(scanner))));
    assert_eq!(Scanner::new(available[0]), Some(kernel::current().scanner));
}

/// Returns the opening of a different text.
struct Elsewhere;

impl Members for Elsewhere {
    fn member(&mut self, _: &[u8], _: Member) {}

    fn opening<'a>(&mut self, _: Opening<'a>, _: bool) -> Opening<'a> {
        Opening::of(br#"{"a":"b","#).literal(r#"{"a":"b","#).unwrap()
    }
}

#[test]
fn the_opening_of_another_text_is_ignored() {
    for scanner in scanners() {
        for (text, is_json) in
            [(&b"{\"a\":\"\xff\",\"c\":1}"[..], false), (b"[[[[[[[[[\"c\":1}", false), (b"[1,2,3,4,5,6]", true)]
        {
            let found = scanner.scan(Input::from(text).reading_ahead(), DEEPEST, &mut Elsewhere);
            assert_eq!(found.is_some(), is_json, "{scanner:?} on {}", text.escape_ascii());
        }
    }
}
