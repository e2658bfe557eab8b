//! The dialects of JSON-RPC, one table each.
//!
//! A new dialect is one more table here, and one more constructor in [`Rules`](super::rules::Rules).

use std::fmt;

/// A dialect: the messages that it permits, and the answers that peers expect.
#[derive(PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The name, as in "under MCP rules".
    pub(crate) name: &'static str,
    /// How its messages are written.
    pub(crate) form: Form,
    /// Whether `jsonrpc` may be absent.
    pub(crate) no_version: bool,
    /// Whether `jsonrpc` may be `"1.0"`.
    pub(crate) version_1: bool,
    /// The types of `id` in a request, a response with a result, and a response with an error.
    pub(crate) request_id: IdTypes,
    pub(crate) result_id: IdTypes,
    pub(crate) error_id: IdTypes,
    /// Whether a response with an error may have no `id` at all.
    pub(crate) error_without_id: bool,
    /// Whether a call with the id null is a notification.
    pub(crate) null_id_notifies: bool,
    /// Whether `params` may be an array.
    pub(crate) array_params: bool,
    /// Whether `params` may be null, which then counts as absent.
    pub(crate) null_params: bool,
    /// Whether `params` may also be a string, a number or a boolean.
    pub(crate) scalar_params: bool,
    /// Whether `result` may be any value; otherwise it must be an object.
    pub(crate) any_result: bool,
    /// Whether a result may stand beside a null error, and an error beside a null result.
    pub(crate) null_outcome: bool,
    /// Whether an error may stand beside the result `false`.
    pub(crate) false_outcome: bool,
    /// Whether an error may be an array of a code, a message and data.
    pub(crate) array_errors: bool,
    /// Whether an error may be a string.
    pub(crate) text_errors: bool,
    /// Whether a line may be an array of messages.
    pub(crate) batches: bool,
    /// Whether only the client sends requests, and only the server responses.
    pub(crate) one_way: bool,
    /// Whether a result that is sent must have a `resultType`. Older peers send none.
    pub(crate) result_type: bool,
    /// The error codes that must not be sent, as ranges from the first to the last.
    pub(crate) reserved_codes: &'static [(i64, i64)],
    /// How a faulty line is answered if its id can't be read.
    pub(crate) answer_without_id: AnswerWithoutId,
    /// Whether a cancelled request is still answered.
    pub(crate) answers_cancelled: bool,
    /// The notification with which a caller cancels its request.
    pub(crate) cancellation: Option<Cancellation>,
}

impl Dialect {
    /// Whether an error with this code must not be sent.
    pub(crate) fn reserves(&self, code: i64) -> bool {
        self.reserved_codes.iter().any(|&(first, last)| (first..=last).contains(&code))
    }
}

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// With `"jsonrpc":"2.0"`.
    Version2,
    /// The same without `jsonrpc`.
    Unversioned,
    /// As in JSON-RPC 1.0: a notification has the id null, a call has params, a response has a result and an error, one
    /// of them null. An error is an array of a code, a message and data.
    Stratum,
}

/// A notification that cancels a request in flight.
#[derive(PartialEq, Eq)]
pub(crate) struct Cancellation {
    pub(crate) method: &'static str,
    /// A JSON pointer to the id of the request in `params`.
    pub(crate) id: &'static str,
}

/// What most dialects have in common.
const COMMON: Dialect = Dialect {
    name: "",
    form: Form::Version2,
    no_version: false,
    version_1: false,
    request_id: IdTypes::STRING.or(IdTypes::INTEGER),
    result_id: IdTypes::STRING.or(IdTypes::INTEGER),
    error_id: IdTypes::STRING.or(IdTypes::INTEGER),
    error_without_id: false,
    null_id_notifies: false,
    array_params: true,
    null_params: false,
    scalar_params: false,
    any_result: true,
    null_outcome: false,
    false_outcome: false,
    array_errors: false,
    text_errors: false,
    batches: false,
    one_way: false,
    result_type: false,
    reserved_codes: &[],
    answer_without_id: AnswerWithoutId::NullId,
    answers_cancelled: true,
    cancellation: None,
};

pub(crate) static JSON_RPC: Dialect = Dialect {
    name: "JSON-RPC",
    request_id: IdTypes::STRING.or(IdTypes::NUMBER).or(IdTypes::NULL),
    result_id: IdTypes::STRING.or(IdTypes::NUMBER).or(IdTypes::NULL),
    error_id: IdTypes::STRING.or(IdTypes::NUMBER).or(IdTypes::NULL),
    batches: true,
    cancellation: Some(Cancellation { method: "$/cancelRequest", id: "/id" }),
    ..COMMON
};

