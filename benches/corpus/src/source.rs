//! Source text: an escape every few bytes, so that an eighth of all bytes are part of escape sequences.

use std::fmt::Write;

use crate::envelope;
use crate::random::Random;
use crate::template::fill;

pub(crate) fn line(random: &mut Random) -> String {
    let len = random.around(32_000);
    let mut source = String::new();
    while source.len() < len {
        let indent = random.pick(&["", "    ", "    ", "        ", "        ", "\t"]);
        source.push_str(indent);
        source.push_str(&fill(random.pick(&LINES), random));
        source.push('\n');
    }
    ascii_only(&envelope::text_result(&source, random))
}

/// Escapes non-ASCII characters as `\uXXXX`, as Python's `json.dumps` does.
fn ascii_only(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

const LINES: [&str; 20] = [
    "",
    "}",
    "/// The @ of the @, if there is one with this @.",
    "// größer als der @ (siehe @_@), naïve façade → später",
    "pub fn @_@(&self, @: &str, @: usize) -> Result<Option<@>, Error> {",
    "let mut @ = self.@.iter().filter(|@| @.is_some()).count();",
    "let @ = @.get(\"@\").and_then(|@| @.parse().ok()).unwrap_or(#);",
    "if @.len() > # && !@.contains(\"@_@\") {",
    "return Err(format!(\"unexpected @ in \\\"{}\\\": {}\", @, @));",
    "for (@, @) in @.split('\\n').enumerate() {",
    "writeln!(out, \"{:>#}\\t{}\", @, @)?;",
    "assert_eq!(@_@(\"@ @\"), Some(\"@\"));",
    "match self.@.next() {",
    "Some('\\\\') => self.@ += 1,",
    "[\"@\", \"@\", \"@\", \"@\"].join(\"/\")",
    "const @ = await this.@.call({ name: \"@\", arguments: { \"@\": # } });",
    "console.log(`@ ${@.@} of ${@}`);",
    "self.@ = @.@(@=\"@\", @=#)",
    "<div class=\"@ @-@\" data-@=\"@\">@ @</div>",
    "import { @, @ } from '../@/@.js';",
];
