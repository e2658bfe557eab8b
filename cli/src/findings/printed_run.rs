//! Messages that were printed over several lines, so that each of the lines is faulty.

use std::fmt;

use wireline::{Fault, Hint};

use crate::units::Count;

/// The longest line whose brackets are counted. Pretty-printers break lines long before that.
const MAX_LINE_LEN: usize = 64 << 10;

/// A faulty line, as a part of a message that was printed over several lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinePart {
    number: u64,
    fit: Fit,
    /// How many brackets it closes that lines before have opened, and how many it opens that lines after it close.
    closed: u32,
    opened: u32,
}

/// Whether a line is a part of such a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// It looks like one by itself.
    Sure,
    /// It may be one within a message, like `1,` in an array of numbers.
    Within,
    No,
}

impl LinePart {
    /// Looks at a faulty line with this number. `line` is empty if the decoder did not keep it.
    pub(crate) fn new(fault: &Fault, number: u64, line: &[u8]) -> Self {
        let text = line.trim_ascii();
        let fit = match fault.hint() {
            Some(Hint::PrettyPrinted) => Fit::Sure,
            _ if text.is_empty() || text.len() > MAX_LINE_LEN => Fit::No,
            None => Fit::Within,
            // Alone, they look like a line of a log.
            Some(Hint::LogText) if is_word(text) => Fit::Within,
            Some(_) => Fit::No,
        };
        let (closed, opened) = if fit == Fit::No { (0, 0) } else { brackets(text) };
        Self { number, fit, closed, opened }
    }
}

/// Whether a line is one of JSON's words, as an element of an array.
fn is_word(text: &[u8]) -> bool {
    matches!(text.strip_suffix(b",").unwrap_or(text), b"true" | b"false" | b"null")
}

/// The brackets outside of strings that have no partner in the same line: those that close, and those that open.
fn brackets(line: &[u8]) -> (u32, u32) {
    let (mut closed, mut opened) = (0, 0);
    let mut bytes = line[..line.len().min(MAX_LINE_LEN)].iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => opened += 1,
            b'}' | b']' if opened > 0 => opened -= 1,
            b'}' | b']' => closed += 1,
            b'"' => {
                while let Some(byte) = bytes.next().filter(|byte| **byte != b'"') {
                    if *byte == b'\\' {
                        bytes.next();
                    }
                }
            }
            _ => {}
        }
    }
    (closed, opened)
}

/// Faulty lines, one after the other, that look like messages printed over several lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrintedRun {
    first: u64,
    last: u64,
    /// How many brackets are open after the last line.
    depth: u32,
    messages: u64,
}

impl PrintedRun {
    /// Starts a run, if a line looks like a part of one.
    pub(crate) fn start(part: LinePart) -> Option<Self> {
        let LinePart { number, fit, opened, .. } = part;
        let messages = u64::from(opened > 0);
        (fit == Fit::Sure).then_some(Self { first: number, last: number, depth: opened, messages })
    }

    /// Adds a line, if it continues the run, and returns whether it does.
    pub(crate) fn add(&mut self, part: LinePart) -> bool {
        let LinePart { number, fit, closed, opened } = part;
        let continues = match fit {
            Fit::Sure => true,
            Fit::Within => self.depth > 0,
            Fit::No => false,
        };
        if !continues || number != self.last + 1 {
            return false;
        }
        let depth = self.depth.saturating_sub(closed);
        self.messages += u64::from(depth == 0 && opened > 0);
        self.depth = depth.saturating_add(opened);
        self.last = number;
        true
    }

    pub(crate) fn first_line(&self) -> u64 {
        self.first
    }

    /// Whether it is only one line, about which there is nothing more to say than about any faulty line.
    pub(crate) fn is_single(&self) -> bool {
        self.first == self.last
    }
}

/// `lines 4–17: one message printed over several lines`.
impl fmt::Display for PrintedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last, messages, .. } = self;
        write!(f, "lines {first}–{last}: ")?;
        match messages {
            ..=1 => f.write_str("one message printed over several lines"),
            messages => write!(f, "{} messages printed over several lines", Count(*messages)),
        }
    }
}

#[cfg(test)]
mod tests {
    use wireline::{Decoder, Rules};

    use super::*;

    /// The runs in a text of which no line is a message.
    fn runs(text: &str) -> Vec<String> {
        let (mut runs, mut run) = (Vec::new(), None::<PrintedRun>);
        let mut decoder = Decoder::new(Rules::json_rpc());
        decoder.feed(text.as_bytes());
        while let Some(frame) = decoder.next_frame() {
            let fault = frame.map(|_| ()).unwrap_err();
            let part = LinePart::new(&fault, fault.line(), decoder.last_line());
            if !run.as_mut().is_some_and(|run| run.add(part)) {
                runs.extend(run.take().map(|run| run.to_string()));
                run = PrintedRun::start(part);
            }
        }
        runs.extend(run.map(|run| run.to_string()));
        runs
    }

    #[test]
    fn a_message_is_one_run_whatever_it_contains() {
        let message = r#"{
  "jsonrpc": "2.0",
  "id": 1,
  "result": {
    "text": "a { brace, a \" quote and a \\",
    "required": [
      "message"
    ],
    "numbers": [
      1,
      -2.5
    ],
    "words": [
      true,
      null
    ],
    "points": [
      { "x": 1 },
      { "x": 2 }
    ],
    "empty": {}
  }
}
"#;
        let lines = message.lines().count();
        assert_eq!(runs(message), [format!("lines 1–{lines}: one message printed over several lines")]);
        let three = message.repeat(3);
        assert_eq!(runs(&three), [format!("lines 1–{}: 3 messages printed over several lines", 3 * lines)]);
        let noisy = format!("starting up\n{message}INFO: done\n{message}");
        let [first, second] = &runs(&noisy)[..] else { panic!() };
        assert_eq!(*first, format!("lines 2–{}: one message printed over several lines", lines + 1));
        assert_eq!(*second, format!("lines {}–{}: one message printed over several lines", lines + 3, 2 * lines + 2));
    }

    #[test]
    fn other_lines_are_no_run() {
        assert_eq!(runs("\"message\"\n1,\nnull\nhello there\n"), Vec::<String>::new());
        let runs = runs("}\n\"message\"\n{\n");
        assert_eq!(
            runs,
            ["lines 1–1: one message printed over several lines", "lines 3–3: one message printed over several lines"]
        );
    }
}
