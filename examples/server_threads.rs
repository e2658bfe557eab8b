//! A server with a pool of worker threads, on stdin and stdout.
//!
//! ```console
//! $ cargo run -q --features stdio --example server_threads <<'END'
//! {"jsonrpc":"2.0","id":1,"method":"sleep","params":[300]}
//! {"jsonrpc":"2.0","id":2,"method":"sleep","params":[100]}
//! {"jsonrpc":"2.0","id":3,"method":"sleep","params":[1000]}
//! {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}}
//! END
//! {"jsonrpc":"2.0","id":3,"error":{"code":-32800,"message":"Request cancelled"}}
//! {"jsonrpc":"2.0","id":2,"result":100.0}
//! {"jsonrpc":"2.0","id":1,"result":300.0}
//! ```
//!
//! Answers are sent as they are ready, in any order; those to a batch leave together. Requests can be cancelled, have a
//! deadline, and are refused when too many are in flight. At the end of the input, those in flight get some time to
//! finish. Each request gets exactly one answer, even if its worker panics, as the method `panic` does. For results
//! that JSON can't express, try `divide` with `[1,0]`.
//!
//! A thread can't be stopped from outside, so a long-running method checks whether to stop. `block` doesn't; it is
//! answered at its deadline all the same, but keeps its worker.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use wireline::connection::{Call, Config};
use wireline::io::Connection;
use wireline::{RpcError, Rules};

const WORKERS: usize = 4;
/// Requests that are being worked on or wait for a worker. Further ones are refused.
const IN_FLIGHT: usize = 16;
/// How long a request may take, from its arrival on.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long requests may run after the end of the input.
const GRACE: Duration = Duration::from_secs(1);

fn main() -> io::Result<()> {
    let config = Config::new(Rules::json_rpc()).in_flight(IN_FLIGHT);
    let (_, connection) = Connection::stdio(config)?;
    connection.deadline(TIMEOUT).grace(GRACE).serve(WORKERS, answer)
}

fn answer(call: &Call<'_>) -> Result<f64, RpcError> {
    let start = Instant::now();
    match call.method() {
        "divide" => call.params().map(|[a, b]: [f64; 2]| a / b),
        "sleep" => {
            let [ms]: [u32; 1] = call.params()?;
            while start.elapsed() < Duration::from_millis(ms.into()) {
                if call.is_cancelled() {
                    return Err(RpcError::new(-32800, "Request cancelled"));
                }
                sleep(Duration::from_millis(5));
            }
            Ok(ms.into())
        }
        "block" => {
            let [ms]: [u32; 1] = call.params()?;
            sleep(Duration::from_millis(ms.into()));
            Ok(ms.into())
        }
        "panic" => panic!("as requested"),
        _ => Err(RpcError::method_not_found()),
    }
}
