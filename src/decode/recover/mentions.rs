//! Finds names in the rest of a line after it has become unreadable.

/// Looks for names and brackets without telling strings from other text, so it also finds them in payloads and
/// comments.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    /// The last eight bytes, the latest in the lowest byte.
    recent: u64,
    /// How many brackets are open.
    open: usize,
    /// Whether a comma or a closing bracket comes after the outermost object.
    pub(super) is_inner: bool,
    /// The word `id`, quoted or not, or an escape that may spell one of its letters.
    pub(super) id: bool,
    /// `"method"`.
    pub(super) method: bool,
    /// `"result"` or `"error"`.
    pub(super) outcome: bool,
}

impl Mentions {
    /// Starts within an object in which `depth` brackets are open.
    pub(super) fn at(depth: usize) -> Self {
        Self { open: depth + 1, ..Self::default() }
    }

    /// Starts after the object.
    pub(super) fn after() -> Self {
        Self::default()
    }

    pub(super) fn feed(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.recent = self.recent << 8 | u64::from(byte);
            match byte {
                b'{' | b'[' if self.open > 0 => self.open += 1,
                b'}' | b']' if self.open > 0 => self.open -= 1,
                b'}' | b']' | b',' if self.open == 0 => self.is_inner = true,
                _ => {}
            }
            match self.recent.to_be_bytes() {
                // JSON's escapes for `i` and `d`, and escapes of other languages that may stand for any letter.
                [.., b'\\', b'u', b'0', b'0', b'6', b'4' | b'9']
                | [.., b'\\', b'u', b'{']
                | [.., b'\\', b'x' | b'0'..=b'9'] => self.id = true,
                [.., before, b'i', b'd', after] | [.., before, b'i', b'\\', b'd', after]
                    if !is_word(before) && !is_word(after) =>
                {
                    self.id = true;
                }
                [.., b'"', b'e', b'r', b'r', b'o', b'r', b'"'] => self.outcome = true,
                recent if &recent == b"\"result\"" => self.outcome = true,
                recent if &recent == b"\"method\"" => self.method = true,
                _ => {}
            }
        }
    }

    /// Notes the end of the line, where a word may end too.
    pub(super) fn finish(&mut self) {
        self.feed(b"\n");
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}
