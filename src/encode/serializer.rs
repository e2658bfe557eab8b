//! Typed payloads to JSON by serde_json, without what it lets pass.
//!
//! serde_json writes `null` for a float that is not finite, and trusts a `Serialize` that forgets a value, announces a
//! wrong length or passes over an error. A wrapper around its serializer refuses all that; another around its formatter
//! counts brackets, and notices what is written without going through a serializer. All of it is inlined away, but for the
//! counting.

use super::error::{EncodeError, EncodeErrorKind};
use crate::json::fragment::{self, RAW_FRAGMENT};
use crate::json::{self};
use crate::message::FaultKind;
use bytes::BytesMut;
use std::cell::Cell;
use std::fmt::Display;
use std::io;

use serde::ser::{self, Error as _, Serialize, Serializer};
use serde_json::ser::{CompactFormatter, Formatter};

/// How much may be written.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Where the message starts in the buffer; offsets in errors count from here.
    pub(crate) start: usize,
    /// How long the buffer may become.
    pub(crate) end: usize,
    /// How many brackets may still be opened.
    pub(crate) depth: u32,
}

/// Appends `value` as compact JSON on one line, or nothing.
pub(crate) fn append<T: Serialize + ?Sized>(out: &mut BytesMut, value: &T, bounds: Bounds) -> Result<(), EncodeError> {
    let from = out.len();
    let notes = Notes::default();
    let mut writer = LimitedWriter { out, end: bounds.end, start: bounds.start };
    if let Err(error) = write(&mut writer, value, &notes) {
        return Err(writer.failed(&notes, error));
    }
    if notes.deepest.get() > bounds.depth {
        return Err(EncodeError::rule(FaultKind::TooDeep, None));
    }
    if notes.verbatim.get() {
        let text = &out[from..];
        if let Some(at) = memchr::memchr2(b'\n', b'\r', text) {
            return Err(EncodeError::line_break(from - bounds.start + at));
        }
        if let Some(defect) = json::explain(text, bounds.depth.min(json::DEEPEST)) {
            return Err(EncodeError::rule(defect.flaw.into(), from - bounds.start + defect.at));
        }
    }
    Ok(())
}

/// Appends a string.
pub(crate) fn append_str(out: &mut BytesMut, text: &str, bounds: Bounds) -> Result<(), EncodeError> {
    append(out, text, bounds)
}

/// What was noticed while a payload was written.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(crate) non_finite: Cell<bool>,
    /// Something in it failed, whether or not its `Serialize` says so.
    failed: Cell<bool>,
    pub(crate) depth: Cell<u32>,
    pub(crate) deepest: Cell<u32>,
    /// Text was taken over as it was: from a `RawValue`, or a number that keeps its spelling.
    pub(crate) verbatim: Cell<bool>,
}

/// Writes `value` as JSON.
#[inline]
pub(crate) fn write<W: io::Write, T: Serialize + ?Sized>(
    writer: W,
    value: &T,
    notes: &Notes,
) -> Result<(), serde_json::Error> {
    let mut serializer = serde_json::Serializer::with_formatter(writer, Noting { notes });
    value.serialize(Strict { inner: &mut serializer, notes })?;
    match notes.failed.get() {
        // What was written stops in the middle of something.
        true => Err(serde_json::Error::custom("a part of it failed, and that was passed over")),
        false => Ok(()),
    }
}

struct Noting<'n> {
    notes: &'n Notes,
}

impl Noting<'_> {
    #[inline]
    fn enter(&self) {
        let depth = self.notes.depth.get() + 1;
        self.notes.depth.set(depth);
        self.notes.deepest.set(self.notes.deepest.get().max(depth));
    }

    #[inline]
    fn leave(&self) {
        self.notes.depth.set(self.notes.depth.get().saturating_sub(1));
    }
}

impl Formatter for Noting<'_> {
    #[inline]
    fn begin_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter();
        CompactFormatter.begin_array(writer)
    }

    #[inline]
    fn end_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.leave();
        CompactFormatter.end_array(writer)
    }

    #[inline]
    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter();
        CompactFormatter.begin_object(writer)
    }

    #[inline]
    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.leave();
        CompactFormatter.end_object(writer)
    }

    fn write_raw_fragment<W: io::Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        self.notes.verbatim.set(true);
        writer.write_all(fragment.as_bytes())
    }

    fn write_number_str<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: &str) -> io::Result<()> {
        self.notes.verbatim.set(true);
        writer.write_all(value.as_bytes())
    }
}

/// A serializer, or a part of one, that refuses what serde_json lets pass.
struct Strict<'n, S> {
    inner: S,
    notes: &'n Notes,
}

/// A value that is to be written by a [`Strict`] serializer.
struct Checked<'n, 'v, T: ?Sized> {
    value: &'v T,
    notes: &'n Notes,
}

impl<T: Serialize + ?Sized> Serialize for Checked<'_, '_, T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let serialized = self.value.serialize(Strict { inner: serializer, notes: self.notes });
        serialized.inspect_err(|_| self.notes.failed.set(true))
    }
}

impl<'n, S> Strict<'n, S> {
    #[inline]
    fn checked<'v, T: ?Sized>(&self, value: &'v T) -> Checked<'n, 'v, T> {
        Checked { value, notes: self.notes }
    }

    #[inline]
    fn finite<E: ser::Error>(&self, is_finite: bool) -> Result<(), E> {
        if is_finite {
            return Ok(());
        }
        self.notes.non_finite.set(true);
        Err(E::custom("float is not finite"))
    }
}

