//! Validated JSON text that is decoded on demand.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use bytes::Bytes;
use serde::de::Deserialize;
use wireline_json::{self as json, DEEPEST, Text, pointer, string, walk};

use super::fault_kind::FaultKind;
use super::typed::from_checked;

/// A JSON text that has been validated but not decoded: params, a result, an error's data.
///
/// It borrows from its line, or shares the line's buffer, and keeps the text exactly as it was sent.
///
/// ```
/// use wireline::{Frame, Message, Rules};
///
/// let line = br#"{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":1,"b":[2,3],"_meta":{"progressToken":7}}}"#;
/// let Frame::Message(Message::Request(request)) = Frame::parse(line, &Rules::mcp())? else { panic!() };
/// let params = request.params().unwrap();
///
/// // A single value, without decoding the rest.
/// let token = params.pointer("/_meta/progressToken").unwrap();
/// assert_eq!(token.as_json(), "7");
///
/// // All of it, or the fields of a type.
/// #[derive(serde::Deserialize)]
/// struct Add { a: i64, b: Vec<i64> }
/// let add: Add = params.deserialize()?;
/// assert_eq!(add.a + add.b.iter().sum::<i64>(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It can be part of your own types. An [`Encoder`](crate::Encoder) writes it verbatim; other serializers get its
/// value, with numbers as serde_json would read them:
///
/// ```
/// use wireline::{RawJson, Rules, to_line};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Call<'a> { name: &'a str, arguments: RawJson<'a> }
///
/// let call = Call { name: "sqrt", arguments: RawJson::parse(br#"{"x": 2.00}"#)? };
/// let line = to_line(&Rules::mcp(), |encoder| encoder.notification("note", &call))?;
/// assert!(line.as_bytes().ends_with(b"{\"name\":\"sqrt\",\"arguments\":{\"x\": 2.00}}}\n"));
/// assert_eq!(serde_json::to_string(&call)?, r#"{"name":"sqrt","arguments":{"x":2.0}}"#);
///
/// let read: Call = serde_json::from_str(r#"{"name":"sqrt","arguments":{"x": 2.00}}"#)?;
/// assert_eq!(read.arguments, call.arguments);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// serde passes on a flattened or internally tagged value in parts, or buffers it. An encoder still gets each number as
/// it is spelled. The encoder refuses a message if serde can't pass on a value. When it buffers, that is a number
/// beyond the range of `f64` or of more than 64 characters, a lone surrogate escape, or more than 127 open brackets.
#[derive(Clone)]
pub struct RawJson<'a> {
    /// The text without white space around it.
    json: Text<'a>,
}

impl<'a> RawJson<'a> {
    /// Validates a text. White space around it is dropped.
    ///
    /// ```
    /// use wireline::{Id, RawJson, Rules, to_line};
    ///
    /// let result = RawJson::parse(br#"{"pi": 3.14159265358979323846264338327950288}"#)?;
    /// let line = to_line(&Rules::mcp(), |encoder| encoder.response(&Id::from(1), &result))?;
    /// assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"pi\": 3.14159265358979323846264338327950288}}\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text isn't JSON, is nested deeper than 1024 brackets, or is longer than 4 GiB.
    pub fn parse(text: &'a [u8]) -> Result<Self, InvalidJson> {
        check(text).map(|text| Self::of_json(Text::borrowed(text, None)))
    }

