//! Finds a message behind noise on the same line, if the rules [say so](Rules::salvage).
//!
//! There is one candidate, the first `{` of the line, so a line is scanned once more at most. The noise must not look
//! like the start of a broken message or batch, nor like a log line that quotes a message; see [`is_noise`].

use crate::message::{Envelope, Position, Rules, envelope};

/// A message behind noise.
pub(super) struct Salvaged<'a> {
    /// From its `{` to the end of the line.
    pub(super) text: &'a str,
    pub(super) envelope: Envelope,
    /// The length of the noise.
    pub(super) skipped: usize,
}

/// The message behind the noise at the start of a line.
///
/// Returns `None` for every line that is valid as a whole: such a line starts with its message, or it is a batch, in
/// which a bracket, a comma or a string comes before the first `{`.
pub(super) fn salvage<'a>(line: &'a [u8], position: Position, rules: &Rules) -> Option<Salvaged<'a>> {
    let skipped = memchr::memchr(b'{', line)?;
    let (noise, message) = line.split_at(skipped);
    if !is_noise(noise) {
        return None;
    }
    let (text, envelope) = envelope::read_message(message.into(), rules)?;
    log(skipped, position);
    Some(Salvaged { text, envelope, skipped })
}

/// Whether a message after this may be taken for one that was sent.
///
/// - A quotation mark means that this is a part of JSON, or quotes some.
/// - Before the message, apart from terminal escapes and carriage returns, there must be a letter, a digit, the end of a
///   sentence, a percent sign, a control character or a byte that isn't ASCII. After `[`, `,`, `:`, `]` or `}`, the
///   message may belong to a larger one that is broken. After a blank, `=` or `>`, it may be a copy in a log.
fn is_noise(noise: &[u8]) -> bool {
    if noise.iter().all(|byte| b" \t\r".contains(byte)) || memchr::memchr(b'"', noise).is_some() {
        return false;
    }
    match visible(noise).last() {
        None => true,
        Some(b'\t') => false,
        Some(byte) => {
            byte.is_ascii_alphanumeric() || byte.is_ascii_control() || !byte.is_ascii() || b".!?%".contains(byte)
        }
    }
}

/// Cuts off carriage returns and terminal escapes of the form `ESC [ 0 m` at the end.
fn visible(mut noise: &[u8]) -> &[u8] {
    loop {
        noise = match noise {
            [rest @ .., b'\r'] => rest,
            _ => match memchr::memrchr(0x1b, noise) {
                Some(escape) if is_control_sequence(&noise[escape..]) => &noise[..escape],
                _ => return noise,
            },
        }
    }
}

/// Whether this is one whole control sequence, such as `ESC [ 2 K`.
fn is_control_sequence(text: &[u8]) -> bool {
    let [0x1b, b'[', parameters @ .., 0x40..=0x7e] = text else { return false };
    parameters.iter().all(|byte| matches!(byte, 0x20..=0x3f))
}

/// Emits a `tracing` event, if that feature is on.
#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "empty without `tracing`"))]
fn log(skipped: usize, position: Position) {
    #[cfg(feature = "tracing")]
    tracing::warn!(skipped, line = position.line, offset = position.offset, "noise before a message");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_invisible() {
        for (noise, expected) in [
            ("\x1b[2K\r", ""),
            ("\x1b[1;31m\x1b[0m", ""),
            ("100%\x1b[?25l\r\r", "100%"),
            ("sent: \x1b[0m", "sent: "),
            ("[\r", "["),
            ("\x1b", "\x1b"),
            ("\x1b[", "\x1b["),
            ("\x1b[2", "\x1b[2"),
            ("\x1b[2Kx", "\x1b[2Kx"),
            ("\x1b]0;title\x07", "\x1b]0;title\x07"),
        ] {
            assert_eq!(visible(noise.as_bytes()), expected.as_bytes(), "{noise:?}");
        }
    }
}
