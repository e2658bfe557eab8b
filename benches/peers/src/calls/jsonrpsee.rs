//! jsonrpsee, which has no transport for pipes: WebSocket over loopback. The server writes its address to stdout.

use std::sync::Arc;

use jsonrpsee::RpcModule;
use jsonrpsee::client_transport::ws::{Url, WsTransportClientBuilder};
use jsonrpsee::core::client::{Client, ClientBuilder, ClientT};
use jsonrpsee::core::params::ObjectParams;
use jsonrpsee::server::Server;
use jsonrpsee::types::ErrorObjectOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::server::failed;
use super::stream::{self, Input, Output};
use super::{BoxFuture, Call, Params, ToolResult, WORKS};

pub(super) fn client((input, output): (Input, Output)) -> BoxFuture<Arc<Call>> {
    Box::pin(async {
        let mut address = String::new();
        BufReader::new(input).read_line(&mut address).await.expect(WORKS);
        let url = Url::parse(&format!("ws://{}", address.trim())).expect("the server writes its address");
        let (sender, receiver) = WsTransportClientBuilder::default().build(url).await.expect(WORKS);
        let client: Client = ClientBuilder::default().build_with_tokio(sender, receiver);
        // The server ends with its stdin.
        let client = Arc::new((client, output));
        let call: Arc<Call> = Arc::new(move |text| {
            let client = Arc::clone(&client);
            Box::pin(async move {
                let Params { name, arguments } = Params::new(text);
                let mut params = ObjectParams::new();
                params.insert("name", name).expect(WORKS);
                params.insert("arguments", arguments).expect(WORKS);
                client.0.request::<ToolResult, _>("tools/call", params).await.expect(WORKS).into_text()
            })
        });
        call
    })
}

pub(super) async fn serve() -> Result<(), String> {
    let (mut input, mut output) = stream::stdio().map_err(failed)?;
    let mut module = RpcModule::new(());
    let registered = module.register_method("tools/call", |params, (), _| {
        Ok::<_, ErrorObjectOwned>(ToolResult::of(params.parse::<Params<String>>()?))
    });
    registered.map_err(failed)?;
    let server = Server::builder().build("127.0.0.1:0").await.map_err(failed)?;
    let address = format!("{}\n", server.local_addr().map_err(failed)?);
    let running = server.start(module);
    output.write_all(address.as_bytes()).await.map_err(failed)?;
    input.read_to_end(&mut Vec::new()).await.map_err(failed)?;
    running.stop().map_err(failed)
}
