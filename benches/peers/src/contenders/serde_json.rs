//! serde_json: a struct of raw values, borrowed from the line.

use std::hint::black_box;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Contender, Splitter, present};
use crate::comparison::Part;
use crate::members::{Members, Tally};

/// Strings are kept raw, so that those with escapes are neither refused nor allocated.
#[derive(Deserialize, Serialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'a RawValue>,
}

impl Envelope<'_> {
    #[inline]
    pub(super) fn members(&self) -> Members {
        Members::JSONRPC
            .if_found(self.jsonrpc.is_some())
            .and(Members::ID.if_found(self.id.is_some()))
            .and(Members::METHOD.if_found(self.method.is_some()))
            .and(Members::PARAMS.if_found(self.params.is_some()))
            .and(Members::RESULT.if_found(self.result.is_some()))
            .and(Members::ERROR.if_found(self.error.is_some()))
    }
}

#[derive(Default)]
pub(super) struct RawValues {
    splitter: Splitter,
}

impl Contender for RawValues {
    fn name(&self) -> &str {
        "serde_json"
    }

    fn part(&self) -> Part {
        Part::Peer
    }

    fn pass(&mut self, stream: &[u8], chunk: usize) -> Option<Tally> {
        let mut tally = Tally::default();
        self.splitter.lines(stream, chunk, |line| {
            let envelope: Envelope<'_> = serde_json::from_slice(line).ok()?;
            tally.count(black_box(&envelope).members());
            Some(())
        })?;
        Some(tally)
    }
}
