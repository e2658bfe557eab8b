//! A small calculator.

use std::time::Duration;

use serde_json::{Value, json};
use wireline::RpcError;

use crate::exchange::{Call, Methods};

/// `add` two numbers, `sleep` for some milliseconds, count the `primes` below a number.
#[derive(Clone, Copy, Debug)]
pub struct Calculator;

impl Methods for Calculator {
    type Output = Value;

    async fn call(&self, call: Call) -> Result<Value, RpcError> {
        match &*call.method() {
            "add" => {
                let (a, b): (i64, i64) = params(&call)?;
                a.checked_add(b).map(|sum| json!(sum)).ok_or_else(|| RpcError::invalid_params("the sum is too large"))
            }
            "sleep" => {
                let [milliseconds]: [u64; 1] = params(&call)?;
                tokio::time::sleep(Duration::from_millis(milliseconds.min(10_000))).await;
                Ok(json!(milliseconds))
            }
            "primes" => {
                let [below]: [u32; 1] = params(&call)?;
                if below > 10_000_000 {
                    return Err(RpcError::invalid_params("too large"));
                }
                // It is CPU-bound, so it must not run on a thread of the runtime.
                let count = tokio::task::spawn_blocking(move || primes(below)).await;
                count.map(|count| json!(count)).map_err(|_| RpcError::internal())
            }
            _ => Err(RpcError::method_not_found()),
        }
    }
}

fn params<T: serde::de::DeserializeOwned>(call: &Call) -> Result<T, RpcError> {
    let params = call.params().and_then(|params| params.deserialize().ok());
    params.ok_or_else(|| RpcError::invalid_params("Invalid params"))
}

/// `primes` as an ordinary function, which computes on whatever thread calls it.
///
/// # Errors
///
/// The error to answer the caller with.
pub fn compute(call: wireline::connection::Call<'_>) -> Result<usize, RpcError> {
    match call.method() {
        "primes" => match call.params::<[u32; 1]>()? {
            [below @ ..10_000_000] => Ok(primes(below)),
            _ => Err(RpcError::invalid_params("too large")),
        },
        _ => Err(RpcError::method_not_found()),
    }
}

/// How many primes are below `end`, by the sieve of Eratosthenes.
fn primes(end: u32) -> usize {
    let end = end as usize;
    let mut composite = vec![false; end];
    for n in (2..end).take_while(|n| n * n < end) {
        if !composite[n] {
            (n * n..end).step_by(n).for_each(|multiple| composite[multiple] = true);
        }
    }
    (2..end).filter(|&n| !composite[n]).count()
}
