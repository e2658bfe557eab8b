//! The table of rules.

use std::fmt;

/// What a session speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    JsonRpc,
    Mcp(Revision),
    Acp,
}

/// A revision of MCP, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

/// How bad it is if a session breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Severity {
    /// It is suspicious, or only some clients mind.
    Warning,
    /// It breaks the specification or an official client.
    Error,
}

/// Where a rule applies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope {
    /// All sessions: every dialect is JSON-RPC.
    JsonRpc,
    Mcp(Revision, Revision),
    Acp,
}

/// A row of the table.
struct Row {
    name: &'static str,
    severity: Severity,
    /// Where the rule applies, and the section of the specification that says so. The first match counts.
    sections: &'static [(Scope, &'static str)],
    text: &'static str,
}

const JSON_RPC: Scope = Scope::JsonRpc;
const ACP: Scope = Scope::Acp;
/// All revisions, those with a handshake, and those without.
const MCP: Scope = Scope::Mcp(Revision::V2024_11_05, Revision::V2026_07_28);
const HANDSHAKE: Scope = Scope::Mcp(Revision::V2024_11_05, Revision::V2025_11_25);
const STATELESS: Scope = Scope::Mcp(Revision::V2026_07_28, Revision::V2026_07_28);
/// Since tools have an `outputSchema`.
const STRUCTURED: Scope = Scope::Mcp(Revision::V2025_06_18, Revision::V2026_07_28);

macro_rules! rules {
    ($($rule:ident $name:literal $severity:ident [$($scope:ident $section:literal),+] $text:literal;)+) => {
        /// What a session must not do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum Rule { $($rule),+ }

        const TABLE: &[Row] = &[$(Row {
            name: $name,
            severity: Severity::$severity,
            sections: &[$(($scope, $section)),+],
            text: $text,
        }),+];

        impl Rule {
            /// In the order of the table.
            pub(crate) const ALL: &[Self] = &[$(Self::$rule),+];
        }
    };
}

