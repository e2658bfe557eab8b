//! A recorded session of any length: requests with ids that don't repeat, and their responses in any order.

use std::io::{self, Write};

use crate::envelope;
use crate::random::Random;
use crate::small;

/// How many requests wait for their responses at most.
const IN_FLIGHT: usize = 32;

/// Writes about `bytes` bytes of small messages of all kinds, as one side of a proxy might record them: each response
/// comes after its request. The last requests may stay unanswered. Returns the number of bytes written.
///
/// # Errors
///
/// Those of `out`.
pub fn session(bytes: u64, out: &mut impl Write) -> io::Result<u64> {
    let mut random = Random::new(2026);
    let mut waiting: Vec<u64> = Vec::new();
    let (mut next_id, mut written) = (1, 0);
    while written < bytes {
        let line = match random.below(100) {
            0..20 => small::notification(&mut random),
            20..60 if waiting.len() < IN_FLIGHT => {
                waiting.push(next_id);
                next_id += 1;
                small::request(&(next_id - 1).to_string(), &mut random)
            }
            _ if waiting.is_empty() => continue,
            _ => {
                let id = waiting.swap_remove(random.below(waiting.len()));
                let (kind, payload) = small::outcome(&mut random);
                envelope::response_to(&id.to_string(), kind, &payload, &mut random)
            }
        };
        out.write_all(line.as_bytes())?;
        out.write_all(b"\n")?;
        written += line.len() as u64 + 1;
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use wireline::{Decoder, Frame, Message, Rules};

    use super::*;

    #[test]
    fn each_response_comes_after_its_request() {
        let mut lines = Vec::new();
        let written = session(300_000, &mut lines).unwrap();
        assert_eq!(written, lines.len() as u64);
        let (mut decoder, mut waiting, mut answered) = (Decoder::new(Rules::mcp()), HashSet::new(), 0);
        decoder.feed(&lines);
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Ok(Frame::Message(Message::Request(request))) => {
                    assert!(waiting.insert(request.id().as_u64().unwrap()));
                }
                Ok(Frame::Message(Message::Response(response))) => {
                    assert!(waiting.remove(&response.id().and_then(wireline::Id::as_u64).unwrap()));
                    answered += 1;
                }
                Ok(_) => {}
                Err(fault) => panic!("{fault}"),
            }
        }
        assert!(waiting.len() <= IN_FLIGHT && answered > 500, "{} wait, {answered}", waiting.len());
    }
}
