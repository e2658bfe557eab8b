use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};

use quickcheck::QuickCheck;
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct, SerializeTupleVariant, Serializer};
use serde_json::value::RawValue;
use wireline_json::Cpu;
use wireline_json::DEEPEST;
use wireline_json::fragment::{self, NUMBER, RAW_FRAGMENT, RAW_VALUE};

use super::model::Model;
use super::*;

const UNBOUNDED: Bounds = Bounds { start: 0, end: usize::MAX, depth: u32::MAX, line_feed: false };

fn append_value<T: Serialize + ?Sized>(out: &mut BytesMut, value: &T, bounds: Bounds) -> Result<(), EncodeError> {
    append(out, bounds, |writer| writer.value(value))
}

fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, EncodeError> {
    let mut out = BytesMut::new();
    append_value(&mut out, value, UNBOUNDED)?;
    Ok(String::from_utf8(out.into()).unwrap())
}

/// How deep the brackets of a valid text are nested.
fn depth(json: &str) -> u32 {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The output equals serde_json's within the tightest possible bounds, and is empty within tighter bounds.
#[test]
fn whatever_the_data_model_can_say() {
    fn check(value: &Model, json: &str, spare: u8, cpu: Cpu) {
        let depth = depth(json);
        let append = |end: usize, depth: u32| {
            let mut out = BytesMut::with_capacity(7 + usize::from(spare));
            out.extend_from_slice(b"before ");
            let done = append_value(&mut out, value, Bounds { start: 7, end, depth, line_feed: false });
            (out, done.map_err(|error| error.kind()))
        };
        let end = 7 + json.len();
        let (out, done) = append(end, depth);
        assert_eq!((&out[7..], done), (json.as_bytes(), Ok(())), "{cpu:?}");
        let (out, done) = append(end - 1, depth);
        assert_eq!((&out[..], done), (&b"before "[..], Err(EncodeErrorKind::Rule(FaultKind::LineTooLong))), "{cpu:?}");
        if let Some(depth) = depth.checked_sub(1) {
            let (out, done) = append(end, depth);
            assert_eq!((&out[..], done), (&b"before "[..], Err(EncodeErrorKind::Rule(FaultKind::TooDeep))), "{cpu:?}");
        }
    }
    fn property(value: Model, spare: u8) -> bool {
        let json = serde_json::to_string(&value).unwrap();
        for cpu in Cpu::available() {
            cpu.run(|| check(&value, &json, spare, cpu));
        }
        true
    }
    QuickCheck::new().tests(40_000).max_tests(40_000).quickcheck(property as fn(_, _) -> _);
}

#[test]
fn integers_of_every_length() {
    fn check(number: i128) {
        assert_eq!(to_json(&number).unwrap(), number.to_string());
        if let Ok(number) = i64::try_from(number) {
            assert_eq!(to_json(&number).unwrap(), number.to_string());
            let mut out = BytesMut::new();
            append(&mut out, UNBOUNDED, |writer| writer.i64(false, number)).unwrap();
            assert_eq!(out, number.to_string());
        }
        if let Ok(number) = u64::try_from(number) {
            assert_eq!(to_json(&number).unwrap(), number.to_string());
        }
    }
    for power in 0..38 {
        let power = 10_i128.pow(power);
        for number in [power - 1, power, power + 1, power * 5, power.wrapping_mul(17)] {
            check(number);
            check(-number);
        }
    }
    [i128::MIN, i128::MAX, i64::MIN.into(), i64::MAX.into(), u64::MAX.into()].into_iter().for_each(check);
    assert_eq!(to_json(&u128::MAX).unwrap(), u128::MAX.to_string());
}

#[test]
fn pieces_of_messages() {
    let write = |writer: &mut Writer<'_>| {
        writer.around(b"{", b"17", b":\"")?;
        writer.escaped(b"<", "tools/\"call\"\n", b">")?;
        let start = writer.position();
        writer.value(&[1])?;
        assert_eq!(writer.since(start), b"[1]");
        writer.take_back(2);
        assert_eq!(writer.since(start), b"[");
        writer.put([b"a", b"b"])?;
        Ok(start)
    };
    let text = "{17:\"<tools/\\\"call\\\"\\n>[ab";
    for line_feed in [true, false] {
        let bounds = Bounds { start: 1, end: 1 + text.len(), depth: 1, line_feed };
        let mut out = BytesMut::from("[");
        assert_eq!(append(&mut out, bounds, write).unwrap(), text.len() - 2);
        assert_eq!(out, format!("[{text}{}", if line_feed { "\n" } else { "" }));
        let mut out = BytesMut::from("[");
        let error = append(&mut out, Bounds { end: text.len(), ..bounds }, write).unwrap_err();
        assert_eq!(
            (error.kind(), error.offset()),
            (EncodeErrorKind::Rule(FaultKind::LineTooLong), Some(text.len() - 1))
        );
        assert_eq!(out, "[");
    }
}

