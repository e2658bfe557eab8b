//! Connections over `std::io`, driven by threads.
//!
//! | task | use |
//! |---|---|
//! | a server that handles one request after the other | [`serve()`] |
//! | a client, or a server with several threads | [`Connection`] |
//! | one HTTP body or WebSocket message | [`answer`] |

mod connection;
mod serve;
mod socket;

pub use connection::Connection;
pub use serve::{answer, answer_with, serve, serve_with};
pub use socket::Socket;
