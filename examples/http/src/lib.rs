//! JSON-RPC over HTTP and WebSocket on axum: one POST endpoint and one WebSocket, with wireline between the bytes and
//! the methods.
//!
//! [`router`] and the private modules are the part to copy into your own program.

mod exchange;
pub mod methods;
mod post;
mod socket;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use serde::Serialize;
use wireline::Rules;

pub use exchange::{Call, Methods};
pub use post::Function;

/// Serves `methods` by POST on `/` and by WebSocket on `/ws`.
pub fn router<M: Methods>(methods: M, rules: Rules) -> Router {
    let endpoint = post::Endpoint { methods, rules };
    Router::new()
        .route("/", post(post::answer::<M>))
        .route("/ws", get(socket::upgrade::<M>))
        .layer(DefaultBodyLimit::max(rules.settings().max_line_len))
        .with_state(endpoint)
}

/// Serves a function that may block, by POST on `/blocking`.
pub fn blocking<T: Serialize + 'static>(function: Function<T>, rules: Rules) -> Router {
    Router::new()
        .route("/blocking", post(post::answer_blocking::<T>))
        .layer(DefaultBodyLimit::max(rules.settings().max_line_len))
        .with_state((function, rules))
}
