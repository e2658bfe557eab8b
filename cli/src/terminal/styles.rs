//! Colours and emphasis.

use std::sync::OnceLock;

use clap::ColorChoice;
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

/// What the user wants, from the arguments. Set once, before anything is printed.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Sets whether to use colours.
pub(crate) fn set_color(choice: ColorChoice) {
    let _ = CHOICE.set(choice);
}

/// Whether a stream that is a terminal or not gets colours. By default `NO_COLOR` and `TERM=dumb` turn them off.
pub(crate) fn has_color(is_terminal: bool) -> bool {
    match CHOICE.get().copied().unwrap_or(ColorChoice::Auto) {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
                || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            is_terminal && !is_unwanted
        }
    }
}

impl Styles {
    /// Styles for a stream that is a terminal or not.
    pub(crate) fn detect(is_terminal: bool) -> Self {
        if !has_color(is_terminal) {
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