/// Methods that pass a plain value on.
macro_rules! plain {
    ($($method:ident: $type:ty),*) => {$(
        #[inline]
        fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            self.inner.$method(value)
        }
    )*};
}

/// Methods that pass on what begins a compound value, but not that its length is zero.
///
/// serde_json takes that as a reason to close the brackets at once, and would then write whatever comes all the same
/// behind them, where it is no longer part of the value. It makes nothing else of a length.
macro_rules! compound {
    ($($method:ident[$($arg:ident: $type:ty),*] -> $compound:ident;)*) => {$(
        #[inline]
        fn $method(self, $($arg: $type,)* len: usize) -> Result<Self::$compound, S::Error> {
            Ok(Strict { inner: self.inner.$method($($arg,)* len.max(1))?, notes: self.notes })
        }
    )*};
}

impl<'n, S: Serializer> Serializer for Strict<'n, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Strict<'n, S::SerializeSeq>;
    type SerializeTuple = Strict<'n, S::SerializeTuple>;
    type SerializeTupleStruct = Strict<'n, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Strict<'n, S::SerializeTupleVariant>;
    type SerializeMap = StrictMap<'n, S::SerializeMap>;
    type SerializeStruct = Strict<'n, S::SerializeStruct>;
    type SerializeStructVariant = Strict<'n, S::SerializeStructVariant>;

    plain! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8]
    }

    #[inline]
    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        self.finite(value.is_finite())?;
        self.inner.serialize_f32(value)
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        self.finite(value.is_finite())?;
        self.inner.serialize_f64(value)
    }

    #[inline]
    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_none()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let value = self.checked(value);
        self.inner.serialize_some(&value)
    }

    #[inline]
    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    #[inline]
    fn serialize_unit_struct(self, name: &'static str) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_struct(name)
    }

    #[inline]
    fn serialize_unit_variant(self, name: &'static str, index: u32, variant: &'static str) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_variant(name, index, variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<S::Ok, S::Error> {
        if name == RAW_FRAGMENT {
            fragment::ask_for();
            let text = serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned));
            let raw = text.and_then(|text| serde_json::value::RawValue::from_string(text).ok());
            return match raw {
                Some(raw) => raw.serialize(self.inner),
                None => Err(S::Error::custom("not a fragment")),
            };
        }
        let value = self.checked(value);
        self.inner.serialize_newtype_struct(name, &value)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let value = self.checked(value);
        self.inner.serialize_newtype_variant(name, index, variant, &value)
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        Ok(Strict { inner: self.inner.serialize_seq(None)?, notes: self.notes })
    }

    #[inline]
    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        let inner = self.inner.serialize_map(None)?;
        Ok(StrictMap { map: Strict { inner, notes: self.notes }, awaits_value: false })
    }

    compound! {
        serialize_tuple[] -> SerializeTuple;
        serialize_tuple_struct[name: &'static str] -> SerializeTupleStruct;
        serialize_tuple_variant[name: &'static str, index: u32, variant: &'static str] -> SerializeTupleVariant;
        serialize_struct[name: &'static str] -> SerializeStruct;
        serialize_struct_variant[name: &'static str, index: u32, variant: &'static str] -> SerializeStructVariant;
    }

    #[inline]
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.collect_str(value)
    }
}

/// Compound values that are a list of values, or of values with static names.
macro_rules! elements {
    ($($trait:ident: $method:ident($($key:ident)?);)*) => {$(
        impl<S: ser::$trait> ser::$trait for Strict<'_, S> {
            type Ok = S::Ok;
            type Error = S::Error;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Result<(), S::Error> {
                let value = self.checked(value);
                self.inner.$method($($key,)? &value)
            }

            #[inline]
            fn end(self) -> Result<S::Ok, S::Error> {
                self.inner.end()
            }
        }
    )*};
}

elements! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeStruct: serialize_field(key);
    SerializeStructVariant: serialize_field(key);
}

/// A map that has as many values as keys, in turn.
struct StrictMap<'n, S> {
    map: Strict<'n, S>,
    awaits_value: bool,
}

impl<S: ser::SerializeMap> StrictMap<'_, S> {
    fn turn(&mut self, value: bool) -> Result<(), S::Error> {
        if self.awaits_value != value {
            self.map.notes.failed.set(true);
            return Err(S::Error::custom("keys and values of a map must be written in turn"));
        }
        self.awaits_value = !value;
        Ok(())
    }
}

impl<S: ser::SerializeMap> ser::SerializeMap for StrictMap<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.turn(false)?;
        let key = self.map.checked(key);
        self.map.inner.serialize_key(&key)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.turn(true)?;
        let value = self.map.checked(value);
        self.map.inner.serialize_value(&value)
    }

    #[inline]
    fn end(self) -> Result<S::Ok, S::Error> {
        if self.awaits_value {
            return Err(S::Error::custom("the last key of a map has no value"));
        }
        self.map.inner.end()
    }
}

/// Appends to a buffer up to a limit.
#[derive(Debug)]
pub(super) struct LimitedWriter<'o> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// serde_json writes numbers so if it keeps their spelling, which a feature of its own decides.
    #[test]
    fn what_is_taken_over_as_it_was_is_noted() {
        type Write = fn(&mut Noting<'_>, &mut Vec<u8>) -> io::Result<()>;
        let ways: [Write; 2] = [|f, out| f.write_number_str(out, "1e2"), |f, out| f.write_raw_fragment(out, "1e2")];
        for write in ways {
            let (notes, mut out) = (Notes::default(), Vec::new());
            write(&mut Noting { notes: &notes }, &mut out).unwrap();
            assert_eq!((&out[..], notes.verbatim.get()), (&b"1e2"[..], true));
        }
    }
}
