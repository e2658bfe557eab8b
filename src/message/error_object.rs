//! Which JSON texts may be the `error` of a response.

use wireline_json::{Opening, string, walk};

use super::id_rules::is_integer;

/// Whether `json`, a JSON text, is an object with an integer `code` and a string `message`, without duplicates of these
/// or of `data`.
pub(super) fn is_error_object(json: &str) -> bool {
    const NAMES: [&str; 3] = ["code", "message", "data"];

    let (mut seen, rest) = match after_code_and_message(json) {
        Some("}") => return true,
        Some(rest) => ([true, true, false], rest),
        None => ([false; NAMES.len()], json),
    };
    let fine = json.starts_with('{')
        && walk::members(rest).all(|(key, value)| {
            let name = match key {
                "\"code\"" => Some(0),
                "\"message\"" => Some(1),
                "\"data\"" => Some(2),
                _ if !key.contains('\\') => None,
                _ => NAMES.iter().position(|name| string::decodes_to(key, name)),
            };
            let fits = match name {
                Some(0) => is_integer(value.as_bytes()),
                Some(1) => value.starts_with('"'),
                Some(_) => true,
                None => return string::is_decodable(key),
            };
            fits && !std::mem::replace(&mut seen[name.unwrap_or_default()], true)
        });
    fine && seen[0] && seen[1]
}

/// The rest of an object after `code` and `message`, if it starts with those, spelled the usual way.
fn after_code_and_message(json: &str) -> Option<&str> {
    let opening = Opening::of(json.as_bytes()).literal(r#"{"code":"#)?;
    let (_, opening) = opening.literal("-").unwrap_or(opening).natural()?;
    // Requiring a comma rules out a number that continues after its digits.
    let (message, _) = opening.literal(r#","message":"#)?.string()?;
    json.get(message.end()..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_objects() {
        let [code, message, data] = [r#""code":-32600"#, r#""message":"no such tool""#, r#""data":{"code":"x"}"#];
        for (members, expected) in [
            (&[code, message][..], true),
            (&[code, message, data], true),
            (&[message, code], true),
            (&[data, message, code], true),
            (&[r#""code":0"#, message], true),
            (&[r#""code":12345678"#, message], true),
            (&[r#""code":1.0"#, message], true),
            (&[r#""code":1e3"#, message], true),
            (&[code, r#""message":"""#], true),
            (&[code, r#""message":"é\n""#], true),
            (&[code, r#""message":"\ud800""#], true),
            (&[code, message, r#""other":1"#], true),
            (&[code, message, r#""other\n":[1,{}]"#, data], true),
            (&[r#""c\u006fde":1"#, message], true),
            (&[code], false),
            (&[message], false),
            (&[], false),
            (&[code, message, code], false),
            (&[code, message, message], false),
            (&[code, message, data, data], false),
            (&[code, message, r#""c\u006fde":1"#], false),
            (&[code, message, r#""\ud800":1"#], false),
            (&[r#""code":1.5"#, message], false),
            (&[r#""code":-1.5"#, message], false),
            (&[r#""code":1e-3"#, message], false),
            (&[r#""code":"1""#, message], false),
            (&[code, r#""message":1"#], false),
            (&[code, r#""message":null"#], false),
        ] {
            for (comma, colon) in [(",", ":"), (", ", ": "), (" ,", " :")] {
                let json = format!("{{{}}}", members.join(comma));
                let json = if colon == ":" { json } else { json.replace("\":", &format!("\"{colon}")) };
                assert_eq!(is_error_object(&json), expected, "{json}");
            }
        }
        for json in ["[]", "1", "\"code\"", "null"] {
            assert!(!is_error_object(json), "{json}");
        }
    }
}
