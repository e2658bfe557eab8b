//! Ids and raw JSON in every representation that serde derives, nested in each other at random.
//!
//! Some of these representations are buffered by serde, some pass through serializers of its own, and some do neither.
//! In each of them, the encoder must write an id or raw JSON with the same value and its numbers with the same
//! spelling, or refuse it for a reason listed in [`Leaf::may_be_refused`].

use std::cell::Cell;
use std::fmt::Display;

use bytes::BytesMut;
use quickcheck::{Arbitrary, Gen, QuickCheck};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::value::RawValue;
use wireline_json::{is_number, string, walk};

use super::{Bounds, append};
use crate::encode::error::EncodeError;
use crate::message::{Id, RawJson};

/// How many cases to try: some thousands, times `WIRELINE_TIMES` if that is set.
fn cases() -> u64 {
    5000 * std::env::var("WIRELINE_TIMES").map_or(1, |times| times.parse().expect("WIRELINE_TIMES is a number"))
}

/// A value of a random type that contains values of type `T`.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(untagged)]
enum Any<T> {
    Just(T),
    External(External<T>),
    Internal(Internal<T>),
    Adjacent(Adjacent<T>),
    Untagged(Untagged<T>),
    Flat(Flat<T>),
    Flats(Flats<T>),
    Struct(Struct<T>),
    Newtype(Newtype<T>),
    Pair(Pair<T>),
    Tuple((T, T, T)),
    Seq(Vec<T>),
    Option(Option<T>),
    Map(Map<T>),
    Wrapped(Wrapped<T>),
}

/// A value in three nested random types.
type Nested = Any<Any<Any<Base>>>;

#[derive(Clone, Debug, serde::Serialize)]
#[serde(untagged)]
enum Base {
    Leaf(Leaf),
    Unit,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

#[derive(Clone, Debug, serde::Serialize)]
enum External<T> {
    Unit,
    Newtype(T),
    Tuple(T, T),
    Struct { a: T, b: T },
}

#[derive(Clone, Debug, serde::Serialize)]
#[serde(tag = "t")]
enum Internal<T> {
    Unit,
    Newtype(T),
    Struct { a: T, b: T },
}

#[derive(Clone, Debug, serde::Serialize)]
#[serde(tag = "t", content = "c")]
enum Adjacent<T> {
    Unit,
    Newtype(T),
    Tuple(T, T),
    Struct { a: T, b: T },
}

#[derive(Clone, Debug, serde::Serialize)]
#[serde(untagged)]
enum Untagged<T> {
    Unit,
    Newtype(T),
    Tuple(T, T),
    Struct { a: T, b: T },
}

#[derive(Clone, Debug, serde::Serialize)]
struct Flat<T> {
    a: T,
    #[serde(flatten)]
    inner: T,
    z: T,
}

#[derive(Clone, Debug, serde::Serialize)]
struct Flats<T> {
    #[serde(flatten)]
    one: T,
    #[serde(flatten)]
    two: Option<T>,
}

#[derive(Clone, Debug, serde::Serialize)]
struct Struct<T> {
    a: T,
    b: T,
}

#[derive(Clone, Debug, serde::Serialize)]
struct Newtype<T>(T);

#[derive(Clone, Debug, serde::Serialize)]
struct Pair<T>(T, T);

/// A map whose keys need not be strings.
#[derive(Clone, Debug)]
struct Map<T>(Vec<(Newtype<Base>, T)>);

impl<T: Serialize> Serialize for Map<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// A value that is serialized through a forwarding serializer, which may or may not forward `is_human_readable`.
#[derive(Clone, Debug)]
struct Wrapped<T> {
    value: T,
    forwards: bool,
}

impl<T: Serialize> Serialize for Wrapped<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(Wrapper { serializer, forwards: self.forwards })
    }
}

struct Wrapper<S> {
    serializer: S,
    forwards: bool,
}

/// A value that is serialized to a [`Wrapper`].
struct Inside<'v, T: ?Sized> {
    value: &'v T,
    forwards: bool,
}

impl<T: Serialize + ?Sized> Serialize for Inside<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(Wrapper { serializer, forwards: self.forwards })
    }
}

