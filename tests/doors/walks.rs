//! Random sessions through every door: troubles of all kinds at the same time, in any order.

use std::sync::Arc;

use super::common::{self, Dialect, Random};
use super::script::{Act, Payload, Script, Shutdown, check_whole, count, request, responses};
use super::streams::{Feed, Wire};
use super::ways::{self, Door};
use super::{bad_lines, cancellation, within_a_minute};

/// So few that ids often repeat.
const IDS: usize = 12;

/// What a handler does, which depends on the id alone.
fn random_act(seed: u64) -> impl Fn(&str) -> Act {
    move |id| {
        let hash = id.bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let mut random = Random::new(hash);
        match random.below(10) {
            0 => Act::Respond(Payload::NotANumber),
            1 => Act::Respond(Payload::Panics),
            2 => Act::Respond(Payload::Array),
            3 => Act::Panic,
            4 => Act::Drop,
            5 => Act::Fail,
            _ => Act::Respond(Payload::Text(random.below(3000))),
        }
    }
}

/// A session, and how often it cancels the request 2.
fn random_script(random: &mut Random, dialect: Dialect) -> (Script, usize) {
    let rules = dialect.rules().max_line_len(2000).batches(random.below(2) == 0);
    let (mut input, mut cancelled) = (Vec::new(), 0);
    for _ in 0..random.below(24) {
        let mut message = || match random.below(12) {
            0 => {
                cancelled += 1;
                cancellation(dialect)
            }
            1 => r#"{"jsonrpc":"2.0","method":"note"}"#.to_owned(),
            2 => r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(),
            _ => request(&(1 + random.below(IDS)).to_string()),
        };
        let messages: Vec<_> = (0..4).map(|_| message()).collect();
        let line = match random.below(6) {
            0 => bad_lines()[random.below(7)].to_vec(),
            1 | 2 if rules.settings().batches => format!("[{}]", messages.join(",")).into_bytes(),
            _ => messages.join("\n").into_bytes(),
        };
        input.extend([&line[..], b"\n"].concat());
    }
    let mut script = Script::new(rules, input);
    script.act = Box::new(random_act(random.below(1 << 30) as u64));
    script.is_slow = random.below(2) == 0;
    script.backlog = [0, 100, 3000, 1 << 20][random.below(4)];
    if random.below(4) == 0 {
        script.shutdown = Some(Shutdown { at: random.below(40), aborts: random.below(2) == 0 });
    }
    (script, cancelled)
}

fn walk(door: Door, seed: u64) {
    let mut random = Random::new(seed);
    let dialect = Dialect::ALL[random.below(3)];
    let (script, cancelled) = random_script(&mut random, dialect);
    let script = Arc::new(script);
    let feed = Feed::new(&script.input, [usize::MAX, 1, 1 + random.below(300)][random.below(3)]);
    let wire = Wire::new([usize::MAX, 1 + random.below(300)][random.below(2)]);
    let breaks = random.below(5) == 0;
    match breaks {
        true => wire.break_after(random.below(3000)),
        false => wire.sleep([0, random.below(40)][random.below(2)]),
    }
    let result = (door.run)(&script, feed, wire.clone());
    let written = wire.taken();
    check_whole(&written);
    let (found, expected) = (count(&responses(&written, script.rules.max_line_len(1 << 20))), script.expected());
    let what = || format!("seed {seed}, {dialect:?}: {}", String::from_utf8_lossy(&script.input));
    assert!(result.is_ok() || breaks, "{result:?}, {}", what());
    for (id, expected) in &expected {
        let found = found.get(id).copied().unwrap_or_default();
        let silent = if id == "2" && dialect == Dialect::Mcp { cancelled } else { 0 };
        let least = if result.is_ok() { expected.saturating_sub(silent) } else { 0 };
        assert!((least..=*expected).contains(&found), "{found} answers to {id}, {}", what());
    }
    assert!(found.keys().all(|id| expected.contains_key(id)), "{found:?}, {}", what());
}

fn random_id(random: &mut Random, number: usize) -> String {
    match random.below(4) {
        0 => number.to_string(),
        1 => format!("\"{number}-{}\"", "é".repeat(random.below(30))),
        2 => format!("{number}.5"),
        _ => format!("-{number}{}", "0".repeat(random.below(30))),
    }
}

/// 1,000 requests with random ids and random outcomes, some in batches, with noise between them.
fn thousand(door: Door, seed: u64) {
    let mut random = Random::new(seed);
    let (mut input, mut sent) = (Vec::new(), 0);
    while sent < 1000 {
        let len = (1 + random.below(4)).min(1000 - sent);
        let requests: Vec<_> = (sent..sent + len).map(|number| request(&random_id(&mut random, number + 1))).collect();
        sent += len;
        let noise = ["", "\n", "Listening\n", "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n"][random.below(4)];
        let line = if len == 1 { requests.concat() } else { format!("[{}]", requests.join(",")) };
        input.extend(format!("{noise}{line}\n").into_bytes());
    }
    let mut script = Script::new(Dialect::JsonRpc.rules().max_line_len(2000), input);
    script.act = Box::new(random_act(seed));
    script.is_slow = true;
    let script = Arc::new(script);
    let wire = Wire::new(usize::MAX);
    (door.run)(&script, Feed::new(&script.input, 1000), wire.clone()).unwrap();
    let mut found = count(&responses(&wire.taken(), script.rules.max_line_len(1 << 20)));
    assert_eq!(found, script.expected());
    found.remove("null");
    assert_eq!(found.values().sum::<usize>(), 1000);
}

/// How many walks to take: up to four times as many with `WIRELINE_TIMES`.
fn walks(usual: usize) -> u64 {
    common::times(usual).min(4 * usual) as u64
}

/// Random walks and a thousand requests through each door, with the number of walks.
macro_rules! walks {
    ($($(#[$attribute:meta])* $name:ident: $door:ident, $walks:expr;)*) => {$(
        $(#[$attribute])*
        mod $name {
            use super::*;

            #[test]
            fn exactly_one_response() {
                common::quiet_panics_on_purpose();
                within_a_minute(stringify!($name), || (0..walks($walks)).for_each(|seed| walk(ways::$door, seed)));
            }

            #[test]
            fn a_thousand() {
                common::quiet_panics_on_purpose();
                within_a_minute(stringify!($name), || (0..2).for_each(|seed| thousand(ways::$door, seed)));
            }
        }
    )*};
}

walks! {
    core_at_once: CORE_AT_ONCE, 250;
    core_later: CORE_LATER, 250;
    core_threads: CORE_THREADS, 25;
    core_proxy: CORE_PROXY, 250;
    io_next: IO_NEXT, 25;
    io_connection_serve: IO_CONNECTION_SERVE, 75;
    io_serve: IO_SERVE, 250;
    io_answer: IO_ANSWER, 250;
    #[cfg(feature = "tokio")]
    aio_next_tasks: AIO_NEXT_TASKS, 75;
    #[cfg(feature = "tokio")]
    aio_next_in_place: AIO_NEXT_IN_PLACE, 250;
    #[cfg(feature = "tokio")]
    aio_serve: AIO_SERVE, 250;
    #[cfg(feature = "tokio")]
    aio_proxy: AIO_PROXY, 75;
    #[cfg(feature = "futures-io")]
    futures_serve: FUTURES_SERVE, 250;
}
