//! Removes null params.

use std::ops::Range;

use bytes::BytesMut;
use wireline_json::{string, walk};

/// Removes null params from the message or batch at `start`, which has passed the rules.
pub(super) fn remove(out: &mut BytesMut, start: usize) {
    let Ok(text) = std::str::from_utf8(&out[start..]) else {
        debug_assert!(false, "it has passed the rules");
        return;
    };
    let found: Vec<_> = match text.starts_with('[') {
        true => walk::elements(text).filter_map(|(at, entry)| Some((at, null_params(entry)?))).collect(),
        false => null_params(text).map(|place| (0, place)).into_iter().collect(),
    };
    let (mut end, mut read) = (start, start);
    for (at, place) in found {
        let (from, to) = (start + at + place.start, start + at + place.end);
        out.copy_within(read..from, end);
        end += from - read;
        read = to;
    }
    let len = out.len();
    out.copy_within(read..len, end);
    out.truncate(end + len - read);
}

/// The range of the null params of a message, including one comma next to them.
///
/// A response has no params. If it has a member of that name, it is an unknown member and stays.
fn null_params(message: &str) -> Option<Range<usize>> {
    let (mut found, mut is_first, mut is_call) = (None, false, false);
    let mut end_before = None;
    for (place, key, value) in walk::placed_members(message) {
        is_call |= string::decodes_to(key, "method");
        if let (Some(Range { end, .. }), true) = (&mut found, is_first) {
            // Extend the range up to the next member.
            (*end, is_first) = (place.start, false);
        }
        if value == "null" && string::decodes_to(key, "params") {
            is_first = end_before.is_none();
            found = Some(end_before.unwrap_or(place.start)..place.end);
        }
        end_before = Some(place.end);
    }
    found.filter(|_| is_call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_comma_goes_with_them() {
        for (message, without) in [
            (r#"{"params":null,"method":"m","id":1}"#, r#"{"method":"m","id":1}"#),
            (r#"{"method":"m","params":null,"id":1}"#, r#"{"method":"m","id":1}"#),
            (r#"{"method":"m","id":1,"params":null}"#, r#"{"method":"m","id":1}"#),
            (r#"{ "params" : null , "method" : "m" , "id":1 }"#, r#"{ "method" : "m" , "id":1 }"#),
            (r#"{ "method" : "m" , "params" : null , "id":1 }"#, r#"{ "method" : "m" , "id":1 }"#),
            (r#"{ "method" : "m" , "params" : null }"#, r#"{ "method" : "m" }"#),
            (r#"{"method":"m","p\u0061rams":null}"#, r#"{"method":"m"}"#),
            (r#"{"method":"params","x":{"params":null}}"#, r#"{"method":"params","x":{"params":null}}"#),
            (r#"{"method":"m","params":{"params":null}}"#, r#"{"method":"m","params":{"params":null}}"#),
            (r#"{"id":1,"result":1,"params":null}"#, r#"{"id":1,"result":1,"params":null}"#),
        ] {
            let mut out = BytesMut::from("before");
            out.extend_from_slice(message.as_bytes());
            remove(&mut out, 6);
            assert_eq!(out, format!("before{without}"));

            let (batch, rest) = (format!("[ {message},{message} ,1]"), format!("[ {without},{without} ,1]"));
            let mut out = BytesMut::from(batch.as_bytes());
            remove(&mut out, 0);
            assert_eq!(out, rest);
        }
    }
}
