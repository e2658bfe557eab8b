//! Random values that cover serde's data model.

use std::fmt::{self, Display};

use quickcheck::{Arbitrary, Gen};
use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Number;
use serde_json::value::RawValue;

/// A value. Its floats are finite, and the lengths it announces are correct.
#[derive(Clone, Debug)]
pub(super) enum Model {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    I128(i128),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    U128(u128),
    F32(f32),
    F64(f64),
    Char(char),
    Str(String),
    Display(String),
    Bytes(Vec<u8>),
    None,
    Some(Box<Self>),
    Unit,
    UnitStruct(Name),
    UnitVariant(Name),
    NewtypeStruct(Name, Box<Self>),
    NewtypeVariant(Name, Box<Self>),
    Seq(Vec<Self>, bool),
    Tuple(Vec<Self>),
    TupleStruct(Name, Vec<Self>),
    TupleVariant(Name, Vec<Self>),
    Map(Vec<(ModelKey, Self)>, bool),
    Struct(Name, Vec<(Name, Self)>),
    StructVariant(Name, Vec<(Name, Self)>),
    /// Keeps its spelling if serde_json has the feature `arbitrary_precision`.
    Number(Number),
    Raw(Box<RawValue>),
}

/// A value that serde_json accepts as a key.
#[derive(Clone, Debug)]
pub(super) enum ModelKey {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    I128(i128),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    U128(u128),
    F32(f32),
    F64(f64),
    Char(char),
    Str(String),
    Display(String),
    UnitVariant(Name),
    NewtypeStruct(Name, Box<Self>),
    Some(Box<Self>),
}

/// The names of types, variants and fields.
type Name = &'static str;

const NAMES: [Name; 12] = [
    "",
    "a",
    "id",
    "name",
    "isError",
    "description",
    "a \"quoted\" name",
    "line\nbreak",
    "\u{1}\u{1f}\u{7f}",
    "größer",
    "a name of thirty-two characters.",
    "a name that is longer than a vector, or two of them, or even than four of them together",
];

impl Serialize for Model {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::I8(value) => serializer.serialize_i8(*value),
            Self::I16(value) => serializer.serialize_i16(*value),
            Self::I32(value) => serializer.serialize_i32(*value),
            Self::I64(value) => serializer.serialize_i64(*value),
            Self::I128(value) => serializer.serialize_i128(*value),
            Self::U8(value) => serializer.serialize_u8(*value),
            Self::U16(value) => serializer.serialize_u16(*value),
            Self::U32(value) => serializer.serialize_u32(*value),
            Self::U64(value) => serializer.serialize_u64(*value),
            Self::U128(value) => serializer.serialize_u128(*value),
            Self::F32(value) => serializer.serialize_f32(*value),
            Self::F64(value) => serializer.serialize_f64(*value),
            Self::Char(value) => serializer.serialize_char(*value),
            Self::Str(value) => serializer.serialize_str(value),
            Self::Display(value) => serializer.collect_str(&InPieces(value)),
            Self::Bytes(value) => serializer.serialize_bytes(value),
            Self::None => serializer.serialize_none(),
            Self::Some(value) => serializer.serialize_some(value),
            Self::Unit => serializer.serialize_unit(),
            Self::UnitStruct(name) => serializer.serialize_unit_struct(name),
            Self::UnitVariant(variant) => serializer.serialize_unit_variant("Enum", 0, variant),
            Self::NewtypeStruct(name, value) => serializer.serialize_newtype_struct(name, value),
            Self::NewtypeVariant(variant, value) => serializer.serialize_newtype_variant("Enum", 1, variant, value),
            Self::Seq(values, knows_len) => {
                let mut seq = serializer.serialize_seq(knows_len.then_some(values.len()))?;
                values.iter().try_for_each(|value| seq.serialize_element(value))?;
                seq.end()
            }
            Self::Tuple(values) => {
                let mut tuple = serializer.serialize_tuple(values.len())?;
                values.iter().try_for_each(|value| tuple.serialize_element(value))?;
                tuple.end()
            }
            Self::TupleStruct(name, values) => {
                let mut tuple = serializer.serialize_tuple_struct(name, values.len())?;
                values.iter().try_for_each(|value| tuple.serialize_field(value))?;
                tuple.end()
            }
            Self::TupleVariant(variant, values) => {
                let mut tuple = serializer.serialize_tuple_variant("Enum", 2, variant, values.len())?;
                values.iter().try_for_each(|value| tuple.serialize_field(value))?;
                tuple.end()
            }
            Self::Map(entries, knows_len) => {
                let mut map = serializer.serialize_map(knows_len.then_some(entries.len()))?;
                for (nth, (key, value)) in entries.iter().enumerate() {
                    if nth % 2 == 0 {
                        map.serialize_entry(key, value)?;
                    } else {
                        map.serialize_key(key)?;
                        map.serialize_value(value)?;
                    }
                }
                map.end()
            }
            Self::Struct(name, fields) => {
                let mut object = serializer.serialize_struct(name, fields.len())?;
                fields.iter().try_for_each(|(name, value)| object.serialize_field(name, value))?;
                object.end()
            }
            Self::StructVariant(variant, fields) => {
                let mut object = serializer.serialize_struct_variant("Enum", 3, variant, fields.len())?;
                fields.iter().try_for_each(|(name, value)| object.serialize_field(name, value))?;
                object.end()
            }
            Self::Number(value) => value.serialize(serializer),
            Self::Raw(value) => value.serialize(serializer),
        }
    }
}