rules! {
    UnansweredRequest "unanswered-request" Error [MCP "Base Protocol, Responses", JSON_RPC "JSON-RPC 2.0, 5"]
        "a request was never answered, although the session went on for a second";
    UnansweredAtEnd "unanswered-at-end" Warning [MCP "Base Protocol, Responses", JSON_RPC "JSON-RPC 2.0, 5"]
        "a request had no answer yet when the session ended";
    SecondAnswer "second-answer" Error [MCP "Base Protocol, Responses", JSON_RPC "JSON-RPC 2.0, 5"]
        "a request was answered again";
    UnknownAnswer "unknown-answer" Error [MCP "Base Protocol, Responses", JSON_RPC "JSON-RPC 2.0, 5"]
        "a response has the id of no request";
    AnswerIdType "answer-id-type" Error [MCP "Base Protocol, Responses", JSON_RPC "JSON-RPC 2.0, 5"]
        "a response has the id of a pending request, but as the other type: \"3\" for 3";
    ReusedId "reused-id" Error [MCP "Base Protocol, Requests", JSON_RPC "JSON-RPC 2.0, 4"]
        "a request has the id of a request that is still pending";
    IdUsedBefore "id-used-before" Error [HANDSHAKE "Base Protocol, Requests"]
        "a request has an id that its sender has used before in the session";
    AnswerAfterCancellation "answer-after-cancellation" Warning
        [STATELESS "Transports, stdio, Cancellation", HANDSHAKE "Cancellation, Behavior Requirements"]
        "a cancelled request was answered; right after the cancellation, both may just have crossed";
    LateCancellation "late-cancellation" Warning [MCP "Cancellation, Behavior Requirements", JSON_RPC ""]
        "a request was cancelled long after its answer: the sender doesn't seem to have understood the answer";
    UnknownCancellation "unknown-cancellation" Error [MCP "Cancellation, Behavior Requirements"]
        "a cancellation names a request that was never sent";
    CancelledInitialize "cancelled-initialize" Error [HANDSHAKE "Cancellation, Behavior Requirements"]
        "`initialize` was cancelled";

    BeforeInitialize "before-initialize" Error
        [HANDSHAKE "Lifecycle, Initialization", ACP "Initialization"]
        "a message other than `ping` and logging was sent before `initialize`";
    BeforeInitialized "before-initialized" Warning [HANDSHAKE "Lifecycle, Initialization"]
        "a request other than `ping` was sent before the handshake was over: by the client before the answer to `initialize`, or by the server before `notifications/initialized`";
    MissingInitialized "missing-initialized" Error [HANDSHAKE "Lifecycle, Initialization"]
        "the client went on after the answer to `initialize` without `notifications/initialized`";
    SecondInitialize "second-initialize" Error [HANDSHAKE "Lifecycle, Initialization", ACP "Initialization"]
        "`initialize` was sent again after it had succeeded";
    UnknownVersion "unknown-version" Error
        [STATELESS "Versioning, Protocol Version Negotiation", HANDSHAKE "Lifecycle, Version Negotiation",
         ACP "Initialization, Version Negotiation"]
        "a protocol version that no known revision has; the official clients refuse to go on";
    PeerCapability "peer-capability" Error
        [STATELESS "Base Protocol, _meta", HANDSHAKE "Lifecycle, Operation", ACP "Initialization, Capabilities"]
        "a request needs a capability that its receiver hasn't declared";
    OwnCapability "own-capability" Error [MCP "Lifecycle, Capability Negotiation"]
        "a notification belongs to a capability that its sender hasn't declared";

    UnknownProgressToken "unknown-progress-token" Error [MCP "Progress, Behavior Requirements"]
        "progress for a token that no request has had";
    ProgressAfterAnswer "progress-after-answer" Error [MCP "Progress, Implementation Notes"]
        "progress for a request that had been answered";
    ProgressNotIncreasing "progress-not-increasing" Error [MCP "Progress, Progress Flow"]
        "`progress` didn't increase since the notification before";
    ProgressTokenReused "progress-token-reused" Error [MCP "Progress, Progress Flow"]
        "two pending requests have the same progress token";
    UnknownLogLevel "unknown-log-level" Error [MCP "Logging, Log Levels"]
        "a log level that is none of the eight";
    LogBelowLevel "log-below-level" Warning [MCP "Logging, Log Levels"]
        "a log message below the level that the client has set";
    LogNotRequested "log-not-requested" Error [STATELESS "Logging, Requesting Log Messages"]
        "a log message while no pending request asks for any";
    UnknownCursor "unknown-cursor" Error [MCP "Pagination, Implementation Guidelines"]
        "a `cursor` that no answer to this method has had as its `nextCursor`";

    InvalidSchema "invalid-schema" Error [STATELESS "Base Protocol, JSON Schema Usage", HANDSHAKE "Tools, Tool"]
        "a tool's `inputSchema` or `outputSchema` isn't a valid JSON Schema";
    RemoteReference "remote-reference" Warning [STATELESS "Base Protocol, $ref Resolution", HANDSHAKE "Tools, Tool"]
        "a tool's schema refers to another document; nothing is fetched, so the tool's calls aren't checked against it";
    UnknownTool "unknown-tool" Warning [MCP "Tools, Calling Tools"]
        "a call of a tool that the server hasn't listed";
    InvalidArguments "invalid-arguments" Warning [MCP "Tools, Calling Tools"]
        "a call's `arguments` don't match the tool's `inputSchema`";
    InvalidStructuredContent "invalid-structured-content" Error [STRUCTURED "Tools, Output Schema"]
        "`structuredContent` doesn't match the tool's `outputSchema`";
    MissingStructuredContent "missing-structured-content" Error [STRUCTURED "Tools, Output Schema"]
        "a result has no `structuredContent`, although the tool has an `outputSchema`";

    MissingMeta "missing-meta" Error [STATELESS "Base Protocol, _meta"]
        "a request lacks `io.modelcontextprotocol/protocolVersion` or `…/clientCapabilities` in its `_meta`";
    UnsupportedVersion "unsupported-version" Warning [STATELESS "Discovery"]
        "a request has a version that is not among the `supportedVersions` of `server/discover`";
    RemovedMethod "removed-method" Error [STATELESS "Key Changes"]
        "a method that this revision has removed";
    ServerRequest "server-request" Error [STATELESS "Transports, stdio, Receiving Messages"]
        "the server sent a request";
    ClientResponse "client-response" Error [STATELESS "Transports, stdio, Sending Messages"]
        "the client sent a response";
    ServerCancellation "server-cancellation" Error [STATELESS "Cancellation"]
        "the server cancelled something other than a subscription";
    MissingResultType "missing-result-type" Error [STATELESS "Base Protocol, ResultType"]
        "a result has no `resultType`";
    UnknownResultType "unknown-result-type" Warning [STATELESS "Base Protocol, ResultType"]
        "a `resultType` other than `complete` and `input_required`, which only an extension can define";
    InvalidInputRequired "invalid-input-required" Error [STATELESS "Multi Round-Trip Requests"]
        "an `input_required` result to a method that has none, or without `inputRequests` and `requestState`";
    ReservedErrorCode "reserved-error-code" Error [STATELESS "Base Protocol, Error Codes"]
        "an error code that MCP reserves, and that this revision doesn't define";
    LegacyErrorCode "legacy-error-code" Warning [STATELESS "Base Protocol, Error Codes"]
        "an error code from -32000 to -32019, which nobody should use any more";
    UnknownSubscription "unknown-subscription" Error [STATELESS "Subscriptions, Receiving Notifications"]
        "a notification of a subscription has no `subscriptionId`, or that of no open `subscriptions/listen`";
    UnacknowledgedSubscription "unacknowledged-subscription" Error [STATELESS "Subscriptions, Acknowledgment"]
        "a notification of a subscription was sent before `notifications/subscriptions/acknowledged`";
    UnrequestedNotification "unrequested-notification" Error [STATELESS "Subscriptions, Opening a Stream"]
        "a notification of a kind that the subscription hasn't requested";

    UnknownSession "unknown-session" Error [ACP "Session Setup, Session ID"]
        "a `sessionId` that no answer has had";
    PromptNotCancelled "prompt-not-cancelled" Error [ACP "Prompt Turn, Cancellation"]
        "a prompt was not answered with the stop reason `cancelled` after `session/cancel`";
    PermissionAfterCancel "permission-after-cancel" Error [ACP "Prompt Turn, Cancellation"]
        "a pending request for permission was not answered with the outcome `cancelled` after `session/cancel`";

    ByteOrderMark "byte-order-mark" Error [JSON_RPC "RFC 8259, 8.1"]
        "a byte order mark before the first message; refused by the TypeScript SDK 1.32.2 and 2.4.0 and the Python SDK 2.3.0, whose request then times out";
    LoneSurrogate "lone-surrogate" Error [JSON_RPC "RFC 8259, 8.2"]
        "half of a surrogate pair, such as an emoji cut in two; refused by the Python SDK 2.3.0, whose request then times out";
    UnsafeId "unsafe-id" Error [JSON_RPC "RFC 8259, 6"]
        "an integer id beyond 2^53; refused by the TypeScript SDK 1.32.2 and 2.4.0";
    IdSpelling "id-spelling" Error [JSON_RPC "JSON-RPC 2.0, 4"]
        "an integer id with a fraction, an exponent or a negative zero; the Python SDK 2.3.0 refuses 1.0, and the TypeScript SDK 1.32.2 answers 1";
    LongLine "long-line" Error [JSON_RPC ""]
        "a line of more than 10 MiB; refused by the TypeScript SDK 1.32.2 and 2.4.0, unless its `maxBufferSize` is larger";
    LineSeparator "line-separator" Warning [JSON_RPC ""]
        "U+2028 or U+2029 unescaped; the readline module of Node 20.20.2 ends a line there";
    UnsafeInteger "unsafe-integer" Warning [JSON_RPC "RFC 8259, 6"]
        "an integer beyond 2^53 in a payload; the TypeScript SDK 1.32.2 and 2.4.0 round it";
    DuplicateMember "duplicate-member" Warning [JSON_RPC "RFC 8259, 4"]
        "two members of an object have the same name; the TypeScript SDK 1.32.2 and the Python SDK 2.3.0 drop the first";
}

