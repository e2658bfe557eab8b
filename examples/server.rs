//! A calculator on stdin and stdout.
//!
//! ```console
//! $ echo '{"jsonrpc":"2.0","id":1,"method":"divide","params":[1,3]}' | cargo run -q --example server
//! {"jsonrpc":"2.0","id":1,"result":0.3333333333333333}
//! ```
//!
//! Also try bad input: noise, half a message, a batch with a bad entry, `divide` with `[1,0]`, `multiply` with
//! `[1e308,10]`.

use std::io::{stdin, stdout};

use wireline::connection::Call;
use wireline::io::serve;
use wireline::{RpcError, Rules};

fn main() -> std::io::Result<()> {
    serve(stdin().lock(), stdout().lock(), Rules::json_rpc(), calculate)
}

fn calculate(call: Call<'_>) -> Result<f64, RpcError> {
    let operation: fn(f64, f64) -> f64 = match call.method() {
        "add" => |a, b| a + b,
        "subtract" => |a, b| a - b,
        "multiply" => |a, b| a * b,
        "divide" => |a, b| a / b,
        _ => return Err(RpcError::method_not_found()),
    };
    let (a, b) = call.params()?;
    // JSON has no infinity or NaN. Returning one would be answered with an internal error; this error says more.
    Some(operation(a, b))
        .filter(|result| result.is_finite())
        .ok_or_else(|| RpcError::new(1, "the result is not a finite number"))
}
