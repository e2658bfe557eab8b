//! Untrusted text as JSON within HTML.
//!
//! The page keeps everything from the recording in `<script type="application/json">` elements, whose text ends at the
//! first `</script`, and is read differently after `<!--`. So there must be no `<` in it.

use crate::terminal::printable_columns;

/// Appends `bytes` as a JSON string without `<`.
///
/// A byte that is not part of UTF-8 text becomes a lone surrogate from U+DC80 to U+DCFF, which no UTF-8 text contains, so
/// that the page can show its value.
pub(super) fn push_string(json: &mut Vec<u8>, bytes: &[u8]) {
    json.push(b'"');
    for chunk in bytes.utf8_chunks() {
        push_escaped(json, chunk.valid());
        for byte in chunk.invalid() {
            json.extend_from_slice(format!("\\udc{byte:02x}").as_bytes());
        }
    }
    json.push(b'"');
}

fn push_escaped(json: &mut Vec<u8>, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(needs_escape) {
        json.extend_from_slice(&rest.as_bytes()[..at]);
        let mut chars = rest[at..].chars();
        match chars.next() {
            Some('"') => json.extend_from_slice(b"\\\""),
            Some('\\') => json.extend_from_slice(b"\\\\"),
            Some(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    json.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
            None => {}
        }
        rest = chars.as_str();
    }
    json.extend_from_slice(rest.as_bytes());
}

/// Besides what JSON and HTML require: what a terminal must not get, because people look at files in terminals.
fn needs_escape(c: char) -> bool {
    matches!(c, '"' | '\\' | '<') || printable_columns(c).is_none()
}

/// The start of a text in at most `max_len` bytes. Does not end within a character that is whole in the text.
pub(super) fn cut(text: &[u8], max_len: usize) -> &[u8] {
    if text.len() <= max_len {
        return text;
    }
    let start = &text[..max_len];
    // A character has at most four bytes, so the last one starts in the last four, if it is one.
    let last = start.iter().rposition(|byte| byte & 0b1100_0000 != 0b1000_0000).filter(|at| max_len - at < 4);
    match last {
        Some(at) if str::from_utf8(&start[at..]).is_err_and(|error| error.error_len().is_none()) => &start[..at],
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;

    fn string(bytes: &[u8]) -> String {
        let mut json = Vec::new();
        push_string(&mut json, bytes);
        String::from_utf8(json).unwrap()
    }

    #[test]
    fn nothing_ends_the_element() {
        for (bytes, json) in [
            (&b"</script><!--<script>"[..], r#""\u003c/script>\u003c!--\u003cscript>""#),
            (b"a\"\\\n\x00\x1b\x7f", r#""a\"\\\u000a\u0000\u001b\u007f""#),
            (
                "\u{85}\u{202e}\u{2028}\u{feff}\u{e0041}é京😀".as_bytes(),
                r#""\u0085\u202e\u2028\ufeff\udb40\udc41é京😀""#,
            ),
            (b"\xff\xc3(\xed\xa0\x80", r#""\udcff\udcc3(\udced\udca0\udc80""#),
            (br"\ud800", r#""\\ud800""#),
        ] {
            assert_eq!(string(bytes), json);
        }
    }

    quickcheck! {
        fn text_survives(text: String) -> bool {
            let json = string(text.as_bytes());
            !json.contains('<') && serde_json::from_str::<String>(&json).unwrap() == text
        }

        fn bytes_are_json(bytes: Vec<u8>) -> bool {
            let json = string(&bytes);
            !json.contains('<') && json.bytes().all(|byte| byte >= b' ')
        }

        fn cut_is_whole(text: String, max_len: usize) -> bool {
            let max_len = max_len % 16;
            let cut = cut(text.as_bytes(), max_len);
            str::from_utf8(cut).is_ok_and(|cut| text.starts_with(cut)) && (cut.len() + 4 > max_len || cut == text.as_bytes())
        }
    }
}