pub(crate) static MCP: Dialect = Dialect {
    name: "MCP",
    error_without_id: true,
    array_params: false,
    any_result: false,
    answer_without_id: AnswerWithoutId::Never,
    answers_cancelled: false,
    cancellation: Some(Cancellation { method: "notifications/cancelled", id: "/requestId" }),
    ..COMMON
};

pub(crate) static MCP_2026_07_28: Dialect = Dialect {
    name: "MCP 2026-07-28",
    error_without_id: true,
    array_params: false,
    any_result: false,
    one_way: true,
    result_type: true,
    // -32020 to -32022 are defined; -32002 and -32042 were, by earlier revisions.
    reserved_codes: &[(-32099, -32023), (-32002, -32002)],
    answer_without_id: AnswerWithoutId::Never,
    answers_cancelled: false,
    cancellation: Some(Cancellation { method: "notifications/cancelled", id: "/requestId" }),
    ..COMMON
};

pub(crate) static ACP: Dialect = Dialect {
    name: "ACP",
    request_id: IdTypes::STRING.or(IdTypes::INTEGER).or(IdTypes::NULL),
    result_id: IdTypes::STRING.or(IdTypes::INTEGER).or(IdTypes::NULL),
    error_id: IdTypes::STRING.or(IdTypes::INTEGER).or(IdTypes::NULL),
    cancellation: Some(Cancellation { method: "$/cancel_request", id: "/requestId" }),
    ..COMMON
};

pub(crate) static ACP_V2: Dialect = Dialect {
    name: "ACP v2",
    error_id: IdTypes::STRING.or(IdTypes::INTEGER).or(IdTypes::NULL),
    cancellation: Some(Cancellation { method: "$/cancel_request", id: "/requestId" }),
    ..COMMON
};

pub(crate) static CODEX: Dialect = Dialect {
    name: "Codex",
    form: Form::Unversioned,
    no_version: true,
    null_params: true,
    scalar_params: true,
    answer_without_id: AnswerWithoutId::Never,
    ..COMMON
};

pub(crate) static ELECTRUM: Dialect = Dialect {
    name: "Electrum",
    no_version: true,
    version_1: true,
    request_id: IdTypes::STRING.or(IdTypes::NUMBER),
    result_id: IdTypes::STRING.or(IdTypes::NUMBER),
    error_id: IdTypes::STRING.or(IdTypes::NUMBER).or(IdTypes::NULL),
    null_id_notifies: true,
    null_outcome: true,
    text_errors: true,
    batches: true,
    ..COMMON
};

pub(crate) static STRATUM: Dialect = Dialect {
    name: "Stratum",
    form: Form::Stratum,
    no_version: true,
    request_id: IdTypes::STRING.or(IdTypes::NUMBER),
    result_id: IdTypes::STRING.or(IdTypes::NUMBER),
    error_id: IdTypes::STRING.or(IdTypes::NUMBER).or(IdTypes::NULL),
    null_id_notifies: true,
    null_outcome: true,
    false_outcome: true,
    array_errors: true,
    text_errors: true,
    ..COMMON
};

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// How to answer a faulty line whose id can't be read.
///
/// New ways may be added, so a `match` needs a wildcard arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerWithoutId {
    /// Don't answer. Noise on a pipe isn't a request, and not every client accepts a response without an id.
    Never,
    /// Answer with an error whose `id` is null, as JSON-RPC 2.0 requires.
    NullId,
    /// Answer with an error that has no `id`, as MCP's schema permits.
    OmitId,
    /// Answer with an error that has no `id` if the line is JSON and has a `method`, or is an array: its sender
    /// probably waits for an answer. Noise isn't answered.
    OmitIdUnlessNoise,
}

/// One of the two sides of a connection; see [`Rules::client`](crate::Rules::client).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that sends requests.
    Client,
    /// The side that answers them.
    Server,
}

/// A set of types that an id may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdTypes(u8);

