//! Compares the results with those of serde_json, for many types and texts: each value must be equal or `Unread`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use quickcheck::{Arbitrary, Gen, QuickCheck};
use serde::de::{DeserializeOwned, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Unread;
use crate::walk;

fn from_json<'j, T: Deserialize<'j>>(json: &'j str) -> Result<T, Unread> {
    super::from_json(json, &mut Vec::new())
}

/// Whether a type must be read here if serde_json reads it.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Always,
    Sometimes,
}

fn check<T: DeserializeOwned + PartialEq + Debug>(json: &str, wanted: Wanted) {
    // Pass bytes, because serde_json misreads some keys of a `str`: see `message::typed`.
    let (found, expected) = (from_json::<T>(json), serde_json::from_slice::<T>(json.as_bytes()));
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{json}"),
        (Ok(found), Err(error)) => panic!("{found:?} instead of {error}: {json}"),
        (Err(_), Ok(expected)) => assert!(wanted == Wanted::Sometimes, "nothing instead of {expected:?}: {json}"),
        (Err(_), Err(_)) => {}
    }
}

#[derive(Deserialize, PartialEq, Debug)]
struct Struct {
    a: i64,
    #[serde(default)]
    b: Option<String>,
    #[serde(default)]
    c: Vec<f64>,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Strict {
    a: Value,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Newtype(u8);

#[derive(Deserialize, PartialEq, Debug)]
struct Pair(String, Box<Value>);

#[derive(Deserialize, PartialEq, Debug)]
struct Unit;

#[derive(Deserialize, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Enum {
    #[serde(rename = "a")]
    Unit,
    #[serde(rename = "b")]
    Newtype(i32),
    #[serde(rename = "c")]
    Tuple(bool, String),
    #[serde(rename = "a\n")]
    Struct { a: u64 },
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(untagged)]
enum Untagged {
    Number(f64),
    Text(String),
    Struct(Struct),
    Many(Vec<Untagged>),
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(tag = "a", content = "b")]
enum Adjacent {
    #[serde(rename = "b")]
    One(i32),
    #[serde(rename = "c")]
    Two,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(tag = "a")]
enum Internal {
    #[serde(rename = "b")]
    One { c: i32 },
    #[serde(rename = "c")]
    Two,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Flattened {
    a: i64,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key(i8);

fn check_all(json: &str) {
    use Wanted::{Always, Sometimes};
    check::<Value>(json, Always);
    check::<serde_json::Number>(json, Always);
    check::<Option<Value>>(json, Always);
    check::<()>(json, Always);
    check::<bool>(json, Always);
    check::<i8>(json, Always);
    check::<u8>(json, Always);
    check::<i32>(json, Always);
    check::<i64>(json, Always);
    check::<u64>(json, Always);
    check::<i128>(json, Always);
    check::<u128>(json, Always);
    check::<f32>(json, Always);
    check::<f64>(json, Always);
    check::<char>(json, Always);
    check::<String>(json, Always);
    check::<Vec<Value>>(json, Always);
    check::<Vec<i64>>(json, Always);
    check::<Vec<Option<String>>>(json, Always);
    check::<(Value, Value)>(json, Always);
    check::<[u8; 3]>(json, Always);
    check::<Struct>(json, Always);
    check::<Strict>(json, Always);
    check::<Newtype>(json, Always);
    check::<Pair>(json, Always);
    check::<Unit>(json, Always);
    check::<Enum>(json, Always);
    check::<Vec<Enum>>(json, Always);
    check::<Untagged>(json, Always);
    check::<Adjacent>(json, Always);
    check::<Internal>(json, Always);
    check::<Flattened>(json, Always);
    check::<HashMap<String, Value>>(json, Always);
    check::<BTreeMap<char, Value>>(json, Always);
    check::<BTreeMap<Enum, Value>>(json, Always);
    check::<BTreeMap<bool, Skipped>>(json, Always);
    check::<BTreeMap<Option<String>, Value>>(json, Always);
    // Keys that are long or unusual numbers are left to serde_json.
    check::<BTreeMap<i64, Value>>(json, Sometimes);
    check::<BTreeMap<u8, Value>>(json, Sometimes);
    check::<BTreeMap<i128, Value>>(json, Sometimes);
    check::<BTreeMap<u128, Value>>(json, Sometimes);
    check::<BTreeMap<Bytes, Value>>(json, Sometimes);
    check::<BTreeMap<Key, Value>>(json, Sometimes);
    check::<Raw>(json, Always);
    check::<Vec<Raw>>(json, Always);
    check::<BTreeMap<String, Raw>>(json, Always);
    check::<Bytes>(json, Sometimes);
    // Types that recover from errors are always left to serde_json after an error.
    check::<Vec<OrDefault<u8>>>(json, Sometimes);
    check::<(OrDefault<u8>, String)>(json, Sometimes);
    check::<(OrDefault<String>, Skipped)>(json, Sometimes);
    check::<BTreeMap<String, OrDefault<Vec<u8>>>>(json, Sometimes);
    check::<Vec<Nothing>>(json, Sometimes);
    check::<(Nothing, u8)>(json, Sometimes);
    check::<BTreeMap<String, Nothing>>(json, Sometimes);
    check::<Defaults>(json, Sometimes);

    let found = from_json::<&str>(json).ok();
    assert_eq!(found, serde_json::from_str(json).ok(), "{json}");
    let found = from_json::<BTreeMap<&str, &RawValue>>(json).ok().map(texts);
    assert_eq!(found, serde_json::from_str(json).ok().map(texts), "{json}");
    let found = from_json::<Vec<Borrowing<'_>>>(json).ok();
    assert_eq!(found, serde_json::from_str(json).ok(), "{json}");
}

fn texts<'j>(map: BTreeMap<&'j str, &'j RawValue>) -> Vec<(&'j str, &'j str)> {
    map.into_iter().map(|(key, value)| (key, value.get())).collect()
}

/// A string that is borrowed if it has no escapes.
#[derive(Deserialize, PartialEq, Debug)]
struct Borrowing<'j>(#[serde(borrow)] Cow<'j, str>);

/// Ignores the value.
#[derive(Deserialize, Debug)]
struct Skipped(#[allow(dead_code)] IgnoredAny);

impl PartialEq for Skipped {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A default value in place of an error.
#[derive(PartialEq, Debug, Default)]
struct OrDefault<T>(T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for OrDefault<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(T::deserialize(deserializer).unwrap_or_default()))
    }
}

/// Doesn't even read the value.
#[derive(PartialEq, Debug)]
struct Nothing;

impl<'de> Deserialize<'de> for Nothing {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

#[derive(Deserialize, PartialEq, Debug)]
struct Defaults {
    #[serde(default)]
    a: OrDefault<Vec<u8>>,
    #[serde(default)]
    b: u8,
}

/// Keeps the original text.
#[derive(Deserialize, Debug)]
struct Raw(Box<RawValue>);

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// Accepts any value that is visited as bytes.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;

