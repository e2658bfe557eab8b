//! What params, results and data are written from.

use std::io;

use bytes::BytesMut;
use serde::Serialize;

use crate::decode::fault::FaultKind;
use crate::encode::error::{EncodeError, EncodeErrorKind};
use crate::encode::serializer::{self, Notes};
use crate::json::scan;
use crate::message::raw::RawJson;

/// What can stand in `params`, `result` or `data`: any type that serializes, or checked text as [`RawJson`].
///
/// It is implemented for those, and cannot be for others.
///
/// ```
/// use wireline::{Id, RawJson, Rules, to_text};
///
/// let typed = to_text(&Rules::json_rpc(), |encoder| encoder.response(&Id::from(1), &[1, 2]))?;
/// let text = RawJson::parse(b"[1,2]")?;
/// let raw = to_text(&Rules::json_rpc(), |encoder| encoder.response(&Id::from(1), &text))?;
/// assert_eq!(typed, raw);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Payload: sealed::Write {}

impl<T: sealed::Write + ?Sized> Payload for T {}

mod sealed {
    use super::*;

    pub trait Write {
        #[doc(hidden)]
        fn write(&self, writer: &mut LimitedWriter<'_>, notes: &Notes) -> Result<(), EncodeError>;
    }

    impl<T: Serialize + ?Sized> Write for T {
        #[inline]
        fn write(&self, writer: &mut LimitedWriter<'_>, notes: &Notes) -> Result<(), EncodeError> {
            serializer::write(&mut *writer, self, notes).map_err(|error| writer.failed(notes, error))
        }
    }

    impl Write for RawJson<'_> {
        fn write(&self, writer: &mut LimitedWriter<'_>, notes: &Notes) -> Result<(), EncodeError> {
            notes.verbatim.set(true);
            io::Write::write_all(writer, self.as_bytes()).map_err(|_| writer.too_long())
        }
    }
}

/// `payload` as JSON text on one line, of any length.
pub(crate) fn to_json(payload: &(impl Payload + ?Sized)) -> Result<Vec<u8>, EncodeError> {
    let mut json = BytesMut::new();
    let notes = Notes::default();
    payload.write(&mut LimitedWriter { out: &mut json, end: usize::MAX, start: 0 }, &notes)?;
    if notes.verbatim.get() {
        if let Some(defect) = scan::explain(&json, scan::DEEPEST) {
            return Err(EncodeError::rule(defect.flaw.into(), defect.at));
        }
        refuse_line_breaks(&json)?;
    }
    Ok(json.into())
}

/// Refuses what would break a line in two.
pub(crate) fn refuse_line_breaks(text: &[u8]) -> Result<(), EncodeError> {
    match memchr::memchr2(b'\n', b'\r', text) {
        None => Ok(()),
        Some(at) => Err(EncodeError::line_break(at)),
    }
}

/// Appends to a buffer up to a limit.
#[derive(Debug)]
pub struct LimitedWriter<'o> {
    pub(crate) out: &'o mut BytesMut,
    /// How long the buffer may get.
    pub(crate) end: usize,
    /// Where the message begins in it.
    pub(crate) start: usize,
}

impl LimitedWriter<'_> {
    fn offset(&self) -> usize {
        self.out.len() - self.start
    }

    #[cold]
    fn too_long(&self) -> EncodeError {
        EncodeError::rule(FaultKind::LineTooLong, self.offset())
    }

    #[cold]
    fn failed(&self, notes: &Notes, error: serde_json::Error) -> EncodeError {
        match error.io_error_kind() {
            Some(io::ErrorKind::FileTooLarge) => self.too_long(),
            _ if notes.non_finite.get() => {
                EncodeError::serialize(EncodeErrorKind::NonFiniteFloat, self.offset(), error)
            }
            _ => EncodeError::serialize(EncodeErrorKind::Serialize, self.offset(), error),
        }
    }
}

impl io::Write for LimitedWriter<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.write_all(text).map(|()| text.len())
    }

    #[inline]
    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        if self.out.len() + text.len() > self.end {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
