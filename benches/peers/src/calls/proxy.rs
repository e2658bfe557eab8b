//! The proxies, each a process between a client and a server that it has started. They give requests ids of their own,
//! as a proxy must that has several clients, and pass on everything else.

use std::collections::HashMap;
use std::process::Child;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ServerConfig};
use rmcp::service::{Peer, RequestContext, RoleClient, RoleServer, ServiceExt};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{IntoTransport, stdio_pipes};
use rmcp::{ErrorData, ServerHandler};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};
use wireline::Rules;
use wireline::aio::{Connection, Tokio};
use wireline::connection::Event;
use wireline_rmcp::LineTransport;

use super::lines_codec::{Answer, Request, Response, write};
use super::server::{failed, info};
use super::{WORKS, stream};

/// The server ends with its input, which the proxy has closed by now.
fn wait(mut server: Child) -> Result<(), String> {
    server.wait().map(drop).map_err(failed)
}

pub(super) async fn wireline(server: &[&str]) -> Result<(), String> {
    let (child, (input, output)) = stream::start(server, false).map_err(failed)?;
    let (server, connection) = Connection::new(Tokio(input), Tokio(output), Rules::mcp());
    let running = tokio::spawn(connection.run());
    let (input, output) = stream::stdio().map_err(failed)?;
    let (_, mut client) = Connection::new(Tokio(input), Tokio(output), Rules::mcp());
    while let Some(event) = client.next().await.map_err(failed)? {
        match event {
            Event::Request(request, ticket) => {
                let reply = server.relay(&request);
                tokio::spawn(async move { ticket.relay(&reply.response().await.expect(WORKS)) });
            }
            Event::Notification(notification) => drop(server.forward(&notification)),
            _ => {}
        }
    }
    server.end();
    running.await.map_err(failed)?.map_err(failed)?;
    wait(child)
}

pub(super) async fn lines_codec(server: &[&str]) -> Result<(), String> {
    const VALID: &str = "both sides send valid messages";

    let (child, (input, output)) = stream::start(server, false).map_err(failed)?;
    let (to_server, outbox) = mpsc::channel(1000);
    let writing = tokio::spawn(write(outbox, FramedWrite::new(output, LinesCodec::new())));
    let mut answers = FramedRead::new(input, LinesCodec::new());
    let (input, output) = stream::stdio().map_err(failed)?;
    let (to_client, outbox) = mpsc::channel(1000);
    tokio::spawn(write(outbox, FramedWrite::new(output, LinesCodec::new())));
    // The client's id of each request.
    let ids: Arc<Mutex<HashMap<i64, i64>>> = Arc::default();
    let waiting = Arc::clone(&ids);
    let answering = tokio::spawn(async move {
        while let Some(line) = answers.next().await {
            let line = line.expect(WORKS);
            let answer: Answer<'_> = serde_json::from_str(&line).expect(VALID);
            let id = waiting.lock().expect(WORKS).remove(&answer.id).expect("an answer to a request");
            let answer = Response { jsonrpc: "2.0", id, result: answer.result };
            to_client.send(serde_json::to_string(&answer).expect(VALID)).await.expect(WORKS);
        }
    });
    let next_id = AtomicI64::new(1);
    let mut lines = FramedRead::new(input, LinesCodec::new());
    while let Some(line) = lines.next().await {
        let line = line.map_err(failed)?;
        let mut request: Request<'_, &RawValue> = serde_json::from_str(&line).expect(VALID);
        if let Some(id) = &mut request.id {
            let new = next_id.fetch_add(1, Ordering::Relaxed);
            ids.lock().expect(WORKS).insert(new, *id);
            *id = new;
        }
        to_server.send(serde_json::to_string(&request).expect(VALID)).await.expect(WORKS);
    }
    drop(to_server);
    writing.await.map_err(failed)?;
    answering.await.map_err(failed)?;
    wait(child)
}

/// A server of rmcp that calls the tools of another.
struct Proxy(Peer<RoleClient>);

impl ServerHandler for Proxy {
    fn get_info(&self) -> ServerConfig {
        info()
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = self.0.call_tool(params).await;
        result.map(Into::into).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

pub(super) async fn rmcp(server: &[&str]) -> Result<(), String> {
    let (child, (input, output)) = stream::start(server, false).map_err(failed)?;
    between(stdio_pipes(), AsyncRwTransport::new_client(input, output)).await?;
    wait(child)
}

pub(super) async fn wireline_rmcp(server: &[&str]) -> Result<(), String> {
    let (child, (input, output)) = stream::start(server, false).map_err(failed)?;
    between(wireline_rmcp::stdio().map_err(failed)?, LineTransport::new(input, output)).await?;
    wait(child)
}

async fn between<E, F, A, B>(
    client: impl IntoTransport<RoleServer, E, A>,
    server: impl IntoTransport<RoleClient, F, B>,
) -> Result<(), String>
where
    E: std::error::Error + Send + Sync + 'static,
    F: std::error::Error + Send + Sync + 'static,
{
    let server = ().serve(server).await.map_err(failed)?;
    Proxy(server.peer().clone()).serve(client).await.map_err(failed)?.waiting().await.map_err(failed)?;
    server.cancel().await.map(drop).map_err(failed)
}
