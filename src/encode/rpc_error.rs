//! The error object of a response to send.

use std::borrow::Cow;
use std::fmt;

use bytes::BytesMut;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wireline_json::DEEPEST;

use crate::message::{ErrorObject, Notification, RawJson, Request, code};

use super::error::EncodeError;
use super::serializer::{self, Bounds};

/// The error object of a response: what went wrong with a request.
///
/// JSON-RPC 2.0 reserves the codes from -32768 to -32000; of those, -32099 to -32000 are for servers to define.
/// Applications may use any other integer.
///
/// ```
/// use wireline::RpcError;
///
/// let error = RpcError::new(404, "no such file").with_data(&["a.txt"])?;
/// assert_eq!((error.code(), error.message()), (404, "no such file"));
/// # Ok::<(), wireline::EncodeError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RpcError {
    code: i64,
    message: Cow<'static, str>,
    /// JSON text on one line.
    data: Option<BytesMut>,
    /// Whether the peer sent the error.
    is_foreign: bool,
}

impl RpcError {
    /// -32700: the text received isn't JSON.
    pub const PARSE_ERROR: i64 = code::PARSE_ERROR;
    /// -32600: the text received is JSON, but not a valid message.
    pub const INVALID_REQUEST: i64 = code::INVALID_REQUEST;
    /// -32601: there is no such method.
    pub const METHOD_NOT_FOUND: i64 = code::METHOD_NOT_FOUND;
    /// -32602: the method doesn't accept these params.
    pub const INVALID_PARAMS: i64 = code::INVALID_PARAMS;
    /// -32603: the receiver failed.
    pub const INTERNAL_ERROR: i64 = code::INTERNAL_ERROR;

    /// An error with your own code and message.
    #[must_use]
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None, is_foreign: false }
    }

    /// -32600: the request is valid JSON, but can't be served; the message says why.
    #[must_use]
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    /// -32601: there is no such method.
    #[must_use]
    pub fn method_not_found() -> Self {
        Self::new(Self::METHOD_NOT_FOUND, "Method not found")
    }

    /// -32602: the method doesn't accept these params; the message says what it expects.
    #[must_use]
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// -32603: the receiver failed; the message doesn't say how.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(Self::INTERNAL_ERROR, "Internal error")
    }

    /// Adds data for the caller: any value that serializes, including [raw JSON](crate::RawJson).
    ///
    /// # Errors
    ///
    /// The data can't be written as JSON.
    pub fn with_data(mut self, data: &(impl Serialize + ?Sized)) -> Result<Self, EncodeError> {
        let mut json = BytesMut::new();
        let bounds = Bounds { start: 0, end: usize::MAX, depth: DEEPEST, line_feed: false };
        serializer::append(&mut json, bounds, |writer| writer.value(data))?;
        self.data = Some(json);
        Ok(self)
    }

    /// For requests that a server can't finish before it shuts down.
    pub(crate) fn shutting_down() -> Self {
        Self::new(code::SERVER_BUSY, "the server is shutting down")
    }

    /// For requests that take longer than the server allows.
    pub(crate) fn timed_out() -> Self {
        Self::new(code::REQUEST_TIMED_OUT, "Request timed out")
    }

    /// Adds data that is JSON text on one line.
    pub(crate) fn with_json(mut self, json: &str) -> Self {
        self.data = Some(BytesMut::from(json));
        self
    }

    /// The code.
    #[must_use]
    pub fn code(&self) -> i64 {
        self.code
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The data as JSON text, if there is any.
    pub(crate) fn data(&self) -> Option<&[u8]> {
        self.data.as_deref()
    }
}

/// Makes an error to pass on from one that a peer sent. A code that doesn't fit 64 bits becomes the nearest one that
/// does.
impl From<ErrorObject<'_>> for RpcError {
    fn from(error: ErrorObject<'_>) -> Self {
        // Line breaks occur only between tokens, where a space is equivalent.
        let data = error.data().map(|data| BytesMut::from(&*data.as_json().replace(['\n', '\r'], " ")));
        Self { code: error.code(), message: error.message().into_owned().into(), data, is_foreign: true }
    }
}

/// Lets a handler use `?` when it [adds data](RpcError::with_data): the answer is an internal error that says why.
///
/// ```
/// use wireline::RpcError;
///
/// fn find(name: &str) -> Result<u64, RpcError> {
///     Err(RpcError::new(404, "no such file").with_data(&[name])?)
/// }
///
/// assert_eq!(find("a.txt").unwrap_err().code(), 404);
/// ```
impl From<EncodeError> for RpcError {
    fn from(error: EncodeError) -> Self {
        Self::new(Self::INTERNAL_ERROR, error.to_string())
    }
}

/// Shows the message and the code, but only the code of an error that a peer sent, whose message is the peer's text.
impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_foreign {
            true => write!(f, "error from the peer ({})", self.code),
            false => write!(f, "{} ({})", self.message, self.code),
        }
    }
}

impl fmt::Debug for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("RpcError");
        f.field("code", &self.code);
        if !self.is_foreign {
            f.field("message", &self.message);
        }
        f.field("data", &self.data.as_ref().map(BytesMut::len)).finish()
    }
}

impl std::error::Error for RpcError {}

macro_rules! params_as {
    ($($type:ident),*) => {$(
        impl $type<'_> {
            /// Decodes the params. If there are none, `T` is decoded from `null`, so that an `Option` is `None`.
            ///
            /// # Errors
            ///
            /// The params don't fit `T`. The error is an answer to the request: "Invalid params", without serde's
            /// reason, which may quote the peer's text. To tell callers more, decode [`params`](Self::params).
            pub fn params_as<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
                let params = self.params().unwrap_or(RawJson::NULL);
                params.deserialize().map_err(|_| RpcError::invalid_params("Invalid params"))
            }
        }
    )*};
}

params_as!(Request, Notification);
