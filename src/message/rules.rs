//! A dialect and its limits, each adjustable.

use std::fmt;

use wireline_json::DEEPEST;

use super::dialect::{self, AnswerWithoutId, Dialect, IdTypes, Permits, Side};

/// The longest line that the scanner's 32-bit positions can address.
const LONGEST: usize = u32::MAX as usize - 1;

/// The length of an error response without its id, as the only entry of a batch. This is the longest of the errors that
/// the crate falls back to when nothing else fits.
const AROUND_ID: usize = r#"[{"jsonrpc":"2.0","id":,"error":{"code":-32800,"message":"Request cancelled"}}]"#.len();

/// An answer may be this long and this deep regardless of the limits, so that an error response to any accepted id
/// fits.
const ANSWER_LEN: usize = 128;
const ANSWER_DEPTH: usize = 3;

/// The rules for messages: a dialect of JSON-RPC 2.0 and its limits, each adjustable.
///
/// ```
/// use wireline::{FaultKind, Frame, Rules};
///
/// // MCP as of 2025-03-26, which had batches, on a link where no line is longer than a megabyte.
/// let rules = Rules::mcp().batches(true).max_batch_len(50).max_line_len(1 << 20);
/// let line = br#"[{"jsonrpc":"2.0","method":"note"}]"#;
/// assert!(Frame::parse(line, &rules).is_ok());
/// assert_eq!(Frame::parse(line, &Rules::mcp()).unwrap_err().kind(), FaultKind::BatchNotAllowed);
/// ```
///
/// | | [`json_rpc`](Self::json_rpc) | [`mcp`](Self::mcp) | [`acp`](Self::acp) |
/// |---|---|---|---|
/// | `id` of a request | string, number, null | string, integer | string, integer, null (not in [v2](Self::acp_v2)) |
/// | `id` of a response | string, number, null | string, integer; may be absent in an error | string, integer, null |
/// | `params` | object or array | object | object or array |
/// | `result` | anything | object | anything |
/// | batches | yes | no | no |
/// | answer to a bad line without an id | with `id: null` | none | with `id: null` |
/// | cancellation | `$/cancelRequest`, `id` | `notifications/cancelled`, `requestId` | `$/cancel_request`, `requestId` |
/// | answer to a cancelled request | result, or error -32800 | none | result, or error -32800 |
///
/// These dialects deviate from JSON-RPC 2.0. None of them has a cancellation, and `result` may be anything:
///
/// | | [`codex`](Self::codex) | [`electrum`](Self::electrum) | [`stratum`](Self::stratum) |
/// |---|---|---|---|
/// | `jsonrpc` | absent or `"2.0"` | absent, `"1.0"` or `"2.0"` | absent or `"2.0"` |
/// | `id` of a request | string, integer | string, number | string, number |
/// | `id` of a notification | absent | absent or null | absent or null |
/// | `id` of a response | string, integer | string, number; null in an error | string, number; null in an error |
/// | `params` | anything | object or array | object or array |
/// | `error` | object | object or string | array, object or string |
/// | beside a `result` | | `error: null` | `error: null` |
/// | beside an `error` | | `result: null` | `result: null` or `false` |
/// | batches | no | yes | no |
/// | answer to a bad line without an id | none | with `id: null` | with `id: null` |
/// | written as | JSON-RPC 2.0 without `jsonrpc` | JSON-RPC 2.0 | its own form |
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    pub(crate) dialect: &'static Dialect,
    /// What messages from the peer may look like.
    pub(crate) permits: Permits,
    /// The limits as they were set. The limit on ids in force is [`longest_id`](Self::longest_id).
    pub(crate) limits: Limits,
    pub(crate) batches: bool,
    pub(crate) skip_blank_lines: bool,
    pub(crate) escape_line_separators: bool,
    pub(crate) answer_without_id: AnswerWithoutId,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) max_line_len: usize,
    pub(crate) max_id_len: usize,
    pub(crate) max_depth: usize,
    pub(crate) max_batch_len: usize,
}

