//! A client that starts a server, lists its tools, and adds two numbers if there is a tool for that.
//!
//! ```console
//! cargo run -p wireline-rmcp --example rmcp_client                # with rmcp_server.rs as its server
//! cargo run -p wireline-rmcp --example rmcp_client -- my-server   # with any other
//! ```

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use serde_json::json;
use tokio::process::Command;
use wireline_rmcp::ChildProcess;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args: Vec<_> = std::env::args().skip(1).collect();
    if args.is_empty() {
        args =
            "cargo run --quiet --package wireline-rmcp --example rmcp_server".split(' ').map(str::to_owned).collect();
    }
    let server = ChildProcess::spawn(Command::new(&args[0]).args(&args[1..]))?;
    let server = server.on_incident(|incident| eprintln!("{incident}"));

    let client = ().serve(server).await?;
    for tool in client.list_all_tools().await? {
        println!("{}: {}", tool.name, tool.description.unwrap_or_default());
        if tool.name == "add" {
            let arguments = json!({"a": 19, "b": 23}).as_object().cloned().unwrap_or_default();
            let answer = client.call_tool(CallToolRequestParams::new("add").with_arguments(arguments)).await?;
            println!(
                "  19 + 23 = {}",
                answer.content.iter().filter_map(|c| c.as_text()).map(|t| &*t.text).collect::<String>()
            );
        }
    }
    client.cancel().await?;
    Ok(())
}
