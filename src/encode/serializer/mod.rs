//! A serde serializer that writes compact JSON straight into a buffer.
//!
//! The output equals serde_json's, byte for byte, or is nothing at all. But unlike serde_json, this serializer doesn't
//! trust a `Serialize`:
//!
//! - Non-finite floats are refused. serde_json writes `null`.
//! - Announced lengths are ignored, so a wrong one does no harm.
//! - Keys and values of a map must alternate.
//! - An error or a panic in a nested value fails the whole value, even if the outer `Serialize` ignores it, because the
//!   output is already incomplete.
//! - Raw JSON, such as a `RawValue`, is validated where it is written: it must be a single value, on one line.
//! - Limits on nesting and length apply during serialization, not afterwards.
//!
//! The error type is serde_json's, so that custom errors keep their text.

use wireline_json::escape::{Full, OutputCursor};

mod compound;
mod fragment;
mod integer;
mod key;
mod offered;
mod spelt;
mod value;

#[cfg(test)]
mod model;
#[cfg(test)]
mod representations;
#[cfg(test)]
mod tests;

use std::mem;

use bytes::BytesMut;
use serde::Serialize;
use serde::ser::Error as _;
use serde_json::Error;

use crate::encode::error::{EncodeError, EncodeErrorKind};
use crate::message::FaultKind;
use value::ValueSerializer;

/// How much may be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Where the message starts in the buffer; offsets in errors count from here.
    pub(crate) start: usize,
    /// How long the buffer may become, apart from a line feed.
    pub(crate) end: usize,
    /// How many brackets may still be opened.
    pub(crate) depth: u32,
    /// Whether to add a line feed at the end.
    pub(crate) line_feed: bool,
}

/// Appends the text that `write` writes, or nothing if it fails.
///
/// Write each message with one call: appending it piece by piece takes as long as serializing a small payload.
#[inline]
pub(crate) fn append<R>(
    out: &mut BytesMut,
    bounds: Bounds,
    write: impl FnOnce(&mut Writer<'_>) -> Result<R, Error>,
) -> Result<R, EncodeError> {
    let mut writer = Writer::new(out, bounds);
    let written = write(&mut writer);
    writer.finish(written, bounds)
}

/// The result of each serializer method.
pub(crate) type Done = Result<(), Error>;

/// Writes messages. A [`ValueSerializer`] serializes the values in them.
pub(crate) struct Writer<'b> {
    cursor: OutputCursor<'b>,
    /// How many brackets may still be opened.
    depth: u32,
    /// The first failure, even if a `Serialize` ignored it.
    failure: Option<Failure>,
}

#[derive(Clone, Copy)]
struct Failure {
    cause: Cause,
    /// Its position in the buffer.
    at: usize,
}

/// Why serialization failed.
#[derive(Clone, Copy)]
enum Cause {
    /// A `Serialize` failed, or misused the serializer.
    Serialize,
    NonFinite,
    LineBreak,
    TooLong,
    Rule(FaultKind),
}

impl<'b> Writer<'b> {
    #[inline(always)]
    fn new(out: &'b mut BytesMut, bounds: Bounds) -> Self {
        Self { cursor: OutputCursor::new(out, bounds.end), depth: bounds.depth, failure: None }
    }

    /// Commits the output, unless something failed.
    #[inline(always)]
    fn finish<R>(&mut self, written: Result<R, Error>, bounds: Bounds) -> Result<R, EncodeError> {
        let at = self.cursor.position();
        match (written, self.failure) {
            (Ok(written), None) => match self.cursor.commit(bounds.line_feed) {
                Ok(()) => Ok(written),
                Err(Full) => Err(Failure { cause: Cause::TooLong, at }.into_error(None, bounds)),
            },
            (written, failure) => {
                Err(failure.unwrap_or(Failure { cause: Cause::Serialize, at }).into_error(written.err(), bounds))
            }
        }
    }