/// The settings of [`Rules`], read-only: each is set by the method of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The longest line, in bytes, not counting its line ending; see [`Rules::max_line_len`].
    pub max_line_len: usize,
    /// The longest id, in bytes of JSON text; see [`Rules::max_id_len`].
    pub max_id_len: usize,
    /// The deepest nesting; see [`Rules::max_depth`].
    pub max_depth: usize,
    /// Whether a line may be an array of messages; see [`Rules::batches`].
    pub batches: bool,
    /// The most entries that a batch may have; see [`Rules::max_batch_len`].
    pub max_batch_len: usize,
    /// Whether blank lines are skipped; see [`Rules::skip_blank_lines`].
    pub skip_blank_lines: bool,
    /// Whether a message behind noise on the same line is decoded; see [`Rules::salvage`].
    pub salvage: bool,
    /// Whether `"params": null` counts as no params; see [`Rules::null_params`].
    pub null_params: bool,
    /// How a faulty line is answered if its id can't be read; see [`Rules::answer_without_id`].
    pub answer_without_id: AnswerWithoutId,
    /// Which side this is; see [`Rules::client`] and [`Rules::server`].
    pub side: Option<Side>,
    /// Whether a response may have its id in the other type; see [`Rules::loose_ids`].
    pub loose_ids: bool,
    /// Whether U+2028 and U+2029 are escaped; see [`Rules::escape_line_separators`].
    pub escape_line_separators: bool,
}

impl Rules {
    /// JSON-RPC 2.0 as it is specified.
    #[must_use]
    pub fn json_rpc() -> Self {
        Self::of(&dialect::JSON_RPC)
    }

    /// The Model Context Protocol, from revision 2025-06-18 on.
    ///
    /// Revision 2025-03-26 also has batches: [`batches(true)`](Self::batches).
    #[must_use]
    pub fn mcp() -> Self {
        Self::of(&dialect::MCP)
    }

    /// The Model Context Protocol, revision 2026-07-28: like [`mcp`](Self::mcp), with rules that an encoder enforces for
    /// what is sent.
    ///
    /// - Only [clients](Self::client) send requests, and only [servers](Self::server) responses, if you say which side
    ///   this is.
    /// - A result must have a string `resultType`. Older servers send none, so it may be missing in what is received or
    ///   [forwarded](crate::Encoder::forward).
    /// - An error must not have a code that the protocol reserves: -32099 to -32023, and -32002. One that is received or
    ///   forwarded may, because earlier revisions used two of them.
    ///
    /// ```
    /// use serde_json::json;
    /// use wireline::{EncodeErrorKind, Encoder, FaultKind, Id, Rules};
    ///
    /// let mut encoder = Encoder::new(Rules::mcp_2026_07_28().server());
    /// encoder.response(&Id::from(1), &json!({"resultType": "complete", "content": []}))?;
    /// let refused = encoder.response(&Id::from(2), &json!({"content": []})).unwrap_err();
    /// assert_eq!(refused.kind(), EncodeErrorKind::Rule(FaultKind::MissingResultType));
    /// let refused = encoder.request(&Id::from(3), "sampling/createMessage", &json!({})).unwrap_err();
    /// assert_eq!(refused.kind(), EncodeErrorKind::Rule(FaultKind::WrongSide));
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    #[must_use]
    pub fn mcp_2026_07_28() -> Self {
        Self::of(&dialect::MCP_2026_07_28)
    }

    /// The Agent Client Protocol, version 1. Messages of version 2 pass too, so these rules fit peers that negotiate the
    /// version.
    #[must_use]
    pub fn acp() -> Self {
        Self::of(&dialect::ACP)
    }

    /// The Agent Client Protocol, version 2, where the `id` of a request can't be null.
    ///
    /// Drafts of it had batches: [`batches(true)`](Self::batches).
    #[must_use]
    pub fn acp_v2() -> Self {
        Self::of(&dialect::ACP_V2)
    }

    /// The app-server protocol of OpenAI Codex. Its messages have no `jsonrpc`; one that says `"2.0"` is accepted.
    ///
    /// ```
    /// use wireline::{Encoder, Id, Rules};
    ///
    /// let mut encoder = Encoder::new(Rules::codex());
    /// encoder.request(&Id::from(0), "initialize", &serde_json::json!({"clientInfo": {"name": "mine"}}))?;
    /// assert_eq!(encoder.take(), "{\"id\":0,\"method\":\"initialize\",\"params\":{\"clientInfo\":{\"name\":\"mine\"}}}\n");
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    #[must_use]
    pub fn codex() -> Self {
        Self::of(&dialect::CODEX)
    }

