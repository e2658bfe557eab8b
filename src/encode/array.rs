//! Joins whole lines into one array.

use bytes::BytesMut;

/// An array of encoded lines.
#[derive(Default)]
pub(crate) struct Array {
    /// The entries so far, each with the bracket or comma before it.
    text: BytesMut,
    entries: usize,
}

impl Array {
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// The length of the text so far, without the bracket that ends it.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The length of the whole array if `line` is added.
    pub(crate) fn len_with(&self, line: &[u8]) -> usize {
        self.text.len() + ",]".len() + without_line_feed(line).len()
    }

    /// Adds a line.
    pub(crate) fn push(&mut self, line: &[u8]) {
        self.text.extend_from_slice(if self.entries == 0 { b"[" } else { b"," });
        self.text.extend_from_slice(without_line_feed(line));
        self.entries += 1;
    }

    /// The array as a line, unless it is empty.
    pub(crate) fn into_line(mut self) -> Option<BytesMut> {
        if self.entries == 0 {
            return None;
        }
        self.text.extend_from_slice(b"]\n");
        Some(self.text)
    }
}

fn without_line_feed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_its_length() {
        let mut array = Array::default();
        for line in ["{}\n", "{\"a\":1}", "{}\n"] {
            let expected = array.len_with(line.as_bytes());
            array.push(line.as_bytes());
            assert_eq!(array.len() + "]".len(), expected);
        }
        assert_eq!(array.entries(), 3);
        assert_eq!(array.into_line().unwrap(), "[{},{\"a\":1},{}]\n");
        assert_eq!(Array::default().into_line(), None);
    }
}
