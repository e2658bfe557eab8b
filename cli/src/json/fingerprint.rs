//! A number that texts with the same value share, to find them quickly.

use std::hash::{DefaultHasher, Hash, Hasher};

use wireline::Id;

use super::ignored::Ignored;
use super::parts::{Kind, decoded, elements, kind, members};

/// Hashes a valid JSON text by value, apart from what is ignored: two texts without differences have the same hash.
///
/// Others may share it too, so it only says which texts to compare.
pub(crate) fn fingerprint(json: &str, ignored: &Ignored) -> u64 {
    let mut hasher = DefaultHasher::new();
    add(json, &mut Vec::new(), ignored, &mut hasher);
    hasher.finish()
}

fn add(json: &str, path: &mut Vec<String>, ignored: &Ignored, hasher: &mut DefaultHasher) {
    if ignored.covers(path) {
        return;
    }
    let kind = kind(json);
    hasher.write_u8(kind as u8);
    match kind {
        // Whether an ignored member is there makes no difference, nor does what cannot be decoded.
        Kind::Object => {
            for (name, value) in members(json).into_iter().flatten() {
                path.push(name.into_owned());
                if !ignored.covers(path) {
                    path.last().hash(hasher);
                    add(value, path, ignored, hasher);
                }
                path.pop();
            }
        }
        Kind::Array => {
            for (index, value) in elements(json).into_iter().flatten().enumerate() {
                path.push(index.to_string());
                add(value, path, ignored, hasher);
                path.pop();
            }
        }
        Kind::String => match ignored.rest(json) {
            Some(rest) => rest.hash(hasher),
            None => decoded(json).hash(hasher),
        },
        Kind::Number => match ignored.rest(json) {
            Some(rest) => rest.hash(hasher),
            None => Id::parse(json).hash(hasher),
        },
        Kind::Null | Kind::Boolean => json.hash(hasher),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_values_have_the_same_fingerprint() {
        let ignored = Ignored { patterns: vec!["/_meta".parse().unwrap()], ..Ignored::default() };
        let same = [
            r#"{"a":[1,"x",null],"_meta":{"progressToken":1}}"#,
            r#"{ "a" : [ 1.0, "\u0078", null ] }"#,
            r#"{"_meta":2,"a":[1e0,"x",null]}"#,
        ];
        assert!(same.iter().all(|json| fingerprint(json, &ignored) == fingerprint(same[0], &ignored)));
        for other in [r#"{"a":[1,"x"]}"#, r#"{"a":["x",1,null]}"#, r#"{"b":[1,"x",null]}"#, "{}"] {
            assert_ne!(fingerprint(other, &ignored), fingerprint(same[0], &ignored), "{other}");
        }
    }
}