    /// The Electrum protocol of Bitcoin wallets and their servers, which mixes JSON-RPC 1.0 and 2.0.
    ///
    /// `jsonrpc` may be `"2.0"`, `"1.0"` or absent; a call with the id null is a notification; a response may have both a
    /// result and an error if one of them is null; and an error may be a string. What is sent is JSON-RPC 2.0.
    #[must_use]
    pub fn electrum() -> Self {
        Self::of(&dialect::ELECTRUM)
    }

    /// Stratum, version 1, which miners and mining pools speak. It descends from JSON-RPC 1.0.
    ///
    /// There is no `jsonrpc` (one that says `"2.0"` is accepted); a call with the id null is a notification; a response
    /// has both a result and an error, one of them null; and an error is an array. An error as an object or a string is
    /// accepted, as is the result `false` beside an error. What is sent always has `params`, if only an empty array.
    ///
    /// ```
    /// use wireline::{Encoder, Frame, Id, Message, RpcError, Rules};
    ///
    /// let line = br#"{"id":4,"result":null,"error":[21,"Job not found",null]}"#;
    /// let Frame::Message(Message::Response(response)) = Frame::parse(line, &Rules::stratum())? else { panic!() };
    /// let error = response.error().unwrap();
    /// assert_eq!((error.code(), &*error.message()), (21, "Job not found"));
    ///
    /// let mut encoder = Encoder::new(Rules::stratum());
    /// encoder.notification("mining.set_difficulty", &[512])?;
    /// encoder.response(&Id::from(1), &true)?;
    /// encoder.error(&Id::from(2), &RpcError::new(23, "Low difficulty share"))?;
    /// assert_eq!(
    ///     encoder.take(),
    ///     concat!(
    ///         r#"{"id":null,"method":"mining.set_difficulty","params":[512]}"#, "\n",
    ///         r#"{"id":1,"result":true,"error":null}"#, "\n",
    ///         r#"{"id":2,"result":null,"error":[23,"Low difficulty share",null]}"#, "\n",
    ///     ),
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stratum() -> Self {
        Self::of(&dialect::STRATUM)
    }

    fn of(dialect: &'static Dialect) -> Self {
        Self {
            dialect,
            permits: Permits::of(dialect),
            limits: Limits { max_line_len: 16 << 20, max_id_len: 1024, max_depth: 128, max_batch_len: 1024 },
            batches: dialect.batches,
            skip_blank_lines: true,
            escape_line_separators: false,
            answer_without_id: dialect.answer_without_id,
        }
    }

    /// Says that this side is the client, which sends requests and no responses.
    ///
    /// This matters under [MCP 2026-07-28](Self::mcp_2026_07_28) only. In other dialects, both sides may send requests.
    ///
    /// A request from the server is then a [`WrongSide`](crate::FaultKind::WrongSide) fault. It isn't answered, and
    /// neither is any other fault: an error is a response, too. An encoder refuses to send a response.
    ///
    /// ```
    /// use wireline::{FaultKind, Frame, Rules};
    ///
    /// let line = br#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    /// let fault = Frame::parse(line, &Rules::mcp_2026_07_28().client()).unwrap_err();
    /// assert_eq!(fault.kind(), FaultKind::WrongSide);
    /// assert!(fault.reply().is_none());
    /// assert!(Frame::parse(line, &Rules::mcp_2026_07_28()).is_ok()); // between two unknown sides
    /// ```
    #[must_use]
    pub fn client(self) -> Self {
        self.on(Side::Client)
    }

    /// Says that this side is the server, which sends responses and no requests.
    ///
    /// This matters under [MCP 2026-07-28](Self::mcp_2026_07_28) only. A response from the client is then a
    /// [`WrongSide`](crate::FaultKind::WrongSide) fault, which isn't answered, as no response is. An encoder refuses to
    /// send a request.
    #[must_use]
    pub fn server(self) -> Self {
        self.on(Side::Server)
    }

    fn on(mut self, side: Side) -> Self {
        if self.dialect.one_way {
            self.permits = self.permits.with_sides(side == Side::Server, side == Side::Client);
        }
        self
    }

    /// The rules for what this side sends.
    #[inline]
    pub(crate) fn outgoing(mut self) -> Self {
        let [requests, responses] = [Permits::REQUESTS, Permits::RESPONSES].map(|kind| self.permits.contains(kind));
        self.permits = self.permits.with_sides(responses, requests);
        if self.dialect.result_type {
            self.permits = self.permits.with(Permits::UNTYPED_RESULTS, false);
        }
        self
    }

