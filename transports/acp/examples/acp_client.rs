//! A client that starts an agent, with smol. It asks the agent about one file, and lets it read that file and no other.
//!
//! ```console
//! cargo run --manifest-path transports/acp/Cargo.toml --example acp_client                # with acp_agent.rs as its agent
//! cargo run --manifest-path transports/acp/Cargo.toml --example acp_client -- my-agent    # with any other
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, ContentBlock, FileSystemCapabilities, InitializeRequest, NewSessionRequest, PromptRequest,
    ReadTextFileRequest, ReadTextFileResponse, ResourceLink, SessionNotification, SessionUpdate, StopReason,
    TextContent,
};
use agent_client_protocol::{Agent, Client, ConnectTo, Error, on_receive_notification, on_receive_request};
use wireline_acp::ChildProcess;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args: Vec<_> = std::env::args().skip(1).collect();
    if args.is_empty() {
        let run = ["cargo", "run", "--quiet", "--manifest-path", FILE, "--example", "acp_agent"];
        args = run.map(str::to_owned).to_vec();
    }
    let agent = ChildProcess::spawn(Command::new(&args[0]).args(&args[1..]))?;
    let agent = agent.on_incident(|incident| eprintln!("{incident}"));
    smol::block_on(converse(agent, FILE.into(), |text| println!("{text}")))?;
    Ok(())
}

/// Has a conversation about `file`, and passes each part of it to `show`.
pub(crate) async fn converse(
    agent: impl ConnectTo<Client>,
    file: PathBuf,
    show: impl Fn(&str) + Clone + Send + Sync + 'static,
) -> Result<StopReason, Error> {
    let (offered, say) = (file.clone(), show.clone());
    Client
        .v1()
        .name("client")
        .on_receive_notification(
            async move |note: SessionNotification, _| {
                if let SessionUpdate::AgentMessageChunk(chunk) = note.update {
                    if let ContentBlock::Text(text) = chunk.content {
                        say(&format!("agent: {}", text.text.trim_end()));
                    }
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: ReadTextFileRequest, responder, _| {
                if request.path != offered {
                    return responder.respond_with_error(Error::invalid_params().data("not the file of this session"));
                }
                match std::fs::read_to_string(&offered) {
                    Ok(content) => responder.respond(ReadTextFileResponse::new(content)),
                    Err(error) => responder.respond_with_error(Error::into_internal_error(error)),
                }
            },
            on_receive_request!(),
        )
        .connect_with(agent, async move |connection: ConnectionTo<Agent>| {
            let can_read = ClientCapabilities::new().fs(FileSystemCapabilities::new().read_text_file(true));
            let initialize = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(can_read);
            let agent = connection.send_request(initialize).block_task().await?;
            if let Some(info) = agent.agent_info {
                show(&format!("connected to {} {}", info.name, info.version));
            }

            let folder = file.parent().unwrap_or(Path::new("/"));
            let session = connection.send_request(NewSessionRequest::new(folder)).block_task().await?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            show(&format!("you: how many lines has {name}?"));
            let prompt = vec![
                ContentBlock::Text(TextContent::new("How many lines has this file?")),
                ContentBlock::ResourceLink(ResourceLink::new(name, format!("file://{}", file.display()))),
            ];
            let done = connection.send_request(PromptRequest::new(session.session_id, prompt)).block_task().await?;
            show(&format!("the turn ended: {:?}", done.stop_reason));
            Ok(done.stop_reason)
        })
        .await
}
