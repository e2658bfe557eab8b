//! An rmcp server with three tools.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolRequestParams, ServerCapabilities, ServerConfig};
use rmcp::service::{Peer, ServiceError};
use rmcp::{RoleClient, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Debug, Default)]
pub struct Tools;

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Length {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Repeat {
    text: String,
    times: usize,
}

#[tool_router]
impl Tools {
    #[tool(description = "The sum of two integers")]
    fn sum(&self, Parameters(Sum { a, b }): Parameters<Sum>) -> String {
        a.saturating_add(b).to_string()
    }

    #[tool(description = "The length of a text in bytes")]
    fn length(&self, Parameters(Length { text }): Parameters<Length>) -> String {
        text.len().to_string()
    }

    #[tool(description = "A text, repeated")]
    fn repeat(&self, Parameters(Repeat { text, times }): Parameters<Repeat>) -> String {
        text.repeat(times)
    }
}

#[tool_handler]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

/// Calls a tool and returns the text of its answer.
pub async fn call(client: &Peer<RoleClient>, tool: &'static str, arguments: Value) -> Result<String, ServiceError> {
    let mut params = CallToolRequestParams::new(tool);
    if let Value::Object(arguments) = arguments {
        params = params.with_arguments(arguments);
    }
    let result = client.call_tool(params).await?;
    Ok(result.content.iter().filter_map(|content| content.as_text()).map(|text| text.text.as_str()).collect())
}
