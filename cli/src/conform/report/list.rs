//! The list of checks. Writing to a string cannot fail, so results of `write!` are ignored.

use std::fmt::Write as _;

use super::properties;
use crate::conform::args::Format;
use crate::conform::check::Check;
use crate::terminal::{Styles, wrap};

/// Lists checks. `page` is the text before the list of a page of documentation.
pub(crate) fn list(checks: &[&'static Check], format: Format, page: &str, styles: Styles, columns: usize) -> String {
    match format {
        Format::Human => human(checks, styles, columns),
        Format::Json | Format::Junit => serde_json::to_string(checks).unwrap_or_default() + "\n",
        Format::Markdown => markdown(checks, page),
    }
}

fn human(checks: &[&Check], Styles { strong, accent, dim, .. }: Styles, columns: usize) -> String {
    let mut text = String::new();
    for property in properties() {
        let mut checks = checks.iter().filter(|check| check.property == *property).peekable();
        if checks.peek().is_some() {
            let _ = writeln!(text, "{}{strong}{}{strong:#}", if text.is_empty() { "" } else { "\n" }, property.title());
        }
        for check in checks {
            let _ = writeln!(text, "  {accent}{}{accent:#} {dim}({}){dim:#}", check.name, check.level.name());
            for line in wrap(check.sends, columns.saturating_sub(5)) {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
    text
}

fn markdown(checks: &[&Check], page: &str) -> String {
    let mut text = page.to_owned();
    for property in properties() {
        let mut checks = checks.iter().filter(|check| check.property == *property).peekable();
        if checks.peek().is_some() {
            let _ = write!(text, "\n## {}\n\n{}.\n\n", property.title(), property.about());
            text.push_str("| check | level | sends | accepts | the specification asks | otherwise |\n");
            text.push_str("|---|---|---|---|---|---|\n");
        }
        for check in checks {
            let Check { name, level, sends, accepts, asks, effect, .. } = check;
            let cells = [sends, accepts, asks, effect].map(|cell| cell.replace('|', "\\|")).join(" | ");
            let _ = writeln!(text, "| `{name}` | {} | {cells} |", level.name());
        }
    }
    text
}
