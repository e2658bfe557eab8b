//! What a peer can make this side keep.

use std::time::Duration;

use agent_client_protocol::{Dispatch, Error, UntypedRole, on_receive_dispatch};
use smol::Timer;
use smol::future::or;
use wireline_acp::wireline::Rules;

use crate::common::{Raw, echo, pair, run, transport};

/// How much a peer could send until nothing was read for a while.
async fn sent_until_stuck(peer: &mut Raw, line: &str) -> usize {
    let chunk = line.repeat((64 << 10) / line.len());
    let mut sent = 0;
    loop {
        let send = async {
            peer.send(&chunk).await;
            true
        };
        let stuck = async {
            Timer::after(Duration::from_secs(2)).await;
            false
        };
        if !or(send, stuck).await {
            return sent;
        }
        sent += chunk.len();
        assert!(sent < 64 << 20, "it reads without end");
    }
}

/// A client that sends requests and reads no answers.
#[test]
fn a_peer_that_does_not_read_is_not_read_either() {
    let (near, mut client) = pair();
    let line = "{\"jsonrpc\":\"2.0\",\"id\":ID,\"method\":\"m\",\"params\":[\"0123456789\"]}\n";
    let mut id = 0;
    // Ids may be used again once they are answered, which none of these is for sure.
    let lines: String = std::iter::repeat_with(|| {
        id += 1;
        line.replace("ID", &id.to_string())
    })
    .take(1000)
    .collect();
    let sent = run(or(sent_until_stuck(&mut client, &lines), async {
        echo(transport(near, Rules::acp())).await.unwrap();
        panic!("it ended")
    }));
    assert!(sent < 8 << 20, "{sent} bytes were read");
}

/// A client that sends notifications to an agent whose handler takes forever.
#[test]
fn a_program_that_falls_behind_is_not_given_more() {
    let (near, mut client) = pair();
    let agent = async {
        let agent = UntypedRole.builder().on_receive_dispatch(
            async |_: Dispatch, _| std::future::pending::<Result<(), Error>>().await,
            on_receive_dispatch!(),
        );
        agent.connect_to(transport(near, Rules::acp())).await.unwrap();
        panic!("it ended")
    };
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[\"0123456789\"]}\n";
    let sent = run(or(sent_until_stuck(&mut client, line), agent));
    assert!(sent < 3 << 20, "{sent} bytes were read");
}

/// And one that catches up gets everything.
#[test]
fn a_program_that_catches_up_is_given_the_rest() {
    let (near, mut client) = pair();
    let agent = async {
        echo(transport(near, Rules::acp())).await.unwrap();
        panic!("it ended")
    };
    const NOTES: usize = 100_000;
    let talk = async {
        client.send("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[\"0123456789\"]}\n".repeat(NOTES)).await;
        client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n").await;
        assert_eq!(client.receive().await["result"]["notes"], NOTES);
    };
    run(or(talk, agent));
}