macro_rules! pass_on {
    ($($method:ident($($argument:ident: $type:ty),*) -> $ok:ty;)*) => {$(
        fn $method(self, $($argument: $type),*) -> Result<$ok, S::Error> {
            self.serializer.$method($($argument),*)
        }
    )*};
}

impl<S: Serializer> Serializer for Wrapper<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = S::SerializeSeq;
    type SerializeTuple = S::SerializeTuple;
    type SerializeTupleStruct = S::SerializeTupleStruct;
    type SerializeTupleVariant = S::SerializeTupleVariant;
    type SerializeMap = S::SerializeMap;
    type SerializeStruct = S::SerializeStruct;
    type SerializeStructVariant = S::SerializeStructVariant;

    fn is_human_readable(&self) -> bool {
        if self.forwards { self.serializer.is_human_readable() } else { true }
    }

    pass_on! {
        serialize_bool(value: bool) -> S::Ok;
        serialize_i8(value: i8) -> S::Ok;
        serialize_i16(value: i16) -> S::Ok;
        serialize_i32(value: i32) -> S::Ok;
        serialize_i64(value: i64) -> S::Ok;
        serialize_i128(value: i128) -> S::Ok;
        serialize_u8(value: u8) -> S::Ok;
        serialize_u16(value: u16) -> S::Ok;
        serialize_u32(value: u32) -> S::Ok;
        serialize_u64(value: u64) -> S::Ok;
        serialize_u128(value: u128) -> S::Ok;
        serialize_f32(value: f32) -> S::Ok;
        serialize_f64(value: f64) -> S::Ok;
        serialize_char(value: char) -> S::Ok;
        serialize_str(value: &str) -> S::Ok;
        serialize_bytes(value: &[u8]) -> S::Ok;
        serialize_none() -> S::Ok;
        serialize_unit() -> S::Ok;
        serialize_unit_struct(name: &'static str) -> S::Ok;
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str) -> S::Ok;
        serialize_seq(len: Option<usize>) -> S::SerializeSeq;
        serialize_tuple(len: usize) -> S::SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) -> S::SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
            -> S::SerializeTupleVariant;
        serialize_map(len: Option<usize>) -> S::SerializeMap;
        serialize_struct(name: &'static str, len: usize) -> S::SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
            -> S::SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.serializer.serialize_some(value)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<S::Ok, S::Error> {
        self.serializer.serialize_newtype_struct(name, &Inside { value, forwards: self.forwards })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.serializer.serialize_newtype_variant(name, index, variant, value)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.serializer.collect_str(value)
    }
}

/// An id or raw JSON.
#[derive(Clone, Debug)]
struct Leaf {
    json: String,
    is_id: bool,
}

/// How a [`Leaf`] serializes.
#[derive(Clone, Copy)]
enum Guise {
    /// As this crate's type.
    Own,
    /// As serde_json's `RawValue`.
    Raw,
    /// As a value in which each number is a string that starts with [`MARK`].
    Marked,
}

/// No other string starts with this.
const MARK: char = '\u{1}';

thread_local! {
    static GUISE: Cell<Guise> = const { Cell::new(Guise::Own) };
}

/// Runs `serialize` while leaves serialize as `guise`.
fn in_guise<T>(guise: Guise, serialize: impl FnOnce() -> T) -> T {
    GUISE.set(guise);
    let done = serialize();
    GUISE.set(Guise::Own);
    done
}

impl Serialize for Leaf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match GUISE.get() {
            Guise::Own if self.is_id => Id::parse(&self.json).unwrap().serialize(serializer),
            Guise::Own => RawJson::parse(self.json.as_bytes()).unwrap().serialize(serializer),
            Guise::Raw => serde_json::from_str::<&RawValue>(&self.json).unwrap().serialize(serializer),
            Guise::Marked => Marked(&self.json).serialize(serializer),
        }
    }
}

