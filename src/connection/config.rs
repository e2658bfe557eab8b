//! The dialect and the limits of a connection.

use crate::decode::Framing;
use crate::message::Rules;

/// The dialect and the limits of a connection.
///
/// Wherever a `Config` is expected, you can pass [`Rules`] alone to use the default limits.
///
/// ```
/// use wireline::Rules;
/// use wireline::connection::{Config, Connection};
///
/// let connection: Connection<()> = Connection::new(Config::new(Rules::mcp()).in_flight(64).backlog(64 << 10));
/// # let _ = connection;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub(super) rules: Rules,
    pub(super) framing: Framing,
    pub(super) in_flight: usize,
    pub(super) calls: usize,
    pub(super) backlog: usize,
}

impl Config {
    /// The defaults: 1024 requests in flight each way, and a backlog of 1 MiB.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self { rules, framing: Framing::Lines, in_flight: 1024, calls: 1024, backlog: 1 << 20 }
    }

    /// How messages are delimited, in both directions. The default is [`Framing::Lines`].
    ///
    /// ```
    /// use wireline::connection::{Config, Connection, Event};
    /// use wireline::{Framing, Rules};
    ///
    /// // As in the Language Server Protocol.
    /// let config = Config::new(Rules::json_rpc()).framing(Framing::ContentLength);
    /// let mut connection: Connection<()> = Connection::new(config);
    /// connection.feed(b"Content-Length: 44\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shutdown\"}");
    /// let Some(Event::Request(_, ticket)) = connection.next_event() else { panic!() };
    /// ticket.respond(&());
    /// assert_eq!(connection.pending(), b"Content-Length: 38\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}");
    /// ```
    #[must_use]
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// The most requests of the peer that may be in flight. Further ones are refused with error -32000, "too many
    /// requests in flight".
    ///
    /// This includes requests that wait for a handler because [`serve`](crate::aio::Connection::serve) runs
    /// [fewer at a time](crate::aio::Connection::concurrency) or all threads are busy.
    ///
    /// Each request in a batch counts, so if a batch has more requests than this, the last ones are refused.
    ///
    /// Ids are hashed with a random key, so that a peer can't choose ids that collide. On wasm32-unknown-unknown, which
    /// has no random numbers, the standard library makes the key from addresses, which a peer that knows the program can
    /// predict. If all ids collide, each request is compared with all that are in flight. The default limit keeps that
    /// cheap.
    #[must_use]
    pub fn in_flight(mut self, requests: usize) -> Self {
        self.in_flight = requests;
        self
    }

    /// The most requests to the peer that may be in flight. Further ones fail.
    #[must_use]
    pub fn calls(mut self, requests: usize) -> Self {
        self.calls = requests;
        self
    }

    /// How many bytes may wait to be written.
    ///
    /// Above this, new requests and notifications wait. Answers are always queued, but if answers alone exceed the
    /// backlog, nothing more is read from the peer. So memory is bounded by twice the backlog, one message of each
    /// sender, and one answer for each request in flight.
    ///
    /// Senders that wait are served in rounds. While more than 64 KiB is queued, a message may therefore wait below the
    /// backlog, until those that were queued in the last round have been noticed by their senders.
    ///
    /// While a request to the peer is in flight, reading continues until 64 times the backlog (and at least 1 MiB) is
    /// buffered. Otherwise two peers, each waiting for the other to read, would wait forever.
    #[must_use]
    pub fn backlog(mut self, bytes: usize) -> Self {
        self.backlog = bytes;
        self
    }
}

impl From<Rules> for Config {
    fn from(rules: Rules) -> Self {
        Self::new(rules)
    }
}
