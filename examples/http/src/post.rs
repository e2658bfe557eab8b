//! One POST, one message or batch.
//!
//! | body | status | answer |
//! |---|---|---|
//! | requests, alone or in a batch | 200 | their responses, errors included: the call went through |
//! | only notifications or responses | 202 | empty |
//! | not a message | 400 | a JSON-RPC error, or empty if it looks like a response |
//! | too long | 413 | a JSON-RPC error |
//! | not declared as JSON | 415 | a JSON-RPC error |
//!
//! JSON-RPC doesn't say which status goes with which error. Most servers agree on 200 for the outcome of a call. MCP
//! servers send 400 for a body that isn't a message, which lets proxies and monitoring tell broken clients from failed
//! calls. A page from another origin can't send `application/json` without a CORS preflight, so 415 keeps it out.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use wireline::{Frame, Id, RpcError, Rules, io, to_line};

use crate::exchange::{self, Methods};

#[derive(Clone)]
pub(crate) struct Endpoint<M> {
    pub(crate) methods: M,
    pub(crate) rules: Rules,
}

pub(crate) async fn answer<M: Methods>(
    State(Endpoint { methods, rules }): State<Endpoint<M>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match read(&headers, body) {
        Ok(body) => body,
        Err((status, message)) => return refuse(status, message, &rules),
    };
    // The frame shares the body's bytes, whether they are on one line or many, so nothing is copied.
    let frame = match Frame::from_bytes(body, &rules) {
        Ok(frame) => frame,
        Err(fault) => {
            let reply = fault.reply().map(|reply| reply.to_string());
            return respond(StatusCode::BAD_REQUEST, reply.map(Body::from));
        }
    };
    match exchange::answer(frame, &rules, &methods).await {
        Some(answers) => respond(StatusCode::OK, Some(Body::from(answers))),
        None => respond(StatusCode::ACCEPTED, None),
    }
}

/// The same with `io::answer`, for methods that are ordinary functions. It is shorter, but can't tell a failed call
/// from a body that isn't a message: both are answered with 200.
pub(crate) async fn answer_blocking<T: Serialize + 'static>(
    State((function, rules)): State<(Function<T>, Rules)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let body = match read(&headers, body) {
        Ok(body) => body,
        Err((status, message)) => return refuse(status, message, &rules),
    };
    // On a thread that may block.
    match tokio::task::spawn_blocking(move || io::answer(&body, &rules, function)).await {
        Ok(Some(answer)) => respond(StatusCode::OK, Some(Body::from(answer))),
        Ok(None) => respond(StatusCode::ACCEPTED, None),
        Err(_) => respond(StatusCode::INTERNAL_SERVER_ERROR, None), // the runtime is shutting down
    }
}

/// A handler for `io::answer`.
pub type Function<T> = fn(wireline::connection::Call<'_>) -> Result<T, RpcError>;

fn read(headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Bytes, (StatusCode, &'static str)> {
    if !is_json(headers) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json"));
    }
    body.map_err(|rejection| match rejection.status() {
        status @ StatusCode::PAYLOAD_TOO_LARGE => (status, "Request too long"),
        status => (status, "Request body could not be read"),
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}

/// A JSON-RPC error for a request that wasn't read.
fn refuse(status: StatusCode, message: &'static str, rules: &Rules) -> Response {
    let error = to_line(rules, |encoder| encoder.error(&Id::NULL, &RpcError::invalid_request(message)));
    respond(status, error.ok().map(|line| Body::from(line.into_message())))
}

fn respond(status: StatusCode, body: Option<Body>) -> Response {
    match body {
        Some(body) => (status, [(CONTENT_TYPE, "application/json")], body).into_response(),
        None => status.into_response(),
    }
}
