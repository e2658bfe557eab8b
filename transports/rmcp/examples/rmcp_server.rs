//! A server on standard input and output, with a tool that prints where it should not.
//!
//! ```console
//! cargo run -p wireline-rmcp --example rmcp_client
//! ```
//!
//! `.ci/real-clients` runs the official Python and TypeScript clients against it.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig};
use rmcp::service::ServerInitializeError;
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

struct Tools;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: f64,
    b: f64,
}

#[tool_router]
impl Tools {
    #[tool(description = "Returns a text unchanged")]
    fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        text
    }

    #[tool(description = "Adds two numbers")]
    fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> CallToolResult {
        println!("adding {a} and {b}"); // goes to stderr
        let sum = a + b;
        if !sum.is_finite() {
            return CallToolResult::error(vec![ContentBlock::text("the sum is too large")]);
        }
        let mut result = CallToolResult::success(vec![ContentBlock::text(sum.to_string())]);
        result.structured_content = Some(json!({ "sum": sum }));
        result
    }
}

#[tool_handler]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("wireline-example", env!("CARGO_PKG_VERSION")))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let transport = wireline_rmcp::stdio()?.on_incident(|incident| eprintln!("{incident}"));
    match Tools.serve(transport).await {
        // A client that only asked what this server can do.
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        served => drop(served?.waiting().await?),
    }
    Ok(())
}
