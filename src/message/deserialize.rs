//! `Deserialize` for ids and raw JSON.
//!
//! This crate's deserializer and serde_json's pass the text as it is spelled. Any other deserializer passes a value,
//! which must be exact.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Unexpected, Visitor};
use wireline_json::collect::{FirstKey, Floats, StringSeed, collect, is_json_number};
use wireline_json::fragment::RAW_VALUE;

use super::id::Id;
use super::raw::RawJson;

/// serde_json and [`RawJson::deserialize`] preserve the exact spelling of the id.
///
/// Any other deserializer, including serde's buffers for untagged, internally tagged and flattened types, gives an
/// equal id or an error. A float is an error unless the format is binary, because it may have been rounded.
///
/// ```
/// use wireline::{Id, RawJson};
///
/// let json = RawJson::parse(b"[9007199254740993.0]")?;
/// let [id]: [Id; 1] = json.deserialize()?;
/// assert_eq!(id.as_json(), "9007199254740993.0");
///
/// #[derive(serde::Deserialize)]
/// #[serde(untagged)]
/// enum Untagged { Ids([Id<'static>; 1]) }
/// assert!(json.deserialize::<Untagged>().is_err()); // as a float it would be 9007199254740992
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<'de> Deserialize<'de> for Id<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let floats = Floats::of(&deserializer);
        deserializer.deserialize_newtype_struct(RAW_VALUE, IdVisitor { floats })
    }
}

struct IdVisitor {
    floats: Floats,
}

impl IdVisitor {
    fn id<E: de::Error>(&self, json: &str) -> Result<Id<'static>, E> {
        json.parse().map_err(|_| E::invalid_type(unexpected(json), self))
    }
}

/// Describes a text that isn't an id.
fn unexpected(json: &str) -> Unexpected<'static> {
    match json.as_bytes().first() {
        Some(b'{') => Unexpected::Map,
        Some(b'[') => Unexpected::Seq,
        Some(byte @ (b't' | b'f')) => Unexpected::Bool(*byte == b't'),
        Some(b'"') => Unexpected::Other("string with a lone surrogate escape"),
        _ => Unexpected::Other("text that isn't JSON"),
    }
}

impl<'de> Visitor<'de> for IdVisitor {
    type Value = Id<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or null")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let first = FirstKey::read(&mut members)?;
        if let Some(FirstKey::Other(_)) | None = first {
            return Err(de::Error::invalid_type(Unexpected::Map, &self));
        }
        let json = members.next_value_seed(StringSeed)?;
        match first {
            Some(FirstKey::Number) if !is_json_number(&json) => Err(de::Error::invalid_type(Unexpected::Map, &self)),
            _ => self.id(&json),
        }
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_str<E: de::Error>(self, id: &str) -> Result<Self::Value, E> {
        Ok(Id::from(id))
    }

    fn visit_i64<E: de::Error>(self, id: i64) -> Result<Self::Value, E> {
        Ok(Id::from(id))
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> Result<Self::Value, E> {
        Ok(Id::from(id))
    }

    fn visit_i128<E: de::Error>(self, id: i128) -> Result<Self::Value, E> {
        self.id(&id.to_string())
    }

    fn visit_u128<E: de::Error>(self, id: u128) -> Result<Self::Value, E> {
        self.id(&id.to_string())
    }

    fn visit_f64<E: de::Error>(self, id: f64) -> Result<Self::Value, E> {
        self.id(&self.floats.print::<E>(id)?)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Id::NULL)
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Id::NULL)
    }
}

/// From serde_json and [`RawJson::deserialize`], this is a copy of the text with its exact spelling. To borrow it
/// instead, see [`RawJson::borrow_from`].
///
/// From any other deserializer, including serde's buffers for untagged, internally tagged and flattened types, it is
/// the value written as compact JSON. Its numbers are exact: a float is an error unless the format is binary, because
/// it may have been rounded.
impl<'de> Deserialize<'de> for RawJson<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawJson::borrow_from(deserializer).map(RawJson::into_owned)
    }
}

impl<'de> RawJson<'de> {
    /// Reads a text, and borrows it if possible. Use it for fields of your own types:
    ///
    /// ```
    /// use wireline::RawJson;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Call<'a> {
    ///     name: &'a str,
    ///     #[serde(borrow, deserialize_with = "RawJson::borrow_from")]
    ///     arguments: RawJson<'a>,
    /// }
    ///
    /// let params = RawJson::parse(br#"{"name":"sqrt","arguments":{"x": 2.00}}"#)?;
    /// let call: Call = params.deserialize()?;
    /// assert_eq!((call.name, call.arguments.as_json()), ("sqrt", r#"{"x": 2.00}"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for `RawJson`'s `Deserialize`.
    pub fn borrow_from<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match collect(deserializer)? {
            Cow::Borrowed(json) => Self::parse(json.as_bytes()),
            Cow::Owned(json) => RawJson::from_bytes(json.into()),
        }
        .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fmt::Debug;