impl Serialize for ModelKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::I8(value) => serializer.serialize_i8(*value),
            Self::I16(value) => serializer.serialize_i16(*value),
            Self::I32(value) => serializer.serialize_i32(*value),
            Self::I64(value) => serializer.serialize_i64(*value),
            Self::I128(value) => serializer.serialize_i128(*value),
            Self::U8(value) => serializer.serialize_u8(*value),
            Self::U16(value) => serializer.serialize_u16(*value),
            Self::U32(value) => serializer.serialize_u32(*value),
            Self::U64(value) => serializer.serialize_u64(*value),
            Self::U128(value) => serializer.serialize_u128(*value),
            Self::F32(value) => serializer.serialize_f32(*value),
            Self::F64(value) => serializer.serialize_f64(*value),
            Self::Char(value) => serializer.serialize_char(*value),
            Self::Str(value) => serializer.serialize_str(value),
            Self::Display(value) => serializer.collect_str(&InPieces(value)),
            Self::UnitVariant(variant) => serializer.serialize_unit_variant("Enum", 0, variant),
            Self::NewtypeStruct(name, value) => serializer.serialize_newtype_struct(name, value),
            Self::Some(value) => serializer.serialize_some(value),
        }
    }
}

/// A text that is displayed in several pieces.
struct InPieces<'t>(&'t str);

impl Display for InPieces<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let middle = (0..=self.0.len() / 2).rev().find(|&at| self.0.is_char_boundary(at)).unwrap_or(0);
        let (first, second) = self.0.split_at(middle);
        f.write_str(first)?;
        second.chars().take(3).try_for_each(|character| fmt::Write::write_char(f, character))?;
        f.write_str(&second[second.chars().take(3).map(char::len_utf8).sum()..])
    }
}

impl Arbitrary for Model {
    fn arbitrary(g: &mut Gen) -> Self {
        Self::up_to(4, g)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        match self.clone() {
            Self::Some(value) | Self::NewtypeStruct(_, value) | Self::NewtypeVariant(_, value) => {
                Box::new(std::iter::once(*value))
            }
            Self::Seq(values, _)
            | Self::Tuple(values)
            | Self::TupleStruct(_, values)
            | Self::TupleVariant(_, values) => Box::new(values.into_iter()),
            Self::Map(entries, has_len) => {
                let simpler_keys = entries.clone().into_iter().flat_map(move |(key, value)| {
                    key.shrink().map(move |key| Self::Map(vec![(key, value.clone())], has_len))
                });
                Box::new(entries.into_iter().map(|(_, value)| value).chain(simpler_keys))
            }
            Self::Struct(_, fields) | Self::StructVariant(_, fields) => {
                Box::new(fields.into_iter().map(|(_, value)| value))
            }
            Self::Str(text) => Box::new(text.shrink().map(Self::Str)),
            Self::Display(text) => Box::new(text.shrink().map(Self::Display)),
            Self::Bytes(bytes) => Box::new(bytes.shrink().map(Self::Bytes)),
            _ => quickcheck::empty_shrinker(),
        }
    }
}

