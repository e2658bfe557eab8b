//! What a check is: its name, what it sends, what it accepts and why. The tables of checks are made of these.

use clap::ValueEnum;
use serde::Serialize;

/// The description of a check. Everything that reports, lists or documents checks reads it from here.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    /// In lower case, with hyphens. Unique.
    pub(crate) name: &'static str,
    pub(crate) property: Property,
    pub(crate) level: Level,
    /// What the tool sends, as a noun phrase.
    pub(crate) sends: &'static str,
    /// What the other side may do, as a noun phrase. Everything that the specification permits is part of it.
    pub(crate) accepts: &'static str,
    /// What the specification asks, with its section.
    pub(crate) asks: &'static str,
    /// What happens to a user if the other side does something else.
    pub(crate) effect: &'static str,
}

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Property {
    /// Every byte of the output belongs to a message
    Integrity,
    /// Messages are found however their bytes arrive
    Framing,
    /// Every request gets exactly one response, and nothing else gets one
    ExactlyOneResponse,
    /// Valid messages are processed, and others refused as the specification says
    Conformance,
    /// The process starts, ends and behaves as its client expects
    Lifecycle,
}

/// How bad it is to fail a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Level {
    /// A program on the other side hangs, or loses or corrupts messages
    Must,
    /// A program on the other side gets along, but not as the specification wants
    Should,
}

impl Property {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Integrity => "integrity",
            Self::Framing => "framing",
            Self::ExactlyOneResponse => "exactly-one-response",
            Self::Conformance => "conformance",
            Self::Lifecycle => "lifecycle",
        }
    }

    /// As a heading.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Integrity => "Integrity",
            Self::Framing => "Framing",
            Self::ExactlyOneResponse => "Exactly one response",
            Self::Conformance => "Conformance",
            Self::Lifecycle => "Lifecycle",
        }
    }

    /// What all its checks have in common, as a sentence without a full stop.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Integrity => "Every byte of the output belongs to a message",
            Self::Framing => "Messages are found however their bytes arrive",
            Self::ExactlyOneResponse => "Every request gets exactly one response, and nothing else gets one",
            Self::Conformance => "Valid messages are processed, and others refused as the specification says",
            Self::Lifecycle => "The process starts, ends and behaves as its peer expects",
        }
    }
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
        }
    }
}