impl Leaf {
    /// Whether some representations of this leaf are refused:
    ///
    /// - it contains a number that is too large for a float, or has more characters than serde passes on
    /// - it is an id that is neither a 64-bit integer nor a float
    fn may_be_refused(&self) -> bool {
        fn contains_refused(json: &str, is_id: bool) -> bool {
            match json.as_bytes()[0] {
                b'{' => walk::members(json).any(|(_, value)| contains_refused(value, false)),
                b'[' => walk::elements(json).any(|(_, value)| contains_refused(value, false)),
                b'-' | b'0'..=b'9' => {
                    let float: f64 = json.parse().unwrap();
                    let id = |json: &str| Id::parse(json).unwrap().into_owned();
                    let is_exact = |id: &Id<'_>| {
                        id.as_i64().is_some() || id.as_u64().is_some() || {
                            let printed = serde_json::to_string(&float).unwrap();
                            Id::parse(&printed).is_some_and(|printed| printed == *id)
                        }
                    };
                    float.is_infinite() || json.len() > 64 || is_id && !is_exact(&id(json))
                }
                _ => false,
            }
        }
        contains_refused(&self.json, self.is_id)
    }
}

struct Marked<'t>(&'t str);

impl Serialize for Marked<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_bytes()[0] {
            b'{' => {
                let mut map = serializer.serialize_map(None)?;
                for (key, value) in walk::members(self.0) {
                    map.serialize_entry(&string::decode(key).unwrap(), &Marked(value))?;
                }
                map.end()
            }
            b'[' => {
                let mut seq = serializer.serialize_seq(None)?;
                walk::elements(self.0).try_for_each(|(_, element)| seq.serialize_element(&Marked(element)))?;
                seq.end()
            }
            b'"' => serializer.serialize_str(&string::decode(self.0).unwrap()),
            b't' => serializer.serialize_bool(true),
            b'f' => serializer.serialize_bool(false),
            b'n' => serializer.serialize_unit(),
            _ => serializer.serialize_str(&format!("{MARK}{}", self.0)),
        }
    }
}

/// The text without blanks and needless escapes, with marked strings turned back into numbers, and each number as
/// `number` writes it.
fn canonical(json: &str, number: &impl Fn(&str) -> String) -> String {
    let text = |literal: &str| serde_json::to_string(&string::decode(literal).unwrap()).unwrap();
    match json.as_bytes()[0] {
        b'{' => {
            let member = |(key, value): (&str, &str)| {
                let key = string::decode(key).unwrap();
                let key = match key.strip_prefix(MARK) {
                    Some(key) => number(key),
                    None if RawJson::parse(key.as_bytes()).is_ok() && is_number(&key) => number(&key),
                    None => key.into_owned(),
                };
                format!("{}:{}", serde_json::to_string(&key).unwrap(), canonical(value, number))
            };
            format!("{{{}}}", walk::members(json).map(member).collect::<Vec<_>>().join(","))
        }
        b'[' => {
            let element = |(_, element)| canonical(element, number);
            format!("[{}]", walk::elements(json).map(element).collect::<Vec<_>>().join(","))
        }
        b'"' => match string::decode(json).unwrap().strip_prefix(MARK) {
            Some(marked) => number(marked),
            None => text(json),
        },
        b'-' | b'0'..=b'9' => number(json),
        _ => json.to_owned(),
    }
}

/// A random value of a random type.
trait Shape: Serialize + Clone {
    fn random(g: &mut Gen) -> Self;

    /// The ids and raw JSON that it contains.
    fn leaves(&self) -> Vec<Leaf>;

    /// Whether the encoder gets every text directly.
    fn is_direct(&self) -> bool;

    /// Simpler values.
    fn simpler(&self) -> Vec<Self>;
}

impl Shape for Base {
    fn random(g: &mut Gen) -> Self {
        match below(10, g) {
            0 => Self::Unit,
            1 => Self::Bool(bool::arbitrary(g)),
            2 => Self::Integer(i64::arbitrary(g)),
            3 => Self::Float(f64::from(i32::arbitrary(g)) / 8.0),
            4 => Self::Text(text(g)),
            _ => Self::Leaf(leaf(g)),
        }
    }

    fn leaves(&self) -> Vec<Leaf> {
        if let Self::Leaf(leaf) = self { vec![leaf.clone()] } else { Vec::new() }
    }

