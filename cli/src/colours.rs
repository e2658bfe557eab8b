//! How parts of a text are set apart.

use clap::builder::styling::{AnsiColor, Style};

/// The styles of a text: none at all, unless a terminal is there to show them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Colours {
    pub(crate) place: Style,
    pub(crate) bad: Style,
    pub(crate) good: Style,
    pub(crate) hint: Style,
    pub(crate) quiet: Style,
}

impl Colours {
    /// For a stream that is a terminal or not, as `std::io::stdout().is_terminal()` says.
    pub(crate) fn detect(is_terminal: bool) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if unwanted || !is_terminal {
            return Self::default();
        }
        Self {
            place: Style::new().bold(),
            bad: AnsiColor::Red.on_default(),
            good: AnsiColor::Green.on_default(),
            hint: AnsiColor::Cyan.on_default(),
            quiet: Style::new().dimmed(),
        }
    }
}