#[test]
fn more_than_all_taken_back() {
    let mut out = BytesMut::from("before");
    append(&mut out, UNBOUNDED, |writer| {
        writer.put([b"1"])?;
        writer.take_back(2);
        writer.put([b"2"])
    })
    .unwrap();
    assert_eq!(out, "before2");
}

/// A value with the given `serialize`.
macro_rules! by {
    (|$serializer:ident| $body:expr) => {{
        struct Value;
        impl Serialize for Value {
            fn serialize<S: Serializer>(&self, $serializer: S) -> Result<S::Ok, S::Error> {
                $body
            }
        }
        Value
    }};
}

/// Why a value is refused: the kind, the offset and the source. The buffer must stay as it was.
#[track_caller]
fn refused<T: Serialize + ?Sized>(value: &T) -> (EncodeErrorKind, Option<usize>, String) {
    let mut out = BytesMut::from("before");
    let error = append_value(&mut out, value, Bounds { start: 2, ..UNBOUNDED }).unwrap_err();
    assert_eq!(out, "before");
    let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    (error.kind(), error.offset(), source)
}

#[test]
fn floats_that_json_lacks() {
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(refused(&float).0, EncodeErrorKind::NonFiniteFloat);
        assert_eq!(refused(&(float as f32)).0, EncodeErrorKind::NonFiniteFloat);
        let (kind, offset, _) = refused(&(1, [Some(float)]));
        assert_eq!((kind, offset), (EncodeErrorKind::NonFiniteFloat, Some(4 + 4)));
        let map = by!(|serializer| serializer.collect_map([(f64::NAN, 1)]));
        assert_eq!(refused(&map).0, EncodeErrorKind::NonFiniteFloat);
    }
}

#[test]
fn errors_keep_their_text() {
    let fails = by!(|_serializer| Err(serde::ser::Error::custom("the reason")));
    assert_eq!(refused(&fails), (EncodeErrorKind::Serialize, Some(4), "the reason".to_owned()));
    assert_eq!(refused(&(true, fails)), (EncodeErrorKind::Serialize, Some(4 + 6), "the reason".to_owned()));
}

/// That is after the comma, even if the comma hasn't been written.
#[test]
fn an_error_is_where_its_element_starts() {
    let at_once = by!(|_serializer| Err(serde::ser::Error::custom("at once")));
    let inside = by!(|serializer| {
        serializer.serialize_seq(None)?.serialize_element(&2)?;
        Err(serde::ser::Error::custom("inside"))
    });
    let twice = by!(|serializer| {
        let mut array = serializer.serialize_seq(None)?;
        array.serialize_element(&1)?;
        let _ = array.serialize_element(&by!(|_serializer| Err(serde::ser::Error::custom("ignored"))));
        array.serialize_element(&f64::NAN)?;
        array.end()
    });
    assert_eq!(refused(&[&at_once]).1, Some(4 + "[".len()));
    assert_eq!(refused(&(1, &at_once)).1, Some(4 + "[1,".len()));
    assert_eq!(refused(&(1, f64::NAN)).1, Some(4 + "[1,".len()));
    assert_eq!(refused(&(1, inside)).1, Some(4 + "[1,[2".len()));
    assert_eq!(refused(&twice).1, Some(4 + "[1,".len()));

    let error = append_value(&mut BytesMut::new(), &(1, [2]), Bounds { depth: 1, ..UNBOUNDED }).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (EncodeErrorKind::Rule(FaultKind::TooDeep), Some("[1,".len())));
}

