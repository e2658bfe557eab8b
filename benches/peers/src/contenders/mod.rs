//! The contenders in decoding. All do the same job: split the stream into lines, validate the whole of each line, and
//! find the members of its envelope.
//!
//! Buffers are reused from pass to pass wherever an API allows it.

mod lines_codec;
mod rmcp;
pub(crate) mod serde_json;
mod simd_json;
pub(crate) mod sonic_rs;
mod wireline;

use serde::{Deserialize, Deserializer};
use wireline_json::Cpu;

use crate::comparison::Part;
use crate::members::{Members, Tally};

/// The size of a chunk that is the whole stream.
pub(crate) const WHOLE: usize = usize::MAX;

/// One way of decoding a stream of lines.
pub(crate) trait Contender {
    fn name(&self) -> &str;

    /// Its role in a comparison.
    fn part(&self) -> Part;

    /// The members whose presence it reports. A contender with message types of its own may not report all of them.
    fn tells(&self) -> Members {
        Members::ALL
    }

    /// Decodes `stream`, which consists of whole lines, none of them blank, and arrives in chunks of `chunk` bytes.
    /// Returns `None` if it refuses a line, which doesn't affect the next stream.
    fn pass(&mut self, stream: &[u8], chunk: usize) -> Option<Tally>;
}

/// All contenders: wireline with each of `cpus`, and its variants with the first of them.
pub(crate) fn all(cpus: &[Cpu]) -> Vec<Box<dyn Contender>> {
    let mut all = wireline::all(cpus);
    all.push(Box::<simd_json::Tape>::default());
    all.push(Box::<sonic_rs::LazyValues>::default());
    all.push(Box::<serde_json::RawValues>::default());
    all.push(Box::<lines_codec::Lines>::default());
    all.push(Box::<rmcp::Messages>::default());
    all
}

/// Splits a stream that arrives in chunks into lines, for parsers without a splitter. Only lines that don't end in the
/// chunk where they begin are copied.
#[derive(Default)]
pub(crate) struct Splitter {
    /// The start of a line.
    partial: Vec<u8>,
}

impl Splitter {
    /// Passes each line to `decode`, until that returns `None`.
    #[inline]
    pub(crate) fn lines(
        &mut self,
        stream: &[u8],
        chunk: usize,
        mut decode: impl FnMut(&[u8]) -> Option<()>,
    ) -> Option<()> {
        self.partial.clear();
        for mut chunk in stream.chunks(chunk) {
            if !self.partial.is_empty() {
                let end = memchr::memchr(b'\n', chunk);
                self.partial.extend_from_slice(&chunk[..end.unwrap_or(chunk.len())]);
                let Some(end) = end else { continue };
                decode(&self.partial)?;
                self.partial.clear();
                chunk = &chunk[end + 1..];
            }
            let mut start = 0;
            for end in memchr::memchr_iter(b'\n', chunk) {
                decode(&chunk[start..end])?;
                start = end + 1;
            }
            self.partial.extend_from_slice(&chunk[start..]);
        }
        Some(())
    }
}

/// The lines of a stream.
#[inline]
pub(crate) fn lines(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', stream).map(move |end| {
        let line = &stream[start..end];
        start = end + 1;
        line
    })
}

/// A member that is present, even if it is null, which serde treats as absent by default.
#[inline]
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use wireline_corpus::Corpus;

    use super::*;
    use crate::machine::cpus;

    /// The members that each contender finds in `line`.
    fn found(line: &str) -> Vec<(String, Option<Members>)> {
        let pass = |contender: &mut Box<dyn Contender>| {
            let tally = contender.pass(format!("{line}\n").as_bytes(), WHOLE);
            (contender.name().to_owned(), tally.and_then(Tally::only))
        };
        all(&cpus()).iter_mut().map(pass).collect()
    }

    #[test]
    fn all_accept_each_corpus() {
        for corpus in Corpus::ALL {
            let stream = corpus.lines(100_000);
            let messages = lines(&stream).count() as u64;
            for contender in &mut all(&cpus()) {
                let tally = contender.pass(&stream, WHOLE);
                assert_eq!(tally.map(|tally| tally.messages), Some(messages), "{}, {corpus:?}", contender.name());
                for chunk in [WHOLE, 64 << 10, 4 << 10, 100] {
                    let again = contender.pass(&stream, chunk);
                    assert_eq!(again, tally, "{} gives another result in chunks of {chunk}", contender.name());
                }
            }
        }
    }

    #[test]
    fn all_find_the_same_members() {
        let cases = [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, &["jsonrpc", "id", "method"][..]),
            (r#"{"method":"tools/list","params":{},"jsonrpc":"2.0","id":"a"}"#, &["jsonrpc", "id", "method", "params"]),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, &["jsonrpc", "method"]),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, &["jsonrpc", "id", "result"]),
            (r#"{"error":{"code":-32603,"message":"no"},"jsonrpc":"2.0","id":1}"#, &["jsonrpc", "id", "error"]),
            (r#"{"jsonrpc":"2.0","id":1,"m\u0065thod":"ping"}"#, &["jsonrpc", "id", "method"]),
        ];
        for (line, names) in cases {
            let expected = names.iter().map(|name| Members::named(name)).fold(Members::default(), Members::and);
            for ((name, found), contender) in found(line).into_iter().zip(all(&cpus())) {
                let tells = contender.tells();
                assert_eq!(found.map(|found| found.among(tells)), Some(expected.among(tells)), "{name}: {line}");
            }
        }
    }

    #[test]
    fn null_members_are_found() {
        for (name, found) in found(r#"{"jsonrpc":"2.0","id":null,"result":null}"#) {
            let expected = Members::JSONRPC.and(Members::ID).and(Members::RESULT);
            assert!(name == "rmcp" || found == Some(expected), "{name}: {found:?}");
        }
    }

    #[test]
    fn all_refuse_invalid_json() {
        let lines = [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":01}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\x"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[1,]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#,
        ];
        for line in lines {
            for (name, found) in found(line) {
                assert_eq!(found, None, "{name}: {line}");
            }
        }
    }

    #[test]
    fn a_refused_line_does_not_affect_the_next_stream() {
        for contender in &mut all(&cpus()) {
            for chunk in [WHOLE, 10] {
                let refused = contender.pass(b"noise\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", chunk);
                assert_eq!(refused, None);
                let next = contender.pass(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", chunk);
                assert_eq!(next.map(|tally| tally.messages), Some(1), "{}", contender.name());
            }
        }
    }

    #[test]
    fn invalid_utf8_is_refused_by_all() {
        let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\xff\"}}\n";
        // sonic-rs validates UTF-8 after the line, and one of its own debug assertions fails before that.
        let panics = |name: &str| cfg!(debug_assertions) && name == "sonic-rs";
        for contender in all(&cpus()).iter_mut().filter(|contender| !panics(contender.name())) {
            assert_eq!(contender.pass(line, WHOLE), None, "{}", contender.name());
        }
    }
}
