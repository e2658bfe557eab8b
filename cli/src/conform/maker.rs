//! Makes the messages of a check.

use std::fmt::Write as _;

use super::message::{Members, Text};
use super::profile::{Era, Profile, STATELESS_META, quoted};
use super::random::Random;
use super::script::{Line, Script};
use crate::rules_args::Dialect;

/// What a check sends, or why it says nothing about this server.
pub(super) type Made = Result<Script, &'static str>;

pub(super) const ONLY_MCP: &str = "only MCP has tools";
pub(super) const NO_TOOLS: &str = "no tool may be called: --call NAME=JSON names one";

pub(super) struct Maker<'a> {
    pub(super) profile: &'a Profile,
    pub(super) random: Random,
    /// How many random messages to make.
    pub(super) cases: usize,
    /// The last id that was used. No id is used twice.
    pub(super) last_id: &'a mut u64,
}

impl Maker<'_> {
    /// A new id, as JSON.
    pub(super) fn id(&mut self) -> String {
        *self.last_id += 1;
        self.last_id.to_string()
    }

    /// A request that any server answers.
    pub(super) fn probe(&mut self) -> Line {
        let id = self.id();
        Line::new(self.profile.request(&id))
    }

    pub(super) fn probes(&mut self, count: usize) -> Vec<Line> {
        (0..count).map(|_| self.probe()).collect()
    }

    /// A request with a value that the server doesn't look at.
    pub(super) fn note(&mut self, note: &str) -> Line {
        let id = self.id();
        Line::new(self.profile.request_with_note(&id, note))
    }

    /// A request of a length, with its newline.
    pub(super) fn request_of_len(&mut self, len: usize) -> Line {
        let id = self.id();
        let empty = self.profile.request_with_note(&id, "\"\"").len() + 1;
        let note = format!("\"{}\"", "x".repeat(len.saturating_sub(empty)));
        Line::new(self.profile.request_with_note(&id, &note))
    }

    /// A request with members of params.
    pub(super) fn request(&mut self, method: &str, members: &str) -> Line {
        let id = self.id();
        Line::new(self.profile.request_of(&id, method, members))
    }

    /// A request with a method that doesn't exist.
    pub(super) fn unknown(&mut self, name: &str, members: &str) -> Line {
        let method = self.profile.unknown(name);
        self.request(&method, members)
    }

    pub(super) fn call(&mut self, tool: &str, arguments: &str) -> Line {
        let id = self.id();
        Line::new(self.profile.call(&id, tool, arguments))
    }

    pub(super) fn notification(&self, method: &str, members: &str) -> Line {
        let method = quoted(method);
        Line::new(match (&self.profile.era, members) {
            (Era::Stateless, "") => {
                format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{{"_meta":{{{STATELESS_META}}}}}}}"#)
            }
            (_, "") => format!(r#"{{"jsonrpc":"2.0","method":{method}}}"#),
            (_, members) => format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{{{members}}}}}"#),
        })
    }

    /// The notification that cancels a request, and the member with the request's id.
    pub(super) fn cancellation_names(&self) -> (&'static str, &'static str) {
        match self.profile.dialect {
            Dialect::Mcp => ("notifications/cancelled", "requestId"),
            Dialect::Acp => ("$/cancel_request", "requestId"),
            Dialect::JsonRpc => ("$/cancelRequest", "id"),
        }
    }

    /// Cancels the request with this id, which is JSON.
    pub(super) fn cancellation(&self, id: &str) -> Line {
        let (method, member) = self.cancellation_names();
        self.notification(method, &format!("\"{member}\":{id}"))
    }

    /// A valid request of any kind that does no harm.
    pub(super) fn random_request(&mut self) -> Line {
        let id = self.random_id();
        let note = self.random_string();
        Line::new(match self.random.below(10) {
            0..=3 => self.profile.request(&id),
            4..=6 => self.profile.request_with_note(&id, &note),
            7 if self.profile.dialect == Dialect::Mcp => self.profile.request_of(&id, "tools/list", ""),
            8 if !self.profile.calls.is_empty() => {
                let call = self.random.choose(&self.profile.calls);
                self.profile.call(&id, &call.name, &call.arguments)
            }
            _ => self.profile.request_of(&id, &self.profile.unknown("random"), &format!("\"note\":{note}")),
        })
    }

    fn random_id(&mut self) -> String {
        let id = self.id();
        match self.random.below(4) {
            0 => quoted(&format!("{}{id}", "x".repeat(self.random.below(40)))),
            // A new number of up to 53 bits, positive or negative.
            1 => format!("{}{}", if self.random.one_in(2) { "-" } else { "" }, (1_u64 << 32) + id.parse().unwrap_or(0)),
            _ => id,
        }
    }

    /// A string as JSON, in which every character may be written in any way.
    fn random_string(&mut self) -> String {
        const CHARACTERS: [char; 14] = [
            'a',
            'Z',
            '0',
            ' ',
            '"',
            '\\',
            '/',
            '\n',
            '\u{1}',
            '\u{e9}',
            '\u{85}',
            '\u{2028}',
            '\u{6771}',
            '\u{1f600}',
        ];
        let longest = *self.random.choose(&[5, 50, 300]);
        let mut text = String::from("\"");
        for _ in 0..self.random.below(longest) {
            let character = *self.random.choose(&CHARACTERS);
            if character < ' ' || matches!(character, '"' | '\\') || self.random.one_in(8) {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "\\u{unit:04x}");
                }
            } else {
                text.push(character);
            }
        }
        text + "\""
    }
}

/// The members of a message, as JSON.
pub(super) fn members(line: &[u8]) -> Vec<(String, String)> {
    match Text::parse(line) {
        Text::Object(members) => {
            Members::iter(&members).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        }
        _ => Vec::new(),
    }
}

/// A message with these members.
pub(super) fn object(members: &[(String, String)]) -> Vec<u8> {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("{}:{value}", quoted(name))).collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}

/// A message with its members in reverse order.
pub(super) fn reversed(line: &[u8]) -> Vec<u8> {
    let mut members = members(line);
    members.reverse();
    object(&members)
}