    use quickcheck::{Arbitrary, Gen, QuickCheck};
    use serde::de::DeserializeOwned;
    use serde::de::value::{
        BoolDeserializer, Error, F64Deserializer, I128Deserializer, MapDeserializer, SeqDeserializer, StrDeserializer,
        U64Deserializer, U128Deserializer, UnitDeserializer,
    };
    use serde_json::Value;
    use wireline_json::{string, walk};

    use super::*;

    /// A type under test, whose value is compared as text.
    trait Read: DeserializeOwned + Debug {
        fn text(&self) -> String;
    }

    impl Read for Id<'static> {
        fn text(&self) -> String {
            self.as_json().to_owned()
        }
    }

    impl Read for RawJson<'static> {
        fn text(&self) -> String {
            self.as_json().to_owned()
        }
    }

    /// Types that contain a `T`, each with the JSON around it and the path to it.
    macro_rules! holders {
        ($($(#[$attribute:meta])* $kind:ident $name:ident $body:tt [$json:literal] |$value:ident| $text:expr),* $(,)?) => {$(
            #[derive(serde::Deserialize, Debug)]
            #[serde(bound = "T: Read")]
            $(#[$attribute])*
            $kind $name<T> $body

            impl<T: Read> Holder for $name<T> {
                const JSON: &str = $json;

                fn text(self) -> String {
                    let $value = self;
                    $text
                }
            }
        )*};
    }

    trait Holder: DeserializeOwned + Debug {
        /// The JSON of the type, with `@` in place of the text.
        const JSON: &str;

        fn text(self) -> String;
    }

    holders! {
        #[serde(transparent)]
        struct Newtype { a: T } ["@"] |it| it.a.text(),
        struct Struct { a: T } [r#"{"x":[1.5],"a" : @ ,"b":{}}"#] |it| it.a.text(),
        struct Tuple { a: (u8, T) } [r#"{"a":[1, @ ]}"#] |it| it.a.1.text(),
        struct Optional { a: Option<T> } [r#"{"a":@}"#] |it| it.a.map_or("null".to_owned(), |it| it.text()),
        struct List { a: Vec<T> } [r#"{"a":[@,@]}"#] |it| it.a[1].text(),
        struct Map { map: HashMap<String, T> } [r#"{"map":{"k":@,"\u0061":@}}"#] |it| it.map["a"].text(),
        enum External { A { a: T } } [r#"{"A":{"a":@}}"#] |it| match it { External::A { a } => a.text() },
        enum ExternalNewtype { A(T) } [r#"{"A":@}"#] |it| match it { ExternalNewtype::A(a) => a.text() },
        #[serde(tag = "t", content = "c")]
        enum Adjacent { A { a: T } } [r#"{"t":"A","c":{"a":@}}"#] |it| match it { Adjacent::A { a } => a.text() },
        struct BesideFlat { a: T, #[serde(flatten)] rest: HashMap<String, Value> } [r#"{"b":1,"a":@}"#] |it| {
            assert_eq!(it.rest.len(), 1);
            it.a.text()
        },
        struct BesideNumberedKeys { a: T, map: HashMap<u128, u8> } [r#"{"map":{"1":2},"a":@}"#] |it| {
            assert_eq!(it.map[&1], 2);
            it.a.text()
        },
        struct BesideFloats { a: T, list: Vec<f64> } [
            r#"{"list":[1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,
            1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,
            1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5],"a":@}"#
        ] |it| {
            assert_eq!(it.list[0], 1.5);
            it.a.text()
        },
        // serde buffers the types from here on.
        #[serde(untagged)]
        enum Untagged { A { a: T } } [r#"{"a":@}"#] |it| match it { Untagged::A { a } => a.text() },
        #[serde(untagged)]
        enum UntaggedNewtype { A(T) } ["@"] |it| match it { UntaggedNewtype::A(a) => a.text() },
        #[serde(tag = "t")]
        enum Internal { A { a: T } } [r#"{"a":@,"t":"A"}"#] |it| match it { Internal::A { a } => a.text() },
        #[serde(tag = "t", content = "c")]
        enum AdjacentBackwards { A { a: T } } [r#"{"c":{"a":@},"t":"A"}"#] |it| match it {
            AdjacentBackwards::A { a } => a.text(),
        },
        struct Flattened { #[serde(flatten)] inner: Struct<T> } [r#"{"a":@}"#] |it| it.inner.text(),
        struct FlattenedMap { #[serde(flatten)] inner: HashMap<String, T> } [r#"{"a":@}"#] |it| it.inner["a"].text(),
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Wanted {
        AsItIsSpelled,
        /// With the same value, or refused.
        Exact,
    }

    /// The text without blanks and needless escapes. With the feature `arbitrary_precision`, serde_json adds signs to
    /// exponents.
    fn canonical(json: &str) -> String {
        match json.as_bytes()[0] {
            b'{' => {
                let member = |(key, value)| format!("{}:{}", canonical(key), canonical(value));
                format!("{{{}}}", walk::members(json).map(member).collect::<Vec<_>>().join(","))
            }
            b'[' => {
                let element = |(_, element)| canonical(element);
                format!("[{}]", walk::elements(json).map(element).collect::<Vec<_>>().join(","))
            }
            b'"' => Value::from(string::decode(json).unwrap()).to_string(),
            _ => json.replace('E', "e").replace("e+", "e"),
        }
    }

    fn check<H: Holder>(json: &str, is_read: bool, wanted: Wanted) {
        let text = H::JSON.replace('@', json);
        let raw = RawJson::parse(text.as_bytes()).unwrap();
        let ours = raw.deserialize::<H>();
        let reader = serde_json::from_reader::<_, H>(text.as_bytes());
        for found in [ours, serde_json::from_str(&text), serde_json::from_slice(text.as_bytes()), reader] {
            match (found, wanted) {
                (Ok(found), Wanted::AsItIsSpelled) => assert_eq!(found.text(), json, "{text}"),
                (Ok(found), Wanted::Exact) => assert_eq!(canonical(&found.text()), canonical(json), "{text}"),
                (Err(error), Wanted::AsItIsSpelled) => assert!(!is_read, "{error}: {text}"),
                (Err(error), Wanted::Exact) => {
                    assert!(!is_read || json.contains(['.', 'e', 'E']) || has_long_number(json), "{error}: {text}");
                }
            }
        }
    }

    /// Whether a number in the text doesn't fit a 64-bit integer in serde_json.
    fn has_long_number(json: &str) -> bool {
        match json.as_bytes()[0] {
            b'{' => walk::members(json).any(|(_, value)| has_long_number(value)),
            b'[' => walk::elements(json).any(|(_, element)| has_long_number(element)),
            b'-' | b'0'..=b'9' => json == "-0" || json.parse::<i64>().is_err() && json.parse::<u64>().is_err(),
            _ => false,
        }
    }

    fn check_all(json: &str) {
        fn of<T: Read>(json: &str, is_read: bool) {
            use Wanted::{AsItIsSpelled, Exact};
            check::<Newtype<T>>(json, is_read, AsItIsSpelled);
            check::<Struct<T>>(json, is_read, AsItIsSpelled);
            check::<Tuple<T>>(json, is_read, AsItIsSpelled);
            check::<Optional<T>>(json, is_read, AsItIsSpelled);
            check::<List<T>>(json, is_read, AsItIsSpelled);
            check::<Map<T>>(json, is_read, AsItIsSpelled);
            check::<External<T>>(json, is_read, AsItIsSpelled);
            check::<ExternalNewtype<T>>(json, is_read, AsItIsSpelled);
            check::<Adjacent<T>>(json, is_read, AsItIsSpelled);
            check::<BesideFlat<T>>(json, is_read, AsItIsSpelled);
            check::<BesideNumberedKeys<T>>(json, is_read, AsItIsSpelled);
            check::<BesideFloats<T>>(json, is_read, AsItIsSpelled);
            check::<Untagged<T>>(json, is_read, Exact);
            check::<UntaggedNewtype<T>>(json, is_read, Exact);
            check::<Internal<T>>(json, is_read, Exact);
            check::<AdjacentBackwards<T>>(json, is_read, Exact);
            check::<Flattened<T>>(json, is_read, Exact);
            check::<FlattenedMap<T>>(json, is_read, Exact);
        }
        of::<Id<'static>>(json, Id::parse(json).is_some());
        of::<RawJson<'static>>(json, true);
    }

    const NUMBERS: [&str; 18] = [
        "0",
        "-0",
        "1.0",
        "1.10",
        "1e2",
        "1E+2",
        "9007199254740993",
        "9007199254740993.0",
        "4503599627370497.3",
        "1.00000000000000000001",
        "12345678901234567890123",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "3.14159265358979323846264338327950288",
        "1e400",
        "1e-400",
    ];

    #[test]
    fn are_read_exactly_or_not_at_all() {
        NUMBERS.into_iter().for_each(check_all);
        for json in
            ["null", "true", "\"\"", r#""1""#, r#""\u0061\/\"""#, "[]", "{}", "[ 1 , 1.50 ]", r#"{"a": {"b":1.50}}"#]
        {
            check_all(json);
        }
    }

    #[derive(Clone, Debug)]
    struct Json(String);

    impl Arbitrary for Json {
        fn arbitrary(g: &mut Gen) -> Self {
            fn write(depth: u32, g: &mut Gen) -> String {
                let list = |g: &mut Gen| (0..u8::arbitrary(g) % 3).map(|_| write(depth - 1, g)).collect::<Vec<_>>();
                match u8::arbitrary(g) % if depth == 0 { 6 } else { 8 } {
                    0 => i64::arbitrary(g).to_string(),
                    1 => format!("{}.{}", i32::arbitrary(g), u64::arbitrary(g)),
                    2 => format!("{}e{}", i16::arbitrary(g), i8::arbitrary(g)),
                    3 => (*g.choose(&NUMBERS).unwrap()).to_owned(),
                    4 => (*g.choose(&["null", "true", r#""\u0061""#, r#""é\n""#]).unwrap()).to_owned(),
                    5 => Value::from(String::arbitrary(g).replace('@', "")).to_string(),
                    6 => format!("[{}]", list(g).join(" , ")),
                    _ => {
                        format!("{{{}}}", list(g).iter().map(|it| format!("\"k\" :{it}")).collect::<Vec<_>>().join(","))
                    }
                }
            }
            let depth = u32::arbitrary(g) % 3;
            Self(write(depth, g))
        }
    }

    #[test]
    fn random_texts_are_read_exactly_or_not_at_all() {
        fn property(Json(json): Json) -> bool {
            check_all(&json);
            true
        }
        QuickCheck::new().tests(500).quickcheck(property as fn(_) -> _);
    }

    #[test]
    fn ids_are_keys_of_maps() {
        let text = r#"{"":1,"a\n":"b","7":null}"#;
        let json = RawJson::parse(text.as_bytes()).unwrap();
        let ours = json.deserialize::<HashMap<Id<'static>, Id<'static>>>().unwrap();
        assert_eq!(ours, serde_json::from_str(text).unwrap());
        assert_eq!((ours.len(), &ours[&Id::from("7")]), (3, &Id::parse("null").unwrap()));
    }

    #[test]
    fn a_text_is_borrowed_where_possible() {
        #[derive(serde::Deserialize)]
        struct Borrowing<'a> {
            #[serde(borrow, deserialize_with = "RawJson::borrow_from")]
            a: RawJson<'a>,
        }
        let text = r#"{"a":[ 1.50 ]}"#;
        let json = RawJson::parse(text.as_bytes()).unwrap();
        for borrowing in [json.deserialize::<Borrowing<'_>>(), serde_json::from_str(text)] {
            let part = borrowing.unwrap().a;
            assert_eq!(part.as_json(), "[ 1.50 ]");
            assert!(text.as_bytes().as_ptr_range().contains(&part.as_json().as_ptr()));
        }
        let reader = &mut serde_json::Deserializer::from_reader(b"[ 1.50 ]".as_slice());
        assert_eq!(RawJson::borrow_from(reader).unwrap().as_json(), "[ 1.50 ]");
    }

    /// The text is the one that serde_json prints for a `Value`.
    #[test]
    fn trees_are_read_as_they_are_printed() {
        let value: Value = serde_json::from_str(r#"{"a":[1.5,-1,"x"]}"#).unwrap();
        assert_eq!(RawJson::borrow_from(&value).unwrap().as_json(), value.to_string());
        assert_eq!(serde_json::from_value::<RawJson<'_>>(value.clone()).unwrap().as_json(), value.to_string());
        assert_eq!(serde_json::from_value::<Id<'_>>(value["a"][0].clone()).unwrap().as_json(), "1.5");
    }

    /// Covers deserializers without special support for newtype structs and the like.
    #[test]
    fn other_deserializers_hand_over_values() {
        fn json<'de>(deserializer: impl Deserializer<'de, Error = Error>) -> String {
            RawJson::borrow_from(deserializer).map_or_else(|error| error.to_string(), |json| json.as_json().to_owned())
        }
        fn id<'de>(deserializer: impl Deserializer<'de, Error = Error>) -> String {
            Id::deserialize(deserializer).map_or_else(|error| error.to_string(), |id| id.into_owned().text())
        }
        assert_eq!(
            (json(StrDeserializer::new("a\"")), id(StrDeserializer::new("a\""))),
            (r#""a\"""#.into(), r#""a\"""#.into())
        );
        assert_eq!((json(U64Deserializer::new(7)), id(U64Deserializer::new(7))), ("7".into(), "7".into()));
        let (low, high) = (i128::MIN, u128::MAX);
        assert_eq!(json(I128Deserializer::new(low)), low.to_string());
        assert_eq!(id(I128Deserializer::new(low)), low.to_string());
        assert_eq!(json(U128Deserializer::new(high)), high.to_string());
        assert_eq!(id(U128Deserializer::new(high)), high.to_string());
        assert_eq!((json(UnitDeserializer::new()), id(UnitDeserializer::new())), ("null".into(), "null".into()));
        assert_eq!(json(BoolDeserializer::new(true)), "true");
        assert!(id(BoolDeserializer::new(true)).ends_with("expected a string, a number or null"));
        assert_eq!(json(SeqDeserializer::new([1, 2].into_iter())), "[1,2]");
        assert_eq!(json(SeqDeserializer::new([0; 0].into_iter())), "[]");
        assert_eq!(json(MapDeserializer::new([("a", 1), ("b", 2)].into_iter())), r#"{"a":1,"b":2}"#);
        assert_eq!(json(MapDeserializer::new([(1, true)].into_iter())), r#"{"1":true}"#);
        assert_eq!(json(MapDeserializer::new([(true, 1)].into_iter())), r#"{"true":1}"#);
        assert!(id(MapDeserializer::new([("a", 1)].into_iter())).contains("map, expected a string"));
        assert!(json(F64Deserializer::new(1.5)).starts_with("number may have been rounded"));
        assert!(id(F64Deserializer::new(1.5)).starts_with("number may have been rounded"));
        assert!(json(F64Deserializer::new(f64::NAN)).ends_with("expected a finite number"));
    }

    /// A text that claims to be JSON is still validated.
    #[test]
    fn what_claims_to_be_raw_is_validated() {
        for (json, expected) in [("[1 ]", Some("[1 ]")), (" 1 ", Some("1")), ("[1", None), ("1,2", None), ("", None)] {
            let claim = || MapDeserializer::<_, Error>::new([(RAW_VALUE, json)].into_iter());
            assert_eq!(RawJson::borrow_from(claim()).ok().as_ref().map(RawJson::as_json), expected);
            let is_id = expected == Some("1");
            assert_eq!(Id::deserialize(claim()).is_ok(), is_id);
        }
    }

    #[test]
    fn nesting_is_limited() {
        #[derive(serde::Deserialize, Debug)]
        #[serde(untagged)]
        enum Untagged {
            Any(#[allow(dead_code)] RawJson<'static>),
        }
        for (depth, is_read) in [(100, true), (127, true), (128, false), (1024, false)] {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            assert_eq!(serde_json::from_str::<Untagged>(&text).is_ok(), is_read, "{depth}");
            assert_eq!(serde_json::from_str::<RawJson<'_>>(&text).unwrap().as_json(), text);
        }
        let text = "[".repeat(1025) + &"]".repeat(1025);
        let error = serde_json::from_str::<RawJson<'_>>(&text).unwrap_err();
        assert!(error.to_string().starts_with("brackets are nested deeper than 1024"), "{error}");
    }

    /// A binary format stores floats exactly.
    #[test]
    fn floats_of_binary_formats_are_exact() {
        struct Binary(Value);

        impl<'de> Deserializer<'de> for Binary {
            type Error = serde_json::Error;

            fn is_human_readable(&self) -> bool {
                false
            }

            fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
                self.0.deserialize_any(visitor)
            }

            fn deserialize_newtype_struct<V: Visitor<'de>>(
                self,
                _: &'static str,
                visitor: V,
            ) -> Result<V::Value, Self::Error> {
                visitor.visit_newtype_struct(self)
            }

            serde::forward_to_deserialize_any! {
                bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
                unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
            }
        }
        let value: Value = serde_json::from_str(r#"{"a":[1.5,{"b":0.1}]}"#).unwrap();
        assert_eq!(RawJson::borrow_from(Binary(value.clone())).unwrap().as_json(), value.to_string());
        assert_eq!(Id::deserialize(Binary(1.5.into())).unwrap().as_json(), "1.5");
    }
}
