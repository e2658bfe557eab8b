//! The table of checks, a file for each property. A new check is one more entry.

mod conformance;
mod framing;
mod integrity;
mod lifecycle;
mod one_response;

use super::check::Check;
use super::maker::{Made, Maker};

/// A check of a server: its description, and what it sends.
///
/// What is accepted follows from what is sent: see [`oracle`](super::oracle).
pub(super) struct ServerCheck {
    pub(super) check: Check,
    pub(super) script: fn(&mut Maker<'_>) -> Made,
}

/// All checks, in the order of the report.
pub(super) fn all() -> impl Iterator<Item = &'static ServerCheck> {
    [integrity::CHECKS, framing::CHECKS, one_response::CHECKS, conformance::CHECKS, lifecycle::CHECKS]
        .into_iter()
        .flatten()
}

/// The descriptions of all checks.
pub(super) fn descriptions() -> impl Iterator<Item = &'static Check> {
    all().map(|check| &check.check)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_can_be_typed() {
        let mut names = HashSet::new();
        for check in descriptions() {
            assert!(names.insert(check.name), "{}", check.name);
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            assert!(check.name.bytes().all(is_plain), "{}", check.name);
            let texts = [check.sends, check.accepts, check.asks, check.effect];
            assert!(texts.iter().all(|text| !text.is_empty() && !text.ends_with('.')), "{}", check.name);
        }
    }
}
