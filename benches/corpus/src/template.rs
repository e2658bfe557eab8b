//! Text templates.

use crate::random::Random;

/// Fills in the placeholders of `template`: `@` is a word, `#` a number, and `%` a sentence.
pub(crate) fn fill(template: &str, random: &mut Random) -> String {
    let mut text = String::new();
    for part in template.chars() {
        match part {
            '@' => text.push_str(random.pick(&WORDS)),
            '#' => text.push_str(&random.below(10_000).to_string()),
            '%' => sentence(&mut text, random),
            other => text.push(other),
        }
    }
    text
}

fn sentence(text: &mut String, random: &mut Random) {
    for nth in 0..random.between(4, 12) {
        if nth > 0 {
            text.push(' ');
        }
        text.push_str(random.pick(&WORDS));
    }
}

const WORDS: [&str; 48] = [
    "account", "amount", "branch", "buffer", "cache", "chart", "client", "column", "commit", "count", "cursor",
    "depth", "document", "entry", "event", "field", "file", "filter", "frame", "header", "image", "index", "invoice",
    "item", "label", "limit", "line", "list", "message", "node", "note", "offset", "order", "page", "path", "query",
    "record", "report", "row", "search", "session", "status", "table", "task", "token", "user", "value", "window",
];
