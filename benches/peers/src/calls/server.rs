//! The servers, each a process that serves its stdin and stdout: `peers --serve NAME`.

use std::io::{stdin, stdout};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt};
use rmcp::transport::{IntoTransport, stdio, stdio_pipes};
use rmcp::{ErrorData, ServerHandler};
use serde_json::Value;
use tokio::runtime::Builder;
use wireline::aio::Tokio;
use wireline::connection::Call;
use wireline::{RpcError, Rules, aio, io};
use wireline_rmcp::LineTransport;

use super::{Params, ToolResult, WORKS, lines_codec, proxy, stream, welcome};

/// Serves stdin and stdout until the input ends. The first of `roles` is what this process is; if it is a proxy, the
/// others are what it starts.
pub(crate) fn serve(roles: &[String]) -> Result<(), String> {
    let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
    match roles[..] {
        ["wireline-in-place"] => {
            return io::serve(stdin().lock(), stdout().lock(), Rules::mcp(), |call| answer(&call)).map_err(failed);
        }
        ["wireline-threads"] => {
            let (_, connection) = io::Connection::new(stdin().lock(), stdout(), Rules::mcp());
            return connection.serve(4, answer).map_err(failed);
        }
        _ => {}
    }
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    // In a task, as for a connection that a server has accepted.
    let served = async { tokio::spawn(serve_async(roles.iter().map(|role| (*role).to_owned()).collect())).await };
    let served = runtime.block_on(served).map_err(failed)?;
    // tokio waits for a blocked read of stdin otherwise.
    runtime.shutdown_background();
    served
}

async fn serve_async(roles: Vec<String>) -> Result<(), String> {
    let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
    match roles[..] {
        ["wireline"] => {
            let (input, output) = stream::stdio().map_err(failed)?;
            let (_, connection) = aio::Connection::new(Tokio(input), Tokio(output), Rules::mcp());
            connection.serve(async |call| answer(&call)).await.map_err(failed)
        }
        ["lines-codec"] => {
            let (input, output) = stream::stdio().map_err(failed)?;
            lines_codec::serve(input, output).await;
            Ok(())
        }
        ["rmcp"] if stream::is_socket() => rmcp(stream::stdio().map_err(failed)?).await,
        ["rmcp"] => rmcp(stdio_pipes()).await,
        ["rmcp-blocking"] => rmcp(stdio()).await,
        ["wireline-rmcp"] if stream::is_socket() => {
            let (input, output) = stream::stdio().map_err(failed)?;
            rmcp(LineTransport::new(input, output)).await
        }
        ["wireline-rmcp"] => rmcp(wireline_rmcp::stdio().map_err(failed)?).await,
        #[cfg(feature = "jsonrpsee")]
        ["jsonrpsee"] => super::jsonrpsee::serve().await,
        ["wireline-proxy", ref server @ ..] => proxy::wireline(server).await,
        ["lines-codec-proxy", ref server @ ..] => proxy::lines_codec(server).await,
        ["rmcp-proxy", ref server @ ..] => proxy::rmcp(server).await,
        ["wireline-rmcp-proxy", ref server @ ..] => proxy::wireline_rmcp(server).await,
        _ => Err(format!("no server is called {}", roles.join(" "))),
    }
}

pub(super) fn failed(error: impl std::fmt::Display) -> String {
    format!("a server failed: {error}")
}

/// What every server on a connection of wireline answers.
fn answer(call: &Call<'_>) -> Result<Answer, RpcError> {
    match call.method() {
        "tools/call" => Ok(Answer::Tool(ToolResult::of(call.params::<Params<String>>()?))),
        "initialize" => Ok(Answer::Welcome(welcome(&call.params()?))),
        "notifications/initialized" => Ok(Answer::Welcome(Value::Null)),
        _ => Err(RpcError::method_not_found()),
    }
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Answer {
    Tool(ToolResult),
    Welcome(Value),
}

struct Tools;

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        info()
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        assert_eq!(params.name, "echo");
        let text = params.arguments.and_then(|mut arguments| match arguments.remove("text") {
            Some(Value::String(text)) => Some(text),
            _ => None,
        });
        let text = text.ok_or_else(|| ErrorData::invalid_params("expected a text", None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

pub(super) fn info() -> ServerConfig {
    ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
}

async fn rmcp<E, A>(transport: impl IntoTransport<RoleServer, E, A>) -> Result<(), String>
where
    E: std::error::Error + Send + Sync + 'static,
{
    Tools.serve(transport).await.map_err(failed)?.waiting().await.expect(WORKS);
    Ok(())
}