    /// The rules for what this side passes on, given those for what it sends.
    #[inline]
    pub(crate) fn forwarding(mut self) -> Self {
        self.permits = self.permits.with(Permits::UNTYPED_RESULTS, true);
        self
    }

    /// Which side this is, if the dialect makes a difference and it is known.
    fn side(&self) -> Option<Side> {
        match [Permits::REQUESTS, Permits::RESPONSES].map(|kind| self.permits.contains(kind)) {
            [false, _] => Some(Side::Client),
            [true, false] => Some(Side::Server),
            [true, true] => None,
        }
    }

    /// Whether this side may send responses.
    pub(crate) fn may_respond(&self) -> bool {
        self.side() != Some(Side::Client)
    }

    /// Sets the longest line accepted, in bytes, not counting its line ending. The default is 16 MiB, the maximum 4
    /// GiB.
    ///
    /// A longer line is discarded as it arrives and becomes one [`LineTooLong`](crate::FaultKind::LineTooLong) fault.
    /// An encoder refuses to produce a longer line.
    ///
    /// A limit below 128 bytes may leave no room for an error response. A [connection](crate::connection) then sends
    /// answers of up to 128 bytes regardless, rather than none.
    ///
    /// ```
    /// use wireline::{Decoder, FaultKind, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::mcp().max_line_len(40));
    /// decoder.feed(b"{\"jsonrpc\":\"2.0\",\"method\":\"much too long a name\",\"id\":1}\n");
    /// let fault = decoder.next_frame().unwrap().unwrap_err();
    /// assert_eq!(fault.kind(), FaultKind::LineTooLong);
    /// assert_eq!(fault.id().unwrap().as_i64(), Some(1)); // found while the line was being discarded
    /// ```
    #[must_use]
    pub fn max_line_len(mut self, bytes: usize) -> Self {
        self.limits.max_line_len = bytes.min(LONGEST);
        self
    }

    /// Sets the longest id accepted, in bytes of JSON text, quotes included. The default is 1024.
    ///
    /// A message with a longer id is an [`IdTooLong`](crate::FaultKind::IdTooLong) fault, and an encoder refuses to
    /// produce it. An answer repeats the id of its request, so with a very long id it would exceed the line limit. For
    /// the same reason, the limit in force (see [`settings`](Self::settings)) always leaves room for an error response
    /// within [`max_line_len`](Self::max_line_len).
    ///
    /// ```
    /// use wireline::{FaultKind, Frame, Rules};
    ///
    /// let rules = Rules::mcp().max_id_len(10);
    /// let line = br#"{"jsonrpc":"2.0","id":"01234567","method":"ping"}"#; // ten bytes with its quotes
    /// assert!(Frame::parse(line, &rules).is_ok());
    /// let line = br#"{"jsonrpc":"2.0","id":"012345678","method":"ping"}"#;
    /// assert_eq!(Frame::parse(line, &rules).unwrap_err().kind(), FaultKind::IdTooLong);
    ///
    /// assert!(rules.max_id_len(5000).max_line_len(4000).settings().max_id_len < 4000);
    /// ```
    #[must_use]
    pub fn max_id_len(mut self, bytes: usize) -> Self {
        self.limits.max_id_len = bytes;
        self
    }

    /// Sets how deeply brackets may be nested. The default is 128, the maximum 1024.
    ///
    /// The outermost object counts as one, and so does the array around a batch.
    ///
    /// ```
    /// use wireline::{FaultKind, Frame, Rules};
    ///
    /// let line = br#"{"jsonrpc":"2.0","method":"note","params":{"a":[]}}"#; // three deep
    /// assert!(Frame::parse(line, &Rules::mcp().max_depth(3)).is_ok());
    /// assert_eq!(Frame::parse(line, &Rules::mcp().max_depth(2)).unwrap_err().kind(), FaultKind::TooDeep);
    /// ```
    #[must_use]
    pub fn max_depth(mut self, depth: usize) -> Self {
        self.limits.max_depth = depth.min(DEEPEST as usize);
        self
    }

    /// Sets whether a line may be an array of messages. The default depends on the dialect.
    #[must_use]
    pub fn batches(mut self, allowed: bool) -> Self {
        self.batches = allowed;
        self
    }

    /// Sets how many entries a batch may have. The default is 1024. A longer batch becomes a single fault.
    #[must_use]
    pub fn max_batch_len(mut self, entries: usize) -> Self {
        self.limits.max_batch_len = entries;
        self
    }