impl Rule {
    pub(crate) fn name(self) -> &'static str {
        self.row().name
    }

    pub(crate) fn severity(self) -> Severity {
        self.row().severity
    }

    /// What breaks the rule.
    pub(crate) fn text(self) -> &'static str {
        self.row().text
    }

    /// The section of the specification. `None` if the rule doesn't apply.
    pub(crate) fn section(self, dialect: Dialect) -> Option<&'static str> {
        let mut sections = self.row().sections.iter();
        sections.find(|(scope, _)| scope.includes(dialect)).map(|(_, section)| *section)
    }

    /// The specification and its section, if there is one: `MCP 2026-07-28, Discovery`.
    pub(crate) fn reference(self, dialect: Dialect) -> Option<String> {
        let mut sections = self.row().sections.iter();
        let (scope, section) = sections.find(|(scope, _)| scope.includes(dialect))?;
        match scope {
            Scope::JsonRpc => Some(*section).filter(|section| !section.is_empty()).map(str::to_owned),
            Scope::Mcp(..) | Scope::Acp => Some(format!("{dialect}, {section}")),
        }
    }

    /// Where the rule applies, and the section there: `MCP 2026-07-28: Discovery`.
    pub(crate) fn sections(self) -> Vec<String> {
        let section = |(scope, section): &(Scope, &str)| match *section {
            "" => scope.to_string(),
            section => format!("{scope}: {section}"),
        };
        self.row().sections.iter().map(section).collect()
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

impl Severity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl Scope {
    fn includes(self, dialect: Dialect) -> bool {
        match (self, dialect) {
            (Self::JsonRpc, _) | (Self::Acp, Dialect::Acp) => true,
            (Self::Mcp(first, last), Dialect::Mcp(revision)) => (first..=last).contains(&revision),
            _ => false,
        }
    }
}

impl Revision {
    const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The last revision with a handshake.
    pub(super) const LAST_HANDSHAKE: Self = Self::V2025_11_25;

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether there is no handshake: each request says which revision it is.
    pub(super) fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }
}

