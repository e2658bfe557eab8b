//! The error object of a response that is to be sent.

use std::borrow::Cow;
use std::fmt;

use crate::encode::error::EncodeError;
use crate::encode::payload::{self, Payload};

/// What went wrong with a request: the error object of the response to it.
///
/// JSON-RPC 2.0 keeps the codes from -32768 to -32000 for itself; of those, -32099 to -32000 are for servers to define.
/// Any other integer is the application's.
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
    /// JSON text.
    data: Option<Vec<u8>>,
}

impl RpcError {
    /// -32700: what was received is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// -32600: what was received is JSON, but no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// -32601: there is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// -32602: the method does not take such params.
    pub const INVALID_PARAMS: i64 = -32602;
    /// -32603: the receiver failed.
    pub const INTERNAL_ERROR: i64 = -32603;

    /// An error with a code and a message of your own.
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The error -32600: the request is JSON, but not one that can be served; say why.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    /// The error -32601: there is no such method.
    pub fn method_not_found() -> Self {
        Self::new(Self::METHOD_NOT_FOUND, "Method not found")
    }

    /// The error -32602: the method does not take such params; say what it takes.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// The error -32603: something failed that is not the caller's business.
    pub fn internal() -> Self {
        Self::new(Self::INTERNAL_ERROR, "Internal error")
    }

    /// The same error with data for the caller, typed or [raw](crate::RawJson).
    ///
    /// # Errors
    ///
    /// The data cannot be written as JSON.
    pub fn with_data(mut self, data: &(impl Payload + ?Sized)) -> Result<Self, EncodeError> {
        self.data = Some(payload::to_json(data)?);
        Ok(self)
    }

    /// The code.
    pub fn code(&self) -> i64 {
        self.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The data as JSON text, if there is any.
    pub(crate) fn data(&self) -> Option<&[u8]> {
        self.data.as_deref()
    }
}

/// The code and the message, which are the program's own words.
impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl fmt::Debug for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("RpcError");
        f.field("code", &self.code).field("message", &self.message);
        f.field("data", &self.data.as_ref().map(Vec::len)).finish()
    }
}

impl std::error::Error for RpcError {}
