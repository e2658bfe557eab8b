//! Dynamic payloads: what simd-json's tape and value say, compared with serde_json's `Value`.
#![cfg(feature = "simd-json")]

use allocation_counter::measure;
use serde_json::Value;
use wireline::dom::Parser;
use wireline::dom::simd_json::prelude::*;
use wireline::dom::simd_json::{BorrowedValue, StaticNode, ValueType, tape};
use wireline::{Encoder, Id, RawJson, Rules};

use crate::common;

/// What a number is: an integer, or the bits of a float.
#[derive(Debug, PartialEq)]
enum Number {
    Integer(i128),
    Float(u64),
}

/// A value, compared exactly: floats by their bits, and objects by every member that they list.
#[derive(Debug, PartialEq)]
enum Exact {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Exact>),
    /// Sorted by name.
    Object(Vec<(String, Exact)>),
}

fn object(members: impl Iterator<Item = (String, Exact)>) -> Exact {
    let mut members: Vec<_> = members.collect();
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    Exact::Object(members)
}

fn scalar(node: StaticNode) -> Exact {
    match node {
        StaticNode::Null => Exact::Null,
        StaticNode::Bool(value) => Exact::Bool(value),
        StaticNode::I64(value) => Exact::Number(Number::Integer(value.into())),
        StaticNode::U64(value) => Exact::Number(Number::Integer(value.into())),
        StaticNode::F64(value) => Exact::Number(Number::Float(value.to_bits())),
    }
}

fn of_serde_json(value: &Value) -> Exact {
    match value {
        Value::Null => Exact::Null,
        Value::Bool(value) => Exact::Bool(*value),
        Value::Number(number) => Exact::Number(match number.as_i128() {
            Some(integer) => Number::Integer(integer),
            None => Number::Float(number.as_f64().unwrap().to_bits()),
        }),
        Value::String(text) => Exact::String(text.clone()),
        Value::Array(elements) => Exact::Array(elements.iter().map(of_serde_json).collect()),
        Value::Object(members) => object(members.iter().map(|(name, value)| (name.clone(), of_serde_json(value)))),
    }
}

fn of_tape(value: tape::Value<'_, '_>) -> Exact {
    if let Some(elements) = value.as_array() {
        return Exact::Array(elements.iter().map(of_tape).collect());
    }
    if let Some(members) = value.as_object() {
        // Looking up a member and iterating lead to the same value.
        let member = |(name, value): (&str, tape::Value<'_, '_>)| {
            let found = of_tape(members.get(name).unwrap());
            assert_eq!(found, of_tape(value));
            (name.to_owned(), found)
        };
        return object(members.iter().map(member));
    }
    if let Some(text) = value.as_str() {
        return Exact::String(text.to_owned());
    }
    scalar(match value.value_type() {
        ValueType::Null => StaticNode::Null,
        ValueType::Bool => StaticNode::Bool(value.as_bool().unwrap()),
        ValueType::I64 => StaticNode::I64(value.as_i64().unwrap()),
        ValueType::U64 => StaticNode::U64(value.as_u64().unwrap()),
        ValueType::F64 => StaticNode::F64(value.as_f64().unwrap()),
        other => panic!("unexpected {other:?}"),
    })
}

fn of_borrowed(value: &BorrowedValue<'_>) -> Exact {
    match value {
        BorrowedValue::Static(node) => scalar(*node),
        BorrowedValue::String(text) => Exact::String(text.to_string()),
        BorrowedValue::Array(elements) => Exact::Array(elements.iter().map(of_borrowed).collect()),
        BorrowedValue::Object(members) => {
            object(members.iter().map(|(name, value)| (name.to_string(), of_borrowed(value))))
        }
    }
}

/// Checks that a document is what serde_json reads, or that both refuse the text. Returns whether it was read.
fn check(parser: &mut Parser, text: &str) -> bool {
    let json = RawJson::parse(text.as_bytes()).unwrap();
    match (parser.parse(&json), serde_json::from_str::<Value>(text)) {
        (Ok(document), Ok(value)) => {
            let expected = of_serde_json(&value);
            assert_eq!(of_tape(document.as_value()), expected, "{text}");
            assert_eq!(of_borrowed(&document.to_borrowed_value()), expected, "{text}");
            true
        }
        (Err(_), Err(_)) => false,
        (document, value) => panic!("{document:?}, but {value:?}: {text}"),
    }
}

