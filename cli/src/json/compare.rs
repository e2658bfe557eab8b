//! Differences between two JSON texts, by value.

use wireline::Id;

use super::parts::{Kind, decoded, elements, kind, members};
use super::pointer::{PointerPattern, to_pointer};

/// How many differences of two texts are kept. More are counted.
const MAX_CHANGES: usize = 1000;

/// What is different, and where.
#[derive(Debug, PartialEq)]
pub(crate) struct Change<'a> {
    pub(crate) kind: ChangeKind,
    /// A JSON pointer. The names in it are the peer's.
    pub(crate) path: String,
    pub(crate) before: Option<&'a str>,
    pub(crate) after: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Added,
    Missing,
    Changed,
}

impl ChangeKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Missing => "missing",
            Self::Changed => "changed",
        }
    }
}

/// The differences between two texts.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Comparison<'a> {
    /// The first [`MAX_CHANGES`] of them.
    pub(crate) changes: Vec<Change<'a>>,
    /// How many there are.
    pub(crate) count: u64,
    /// How many were ignored as the caller wished.
    pub(crate) ignored: u64,
}

impl Comparison<'_> {
    pub(crate) fn is_same(&self) -> bool {
        self.count == 0
    }
}

/// Compares two valid JSON texts by value, apart from what is ignored.
///
/// The order of an object's members does not matter, nor does the spelling of strings and numbers: `1`, `1.0` and `1e0`
/// are one number, and no digit of a longer one is dropped. The order of an array's elements does matter. If elements
/// were added or removed at one place of an array, only those are different.
pub(crate) fn compare<'a>(before: &'a str, after: &'a str, ignored: &[PointerPattern]) -> Comparison<'a> {
    let mut comparing = Comparing { path: Vec::new(), ignored, found: Comparison::default() };
    comparing.compare(before, after);
    comparing.found
}

struct Comparing<'a, 'p> {
    path: Vec<String>,
    ignored: &'p [PointerPattern],
    found: Comparison<'a>,
}

impl<'a> Comparing<'a, '_> {
    fn compare(&mut self, before: &'a str, after: &'a str) {
        if before == after {
            return;
        }
        let is_descended = match (kind(before), kind(after)) {
            (Kind::Object, Kind::Object) => self.compare_objects(before, after),
            (Kind::Array, Kind::Array) => self.compare_arrays(before, after),
            _ => None,
        };
        if is_descended.is_none() && !is_same_scalar(before, after) {
            self.add(ChangeKind::Changed, Some(before), Some(after));
        }
    }

    /// Compares members by name. Returns `None` if names cannot be decoded.
    fn compare_objects(&mut self, before: &'a str, after: &'a str) -> Option<()> {
        let (before, mut after) = (members(before)?, members(after)?);
        for (name, value) in before {
            self.path.push(name.clone().into_owned());
            match after.remove(&name) {
                Some(other) => self.compare(value, other),
                None => self.add(ChangeKind::Missing, Some(value), None),
            }
            self.path.pop();
        }
        for (name, value) in after {
            self.path.push(name.into_owned());
            self.add(ChangeKind::Added, None, Some(value));
            self.path.pop();
        }
        Some(())
    }

    /// Compares elements by index, after setting aside those that are the same at the start and at the end.
    fn compare_arrays(&mut self, before: &'a str, after: &'a str) -> Option<()> {
        let (before, after) = (elements(before)?, elements(after)?);
        let mut start = 0;
        // Where lengths differ, what is at the end has other indexes.
        let mut ends = [before.len(), after.len()];
        if before.len() != after.len() {
            let shorter = before.len().min(after.len());
            start = before.iter().zip(&after).take_while(|(one, other)| is_same(one, other)).count();
            let same_at_end = before.iter().rev().zip(after.iter().rev()).take(shorter - start);
            let same_at_end = same_at_end.take_while(|(one, other)| is_same(one, other)).count();
            ends = ends.map(|end| end - same_at_end);
        }
        for index in start..ends[0].max(ends[1]) {
            self.path.push(index.to_string());
            match (before[..ends[0]].get(index), after[..ends[1]].get(index)) {
                (Some(one), Some(other)) => self.compare(one, other),
                (Some(one), None) => self.add(ChangeKind::Missing, Some(one), None),
                (None, other) => self.add(ChangeKind::Added, None, other.copied()),
            }
            self.path.pop();
        }
        Some(())
    }

    fn add(&mut self, kind: ChangeKind, before: Option<&'a str>, after: Option<&'a str>) {
        if self.ignored.iter().any(|pattern| pattern.covers(&self.path)) {
            self.found.ignored += 1;
            return;
        }
        self.found.count += 1;
        if self.found.changes.len() < MAX_CHANGES {
            self.found.changes.push(Change { kind, path: to_pointer(&self.path), before, after });
        }
    }
}

