//! What is accepted and sent.

use wireline::{AnswerWithoutId, Rules};

use crate::boundary::guarded;
use crate::memory::{shared, store};
use crate::status::wl_status;

/// A protocol on top of JSON-RPC 2.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_dialect {
    /// JSON-RPC 2.0 as it is specified.
    JsonRpc = 0,
    /// The Model Context Protocol, from revision 2025-06-18 on.
    Mcp = 1,
    /// The Agent Client Protocol.
    Acp = 2,
}

/// How a bad line is answered if its id can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum wl_answer_without_id {
    /// Not at all.
    Never = 0,
    /// By an error with `"id":null`.
    NullId = 1,
    /// By an error without `id`.
    OmitId = 2,
}

/// What is accepted and sent: a dialect and limits. Fill it with `wl_rules_init`, then change what you like.
///
/// Functions that take rules copy them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct wl_rules {
    /// A `wl_dialect`.
    pub dialect: u32,
    /// A `wl_answer_without_id`.
    pub answer_without_id: u32,
    /// The longest line in bytes, not counting its line ending: 16 MiB, and 4 GiB at most.
    pub max_line_len: usize,
    /// The longest id in bytes of JSON text: 1024.
    pub max_id_len: usize,
    /// How deep brackets may be nested: 128, and 1024 at most.
    pub max_depth: usize,
    /// How many entries a batch may have: 1024.
    pub max_batch_len: usize,
    /// Whether a line may be an array of messages. The default depends on the dialect.
    pub batches: bool,
    /// Whether `"params":null` counts as no params. The default is false.
    pub null_params: bool,
    /// Whether blank lines are skipped. The default is true; otherwise each is a fault.
    pub skip_blank_lines: bool,
}

impl wl_rules {
    /// The rules, unless a number is none of those that its type has.
    pub(crate) fn rules(&self) -> Option<Rules> {
        let answer = match self.answer_without_id {
            0 => AnswerWithoutId::Never,
            1 => AnswerWithoutId::NullId,
            2 => AnswerWithoutId::OmitId,
            _ => return None,
        };
        Some(
            defaults(self.dialect)?
                .max_line_len(self.max_line_len)
                .max_id_len(self.max_id_len)
                .max_depth(self.max_depth)
                .max_batch_len(self.max_batch_len)
                .batches(self.batches)
                .null_params(self.null_params)
                .skip_blank_lines(self.skip_blank_lines)
                .answer_without_id(answer),
        )
    }
}

/// The rules behind a pointer from C.
///
/// # Safety
///
/// It is NULL, or points to valid rules.
pub(crate) unsafe fn rules_at(rules: *const wl_rules) -> Option<Rules> {
    // SAFETY: as the caller promises.
    unsafe { shared(rules) }?.rules()
}

fn defaults(dialect: u32) -> Option<Rules> {
    match dialect {
        0 => Some(Rules::json_rpc()),
        1 => Some(Rules::mcp()),
        2 => Some(Rules::acp()),
        _ => None,
    }
}

/// Fills `rules` with the defaults of `dialect`, a `wl_dialect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wl_rules_init(rules: *mut wl_rules, dialect: u32) -> wl_status {
    guarded(wl_status::Panic, || {
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
            max_line_len: settings.max_line_len,
            max_id_len: settings.max_id_len,
            max_depth: settings.max_depth,
            max_batch_len: settings.max_batch_len,
            batches: settings.batches,
            null_params: settings.null_params,
            skip_blank_lines: settings.skip_blank_lines,
        };
        // SAFETY: the caller promises that it points to memory for rules.
        unsafe { store(rules, filled) };
        wl_status::Ok
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_library() {
        for (number, expected) in [(0, Rules::json_rpc()), (1, Rules::mcp()), (2, Rules::acp())] {
            let mut rules = std::mem::MaybeUninit::uninit();
            // SAFETY: there is room for rules, and they are filled.
            let rules = unsafe {
                assert_eq!(wl_rules_init(rules.as_mut_ptr(), number), wl_status::Ok);
                rules.assume_init()
            };
            assert_eq!(rules.rules(), Some(expected));
            assert_eq!(wl_rules { dialect: 3, ..rules }.rules(), None);
            assert_eq!(wl_rules { answer_without_id: 3, ..rules }.rules(), None);
        }
    }
}