    /// Sets whether to skip lines of only spaces, tabs and carriage returns, which is the default.
    ///
    /// Otherwise, each is a [`BlankLine`](crate::FaultKind::BlankLine) fault.
    ///
    /// ```
    /// use wireline::{Decoder, FaultKind, Rules};
    ///
    /// let first_fault = |rules| {
    ///     let mut decoder = Decoder::new(rules);
    ///     decoder.feed(b"\r\n \t\n");
    ///     decoder.next_frame().map(|frame| frame.unwrap_err().kind())
    /// };
    /// assert_eq!(first_fault(Rules::mcp()), None);
    /// assert_eq!(first_fault(Rules::mcp().skip_blank_lines(false)), Some(FaultKind::BlankLine));
    /// ```
    #[must_use]
    pub fn skip_blank_lines(mut self, skip: bool) -> Self {
        self.skip_blank_lines = skip;
        self
    }

    /// Sets whether a [`Decoder`](crate::Decoder) or a [connection](crate::connection) decodes a message behind noise on
    /// the same line, such as terminal escapes or a print without a line feed. The default is false: the line is a fault.
    ///
    /// This concerns single messages that start at the first `{` of the line and end with it, in
    /// [`Framing::Lines`](crate::Framing::Lines) only. A message is not decoded if the noise contains a quotation mark, or
    /// if the last character before the message, apart from terminal escapes, is anything but a letter, a digit, one of
    /// `.!?%`, a control character or a character outside ASCII. So the message in `DEBUG sending: {...}`, which is
    /// probably a copy, is not delivered, and neither is an entry of an incomplete batch. Even so, a copy that directly
    /// follows a word is delivered, so turn this on only for peers that need it.
    ///
    /// [`ranges`](crate::Message::ranges) tells where the message starts in its line, and with the feature `tracing`,
    /// there is an event. The message itself, when forwarded, doesn't include the noise.
    ///
    /// ```
    /// use wireline::{Decoder, Frame, Rules};
    ///
    /// let mut decoder = Decoder::new(Rules::mcp().salvage(true));
    /// decoder.feed(b"\x1b[2K\r{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    /// let Some(Ok(Frame::Message(ping))) = decoder.next_frame() else { panic!() };
    /// assert_eq!(ping.as_bytes(), br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    /// assert_eq!(ping.ranges().message.start, 5); // how many bytes were skipped
    /// assert!(decoder.last_line().starts_with(b"\x1b[2K\r{"));
    /// ```
    #[must_use]
    pub fn salvage(mut self, salvage: bool) -> Self {
        self.permits = self.permits.with(Permits::SALVAGE, salvage);
        self
    }

    /// Sets whether `"params": null` counts as no params. JSON-RPC 2.0 doesn't permit it, but some peers send it.
    ///
    /// ```
    /// use wireline::{Frame, Message, Rules};
    ///
    /// let line = br#"{"jsonrpc":"2.0","method":"note","params":null}"#;
    /// assert!(Frame::parse(line, &Rules::mcp()).is_err());
    /// let Ok(Frame::Message(Message::Notification(note))) = Frame::parse(line, &Rules::mcp().null_params(true)) else {
    ///     panic!()
    /// };
    /// assert!(note.params().is_none());
    /// ```
    #[must_use]
    pub fn null_params(mut self, allowed: bool) -> Self {
        self.permits = self.permits.with(Permits::NULL_PARAMS, allowed);
        self
    }

    /// Sets whether, in a [connection](crate::connection), the response to request `7` may have the id `"7"`, and the
    /// reverse. The default is false, but some peers keep ids in strings, or parse them as numbers.
    ///
    /// A response with the exact id always comes first. If this side has sent ids of both types, a response with another
    /// type may be a second answer to another request, so it is [stray](crate::connection::Event::Stray) regardless.
    /// [`Response::has_loose_id`](crate::Response::has_loose_id) tells which responses were matched loosely.
    ///
    /// ```
    /// use wireline::Rules;
    /// use wireline::connection::{Connection, Event};
    ///
    /// let mut connection = Connection::new(Rules::json_rpc().loose_ids(true));
    /// connection.peer().request("sum", &[1, 2], "first").unwrap(); // its id is 1
    /// connection.feed(b"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":3}\n");
    /// let Some(Event::Response(response, "first")) = connection.next_event() else { panic!() };
    /// assert!(response.has_loose_id());
    /// ```
    #[must_use]
    pub fn loose_ids(mut self, allowed: bool) -> Self {
        self.permits = self.permits.with(Permits::LOOSE_IDS, allowed);
        self
    }

