//! The table of rules as a page, for `check --list-rules` and for the documentation.

use super::rules::Rule;

/// The table in Markdown.
pub(crate) fn list() -> String {
    let mut text =
        "| rule | severity | what breaks it | applies to, with the section of its specification |\n".to_owned();
    text.push_str("|---|---|---|---|\n");
    for rule in Rule::ALL {
        let sections = rule.sections().join("; ");
        text.push_str(&format!("| `{}` | {} | {} | {sections} |\n", rule.name(), rule.severity().name(), rule.text()));
    }
    text
}
