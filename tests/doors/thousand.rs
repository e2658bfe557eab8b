//! 1,000 requests with random ids and random outcomes get 1,000 responses on each path.

use std::collections::HashMap;

use wireline::connection::Call;
use wireline::io::{answer_with, serve_with};
use wireline::ledger::Inbound;
use wireline::{RpcError, Rules};

#[cfg(feature = "tokio")]
use super::framed;
use super::{
    BATCH, Channel, Door, Link, ONE_BY_ONE, OwnEncoder, Payload, TOGETHER, Task, Writer, admit, common, count, request,
};

fn random_id(random: &mut common::Random, number: usize) -> String {
    match random.below(4) {
        0 => number.to_string(),
        1 => format!("\"{number}-{}\"", "é".repeat(random.below(30))),
        2 => format!("{number}.5"),
        _ => format!("-{number}{}", "0".repeat(random.below(30))),
    }
}

#[test]
fn through_the_ledger() {
    fn check<D: Door>(seed: u64) {
        let rules = Rules::json_rpc();
        let (link, owed) = (Link::new(), Inbound::new(rules, 1000));
        let mut door = D::open(link.clone(), rules);
        let mut random = common::Random::new(seed);
        let mut expected = HashMap::new();
        let mut answers = Vec::new();
        for i in 0..1000 {
            let id = random_id(&mut random, i);
            let ticket = match admit(&owed, &id) {
                Ok(ticket) => ticket,
                Err(refusal) => {
                    answers.push(refusal);
                    *expected.entry(id).or_default() += 1;
                    continue;
                }
            };
            *expected.entry(id).or_default() += 1;
            match random.below(5) {
                0 => answers.push(ticket.respond(&f64::NAN)),
                1 => drop(ticket),
                2 => answers.push(ticket.fail(&RpcError::internal())),
                _ => answers.push(ticket.respond(&"x".repeat(random.below(300)))),
            }
            if random.below(7) == 0 {
                assert!(door.send(&owed, std::mem::take(&mut answers)).is_empty());
            }
            if random.below(31) == 0 {
                let dropped = owed.dropped().collect();
                assert!(door.send(&owed, dropped).is_empty());
            }
        }
        answers.extend(owed.dropped());
        assert!(door.send(&owed, answers).is_empty());
        door.flush();
        assert_eq!(count(&link.taken(), rules), expected);
        assert_eq!(expected.values().sum::<usize>(), 1000);
        assert_eq!(owed.in_flight(), 0);
    }
    for seed in 0..5 {
        check::<OwnEncoder>(seed);
        check::<Writer<ONE_BY_ONE>>(seed);
        check::<Writer<TOGETHER>>(seed);
        check::<Writer<BATCH>>(seed);
        check::<Channel>(seed);
        check::<Task>(seed);
        #[cfg(feature = "tokio")]
        check::<framed::TokioFramed>(seed);
    }
}

/// 1,000 requests, and how many of each id there are.
fn random_requests(random: &mut common::Random) -> (Vec<String>, HashMap<String, usize>) {
    let mut expected = HashMap::new();
    let requests = (0..1000).map(|number| {
        let id = random_id(random, number);
        let line = request(&id);
        *expected.entry(id).or_default() += 1;
        line
    });
    (requests.collect(), expected)
}

/// A handler whose calls end in one way or another.
pub(crate) fn handler(seed: u64) -> impl FnMut(Call<'_>) -> Result<Payload, RpcError> {
    let mut random = common::Random::new(!seed);
    move |_| match random.below(6) {
        0 => Ok(Payload::NotANumber),
        1 => Ok(Payload::Panics),
        2 => panic!("on purpose"),
        3 => Err(RpcError::method_not_found()),
        _ => Ok(Payload::Fine("x".repeat(random.below(3000)).into())),
    }
}

/// The requests as lines, some of which are batches, with noise between them.
#[test]
fn through_serve() {
    common::quiet_panics_on_purpose();
    let rules = Rules::json_rpc().max_line_len(2000);
    for seed in 0..5 {
        let mut random = common::Random::new(seed);
        let (requests, expected) = random_requests(&mut random);
        let (mut input, mut rest) = (Vec::new(), &requests[..]);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(1 + random.below(4)));
            rest = later;
            let line = match now {
                [one] => one.clone(),
                several => format!("[{}]", several.join(",")),
            };
            let noise = ["", "\n", "Listening\n", "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n"][random.below(4)];
            input.extend_from_slice(format!("{noise}{line}\n").as_bytes());
        }
        let link = Link::new();
        serve_with(&input[..], link.clone(), rules, handler(seed), |_| {}).unwrap();
        let mut found = count(&link.taken(), rules);
        // The answers to the noise.
        found.remove("null");
        assert_eq!(found, expected);
    }
}

/// As bodies, some of which are batches.
#[test]
fn through_answer() {
    common::quiet_panics_on_purpose();
    let rules = Rules::json_rpc().max_line_len(2000);
    for seed in 0..5 {
        let mut random = common::Random::new(seed);
        let (requests, expected) = random_requests(&mut random);
        let (mut found, mut rest) = (HashMap::new(), &requests[..]);
        let mut handle = handler(seed);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(1 + random.below(4)));
            rest = later;
            let body = match now {
                [one] => one.clone(),
                several => format!("[\n{}\n]", several.join(",\r\n")),
            };
            let answer = answer_with(body.as_bytes(), &rules, &mut handle, |_| {}).unwrap();
            // A body may exceed the line limit, which doesn't apply to it.
            for (id, responses) in count(&answer, Rules::json_rpc()) {
                *found.entry(id).or_default() += responses;
            }
        }
        assert_eq!(found, expected);
    }
}