        impl<'de> Visitor<'de> for Visit {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Bytes, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = elements.next_element()? {
                    bytes.push(byte);
                }
                Ok(Bytes(bytes))
            }
        }

        deserializer.deserialize_byte_buf(Visit)
    }
}

#[test]
fn reads_what_serde_json_reads() {
    let scalars = "null true false 0 -0 1 -1 255 256 -128 -129 1.0 1e3 1.5 -0.0 1E-400 0.1 123456789012345678 \
        -123456789012345678 999999999999999999 9223372036854775807 9223372036854775808 -9223372036854775808 \
        -9223372036854775809 18446744073709551615 18446744073709551616 123456789012345678901234567890 3.4028236e38 \
        16777217 16777217.0 0.3 1.7976931348623157e308";
    scalars.split(' ').for_each(check_all);
    let texts = [
        r#""""#,
        r#""a""#,
        r#""b""#,
        r#""a\n""#,
        r#""é""#,
        r#""\u00e9""#,
        r#""\ud83d\ude00""#,
        r#""\ud83d""#,
        r#""\udc00a""#,
        r#""a longer text \"with\" escapes \\ / \/ \b\f\n\r\t, and something after them, longer than a few words""#,
        r#""a longer text without escapes, which is longer than a few words of eight bytes each, and goes on""#,
        "[]",
        "[1]",
        "[1,2]",
        "[1,2,3]",
        "[ 1 , \"a\" ]",
        "[[],[[]]]",
        "[null,\"a\"]",
        "[1,2,256]",
        "{}",
        r#"{"a":1}"#,
        r#"{"a":1,"b":"x"}"#,
        r#"{"a":1,"c":[1,2.5,-3]}"#,
        r#"{"b":1}"#,
        r#"{"c":[true,"x"]}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":{"b":[{"c":{}}]},"x":[{}]}"#,
        r#"{"a\n":{"a":7}}"#,
        r#"{"a":null}"#,
        r#"{"a":[]}"#,
        r#"{"a":"b","b":5}"#,
        r#"{"a":"c"}"#,
        r#"{"a":"b","c":5}"#,
        r#"{"c":5,"a":"b"}"#,
        r#"{"b":5,"a":"b"}"#,
        r#"{"b":1,"c":2}"#,
        r#"{"a":1,"unknown":{"deep":[1,"]"]}}"#,
        r#"{"1":1,"-1":2}"#,
        r#"{"01":1}"#,
        r#"{"-0":1}"#,
        r#"{"1.5":1}"#,
        r#"{" 1":1}"#,
        r#"{"":1}"#,
        r#"{"true":1,"false":2}"#,
        r#"{"é":1}"#,
        r#"{"\u0061":1}"#,
        r#"{"300":1}"#,
        "{ \"a\" : 1 , \"b\" : null }",
        "{\t\"a\"\r:\n1}",
    ];
    texts.into_iter().for_each(check_all);
    for depth in [1, 126, 127, 128, 129, 500] {
        let deep = "[".repeat(depth) + &"]".repeat(depth);
        check::<Value>(&deep, Wanted::Always);
        check::<Skipped>(&deep, Wanted::Always);
        check::<Raw>(&deep, Wanted::Always);
    }
}