    /// Writes a value as compact JSON. Fails even if the `Serialize` has ignored a failure.
    #[inline(always)]
    pub(crate) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(ValueSerializer::new(self, false))?;
        if self.failure.is_some() { Err(ignored()) } else { Ok(()) }
    }

    /// Writes `before`, `middle` and `after`, none of which count towards the depth.
    #[inline(always)]
    pub(crate) fn around<const B: usize, const A: usize>(
        &mut self,
        before: &[u8; B],
        middle: &[u8],
        after: &[u8; A],
    ) -> Done {
        let done = self.cursor.put_around(before, middle, after);
        self.fits(done)
    }

    /// Writes `before`, `text` with the escapes that a JSON string needs, and `after`.
    #[inline(always)]
    pub(crate) fn escaped<const B: usize, const A: usize>(
        &mut self,
        before: &[u8; B],
        text: &str,
        after: &[u8; A],
    ) -> Done {
        let done = self.cursor.put_string(false, before, text, after);
        self.fits(done)
    }

    /// Where in the buffer the output ends.
    #[inline(always)]
    pub(crate) fn position(&self) -> usize {
        self.cursor.position()
    }

    /// The output from `start` on.
    #[inline(always)]
    pub(crate) fn since(&mut self, start: usize) -> &[u8] {
        self.cursor.since(start)
    }

    /// Removes the last `len` bytes of the output.
    #[inline(always)]
    pub(crate) fn take_back(&mut self, len: usize) {
        self.cursor.take_back(len);
    }

    /// Records that the output at `at` breaks a rule.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&mut self, at: usize, kind: FaultKind) -> Error {
        self.failure.get_or_insert(Failure { cause: Cause::Rule(kind), at });
        Error::custom("against the rules")
    }

    /// Writes `pieces`, one after the other.
    #[inline(always)]
    pub(crate) fn put<const N: usize>(&mut self, pieces: [&[u8]; N]) -> Done {
        let done = self.cursor.put(pieces);
        self.fits(done)
    }

    /// Writes a comma if one is due, and a string with its quotes.
    #[inline(always)]
    fn string(&mut self, comma: bool, text: &str) -> Done {
        let done = self.cursor.put_string(comma, b"\"", text, b"\"");
        self.fits(done)
    }

    /// Writes `before`, a bracket or a comma; `name` with its quotes; and a colon.
    #[inline(always)]
    fn name(&mut self, before: u8, name: &'static str) -> Done {
        // Field names are constants, so the compiler evaluates this.
        if is_plain(name.as_bytes()) {
            self.put([&[before, b'"'], name.as_bytes(), b"\":"])
        } else {
            self.key(before, name)
        }
    }

    /// Like [`name`](Self::name), for names known only at run time.
    #[inline(always)]
    fn key(&mut self, before: u8, name: &str) -> Done {
        self.escaped(&[before, b'"'], name, b"\":")
    }

    /// Counts an opening bracket.
    #[inline(always)]
    fn descend(&mut self) -> Done {
        match self.depth.checked_sub(1) {
            Some(depth) => {
                self.depth = depth;
                Ok(())
            }
            None => Err(self.fail(Cause::Rule(FaultKind::TooDeep), "nested too deeply")),
        }
    }

    /// Counts closing brackets.
    #[inline(always)]
    fn ascend(&mut self, brackets: u32) {
        self.depth += brackets;
    }

    /// Writes a value inside another one.
    #[inline(always)]
    fn nested<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.watched(|writer| value.serialize(ValueSerializer::new(writer, false)))
    }

    /// Writes an element of an array, after a comma if one is due.
    #[inline(always)]
    fn element<T: Serialize + ?Sized>(&mut self, comma: bool, value: &T) -> Done {
        let start = self.cursor.address();
        let done = self.watched(|writer| value.serialize(ValueSerializer::new(writer, comma)));
        if done.is_err() && comma {
            self.refused_after(start);
        }
        done
    }

    /// Corrects the position of a failure if not even the comma has been written: the element would start after the
    /// comma.
    #[cold]
    #[inline(never)]
    fn refused_after(&mut self, start: usize) {
        let position = self.cursor.position();
        if let Some(failure) = &mut self.failure
            && failure.at == position
            && self.cursor.address() == start
        {
            failure.at += 1;
        }
    }

    /// Runs `write`, which calls a nested `Serialize`. Records a failure or panic, because the outer `Serialize` may
    /// ignore it.
    #[inline(always)]
    fn watched(&mut self, write: impl FnOnce(&mut Self) -> Done) -> Done {
        struct Watch<'w, 'b>(&'w mut Writer<'b>);

        impl Drop for Watch<'_, '_> {
            #[inline(always)]
            fn drop(&mut self) {
                self.0.note(Cause::Serialize);
            }
        }

        let watch = Watch(self);
        let done = write(&mut *watch.0);
        if done.is_ok() {
            mem::forget(watch);
        }
        done
    }

    #[inline(always)]
    fn fits(&mut self, done: Result<(), Full>) -> Done {
        done.map_err(|Full| self.fail(Cause::TooLong, "longer than the limit"))
    }

    /// Records a failure, and returns an error for the `Serialize` that caused it.
    #[cold]
    #[inline(never)]
    fn fail(&mut self, cause: Cause, text: &'static str) -> Error {
        self.note(cause);
        Error::custom(text)
    }

    /// Like [`fail`](Self::fail), with a position `ahead` bytes after the output so far.
    #[cold]
    #[inline(never)]
    fn fail_at(&mut self, ahead: usize, cause: Cause, text: &'static str) -> Error {
        let at = self.cursor.position() + ahead;
        self.failure.get_or_insert(Failure { cause, at });
        Error::custom(text)
    }

    #[cold]
    #[inline(never)]
    fn note(&mut self, cause: Cause) {
        let at = self.cursor.position();
        self.failure.get_or_insert(Failure { cause, at });
    }
}

impl Failure {
    /// Turns the recorded failure into an error. `error` is the one that the outermost `Serialize` returned.
    #[cold]
    #[inline(never)]
    fn into_error(self, error: Option<Error>, bounds: Bounds) -> EncodeError {
        let offset = self.at.saturating_sub(bounds.start);
        let error = || error.unwrap_or_else(ignored);
        match self.cause {
            Cause::Serialize => EncodeError::serialize(EncodeErrorKind::Serialize, offset, error()),
            Cause::NonFinite => EncodeError::serialize(EncodeErrorKind::NonFiniteFloat, offset, error()),
            Cause::LineBreak => EncodeError::line_break(offset),
            Cause::TooLong => EncodeError::rule(FaultKind::LineTooLong, bounds.end.saturating_sub(bounds.start)),
            Cause::Rule(kind) => EncodeError::rule(kind, offset),
        }
    }
}

/// The error for a `Serialize` that ignored a failure.
#[cold]
#[inline(never)]
fn ignored() -> Error {
    Error::custom("an error in a nested value was ignored")
}

/// Whether `text` is short and needs no escape. For constants, the compiler evaluates this.
#[inline(always)]
fn is_plain(text: &[u8]) -> bool {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    // Has no early exit, so that the loop can be unrolled.
    text.len() <= 32 && text.iter().fold(true, |all, &byte| all & plain(byte))
}