/// Whether two texts have the same value. Unlike [`compare`], it stops at the first difference and aligns nothing.
fn is_same(before: &str, after: &str) -> bool {
    if before == after {
        return true;
    }
    match (kind(before), kind(after)) {
        (Kind::Object, Kind::Object) => match (members(before), members(after)) {
            (Some(before), Some(after)) => {
                before.len() == after.len()
                    && before.iter().zip(&after).all(|(one, other)| one.0 == other.0 && is_same(one.1, other.1))
            }
            _ => false,
        },
        (Kind::Array, Kind::Array) => match (elements(before), elements(after)) {
            (Some(before), Some(after)) => {
                before.len() == after.len() && before.iter().zip(&after).all(|(one, other)| is_same(one, other))
            }
            _ => false,
        },
        _ => is_same_scalar(before, after),
    }
}

/// Whether two texts of different spelling are the same string or number.
fn is_same_scalar(before: &str, after: &str) -> bool {
    match (kind(before), kind(after)) {
        (Kind::String, Kind::String) => decoded(before).is_some_and(|text| decoded(after) == Some(text)),
        // An id is a number of any length, compared by value.
        (Kind::Number, Kind::Number) => Id::parse(before).is_some_and(|number| Id::parse(after) == Some(number)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The changes as `kind path`.
    fn changes(before: &str, after: &str, ignored: &[&str]) -> Vec<String> {
        let ignored: Vec<_> = ignored.iter().map(|pattern| pattern.parse().unwrap()).collect();
        let found = compare(before, after, &ignored);
        assert_eq!(found.changes.len() as u64, found.count);
        found.changes.iter().map(|change| format!("{} {}", change.kind.name(), change.path)).collect()
    }

    #[test]
    fn compares_by_value() {
        for (before, after) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("-0", "0"),
            ("123456789012345678901234567890", "123456789012345678901234567890.0"),
            (r#""a""#, r#""\u0061""#),
            (r#""/""#, r#""\/""#),
            (r#"{"a":1,"b":[ ]}"#, r#"{ "b":[],"\u0061":1e0}"#),
            (r#"{"a":0,"a":1}"#, r#"{"a":1}"#),
        ] {
            assert_eq!(changes(before, after, &[]), [""; 0], "{before} {after}");
        }
        for (before, after) in [
            ("9007199254740993", "9007199254740992"),
            ("0.1", "0.10000000000000001"),
            ("1", r#""1""#),
            ("null", "false"),
            ("true", "false"),
            ("{}", "[]"),
            (r#""a""#, r#""A""#),
            (r#""\ud800""#, r#""\udc00""#),
            (r#"{"\ud800":1}"#, r#"{"\ud800":2}"#),
        ] {
            assert_eq!(changes(before, after, &[]), ["changed "], "{before} {after}");
        }
    }

    #[test]
    fn says_where() {
        for (before, after, expected) in [
            (r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"c":3,"d":4}}"#, &["missing /a/b", "changed /a/c", "added /a/d"][..]),
            (r#"{"a/b":{"~":1}}"#, r#"{"a/b":{"~":2}}"#, &["changed /a~1b/~0"]),
            ("[1,2,3]", "[1,4,3]", &["changed /1"]),
            ("[1,2,3]", "[3,2,1]", &["changed /0", "changed /2"]),
            ("[1,2,3]", "[0,1,2,3]", &["added /0"]),
            ("[1,2,3]", "[1,2,3,4,5]", &["added /3", "added /4"]),
            ("[1,2,3]", "[1,3]", &["missing /1"]),
            ("[1,2,3]", "[]", &["missing /0", "missing /1", "missing /2"]),
            ("[1,1]", "[1]", &["missing /1"]),
            ("[1,2,3]", "[4,3]", &["changed /0", "missing /1"]),
            (r#"[{"n":"a","d":1},{"n":"b"}]"#, r#"[{"n":"a","d":2},{"n":"b"}]"#, &["changed /0/d"]),
        ] {
            assert_eq!(changes(before, after, &[]), expected, "{before} {after}");
        }
    }

    #[test]
    fn ignores_parts() {
        let before = r#"{"result":{"content":[{"text":"a"},{"text":"b"}],"now":1}}"#;
        let after = r#"{"result":{"content":[{"text":"x"},{"text":"y"}]}}"#;
        for (ignored, expected) in [
            (&["/result/content/0/text"][..], &["changed /result/content/1/text", "missing /result/now"][..]),
            (&["/result/content/*/text"], &["missing /result/now"]),
            (&["/result/content", "/result/now"], &[]),
            (&["/result"], &[]),
        ] {
            assert_eq!(changes(before, after, ignored), expected);
        }
        assert_eq!(compare(before, after, &["/result".parse().unwrap()]).ignored, 3);
    }

    #[test]
    fn many_changes_are_counted() {
        let array = |number: usize| format!("[{}]", vec![number.to_string(); 5000].join(","));
        let (before, after) = (array(1), array(2));
        let found = compare(&before, &after, &[]);
        assert_eq!((found.count, found.changes.len()), (5000, MAX_CHANGES));
    }

    #[test]
    fn deep_texts_are_compared() {
        let nested = |inner: &str| format!("{}{inner}{}", "[".repeat(1024), "]".repeat(1024));
        assert_eq!(changes(&nested("1"), &nested("2"), &[]), [format!("changed {}", "/0".repeat(1024))]);
        // Arrays of different lengths at every depth take no longer.
        let longer = format!("{}2{}", "[".repeat(1024), ",0]".repeat(1024));
        assert_eq!(compare(&nested("1"), &longer, &[]).count, 1025);
    }
}