/// A JSON text made of the words that the types above recognize.
#[derive(Clone, Debug)]
struct Json(String);

impl Arbitrary for Json {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut json = String::new();
        write(3, g, &mut json);
        Self(json)
    }

    /// Shrinks to one of its parts.
    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let parts: Vec<_> = match self.0.as_bytes()[0] {
            b'[' => walk::elements(&self.0).map(|(_, element)| Self(element.to_owned())).collect(),
            b'{' => walk::members(&self.0).map(|(_, value)| Self(value.to_owned())).collect(),
            _ => Vec::new(),
        };
        Box::new(parts.into_iter())
    }
}

fn write(depth: u32, g: &mut Gen, json: &mut String) {
    let string = |g: &mut Gen| match u8::arbitrary(g) % 8 {
        0 => serde_json::to_string(&String::arbitrary(g)).unwrap(),
        1 => format!("\"{}\"", i32::arbitrary(g)),
        2 => r#""\u0061""#.to_owned(),
        3 => format!("\"{}\\n{}\"", "x".repeat(usize::arbitrary(g) % 80), "y".repeat(usize::arbitrary(g) % 80)),
        4 => format!("\"{}\"", "é".repeat(usize::arbitrary(g) % 40)),
        _ => (*g.choose(&[r#""a""#, r#""b""#, r#""c""#, r#""a\n""#, r#""true""#]).unwrap()).to_owned(),
    };
    match u8::arbitrary(g) % if depth == 0 { 6 } else { 12 } {
        0 => json.push_str(g.choose(&["null", "true", "false"]).unwrap()),
        1 => json.push_str(&i64::arbitrary(g).to_string()),
        2 => json.push_str(&(u8::arbitrary(g) % 4).to_string()),
        3 => json.push_str(&serde_json::to_string(&f64::arbitrary(g)).unwrap()),
        4 | 5 => json.push_str(&string(g)),
        6..=8 => {
            json.push('[');
            for at in 0..usize::arbitrary(g) % 4 {
                json.push_str(if at > 0 { g.choose(&[",", " , "]).unwrap() } else { "" });
                write(depth - 1, g, json);
            }
            json.push(']');
        }
        _ => {
            json.push('{');
            for at in 0..usize::arbitrary(g) % 4 {
                json.push_str(if at > 0 { g.choose(&[",", "\n, "]).unwrap() } else { "" });
                json.push_str(&string(g));
                json.push_str(g.choose(&[":", " : "]).unwrap());
                write(depth - 1, g, json);
            }
            json.push('}');
        }
    }
}

#[test]
fn reads_random_texts_as_serde_json_does() {
    fn property(Json(json): Json) -> bool {
        check_all(&json);
        true
    }
    QuickCheck::new().tests(10_000).quickcheck(property as fn(_) -> _);
}
