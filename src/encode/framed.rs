//! Puts lines into the frames of other framings.

use bytes::BytesMut;

use crate::decode::Framing;

/// Turns the line from `start` on into a frame.
pub(crate) fn wrap(out: &mut BytesMut, start: usize, framing: Framing) {
    let end_of_line = out.len();
    begin(out, end_of_line - start, framing);
    let header_len = out.len() - end_of_line;
    out[start..].rotate_right(header_len);
    end(out, framing);
}

/// Appends a line as a frame.
pub(crate) fn append(out: &mut BytesMut, line: &[u8], framing: Framing) {
    begin(out, line.len(), framing);
    out.extend_from_slice(line);
    end(out, framing);
}

/// Appends what comes before a line of this length, which includes the line feed.
fn begin(out: &mut BytesMut, line_len: usize, framing: Framing) {
    match framing {
        Framing::Lines => {}
        Framing::ContentLength => {
            out.extend_from_slice(b"Content-Length: ");
            push_decimal(out, line_len - 1);
            out.extend_from_slice(b"\r\n\r\n");
        }
        Framing::EventStream => out.extend_from_slice(b"data: "),
    }
}

/// Ends a frame after the line feed of its line.
fn end(out: &mut BytesMut, framing: Framing) {
    match framing {
        Framing::Lines => {}
        Framing::ContentLength => out.truncate(out.len() - 1),
        Framing::EventStream => out.extend_from_slice(b"\n"),
    }
}

fn push_decimal(out: &mut BytesMut, mut number: usize) {
    let mut digits = [0; usize::MAX.ilog10() as usize + 1];
    let mut start = digits.len();
    while number > 0 || start == digits.len() {
        start -= 1;
        digits[start] = b"0123456789"[number % 10];
        number /= 10;
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_wrapped_in_place_or_appended() {
        for len in [0, 1, 9, 10, 99, 100, 12_345] {
            let text = "x".repeat(len);
            for (framing, expected) in [
                (Framing::Lines, format!("{text}\n")),
                (Framing::ContentLength, format!("Content-Length: {len}\r\n\r\n{text}")),
                (Framing::EventStream, format!("data: {text}\n\n")),
            ] {
                let line = format!("{text}\n");
                let mut wrapped = BytesMut::from(format!("before\n{line}").as_bytes());
                wrap(&mut wrapped, "before\n".len(), framing);
                let mut appended = BytesMut::from("before\n");
                append(&mut appended, line.as_bytes(), framing);
                assert_eq!(wrapped, format!("before\n{expected}"));
                assert_eq!(appended, wrapped);
            }
        }
    }
}
