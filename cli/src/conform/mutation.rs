//! Random changes of valid messages.
//!
//! No mutation calls anything: methods are only replaced by methods that don't exist, and the bytes of a message are only
//! changed if its method doesn't exist.

use super::maker::{Maker, members, object};
use super::profile::quoted;
use super::script::Line;

/// What a member is replaced by. Strings that could be methods are names of none.
const VALUES: [&str; 12] =
    ["null", "true", "5", "-1", "1.5", "\"wireline/x\"", "\"\"", "{}", "[]", "[1]", "{\"a\":1}", "\"2.0\""];

const PREFIXES: [&str; 5] = ["data: ", "Content-Length: 5 ", "\u{feff}", "> ", "//"];

const SUFFIXES: [&str; 4] = [",", "}", " x", "\""];

/// What is inserted into a text. Line breaks would make two lines of it.
const BYTES: [u8; 12] = [b'"', b'{', b'}', b'[', b']', b',', b':', b'\\', b'x', b'0', 0, 0xff];

/// A message that is valid, or not quite.
pub(super) fn mutate(maker: &mut Maker<'_>) -> Line {
    if maker.random.one_in(2) { mutated_members(maker) } else { mutated_text(maker) }
}

/// A message that is JSON, but whose members are not all right.
fn mutated_members(maker: &mut Maker<'_>) -> Line {
    let base = if maker.random.one_in(2) { maker.probe() } else { maker.unknown("mutated", "\"a\":[1]") };
    let mut members = members(&base.text);
    let changes = 1 + maker.random.below(2);
    for _ in 0..changes {
        let at = maker.random.below(members.len());
        let value = (*maker.random.choose(&VALUES)).to_owned();
        let is_method = members[at].0 == "method";
        match maker.random.below(6) {
            0 if members.len() > 1 => {
                members.remove(at);
            }
            1 if is_method => members[at].1 = quoted(&maker.profile.unknown("replaced")),
            0..=2 => members[at].1 = value,
            3 => members.push(("extra".to_owned(), value)),
            4 if !is_method => members.push((members[at].0.clone(), value)),
            _ => members.reverse(),
        }
    }
    let text = object(&members);
    Line::new(if maker.random.one_in(12) { [b"[", &text[..], b"]"].concat() } else { text })
}

/// A message with changes in its text.
fn mutated_text(maker: &mut Maker<'_>) -> Line {
    let mut text = maker.unknown("mutated", "\"a\":[1,\"b\"],\"c\":{\"d\":null}").text;
    match maker.random.below(8) {
        0 => text.truncate(1 + maker.random.below(text.len() - 1)),
        1 => text.splice(..0, maker.random.choose(&PREFIXES).bytes()).for_each(drop),
        2 => text.extend(maker.random.choose(&SUFFIXES).bytes()),
        3 => text.iter_mut().filter(|byte| **byte == b'"').for_each(|byte| *byte = b'\''),
        _ => {
            for _ in 0..1 + maker.random.below(3) {
                let (at, byte) = (maker.random.below(text.len()), *maker.random.choose(&BYTES));
                match maker.random.below(3) {
                    0 => text.insert(at, byte),
                    1 => text[at] = byte,
                    _ => {
                        text.remove(at);
                    }
                }
            }
        }
    }
    Line::new(text)
}
