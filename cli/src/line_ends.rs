//! How the lines of a stream end.

/// Counts the line ends with a carriage return, and measures the line that is still without its end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineEnds {
    /// How many lines ended in a carriage return and a line feed.
    pub(crate) with_return: u64,
    /// How many bytes have arrived since the last line feed.
    pub(crate) open_len: u64,
    /// Whether one of those bytes is not blank.
    pub(crate) is_open: bool,
    ends_in_return: bool,
}

impl LineEnds {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.with_return += u64::from(self.ends_in_return && bytes[0] == b'\n') + count_returns(bytes);
        self.ends_in_return = *last == b'\r';
        let rest = match memchr::memrchr(b'\n', bytes) {
            Some(at) => {
                (self.open_len, self.is_open) = (0, false);
                &bytes[at + 1..]
            }
            None => bytes,
        };
        self.open_len += rest.len() as u64;
        self.is_open |= rest.iter().any(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    }
}

/// How many line feeds in `bytes` come right after a carriage return.
pub(crate) fn count_returns(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) == Some(&b'\n')).count() as u64
}

/// What to do about lines that end in a carriage return.
pub(crate) const RETURN_HINT: &str =
    "strict peers refuse such lines; end them in \\n alone, and on Windows write to stdout in binary mode";

/// What a last line without its line end means.
pub(crate) const UNTERMINATED_HINT: &str =
    "a peer waits for the line end, possibly for ever; write \\n after each message, and flush";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_do_not_matter() {
        let stream = b"a\r\n\r\nb\n\r\r\nc\rd\n\n e\r";
        for at in 0..=stream.len() {
            let mut ends = LineEnds::default();
            ends.add(&stream[..at]);
            ends.add(&stream[at..]);
            assert_eq!((ends.with_return, ends.open_len, ends.is_open), (3, 3, true), "{at}");
        }
        let mut ends = LineEnds::default();
        ends.add(b"a\n \t");
        assert_eq!((ends.open_len, ends.is_open), (2, false));
        ends.add(b"\r");
        ends.add(b"\n");
        assert_eq!((ends.with_return, ends.open_len, ends.is_open), (1, 0, false));
    }
}