impl Dialect {
    /// Whether this is the only revision of MCP that has batches.
    pub(crate) fn is_mcp_with_batches(self) -> bool {
        self == Self::Mcp(Revision::V2025_03_26)
    }

    pub(super) fn is_stateless(self) -> bool {
        matches!(self, Self::Mcp(revision) if revision.is_stateless())
    }

    pub(super) fn is_mcp(self) -> bool {
        matches!(self, Self::Mcp(_))
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JsonRpc => f.write_str("JSON-RPC"),
            Self::Mcp(revision) => write!(f, "MCP {}", revision.name()),
            Self::Acp => f.write_str("ACP"),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JsonRpc => f.write_str("all"),
            Self::Acp => f.write_str("ACP"),
            Self::Mcp(first, last) if first == last => write!(f, "MCP {}", first.name()),
            Self::Mcp(first, last) => write!(f, "MCP {} to {}", first.name(), last.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_rows_are_in_order() {
        for (index, rule) in Rule::ALL.iter().enumerate() {
            assert_eq!(*rule as usize, index);
            assert!(Rule::ALL[..index].iter().all(|other| other.name() != rule.name()), "{}", rule.name());
        }
    }

    #[test]
    fn scopes() {
        let (old, new) = (Dialect::Mcp(Revision::V2025_06_18), Dialect::Mcp(Revision::V2026_07_28));
        assert!(Rule::ServerRequest.section(old).is_none() && Rule::ServerRequest.section(new).is_some());
        assert!(Rule::MissingInitialized.section(old).is_some() && Rule::MissingInitialized.section(new).is_none());
        assert!(Rule::BeforeInitialize.section(Dialect::Acp).is_some());
        assert_eq!(Rule::ReusedId.section(Dialect::JsonRpc), Some("JSON-RPC 2.0, 4"));
        assert_eq!(Rule::UnknownCursor.section(Dialect::JsonRpc), None);
    }
}
