//! JSON texts with one member or element per line.

/// Calls `line` with the lines of a valid JSON text: how deep each is, and its text. Stops when that returns false.
pub(crate) fn pretty(json: &str, mut line: impl FnMut(usize, &str) -> bool) {
    let bytes = json.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    let mut text = String::new();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'{' | b'[' => {
                text.push(char::from(*byte));
                let blanks = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                at += 1 + blanks;
                match bytes.get(at) {
                    Some(b'}' | b']') => {
                        text.push(char::from(bytes[at]));
                        at += 1;
                    }
                    _ => {
                        if !line(depth, &text) {
                            return;
                        }
                        text.clear();
                        depth += 1;
                    }
                }
            }
            b'}' | b']' => {
                if !line(depth, &text) {
                    return;
                }
                text.clear();
                text.push(char::from(*byte));
                depth = depth.saturating_sub(1);
                at += 1;
            }
            b',' => {
                text.push(',');
                if !line(depth, &text) {
                    return;
                }
                text.clear();
                at += 1;
            }
            b':' => {
                text.push_str(": ");
                at += 1;
            }
            _ => {
                let len = token_len(&bytes[at..]);
                text.push_str(&json[at..at + len]);
                at += len;
            }
        }
    }
    if !text.is_empty() {
        line(depth, &text);
    }
}

/// The length of the string, number or literal at the start of `bytes`.
fn token_len(bytes: &[u8]) -> usize {
    if bytes[0] != b'"' {
        let is_end = |byte: &u8| matches!(byte, b',' | b':' | b'{' | b'}' | b'[' | b']') || byte.is_ascii_whitespace();
        return bytes.iter().position(is_end).unwrap_or(bytes.len()).max(1);
    }
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += found;
        match bytes[at] {
            b'"' => return at + 1,
            _ => at += 2,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(json: &str) -> Vec<String> {
        let mut lines = Vec::new();
        pretty(json, |depth, text| {
            lines.push(format!("{}{text}", "  ".repeat(depth)));
            true
        });
        lines
    }

    #[test]
    fn is_like_serde_json() {
        for json in [
            "1",
            "null",
            r#""a \" , { b""#,
            "[]",
            "[ ]",
            "{ }",
            r#"{"a":1}"#,
            r#"{"a":[1,{"b":"x, y"},[],{}],"c":{"d":[[]]}, "e" : -1.5e3 }"#,
            r#"[ "\\" , "é\u0061" , true , false ]"#,
        ] {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            let expected = serde_json::to_string_pretty(&value).unwrap();
            let found = lines(json).join("\n");
            assert_eq!(found.lines().count(), expected.lines().count(), "{json}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&found).unwrap(), value);
        }
        assert_eq!(lines(r#"{"b":[1,{}]}"#), ["{", "  \"b\": [", "    1,", "    {}", "  ]", "}"]);
    }

    #[test]
    fn stops_when_told() {
        let mut count = 0;
        pretty("[1,2,3,4,5]", |_, _| {
            count += 1;
            count < 2
        });
        assert_eq!(count, 2);
    }
}
