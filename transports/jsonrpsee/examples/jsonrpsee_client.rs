//! A client of a server that it starts as a child process: calls, a batch, a notification and a subscription.
//!
//! ```console
//! cargo run -p wireline-jsonrpsee --example jsonrpsee_client
//! ```
//!
//! The server is the same program, started with `--serve`. It prints a line to stdout that isn't a message, as servers do.

use std::env;
use std::time::Duration;

use jsonrpsee_core::client::{Client, ClientT, Error, Subscription, SubscriptionClientT};
use jsonrpsee_core::params::BatchRequestBuilder;
use jsonrpsee_core::rpc_params;
use tokio::process::Command;
use tokio::time::timeout;
use wireline_jsonrpsee::ChildProcess;

#[path = "support/server.rs"]
mod server;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    if env::args().nth(1).as_deref() == Some("--serve") {
        return Ok(server::run()?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { timeout(Duration::from_secs(30), run()).await? })
}

async fn run() -> Result<()> {
    let server = ChildProcess::spawn(Command::new(env::current_exe()?).arg("--serve"))?
        .on_incident(|incident| eprintln!("({incident})"));
    let exited = server.exited();
    let (sender, receiver) = server.split();
    let client = Client::builder().build_with_tokio(sender, receiver);

    let sum: i64 = client.request("add", rpc_params![1, 2]).await?;
    println!("1 + 2 = {sum}");

    let mut batch = BatchRequestBuilder::new();
    for i in 0..3 {
        batch.insert("add", rpc_params![i, i])?;
    }
    let sums: Vec<i64> = client.batch_request(batch).await?.into_iter().flatten().collect();
    println!("doubled: {sums:?}");

    match client.request::<i64, _>("divide", rpc_params![1, 0]).await {
        Err(Error::Call(error)) => println!("error {}: {}", error.code(), error.message()),
        other => println!("expected an error, got {other:?}"),
    }

    // jsonrpsee writes `"params":null` here, which the transport leaves out.
    client.notification("ready", rpc_params![]).await?;

    let mut ticks: Subscription<u64> = client.subscribe("count", rpc_params![3], "stop").await?;
    while let Some(tick) = ticks.next().await {
        let tick = tick?;
        println!("tick {tick}");
        if tick == 3 {
            break;
        }
    }
    ticks.unsubscribe().await?;

    drop(client);
    if let Some(status) = exited.await {
        println!("the server has exited ({status})");
    }
    Ok(())
}
