//! The id of a broken, too deep or too long line: the id of the true outermost object, or none.
//!
//! An answer with the wrong id settles another request. The tables show which flaws an id survives. The model makes
//! lines out of known parts, so it knows the true id without reading the line, and hides false ids in syntax that isn't
//! JSON.

use crate::common;

use common::Random;
use wireline::{Decoder, Frame, Rules};

/// Ids that the lines contain at places other than that of the outermost object's member.
const FALSE: [&str; 2] = ["5", "\"no\""];

/// The recovered id, which must not depend on how the line arrives. `None` if the line is a message.
///
/// `splits` says whether to try all places at which an oversized line can be cut in two.
fn recovered(line: &[u8], splits: bool) -> Option<Option<String>> {
    let fault = Frame::parse(line, &Rules::json_rpc()).err()?;
    let id = fault.id().map(|id| id.as_json().to_owned());
    if line.contains(&b'\n') {
        return Some(id);
    }
    let check = |limit: usize, end: &str, pieces: &[&[u8]]| {
        let mut decoder = Decoder::new(Rules::json_rpc().max_line_len(limit));
        // A byte order mark at the start of the stream would be skipped.
        decoder.feed(b"\n");
        for piece in pieces {
            decoder.feed(piece);
            assert!(decoder.next_frame().is_none());
        }
        end.bytes().for_each(|byte| decoder.feed(&[byte]));
        decoder.finish();
        let fault = decoder.next_frame().expect("a fault").expect_err("a fault");
        let found = fault.id().map(|id| id.as_json().to_owned());
        assert_eq!(found, id, "limit {limit}, end {end:?}, pieces {pieces:?}: {}", line.escape_ascii());
    };
    for end in ["\n", "\r\n", ""] {
        check(1 << 20, end, &[line]);
        check(8, end, &[line]);
        check(8, end, &line.chunks(1).collect::<Vec<_>>());
    }
    if splits {
        for at in 1..line.len() {
            check(8, "\r\n", &[&line[..at], &line[at..]]);
        }
    }
    Some(id)
}

/// The recovered id of a line that isn't a message.
fn id(line: impl AsRef<[u8]>) -> Option<String> {
    let line = line.as_ref();
    recovered(line, true).unwrap_or_else(|| panic!("a message: {}", line.escape_ascii()))
}

