//! How a check ended, which is all that a report needs besides the [`Check`] itself.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use super::check::Check;

/// A check that was run or skipped.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) check: &'static Check,
    pub(crate) outcome: Outcome,
    pub(crate) elapsed: Duration,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Passed,
    /// Boxed, because most checks pass.
    Failed(Box<Failure>),
    /// Why the check says nothing about this program.
    Skipped(Cow<'static, str>),
}

/// A failed check, in words. All texts are escaped for a terminal.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    /// What was sent: the bytes, if they are few.
    pub(crate) sent: String,
    /// What came of it. Contains bytes of the peer only if the user asked for them.
    pub(crate) came: String,
    /// What the specification asks here, if it is more specific than [`Check::asks`].
    pub(crate) asks: Option<Cow<'static, str>>,
    /// What happens to a user, if it is more specific than [`Check::effect`].
    pub(crate) effect: Option<Cow<'static, str>>,
    /// A command for a shell that shows the failure again.
    pub(crate) repeat: Option<String>,
    /// A recording of the failure, for `wireline show`.
    pub(crate) recording: Option<PathBuf>,
}

impl Failure {
    pub(crate) fn asks<'a>(&'a self, check: &Check) -> &'a str {
        self.asks.as_deref().unwrap_or(check.asks)
    }

    pub(crate) fn effect<'a>(&'a self, check: &Check) -> &'a str {
        self.effect.as_deref().unwrap_or(check.effect)
    }
}