    /// Validates a text, and shares its buffer instead of borrowing from it.
    ///
    /// ```
    /// use wireline::RawJson;
    ///
    /// let text: RawJson<'static> = RawJson::from_bytes("[1, 2, 3]".into())?;
    /// assert_eq!(text.deserialize::<Vec<u32>>()?, [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`parse`](Self::parse).
    pub fn from_bytes(text: Bytes) -> Result<RawJson<'static>, InvalidJson> {
        check(&text).map(|json| RawJson { json: Text::borrowed(json, Some(&text)).into_owned() })
    }

    pub(crate) const NULL: RawJson<'static> = RawJson::of_json(Text::borrowed("null", None));

    /// Wraps `json`, a JSON text without white space around it.
    #[inline]
    pub(crate) const fn of_json(json: Text<'a>) -> Self {
        Self { json }
    }

    /// The JSON text as it was sent. It borrows from this value, which may own its buffer.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.json.as_str()
    }

    /// The JSON text as bytes, as it was sent.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.as_json().as_bytes()
    }

    /// The decoded string, if the text is one.
    ///
    /// Returns `None` if the text isn't a string, or contains a lone surrogate escape, which isn't a character.
    ///
    /// The string can outlive this value: it borrows from the line if the line is borrowed and the string has no
    /// escapes, and is a copy otherwise.
    ///
    /// ```
    /// use wireline::RawJson;
    ///
    /// let text = RawJson::parse(br#""caf\u00e9""#)?;
    /// assert_eq!(text.as_str().unwrap(), "café");
    /// assert_eq!(text.as_json(), r#""caf\u00e9""#);
    /// assert_eq!(RawJson::parse(b"1")?.as_str(), None);
    /// # Ok::<(), wireline::InvalidJson>(())
    /// ```
    #[must_use]
    pub fn as_str(&self) -> Option<Cow<'a, str>> {
        self.json.decoded()
    }

    /// The decoded string value of the first member with this name, with U+FFFD in place of lone surrogates.
    pub(super) fn member_text(&self, name: &str) -> Option<Cow<'a, str>> {
        let json = self.as_json();
        let (_, value) = walk::members(json).find(|(key, _)| string::decodes_to(key, name))?;
        let start = value.as_ptr().addr() - json.as_ptr().addr();
        Some(self.json.decoded_part(start..start + value.len()))
    }

    /// The JSON text as a buffer, shared if possible, otherwise copied.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.json.to_bytes()
    }

    /// Turns this into a text that shares its buffer instead of borrowing from it; see
    /// [`Frame::into_owned`](crate::Frame::into_owned).
    #[must_use]
    pub fn into_owned(self) -> RawJson<'static> {
        RawJson { json: self.json.into_owned() }
    }

    /// Decodes the text into a type that may borrow from it.
    ///
    /// A `&str` can only borrow a string without escapes; a `Cow<str>` with `#[serde(borrow)]` accepts any string.
    ///
    /// ```
    /// use wireline::RawJson;
    ///
    /// let json = RawJson::parse(br#"["tool", 3]"#)?;
    /// let (name, count): (&str, u32) = json.deserialize()?;
    /// assert_eq!((name, count), ("tool", 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text doesn't fit `T`. The error is serde_json's and may quote the text, so consider keeping it out of logs.
    pub fn deserialize<'s, T: Deserialize<'s>>(&'s self) -> Result<T, serde_json::Error> {
        from_checked(self.as_json())
    }

    /// The value at a JSON pointer (RFC 6901), found without decoding the text.
    ///
    /// If several members have the same name, the last one counts, as it does for serde_json's `Value`.
    ///
    /// ```
    /// use wireline::RawJson;
    ///
    /// let json = RawJson::parse(br#"{"tools":[{"name":"add"},{"name":"sub"}],"a/b":1}"#)?;
    /// assert_eq!(json.pointer("/tools/1/name").unwrap().as_str().unwrap(), "sub");
    /// assert_eq!(json.pointer("/a~1b").unwrap().as_json(), "1");
    /// assert!(json.pointer("/tools/2").is_none());
    /// # Ok::<(), wireline::InvalidJson>(())
    /// ```
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<Self> {
        Some(self.part(pointer::find(self.as_json(), pointer)?))
    }

    /// Iterates over the members of an object without decoding them: each name, as the string that it is in the text,
    /// and its value. Yields nothing for any other value.
    ///
    /// For several members of one object, this is faster than a [`pointer`](Self::pointer) to each.
    ///
    /// ```
    /// use wireline::RawJson;
    ///
    /// let json = RawJson::parse(br#"{"name":"add","arguments":{"a":1}}"#)?;
    /// let members: Vec<_> = json.members().map(|(name, value)| (name.as_str().unwrap(), value)).collect();
    /// assert_eq!(members[1].0, "arguments");
    /// assert_eq!(members[1].1.as_json(), r#"{"a":1}"#);
    /// # Ok::<(), wireline::InvalidJson>(())
    /// ```
    pub fn members(&self) -> impl Iterator<Item = (Self, Self)> {
        let object = if self.as_bytes().first() == Some(&b'{') { self.as_json() } else { "" };
        walk::members(object).map(|(name, value)| (self.part(name), self.part(value)))
    }

    /// A part of the text that starts and ends at token boundaries.
    fn part(&self, part: &str) -> Self {
        let start = part.as_ptr().addr() - self.as_json().as_ptr().addr();
        Self::of_json(self.json.part(start..start + part.len()))
    }
}

fn check(text: &[u8]) -> Result<&str, InvalidJson> {
    // The scanner's positions have 32 bits.
    if u32::try_from(text.len()).is_err() {
        return Err(InvalidJson { kind: FaultKind::LineTooLong, offset: u32::MAX as usize });
    }
    match json::accept(text.into(), DEEPEST, &mut ()) {
        Some(accepted) => Ok(accepted.text.trim_ascii()),
        None => {
            let error = json::explain(text, DEEPEST);
            let (kind, offset) = error.map_or((FaultKind::UnexpectedByte, 0), |it| (it.kind.into(), it.at));
            Err(InvalidJson { kind, offset })
        }
    }
}

/// Compares the spelling: `1` and `1.0` are not equal.
impl PartialEq<RawJson<'_>> for RawJson<'_> {
    fn eq(&self, other: &RawJson<'_>) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Eq for RawJson<'_> {}

impl Hash for RawJson<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_json().hash(state);
    }
}