impl IdTypes {
    pub(crate) const STRING: Self = Self(1);
    pub(crate) const INTEGER: Self = Self(2);
    /// Any number, with a fraction or without.
    pub(crate) const NUMBER: Self = Self(2 | 4);
    pub(crate) const NULL: Self = Self(8);

    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline(always)]
    pub(crate) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The types in words, as in "must be a string or an integer".
    pub(crate) fn describe(self) -> &'static str {
        let [number, integer, null] = [Self::NUMBER, Self::INTEGER, Self::NULL].map(|types| self.contains(types));
        match (number, integer, null) {
            (true, _, true) => "a string, a number or null",
            (true, _, false) => "a string or a number",
            (false, true, true) => "a string, an integer or null",
            (false, true, false) => "a string or an integer",
            (false, false, true) => "a string or null",
            (false, false, false) => "a string",
        }
    }
}

/// The kind of message that an id or a payload belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Request,
    Notification,
    Result,
    Error,
}

/// The messages that a [`Dialect`] permits, as a set of bits.
///
/// There is one bit for each feature that the strictest rules wouldn't allow. So one set of rules permits everything
/// that another permits if it includes all bits of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permits(u32);

impl Permits {
    const REQUEST_ID: u32 = 0;
    const RESULT_ID: u32 = 4;
    const ERROR_ID: u32 = 8;
    pub(crate) const ERROR_WITHOUT_ID: Self = Self(1 << 12);
    pub(crate) const ARRAY_PARAMS: Self = Self(1 << 13);
    pub(crate) const NULL_PARAMS: Self = Self(1 << 14);
    pub(crate) const ANY_RESULT: Self = Self(1 << 15);
    pub(crate) const NO_VERSION: Self = Self(1 << 16);
    pub(crate) const VERSION_1: Self = Self(1 << 17);
    pub(crate) const NULL_ID_NOTIFIES: Self = Self(1 << 18);
    pub(crate) const SCALAR_PARAMS: Self = Self(1 << 19);
    pub(crate) const NULL_OUTCOME: Self = Self(1 << 20);
    pub(crate) const FALSE_OUTCOME: Self = Self(1 << 21);
    pub(crate) const ARRAY_ERRORS: Self = Self(1 << 22);
    pub(crate) const TEXT_ERRORS: Self = Self(1 << 23);
    pub(crate) const REQUESTS: Self = Self(1 << 24);
    pub(crate) const RESPONSES: Self = Self(1 << 25);
    pub(crate) const UNTYPED_RESULTS: Self = Self(1 << 26);
    /// In no dialect, but on request.
    pub(crate) const LOOSE_IDS: Self = Self(1 << 27);
    /// In no dialect, but on request. Concerns lines, not messages.
    pub(crate) const SALVAGE: Self = Self(1 << 28);
    /// Never permitted: marks a response whose id has another type than that of the request.
    pub(crate) const LOOSE_ID: Self = Self(1 << 31);
    pub(crate) const BOTH_SIDES: Self = Self(Self::REQUESTS.0 | Self::RESPONSES.0);

    pub(crate) fn of(dialect: &Dialect) -> Self {
        let ids = u32::from(dialect.request_id.0) << Self::REQUEST_ID
            | u32::from(dialect.result_id.0) << Self::RESULT_ID
            | u32::from(dialect.error_id.0) << Self::ERROR_ID;
        Self(ids)
            .with(Self::ERROR_WITHOUT_ID, dialect.error_without_id)
            .with(Self::ARRAY_PARAMS, dialect.array_params)
            .with(Self::NULL_PARAMS, dialect.null_params)
            .with(Self::ANY_RESULT, dialect.any_result)
            .with(Self::NO_VERSION, dialect.no_version)
            .with(Self::VERSION_1, dialect.version_1)
            .with(Self::NULL_ID_NOTIFIES, dialect.null_id_notifies)
            .with(Self::SCALAR_PARAMS, dialect.scalar_params)
            .with(Self::NULL_OUTCOME, dialect.null_outcome)
            .with(Self::FALSE_OUTCOME, dialect.false_outcome)
            .with(Self::ARRAY_ERRORS, dialect.array_errors)
            .with(Self::TEXT_ERRORS, dialect.text_errors)
            .with(Self::BOTH_SIDES, true)
            .with(Self::UNTYPED_RESULTS, true)
    }

    pub(crate) fn with(self, other: Self, permitted: bool) -> Self {
        if permitted { Self(self.0 | other.0) } else { Self(self.0 & !other.0) }
    }

