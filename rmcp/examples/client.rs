//! A client that starts a server, lists its tools, and adds two numbers if there is a tool for that.
//!
//! ```console
//! cargo run --example client -- cargo run --quiet --example server
//! ```

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use serde_json::json;
use tokio::process::Command;
use wireline_rmcp::ChildProcess;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let program = args.next().ok_or("usage: client SERVER [ARGUMENT...]")?;
    let server = ChildProcess::spawn(Command::new(program).args(args))?.on_incident(|incident| eprintln!("{incident}"));

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