/// Shows only the length, none of the peer's bytes.
impl fmt::Debug for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({} bytes)", self.as_json().len())
    }
}

/// Why [`RawJson::parse`] refused a text.
///
/// ```
/// use wireline::{FaultKind, RawJson};
///
/// let error = RawJson::parse(b"[1,NaN]").unwrap_err();
/// assert_eq!((error.kind(), error.offset()), (FaultKind::InvalidLiteral, 3));
/// assert_eq!(error.to_string(), "expected a JSON value (at byte 3)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidJson {
    kind: FaultKind,
    offset: usize,
}

impl InvalidJson {
    /// The kind of fault.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    /// The offset of the fault in the text, in bytes.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for InvalidJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FaultKind::BlankLine => f.write_str("expected a JSON value, found only blanks"),
            FaultKind::UnexpectedEnd => write!(f, "unexpected end of text (at byte {})", self.offset),
            FaultKind::TrailingData => write!(f, "unexpected data after the value (at byte {})", self.offset),
            FaultKind::LineTooLong => f.write_str("text is longer than 4 GiB"),
            FaultKind::TooDeep => write!(f, "brackets are nested deeper than {DEEPEST} (at byte {})", self.offset),
            kind => write!(f, "{kind} (at byte {})", self.offset),
        }
    }
}

impl std::error::Error for InvalidJson {}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn is_json_without_blanks_around_it() {
        assert_eq!(RawJson::parse(b" [1] \n").unwrap().as_json(), "[1]");
        let deep = "[".repeat(1025);
        for (text, expected) in [
            ("[1", "unexpected end of text (at byte 2)"),
            (" ", "expected a JSON value, found only blanks"),
            ("[1] 2", "unexpected data after the value (at byte 4)"),
            ("[01]", "invalid number (at byte 2)"),
            (&deep, "brackets are nested deeper than 1024 (at byte 1024)"),
        ] {
            assert_eq!(RawJson::parse(text.as_bytes()).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn members_are_those_of_objects_alone() {
        let json = RawJson::parse(br#" { "a" : [1, {"b":2}] ,"\u0061":"x","a":{} } "#).unwrap();
        let members: Vec<_> = json.members().map(|(name, value)| (name.as_str().unwrap(), value)).collect();
        let texts: Vec<_> = members.iter().map(|(name, value)| (&**name, value.as_json())).collect();
        assert_eq!(texts, [("a", r#"[1, {"b":2}]"#), ("a", "\"x\""), ("a", "{}")]);
        for text in ["{}", "[]", r#"["a",{"b":1}]"#, r#""{\"a\":1}""#, "1", "null"] {
            assert_eq!(RawJson::parse(text.as_bytes()).unwrap().members().count(), 0, "{text}");
        }
    }

    #[test]
    fn pointers_lead_where_serde_json_leads() {
        let texts = [
            r#"{"a":{"b":[1,{"c":"d"}],"":0,"~":1,"/":2,"~1":3},"a\u0062":4,"é":5,"a":{"b":[6,7,8],"x":null}}"#,
            r#" [ 1 , [ ] , [[2]] , { "a" : 3 } , "s" ] "#,
            "1",
            "\"a\"",
            "{}",
            "[]",
        ];
        let pointers = [
            "",
            "/",
            "/a",
            "/a/b",
            "/a/b/0",
            "/a/b/1",
            "/a/b/1/c",
            "/a/b/2",
            "/a/b/3",
            "/a/b/-",
            "/a/b/00",
            "/a/b/+1",
            "/a/b/01",
            "/a/",
            "/a/~0",
            "/a/~1",
            "/a/~01",
            "/ab",
            "/é",
            "/a/x",
            "/a/x/y",
            "/0",
            "/1",
            "/1/0",
            "/2/0/0",
            "/3/a",
            "/4",
            "/5",
            "a",
            "/0/",
            "//",
            "/a//",
            "/18446744073709551616",
        ];
        for text in texts {
            let value: Value = serde_json::from_str(text).unwrap();
            for pointer in pointers {
                let found = RawJson::parse(text.as_bytes()).unwrap().pointer(pointer);
                let found = found.map(|raw| raw.deserialize::<Value>().unwrap());
                assert_eq!(found.as_ref(), value.pointer(pointer), "{pointer} in {text}");
            }
        }
    }

    #[test]
    fn borrows_from_the_text() {
        let text = r#"["plain", 1]"#;
        let json = RawJson::parse(text.as_bytes()).unwrap();
        let (word, number): (&str, u8) = json.deserialize().unwrap();
        assert_eq!((word, number), ("plain", 1));
        assert!(text.as_bytes().as_ptr_range().contains(&word.as_ptr()));
    }

    #[test]
    fn floats_are_read_exactly() {
        let found: f64 = RawJson::parse(b"0.6046602879796196").unwrap().deserialize().unwrap();
        assert_eq!(found.to_string(), "0.6046602879796196");
    }
}
