//! The Language Server Protocol, some of whose conventions others use as well.

use super::Protocol;

pub(super) const LSP: Protocol = Protocol {
    name: "LSP",
    subjects: &[],
    failure: None,
    arguments: &[],
    errors: &[(-32800, "request cancelled"), (-32801, "content modified")],
    cancellations: &[("$/cancelRequest", "/id")],
    answers_cancelled: true,
    progress: None,
    handshake: None,
    introduction: None,
};