#[test]
fn lengths_do_not_matter() {
    let seq = by!(|serializer| {
        let mut seq = serializer.serialize_seq(Some(0))?;
        seq.serialize_element(&1)?;
        seq.end()
    });
    assert_eq!(to_json(&seq).unwrap(), "[1]");
    let map = by!(|serializer| {
        let mut map = serializer.serialize_map(Some(0))?;
        map.serialize_entry("a", &1)?;
        map.end()
    });
    assert_eq!(to_json(&map).unwrap(), r#"{"a":1}"#);
    let object = by!(|serializer| {
        let mut object = serializer.serialize_struct("S", 0)?;
        object.serialize_field("a", &1)?;
        object.end()
    });
    assert_eq!(to_json(&object).unwrap(), r#"{"a":1}"#);
    let variant = by!(|serializer| serializer.serialize_tuple_variant("E", 0, "v", 5)?.end());
    assert_eq!(to_json(&variant).unwrap(), r#"{"v":[]}"#);
}

#[test]
fn errors_that_are_ignored_are_remembered() {
    struct Fails;
    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("ignored"))
        }
    }
    let seq = by!(|serializer| {
        let mut seq = serializer.serialize_seq(None)?;
        let _ = seq.serialize_element(&Fails);
        seq.end()
    });
    assert_eq!(refused(&seq).0, EncodeErrorKind::Serialize);
    assert_eq!(refused(&[&seq]).0, EncodeErrorKind::Serialize);
    let object = by!(|serializer| {
        let mut object = serializer.serialize_struct("S", 1)?;
        let _ = object.serialize_field("a", &f64::NAN);
        object.end()
    });
    assert_eq!(refused(&object).0, EncodeErrorKind::NonFiniteFloat);
    let key = by!(|serializer| {
        let mut map = serializer.serialize_map(None)?;
        let _ = map.serialize_key(&[1]);
        map.serialize_value(&1)?;
        map.end()
    });
    assert_eq!(refused(&key).0, EncodeErrorKind::Serialize);
    let key = by!(|serializer| {
        let mut map = serializer.serialize_map(None)?;
        let _ = map.serialize_key(&Fails);
        map.serialize_value(&1)?;
        map.end()
    });
    assert_eq!(refused(&key).0, EncodeErrorKind::Serialize);
    let raw = by!(|serializer| {
        let mut raw = serializer.serialize_struct("$serde_json::private::RawValue", 1)?;
        let _ = raw.serialize_field("$serde_json::private::RawValue", &Fails);
        raw.end()
    });
    assert_eq!(refused(&raw).0, EncodeErrorKind::Serialize);
}

#[test]
fn panics_that_are_caught_are_remembered() {
    struct Panics;
    impl Serialize for Panics {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut seq = serializer.serialize_seq(None)?;
            seq.serialize_element(&1)?;
            panic!("on purpose")
        }
    }
    let catches = by!(|serializer| {
        let mut seq = serializer.serialize_seq(None)?;
        let _ = catch_unwind(AssertUnwindSafe(|| seq.serialize_element(&Panics)));
        seq.end()
    });
    assert_eq!(refused(&catches).0, EncodeErrorKind::Serialize);
    let catches = by!(|serializer| {
        let mut map = serializer.serialize_map(None)?;
        let _ = catch_unwind(AssertUnwindSafe(|| map.serialize_key(&Panics)));
        map.serialize_value(&1)?;
        map.end()
    });
    assert_eq!(refused(&catches).0, EncodeErrorKind::Serialize);
    // If the panic isn't caught, the buffer keeps its contents, even if it has grown.
    for spare in [0, 10_000] {
        let mut out = BytesMut::with_capacity(6 + spare);
        out.extend_from_slice(b"before");
        let payload = ("x".repeat(1000), Panics);
        assert!(catch_unwind(AssertUnwindSafe(|| append_value(&mut out, &payload, UNBOUNDED))).is_err());
        assert_eq!(out, "before");
    }
}

