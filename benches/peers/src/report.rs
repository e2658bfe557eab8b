//! The printed report.

use std::io::{self, Write};

use wireline_json::Cpu;

use crate::beside::Ratios;
use crate::comparison::{Comparison, bytes, summary};
use crate::machine;
use crate::table::Table;

/// Prints each comparison as soon as it is done.
pub(crate) struct Report<W> {
    out: W,
    markdown: bool,
    ratios: Ratios,
    /// Of another run, for a column of their own.
    beside: Option<Ratios>,
}

impl<W: Write> Report<W> {
    pub(crate) fn new(out: W, markdown: bool, beside: Option<Ratios>) -> Self {
        Self { out, markdown, ratios: Ratios::new(&machine::profile()), beside }
    }

    /// All ratios that were reported.
    pub(crate) fn ratios(&self) -> &Ratios {
        &self.ratios
    }

    /// Prints what all results depend on.
    pub(crate) fn preface(&mut self, cpus: &[Cpu]) -> io::Result<()> {
        let scanners: Vec<String> = cpus.iter().map(|&cpu| machine::cpu_name(cpu)).collect();
        let lines = [
            format!("CPU: {}", machine::model()),
            format!("wireline's scanner: {}", scanners.join(", ")),
            format!("versions: {}", machine::versions().trim_end().replace('\n', ", ")),
            format!("profile: {}", machine::profile()),
            format!("build: {}", machine::build()),
        ];
        for line in lines {
            writeln!(self.out, "{}{line}", if self.markdown { "- " } else { "" })?;
        }
        self.out.flush()
    }

    pub(crate) fn comparison(&mut self, what: &str, comparison: &Comparison) -> io::Result<()> {
        let Comparison { title, messages, rounds, .. } = comparison;
        let size = bytes(comparison.bytes_per_message());
        self.heading(&format!("{what} {title}: {messages} messages of {size}, best of {rounds} rounds"))?;
        self.ratios.add(what, comparison);
        self.table(&comparison.table(what, self.beside.as_ref()))?;
        self.notes(&comparison.notes)
    }

    /// A table of another kind, with notes below it.
    pub(crate) fn section(&mut self, heading: &str, table: &Table, notes: &[String]) -> io::Result<()> {
        self.heading(heading)?;
        self.table(table)?;
        self.notes(notes)
    }

    fn notes(&mut self, notes: &[String]) -> io::Result<()> {
        if self.markdown && !notes.is_empty() {
            writeln!(self.out)?;
        }
        for note in notes {
            writeln!(self.out, "{}{note}", if self.markdown { "- " } else { "* " })?;
        }
        self.out.flush()
    }

    pub(crate) fn summary(&mut self, heading: &str, comparisons: &[Comparison]) -> io::Result<()> {
        let Some(table) = summary(comparisons) else { return Ok(()) };
        self.heading(heading)?;
        self.table(&table)?;
        self.out.flush()
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        if self.markdown { write!(self.out, "\n### {text}\n\n") } else { write!(self.out, "\n{text}\n\n") }
    }

    fn table(&mut self, table: &Table) -> io::Result<()> {
        let text = if self.markdown { table.markdown() } else { table.plain() };
        self.out.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::example;

    fn report(markdown: bool) -> String {
        let mut out = Vec::new();
        let mut report = Report::new(&mut out, markdown, None);
        let mut comparison = example("test");
        comparison.notes.push("a note".to_owned());
        report.comparison("Decoding", &comparison).unwrap();
        report.summary("All", &[comparison]).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn headings_tables_and_notes_are_set_apart() {
        let plain = report(false);
        assert!(plain.starts_with("\nDecoding test: 1000 messages of 100 B, best of 7 rounds\n\n        "), "{plain}");
        assert!(plain.contains("–\n* a note\n\nAll\n\nGB/s"), "{plain}");
        let markdown = report(true);
        assert!(
            markdown.starts_with("\n### Decoding test: 1000 messages of 100 B, best of 7 rounds\n\n|  | GB/s |"),
            "{markdown}"
        );
        assert!(markdown.contains("– |\n\n- a note\n\n### All\n\n| GB/s |"), "{markdown}");
    }
}
