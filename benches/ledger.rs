//! The cost of a request in the ledger while 1, 1,000 and 1,000,000 others are in flight: admitting and answering it,
//! and issuing and settling it.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use wireline::ledger::{Inbound, Outbound};
use wireline::{Encoder, Frame, Message, Rules};

const IN_FLIGHT: [u64; 3] = [1, 1_000, 1_000_000];

/// Parses a line into an owned message.
fn message(line: String) -> Message<'static> {
    match Frame::parse(line.as_bytes(), &Rules::json_rpc()) {
        Ok(Frame::Message(message)) => message.into_owned(),
        other => panic!("{other:?}"),
    }
}

fn inbound(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ledger/admit-and-answer");
    for in_flight in IN_FLIGHT {
        let owed = Inbound::new(Rules::json_rpc(), 2_000_000);
        let admit = |id: u64| {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            let Message::Request(request) = message(line) else { panic!("it is a request") };
            owed.admit(&request).expect("there is room")
        };
        let tickets: Vec<_> = (0..in_flight).map(admit).collect();
        let Message::Request(request) = message(r#"{"jsonrpc":"2.0","id":"new","method":"m"}"#.into()) else {
            panic!()
        };
        let mut encoder = Encoder::new(Rules::json_rpc());
        group.bench_function(in_flight.to_string(), |bencher| {
            bencher.iter(|| {
                encoder.clear();
                let ticket = owed.admit(black_box(&request)).expect("there is room");
                ticket.respond(&mut encoder, &1).expect("it serializes");
            });
        });
        assert_eq!(owed.in_flight() as u64, in_flight);
        drop(tickets);
    }
    group.finish();
}

fn outbound(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ledger/issue-and-settle");
    for in_flight in IN_FLIGHT {
        let mut asked = Outbound::new(2_000_000);
        for value in 0..in_flight {
            asked.issue(value).expect("there is room");
        }
        // Ids count up from 1.
        let mut ids = in_flight + 1..;
        group.bench_function(in_flight.to_string(), |bencher| {
            // Building the response isn't measured.
            bencher.iter_batched(
                || {
                    let next = ids.next().expect("there are always more");
                    message(format!(r#"{{"jsonrpc":"2.0","id":{next},"result":1}}"#))
                },
                |response| {
                    let Message::Response(response) = &response else { panic!("it is a response") };
                    black_box(asked.issue(black_box(1)).expect("there is room"));
                    asked.settle(response).expect("it was issued")
                },
                criterion::BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .nresamples(10_000);
    targets = inbound, outbound
}
criterion_main!(benches);
