//! The kinds of messages, as reports name them.

use wireline::Message;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Request,
    Notification,
    Response,
    Error,
    Batch,
}

impl MessageKind {
    pub(crate) const ALL: [Self; 5] = [Self::Request, Self::Notification, Self::Response, Self::Error, Self::Batch];

    pub(crate) fn of(message: &Message<'_>) -> Self {
        match message {
            Message::Request(_) => Self::Request,
            Message::Notification(_) => Self::Notification,
            Message::Response(response) if response.error().is_some() => Self::Error,
            Message::Response(_) => Self::Response,
        }
    }

    /// The name in ndjson reports and transcripts. Programs depend on it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Notification => "notification",
            Self::Response => "response",
            Self::Error => "error",
            Self::Batch => "batch",
        }
    }

    /// The singular and the plural in prose.
    pub(crate) fn nouns(self) -> (&'static str, &'static str) {
        match self {
            Self::Request => ("request", "requests"),
            Self::Notification => ("notification", "notifications"),
            Self::Response => ("response", "responses"),
            Self::Error => ("error response", "error responses"),
            Self::Batch => ("batch", "batches"),
        }
    }
}
