//! A JSON text that has been checked, and is decoded on demand.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned};

use crate::decode::fault::Fault;
use crate::json::string;
use crate::json::walk;
use crate::message::cow_bytes::Position;
use crate::message::envelope;
use crate::message::rules::Rules;

/// A JSON text that has been checked and not decoded: params, a result, an error's data.
///
/// It borrows from the line, byte for byte as it was sent.
///
/// ```
/// use wireline::{Frame, Message, Rules};
///
/// let line = br#"{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":1,"b":[2,3],"_meta":{"progressToken":7}}}"#;
/// let Frame::Message(Message::Request(request)) = Frame::parse(line, &Rules::mcp())? else { panic!() };
/// let params = request.params().unwrap();
///
/// // One value out of it, without looking at the rest.
/// let token = params.pointer("/_meta/progressToken").unwrap();
/// assert_eq!(token.as_str(), "7");
///
/// // All of it, or what of it a type asks for.
/// #[derive(serde::Deserialize)]
/// struct Add { a: i64, b: Vec<i64> }
/// let add: Add = params.deserialize()?;
/// assert_eq!(add.a + add.b.iter().sum::<i64>(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawJson<'a> {
    json: &'a [u8],
}

impl<'a> RawJson<'a> {
    /// Checks a text, for use as a payload or for looking into it. Blanks around it are left out.
    ///
    /// A payload that is JSON text already goes out as it is:
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
    /// It is not JSON, or deeper than 1024 brackets. The fault counts the whole text as one line.
    pub fn parse(text: &'a [u8]) -> Result<Self, Fault> {
        let rules = Rules::json_rpc().max_line_len(usize::MAX).max_depth(usize::MAX);
        match envelope::judge_json(text, &rules) {
            Ok(()) => Ok(Self::checked(text.trim_ascii())),
            Err(complaint) => Err(Fault::new(complaint, Position { line: 1, offset: 0 }, text.len() as u64, &rules)),
        }
    }

    /// `json` is a text that the scanner accepted, or a value of one, without blanks around it.
    pub(crate) fn checked(json: &'a [u8]) -> Self {
        Self { json }
    }

    /// The text, as it was sent.
    ///
    /// That it is UTF-8 was found when it was checked, but Rust is shown it again here, in no time to speak of: some
    /// 60 bytes a nanosecond for ASCII.
    pub fn as_str(&self) -> &'a str {
        simdutf8::basic::from_utf8(self.json).unwrap_or_default()
    }

    /// The text as bytes, as it was sent.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.json
    }

    /// Decodes the text.
    ///
    /// For a type that borrows from the text there is [`deserialize_borrowed`](Self::deserialize_borrowed). A `Deserialize`
    /// that insists on borrowing, or on bytes, though its type owns what it has, may be given more than serde_json would
    /// give it.
    ///
    /// # Errors
    ///
    /// The text does not fit `T`. The error is serde_json's, and may quote what it found: keep it from logs if that
    /// matters.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.deserialize_with(&mut Scratch::default())
    }

    /// Decodes the text as [`deserialize`](Self::deserialize) does, with buffers that are used again from call to call.
    ///
    /// It pays where large texts are decoded one after the other.
    ///
    /// ```
    /// use wireline::{RawJson, Scratch};
    ///
    /// let mut scratch = Scratch::default(); // one for each thread
    /// for text in [r#"{"lines":"one\ntwo"}"#, r#"{"lines":"three"}"#] {
    ///     let value: serde_json::Value = RawJson::parse(text.as_bytes())?.deserialize_with(&mut scratch)?;
    ///     assert!(value["lines"].is_string());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text does not fit `T`.
    pub fn deserialize_with<T: DeserializeOwned>(&self, scratch: &mut Scratch) -> Result<T, serde_json::Error> {
        if let Some(value) = scratch.deserialize(self.json) {
            return Ok(value);
        }
        serde_json::from_str(self.as_str())
    }

    /// Decodes the text into a type that may borrow from it.
    ///
    /// A `&str` can be borrowed only where there are no escapes in it; a `Cow<str>` with `#[serde(borrow)]` takes both.
    ///
    /// ```
    /// use wireline::RawJson;
    ///
    /// let (name, count): (&str, u32) = RawJson::parse(br#"["tool", 3]"#)?.deserialize_borrowed()?;
    /// assert_eq!((name, count), ("tool", 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text does not fit `T`.
    pub fn deserialize_borrowed<T: Deserialize<'a>>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// The value that a JSON pointer (RFC 6901) leads to, found without decoding anything.
    ///
    /// Of members with the same name the last one counts, as it does for serde_json's `Value`.
    ///
    /// ```
    /// use wireline::RawJson;
    ///
    /// let json = RawJson::parse(br#"{"tools":[{"name":"add"},{"name":"sub"}],"a/b":1}"#)?;
    /// assert_eq!(json.pointer("/tools/1/name").unwrap().as_str(), "\"sub\""); // as it was sent, quotes and all
    /// assert_eq!(json.pointer("/tools/1/name").unwrap().deserialize::<String>()?, "sub");
    /// assert_eq!(json.pointer("/a~1b").unwrap().as_str(), "1");
    /// assert!(json.pointer("/tools/2").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pointer(&self, pointer: &str) -> Option<Self> {
        if pointer.is_empty() {
            return Some(*self);
        }
        let path = pointer.strip_prefix('/')?;
        path.split('/').try_fold(*self, |value, token| {
            let json = value.json.trim_ascii_start();
            let found = match json.first()? {
                b'{' => {
                    let name = match token.contains('~') {
                        true => Cow::Owned(token.replace("~1", "/").replace("~0", "~")),
                        false => Cow::Borrowed(token),
                    };
                    walk::members(json).filter(|(key, _)| string::says(key, &name)).last()?.1
                }
                b'[' => {
                    let is_index = token == "0" || !token.starts_with(['0', '+']);
                    let index = token.parse().ok().filter(|_| is_index)?;
                    walk::elements(json).nth(index)?.1
                }
                _ => return None,
            };
            Some(Self::checked(found))
        })
    }
}

