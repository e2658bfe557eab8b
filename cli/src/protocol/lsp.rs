//! The Language Server Protocol, some of whose conventions others use as well.

use super::Protocol;

pub(super) const LSP: Protocol = Protocol {
    name: "LSP",
    subjects: &[],
    failure: None,
    cancellations: &[("$/cancelRequest", "/id")],
    progress: None,
    handshake: None,
    introduction: None,
};
