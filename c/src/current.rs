//! The current line of a decoder or frame, and the last entry taken from it if it is a batch.

use std::fmt::Write;
use std::ops::Range;

use bytes::BytesMut;
use wireline::{Encoder, Entries, Fault, Frame, Message, RpcError, Rules};

use crate::kinds::{wl_fault_kind, wl_hint, wl_kind};
use crate::memory::wl_span;
use crate::message::{wl_fault, wl_message};

/// An answer may be this long and this deep regardless of the limits, as on a connection.
const ANSWER_LEN: usize = 128;
const ANSWER_DEPTH: usize = 3;

/// Owns the current message, batch or fault, and the texts that describe it.
///
/// Spans passed to C point into the line and into these texts, and `source` points to a message or a fault in this
/// struct. So it must not change between two calls that describe something else.
#[derive(Default)]
pub(crate) struct Current {
    line: Item,
    /// Iterates over the entries of `line`, if that is a batch. Created when the first entry is taken.
    entries: Option<Box<Entries<'static>>>,
    entry: Item,
    /// The decoded method, if it was sent with escapes.
    method: String,
    fault_texts: FaultTexts,
}

#[derive(Default)]
enum Item {
    #[default]
    None,
    Message(Message<'static>),
    Batch(Box<Frame<'static>>),
    Fault(Box<Fault>),
}

#[derive(Default)]
struct FaultTexts {
    message: String,
    hint: String,
    reply: BytesMut,
}

impl Current {
    /// Drops the line, so that the decoder can change the memory from which it borrows.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.line = Item::None;
        if self.entries.is_some() || !matches!(self.entry, Item::None) {
            self.entry = Item::None;
            self.entries = None;
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, found: Result<Frame<'static>, Fault>) {
        self.line = match found {
            Ok(Frame::Message(message)) => Item::Message(message),
            Ok(batch) => Item::Batch(Box::new(batch)),
            Err(fault) => Item::Fault(Box::new(fault)),
        };
    }

    /// The same line, without borrowing from a decoder.
    pub(crate) fn owned(&self) -> Option<Self> {
        let found = match &self.line {
            Item::None => return None,
            Item::Message(message) => Ok(Frame::Message(message.clone().into_owned())),
            Item::Batch(batch) => Ok((**batch).clone().into_owned()),
            Item::Fault(fault) => Err((**fault).clone()),
        };
        let mut owned = Self::default();
        owned.set(found);
        Some(owned)
    }

    /// Describes the line.
    #[inline]
    pub(crate) fn describe(&mut self, out: &mut wl_message) -> wl_kind {
        describe(&self.line, &mut self.method, out)
    }

    /// Takes the next entry of the line, if that is a batch, and describes it.
    pub(crate) fn next_entry(&mut self, out: &mut wl_message) -> wl_kind {
        self.entry = Item::None;
        if let Item::Batch(batch) = &self.line {
            let entries = self.entries.get_or_insert_with(|| match &**batch {
                Frame::Batch(batch) => Box::new(batch.iter()),
                Frame::Message(_) => unreachable!("a batch is a batch"),
            });
            self.entry = match entries.next() {
                None => Item::None,
                Some(Ok(message)) => Item::Message(message),
                Some(Err(fault)) => Item::Fault(Box::new(fault)),
            };
        }
        describe(&self.entry, &mut self.method, out)
    }

    /// Describes the fault, if the line or the last entry is one.
    pub(crate) fn describe_fault(&mut self, rules: Rules) -> Option<wl_fault> {
        let fault = match (&self.entry, &self.line) {
            (Item::Fault(fault), _) | (_, Item::Fault(fault)) => &**fault,
            _ => return None,
        };
        let texts = &mut self.fault_texts;
        texts.fill(fault, rules);
        Some(wl_fault {
            kind: wl_fault_kind::from(fault.kind()),
            hint: fault.hint().map_or(wl_hint::None, wl_hint::from),
            code: fault.code(),
            line: fault.line(),
            column: fault.column(),
            offset: fault.offset(),
            line_len: fault.line_len(),
            name: wl_span::of(fault.kind().name().as_bytes()),
            message: wl_span::of(texts.message.as_bytes()),
            hint_text: unless_empty(texts.hint.as_bytes()),
            id: fault.id().map_or(wl_span::ABSENT, |id| wl_span::of(id.as_json().as_bytes())),
            reply: unless_empty(&texts.reply),
            is_response: fault.is_response(),
            source: std::ptr::from_ref(fault).cast(),
        })
    }
}

impl FaultTexts {
    fn fill(&mut self, fault: &Fault, rules: Rules) {
        self.message.clear();
        self.hint.clear();
        self.reply.clear();
        // Writing to a string doesn't fail.
        let _ = write!(self.message, "{}", fault.reason());
        if let Some(hint) = fault.hint() {
            let _ = write!(self.hint, "{hint}");
        }
        if let Some(reply) = fault.reply() {
            let limits = rules.settings();
            let rules = rules
                .max_line_len(limits.max_line_len.max(ANSWER_LEN))
                .max_depth(limits.max_depth.max(ANSWER_DEPTH))
                .max_id_len(limits.max_id_len.max("null".len()));
            let mut encoder = Encoder::append_to(&mut self.reply, rules);
            if encoder.error_reply(&reply).is_err() {
                // Without the position of the fault, the error always fits.
                let _ = encoder.error(reply.id().as_ref(), &RpcError::new(reply.code(), reply.message()));
            }
        }
    }
}

fn unless_empty(bytes: &[u8]) -> wl_span {
    if bytes.is_empty() { wl_span::ABSENT } else { wl_span::of(bytes) }
}

#[inline]
fn describe(item: &Item, method: &mut String, out: &mut wl_message) -> wl_kind {
    match item {
        Item::Message(message) => describe_message(message, method, out),
        Item::None => out.clone_from(&wl_message::NONE),
        Item::Batch(batch) => {
            *out = wl_message {
                kind: wl_kind::Batch,
                line: batch.line(),
                offset: batch.offset(),
                text: wl_span::of(batch.as_bytes()),
                ..wl_message::NONE
            };
        }
        Item::Fault(fault) => {
            *out = wl_message { kind: wl_kind::Fault, line: fault.line(), offset: fault.offset(), ..wl_message::NONE };
        }
    }
    out.kind
}

#[inline]
fn describe_message(message: &Message<'static>, unescaped: &mut String, out: &mut wl_message) {
    let text = message.as_bytes();
    let ranges = message.ranges();
    let start = ranges.message.start;
    let part = |range: Option<Range<usize>>| match range {
        Some(range) => wl_span::of(&text[range.start - start..range.end - start]),
        None => wl_span::ABSENT,
    };
    let method = match ranges.method {
        None => wl_span::ABSENT,
        Some(range) => {
            let characters = &text[range.start + 1 - start..range.end - 1 - start];
            if characters.contains(&b'\\') {
                unescaped.clear();
                unescaped.push_str(&message.method().unwrap_or_default());
                wl_span::of(unescaped.as_bytes())
            } else {
                wl_span::of(characters)
            }
        }
    };
    *out = wl_message {
        kind: match message {
            Message::Request(_) => wl_kind::Request,
            Message::Notification(_) => wl_kind::Notification,
            Message::Response(_) if ranges.error.is_some() => wl_kind::Error,
            Message::Response(_) => wl_kind::Result,
        },
        line: message.line(),
        offset: message.offset(),
        text: wl_span::of(text),
        id: part(ranges.id),
        method,
        params: part(ranges.params),
        result: part(ranges.result),
        error: part(ranges.error),
        source: std::ptr::from_ref(message).cast(),
    };
}