/// Says how long the text is, not what it reads: it is the peer's.
impl fmt::Debug for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({} bytes)", self.json.len())
    }
}

/// Buffers for [`RawJson::deserialize_with`], used again from call to call.
#[derive(Default)]
pub struct Scratch {
    #[cfg(feature = "simd-json")]
    pub(crate) simd: crate::message::simd_json::Scratch,
}

impl Scratch {
    /// The value, if simd-json is there, faster, and agrees that `json` fits.
    #[cfg(feature = "simd-json")]
    fn deserialize<T: DeserializeOwned>(&mut self, json: &[u8]) -> Option<T> {
        self.simd.deserialize(json)
    }

    #[cfg(not(feature = "simd-json"))]
    fn deserialize<T>(&mut self, _: &[u8]) -> Option<T> {
        None
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn is_json_without_blanks_around_it() {
        assert_eq!(RawJson::parse(b" [1] \n").unwrap().as_str(), "[1]");
        for (text, expected) in [
            ("[1", "line 1, column 3: expected the line to go on"),
            (" ", "line 1, column 2: expected a message, not a blank line"),
            ("[1] 2", "line 1, column 5: expected nothing after the message"),
        ] {
            assert_eq!(RawJson::parse(text.as_bytes()).unwrap_err().to_string(), expected);
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
                let found = RawJson::checked(text.as_bytes()).pointer(pointer);
                let found = found.map(|raw| raw.deserialize::<Value>().unwrap());
                assert_eq!(found.as_ref(), value.pointer(pointer), "{pointer} in {text}");
            }
        }
    }

    #[test]
    fn borrows_from_the_text() {
        let text = r#"["plain", 1]"#;
        let (word, number): (&str, u8) = RawJson::checked(text.as_bytes()).deserialize_borrowed().unwrap();
        assert_eq!((word, number), ("plain", 1));
        assert!(text.as_bytes().as_ptr_range().contains(&word.as_ptr()));
    }

    #[test]
    fn floats_are_read_exactly() {
        let found: f64 = RawJson::checked(b"0.6046602879796196").deserialize().unwrap();
        assert_eq!(found.to_string(), "0.6046602879796196");
    }
}
