//! JSON pointers (RFC 6901), with wildcards to ignore parts of messages.

use std::str::FromStr;

/// A JSON pointer in which the segment `*` stands for any one name or index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PointerPattern {
    /// `None` for `*`.
    segments: Vec<Option<String>>,
}

impl PointerPattern {
    /// Whether the pattern names the place that `path` leads to, or something around it.
    pub(crate) fn covers(&self, path: &[String]) -> bool {
        self.segments.len() <= path.len()
            && self.segments.iter().zip(path).all(|(segment, name)| segment.as_ref().is_none_or(|one| one == name))
    }
}

impl FromStr for PointerPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected a JSON pointer to a part of a message, such as /result/content/0/text";
        let segments = text.strip_prefix('/').ok_or(EXPECTED)?;
        let segment = |segment: &str| (segment != "*").then(|| segment.replace("~1", "/").replace("~0", "~"));
        Ok(Self { segments: segments.split('/').map(segment).collect() })
    }
}

/// Writes a path as a JSON pointer.
pub(super) fn to_pointer(path: &[String]) -> String {
    path.iter().flat_map(|name| ["/".to_owned(), name.replace('~', "~0").replace('/', "~1")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_what_is_inside() {
        let path = ["result", "content", "0", "a/b~"].map(str::to_owned);
        assert_eq!(to_pointer(&path), "/result/content/0/a~1b~0");
        for (pattern, is_covered) in [
            ("/result", true),
            ("/result/content/0/a~1b~0", true),
            ("/result/*/0", true),
            ("/*/*/*/*", true),
            ("/*/*/*/*/*", false),
            ("/result/content/1", false),
            ("/results", false),
            ("/result/", false),
            ("/", false),
        ] {
            assert_eq!(pattern.parse::<PointerPattern>().unwrap().covers(&path), is_covered, "{pattern}");
        }
        for text in ["", "result", "#/result", "$.result"] {
            assert!(text.parse::<PointerPattern>().is_err(), "{text}");
        }
    }
}
