//! An agent on standard input and output, with tokio. It counts the lines of the files it is asked about, and reads them
//! through its client, as an agent should.
//!
//! ```console
//! cargo run --manifest-path transports/acp/Cargo.toml --example acp_client    # with this as its agent
//! ```

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, Implementation, InitializeRequest, InitializeResponse, NewSessionRequest,
    NewSessionResponse, PromptRequest, PromptResponse, ReadTextFileRequest, SessionId, SessionNotification,
    SessionUpdate, StopReason, TextContent,
};
use agent_client_protocol::{Agent, Client, ConnectTo, Error, on_receive_request};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let transport = wireline_acp::stdio()?;
    println!("a stray print, which goes to stderr because the transport has claimed stdout");
    serve(transport).await?;
    Ok(())
}

/// Serves one client until it hangs up.
pub(crate) async fn serve(client: impl ConnectTo<Agent>) -> Result<(), Error> {
    let sessions = AtomicUsize::new(0);
    Agent
        .v1()
        .name("line counter")
        .on_receive_request(
            async |initialize: InitializeRequest, responder, _| {
                let info = Implementation::new("line-counter", env!("CARGO_PKG_VERSION"));
                responder.respond(InitializeResponse::new(initialize.protocol_version).agent_info(info))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_: NewSessionRequest, responder, _| {
                let number = sessions.fetch_add(1, Ordering::Relaxed) + 1;
                responder.respond(NewSessionResponse::new(format!("session-{number}")))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async |prompt: PromptRequest, responder, connection: ConnectionTo<Client>| {
                // In its own task, because answering requires more messages from the client.
                connection.clone().spawn(async move {
                    match answer(&prompt, &connection).await {
                        Ok(()) => responder.respond(PromptResponse::new(StopReason::EndTurn)),
                        Err(error) => responder.respond_with_error(error),
                    }
                })
            },
            on_receive_request!(),
        )
        .connect_to(client)
        .await
}

async fn answer(prompt: &PromptRequest, connection: &ConnectionTo<Client>) -> Result<(), Error> {
    let session = &prompt.session_id;
    let mut found = false;
    for block in &prompt.prompt {
        let ContentBlock::ResourceLink(link) = block else { continue };
        let Some(path) = link.uri.strip_prefix("file://") else { continue };
        found = true;
        say(session, &format!("Reading {}.\n", link.name), connection)?;
        let request = ReadTextFileRequest::new(session.clone(), Path::new(path));
        let file = connection.send_request(request).block_task().await?;
        let (lines, blank) =
            (file.content.lines().count(), file.content.lines().filter(|line| line.trim().is_empty()).count());
        say(session, &format!("{} has {lines} lines, {blank} of them blank.\n", link.name), connection)?;
    }
    if !found {
        say(session, "Send me a link to a file, and I count its lines.\n", connection)?;
    }
    Ok(())
}

fn say(session: &SessionId, text: &str, connection: &ConnectionTo<Client>) -> Result<(), Error> {
    let chunk = ContentChunk::new(ContentBlock::Text(TextContent::new(text)));
    connection.send_notification(SessionNotification::new(session.clone(), SessionUpdate::AgentMessageChunk(chunk)))
}
