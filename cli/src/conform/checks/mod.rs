//! The table of checks, a file for each property. A new check is one more entry.

mod conformance;
mod framing;
mod integrity;
mod lifecycle;
mod one_response;

use super::check::Check;

/// All checks, in the order of the report.
pub(super) fn all() -> impl Iterator<Item = &'static Check> {
    [integrity::CHECKS, framing::CHECKS, one_response::CHECKS, conformance::CHECKS, lifecycle::CHECKS]
        .into_iter()
        .flatten()
}
