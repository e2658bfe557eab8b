//! An answer on its way out.

use std::{fmt, mem};

use bytes::{Bytes, BytesMut};

use crate::encode::{EncodeError, Encoder};
use crate::message::{Id, Rules};

use super::Refusal;
use super::owed::Wakes;
use super::ticket::{Body, Claim};

/// An encoded answer, together with the obligation to send it.
///
/// A request is settled when its answer is *accepted*, that is, handed to the writer.
/// [`io::FrameWriter`](crate::io::FrameWriter::answer), [`aio::LineSender`](crate::aio::LineSender::answer) and
/// [`codec::Codec`](crate::codec::Codec) accept answers, and [`accept`](Self::accept) is for other writers. Accepting
/// comes before writing, because the peer may reuse the id as soon as it has read the answer.
///
/// If an answer is dropped instead, its request is still owed one; see [`Inbound::dropped`](super::Inbound::dropped).
///
/// Answers can be sent to other threads, joined in one [batch](super::Inbound::batch), or collected into one answer of
/// several lines:
///
/// ```
/// use wireline::ledger::{Answer, Inbound};
/// use wireline::{Frame, Message, Rules};
///
/// let owed = Inbound::new(Rules::json_rpc(), 100);
/// let answers = [1, 2].map(|id| {
///     let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"double"}}"#);
///     let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line.as_bytes(), &Rules::json_rpc()) else {
///         panic!()
///     };
///     match owed.admit(&request) {
///         Ok(ticket) => ticket.respond(&(2 * id)),
///         Err(refusal) => refusal,
///     }
/// });
/// let both: Answer = answers.into_iter().collect();
/// assert_eq!(owed.in_flight(), 2);
/// assert_eq!(
///     both.accept(),
///     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":2}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":4}\n"
/// );
/// assert_eq!(owed.in_flight(), 0);
/// ```
#[must_use = "an answer that is dropped isn't sent, and its request is answered with an internal error"]
pub struct Answer {
    body: Box<Body>,
    duty: Duty,
    note: Option<Box<Note>>,
}

enum Duty {
    None,
    One(Claim),
    /// Boxed, to keep the usual variants small.
    Several(Box<Several>),
}

struct Several {
    parts: Vec<Answer>,
    join: Join,
}

/// How to join the lines of several answers.
#[derive(Clone, Copy)]
enum Join {
    Lines,
    /// As entries of one array, or of as few arrays as these rules permit.
    Array(Rules),
}

enum Note {
    Instead(EncodeError),
    Refused(Refusal),
}

impl Answer {
    #[inline]
    pub(super) fn new(body: Box<Body>, claim: Claim) -> Self {
        Self { body, duty: Duty::One(claim), note: None }
    }

    #[cold]
    pub(super) fn instead(self, error: EncodeError) -> Self {
        Self { note: Some(Box::new(Note::Instead(error))), ..self }
    }

    /// For a request that wasn't admitted, or a line that isn't a message.
    pub(super) fn without_duty(line: BytesMut, refusal: Option<Refusal>) -> Self {
        let note = refusal.map(|refusal| Box::new(Note::Refused(refusal)));
        Self { body: Body::new(Id::NULL, line), duty: Duty::None, note }
    }

