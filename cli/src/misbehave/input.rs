//! Hooks that lose, refuse or don't survive what the client sends.

use std::time::Duration;

use serde_json::Value;
use wireline::{FaultKind, Frame, RawJson};

use super::lines::Line;
use super::server::{Incoming, Server};

/// How long the server looks ahead for the end of the input.
const SOON: Duration = Duration::from_millis(250);

/// How deep a message may be nested before the server's stack overflows.
const MAX_DEPTH: usize = 1000;

fn lose_if(server: &mut Server, is_lost: bool) -> Incoming {
    if !is_lost {
        return Incoming::Pass;
    }
    server.note_misbehaviour();
    Incoming::Swallow
}

fn crash_if(server: &mut Server, is_deadly: bool) -> Incoming {
    match is_deadly {
        true => server.crash(),
        false => Incoming::Pass,
    }
}

// How lines are split

pub(super) fn lose_crlf(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_if(server, line.bytes.ends_with(b"}\r"))
}

pub(super) fn lose_after_blank(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_if(server, line.is_after_blank)
}

pub(super) fn crash_on_blank(server: &mut Server, line: &Line<'_>) -> Incoming {
    crash_if(server, line.is_blank())
}

pub(super) fn lose_cut(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_if(server, !line.cuts.is_empty())
}

pub(super) fn lose_cut_characters(server: &mut Server, line: &Line<'_>) -> Incoming {
    let is_cut =
        std::str::from_utf8(line.bytes).is_ok_and(|text| line.cuts.iter().any(|cut| !text.is_char_boundary(*cut)));
    lose_if(server, is_cut)
}

pub(super) fn lose_cut_escapes(server: &mut Server, line: &Line<'_>) -> Incoming {
    /// The longest rest of an escape sequence: `\u12` before `34`.
    const LEN: usize = 5;
    let is_in_escape = |cut: &usize| line.bytes[cut.saturating_sub(LEN)..*cut].contains(&b'\\');
    lose_if(server, line.cuts.iter().any(is_in_escape))
}

pub(super) fn lose_cut_line_ends(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_if(server, line.cuts.last() == Some(&line.bytes.len()))
}

pub(super) fn lose_second(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_if(server, line.lines_in_read == 2 && line.index_in_read == 1)
}

pub(super) fn lose_bursts(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_if(server, line.index_in_read >= 50)
}

pub(super) fn lose_begun_behind(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_if(server, line.begins_behind_another && !line.cuts.is_empty())
}

pub(super) fn lose_unterminated(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_if(server, !line.is_terminated)
}

pub(super) fn crash_on_unterminated(server: &mut Server, line: &Line<'_>) -> Incoming {
    crash_if(server, !line.is_terminated)
}

pub(super) fn crash_on_byte_order_mark(server: &mut Server, line: &Line<'_>) -> Incoming {
    crash_if(server, line.bytes.starts_with(b"\xef\xbb\xbf"))
}

/// Loses lines with this character, as if it ended them.
fn lose_containing(server: &mut Server, line: &Line<'_>, separator: &str) -> Incoming {
    lose_if(server, memchr::memmem::find(line.bytes, separator.as_bytes()).is_some())
}

pub(super) fn lose_line_separator(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_containing(server, line, "\u{2028}")
}

pub(super) fn lose_next_line(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_containing(server, line, "\u{85}")
}

/// Loses lines of this many bytes, with the line feed.
pub(super) fn lose_len<const LEN: usize>(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_if(server, line.bytes.len() + 1 == LEN)
}

/// Loses lines of more bytes than this, with the line feed.
pub(super) fn lose_longer<const LEN: usize>(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_if(server, line.bytes.len() + 1 > LEN)
}

pub(super) fn crash_on_long(server: &mut Server, line: &Line<'_>) -> Incoming {
    crash_if(server, line.bytes.len() + 1 >= 1 << 20)
}

/// Reads the whole line, and keeps it if it is longer than what the rules accept.
pub(super) fn keep_long(server: &mut Server, line: &Line<'_>) -> Incoming {
    if line.bytes.len() > server.rules.settings().max_line_len {
        server.note_misbehaviour();
        server.memory.hoard.extend_from_slice(line.bytes);
    }
    Incoming::Pass
}

// Bad lines

pub(super) fn exit_on_bad(server: &mut Server, line: &Line<'_>) -> Incoming {
    match server.is_bad(line) {
        true => server.exit(1),
        false => Incoming::Pass,
    }
}

pub(super) fn exit_on_text(server: &mut Server, line: &Line<'_>) -> Incoming {
    match !line.is_blank() && serde_json::from_slice::<serde::de::IgnoredAny>(line.bytes).is_err() {
        true => server.exit(1),
        false => Incoming::Pass,
    }
}