    /// Sets whether an encoder escapes the characters U+2028 and U+2029 in all that it emits, also in what it forwards.
    /// The default is false.
    ///
    /// They are valid in JSON, but some readers take them for line ends, such as Node's `readline`, and would split the
    /// message. The escapes have the same value. Each makes the message three bytes longer, which counts towards the line
    /// limit, and longer ids leave less room for answers, so the [limit on ids](Self::max_id_len) may be lower.
    ///
    /// ```
    /// use wireline::{Encoder, Rules};
    ///
    /// let mut encoder = Encoder::new(Rules::mcp().escape_line_separators(true));
    /// encoder.raw("{\"jsonrpc\":\"2.0\",\"method\":\"a\u{2028}b\"}".as_bytes())?;
    /// assert_eq!(encoder.take(), "{\"jsonrpc\":\"2.0\",\"method\":\"a\\u2028b\"}\n");
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    #[must_use]
    pub fn escape_line_separators(mut self, escape: bool) -> Self {
        self.escape_line_separators = escape;
        self
    }

    /// Sets whether, and how, a faulty line is answered if its id can't be read.
    ///
    /// Errors in this form are then also accepted, even if the dialect itself doesn't permit them.
    ///
    /// ```
    /// use wireline::{AnswerWithoutId, Frame, Rules};
    ///
    /// // A pipe that people print to.
    /// let rules = Rules::json_rpc().answer_without_id(AnswerWithoutId::Never);
    /// assert!(Frame::parse(b"loading", &rules).unwrap_err().reply().is_none());
    /// ```
    #[must_use]
    pub fn answer_without_id(mut self, answer: AnswerWithoutId) -> Self {
        self.answer_without_id = answer;
        let is_null = self.dialect.error_id.contains(IdTypes::NULL) || answer == AnswerWithoutId::NullId;
        let is_absent = matches!(answer, AnswerWithoutId::OmitId | AnswerWithoutId::OmitIdUnlessNoise);
        self.permits = self.permits.with_errors_without_id(is_null, self.dialect.error_without_id || is_absent);
        self
    }

    /// The settings in force.
    ///
    /// ```
    /// use wireline::Rules;
    ///
    /// assert_eq!(Rules::mcp().max_depth(5000).settings().max_depth, 1024);
    /// ```
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            max_line_len: self.limits.max_line_len,
            max_id_len: self.longest_id(),
            max_depth: self.limits.max_depth,
            batches: self.batches,
            max_batch_len: self.limits.max_batch_len,
            skip_blank_lines: self.skip_blank_lines,
            salvage: self.allows_salvage(),
            null_params: self.allows_null_params(),
            answer_without_id: self.answer_without_id,
            side: self.side(),
            loose_ids: self.allows_loose_ids(),
            escape_line_separators: self.escape_line_separators,
        }
    }

    pub(crate) fn allows_loose_ids(&self) -> bool {
        self.permits.contains(Permits::LOOSE_IDS)
    }

    pub(crate) fn allows_salvage(&self) -> bool {
        self.permits.contains(Permits::SALVAGE)
    }

    fn allows_null_params(&self) -> bool {
        self.permits.contains(Permits::NULL_PARAMS)
    }

    /// The nesting limit in the scanner's type.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "at most `DEEPEST`")]
    pub(crate) fn max_depth_u32(&self) -> u32 {
        self.limits.max_depth as u32
    }

    /// The limit on ids in force: as it was set, or lower, so that an error response to the longest id fits the line
    /// limit.
    #[inline]
    pub(crate) fn longest_id(&self) -> usize {
        let room = self.limits.max_line_len.max(ANSWER_LEN) - AROUND_ID;
        // An escape is twice as long as the character.
        let room = if self.escape_line_separators { room / 2 } else { room };
        self.limits.max_id_len.min(room)
    }

    /// Whether an id of this length exceeds [`longest_id`](Self::longest_id). The first comparison is enough for short
    /// ids, which always fit the line limit.
    #[inline(always)]
    pub(crate) fn is_id_too_long(&self, len: usize) -> bool {
        len > self.limits.max_id_len || (len > (ANSWER_LEN - AROUND_ID) / 2 && len > self.longest_id())
    }

    /// The same rules, with limits that leave room for an error response to any accepted id.
    pub(crate) fn for_answers(mut self) -> Self {
        self.limits.max_line_len = self.limits.max_line_len.max(ANSWER_LEN);
        self.limits.max_depth = self.limits.max_depth.max(ANSWER_DEPTH);
        self
    }

    /// The rules for a single message, except the limits on its length and that of its id.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "at most `DEEPEST`")]
    pub(crate) fn message_rules(&self) -> MessageRules {
        MessageRules { permits: self.permits.halves(), max_depth: self.limits.max_depth as u16 }
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("dialect", &self.dialect).field("settings", &self.settings()).finish()
    }
}