    /// Sets which kinds of messages there may be, apart from notifications.
    pub(crate) fn with_sides(self, requests: bool, responses: bool) -> Self {
        self.with(Self::REQUESTS, requests).with(Self::RESPONSES, responses)
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the upper half is shifted out")]
    pub(crate) fn halves(self) -> [u16; 2] {
        [self.0 as u16, (self.0 >> 16) as u16]
    }

    #[inline(always)]
    pub(crate) fn of_halves([lower, upper]: [u16; 2]) -> Self {
        Self(u32::from(lower) | u32::from(upper) << 16)
    }

    /// Sets which errors need no id of a request: those with the id null, and those without an id.
    pub(crate) fn with_errors_without_id(self, null: bool, absent: bool) -> Self {
        self.with(Self(u32::from(IdTypes::NULL.0) << Self::ERROR_ID), null).with(Self::ERROR_WITHOUT_ID, absent)
    }

    #[inline(always)]
    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The types that `id` may have in a message of this kind.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "four bits")]
    pub(crate) fn id_types(self, kind: MessageKind) -> IdTypes {
        let shift = match kind {
            MessageKind::Request | MessageKind::Notification => Self::REQUEST_ID,
            MessageKind::Result => Self::RESULT_ID,
            MessageKind::Error => Self::ERROR_ID,
        };
        IdTypes((self.0 >> shift & 0xf) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_what_the_table_says() {
        for dialect in [&JSON_RPC, &MCP, &MCP_2026_07_28, &ACP, &ACP_V2, &CODEX, &ELECTRUM, &STRATUM] {
            let permits = Permits::of(dialect);
            assert_eq!(permits.id_types(MessageKind::Request), dialect.request_id);
            assert_eq!(permits.id_types(MessageKind::Result), dialect.result_id);
            assert_eq!(permits.id_types(MessageKind::Error), dialect.error_id);
            assert_eq!(permits.contains(Permits::ERROR_WITHOUT_ID), dialect.error_without_id);
            assert_eq!(permits.contains(Permits::ARRAY_PARAMS), dialect.array_params);
            assert_eq!(permits.contains(Permits::NULL_PARAMS), dialect.null_params);
            assert_eq!(permits.contains(Permits::ANY_RESULT), dialect.any_result);
            assert_eq!(permits.contains(Permits::NO_VERSION), dialect.no_version);
            assert_eq!(permits.contains(Permits::VERSION_1), dialect.version_1);
            assert_eq!(permits.contains(Permits::NULL_ID_NOTIFIES), dialect.null_id_notifies);
            assert_eq!(permits.contains(Permits::SCALAR_PARAMS), dialect.scalar_params);
            assert_eq!(permits.contains(Permits::NULL_OUTCOME), dialect.null_outcome);
            assert_eq!(permits.contains(Permits::FALSE_OUTCOME), dialect.false_outcome);
            assert_eq!(permits.contains(Permits::ARRAY_ERRORS), dialect.array_errors);
            assert_eq!(permits.contains(Permits::TEXT_ERRORS), dialect.text_errors);
        }
        let [with, without] = [true, false].map(|null| Permits::of(&ACP).with_errors_without_id(null, !null));
        assert!(with.id_types(MessageKind::Error).contains(IdTypes::NULL) && !with.contains(Permits::ERROR_WITHOUT_ID));
        assert!(!without.id_types(MessageKind::Error).contains(IdTypes::NULL));
        assert!(without.contains(Permits::ERROR_WITHOUT_ID));
    }

    /// An answer to any request can be encoded and decoded: its id may be that of the result and of an error.
    #[test]
    fn every_request_can_be_answered() {
        for dialect in [&JSON_RPC, &MCP, &MCP_2026_07_28, &ACP, &ACP_V2, &CODEX, &ELECTRUM, &STRATUM] {
            assert!(dialect.result_id.contains(dialect.request_id), "{dialect:?}");
            assert!(dialect.error_id.contains(dialect.request_id), "{dialect:?}");
        }
    }

    #[test]
    fn types_read_well() {
        let string = IdTypes::STRING;
        for (types, text) in [
            (string, "a string"),
            (string.or(IdTypes::NULL), "a string or null"),
            (string.or(IdTypes::INTEGER), "a string or an integer"),
            (string.or(IdTypes::INTEGER).or(IdTypes::NULL), "a string, an integer or null"),
            (string.or(IdTypes::NUMBER), "a string or a number"),
            (string.or(IdTypes::NUMBER).or(IdTypes::NULL), "a string, a number or null"),
        ] {
            assert_eq!(types.describe(), text);
        }
    }
}
