//! Which JSON texts may be the `error` of a response.

use wireline_json::{Opening, string, walk};

use super::dialect::Permits;
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

/// Whether `json` is an error in a form that some dialects permit: `[code, message]`, `[code, message, data]`, or a
/// string.
#[cold]
#[inline(never)]
pub(super) fn is_unusual_error(json: &str, permits: Permits) -> bool {
    match json.as_bytes().first() {
        Some(b'"') => permits.contains(Permits::TEXT_ERRORS),
        Some(b'[') if permits.contains(Permits::ARRAY_ERRORS) => {
            let mut elements = walk::elements(json).map(|(_, element)| element);
            let is_code = elements.next().is_some_and(|code| is_integer(code.as_bytes()));
            let is_message = elements.next().is_some_and(|message| message.starts_with('"'));
            is_code && is_message && elements.nth(1).is_none()
        }
        _ => false,
    }
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

    #[test]
    fn arrays_and_strings() {
        let [none, both] = [false, true].map(|all| {
            Permits::of(&super::super::dialect::MCP).with(Permits::ARRAY_ERRORS, all).with(Permits::TEXT_ERRORS, all)
        });
        for (json, expected) in [
            (r#"[20,"unknown",null]"#, true),
            (r#"[ -1 , "a" , {"b":[1,2]} ]"#, true),
            (r#"[1e2,"\ud800"]"#, true),
            (r#""-1:params not found""#, true),
            (r#""""#, true),
            ("[]", false),
            ("[20]", false),
            (r#"["20","unknown",null]"#, false),
            (r#"[1.5,"unknown",null]"#, false),
            ("[20,null,null]", false),
            (r#"["unknown",20]"#, false),
            (r#"[20,"unknown",null,1]"#, false),
            ("null", false),
            ("20", false),
            ("{}", false),
        ] {
            assert_eq!(is_unusual_error(json, both), expected, "{json}");
            assert!(!is_unusual_error(json, none), "{json}");
        }
    }
}