pub(super) fn ignore_bad(server: &mut Server, line: &Line<'_>) -> Incoming {
    let is_bad = server.is_bad(line);
    lose_if(server, is_bad)
}

pub(super) fn lose_after_bad(server: &mut Server, line: &Line<'_>) -> Incoming {
    let is_bad = server.is_bad(line);
    let is_lost = std::mem::replace(&mut server.memory.flag, is_bad);
    lose_if(server, is_lost)
}

pub(super) fn crash_on_scalars(server: &mut Server, line: &Line<'_>) -> Incoming {
    let is_scalar = !matches!(line.bytes.trim_ascii().first(), Some(b'{' | b'[') | None);
    crash_if(server, is_scalar && RawJson::parse(line.bytes).is_ok())
}

pub(super) fn crash_on_strange_ids(server: &mut Server, line: &Line<'_>) -> Incoming {
    let is_strange = fault_kind(server, line) == Some(FaultKind::InvalidId);
    crash_if(server, is_strange)
}

pub(super) fn crash_on_invalid_utf8(server: &mut Server, line: &Line<'_>) -> Incoming {
    crash_if(server, std::str::from_utf8(line.bytes).is_err())
}

pub(super) fn crash_on_deep_nesting(server: &mut Server, line: &Line<'_>) -> Incoming {
    let mut depth = 0_usize;
    let mut is_too_deep = false;
    for byte in line.bytes {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_too_deep |= depth > MAX_DEPTH;
    }
    crash_if(server, is_too_deep)
}

pub(super) fn crash_on_duplicate_members(server: &mut Server, line: &Line<'_>) -> Incoming {
    let is_duplicate = fault_kind(server, line) == Some(FaultKind::DuplicateMember);
    crash_if(server, is_duplicate)
}

fn fault_kind(server: &Server, line: &Line<'_>) -> Option<FaultKind> {
    Frame::parse(line.bytes, &server.rules).err().map(|fault| fault.kind())
}

// Unusual messages

pub(super) fn lose_extra_members(server: &mut Server, line: &Line<'_>) -> Incoming {
    const KNOWN: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
    let members = serde_json::from_slice::<serde_json::Map<String, Value>>(line.bytes).unwrap_or_default();
    lose_if(server, members.keys().any(|name| !KNOWN.contains(&&**name)))
}

pub(super) fn lose_escaped_names(server: &mut Server, line: &Line<'_>) -> Incoming {
    let is_escaped = RawJson::parse(line.bytes).is_ok_and(|message| message.pointer("/method").is_some())
        && memchr::memmem::find(line.bytes, b"\"method\"").is_none();
    lose_if(server, is_escaped)
}

pub(super) fn crash_on_repeated_ids(server: &mut Server, line: &Line<'_>) -> Incoming {
    let id = RawJson::parse(line.bytes).ok().and_then(|message| Some(message.pointer("/id")?.as_bytes().to_vec()));
    let id = id.unwrap_or_default();
    let is_repeated = !id.is_empty() && id == server.memory.hoard;
    server.memory.hoard = id;
    crash_if(server, is_repeated)
}

pub(super) fn lose_batches(server: &mut Server, line: &Line<'_>) -> Incoming {
    lose_if(server, line.bytes.starts_with(b"["))
}

pub(super) fn lose_empty_batches(server: &mut Server, line: &Line<'_>) -> Incoming {
    let is_empty = serde_json::from_slice::<Vec<Value>>(line.bytes)
        .is_ok_and(|entries| entries.iter().all(|entry| !entry.is_object()));
    lose_if(server, is_empty)
}

pub(super) fn answer_batches_of_notifications(server: &mut Server, line: &Line<'_>) -> Incoming {
    let is_notification = |entry: &Value| entry.get("method").is_some() && entry.get("id").is_none();
    let is_meant = serde_json::from_slice::<Vec<Value>>(line.bytes)
        .is_ok_and(|entries| !entries.is_empty() && entries.iter().all(is_notification));
    if is_meant {
        server.deviate("[]\n");
    }
    Incoming::Pass
}

/// Sends each answer to a batch on a line of its own.
pub(super) fn split_answers(server: &mut Server, line: &str) {
    let answers: Vec<Box<serde_json::value::RawValue>> = serde_json::from_str(line).unwrap_or_default();
    for answer in answers {
        server.deviate(format!("{answer}\n"));
    }
}

pub(super) fn lose_if_input_ends(server: &mut Server, _: &Line<'_>) -> Incoming {
    if server.ends_within(SOON) {
        // What came in the same read is lost as well.
        server.fall_silent();
        return Incoming::Swallow;
    }
    Incoming::Pass
}
