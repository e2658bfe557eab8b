//! Allocations and memory.

use allocation_counter::measure;
use serde_json::json;
use wireline::Rules;
use wireline::connection::{Config, Connection, Event};

use super::{Core, with};

/// Feeds requests, answers them, and writes the answers.
fn serve(connection: &mut Core, lines: &[u8], pieces: usize) -> usize {
    let mut served = 0;
    for piece in lines.chunks(pieces) {
        connection.feed(piece);
        while let Some(event) = connection.next_event() {
            if let Event::Request(request, ticket) = event {
                ticket.respond(request.id());
                served += 1;
            }
        }
        let len = connection.pending().len();
        connection.advance(len);
    }
    served
}

fn requests(count: usize, id: impl Fn(usize) -> String) -> Vec<u8> {
    let line = |n| format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"work\",\"params\":[1,2,3]}}\n", id(n));
    (0..count).flat_map(|n| line(n).into_bytes()).collect()
}

#[test]
fn a_request_costs_no_allocation() {
    for id in [|n: usize| n.to_string(), |n: usize| format!("\"{n}\"")] {
        let lines = requests(2000, id);
        for pieces in [16_384, 4096, 100] {
            let mut connection = Connection::new(Rules::json_rpc());
            serve(&mut connection, &lines, pieces);
            let mut served = 0;
            let measured = measure(|| served = serve(&mut connection, &lines, pieces));
            assert_eq!((served, measured.count_total), (2000, 0), "pieces of {pieces}");
        }
    }
}

/// If many are in flight at once, the slab that they are kept in is allocated again, but nothing for each of them.
#[test]
fn requests_in_flight_cost_few_allocations() {
    let lines = requests(1000, |n| n.to_string());
    let mut connection: Core = Connection::new(Rules::json_rpc());
    let mut tickets = Vec::with_capacity(1000);
    let mut round = || {
        connection.feed(&lines);
        while let Some(event) = connection.next_event() {
            if let Event::Request(_, ticket) = event {
                tickets.push(ticket);
            }
        }
        tickets.drain(..).for_each(|ticket| ticket.respond(&1));
        let len = connection.pending().len();
        connection.advance(len);
    };
    round();
    round();
    let measured = measure(&mut round);
    assert!(measured.count_total <= 100, "{} allocations for 1,000 requests", measured.count_total);
}

/// After many, long and batched requests, hardly any memory is kept.
#[test]
fn memory_is_given_back() {
    let measured = measure(|| {
        let mut connection = with(Config::new(Rules::json_rpc()).in_flight(100_000).backlog(100 << 20));
        let before = measure(|| {
            let mut tickets = Vec::new();
            let lines = requests(50_000, |n| format!("\"{n}{}\"", "x".repeat(100)));
            let batch: Vec<String> = (0..1000).map(|n| super::request(&format!("\"batch {n}\""))).collect();
            connection.feed(&lines);
            connection.feed(format!("[{}]\n", batch.join(",")).as_bytes());
            while let Some(event) = connection.next_event() {
                if let Event::Request(_, ticket) = event {
                    tickets.push(ticket);
                }
            }
            assert_eq!(connection.in_flight(), 51_000);
            tickets.drain(..).enumerate().for_each(|(n, ticket)| match n % 100 {
                0 => ticket.respond(&"x".repeat(10_000)),
                1 => drop(ticket),
                _ => ticket.respond(&json!({})),
            });
            drop(tickets);
            for _ in 0..2 {
                let len = connection.pending().len();
                connection.advance(len);
            }
        });
        assert!(before.bytes_current < 600_000, "{} bytes are kept", before.bytes_current);
        assert!(connection.pending().is_empty());
    });
    assert!(measured.bytes_current < 10_000, "{} bytes are leaked", measured.bytes_current);
}

/// A peer that sends without reading can't make a connection keep more than its backlog and a few answers.
#[test]
fn memory_is_bounded_by_the_backlog() {
    let measured = measure(|| {
        let mut connection = with(Config::new(Rules::json_rpc()).backlog(100_000).in_flight(10));
        let line = requests(1, |_| "1".to_owned());
        for _ in 0..100_000 {
            if !connection.wants_read() {
                break;
            }
            connection.feed(&line);
            while let Some(event) = connection.next_event() {
                if let Event::Request(_, ticket) = event {
                    ticket.respond(&"x".repeat(1000));
                }
            }
        }
        assert!(!connection.wants_read());
    });
    assert!(measured.bytes_max < 500_000, "{} bytes", measured.bytes_max);
}
