//! Ten thousand damaged requests in one session, over rmcp's own transport and over this one.
//!
//! ```console
//! cargo bench -p wireline-rmcp --bench torture
//! ```
//!
//! Each is a call with an id of its own, in which a byte was changed, removed or inserted, a part doubled, or the end cut
//! off. Both transports get the same.

#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::HashSet;
use std::error::Error;

use serde_json::Value;

use support::{Kind, Probe};

const REQUESTS: u64 = 10_000;
const FIRST_ID: u64 = 1_000_000;
const MAX_LINE_LEN: usize = 64 << 10;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut random = Random(1);
    let lines: Vec<_> = (FIRST_ID..FIRST_ID + REQUESTS).map(|id| damaged(id, &mut random)).collect();
    // A peer that waits for an answer with its id has sent it.
    let waiting: HashSet<_> =
        (FIRST_ID..).zip(&lines).filter(|(id, line)| has_id(line, *id)).map(|(id, _)| id).collect();
    println!("{REQUESTS} damaged requests in one session, of which {} still have their id", waiting.len());
    for (name, kind) in [("rmcp's transport", Kind::Stock), ("wireline-rmcp", Kind::Wireline)] {
        let Tally { answered, without_id, survived } = torture(kind, &lines).await?;
        let answered = answered.intersection(&waiting).count();
        println!("{name}:");
        println!("  {answered} answered with their id, {} wait forever", waiting.len() - answered);
        println!("  {without_id} answers without an id");
        println!("  the session {}", if survived { "goes on" } else { "is over" });
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    answered: HashSet<u64>,
    without_id: usize,
    survived: bool,
}

async fn torture(kind: Kind, lines: &[Vec<u8>]) -> Result<Tally, Box<dyn Error + Send + Sync>> {
    let mut probe = Probe::start(kind, MAX_LINE_LEN).await?;
    let mut tally = Tally::default();
    // rmcp answers in any order, so the last answers may come later.
    let pauses = [b"".to_vec(), b"".to_vec(), b"".to_vec()];
    for line in lines.iter().chain(&pauses) {
        let seen = probe.tell(line).await?;
        tally.survived = seen.survived;
        for answer in &seen.answers {
            match serde_json::from_str::<Value>(answer)?["id"].as_u64() {
                Some(id) => drop(tally.answered.insert(id)),
                None => tally.without_id += 1,
            }
        }
        if !seen.survived {
            break;
        }
    }
    Ok(tally)
}

fn damaged(id: u64, random: &mut Random) -> Vec<u8> {
    let arguments = r#"{"a":19,"b":23,"note":"some text, é, \"quoted\""}"#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"sum","arguments":{arguments}}}}}"#
    );
    let mut line = call.into_bytes();
    let at = random.below(line.len());
    // Any byte but the one that would make two lines of it.
    let byte = u8::try_from(random.below(255)).map_or(b' ', |byte| if byte == b'\n' { 255 } else { byte });
    match random.below(5) {
        0 => line[at] = byte,
        1 => drop(line.remove(at)),
        2 => line.insert(at, byte),
        3 => line.truncate(at),
        _ => {
            let part = line[at..(at + 1 + random.below(20)).min(line.len())].to_vec();
            line.splice(at..at, part);
        }
    }
    line
}

/// Whether the id is there, as it was written.
fn has_id(line: &[u8], id: u64) -> bool {
    let member = format!(r#","id":{id},"#);
    line.windows(member.len()).any(|part| part == member.as_bytes())
}

/// SplitMix64: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % limit as u64).unwrap_or_default()
    }
}
