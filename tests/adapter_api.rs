//! What adapters need of a connection: ids of their own, an end that doesn't wait for requests in flight, frames of other
//! transports.
#![cfg(feature = "tokio")]

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::time::timeout;
use wireline::aio::{self, ReadUntil, Tokio};
use wireline::connection::{Config, Connection, Event, Lost, SendError};
use wireline::{Frame, Id, Rules, to_line};

fn ping(id: &Id<'_>) -> wireline::Line {
    to_line(&Rules::mcp(), |encoder| encoder.request(id, "ping", &())).unwrap()
}

/// Ids that were given and ids that are counted don't meet, and each response finds its value.
#[test]
fn tracked_and_issued_ids() {
    let mut connection = Connection::new(Config::new(Rules::mcp()).calls(4));
    let peer = connection.peer();
    assert!(peer.track(&Id::from(1), "tracked 1"));
    assert!(peer.track(&Id::from("1"), "tracked text"));
    assert!(!peer.track(&Id::from(1), "again"));
    assert_eq!(peer.request("ping", &(), "issued").unwrap(), Id::from(2));
    assert!(!peer.track(&Id::from(2), "taken"));
    assert!(peer.track(&Id::from(9), "withdrawn"));
    assert!(!peer.track(&Id::from(10), "one too many"));
    assert_eq!(peer.withdraw(&Id::from(9)), Some("withdrawn"));
    assert_eq!(peer.withdraw(&Id::from(9)), None);
    peer.send_line(ping(&Id::from(1))).wait().unwrap();
    assert_eq!(String::from_utf8_lossy(connection.pending()).matches("ping").count(), 2);
    for id in ["2", "\"1\"", "9"] {
        connection.feed(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n").as_bytes());
    }
    assert!(matches!(connection.next_event(), Some(Event::Response(_, "issued"))));
    assert!(matches!(connection.next_event(), Some(Event::Response(_, "tracked text"))));
    assert!(matches!(connection.next_event(), Some(Event::Stray(..))));
    // An answer with neither result nor error ends its call, and isn't answered.
    connection.feed(b"{\"jsonrpc\":\"2.0\",\"id\":1}\n");
    let written = connection.pending().len();
    connection.advance(written);
    assert!(matches!(connection.next_event(), Some(Event::Lost(_, "tracked 1", Lost::Faulty(_)))));
    assert!(!connection.wants_write());
    drop(connection);
    assert!(!peer.track(&Id::from(3), "too late"));
    assert!(matches!(peer.send_line(ping(&Id::from(3))).wait(), Err(SendError::Closed)));
}

#[test]
fn frames_of_another_transport() {
    let rules = Rules::json_rpc();
    let mut connection: Connection<()> = Connection::new(rules);
    let request = |id| format!("{{\"jsonrpc\":\"2.0\",\n\"id\":{id},\"method\":\"m\"}}");
    let batch = format!("[{},\n7,{}]", request(1), request(2));
    let Some(Event::Request(_, first)) = connection.accept(Frame::parse(batch.as_bytes(), &rules)) else { panic!() };
    assert_eq!(connection.entries_left(1), Some(2));
    assert!(matches!(connection.next_event(), Some(Event::Fault(_))));
    let Some(Event::Request(_, second)) = connection.next_event() else { panic!() };
    assert_eq!((connection.entries_left(1), connection.entries_left(2)), (Some(0), None));
    assert!(connection.next_event().is_none());
    // The id is in flight, wherever it comes from.
    let again = request(1);
    assert!(matches!(connection.accept(Frame::parse(again.as_bytes(), &rules)), Some(Event::Refused(..))));
    assert!(matches!(connection.accept(Frame::parse(b"oops", &rules)), Some(Event::Fault(_))));
    second.respond(&2);
    first.respond(&1);
    let lines = String::from_utf8(connection.pending().to_vec()).unwrap();
    let starts: Vec<_> = lines.lines().map(|line| &line[..1]).collect();
    assert_eq!(starts, ["{", "{", "["], "{lines}");
    assert_eq!(lines.lines().last().unwrap().matches("\"id\":").count(), 3, "{lines}");
}

#[tokio::test]
async fn the_end_of_the_input_does_not_wait_for_requests() {
    let (mut near, far) = duplex(1000);
    let (reader, writer) = split(far);
    let (_, mut connection) = aio::Connection::<_, _, ()>::keeping(Tokio(reader), Tokio(writer), Rules::mcp());
    near.write_all(ping(&Id::from(1)).as_bytes()).await.unwrap();
    near.shutdown().await.unwrap();
    let Ok(Some(Event::Request(_, ticket))) = connection.next_incoming().await else { panic!() };
    for _ in 0..2 {
        assert!(connection.next_incoming().await.unwrap().is_none());
    }
    assert!(timeout(Duration::from_millis(20), connection.next_event()).await.is_err());
    assert!(timeout(Duration::from_millis(20), connection.finish()).await.is_err());
    assert!(connection.can_write());
    ticket.respond(&serde_json::json!({}));
    connection.finish().await.unwrap();
    assert!(!connection.can_write());
    let mut said = String::new();
    near.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    // Again, and afterwards.
    connection.finish().await.unwrap();
    assert!(connection.next_event().await.unwrap().is_none());
}

/// The output ends although the input stays open, and requests that arrive meanwhile are refused.
#[tokio::test]
async fn finish_while_the_peer_goes_on() {
    let (near, far) = duplex(30);
    let (reader, writer) = split(far);
    let (peer, mut connection) = aio::Connection::<_, _, ()>::keeping(Tokio(reader), Tokio(writer), Rules::mcp());
    peer.notify("note", &serde_json::json!({"text": "x".repeat(100)})).await.unwrap();
    let (mut from_us, mut to_us) = split(near);
    let read = async {
        to_us.write_all(ping(&Id::from(1)).as_bytes()).await.unwrap();
        let mut said = String::new();
        from_us.read_to_string(&mut said).await.unwrap();
        said
    };
    let (finished, said) = tokio::join!(connection.finish(), read);
    finished.unwrap();
    assert_eq!(said.lines().filter(|line| line.contains("\"note\"")).count(), 1, "{said}");
    assert!(matches!(peer.notify("note", &()).await, Err(SendError::Closed)));
}

/// A peer that is gone: what was being written is no reason to wait, or to spin.
#[tokio::test]
async fn finish_after_writing_has_failed() {
    let ((reader, to_us), (writer, from_us)) = (duplex(10), duplex(10));
    let (peer, mut connection) = aio::Connection::keeping(Tokio(reader), Tokio(writer), Rules::mcp());
    peer.request("ping", &(), "a call").unwrap();
    drop(from_us);
    assert!(timeout(Duration::from_millis(20), connection.next_incoming()).await.is_err());
    assert!(!connection.can_write());
    drop(to_us);
    assert!(matches!(connection.next_incoming().await, Ok(Some(Event::Lost(_, "a call", Lost::Ended)))));
    assert!(connection.finish().await.is_err());
    let ended = timeout(Duration::from_secs(10), connection.next_event()).await.expect("no hang");
    assert!(matches!(ended, Ok(None) | Err(_)));
}

#[tokio::test]
async fn a_source_that_ends_early_is_read_first() {
    let (mut near, far) = duplex(1000);
    near.write_all(ping(&Id::from(1)).as_bytes()).await.unwrap();
    let source = ReadUntil::new(Tokio(far), async {});
    let (_, mut connection) = aio::Connection::<_, _, ()>::keeping(source, Tokio(tokio::io::sink()), Rules::mcp());
    assert!(matches!(connection.next_incoming().await, Ok(Some(Event::Request(..)))));
    assert!(timeout(Duration::from_secs(10), connection.next_incoming()).await.unwrap().unwrap().is_none());
    // It stays ended.
    near.write_all(ping(&Id::from(2)).as_bytes()).await.unwrap();
    assert!(connection.next_incoming().await.unwrap().is_none());
}
