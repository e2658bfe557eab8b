//! wireline's connection: events in place, a task for each request, and `serve`.

use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use wireline::aio::{Connection, Tokio};
use wireline::connection::{Config, Event};
use wireline::{Request, RpcError, Rules};

use super::{Answer, Params, WORKS, handle};

/// Answers where it reads.
pub(super) async fn in_place(stream: UnixStream) {
    let mut connection = connect(stream, 1000);
    while let Some(event) = connection.next().await.expect(WORKS) {
        match event {
            Event::Request(request, ticket) => ticket.settle(answer(&request)),
            other => panic!("not a request: {other:?}"),
        }
    }
}

pub(super) async fn in_tasks(stream: UnixStream) {
    let mut connection = connect(stream, 100_000);
    while let Some(event) = connection.next().await.expect(WORKS) {
        match event {
            Event::Request(request, ticket) => {
                let request = request.into_owned();
                tokio::spawn(async move { ticket.settle(answer(&request)) });
            }
            other => panic!("not a request: {other:?}"),
        }
    }
}

pub(super) async fn serve(stream: UnixStream) {
    let handler = async |call: wireline::connection::Call<'static>| Ok(handle(call.method(), call.params()?));
    connect(stream, 100_000).serve(handler).await.expect(WORKS);
}

fn connect(stream: UnixStream, in_flight: usize) -> Connection<Tokio<OwnedReadHalf>, Tokio<OwnedWriteHalf>> {
    let (reader, writer) = stream.into_split();
    let config = Config::new(Rules::json_rpc()).in_flight(in_flight);
    Connection::new(Tokio(reader), Tokio(writer), config).1
}

fn answer(request: &Request<'_>) -> Result<Answer, RpcError> {
    Ok(handle(&request.method(), request.params_as::<Params>()?))
}