/// The rules for a single message; see [`Rules::message_rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageRules {
    /// In halves, so that these rules take six bytes of an envelope, not eight.
    permits: [u16; 2],
    max_depth: u16,
}

impl MessageRules {
    /// Whether these are [marked](Permits::LOOSE_ID) as those of a response with a loose id.
    pub(crate) fn has_loose_id(self) -> bool {
        Permits::of_halves(self.permits).contains(Permits::LOOSE_ID)
    }

    /// Marks these. No rules cover them then, so the message is checked again if it is forwarded.
    pub(crate) fn with_loose_id(self) -> Self {
        Self { permits: Permits::of_halves(self.permits).with(Permits::LOOSE_ID, true).halves(), ..self }
    }

    /// Whether every message that passes `other` is sure to pass this too.
    pub(crate) fn covers(self, other: Self) -> bool {
        let [permits, others] = [self.permits, other.permits].map(Permits::of_halves);
        permits.with(Permits::SALVAGE, true).contains(others) && self.max_depth >= other.max_depth
    }
}

#[cfg(test)]
mod tests {
    use super::AnswerWithoutId::{Never, NullId, OmitId, OmitIdUnlessNoise};
    use super::*;

    fn all() -> [Rules; 10] {
        let revision = Rules::mcp_2026_07_28();
        let roles = [revision, revision.client(), revision.server()];
        let newer = [&roles[..], &[Rules::acp_v2(), Rules::codex(), Rules::electrum(), Rules::stratum()]].concat();
        [&[Rules::json_rpc(), Rules::mcp(), Rules::acp()][..], &newer].concat().try_into().unwrap()
    }

    #[test]
    fn no_limit_exceeds_what_the_scanner_can_address() {
        let limits = Rules::json_rpc().max_line_len(usize::MAX).max_depth(usize::MAX).settings();
        assert_eq!((limits.max_line_len, limits.max_depth), (u32::MAX as usize - 1, 1024));
    }

    #[test]
    fn getters_give_what_setters_set() {
        let rules = Rules::mcp().max_line_len(1000).max_id_len(80).max_depth(7).max_batch_len(3);
        let settings = rules.settings();
        assert_eq!((settings.max_line_len, settings.max_id_len), (1000, 80));
        assert_eq!((settings.max_depth, settings.max_batch_len), (7, 3));
        for set in [true, false] {
            assert_eq!(rules.batches(set).settings().batches, set);
            assert_eq!(rules.null_params(set).settings().null_params, set);
            assert_eq!(rules.skip_blank_lines(set).settings().skip_blank_lines, set);
            assert_eq!(rules.salvage(set).settings().salvage, set);
            assert_eq!(rules.loose_ids(set).settings().loose_ids, set);
            assert_eq!(rules.escape_line_separators(set).settings().escape_line_separators, set);
        }
        for answer in [Never, NullId, OmitId, OmitIdUnlessNoise] {
            assert_eq!(rules.answer_without_id(answer).settings().answer_without_id, answer);
        }
    }

    #[test]
    fn an_id_leaves_room_for_an_answer() {
        let limit = |rules: Rules| rules.settings().max_id_len;
        let rules = Rules::json_rpc();
        assert_eq!(limit(rules), 1024);
        assert_eq!(limit(rules.max_id_len(usize::MAX)), (16 << 20) - AROUND_ID);
        assert_eq!(limit(rules.max_line_len(1000)), 1000 - AROUND_ID);
        assert_eq!(limit(rules.max_line_len(0)), ANSWER_LEN - AROUND_ID);
        // The order of the calls doesn't matter, and the line limit can be raised again.
        assert_eq!(rules.max_line_len(1000).max_id_len(5000), rules.max_id_len(5000).max_line_len(1000));
        assert_eq!(limit(rules.max_line_len(1000).max_line_len(2000)), 1024);
        assert_eq!(limit(rules.max_line_len(1000).escape_line_separators(true)), (1000 - AROUND_ID) / 2);
        for len in [0, 50, 127, 128, 129, 1000] {
            let answers = rules.max_line_len(len).max_depth(0).for_answers();
            assert!(limit(answers) + AROUND_ID <= answers.limits.max_line_len);
            assert_eq!(answers.limits.max_depth, ANSWER_DEPTH);
        }
    }