#[test]
fn hostile_values_are_what_serde_json_reads() {
    let many = |count: usize, repeated: &str| {
        let members: Vec<_> = (0..count).map(|i| format!(r#""key {i}":{i}"#)).collect();
        format!(r#"{{{},"{repeated}":-1}}"#, members.join(","))
    };
    let mut texts: Vec<String> = [
        // Integers at and beyond 64 bits.
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "-18446744073709551615",
        "-18446744073709551616",
        "123456789012345678901234567890",
        "340282366920938463463374607431768211456",
        "-340282366920938463463374607431768211456",
        "[999999999999999999,1000000000000000000,-999999999999999999]",
        // Zeros.
        "0",
        "-0",
        "-0.0",
        "0.0",
        "-0e5",
        "0e400",
        "-0e-400",
        r#"{"a":-0,"b":[-0,0,-0.0]}"#,
        // Rounding, the smallest and the largest.
        "0.1",
        "0.6046602879796196",
        "9007199254740993.0",
        "1.00000000000000011102230246251565404236316680908203125",
        "2.2250738585072011e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.797693134862315807e308",
        "1e308",
        "1e-400",
        "1e-99999999999999999999",
        "123456789012345678901234567890.5e-10",
        "0.000000000000000000000000000000000000001234567890123456789",
        "1E5",
        "1e+5",
        // Repeated members, spelled alike or not.
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"b":2,"\u0061":3}"#,
        r#"{"a":{"b":1,"b":2},"a":{"c":1,"c":[1,{"d":1,"d":2}],"c":{}}}"#,
        r#"[{"a":[1,2,3],"a":1},{"a":1,"":2,"":3},{"":0,"a":1,"a":{}}]"#,
        r#"{"ab":1,"cb":2,"adb":3,"aeb":4,"adb":5}"#,
        r#"{"a":[{"x":1,"x":2}]}"#,
        // Strings.
        r#""\ud83d\ude00 \u0000 \u007f \"\\\/\b\f\n\r\t""#,
        "\"\u{2028}\u{7f}\u{ffff}\u{10ffff}\"",
        r#"["",{"":""}]"#,
        // Blanks, empty containers, literals.
        " \t\r\n[ ] \n",
        "{ }",
        "[[],{},[[]],[{}]]",
        "[true,false,null]",
        "null",
        // Refused by both.
        "1e400",
        "-1e400",
        "1.8e308",
        "[1,1e99999999999999999999]",
        r#""\ud83d""#,
        r#""\ude00""#,
        r#""\ude00\ud83d""#,
        r#""\ud83d\u0041""#,
        r#""\ud83d\n""#,
        r#"{"\ud83d":1}"#,
        r#"["a\\","\ud83dx"]"#,
    ]
    .map(str::to_owned)
    .into();
    // simd-json has one kind of object for up to 32 members, and another for more.
    for count in [15, 16, 17, 31, 32, 33, 100, 1000] {
        texts.extend(["key 0", "key 7", "key"].map(|repeated| many(count, repeated)));
    }
    texts.push(format!("1{}", "0".repeat(308)));
    texts.push(format!("1{}", "0".repeat(309)));
    texts.push(format!("0.{}1", "0".repeat(400)));
    texts.push(format!("[{}]", "-0,".repeat(1000) + "1"));

    let mut parser = Parser::new();
    let read = texts.iter().filter(|text| check(&mut parser, text)).count();
    assert_eq!(texts.len() - read, 12);
}

fn word(random: &mut common::Random) -> u64 {
    (0..4).fold(0, |word, _| word << 16 | random.below(1 << 16) as u64)
}

/// A random text. Names are few, so that some are repeated.
fn random_json(random: &mut common::Random, depth: usize, json: &mut String) {
    let blank = |random: &mut common::Random, json: &mut String| {
        if random.below(8) == 0 {
            json.push([' ', '\t', '\r', '\n'][random.below(4)]);
        }
    };
    blank(random, json);
    match random.below(if depth == 0 { 7 } else { 10 }) {
        0 => json.push_str(["null", "true", "false"][random.below(3)]),
        1 => json.push_str(&random.below(1000).to_string()),
        2 => json.push_str(&format!("-{}", word(random) >> random.below(64))),
        3 => json.push_str(&(u128::from(word(random)) << random.below(40)).to_string()),
        4 => {
            let digits = format!("{}{:0>20}", word(random), word(random));
            let point = 1 + random.below(20);
            let digits = &digits.trim_start_matches('0')[..point + 1 + random.below(18)];
            let exponent = [0, 5, 300, 330][random.below(4)];
            json.push_str(["", "-"][random.below(2)]);
            json.push_str(&format!("{}.{}", &digits[..point], &digits[point..]));
            if exponent > 0 {
                json.push_str(&format!("e{}", random.below(2 * exponent) as i64 - exponent as i64));
            }
        }
        5 => {
            let bits = f64::from_bits(word(random));
            json.push_str(&if bits.is_finite() { format!("{bits:e}") } else { "-0".into() });
        }
        6 => random_string(random, 8, json),
        kind => {
            let len = if random.below(20) == 0 { random.below(60) } else { random.below(6) };
            json.push(if kind == 7 { '[' } else { '{' });
            for i in 0..len {
                if i > 0 {
                    json.push(',');
                }
                blank(random, json);
                if kind != 7 {
                    random_string(random, 2, json);
                    blank(random, json);
                    json.push(':');
                }
                random_json(random, depth - 1, json);
            }
            json.push(if kind == 7 { ']' } else { '}' });
        }
    }
    blank(random, json);
}

fn random_string(random: &mut common::Random, longest: usize, json: &mut String) {
    let pieces =
        ["a", "b", "\\u0061", "é", "\\u00e9", "\\n", "\\\"", "\\\\", "\\ud83d\\ude00", "😀", "x".repeat(70).leak()];
    json.push('"');
    for _ in 0..random.below(longest + 1) {
        json.push_str(pieces[random.below(pieces.len())]);
    }
    if random.below(500) == 0 {
        json.push_str(["\\ud83d", "\\ude00"][random.below(2)]);
    }
    json.push('"');
}

#[test]
fn random_values_are_what_serde_json_reads() {
    let mut random = common::Random::new(7);
    let mut parser = Parser::new();
    let (mut read, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut json = String::new();
        random_json(&mut random, 5, &mut json);
        *if check(&mut parser, &json) { &mut read } else { &mut refused } += 1;
    }
    assert!(read > 10_000 && refused > 100, "{read} read, {refused} refused");
}

#[test]
fn reads_as_deep_as_a_text_may_be() {
    let mut parser = Parser::new();
    for depth in [127, 128, 129, 1023, 1024] {
        for (open, close) in [("[", "]"), (r#"{"a":0,"a":"#, "}"), (r#"[{"a":"#, "}]")] {
            let (depth, levels) = if open == "[" || close == "}" { (depth, depth) } else { (depth / 2, depth / 2 * 2) };
            let text = format!("{}-0{}", open.repeat(depth), close.repeat(depth));
            let json = RawJson::parse(text.as_bytes()).unwrap();
            let document = parser.parse(&json).unwrap();
            let mut value = document.as_value();
            let mut found = 0;
            while let Some(inner) = value.as_array().and_then(|it| it.get(0)).or_else(|| value.get("a")) {
                value = inner;
                found += 1;
            }
            assert_eq!(found, levels);
            assert!(value.as_f64().is_some_and(f64::is_sign_negative), "{value:?}");
            drop(document.to_borrowed_value());
            assert_eq!(json.deserialize::<Value>().is_ok(), levels < 128, "{levels}");
        }
    }
}

#[test]
fn errors_say_where_and_not_what() {
    let mut parser = Parser::new();
    for (text, expected) in [
        (r#"{"a": "b\"", "secret\ud83d": 1}"#, "lone surrogate in a string (at byte 13)"),
        (r#"["1e400", 1e400]"#, "number out of range (at byte 10)"),
        (r#"{"a":[-1e309 ]}"#, "number out of range (at byte 6)"),
        ("1e400", "number out of range (at byte 0)"),
        (r#"["\\\\","\\\"\ud83d",1e400]"#, "lone surrogate in a string (at byte 8)"),
    ] {
        let error = parser.parse(&RawJson::parse(text.as_bytes()).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
        assert!(expected.ends_with(&format!("{})", error.offset())));
    }
    // A refused text leaves no trace.
    assert!(check(&mut parser, r#"{"a":[1,"b"]}"#));
}

#[test]
fn nothing_shows_contents() {
    let mut parser = Parser::new();
    let document = parser.parse(&RawJson::parse(br#"{"secret":"token"}"#).unwrap()).unwrap();
    assert_eq!(format!("{document:?}"), "Document(3 nodes)");
    drop(document);
    assert_eq!(format!("{parser:?}"), "Parser { .. }");
}

#[test]
fn values_can_be_sent() {
    let mut parser = Parser::new();
    let text = r#"{"a":[1,-2,3.5,null,"é\n"],"b":{"c":18446744073709551616}}"#;
    let value = parser.parse(&RawJson::parse(text.as_bytes()).unwrap()).unwrap().to_borrowed_value();
    let mut encoder = Encoder::new(Rules::json_rpc());
    encoder.response(&Id::from(1), &value).unwrap();
    let line: Value = serde_json::from_slice(&encoder.take()).unwrap();
    assert_eq!(line["result"], serde_json::from_str::<Value>(text).unwrap());
}

#[test]
fn threads_can_own_a_parser() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Parser>();
}

#[test]
fn nothing_is_allocated_for_a_tape() {
    let texts = [
        r#"{"name":"search","arguments":{"query":"a \"quoted\" \u00e9","limit":-0,"deep":[[[[1.5]]]]}}"#.to_owned(),
        format!("[{}]", vec![r#"{"type":"text","text":"line\n"}"#; 500].join(",")),
        format!("{{{}}}", (0..100).map(|i| format!(r#""key {i}":{i}"#)).collect::<Vec<_>>().join(",")),
        "1".to_owned(),
        r#"["\ud83d"]"#.to_owned(),
    ];
    let texts = texts.each_ref().map(|text| RawJson::parse(text.as_bytes()).unwrap());
    let mut parser = Parser::new();
    let mut nodes = 0;
    let mut run = || nodes += texts.iter().filter(|json| parser.parse(json).is_ok()).count();
    run();
    assert_eq!(measure(run).count_total, 0);
    assert_eq!(nodes, 8);

    // Two allocations for each object and array of a value.
    let allocations = measure(|| drop(parser.parse(&texts[0]).unwrap().to_borrowed_value()));
    assert_eq!(allocations.count_total, 2 * 6);
}

#[test]
fn memory_is_given_back() {
    let long = format!("[{}1]", "1,".repeat(4 << 20));
    let mut parser = Parser::new();
    let mut kept_while_lent = 0;
    let kept = measure(|| {
        parser = Parser::new();
        let json = RawJson::parse(long.as_bytes()).unwrap();
        kept_while_lent = measure(|| drop(parser.parse(&json).unwrap())).bytes_current;
        parser.parse(&RawJson::parse(b"[1]").unwrap()).unwrap();
    });
    assert!((8 << 20..9 << 20).contains(&kept_while_lent), "{kept_while_lent}");
    assert!(kept.bytes_current < 1024, "{kept:?}");
}

/// Also if a long text is refused, or has many members.
#[test]
fn memory_is_given_back_after_any_long_text() {
    let members: String = (0..300_000).map(|n| format!("\"member {n}\":1,")).collect();
    for (long, is_accepted) in [
        (format!("[{}1e400]", "0,".repeat(4 << 20)), false),
        (format!("[{}\"\\ud800\"]", "0,".repeat(4 << 20)), false),
        (format!("{{{members}\"last\":1}}"), true),
    ] {
        let mut parser = Parser::new();
        let kept = measure(|| {
            parser = Parser::new();
            let json = RawJson::parse(long.as_bytes()).unwrap();
            assert_eq!(parser.parse(&json).is_ok(), is_accepted);
            parser.parse(&RawJson::parse(b"[1]").unwrap()).unwrap();
        });
        assert!(kept.bytes_current < 1024, "{kept:?} after {}", &long[long.len() - 12..]);
    }
}