#[test]
fn keys_and_values_come_in_turn() {
    let twice = by!(|serializer| {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_key("a")?;
        map.serialize_key("b")?;
        map.end()
    });
    assert_eq!(refused(&twice).2, "keys and values of a map must be written in turn");
    let value = by!(|serializer| {
        let mut map = serializer.serialize_map(None)?;
        let _ = map.serialize_value("a");
        map.end()
    });
    assert_eq!(refused(&value).0, EncodeErrorKind::Serialize);
    let last = by!(|serializer| {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_key("a")?;
        map.end()
    });
    assert_eq!(refused(&last).0, EncodeErrorKind::Serialize);
    let entry = by!(|serializer| {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_key("a")?;
        let _ = map.serialize_entry("b", &1);
        map.serialize_value(&1)?;
        map.end()
    });
    assert_eq!(refused(&entry).0, EncodeErrorKind::Serialize);
}

#[test]
fn keys_are_strings() {
    fn check<K: Serialize>(key: K) {
        struct Map<K>(K);
        impl<K: Serialize> Serialize for Map<K> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map([(&self.0, 1)])
            }
        }
        let map = Map(key);
        assert!(serde_json::to_string(&map).is_err());
        assert_eq!(refused(&map).2, "key must be a string");
    }
    #[derive(Serialize)]
    struct Object {
        a: u8,
    }
    #[derive(Serialize)]
    enum Variant {
        Newtype(u8),
        Tuple(u8, u8),
        Struct { a: u8 },
    }
    #[derive(Serialize)]
    struct UnitStruct;
    check(());
    check(None::<&str>);
    check([1]);
    check((1, 2));
    check(UnitStruct);
    check(Object { a: 1 });
    check(BTreeMap::from([("a", 1)]));
    check(Variant::Newtype(1));
    check(Variant::Tuple(1, 2));
    check(Variant::Struct { a: 1 });
    check(by!(|serializer| serializer.serialize_bytes(b"bytes")));
}

#[test]
fn what_is_displayed() {
    struct Shown(&'static [&'static str], bool);
    impl Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.iter().try_for_each(|piece| f.write_str(piece))?;
            if self.1 { Err(fmt::Error) } else { Ok(()) }
        }
    }
    impl Serialize for Shown {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }
    assert_eq!(to_json(&Shown(&["a\"", "", "\n", "b"], false)).unwrap(), r#""a\"\nb""#);
    assert_eq!(refused(&Shown(&["a"], true)).2, "a Display implementation returned an error");
    // A `Display` that ignores the lack of room.
    struct Ignores;
    impl Display for Ignores {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            for _ in 0..10 {
                let _ = f.write_str(&"x".repeat(1000));
            }
            Ok(())
        }
    }
    impl Serialize for Ignores {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }
    let mut out = BytesMut::new();
    let error = append_value(&mut out, &Ignores, Bounds { end: 4000, ..UNBOUNDED }).unwrap_err();
    assert_eq!(error.kind(), EncodeErrorKind::Rule(FaultKind::LineTooLong));
    assert!(out.is_empty() && out.capacity() < 10_000, "it is refused at once");
}

/// A struct with the name of one of serde_json's private structs and any fields.
struct Impostor<'t, T>(&'static str, &'t [T]);

impl<T: Serialize> Serialize for Impostor<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct(self.0, self.1.len())?;
        self.1.iter().try_for_each(|value| object.serialize_field(self.0, value))?;
        object.end()
    }
}

/// Passes its text to the serializer as `RawJson` does, but without validation.
struct Stand<'t>(&'t str);

