//! A server on standard input and output, with a tool that prints where it should not.
//!
//! ```console
//! cargo run --example client -- cargo run --quiet --example server
//! ```

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

struct Calculator;

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: f64,
    b: f64,
}

#[tool_router]
impl Calculator {
    #[tool(description = "Adds two numbers")]
    fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> String {
        println!("adding {a} and {b}"); // goes to stderr
        (a + b).to_string()
    }
}

#[tool_handler]
impl ServerHandler for Calculator {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let transport = wireline_rmcp::stdio()?.on_incident(|incident| eprintln!("{incident}"));
    Calculator.serve(transport).await?.waiting().await?;
    Ok(())
}