/// Flaws that are passed over: the id is read before and after them.
#[test]
fn survives_flaws_that_hide_nothing() {
    let deep = |levels: usize| format!("{}1{}", "[{\"a\":".repeat(levels), "}]".repeat(levels));
    let values: &[&[u8]] = &[
        b"[1,]",
        b"{\"a\":1,}",
        b"[,]",
        b"[1,,2]",
        b"{,\"a\":[[]],,}",
        b"01",
        b"[+1,.5,1.,1.5.2,0x1F,1_000,1e,2024-01-31]",
        b"[NaN,Infinity,-Infinity,nan,inf,-inf,undefined]",
        b"{\"a\":None,\"b\":True,\"c\":False}",
        b"\"\xff\"",
        b"\"caf\xe9\"",
        b"[\"\xed\xa0\x80\",\"\xe3\x81\"]",
        b"\"a\tb\"",
        br#""\x \' \u12g4 \u1""#,
        br#""\"quoted\" \d""#,
        br#"{"C:\dir":"C:\new\id"}"#,
        br#"[{"id":5,"x":NaN},{"id":5}]"#,
        br#"[",\"id\":5,",NaN]"#,
    ];
    let deep = [deep(70), deep(5000)];
    let values = values.iter().copied().chain(deep.iter().map(String::as_bytes));
    for value in values {
        let parts = |before: &str, after: &str| [before.as_bytes(), value, after.as_bytes()].concat();
        let lines = [
            parts(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":"#, "}"),
            parts(r#"{"jsonrpc":"2.0","id":7,"params":"#, r#","method":"m"}"#),
            parts(r#"{"jsonrpc":"2.0","method":"m","params":"#, r#","id":7}"#),
            parts(r#"{"params":"#, r#" , "i\u0064" : 7 ,}"#),
        ];
        for line in lines {
            let splits = line.len() < 500;
            let shown = line[..line.len().min(200)].escape_ascii();
            assert_eq!(recovered(&line, splits), Some(Some("7".into())), "{shown}");
        }
    }
}

/// An id before the place where a line stops being readable.
#[test]
fn an_id_that_was_complete_stands() {
    for rest in [
        "",
        "\"met",
        "\"method\"",
        "\"method\":",
        "\"method\":\"m\",\"params\":{\"a\":[1",
        "\"method\":\"m\",\"params\":{\"id\":5,\"a\":[1",
        "\"method\":\"m\",\"params\":\"\\\",\\\"id\\\":5,",
        "\"method\":\"m\",\"params\":['a']}",
        "\"method\":\"m\",\"params\":{a:1}}",
        "\"method\":\"m\",\"params\":[Date(1)]}",
        "\"method\":\"m\",\"params\":[1 2]}",
        "\"method\":\"m\",\"params\":[1}}",
        "\"method\":\"m\",\"params\":tru}",
        "\"method\":\"m\",\"params\":}",
        "\"method\":\"m\",\"params\":,\"x\":1}",
        "\"method\":\"m\" /* why */}",
        "\"method\":\"m\",\"params\":[\"a\0b\"]}",
        "\"method\":\"m\",\"params\":[\"a\rb\"]}",
        "\"method\":\"m\"} trailing",
        "\"method\":\"m\"}{\"method\":\"m\"}",
        "\"method\":\"m\"}{\"method\":\"m\",\"id\":8} {\"id\":9}",
        "\"method\":\"m\",\"identity\":'x',\"video\":\"_id\"}",
    ] {
        assert_eq!(id(format!(r#"{{"jsonrpc":"2.0","id":7,{rest}"#)).as_deref(), Some("7"), "{rest}");
    }
}

/// Syntax that isn't JSON with an id inside or after it.
#[test]
fn no_id_beyond_what_may_hide_structure() {
    for line in [
        r#"{"jsonrpc":"2.0","method":"m","note":'a,"id":5,b',"id":6}"#,
        r#"{"jsonrpc":"2.0","method":"m",/*"id":5,*/"id":6}"#,
        r#"{"jsonrpc":"2.0","method":"m","x":1,//"id":5,"id":6}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":`a,"id":5,b`,"id":6}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":Date(1,"id":5,2),"id":6}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":['],"id":5,['],"id":6}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":[/],"id":5,[/],"id":6}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":{'},"id":5,"x":{'},"id":6}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":hello,"id":5,"x":world}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":tru,"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":...,"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":--,"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":"""a","id":5,"b""","id":6}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":r"\","id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":"a" + "b","id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":"a "quoted" b","id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":[1},"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":{"a":1],"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":1],"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":[1,"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":(1),"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":["a":1],"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":{"a"},"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note":{a:1},"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m","note" 1,"id":5}"#,
        r#"{"jsonrpc":"2.0","method":"m" "id":5}"#,
        r#"{jsonrpc:"2.0","id":5}"#,
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"note\":\"a\r,\"id\":5}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"note\":\"a\n\",\"id\":5}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"note\":\"a\0\",\"id\":5}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"note\":\"\x1b$B\"\x1b(B\",\"id\":5}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\x0c\"id\":5}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\u{a0}\"id\":5}",
        // The sender doesn't escape backslashes: the second one may be the last character of its string.
        r#"{"method":"m","note":["C:\dir\",","],"id":5,"x":["","]}"#,
        r#"{"method":"m","note":"C:\dir","path":["\",","],"id":5,"x":["","]}"#,
    ] {
        assert_eq!(id(line), None, "{line}");
    }
    // In Shift JIS, the second byte of a character may be a backslash.
    assert_eq!(id(b"{\"method\":\"m\",\"note\":[\"\x95\\\",\",\"],\"id\":5,\"x\":[\"\",\"]}"), None);
    assert_eq!(id("{\"method\":\"m\",\"note\":[\"表\\\"\",NaN],\"id\":7}").as_deref(), Some("7"));
}

/// A second id, wherever it is and however it is spelled.
#[test]
fn no_id_that_may_occur_twice() {
    for rest in [
        r#""id":8}"#,
        r#""\u0069\u0064":8,"x":NaN}"#,
        r#""id""#,
        r#""id" 8}"#,
        r#""id"=8}"#,
        r#""x":'a',"id":8}"#,
        r#""x":'a',"\u0069d":8}"#,
        r#""x":'a',"i\u0064":8}"#,
        r#""x":'a','id':8}"#,
        r#""x":'a',id:8}"#,
        r#""x":'a',id"#,
        r#""x":'a',`id`:8}"#,
        r#""x":'a',"id"/**/:8}"#,
        r#""x":'a','\x69d':8}"#,
        r#""x":'a','i\d':8}"#,
        r#""x":'a','\151d':8}"#,
        r#""x":'a','\u{69}d':8}"#,
        r#""x":id:8}"#,
        r#""x":-id:8}"#,
        r#"id:8}"#,
        r#"'id':8}"#,
        r#""x":1}{"id":8"#,
        r#""x":1}{"id":8}]"#,
        r#""x":1}{"y":'"id":8'}"#,
        r#""x":1}"id":8}"#,
        // These names can't be read, and may be id.
        r#""\id":8}"#,
        r#""i\x64":8}"#,
        "\"id\0\":8}",
    ] {
        assert_eq!(id(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m",{rest}"#)), None, "{rest}");
    }
    assert_eq!(id(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"id\xff\":8}"), None);
}

/// A comma or a quote may belong to the id, and a bracket that is left over to an object around it.
#[test]
fn no_id_that_may_not_be_whole_or_outermost() {
    for line in [
        r#"{"id":1,000,"method":"m"}"#,
        r#"{"id":1,000}"#,
        r#"{"id":1, or 2,"method":"m"}"#,
        r#"{"id":"a","b","method":"m"}"#,
        r#"{"id":"a","b"}"#,
        r#"{"id":"a"b","method":"m"}"#,
        r#"{"id":1 000,"method":"m"}"#,
        r#"{"id":1/2,"method":"m"}"#,
        r#"{"id":1 "method":"m"}"#,
        r#"{"id":1"#,
        r#"{"id":"a","}"#,
        r#"{"id":1,"}"#,
        r#"{"id":"a""#,
        r#"{"method":"m","x":1,"id":5}}"#,
        r#"{"method":"m","x":1,"id":5,"y":2}}"#,
        r#"{"method":"m","x":1,"id":5,"y":2},"z":3}"#,
        r#"{"method":"m","x":1,"id":5,"y":2],"z":3}"#,
        r#"{"method":"m","x":1,"id":5,"y":2} ]"#,
        r#"{"method":"m","text":"a","id":5,"y":2," b"}"#,
        r#"{"method":"m","x":1,"id":5,"y":'a'},"z":3}"#,
        r#"{"method":"m","x":1,"id":5,"y":['a']}}"#,
        r#"{"method":"m","x":1,"id":5,"y":2} z }"#,
    ] {
        assert_eq!(id(line), None, "{line}");
    }
}

/// A line that may be a response isn't answered, even if `result` comes after the place where reading ended.
#[test]
fn a_response_is_never_answered() {
    for line in [r#"{"id":7,"x":'a',"result":"b"}"#, r#"{"id":7,"x":'a',"error":{}}"#] {
        for limit in [8, 1 << 20] {
            let fault = Frame::parse(line.as_bytes(), &Rules::json_rpc().max_line_len(limit)).unwrap_err();
            assert!(fault.is_response() && fault.reply().is_none(), "limit {limit}: {line}");
        }
    }
    let line = r#"{"id":7,"x":'a',"result":"b","method":"m"}"#;
    for limit in [8, 1 << 20] {
        let fault = Frame::parse(line.as_bytes(), &Rules::json_rpc().max_line_len(limit)).unwrap_err();
        assert!(!fault.is_response() && fault.id().is_some(), "limit {limit}: {line}");
    }
}

/// Random lines with values and comments in the syntax of other languages, and members called `id` in those.
#[test]
fn a_recovered_id_is_the_true_one() {
    let mut random = Random::new(27);
    let (mut faults, mut found) = (0, 0_usize);
    let rounds = common::times(2000);
    for round in 0..rounds {
        let (mut line, true_id) = line(&mut random, |random| random.below(3) == 0);
        if random.below(10) == 0 {
            let end = 1 + random.below(line.len());
            line.truncate((0..=end).rev().find(|&end| line.is_char_boundary(end)).unwrap_or(1));
        }
        let Some(id) = recovered(line.as_bytes(), round % 20 == 0) else { continue };
        if serde_json::from_str::<serde_json::Value>(&line).is_ok() {
            continue;
        }
        faults += 1;
        found += usize::from(id.is_some());
        assert!(id.is_none() || id.as_deref() == true_id, "recovered {id:?}, not {true_id:?}: {line}");
    }
    assert!(faults > rounds / 2 && found > faults / 20, "{found} ids in {faults} faults");
}

/// Random lines that have lost some bytes, or in which a byte was changed or added: no inner id becomes the line's.
#[test]
fn damage_brings_no_inner_id_to_light() {
    let mut random = Random::new(28);
    let mut found = 0_usize;
    let rounds = common::times(2000);
    for round in 0..rounds {
        let (mut line, _) = line(&mut random, |_| false);
        let (at, byte) = (random.below(line.len()), b"\"'\\,:{}[]/x1"[random.below(12)]);
        if !line.is_ascii() {
            continue;
        }
        match random.below(3) {
            0 => drop(line.drain(at..(at + 1 + random.below(30)).min(line.len()))),
            1 => line.insert(at, byte.into()),
            _ => line.replace_range(at..=at, str::from_utf8(&[byte]).unwrap()),
        }
        if line.is_empty() || serde_json::from_str::<serde_json::Value>(&line).is_ok() {
            continue;
        }
        let Some(id) = recovered(line.as_bytes(), round % 20 == 0) else { continue };
        found += usize::from(id.is_some());
        assert!(id.is_none_or(|id| !FALSE.contains(&&*id)), "{line}");
    }
    assert!(found > rounds / 20, "{found} ids");
}

/// A line, and the id of its outermost object. `is_foreign` says which values are in the syntax of other languages, and
/// where there are comments.
fn line(random: &mut Random, mut is_foreign: impl FnMut(&mut Random) -> bool) -> (String, Option<&'static str>) {
    const NAMES: [&str; 5] = ["\"jsonrpc\"", "\"method\"", "\"params\"", "\"note\"", "\"\""];
    let true_id = [None, Some("7"), Some("\"yes\""), Some("\"y\\\"es\"")][random.below(4)];
    let len = 1 + random.below(4);
    let mut members = Vec::new();
    for name in &NAMES[..len] {
        let value = if is_foreign(random) { foreign(random) } else { json(random, 2) };
        members.push(format!("{name}:{value}"));
    }
    if let Some(id) = true_id {
        let name = ["\"id\"", "\"id\"", "\"\\u0069d\""][random.below(3)];
        members.insert(random.below(len + 1), format!("{name}:{id}"));
    }
    for member in &mut members {
        if is_foreign(random) && random.below(5) == 0 {
            let comment = hidden(random);
            member.insert_str(0, &[format!("/*{comment}*/"), format!("<!--{comment}-->")][random.below(2)]);
        }
    }
    (format!("{{{}}}", members.join(",")), true_id)
}

/// Some JSON, with members called `id` where they don't count.
fn json(random: &mut Random, depth: usize) -> String {
    let false_id = FALSE[random.below(2)];
    match random.below(if depth == 0 { 4 } else { 7 }) {
        0 => ["1", "1", "01", "1.e", "+7"][random.below(5)].into(),
        1 => ["null", "NaN", "undefined", "[1,]", "\"\\x\""][random.below(5)].into(),
        2 => format!("\"{}\"", hidden(random).replace('\\', "\\\\").replace('"', "\\\"")),
        3 => "\"text\"".into(),
        4 => format!("[{},{}]", json(random, depth - 1), json(random, depth - 1)),
        5 => format!("{{\"id\":{false_id},\"x\":{}}}", json(random, depth - 1)),
        _ => format!("{{\"x\":{},\"id\":{false_id}}}", json(random, depth - 1)),
    }
}

/// A value in the syntax of another language, with a member called `id` hidden in it.
fn foreign(random: &mut Random) -> String {
    let hidden = hidden(random);
    match random.below(24) {
        0 => format!("'{hidden}'"),
        1 => format!("`{hidden}`"),
        2 => format!("/*{hidden}*/1"),
        3 => format!("1/*{hidden}*/"),
        4 => format!("[1,/*{hidden}*/2]"),
        5 => format!("Date({hidden})"),
        6 => format!("({hidden})"),
        7 => format!("['{hidden}']"),
        8 => format!("{{'a':'{hidden}'}}"),
        9 => format!("/{hidden}/g"),
        10 => format!("\"\"\"{hidden}\"\"\""),
        11 => format!("r#\"{hidden}\"#"),
        12 => format!("<a b={hidden}>"),
        13 => format!("hello {hidden} world"),
        14 => format!("new Map([{hidden}])"),
        15 => format!("\"a\" + f({hidden})"),
        16 => format!("$({hidden})"),
        17 => format!("%w[{hidden}]"),
        18 => format!("[1,'{hidden}',{{}}]"),
        19 => format!("q{{{hidden}}}"),
        20 => format!("\"a\r{hidden}\""),
        21 => format!("#{hidden}#"),
        22 => format!("\u{ab}{hidden}\u{bb}"),
        _ => format!("=>{hidden}<="),
    }
}

/// A text that shows a member called `id` to a reader that takes it for JSON.
fn hidden(random: &mut Random) -> String {
    const NAMES: [&str; 6] = ["\"id\"", "\"id\"", "\"i\\u0064\"", "\"\\u0069\\u0064\"", "'id'", "id"];
    const BEFORE: [&str; 12] =
        ["", ",", "a,", "1,", "\"a\",", "],", "},", "\",", "}],", "1],\"x\":1,", "'\"',", "a\",\"x\":1,"];
    const AFTER: [&str; 14] = [
        "",
        ",",
        ",b",
        ",2",
        ",\"b\"",
        ",[",
        ",{",
        ",\"",
        ",\"y\":[{",
        ",\"y\":1",
        ",\"y\":\"",
        ",\"y\":[",
        "}",
        ",\"y\":{\"",
    ];
    if random.below(3) == 0 {
        return ["a", "1", "\"a\"", "],[", "\",\"", "{a:1},{b:2}"][random.below(6)].into();
    }
    let (name, value) = (NAMES[random.below(6)], FALSE[random.below(2)]);
    format!("{}{name}:{value}{}", BEFORE[random.below(12)], AFTER[random.below(14)])
}
