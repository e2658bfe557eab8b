//! Tracks requests that still need an answer, in both directions: plain bookkeeping, without locks or I/O. A
//! [connection](crate::connection) adds the locks.
//!
//! | file | job |
//! |---|---|
//! | `in_flight` | the peer's requests, each of which gets one answer |
//! | `outbound` | requests to the peer, each with a value that is returned once |
//! | `slab`, `hash` | find a request by number or by id |
//! | `refusal` | why a request isn't admitted |

mod hash;
mod in_flight;
mod outbound;
mod refusal;
mod slab;

pub(crate) use in_flight::{InFlight, Number, Settled};
pub(crate) use outbound::Outbound;
pub use outbound::Stray;
pub use refusal::Refusal;
