//! The clients. Each introduces itself and returns a function that calls the tool.

use std::sync::Arc;

use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, ServiceExt};
use rmcp::transport::IntoTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use wireline::Rules;
use wireline::aio::{Connection, Tokio};
use wireline_rmcp::LineTransport;

use super::stream::{Input, Output};
use super::{BoxFuture, Call, Params, ToolResult, WORKS, hello};

/// Starts a client on a stream.
pub(super) type Start = fn((Input, Output)) -> BoxFuture<Arc<Call>>;

pub(super) fn wireline((input, output): (Input, Output)) -> BoxFuture<Arc<Call>> {
    Box::pin(async {
        let (peer, connection) = Connection::new(Tokio(input), Tokio(output), Rules::mcp());
        tokio::spawn(connection.run());
        peer.call::<serde_json::Value>("initialize", &hello()).await.expect(WORKS);
        peer.notify("notifications/initialized", &()).await.expect(WORKS);
        let call: Arc<Call> = Arc::new(move |text| {
            let reply = peer.call::<ToolResult>("tools/call", &Params::new(text));
            Box::pin(async { reply.await.expect(WORKS).into_text() })
        });
        call
    })
}

pub(super) fn lines_codec((input, output): (Input, Output)) -> BoxFuture<Arc<Call>> {
    Box::pin(async {
        let client = super::lines_codec::Client::new(input, output);
        client.call::<_, serde_json::Value>("initialize", hello()).await;
        client.notify("notifications/initialized").await;
        let client = Arc::new(client);
        let call: Arc<Call> = Arc::new(move |text| {
            let client = Arc::clone(&client);
            Box::pin(async move { client.call::<_, ToolResult>("tools/call", Params::new(text)).await.into_text() })
        });
        call
    })
}

/// rmcp's own transport over streams.
pub(super) fn rmcp((input, output): (Input, Output)) -> BoxFuture<Arc<Call>> {
    rmcp_over(AsyncRwTransport::new_client(input, output))
}

pub(super) fn wireline_rmcp((input, output): (Input, Output)) -> BoxFuture<Arc<Call>> {
    rmcp_over(LineTransport::new(input, output))
}

fn rmcp_over<E, A>(transport: impl IntoTransport<RoleClient, E, A> + 'static) -> BoxFuture<Arc<Call>>
where
    E: std::error::Error + Send + Sync + 'static,
{
    Box::pin(async {
        let client = Arc::new(().serve(transport).await.expect(WORKS));
        let call: Arc<Call> = Arc::new(move |text| {
            let client = Arc::clone(&client);
            Box::pin(async move {
                let arguments = serde_json::Map::from_iter([("text".to_owned(), text.into())]);
                let params = CallToolRequestParams::new("echo").with_arguments(arguments);
                let result = client.call_tool(params).await.expect(WORKS);
                result.content[0].as_text().expect("a text").text.clone()
            })
        });
        call
    })
}
