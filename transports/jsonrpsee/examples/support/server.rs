//! A small server on stdin and stdout: `add`, and a subscription, `count`.

use std::io;

use serde_json::json;
use wireline_jsonrpsee::wireline::connection::Event;
use wireline_jsonrpsee::wireline::io::Connection;
use wireline_jsonrpsee::wireline::{RpcError, Rules};

pub(crate) fn run() -> io::Result<()> {
    println!("server started"); // where it doesn't belong
    let (peer, mut connection) = Connection::new(io::stdin().lock(), io::stdout(), Rules::json_rpc());
    while let Some(event) = connection.next()? {
        let Event::Request(request, ticket) = event else { continue };
        match &*request.method() {
            "add" => ticket.settle(request.params_as::<(i64, i64)>().map(|(a, b)| a + b)),
            "count" => {
                let [last] = request.params_as().unwrap_or([0_u64]);
                ticket.respond("counter");
                // A real server would do this in a thread of its own, until it is told to stop.
                for tick in 1..=last {
                    let params = json!({"subscription": "counter", "result": tick});
                    peer.notify("tick", &params).wait().map_err(io::Error::other)?;
                }
            }
            "stop" => ticket.respond(&true),
            _ => ticket.fail(&RpcError::method_not_found()),
        }
    }
    Ok(())
}