    fn is_direct(&self) -> bool {
        true
    }

    fn simpler(&self) -> Vec<Self> {
        match self {
            Self::Leaf(leaf) => {
                let values = walk::members(&leaf.json).map(|(_, value)| value);
                let parts = match leaf.json.as_bytes()[0] {
                    b'{' => values.collect(),
                    b'[' => walk::elements(&leaf.json).map(|(_, element)| element).collect(),
                    _ => Vec::new(),
                };
                let simpler = |json: &str| Self::Leaf(Leaf { json: json.to_owned(), is_id: leaf.is_id });
                parts.into_iter().map(simpler).chain([Self::Unit]).collect()
            }
            Self::Unit => Vec::new(),
            _ => vec![Self::Unit],
        }
    }
}

impl<T: Shape> Any<T> {
    fn parts(&mut self) -> Vec<&mut T> {
        match self {
            Self::External(External::Unit)
            | Self::Internal(Internal::Unit)
            | Self::Adjacent(Adjacent::Unit)
            | Self::Untagged(Untagged::Unit) => Vec::new(),
            Self::Just(a)
            | Self::External(External::Newtype(a))
            | Self::Internal(Internal::Newtype(a))
            | Self::Adjacent(Adjacent::Newtype(a))
            | Self::Untagged(Untagged::Newtype(a))
            | Self::Newtype(Newtype(a))
            | Self::Wrapped(Wrapped { value: a, .. }) => vec![a],
            Self::External(External::Tuple(a, b) | External::Struct { a, b })
            | Self::Internal(Internal::Struct { a, b })
            | Self::Adjacent(Adjacent::Tuple(a, b) | Adjacent::Struct { a, b })
            | Self::Untagged(Untagged::Tuple(a, b) | Untagged::Struct { a, b })
            | Self::Struct(Struct { a, b })
            | Self::Pair(Pair(a, b)) => vec![a, b],
            Self::Flat(Flat { a, inner: b, z: c }) | Self::Tuple((a, b, c)) => vec![a, b, c],
            Self::Flats(Flats { one, two }) => [one].into_iter().chain(two).collect(),
            Self::Seq(values) => values.iter_mut().collect(),
            Self::Option(value) => value.iter_mut().collect(),
            Self::Map(map) => map.0.iter_mut().map(|(_, value)| value).collect(),
        }
    }
}

impl<T: Shape> Shape for Any<T> {
    fn random(g: &mut Gen) -> Self {
        let t = T::random;
        match below(24, g) {
            0..=4 => Self::Just(t(g)),
            5 => Self::External(External::Newtype(t(g))),
            6 => Self::External(External::Tuple(t(g), t(g))),
            7 => Self::External(External::Struct { a: t(g), b: t(g) }),
            8 | 9 => Self::Internal(Internal::Newtype(t(g))),
            10 => Self::Internal(Internal::Struct { a: t(g), b: t(g) }),
            11 => Self::Adjacent(match below(4, g) {
                0 => Adjacent::Unit,
                1 => Adjacent::Newtype(t(g)),
                2 => Adjacent::Tuple(t(g), t(g)),
                _ => Adjacent::Struct { a: t(g), b: t(g) },
            }),
            12 => Self::Untagged(match below(4, g) {
                0 => Untagged::Unit,
                1 => Untagged::Newtype(t(g)),
                2 => Untagged::Tuple(t(g), t(g)),
                _ => Untagged::Struct { a: t(g), b: t(g) },
            }),
            13 | 14 => Self::Flat(Flat { a: t(g), inner: t(g), z: t(g) }),
            15 => Self::Flats(Flats { one: t(g), two: bool::arbitrary(g).then(|| t(g)) }),
            16 => Self::Struct(Struct { a: t(g), b: t(g) }),
            17 => Self::Newtype(Newtype(t(g))),
            18 => Self::Pair(Pair(t(g), t(g))),
            19 => Self::Tuple((t(g), t(g), t(g))),
            20 => Self::Seq((0..below(4, g)).map(|_| t(g)).collect()),
            21 => Self::Option(bool::arbitrary(g).then(|| t(g))),
            22 => {
                let key = |g: &mut Gen| if bool::arbitrary(g) { Base::Text(text(g)) } else { Base::random(g) };
                Self::Map(Map((0..below(3, g)).map(|_| (Newtype(key(g)), t(g))).collect()))
            }
            _ => match below(6, g) {
                0 => Self::External(External::Unit),
                1 => Self::Internal(Internal::Unit),
                _ => Self::Wrapped(Wrapped { value: t(g), forwards: bool::arbitrary(g) }),
            },
        }
    }

