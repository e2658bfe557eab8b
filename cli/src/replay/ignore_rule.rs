//! What `--ignore` names: a part of each message, or of those about one method or one tool.

use std::str::FromStr;

use crate::filter::Glob;
use crate::json::{Ignored, PointerPattern, VolatileKind};

/// `POINTER`, `METHOD POINTER` or `METHOD:TOOL POINTER`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IgnoreRule {
    method: Option<Glob>,
    tool: Option<Glob>,
    pattern: PointerPattern,
}

impl IgnoreRule {
    fn is_about(&self, method: &str, tool: Option<&str>) -> bool {
        self.method.as_ref().is_none_or(|glob| glob.matches(method))
            && self.tool.as_ref().is_none_or(|glob| tool.is_some_and(|tool| glob.matches(tool)))
    }
}

/// What makes no difference in messages about a method and a tool.
pub(super) fn ignored(rules: &[IgnoreRule], kinds: &[VolatileKind], method: &str, tool: Option<&str>) -> Ignored {
    let patterns = rules.iter().filter(|rule| rule.is_about(method, tool)).map(|rule| rule.pattern.clone());
    Ignored { patterns: patterns.collect(), kinds: kinds.to_vec() }
}

impl FromStr for IgnoreRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scope, pointer) = match text.split_once(" /") {
            Some((scope, _)) if !text.starts_with('/') => (scope.trim(), &text[scope.len() + 1..]),
            _ => ("", text),
        };
        let glob = |text: &str| (!text.is_empty()).then(|| text.parse()).transpose().map_err(|_| "expected a name");
        let (method, tool) = scope.split_once(':').unwrap_or((scope, ""));
        Ok(Self { method: glob(method)?, tool: glob(tool)?, pattern: pointer.parse()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_may_be_about_a_method_or_a_tool() {
        for (rule, expected) in [
            ("/result", [true, true, true]),
            ("tools/call /result", [true, true, false]),
            ("tools/call:get_time /result/content/*/text", [true, false, false]),
            ("tools/*:* /result", [true, true, false]),
            (":get_* /result", [true, false, false]),
            ("/a /b", [true, true, true]),
        ] {
            let rules = [rule.parse::<IgnoreRule>().unwrap()];
            let messages = [("tools/call", Some("get_time")), ("tools/call", Some("echo")), ("ping", None)];
            let found = messages.map(|(method, tool)| !ignored(&rules, &[], method, tool).patterns.is_empty());
            assert_eq!(found, expected, "{rule}");
        }
        for text in ["", "tools/call", "tools/call result", "tools/call:x"] {
            assert!(text.parse::<IgnoreRule>().is_err(), "{text}");
        }
    }
}