    /// In other dialects, a program has to turn them on.
    #[test]
    fn only_json_rpc_and_electrum_have_batches_by_default() {
        for rules in all() {
            let expected = [Rules::json_rpc(), Rules::electrum()].contains(&rules);
            assert_eq!(rules.settings().batches, expected, "{rules:?}");
            assert!(rules.batches(true).settings().batches);
        }
    }

    /// Rules are equal again after a setting was changed and restored.
    #[test]
    fn equal_rules_compare_equal() {
        for rules in all() {
            for answer in [Never, NullId, OmitId, OmitIdUnlessNoise] {
                let allowed = rules.settings().null_params;
                let changed = rules.null_params(!allowed).answer_without_id(answer).null_params(allowed);
                assert_eq!(changed.answer_without_id(rules.answer_without_id), rules);
            }
        }
        assert_ne!(Rules::mcp(), Rules::acp());
    }

    /// What one side sends, the other accepts, and a relay between the two needn't check it again.
    #[test]
    fn sides_fit_together() {
        let revision = Rules::mcp_2026_07_28();
        for (sender, receiver) in [(revision.client(), revision.server()), (revision.server(), revision.client())] {
            let sent = sender.outgoing().forwarding().message_rules();
            assert!(receiver.message_rules().covers(sent) && sent.covers(receiver.message_rules()));
            assert!(!receiver.outgoing().forwarding().message_rules().covers(receiver.message_rules()));
            assert!(revision.message_rules().covers(sent) && !sent.covers(revision.message_rules()));
        }
        assert_eq!(revision.client().settings().side, Some(Side::Client));
        assert_eq!(revision.client().server(), revision.server());
        // Where both sides send requests, sides make no difference.
        assert_eq!(Rules::mcp().client(), Rules::mcp());
        assert_eq!(Rules::stratum().server(), Rules::stratum());
    }

    /// A message that passed other rules is checked again unless it is sure to pass, and only then.
    #[test]
    fn rules_cover_those_that_are_at_least_as_strict() {
        let (json_rpc, mcp, acp) = (Rules::json_rpc(), Rules::mcp(), Rules::acp());
        let (codex, electrum, stratum) = (Rules::codex(), Rules::electrum(), Rules::stratum());
        let silent = AnswerWithoutId::Never;
        for (rules, before, expected) in [
            (json_rpc, json_rpc, true),
            (mcp, mcp, true),
            (acp, acp, true),
            (json_rpc, acp, true),
            (acp, Rules::acp_v2(), true),
            (Rules::acp_v2(), acp, false),
            (codex, Rules::acp_v2().answer_without_id(silent), false),
            (codex, codex, true),
            (electrum, stratum, false),
            (stratum, electrum, false),
            (stratum, Rules::acp_v2(), true),
            (json_rpc, stratum, false),
            (stratum, json_rpc, false),
            (electrum, json_rpc, false),
            (acp, json_rpc, false),
            (json_rpc, mcp, false),
            (json_rpc.answer_without_id(AnswerWithoutId::OmitId), mcp, true),
            (mcp, json_rpc.answer_without_id(silent), false),
            (mcp, acp.answer_without_id(silent), false),
            (json_rpc, json_rpc.answer_without_id(silent), true),
            (mcp, mcp.answer_without_id(AnswerWithoutId::NullId), false),
            (mcp.max_depth(10), mcp.max_depth(10), true),
            (mcp.max_depth(11), mcp.max_depth(10), true),
            (mcp.max_depth(9), mcp.max_depth(10), false),
            (mcp.null_params(true), mcp, true),
            (mcp, mcp.null_params(true), false),
            (mcp.null_params(true), mcp.null_params(true), true),
            // These settings don't concern a single message.
            (mcp, mcp.batches(true).max_batch_len(5), true),
            (mcp, mcp.max_line_len(10), true),
            (mcp, mcp.salvage(true), true),
        ] {
            assert_eq!(
                rules.message_rules().covers(before.message_rules()),
                expected,
                "{rules:?}, and before {before:?}"
            );
        }
    }
}