    fn leaves(&self) -> Vec<Leaf> {
        let keys = match self {
            Self::Map(map) => map.0.iter().flat_map(|(key, _)| key.0.leaves()).collect(),
            _ => Vec::new(),
        };
        let parts = self.clone().parts().into_iter().flat_map(|part| part.leaves()).collect();
        [keys, parts].concat()
    }

    fn is_direct(&self) -> bool {
        let is_direct = match self {
            Self::Internal(_) | Self::Flat(_) | Self::Flats(_) | Self::Map(_) => false,
            Self::Wrapped(wrapped) => wrapped.forwards,
            _ => true,
        };
        is_direct && self.clone().parts().into_iter().all(|part| part.is_direct())
    }

    /// Each part on its own, and this value with one part simplified.
    fn simpler(&self) -> Vec<Self> {
        let parts: Vec<T> = self.clone().parts().into_iter().map(|part| part.clone()).collect();
        let mut simpler = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            simpler.extend(part.simpler().into_iter().map(|part| {
                let mut whole = self.clone();
                *whole.parts()[at] = part;
                whole
            }));
        }
        let is_part = matches!(self, Self::Just(_));
        parts.into_iter().filter(|_| !is_part).map(Self::Just).chain(simpler).collect()
    }
}

#[derive(Clone, Debug)]
struct Case(Box<Nested>);

impl Arbitrary for Case {
    /// Prefers a value that serializes: not every value can be flattened or tagged.
    fn arbitrary(g: &mut Gen) -> Self {
        let serializes = |value: &Nested| in_guise(Guise::Marked, || serde_json::to_string(value)).is_ok();
        let tries = [0; 4].map(|_| Nested::random(g));
        let found = tries.iter().position(serializes).unwrap_or(0);
        Self(Box::new(tries.into_iter().nth(found).unwrap()))
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        Box::new(self.0.simpler().into_iter().map(|simpler| Self(Box::new(simpler))))
    }
}

fn below(limit: usize, g: &mut Gen) -> usize {
    usize::arbitrary(g) % limit
}

fn text(g: &mut Gen) -> String {
    let texts = ["", "a", "1", "t", "null", "{\"admin\":true}", "[1,2]", "\"", "é😀", "x\ny", "-1.50", "1e999"];
    (*g.choose(&texts).unwrap()).to_owned()
}

fn leaf(g: &mut Gen) -> Leaf {
    let is_id = bool::arbitrary(g);
    let mut json = String::new();
    write_json(if is_id { 0 } else { below(4, g) }, is_id, g, &mut json);
    Leaf { json, is_id }
}

/// Writes a value with unusual numbers, escapes and blanks.
fn write_json(depth: usize, is_id: bool, g: &mut Gen, json: &mut String) {
    let string = |g: &mut Gen| match below(4, g) {
        0 => r#""\u0061\/""#.to_owned(),
        1 => r#""\"1\"""#.to_owned(),
        _ => serde_json::to_string(&text(g)).unwrap(),
    };
    let container = if depth > 0 { 5 } else { 0 };
    match below(7 + container, g) {
        0 => json.push_str(if is_id { "null" } else { g.choose(&["null", "true", "false"]).unwrap() }),
        1..=3 => json.push_str(&number(g)),
        4..=6 => json.push_str(&string(g)),
        7..=8 => {
            json.push('[');
            for at in 0..below(4, g) {
                json.push_str(if at > 0 { g.choose(&[",", " ,  "]).unwrap() } else { "" });
                write_json(depth - 1, false, g, json);
            }
            json.push_str(g.choose(&["]", " ]"]).unwrap());
        }
        _ => {
            json.push('{');
            for at in 0..below(4, g) {
                json.push_str(if at > 0 { g.choose(&[",", " , "]).unwrap() } else { "" });
                json.push_str(&string(g));
                json.push_str(g.choose(&[":", " : "]).unwrap());
                write_json(depth - 1, false, g, json);
            }
            json.push_str(g.choose(&["}", "\t}"]).unwrap());
        }
    }
}

