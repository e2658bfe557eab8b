//! Decodes validated text into typed values.

use serde::de::Deserialize;

use wireline_json as json;

/// Decodes `json`, a valid JSON text. The error is serde_json's.
#[inline]
pub(super) fn from_checked<'j, T: Deserialize<'j>>(json: &'j str) -> Result<T, serde_json::Error> {
    if !is_mostly_floats(json.as_bytes())
        && let Ok(value) = json::typed::from_json(json, &mut Vec::new())
    {
        return Ok(value);
    }
    from_serde_json(json)
}

/// Whether most of a text seems to be numbers with a fraction. serde_json would decode each of them anyway, and is
/// faster when it gets the whole text.
#[inline]
fn is_mostly_floats(json: &[u8]) -> bool {
    const SAMPLE: usize = 256;
    const BYTES_PER_POINT: usize = 24;
    json.first_chunk::<SAMPLE>()
        .is_some_and(|sample| memchr::memchr_iter(b'.', sample).count() > SAMPLE / BYTES_PER_POINT)
}

/// Decodes a text that [`json::typed`] leaves to serde_json, mostly because it doesn't fit the type.
///
/// serde_json gets a `&str`, so that it doesn't check strings for UTF-8 again, which for non-ASCII text would take
/// longer than everything else. There is one exception. If a type has `bool` as the key of a map, serde_json 1.0.154
/// skips the key's first byte before it reads the rest as text. If that byte starts a multi-byte character, its error
/// quotes a `str` that isn't UTF-8. So a text with such a key is passed as bytes, and serde_json checks every string.
#[cold]
fn from_serde_json<'j, T: Deserialize<'j>>(json: &'j str) -> Result<T, serde_json::Error> {
    match !json.is_ascii() && has_key_beyond_ascii(json.as_bytes()) {
        true => serde_json::from_slice(json.as_bytes()),
        false => serde_json::from_str(json),
    }
}

/// Whether a key may start with a non-ASCII character. (A string in an array may look like a key.)
fn has_key_beyond_ascii(json: &[u8]) -> bool {
    memchr::memchr_iter(b'"', json).any(|quote| {
        let is_beyond_ascii = json.get(quote + 1).is_some_and(|byte| !byte.is_ascii());
        is_beyond_ascii && matches!(json[..quote].trim_ascii_end().last(), Some(b'{' | b','))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn errors_are_text() {
        for key in ["é", "éé", "日本", "😀", "tru€", "é\\\"", "\\u00e9"] {
            for json in [format!(r#"{{"{key}":1}}"#), format!(r#"{{ "true" : 1 , "{key}":1}}"#)] {
                let error = from_checked::<BTreeMap<bool, u8>>(&json).unwrap_err().to_string();
                assert!(std::str::from_utf8(error.as_bytes()).is_ok(), "{json}");
            }
        }
        assert_eq!(from_checked::<BTreeMap<bool, &str>>(r#"{"true":"é"}"#).unwrap()[&true], "é");
        assert_eq!(from_checked::<BTreeMap<&str, u8>>(r#"{"é":1}"#).unwrap()["é"], 1);
    }

    #[test]
    fn floats_are_noticed() {
        let list = |number: &str| format!("[{}1]", format!("{number},").repeat(100));
        for (number, expected) in [("1.5", true), ("-12.345678e-3", true), ("123456", false), ("true", false)] {
            assert_eq!(is_mostly_floats(list(number).as_bytes()), expected, "{number}");
        }
        let text = format!("\"{}\"", "A sentence ends with a point. ".repeat(20));
        assert!(!is_mostly_floats(text.as_bytes()) && !is_mostly_floats(b"[1.5,2.5,3.5]"));
    }

    #[test]
    fn keys_are_found() {
        for json in [r#"{"é":1}"#, r#"{"a":1,"é":1}"#, "{ \n\"é\":1}", r#"["é","é"]"#] {
            assert!(has_key_beyond_ascii(json.as_bytes()), "{json}");
        }
        for json in [r#"{"aé":1}"#, r#"{"a":"é"}"#, r#"["é"]"#, r#""é""#, r#"{"a":",\"é\""}"#, "1"] {
            assert!(!has_key_beyond_ascii(json.as_bytes()), "{json}");
        }
    }
}
