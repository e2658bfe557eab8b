//! What a check sends, as data: so a failing one can be shrunk, saved and printed.

/// Everything that is sent to one server, and what is judged.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Script {
    pub(super) setup: Setup,
    pub(super) steps: Vec<Step>,
    pub(super) policy: Policy,
}

/// How the server is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) start: Start,
    pub(super) stderr: Stderr,
    /// Whether the script needs a server that has seen nothing else.
    pub(super) is_alone: bool,
}

/// What is sent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Start {
    /// What the protocol asks for.
    #[default]
    Handshake,
    /// A byte order mark and the first line of the handshake, and then the handshake.
    ByteOrderMark,
    Nothing,
}

/// What becomes of the server's stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stderr {
    #[default]
    Discarded,
    /// A pipe that is never read, and fills up.
    Unread,
    /// A pipe whose reader goes away after the handshake.
    Closed,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Send(Vec<Line>, Chunks),
    /// Waits until everything that must be answered is.
    Await,
    StopReading,
    /// Reads again, once the server has taken all it can.
    Resume,
    /// Closes the server's input. The last step.
    Close,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) text: Vec<u8>,
    pub(super) ending: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Newline,
    CarriageReturn,
    None,
}

/// How the bytes of a step are divided into writes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Chunks {
    Whole,
    Lines,
    Bytes,
    /// Where writes end, in ascending order.
    Ends(Vec<usize>),
}

/// What is judged beyond that every request gets one response, which is always judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    /// Probes get results.
    pub(super) probe_succeeds: bool,
    /// Unknown methods get errors, or errors of the right code.
    pub(super) unknown_method: Strictness,
    /// What isn't JSON gets the right code, and an answer at all where the dialect asks for one.
    pub(super) not_json_code: bool,
    /// Invalid requests get the right code, and their id.
    pub(super) invalid_request_code: bool,
    /// Invalid params get the right code.
    pub(super) invalid_params_code: bool,
    /// The responses to a batch come in one array.
    pub(super) batch_in_one_array: bool,
    /// An empty batch and invalid entries are answered.
    pub(super) empty_batch: bool,
    /// What came before the answer to the first request of the handshake is judged, too.
    pub(super) whole_stream: bool,
    pub(super) exit: Option<Exit>,
    /// By how many bytes the server may grow if it refuses a request.
    pub(super) growth: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Strictness {
    #[default]
    Any,
    Error,
    Code,
}

/// What is judged about a server's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    InTime,
    Code,
    NothingLeft,
}

impl Script {
    /// Lines for a server that may have seen others, in one write.
    pub(super) fn new(lines: Vec<Line>) -> Self {
        Self::of(vec![Step::Send(lines, Chunks::Whole)])
    }

    pub(super) fn of(steps: Vec<Step>) -> Self {
        Self { setup: Setup::default(), steps, policy: Policy::default() }
    }

    /// Changes how the bytes of the only step are divided.
    pub(super) fn in_chunks(mut self, new: Chunks) -> Self {
        if let [Step::Send(_, chunks)] = &mut self.steps[..] {
            *chunks = new;
        }
        self
    }

    pub(super) fn judged(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    pub(super) fn alone(mut self) -> Self {
        self.setup.is_alone = true;
        self
    }

    /// Closes the input of a server of its own at the end.
    pub(super) fn closing(mut self) -> Self {
        self.steps.push(Step::Close);
        self.alone()
    }

    pub(super) fn is_closing(&self) -> bool {
        self.steps.last() == Some(&Step::Close)
    }

    pub(super) fn lines(&self) -> impl DoubleEndedIterator<Item = &Line> {
        self.steps.iter().flat_map(|step| match step {
            Step::Send(lines, _) => &lines[..],
            _ => &[],
        })
    }
}

impl Line {
    pub(super) fn new(text: impl Into<Vec<u8>>) -> Self {
        Self { text: text.into(), ending: Ending::Newline }
    }

    pub(super) fn ending_in(text: impl Into<Vec<u8>>, ending: Ending) -> Self {
        Self { text: text.into(), ending }
    }

    pub(super) fn write_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.text);
        bytes.extend_from_slice(match self.ending {
            Ending::Newline => b"\n",
            Ending::CarriageReturn => b"\r\n",
            Ending::None => b"",
        });
    }
}

/// The bytes of lines, one after the other.
pub(super) fn bytes(lines: &[Line]) -> Vec<u8> {
    let mut bytes = Vec::new();
    lines.iter().for_each(|line| line.write_to(&mut bytes));
    bytes
}

impl Chunks {
    /// Where the writes of these lines end, the last of them excepted.
    pub(super) fn ends(&self, lines: &[Line]) -> Vec<usize> {
        let len = bytes(lines).len();
        match self {
            Self::Whole => Vec::new(),
            Self::Bytes => (1..len).collect(),
            Self::Ends(ends) => ends.iter().copied().filter(|end| (1..len).contains(end)).collect(),
            Self::Lines => {
                let mut end = 0;
                let ends = lines.iter().map(|line| {
                    end += bytes(std::slice::from_ref(line)).len();
                    end
                });
                ends.filter(|end| *end < len).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_end_where_they_should() {
        let lines = [Line::new("ab"), Line::ending_in("c", Ending::CarriageReturn), Line::ending_in("", Ending::None)];
        assert_eq!(bytes(&lines), b"ab\nc\r\n");
        for (chunks, ends) in [
            (Chunks::Whole, &[][..]),
            (Chunks::Bytes, &[1, 2, 3, 4, 5]),
            (Chunks::Lines, &[3]),
            (Chunks::Ends(vec![0, 2, 6, 9]), &[2]),
        ] {
            assert_eq!(chunks.ends(&lines), ends);
        }
    }
}