/// A number, often one that a float rounds or spells differently.
fn number(g: &mut Gen) -> String {
    let numbers = [
        "0",
        "-0",
        "-0.0",
        "1",
        "1.0",
        "1.10",
        "1e2",
        "1E+2",
        "-1.50e-3",
        "0.1",
        "9007199254740993",
        "9007199254740993.0",
        "12345678901234567890123",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "3.14159265358979323846264338327950288",
        "1e400",
        "1e-400",
        "170141183460469231731687303715884105727",
        "1.7976931348623157e308",
        "5e-324",
    ];
    match below(12, g) {
        0 => i64::arbitrary(g).to_string(),
        1 => serde_json::to_string(&f64::from_bits(u64::arbitrary(g))).unwrap().replace("null", "0.5"),
        2 => format!("{}.{}", i32::arbitrary(g), u64::arbitrary(g)),
        3 => format!("{}{}", u64::MAX, u32::arbitrary(g)),
        4 => format!("{}e{}", i16::arbitrary(g), i8::arbitrary(g)),
        5 if below(4, g) == 0 => format!("0.{}1", "123".repeat(below(40, g))),
        _ => (*g.choose(&numbers).unwrap()).to_owned(),
    }
}

fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, EncodeError> {
    let mut out = BytesMut::new();
    let bounds = Bounds { start: 0, end: usize::MAX, depth: u32::MAX, line_feed: false };
    append(&mut out, bounds, |writer| writer.value(value))?;
    Ok(String::from_utf8(out.into()).unwrap())
}

/// Why a message is refused.
fn reason(error: &EncodeError) -> String {
    std::error::Error::source(error).map(ToString::to_string).unwrap_or_default()
}

const REASONS: [&str; 4] = [
    "number out of range",
    "number can't be expressed exactly",
    "i128 is not supported",
    "serde can't buffer a number of more than 64 characters exactly",
];

fn check(value: &Nested) {
    let expected = in_guise(Guise::Marked, || serde_json::to_string(value));
    let may_be_refused = value.leaves().iter().any(Leaf::may_be_refused);

    match (to_json(value), &expected) {
        (Ok(found), Ok(expected)) => {
            let spelled = |number: &str| number.to_owned();
            assert_eq!(canonical(&found, &spelled), canonical(expected, &spelled), "{found}");
        }
        (Err(error), Ok(_)) => {
            assert!(may_be_refused && REASONS.contains(&&*reason(&error)), "{error}: {}", reason(&error));
        }
        (Ok(found), Err(error)) => panic!("{found} instead of {error}"),
        (Err(_), Err(_)) => {}
    }
    if value.is_direct() {
        let expected = in_guise(Guise::Raw, || serde_json::to_string(value)).unwrap();
        assert_eq!(to_json(value).unwrap(), expected);
    }
    // Other serializers get floats, so compare the values.
    match (serde_json::to_string(value), expected) {
        (Ok(found), Ok(expected)) => {
            let float = |number: &str| format!("{:e}", number.parse::<f64>().unwrap());
            assert_eq!(canonical(&found, &float), canonical(&expected, &float), "{found}");
        }
        (Err(error), Ok(_)) => {
            assert!(may_be_refused && REASONS.iter().any(|reason| error.to_string().starts_with(reason)), "{error}");
        }
        (Ok(found), Err(error)) => panic!("{found} instead of {error}"),
        (Err(_), Err(_)) => {}
    }
}

/// `WIRELINE_TIMES=200 cargo test --release --lib any_type_that_serde_derives` tries a million.
#[test]
fn any_type_that_serde_derives() {
    fn property(case: Case) -> bool {
        check(&case.0);
        true
    }
    QuickCheck::new().tests(cases()).max_tests(cases()).quickcheck(property as fn(_) -> _);
}
