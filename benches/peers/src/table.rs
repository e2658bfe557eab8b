//! Tables as plain text or Markdown.

/// Text in columns: the first is a name, the others are numbers.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Self {
        Self { header: header.into_iter().map(str::to_owned).collect(), rows: Vec::new() }
    }

    /// Appends a row, with a cell for each column.
    pub(crate) fn push(&mut self, row: impl Into<Vec<String>>) {
        let row = row.into();
        debug_assert_eq!(row.len(), self.header.len());
        self.rows.push(row);
    }

    /// Plain text in columns, with numbers aligned to the right.
    pub(crate) fn plain(&self) -> String {
        let width = |column: usize| self.lines().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let mut text = String::new();
        for row in self.lines() {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
                0 => format!("{cell:width$}"),
                _ => format!("  {cell:>width$}"),
            });
            text.push_str(cells.collect::<String>().trim_end());
            text.push('\n');
        }
        text
    }

    /// GitHub's Markdown.
    pub(crate) fn markdown(&self) -> String {
        let line = |row: &Vec<String>| {
            let cells = row.iter().map(|cell| cell.trim().replace('|', "\\|"));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rule = format!("|---{}|\n", "|--:".repeat(self.header.len() - 1));
        let rows: String = self.rows.iter().map(line).collect();
        line(&self.header) + &rule + &rows
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.header).chain(&self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        let mut table = Table::new(["who", "×"]);
        table.push(["a".to_owned(), "10".to_owned()]);
        table.push(["é|".to_owned(), "–".to_owned()]);
        table
    }

    #[test]
    fn numbers_are_aligned_to_the_right() {
        assert_eq!(example().plain(), "who   ×\na    10\né|    –\n");
    }

    #[test]
    fn bars_are_escaped_in_markdown() {
        assert_eq!(example().markdown(), "| who | × |\n|---|--:|\n| a | 10 |\n| é\\| | – |\n");
    }
}
