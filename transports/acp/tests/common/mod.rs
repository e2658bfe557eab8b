//! What the tests share: agents, a peer that writes whatever it likes, and a limit on time.

use std::future::Future;
use std::time::Duration;

use agent_client_protocol::{ConnectTo, Dispatch, Error, UntypedRole, on_receive_dispatch};
use serde_json::{Value, json};
use smol::Timer;
use smol::future::or;
use smol::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use smol::net::unix::UnixStream;
use wireline_acp::wireline::Rules;
use wireline_acp::{Futures, LineTransport};

// The examples, whose conversations are tested.
#[allow(dead_code)]
#[path = "../../examples/acp_agent.rs"]
pub(crate) mod acp_agent;
#[allow(dead_code)]
#[path = "../../examples/acp_client.rs"]
pub(crate) mod acp_client;

/// Far more than anything here takes, whatever a peer does.
pub(crate) const HANG: Duration = Duration::from_secs(30);

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    smol::block_on(or(future, async {
        Timer::after(HANG).await;
        panic!("it hangs")
    }))
}

pub(crate) fn transport(stream: UnixStream, rules: Rules) -> LineTransport<Futures<UnixStream>, Futures<UnixStream>> {
    LineTransport::new(Futures(stream.clone()), Futures(stream)).rules(rules)
}

/// Answers each request with its method and params, and the number of notifications so far.
pub(crate) async fn echo(client: impl ConnectTo<UntypedRole>) -> Result<(), Error> {
    let mut notes = 0;
    UntypedRole
        .builder()
        .on_receive_dispatch(
            async move |dispatch: Dispatch, _| match dispatch {
                Dispatch::Request(request, responder) => {
                    responder.respond(json!({"method": request.method, "params": request.params, "notes": notes}))
                }
                Dispatch::Notification(_) => {
                    notes += 1;
                    Ok(())
                }
                Dispatch::Response(result, router) => router.route_with_result(result),
            },
            on_receive_dispatch!(),
        )
        .connect_to(client)
        .await
}

/// A peer that writes whatever bytes it likes.
pub(crate) struct Raw(BufReader<UnixStream>);

impl Raw {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).await.unwrap();
    }

    /// Says no more, but still reads.
    pub(crate) fn shut_down(&self) {
        self.0.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
    }

    /// The next line, or an empty string at the end.
    pub(crate) async fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).await.unwrap();
        line
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let line = self.line().await;
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line:?}"))
    }

    /// Receives a request for `method` and returns its id as JSON.
    pub(crate) async fn receive_request(&mut self, method: &str) -> String {
        let request = self.receive().await;
        assert_eq!(request["method"], method, "{request}");
        request["id"].to_string()
    }

    pub(crate) async fn respond(&mut self, id: &str, result: Value) {
        self.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")).await;
    }
}

pub(crate) fn pair() -> (UnixStream, Raw) {
    let (near, far) = UnixStream::pair().unwrap();
    (near, Raw(BufReader::new(far)))
}
