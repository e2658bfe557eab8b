//! The rules for messages.

use wireline::{AnswerWithoutId, Rules};

use crate::boundary::catch_panic;
use crate::memory::{shared, store};
use crate::status::wl_status;

/// A protocol on top of JSON-RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_dialect {
    /// JSON-RPC 2.0 as it is specified.
    JsonRpc = 0,
    /// The Model Context Protocol, from revision 2025-06-18 on.
    Mcp = 1,
    /// The Agent Client Protocol, version 1.
    Acp = 2,
    /// The app-server protocol of OpenAI Codex, without `jsonrpc`.
    Codex = 3,
    /// The Electrum protocol of Bitcoin wallets and their servers, which mixes JSON-RPC 1.0 and 2.0.
    Electrum = 4,
    /// Stratum, version 1, of miners and mining pools, which descends from JSON-RPC 1.0.
    Stratum = 5,
    /// The Agent Client Protocol, version 2, where the id of a request can't be null.
    AcpV2 = 6,
    /// The Model Context Protocol, revision 2026-07-28.
    Mcp_2026_07_28 = 7,
}

/// One of the two sides of a connection. It matters under MCP 2026-07-28, where only clients send requests, and only
/// servers responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_side {
    /// Messages of all kinds go either way.
    Unknown = 0,
    /// This side is the client.
    Client = 1,
    /// This side is the server.
    Server = 2,
}

/// How to answer a bad line whose id can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_answer_without_id {
    /// Don't answer it.
    Never = 0,
    /// With an error with `"id":null`.
    NullId = 1,
    /// With an error without `id`.
    OmitId = 2,
}

/// The rules for messages in both directions: a dialect and limits. Initialize it with `wl_rules_init`, and then change
/// any members.
///
/// Functions that take rules copy them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct wl_rules {
    /// A `wl_dialect`.
    pub dialect: u32,
    /// A `wl_answer_without_id`.
    pub answer_without_id: u32,
    /// A `wl_side`.
    pub side: u32,
    /// The longest line in bytes, excluding its line ending. The default is 16 MiB, and the maximum 4 GiB.
    pub max_line_len: usize,
    /// The longest id in bytes of JSON text. The default is 1024.
    pub max_id_len: usize,
    /// The deepest nesting. The default is 128, and the maximum 1024.
    pub max_depth: usize,
    /// The most entries in a batch. The default is 1024.
    pub max_batch_len: usize,
    /// Whether a line may be an array of messages. The default depends on the dialect.
    pub batches: bool,
    /// Whether `"params":null` counts as no params. The default is false.
    pub null_params: bool,
    /// Whether blank lines are skipped. The default is true. If false, each blank line is a fault.
    pub skip_blank_lines: bool,
    /// Whether a message behind noise on the same line, such as terminal escapes, is decoded. The default is false.
    pub salvage: bool,
    /// Whether the response to request `7` may have the id `"7"`, and the reverse. The default is false.
    pub loose_ids: bool,
    /// Whether U+2028 and U+2029 are escaped in what is sent. The default is false.
    pub escape_line_separators: bool,
}

impl wl_rules {
    /// Converts the rules. Returns `None` if a number isn't a value of its enum.
    pub(crate) fn rules(&self) -> Option<Rules> {
        let answer = match self.answer_without_id {
            0 => AnswerWithoutId::Never,
            1 => AnswerWithoutId::NullId,
            2 => AnswerWithoutId::OmitId,
            _ => return None,
        };
        let rules = match self.side {
            0 => defaults(self.dialect)?,
            1 => defaults(self.dialect)?.client(),
            2 => defaults(self.dialect)?.server(),
            _ => return None,
        };
        Some(
            rules
                .max_line_len(self.max_line_len)
                .max_id_len(self.max_id_len)
                .max_depth(self.max_depth)
                .max_batch_len(self.max_batch_len)
                .batches(self.batches)
                .null_params(self.null_params)
                .skip_blank_lines(self.skip_blank_lines)
                .salvage(self.salvage)
                .loose_ids(self.loose_ids)
                .escape_line_separators(self.escape_line_separators)
                .answer_without_id(answer),
        )
    }
}

/// The rules behind a pointer from C, or `None` if they are NULL or invalid.
///
/// # Safety
///
/// `rules` is NULL, or points to initialized rules.
pub(crate) unsafe fn rules_at(rules: *const wl_rules) -> Option<Rules> {
    // SAFETY: as the caller promises.
    unsafe { shared(rules) }?.rules()
}

fn defaults(dialect: u32) -> Option<Rules> {
    match dialect {
        0 => Some(Rules::json_rpc()),
        1 => Some(Rules::mcp()),
        2 => Some(Rules::acp()),
        3 => Some(Rules::codex()),
        4 => Some(Rules::electrum()),
        5 => Some(Rules::stratum()),
        6 => Some(Rules::acp_v2()),
        7 => Some(Rules::mcp_2026_07_28()),
        _ => None,
    }
}

/// Fills `rules` with the defaults of `dialect`, a `wl_dialect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_rules_init(rules: *mut wl_rules, dialect: u32) -> wl_status {
    catch_panic(wl_status::Panic, || {
        let Some(defaults) = defaults(dialect) else { return wl_status::InvalidArgument };
        if rules.is_null() {
            return wl_status::InvalidArgument;
        }
        let settings = defaults.settings();
        let filled = wl_rules {
            dialect,
            answer_without_id: match settings.answer_without_id {
                AnswerWithoutId::NullId => wl_answer_without_id::NullId as u32,
                AnswerWithoutId::OmitId => wl_answer_without_id::OmitId as u32,
                _ => wl_answer_without_id::Never as u32,
            },
            side: wl_side::Unknown as u32,
            max_line_len: settings.max_line_len,
            max_id_len: settings.max_id_len,
            max_depth: settings.max_depth,
            max_batch_len: settings.max_batch_len,
            batches: settings.batches,
            null_params: settings.null_params,
            skip_blank_lines: settings.skip_blank_lines,
            salvage: settings.salvage,
            loose_ids: settings.loose_ids,
            escape_line_separators: settings.escape_line_separators,
        };
        // SAFETY: not null, and the caller promises that it points to memory for rules.
        unsafe { store(rules, filled) };
        wl_status::Ok
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_library() {
        let rules = [
            Rules::json_rpc(),
            Rules::mcp(),
            Rules::acp(),
            Rules::codex(),
            Rules::electrum(),
            Rules::stratum(),
            Rules::acp_v2(),
            Rules::mcp_2026_07_28(),
        ];
        let unused = rules.len() as u32;
        for (number, expected) in (0..).zip(rules) {
            let mut rules = std::mem::MaybeUninit::uninit();
            // SAFETY: there is room for rules, and they are filled.
            let rules = unsafe {
                assert_eq!(wl_rules_init(rules.as_mut_ptr(), number), wl_status::Ok);
                rules.assume_init()
            };
            assert_eq!(rules.rules(), Some(expected));
            assert_eq!(wl_rules { dialect: unused, ..rules }.rules(), None);
            assert_eq!(wl_rules { answer_without_id: 3, ..rules }.rules(), None);
            assert_eq!(wl_rules { side: 3, ..rules }.rules(), None);
            assert_eq!(wl_rules { side: wl_side::Client as u32, ..rules }.rules(), Some(expected.client()));
            assert_eq!(wl_rules { side: wl_side::Server as u32, ..rules }.rules(), Some(expected.server()));
        }
    }
}
