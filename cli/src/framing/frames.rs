//! The frames of streams that aren't framed by lines, and what is wrong with them.

use std::fmt;

use wireline::{Fault, FaultKind, Framing, Hint};

/// Numbers the frames of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    framing: Framing,
    count: u64,
    /// Where the rest of a message starts whose Content-Length is too small.
    rest: Option<u64>,
}

/// Where a fault is that isn't in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InFrame {
    /// The number of the frame in its stream, from 1.
    pub(crate) number: u64,
    wrong_length: Option<WrongLength>,
}

/// How the number in a header differs from the length of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrongLength {
    TooSmall,
    TooLarge,
}

impl Frames {
    /// `None` for lines.
    pub(crate) fn new(framing: Framing) -> Option<Self> {
        (framing != Framing::Lines).then_some(Self { framing, count: 0, rest: None })
    }

    pub(crate) fn framing(&self) -> Framing {
        self.framing
    }

    /// Counts a frame without a fault.
    pub(crate) fn add_message(&mut self) -> InFrame {
        self.add(None)
    }

    /// Counts a frame with a fault. `None` if it is only the rest of a message whose Content-Length is too small, which is
    /// one fault.
    pub(crate) fn add_fault(&mut self, fault: &Fault, text: &[u8]) -> Option<InFrame> {
        let rest = self.rest.take();
        if fault.kind() == FaultKind::InvalidHeader && rest == Some(fault.offset()) && fault.id().is_none() {
            return None;
        }
        let wrong_length =
            Some(fault).filter(|_| self.framing == Framing::ContentLength).and_then(|it| wrong_length(it, text));
        let in_frame = self.add(wrong_length);
        self.rest = (wrong_length == Some(WrongLength::TooSmall)).then_some(fault.offset() + fault.line_len());
        Some(in_frame)
    }

    fn add(&mut self, wrong_length: Option<WrongLength>) -> InFrame {
        (self.count, self.rest) = (self.count + 1, None);
        InFrame { number: self.count, wrong_length }
    }
}

/// Whether a body looks as if the number in its header were wrong.
fn wrong_length(fault: &Fault, text: &[u8]) -> Option<WrongLength> {
    let at = usize::try_from(fault.column()).unwrap_or(usize::MAX).saturating_sub(1).min(text.len());
    match fault.kind() {
        FaultKind::UnexpectedEnd => Some(WrongLength::TooSmall),
        // A part of a character, of which there are at most three bytes.
        FaultKind::InvalidUtf8 if text.len() - at < 4 => Some(WrongLength::TooSmall),
        FaultKind::TrailingData if text[at..].to_ascii_lowercase().starts_with(b"content-") => {
            Some(WrongLength::TooLarge)
        }
        _ => None,
    }
}

/// Where a fault is in its stream, and what it is.
pub(crate) fn described(fault: &Fault, in_frame: Option<InFrame>) -> String {
    match in_frame {
        Some(in_frame) => format!("{}{}", in_frame.position(fault), fault.reason()),
        None => fault.to_string(),
    }
}

impl InFrame {
    /// The position of a fault, before a text about it.
    pub(crate) fn position(self, fault: &Fault) -> String {
        format!("frame {} at byte {}, column {}: ", self.number, fault.offset(), fault.column())
    }
}

/// The likely mistake behind a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mistake {
    Hint(Hint),
    WrongLength(WrongLength),
}

impl Mistake {
    pub(crate) fn behind(fault: &Fault, in_frame: Option<InFrame>) -> Option<Self> {
        match in_frame {
            Some(InFrame { wrong_length: Some(wrong_length), .. }) => Some(Self::WrongLength(wrong_length)),
            // Where headers are expected, that is nothing remarkable.
            Some(_) if fault.hint() == Some(Hint::ContentLengthHeader) => None,
            _ => fault.hint().map(Self::Hint),
        }
    }

    /// A short name in kebab case, for programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hint(hint) => hint.name(),
            Self::WrongLength(_) => "wrong-content-length",
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hint(hint) => return hint.fmt(f),
            Self::WrongLength(WrongLength::TooSmall) => {
                "this looks like a Content-Length that is too small: it counts bytes, not characters"
            }
            Self::WrongLength(WrongLength::TooLarge) => {
                "this looks like a Content-Length that is too large: the next header is within the message"
            }
        })
    }
}
