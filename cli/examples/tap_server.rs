//! A small server to try `wireline tap` on: it answers `initialize` and `ping`, and knows no other method.
//!
//! ```console
//! $ cargo build --release -p wireline-cli --bins --examples
//! $ target/release/wireline tap -- target/release/examples/tap_server < examples/session.ndjson
//! ```

use std::io::{ErrorKind, stdin, stdout};

use serde_json::json;
use wireline::io::serve;
use wireline::{RpcError, Rules};

fn main() -> std::io::Result<()> {
    eprintln!("tap_server: ready");
    let served = serve(stdin().lock(), stdout().lock(), Rules::json_rpc(), |call| match call.method() {
        "initialize" => Ok(json!({ "serverInfo": { "name": "tap_server" } })),
        "ping" => Ok(json!({})),
        _ => Err(RpcError::method_not_found()),
    });
    match served {
        // The client has left without reading everything.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        served => served,
    }
}
