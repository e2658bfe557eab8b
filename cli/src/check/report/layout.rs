//! Where a finding is, what it is, and what to do about it, in lines that fit the terminal.

use std::io::{self, IsTerminal, Write};

use clap::builder::styling::Style;

use crate::terminal::{Styles, Width, columns, wrap};

/// The width of the space before details.
const INDENT: usize = 4;

/// How findings are written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) styles: Styles,
    /// The width of the terminal, or unlimited.
    pub(crate) columns: usize,
}

impl Layout {
    /// For standard output.
    pub(crate) fn detect() -> Self {
        let is_terminal = io::stdout().is_terminal();
        Self { styles: Styles::detect(is_terminal), columns: Width::of(&io::stdout()).limit() }
    }

    /// Writes where a finding is and what it is: in one line, or below its position if that is too long.
    pub(crate) fn write_heading(&self, position: &str, what: &str, name: &str, text: &mut Vec<u8>) -> io::Result<()> {
        let Styles { strong, bad, .. } = self.styles;
        if columns(position) + columns(what) + columns(name) + " []".len() + 1 < self.columns {
            return writeln!(text, "{strong}{position}{strong:#} {what} {bad}[{name}]{bad:#}");
        }
        // The position is not split: it must stay a path.
        writeln!(text, "{strong}{position}{strong:#}")?;
        self.write_detail("", bad, &format!("{what} [{name}]"), bad, text)
    }

    /// Writes a detail of a finding, indented, after its label.
    pub(crate) fn write_detail(
        &self,
        label: &str,
        label_style: Style,
        what: &str,
        style: Style,
        text: &mut Vec<u8>,
    ) -> io::Result<()> {
        let indent = INDENT + columns(label);
        for (number, line) in wrap(what, self.columns.saturating_sub(indent + 1)).enumerate() {
            match number {
                0 => write!(text, "{:INDENT$}{label_style}{label}{label_style:#}", "")?,
                _ => write!(text, "{:indent$}", "")?,
            }
            writeln!(text, "{style}{line}{style:#}")?;
        }
        Ok(())
    }
}
