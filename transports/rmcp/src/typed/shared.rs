//! Compiles the code that serde derives for rmcp's messages here, once, and not again in each program.
//!
//! It is most of what a small program on rmcp takes to compile. Only unoptimised builds share generic code of other crates.

use rmcp::model::{
    ClientNotification, ClientRequest, ClientResult, JsonRpcMessage, ServerNotification, ServerRequest, ServerResult,
};
use serde_json::Error;
use wireline::{EncodeError, Encoder, RawJson};

type Decode<T> = fn(&RawJson<'_>) -> Result<T, Error>;

#[used]
static TO_SERVERS: (Decode<ClientRequest>, Decode<ClientNotification>, Decode<ClientResult>) =
    (|json| json.deserialize(), |json| json.deserialize(), |json| json.deserialize());

#[used]
static TO_CLIENTS: (Decode<ServerRequest>, Decode<ServerNotification>, Decode<ServerResult>) =
    (|json| json.deserialize(), |json| json.deserialize(), |json| json.deserialize());

type Encode<T> = fn(&mut Encoder<'_>, &T) -> Result<(), EncodeError>;

#[used]
static FROM_CLIENTS: Encode<JsonRpcMessage<ClientRequest, ClientResult, ClientNotification>> =
    |encoder, message| encoder.message(message);

#[used]
static FROM_SERVERS: Encode<JsonRpcMessage<ServerRequest, ServerResult, ServerNotification>> =
    |encoder, message| encoder.message(message);