    /// The line with its line feed.
    ///
    /// There are several lines if it was collected from several answers, and none if there is nothing to send, for
    /// example because the request was cancelled under MCP rules.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.body.line
    }

    /// Why the answer is an internal error instead of the result or error that was given.
    #[must_use]
    pub fn instead_of(&self) -> Option<&EncodeError> {
        match self.note.as_deref() {
            Some(Note::Instead(error)) => Some(error),
            _ => None,
        }
    }

    /// Why the request wasn't admitted, if that is what the answer says.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        match self.note.as_deref() {
            Some(Note::Refused(refusal)) => Some(*refusal),
            _ => None,
        }
    }

    /// Accepts the answer, which settles the request. The caller must send the returned line.
    ///
    /// The line is empty if there is nothing to send: the request was cancelled in the meantime, under rules that don't
    /// answer cancelled requests, or [somebody else](super::Inbound::answer_rest) answered it first.
    #[must_use = "the request counts as answered: its line must be sent"]
    pub fn accept(self) -> Bytes {
        self.accept_quietly(&mut Wakes::default())
    }

    fn accept_quietly(mut self, wakes: &mut Wakes) -> Bytes {
        let line = mem::take(&mut self.body.line);
        match self.duty {
            Duty::None => line.freeze(),
            Duty::One(claim) => match claim.settle(self.body, wakes) {
                true => line.freeze(),
                false => Bytes::new(),
            },
            Duty::Several(several) => several.accept(line, wakes).freeze(),
        }
    }

    /// Accepts the answer as [`accept`](Self::accept) does, and appends its line to `out`.
    ///
    /// ```
    /// # use wireline::{Frame, Message};
    /// use bytes::BytesMut;
    /// use wireline::ledger::{Answer, Inbound};
    /// use wireline::{Encoder, Rules};
    ///
    /// # let owed = Inbound::new(Rules::mcp(), 100);
    /// # let line = br#"{"jsonrpc":"2.0","id":1,"method":"work"}"#;
    /// # let Ok(Frame::Message(Message::Request(request))) = Frame::parse(line, &Rules::mcp()) else { panic!() };
    /// # let Ok(ticket) = owed.admit(&request) else { panic!() };
    /// let mut out = BytesMut::new();
    /// Encoder::append_to(&mut out, Rules::mcp()).notification("notifications/message", &())?;
    /// ticket.respond(&serde_json::json!({})).accept_into(&mut out);
    /// assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 2);
    /// # Ok::<(), wireline::EncodeError>(())
    /// ```
    #[inline(always)]
    pub fn accept_into(self, out: &mut BytesMut) {
        self.accept_quietly_into(out, &mut Wakes::default());
    }

    /// For callers that hold a lock and must not wake others before releasing it.
    #[inline(always)]
    pub(crate) fn accept_quietly_into(self, out: &mut BytesMut, wakes: &mut Wakes) {
        let Duty::One(claim) = self.duty else {
            return out.extend_from_slice(&self.accept_quietly(wakes));
        };
        let before = out.len();
        out.extend_from_slice(&self.body.line);
        if !claim.settle(self.body, wakes) {
            out.truncate(before);
        }
    }

    /// Joins answers as entries of one array, or of as few arrays as the rules permit.
    pub(super) fn batch(answers: impl IntoIterator<Item = Self>, rules: Rules) -> Self {
        Self::joined(answers.into_iter().collect(), Join::Array(rules))
    }

    fn joined(parts: Vec<Self>, join: Join) -> Self {
        let line = join.apply(parts.iter().map(Self::as_bytes));
        Self { body: Body::new(Id::NULL, line), duty: Duty::Several(Box::new(Several { parts, join })), note: None }
    }
}

/// Joins several answers into one, whose lines stay together.
impl FromIterator<Answer> for Answer {
    fn from_iter<I: IntoIterator<Item = Answer>>(answers: I) -> Self {
        Self::joined(answers.into_iter().collect(), Join::Lines)
    }
}

impl Several {
    /// Accepts all parts of `line`. It is rebuilt if some of them turn out to be empty.
    fn accept(self, line: BytesMut, wakes: &mut Wakes) -> BytesMut {
        let before = self.parts.iter().map(|part| part.body.line.len()).sum::<usize>();
        let accepted: Vec<Bytes> = self.parts.into_iter().map(|part| part.accept_quietly(wakes)).collect();
        match accepted.iter().map(Bytes::len).sum::<usize>() == before {
            true => line,
            false => self.join.apply(accepted.iter().map(|line| &line[..])),
        }
    }
}

impl Join {
    fn apply<'l>(self, lines: impl Iterator<Item = &'l [u8]>) -> BytesMut {
        let mut out = BytesMut::new();
        match self {
            Self::Lines => lines.for_each(|line| out.extend_from_slice(line)),
            Self::Array(rules) => {
                let entries = lines.flat_map(|lines| lines.split(|&byte| byte == b'\n'));
                append_array(&mut out, rules, entries.filter(|entry| !entry.is_empty()));
            }
        }
        out
    }
}

/// Leaves out the line, since its contents may be secret.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("len", &self.body.line.len())
            .field("instead_of", &self.instead_of())
            .field("refusal", &self.refusal())
            .finish_non_exhaustive()
    }
}

/// Appends responses as entries of arrays, in as few lines as the rules permit. If a response doesn't fit in an array,
/// or the rules permit none, it becomes a line of its own.
pub(crate) fn append_array<'e>(out: &mut BytesMut, rules: Rules, entries: impl Iterator<Item = &'e [u8]>) {
    let mut entries = entries.peekable();
    while let Some(&first) = entries.peek() {
        let array = Encoder::append_to(out, rules).batch(|array| {
            while let Some(entry) = entries.peek() {
                match array.raw(entry) {
                    Ok(()) => drop(entries.next()),
                    Err(error) if array.is_empty() => return Err(error),
                    Err(_) => break,
                }
            }
            Ok(())
        });
        if array.is_err() {
            // It was encoded as a line, maybe under other rules, and its caller expects it.
            out.extend_from_slice(first);
            out.extend_from_slice(b"\n");
            entries.next();
        }
    }
}
