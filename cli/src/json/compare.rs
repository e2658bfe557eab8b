//! Differences between two JSON texts, by value.

use std::borrow::Cow;

use serde_json::value::RawValue;
use wireline::Id;

use super::ignored::Ignored;
use super::parts::{Kind, decoded, elements, kind, members};
use super::pointer::to_pointer;

/// How many differences of two texts are kept. More are counted.
const MAX_CHANGES: usize = 1000;

/// What is different, and where.
#[derive(Debug, PartialEq)]
pub(crate) struct Change<'a> {
    pub(crate) kind: ChangeKind,
    /// A JSON pointer. The names in it are the peer's.
    pub(crate) path: String,
    pub(crate) before: Option<Cow<'a, str>>,
    pub(crate) after: Option<Cow<'a, str>>,
}

impl Change<'_> {
    fn into_owned<'b>(self) -> Change<'b> {
        let owned = |text: Option<Cow<'_, str>>| text.map(|text| Cow::Owned(text.into_owned()));
        Change { kind: self.kind, path: self.path, before: owned(self.before), after: owned(self.after) }
    }
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
/// were added or removed at one place of an array, only those are different. The text of a tool's content
/// (`content/0/text`) is compared as JSON if it is an object or an array, and paths go on into it.
pub(crate) fn compare<'a>(before: &'a str, after: &'a str, ignored: &Ignored) -> Comparison<'a> {
    let mut comparing = Comparing { path: Vec::new(), ignored, found: Comparison::default() };
    comparing.compare(before, after);
    comparing.found
}

struct Comparing<'a, 'p> {
    path: Vec<String>,
    ignored: &'p Ignored,
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
            (Kind::String, Kind::String) => self.compare_json_within(before, after),
            _ => None,
        };
        if is_descended.is_none() && !is_same_scalar(before, after) {
            if self.ignored.rest(before).is_some_and(|rest| self.ignored.rest(after) == Some(rest)) {
                self.found.ignored += 1;
                return;
            }
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

    /// Compares the texts of a tool's content if both are JSON objects or arrays. Returns `None` if they are not.
    fn compare_json_within(&mut self, before: &str, after: &str) -> Option<()> {
        let [.., content, _, text] = &self.path[..] else { return None };
        if content != "content" || text != "text" {
            return None;
        }
        let (before, after) = (decoded(before)?, decoded(after)?);
        let is_json = |text: &str| {
            matches!(kind(text), Kind::Object | Kind::Array) && serde_json::from_str::<&RawValue>(text).is_ok()
        };
        if !is_json(&before) || !is_json(&after) {
            return None;
        }
        let path = std::mem::take(&mut self.path);
        let mut within = Comparing { path, ignored: self.ignored, found: Comparison::default() };
        within.compare(before.trim_ascii(), after.trim_ascii());
        let Comparing { path, found, .. } = within;
        self.path = path;
        self.found.count += found.count;
        self.found.ignored += found.ignored;
        let room = MAX_CHANGES - self.found.changes.len();
        self.found.changes.extend(found.changes.into_iter().take(room).map(Change::into_owned));
        Some(())
    }

    fn add(&mut self, kind: ChangeKind, before: Option<&'a str>, after: Option<&'a str>) {
        if self.ignored.covers(&self.path) {
            self.found.ignored += 1;
            return;
        }
        self.found.count += 1;
        if self.found.changes.len() < MAX_CHANGES {
            self.found.changes.push(Change {
                kind,
                path: to_pointer(&self.path),
                before: before.map(Cow::Borrowed),
                after: after.map(Cow::Borrowed),
            });
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
    use crate::json::VolatileKind;

    /// The changes as `kind path`.
    fn changes(before: &str, after: &str, ignored: &[&str]) -> Vec<String> {
        let patterns = ignored.iter().map(|pattern| pattern.parse().unwrap()).collect();
        let ignored = Ignored { patterns, ..Ignored::default() };
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
        assert_eq!(
            compare(before, after, &Ignored { patterns: vec!["/result".parse().unwrap()], ..Ignored::default() })
                .ignored,
            3
        );
    }

    #[test]
    fn json_in_the_text_of_content_is_compared_as_json() {
        let answer = |text: &str| serde_json::json!({ "content": [{ "text": text }], "other": text }).to_string();
        for (before, after, expected) in [
            (r#"{"a":1,"b":[2]}"#, "{ \"b\": [2.0],\n \"a\": 1 }\n", &["changed /other"][..]),
            (
                r#"{"a":1}"#,
                r#"{"a":2,"c":3}"#,
                &["changed /content/0/text/a", "added /content/0/text/c", "changed /other"],
            ),
            (r#"{"a":1}"#, r#"{"a":1"#, &["changed /content/0/text", "changed /other"]),
            ("1", "2", &["changed /content/0/text", "changed /other"]),
        ] {
            assert_eq!(changes(&answer(before), &answer(after), &[]), expected, "{before} {after}");
        }
        let ignored = ["/content/*/text/now", "/other"];
        assert_eq!(changes(&answer(r#"{"now":1}"#), &answer(r#"{"now":2}"#), &ignored), [""; 0]);
    }

    #[test]
    fn times_and_uuids_are_ignored() {
        let ignored = Ignored { kinds: vec![VolatileKind::Time, VolatileKind::Uuid], ..Ignored::default() };
        for (before, after, is_same) in [
            (r#""at 2025-11-16T01:50:06Z""#, r#""at 2026-01-01T00:00:00Z""#, true),
            (r#""at 2025-11-16T01:50:06Z""#, r#""on 2026-01-01T00:00:00Z""#, false),
            (r#""at 2025-11-16T01:50:06Z""#, r#""at noon""#, false),
            ("1763257806", "1763257807", true),
            ("1763257806", "7", false),
            (r#""0190b5a4-7c2e-7000-8000-00000000000f""#, r#""a190b5a4-7c2e-7000-8000-00000000000f""#, true),
        ] {
            let found = compare(before, after, &ignored);
            assert_eq!((found.is_same(), found.ignored), (is_same, u64::from(is_same)), "{before} {after}");
        }
    }

    #[test]
    fn many_changes_are_counted() {
        let array = |number: usize| format!("[{}]", vec![number.to_string(); 5000].join(","));
        let (before, after) = (array(1), array(2));
        let found = compare(&before, &after, &Ignored::default());
        assert_eq!((found.count, found.changes.len()), (5000, MAX_CHANGES));
    }

    #[test]
    fn deep_texts_are_compared() {
        let nested = |inner: &str| format!("{}{inner}{}", "[".repeat(1024), "]".repeat(1024));
        assert_eq!(changes(&nested("1"), &nested("2"), &[]), [format!("changed {}", "/0".repeat(1024))]);
        // Arrays of different lengths at every depth take no longer.
        let longer = format!("{}2{}", "[".repeat(1024), ",0]".repeat(1024));
        assert_eq!(compare(&nested("1"), &longer, &Ignored::default()).count, 1025);
    }
}
