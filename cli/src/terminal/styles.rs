//! Colours and emphasis.

use clap::builder::styling::{AnsiColor, Style};

/// A style for each role that a part of a text can have. All are plain unless a terminal shows the text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Styles {
    pub(crate) strong: Style,
    pub(crate) bad: Style,
    pub(crate) good: Style,
    pub(crate) accent: Style,
    pub(crate) dim: Style,
}

impl Styles {
    /// Styles for a stream that is a terminal or not. `NO_COLOR` and `TERM=dumb` turn them off.
    pub(crate) fn detect(is_terminal: bool) -> Self {
        let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if is_unwanted || !is_terminal {
            return Self::default();
        }
        Self {
            strong: Style::new().bold(),
            bad: AnsiColor::Red.on_default(),
            good: AnsiColor::Green.on_default(),
            accent: AnsiColor::Cyan.on_default(),
            dim: Style::new().dimmed(),
        }
    }
}
