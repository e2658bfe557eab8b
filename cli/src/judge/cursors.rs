//! Cursors come from the server.

use std::collections::HashSet;

use super::case::{Call, Case, text};
use super::rules::Rule;
use super::{Answer, Group};
use crate::session::Side;

/// How many cursors are remembered, and the longest, in bytes.
const MAX_CURSORS: usize = 4096;
const MAX_CURSOR_LEN: usize = 1024;

/// The methods with lists in pages.
const LISTS: [&str; 5] = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "tasks/list"];

#[derive(Default)]
pub(super) struct Cursors {
    /// The index in [`LISTS`], and the cursor.
    given: HashSet<(usize, String)>,
    /// Whether there were more than are remembered.
    has_forgotten: bool,
}

impl Group for Cursors {
    fn call(&mut self, call: &Call<'_>, case: &mut Case) {
        if !case.dialect.is_mcp() || self.has_forgotten || call.place.from != Side::Client {
            return;
        }
        let Some(list) = LISTS.iter().position(|method| *method == call.method) else { return };
        let Some(cursor) = text(&call.members.cursor) else { return };
        if !self.given.contains(&(list, cursor.into_owned())) {
            case.find(Rule::UnknownCursor, call.place, format!("{}: the server hasn't sent this cursor", call.name()));
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, _: &mut Case) {
        let Some(asked) = answer.asked else { return };
        let Some(list) = LISTS.iter().position(|method| **method == *asked.method) else { return };
        let Some(result) = answer.response.result() else { return };
        let Some(cursor) = text(&result.pointer("/nextCursor")) else { return };
        if self.given.len() < MAX_CURSORS && cursor.len() <= MAX_CURSOR_LEN {
            self.given.insert((list, cursor.into_owned()));
        } else {
            self.has_forgotten = true;
        }
    }
}