impl Model {
    /// A value nested at most `depth` deep, counting newtypes and options.
    fn up_to(depth: u32, g: &mut Gen) -> Self {
        let inner = |g: &mut Gen| Box::new(Self::up_to(depth.saturating_sub(1), g));
        let list = |g: &mut Gen| (0..below(6, g)).map(|_| *inner(g)).collect::<Vec<_>>();
        let fields = |g: &mut Gen| (0..below(6, g)).map(|_| (name(g), *inner(g))).collect::<Vec<_>>();
        let entries = |g: &mut Gen| (0..below(6, g)).map(|_| (ModelKey::arbitrary(g), *inner(g))).collect::<Vec<_>>();
        // From 22 on, values contain other values.
        match below(if depth == 0 { 22 } else { 33 }, g) {
            0 => Self::Bool(bool::arbitrary(g)),
            1 => Self::I8(i8::arbitrary(g)),
            2 => Self::I16(i16::arbitrary(g)),
            3 => Self::I32(i32::arbitrary(g)),
            4 => Self::I64(i64::arbitrary(g) >> below(64, g)),
            5 => Self::I128(i128::arbitrary(g) >> below(128, g)),
            6 => Self::U8(u8::arbitrary(g)),
            7 => Self::U16(u16::arbitrary(g)),
            8 => Self::U32(u32::arbitrary(g)),
            9 => Self::U64(u64::arbitrary(g) >> below(64, g)),
            10 => Self::U128(u128::arbitrary(g) >> below(128, g)),
            11 => Self::F32(f32_of(g)),
            12 => Self::F64(f64_of(g)),
            13 => Self::Char(char::arbitrary(g)),
            14 => Self::Str(text(g)),
            15 => Self::Display(text(g)),
            16 => Self::Bytes(Vec::arbitrary(g)),
            17 => Self::None,
            18 => Self::Unit,
            19 => Self::UnitStruct(name(g)),
            20 => Self::UnitVariant(name(g)),
            21 => Self::Number(match below(3, g) {
                0 => i64::arbitrary(g).into(),
                1 => u64::arbitrary(g).into(),
                _ => Number::from_f64(f64_of(g)).unwrap(),
            }),
            22 => Self::Some(inner(g)),
            23 => Self::NewtypeStruct(name(g), inner(g)),
            24 => Self::NewtypeVariant(name(g), inner(g)),
            25 => Self::Seq(list(g), bool::arbitrary(g)),
            26 => Self::Tuple(list(g)),
            27 => Self::TupleStruct(name(g), list(g)),
            28 => Self::TupleVariant(name(g), list(g)),
            29 => Self::Map(entries(g), bool::arbitrary(g)),
            30 => Self::Struct(name(g), fields(g)),
            31 => Self::StructVariant(name(g), fields(g)),
            _ => Self::Raw(serde_json::value::to_raw_value(&inner(g)).unwrap()),
        }
    }
}

impl Arbitrary for ModelKey {
    fn arbitrary(g: &mut Gen) -> Self {
        match below(24, g) {
            0 => Self::Bool(bool::arbitrary(g)),
            1 => Self::I8(i8::arbitrary(g)),
            2 => Self::I16(i16::arbitrary(g)),
            3 => Self::I32(i32::arbitrary(g)),
            4 => Self::I64(i64::arbitrary(g)),
            5 => Self::I128(i128::arbitrary(g)),
            6 => Self::U8(u8::arbitrary(g)),
            7 => Self::U16(u16::arbitrary(g)),
            8 => Self::U32(u32::arbitrary(g)),
            9 => Self::U64(u64::arbitrary(g)),
            10 => Self::U128(u128::arbitrary(g)),
            11 => Self::F32(f32_of(g)),
            12 => Self::F64(f64_of(g)),
            13 => Self::Char(char::arbitrary(g)),
            14 => Self::Display(text(g)),
            15 => Self::UnitVariant(name(g)),
            16 => Self::NewtypeStruct(name(g), Box::new(Self::arbitrary(g))),
            17 => Self::Some(Box::new(Self::arbitrary(g))),
            _ => Self::Str(text(g)),
        }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        match self.clone() {
            Self::NewtypeStruct(_, key) | Self::Some(key) => quickcheck::single_shrinker(*key),
            Self::Str(text) => Box::new(text.shrink().map(Self::Str)),
            Self::Display(text) => Box::new(text.shrink().map(Self::Display)),
            _ => quickcheck::empty_shrinker(),
        }
    }
}

fn below(limit: usize, g: &mut Gen) -> usize {
    usize::arbitrary(g) % limit
}

fn name(g: &mut Gen) -> Name {
    g.choose(&NAMES).unwrap()
}

/// Text with lengths around those of CPU vectors, with and without escapes.
fn text(g: &mut Gen) -> String {
    let len = below([8, 40, 80, 200][below(4, g)], g);
    match below(4, g) {
        0 => String::arbitrary(g),
        1 => (0..len).map(|_| char::arbitrary(g)).collect(),
        2 => "plain text ".chars().cycle().take(len).collect(),
        _ => (0..len)
            .map(|_| *g.choose(&['a', ' ', '"', '\\', '\n', '\u{1}', 'é', '😀', '/', '\u{7f}']).unwrap())
            .collect(),
    }
}

fn f64_of(g: &mut Gen) -> f64 {
    let float = match below(4, g) {
        0 => below(100_000, g) as f64 / 1000.0,
        1 => *g.choose(&[0.0, -0.0, 1.0, 1e15, 1e16, 1e17, 1e-5, 1e-6, f64::MAX, f64::MIN_POSITIVE, 5e-324]).unwrap(),
        _ => f64::from_bits(u64::arbitrary(g)),
    };
    if float.is_finite() { float } else { 0.5 }
}

fn f32_of(g: &mut Gen) -> f32 {
    let float = if bool::arbitrary(g) { f32::from_bits(u32::arbitrary(g)) } else { below(1000, g) as f32 / 8.0 };
    if float.is_finite() { float } else { 0.5 }
}