impl Serialize for Stand<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Inner<'t>(&'t str);
        impl Serialize for Inner<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if fragment::is_welcome(&serializer) {
                    return fragment::pass(self.0, serializer);
                }
                serde_json::from_str::<serde_json::Value>(self.0).unwrap().serialize(serializer)
            }
        }
        serializer.serialize_newtype_struct(RAW_FRAGMENT, &Inner(self.0))
    }
}

#[test]
fn fragments_are_written_as_they_are() {
    let json = r#"{"b" : 1.50, "a":[ "\u00e9/" ,1e999]}"#;
    let raw = RawValue::from_string(json.to_owned()).unwrap();
    assert_eq!(to_json(&[&raw]).unwrap(), format!("[{json}]"));
    assert_eq!(to_json(&[Stand(json)]).unwrap(), format!("[{json}]"));
    assert_eq!(to_json(&Impostor(RAW_VALUE, &[json])).unwrap(), json);
    assert_eq!(to_json(&Impostor(NUMBER, &["-1.50e+3"])).unwrap(), "-1.50e+3");
    // Other serializers get an ordinary value.
    let stand = Stand(r#"{"a":[ "\u00e9/" ,1], "b" : 1.5}"#);
    assert_eq!(serde_json::to_string(&[&stand]).unwrap(), r#"[{"a":["é/",1],"b":1.5}]"#);
    // The same holds for a key.
    let key = by!(|serializer| serializer.collect_map([(Stand("\"a\""), 1)]));
    assert_eq!(to_json(&key).unwrap(), r#"{"a":1}"#);
}

#[test]
fn fragments_are_checked() {
    use FaultKind as Kind;
    let rule = EncodeErrorKind::Rule;
    for (json, kind, at) in [
        ("", rule(Kind::BlankLine), 0),
        (" ", rule(Kind::BlankLine), 0),
        (r#"{},"id":7"#, rule(Kind::TrailingData), 2),
        (r#"1],["#, rule(Kind::TrailingData), 1),
        ("[1", rule(Kind::UnexpectedEnd), 2),
        ("\"a\nb\"", rule(Kind::ControlCharacter), 2),
        ("nul", rule(Kind::UnexpectedEnd), 3),
        ("nil", rule(Kind::InvalidLiteral), 0),
        ("NaN", rule(Kind::InvalidLiteral), 0),
        ("01", rule(Kind::InvalidNumber), 0),
        ("[1,\n2]", EncodeErrorKind::LineBreak, 3),
        ("{\"a\":\r1}", EncodeErrorKind::LineBreak, 5),
        ("1\n", EncodeErrorKind::LineBreak, 1),
    ] {
        let check = |(found, offset, _): (EncodeErrorKind, Option<usize>, String)| {
            assert_eq!(found, kind, "{json:?}");
            // The offset includes the brackets before the text. Some flaws are detected a few bytes after they begin.
            assert!(offset.is_some_and(|offset| (4 + 1 + at..4 + 1 + at + 3).contains(&offset)), "{json:?} {offset:?}");
        };
        check(refused(&[Impostor(RAW_VALUE, &[json])]));
        check(refused(&[Stand(json)]));
    }
    for json in ["null", "\"1\"", "[1]", "{}", " 1", "true"] {
        assert_eq!(refused(&Impostor(NUMBER, &[json])).0, EncodeErrorKind::Serialize, "{json}");
    }
}

#[test]
fn fragments_have_the_same_limits() {
    let append = |json: &str, end, depth| {
        let mut out = BytesMut::new();
        let done = append_value(&mut out, &[Stand(json)], Bounds { end, depth, ..UNBOUNDED });
        done.map(|()| out).map_err(|error| error.kind())
    };
    assert_eq!(append("[[1]]", 7, 3).unwrap(), "[[[1]]]");
    assert_eq!(append("[[1]]", 6, 3), Err(EncodeErrorKind::Rule(FaultKind::LineTooLong)));
    assert_eq!(append("[[1]]", 7, 2), Err(EncodeErrorKind::Rule(FaultKind::TooDeep)));
    let deep = "[".repeat(DEEPEST as usize + 1) + &"]".repeat(DEEPEST as usize + 1);
    assert_eq!(append(&deep, usize::MAX, u32::MAX), Err(EncodeErrorKind::Rule(FaultKind::TooDeep)));
}

#[test]
fn a_fragment_is_one_string() {
    for name in [RAW_VALUE, NUMBER] {
        assert_eq!(refused(&Impostor::<&str>(name, &[])).2, "a raw value has one field");
        assert_eq!(refused(&Impostor(name, &["1", "2"])).2, "a raw value has one field");
        assert_eq!(refused(&Impostor(name, &[1])).2, "expected a raw value to be a string of JSON");
    }
}

/// A newtype with the name of this crate's newtype, around any value.
struct Namesake<T>(T);

impl<T: Serialize> Serialize for Namesake<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(RAW_FRAGMENT, &self.0)
    }
}

#[test]
fn a_namesake_is_a_value_like_any_other() {
    fn check(value: impl Serialize) {
        let value = (Namesake(&value), [Namesake(&value)]);
        assert_eq!(to_json(&value).unwrap(), serde_json::to_string(&value).unwrap());
    }
    check(1);
    check(-1_i128);
    check(1_u128);
    check(1.5);
    check(1.5_f32);
    check((1_u8, 1_u16, 1_u32, 1_u64, -1_i8, -1_i16, -1_i32, -1_i64));
    check(true);
    check('1');
    check("1");
    check("{\"admin\":true}");
    check("not JSON");
    check(());
    check(None::<&str>);
    check(Some("1"));
    check([1]);
    check((1, 2));
    check(BTreeMap::from([("a", 1)]));
    check(Ok::<_, ()>(1));
    check(format_args!("1"));
    check(Namesake("1"));
    check(by!(|serializer| serializer.serialize_bytes(b"1")));
    check(by!(|serializer| serializer.serialize_unit_struct("1")));
    check(by!(|serializer| serializer.serialize_unit_variant("1", 0, "1")));
    check(by!(|serializer| serializer.serialize_tuple_variant("1", 0, "1", 0)?.end()));
    check(by!(|serializer| serializer.serialize_newtype_struct("1", "1")));
    assert_eq!(to_json(&Namesake(Stand("[ 1 ]"))).unwrap(), "[ 1 ]");
    assert_eq!(to_json(&Namesake((Stand("[ 1 ]"), "1"))).unwrap(), r#"[[ 1 ],"1"]"#);
}

/// Covers values that serialize other values meanwhile, or offer a text to another serializer.
#[test]
fn an_offer_is_for_one_serializer() {
    struct Inner(fn() -> String);
    impl Serialize for Inner {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            assert_eq!(fragment::is_welcome(&serializer), serializer.is_human_readable());
            serializer.serialize_str(&(self.0)())
        }
    }
    // A value serialized meanwhile goes to its own serializer, as a value.
    let json = to_json(&Namesake(Inner(|| serde_json::to_string(&Stand("[1]")).unwrap()))).unwrap();
    assert_eq!(json, r#""[1]""#);
    let json = to_json(&Namesake(Inner(|| to_json(&Stand("[ 1]")).unwrap()))).unwrap();
    assert_eq!(json, r#""[ 1]""#);
    // A copy of the offered text doesn't count as the offered text.
    struct Copies;
    impl Serialize for Copies {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            assert!(fragment::is_welcome(&serializer));
            let _ = fragment::pass("[1]", serde_json::value::Serializer);
            serializer.serialize_str(&String::from("[1]"))
        }
    }
    assert_eq!(refused(&Namesake(Copies)).2, "raw JSON was changed on its way to the encoder");
    assert_eq!(refused(&(1, Namesake(Copies))).0, EncodeErrorKind::Serialize);
}

/// Neither a panic nor an error leaves an offer behind.
#[test]
fn an_offer_is_for_one_time() {
    struct Fails(bool);
    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            assert!(fragment::is_welcome(&serializer));
            let _ = fragment::pass("[1]", serde_json::value::Serializer);
            assert!(!self.0, "on purpose");
            Err(serde::ser::Error::custom("on purpose"))
        }
    }
    for panics in [true, false] {
        assert!(!catch_unwind(|| to_json(&Namesake(Fails(panics)))).is_ok_and(|done| done.is_ok()));
        assert_eq!(serde_json::to_string(&Stand("[1]")).unwrap(), "[1]");
        assert_eq!(to_json(&Namesake("[1]")).unwrap(), r#""[1]""#);
        assert_eq!(to_json(&Stand("[ 1]")).unwrap(), "[ 1]");
    }
}

/// Covers newtypes with the names that spell numbers.
#[test]
fn numbers_are_spelled_only_with_their_values() {
    struct Spelled<'t, T>(&'static [&'static str], &'t T);
    impl<T: Serialize> Serialize for Spelled<'_, T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.0.split_first() {
                Some((name, rest)) => serializer.serialize_newtype_struct(name, &Spelled(rest, self.1)),
                None => self.1.serialize(serializer),
            }
        }
    }
    const ONE: &str = "$wireline::Number:1";
    const ZERO: &str = "$wireline::Number:0";
    const POINT: &str = "$wireline::Number:.";
    fn check(names: &'static [&'static str], value: impl Serialize, expected: &str) {
        let value = Spelled(names, &value);
        assert_eq!(to_json(&(1, &value)).unwrap(), format!("[1,{expected}]"));
        // A key is refused unless it is a scalar.
        let map = Mapped(&value);
        match serde_json::to_string(&map) {
            Ok(_) => assert_eq!(to_json(&map).unwrap(), format!("{{\"{}\":1}}", expected.trim_matches('"'))),
            Err(_) => assert_eq!(refused(&map).2, "key must be a string"),
        }
    }
    struct Mapped<T>(T);
    impl<T: Serialize> Serialize for Mapped<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([(&self.0, 1)])
        }
    }
    check(&[ONE, POINT, ZERO], 1.0, "1.0");
    check(&[ONE, POINT, ZERO, ZERO], 1.0, "1.00");
    check(&[ONE, POINT, ZERO, ZERO], 1_u64, "1.00");
    check(&[ONE, POINT, ZERO, ZERO], 1_i64, "1.00");
    check(&[ONE, POINT, ZERO, ZERO], 1_i128, "1.00");
    // If the spelling belongs to another value, the value counts.
    check(&[ONE, POINT, ZERO, ZERO], 2.0, "2.0");
    check(&[ONE, POINT, ZERO, ZERO], 2, "2");
    check(&[ONE, POINT], 1.0, "1.0");
    check(&[POINT, ONE], 0.1, "0.1");
    check(&[ONE, ZERO], "10", "\"10\"");
    check(&[ONE], true, "true");
    check(&[ONE, "other", ZERO], 10, "10");
    check(&[ONE], (), "null");
    check(&[ONE], [1], "[1]");
    check(&[ONE], Namesake("1"), "\"1\"");
    assert_eq!(refused(&Spelled(&[ONE], &f64::NAN)).0, EncodeErrorKind::NonFiniteFloat);
    for names in [&[ONE; 65][..], &["$wireline::Number:…"]] {
        let names = names.to_vec().leak();
        let reason = "serde can't buffer a number of more than 64 characters exactly";
        assert_eq!(refused(&Spelled(names, &1.0)).2, reason);
        assert_eq!(refused(&Mapped(Spelled(names, &1.0))).2, reason);
    }
}

/// Field names are checked by a separate loop.
#[test]
fn names_are_escaped_wherever_that_is_needed() {
    #[derive(Serialize)]
    struct Names {
        #[serde(rename = "\"")]
        quote: u8,
        #[serde(rename = "\\")]
        backslash: u8,
        #[serde(rename = "\u{1f}")]
        control: u8,
        #[serde(rename = " !#[]é")]
        plain: u8,
    }
    let names = Names { quote: 1, backslash: 2, control: 3, plain: 4 };
    assert_eq!(to_json(&names).unwrap(), serde_json::to_string(&names).unwrap());
}
