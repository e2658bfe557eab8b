//! Simpler lines, the simplest first.

use super::values::simpler_values;
use crate::conform::maker::{members, object};
use crate::conform::message::{Text, parse_message};
use crate::conform::profile::Profile;
use crate::conform::script::{Ending, Line};

/// Lines that are simpler than this one.
pub(super) fn simpler_lines(line: &Line, profile: &Profile) -> impl Iterator<Item = Line> {
    let members = members(&line.text);
    let mut all = Vec::new();
    if line.ending == Ending::CarriageReturn {
        all.push(line.text.clone());
    }
    if members.is_empty() {
        all.extend(shorter_texts(&line.text));
    } else {
        all.extend(simpler_objects(&members, profile));
    }
    // What is valid stays so: the reason of a failure must not become another one.
    let is_valid = |text: &[u8]| match Text::parse(text) {
        Text::Object(members) => parse_message(&members, profile.dialect).is_ok(),
        _ => false,
    };
    if is_valid(&line.text) {
        all.retain(|text| is_valid(text));
    }
    let ending = if line.ending == Ending::CarriageReturn { Ending::Newline } else { line.ending };
    let original = line.clone();
    all.into_iter().map(move |text| Line { text, ending }).filter(move |simpler| *simpler != original)
}

/// Messages with simpler members.
fn simpler_objects(members: &[(String, String)], profile: &Profile) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    if let Some(id) = members.iter().find(|(name, _)| name == "id").map(|(_, id)| id) {
        let probe = profile.request(id).into_bytes();
        // A probe is as simple as a message can be, except for its id.
        if object(members) != probe {
            all.push(probe);
        }
    }
    for at in 0..members.len() {
        // Nothing is simpler without an id, only different.
        if members[at].0 == "id" {
            continue;
        }
        let mut fewer = members.to_vec();
        fewer.remove(at);
        all.push(object(&fewer));
    }
    for (at, (name, value)) in members.iter().enumerate() {
        // Another method could be called, another version is no simpler, and small numbers are in use as ids.
        if name == "method" || name == "jsonrpc" || name == "id" && is_small(value) {
            continue;
        }
        for simpler in simpler_values(value) {
            let mut members = members.to_vec();
            members[at].1 = simpler;
            all.push(object(&members));
        }
    }
    all
}

/// Whether an id is no larger than the ids that are given to lines.
fn is_small(id: &str) -> bool {
    id.parse::<u32>().is_ok_and(|id| id < 1_000_000)
}

/// Texts without some of their bytes.
fn shorter_texts(text: &[u8]) -> Vec<Vec<u8>> {
    // More candidates for a long text would take too long.
    const MOST_PARTS: usize = 64;
    let mut all = Vec::new();
    let mut part = text.len().div_ceil(2);
    while part > 0 && text.len().div_ceil(part) <= MOST_PARTS {
        for start in (0..text.len()).step_by(part) {
            let end = (start + part).min(text.len());
            all.push([&text[..start], &text[end..]].concat());
        }
        part /= 2;
    }
    all
}

/// The id of a request, if it is a number that was given to it.
pub(in crate::conform) fn integer_id(line: &Line) -> Option<String> {
    let members = members(&line.text);
    let id = members.into_iter().find(|(name, _)| name == "id").map(|(_, id)| id)?;
    is_small(&id).then_some(id)
}

/// Replaces ids, also where a cancellation names them.
pub(super) fn replace_ids(line: &mut Line, ids: &[(String, String)]) {
    let mut members = members(&line.text);
    if members.is_empty() {
        return;
    }
    for (name, value) in &mut members {
        if name == "id" {
            if let Some((_, new)) = ids.iter().find(|(old, _)| old == value) {
                value.clone_from(new);
            }
        } else if name == "params" {
            for (old, new) in ids {
                for member in ["requestId", "id"] {
                    let (old, new) = (format!("\"{member}\":{old}"), format!("\"{member}\":{new}"));
                    if *value == format!("{{{old}}}") {
                        *value = format!("{{{new}}}");
                        return finish(line, &members);
                    }
                }
            }
        }
    }
    finish(line, &members);
}

fn finish(line: &mut Line, members: &[(String, String)]) {
    line.text = object(members);
}
