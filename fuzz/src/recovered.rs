//! Whether a recovered id is in its place, by a naive reading: flaws that hide nothing are repaired, and serde_json
//! reads what comes before the first flaw that can't be.

use wireline::{FaultKind, Frame, Rules};

use super::envelope::members;

/// Longer texts would take too long.
const LONGEST: usize = 1000;

/// Whether `id` is that of the outermost object, and the only one.
pub fn is_in_place(text: &[u8], id: &str) -> bool {
    if text.len() > LONGEST {
        return true;
    }
    // A byte order mark before the message hides nothing.
    let blanks = text.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
    let mut text = text[blanks..].strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).to_vec();
    let end = repair(&mut text);
    // The text up to a comma or a bracket, closed there, is an object if these belong to the outermost one.
    let is_object_with_id = |at: usize| {
        let Ok(object) = std::str::from_utf8(&text[..at]).map(|start| format!("{start}}}")) else { return false };
        members(&object).is_some_and(|members| has_id_once(&members, id))
    };
    let has_id = (0..end).any(|at| matches!(text[at], b',' | b'}') && is_object_with_id(at));
    let whole = std::str::from_utf8(&text).ok().and_then(members);
    has_id
        && whole.is_none_or(|members| has_id_once(&members, id))
        && (are_objects(&text[end..]) || !text[end..].windows(4).any(|name| name == b"\"id\""))
}

/// Whether the text is a row of objects, each of which is JSON once it is repaired.
fn are_objects(text: &[u8]) -> bool {
    let mut text = text.to_vec();
    let mut rest = &mut text[..];
    while !rest.trim_ascii().is_empty() {
        let end = repair(rest);
        let is_object = std::str::from_utf8(&rest[..end]).ok().and_then(members).is_some();
        if !is_object {
            return false;
        }
        rest = &mut rest[end..];
    }
    true
}

fn has_id_once(members: &[(&str, &str)], id: &str) -> bool {
    let is_id = |name: &str| serde_json::from_str::<String>(name).is_ok_and(|name| name == "id");
    let mut ids = members.iter().filter(|(name, _)| is_id(name)).map(|(_, value)| *value);
    ids.next() == Some(id) && ids.next().is_none()
}

/// Repairs what hides nothing, in place, and returns where the text stops being JSON after that.
fn repair(text: &mut [u8]) -> usize {
    let rules = Rules::json_rpc().max_depth(1024);
    loop {
        let Err(fault) = Frame::parse(text, &rules) else { return text.len() };
        let at = fault.column() as usize - 1;
        let is_repaired = match fault.kind() {
            FaultKind::InvalidUtf8 | FaultKind::InvalidEscape => replace(&mut text[at..=at], b'?'),
            FaultKind::ControlCharacter if text[at] == b'\t' => replace(&mut text[at..=at], b' '),
            FaultKind::InvalidNumber | FaultKind::InvalidLiteral => repair_token(text, at),
            FaultKind::UnexpectedByte if text[at] == b',' => {
                // After a comma or an opening bracket it is superfluous.
                last_before(text, at).is_some_and(|last| b",[{".contains(&text[last]))
                    && replace(&mut text[at..=at], b' ')
            }
            FaultKind::UnexpectedByte if b"}]".contains(&text[at]) => match last_before(text, at) {
                Some(last) if text[last] == b',' => replace(&mut text[last..=last], b' '),
                _ => false,
            },
            kind if kind.code() == -32700 || kind == FaultKind::TooDeep => false,
            // It is JSON.
            _ => return text.len(),
        };
        if !is_repaired {
            return at.min(text.len());
        }
    }
}

/// Replaces the number or word that has its flaw at `at` by a zero, if it is known to be nothing else.
fn repair_token(text: &mut [u8], at: usize) -> bool {
    let is_end = |byte: &u8| b"{}[]:,\" \t\r\n".contains(byte);
    let start = text[..at].iter().rposition(is_end).map_or(0, |last| last + 1);
    let end = text[start..].iter().position(is_end).map_or(text.len(), |len| start + len);
    let token = std::str::from_utf8(&text[start..end]).unwrap_or_default();
    let is_word = "NaN Infinity -Infinity nan inf -inf undefined None True False".split(' ').any(|word| word == token);
    let is_number = token.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && token.chars().all(|c| c.is_ascii_hexdigit() || "xX+-._".contains(c))
        && token.contains(|c: char| c.is_ascii_digit());
    (is_word || is_number) && replace(&mut text[start..end], b' ') && replace(&mut text[start..=start], b'0')
}

fn replace(part: &mut [u8], byte: u8) -> bool {
    part.fill(byte);
    true
}

/// Where the last byte before `at` is that isn't blank.
fn last_before(text: &[u8], at: usize) -> Option<usize> {
    text[..at].iter().rposition(|byte| !b" \t\r\n".contains(byte))
}
