//! Writes serde's data model as JSON.

use std::fmt::{self, Display, Write as _};
use std::{io, mem};

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Error;
use serde_json::ser::{CompactFormatter, Formatter};
use wireline_json::escape::{Full, OutputCursor};
use wireline_json::fragment::{self, RAW_FRAGMENT};
use wireline_json::spelling;

use super::compound::{Fields, Map, Seq, VariantFields, VariantSeq};
use super::fragment::Claim;
use super::offered::Offered;
use super::spelt::{Destination, Spelt};
use super::{Cause, Done, Writer};

/// Serializes a value at the end of the output, after a comma if one is due.
///
/// Writing the comma together with the value saves a check for room, which matters in arrays of numbers and short
/// strings.
pub(super) struct ValueSerializer<'w, 'b> {
    writer: &'w mut Writer<'b>,
    comma: bool,
}

impl<'w, 'b> ValueSerializer<'w, 'b> {
    #[inline(always)]
    pub(super) fn new(writer: &'w mut Writer<'b>, comma: bool) -> Self {
        Self { writer, comma }
    }

    /// The writer, after the comma.
    #[inline(always)]
    pub(super) fn writer(self) -> Result<&'w mut Writer<'b>, Error> {
        if self.comma {
            self.writer.put([b","])?;
        }
        Ok(self.writer)
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty => $write:ident;)*) => {$(
        #[inline]
        fn $method(self, value: $type) -> Done {
            self.writer.$write(self.comma, value.into())
        }
    )*};
}

impl<'w, 'b> Serializer for ValueSerializer<'w, 'b> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Seq<'w, 'b>;
    type SerializeTuple = Seq<'w, 'b>;
    type SerializeTupleStruct = Seq<'w, 'b>;
    type SerializeTupleVariant = VariantSeq<'w, 'b>;
    type SerializeMap = Map<'w, 'b>;
    type SerializeStruct = Fields<'w, 'b>;
    type SerializeStructVariant = VariantFields<'w, 'b>;

    integers! {
        serialize_i8: i8 => i64;
        serialize_i16: i16 => i64;
        serialize_i32: i32 => i64;
        serialize_i64: i64 => i64;
        serialize_i128: i128 => i128;
        serialize_u8: u8 => u64;
        serialize_u16: u16 => u64;
        serialize_u32: u32 => u64;
        serialize_u64: u64 => u64;
        serialize_u128: u128 => u128;
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Done {
        self.writer.bool(self.comma, value)
    }

    #[inline]
    fn serialize_f32(self, value: f32) -> Done {
        self.writer.float(self.comma, value.is_finite(), |writer| CompactFormatter.write_f32(writer, value))
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Done {
        self.writer.float(self.comma, value.is_finite(), |writer| CompactFormatter.write_f64(writer, value))
    }

    #[inline]
    fn serialize_char(self, value: char) -> Done {
        self.writer.string(self.comma, value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Done {
        self.writer.string(self.comma, value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Done {
        let mut seq = Seq::open(self.writer, self.comma)?;
        for byte in value {
            seq.element(byte)?;
        }
        seq.close(1)
    }

    #[inline]
    fn serialize_none(self) -> Done {
        self.writer.null(self.comma)
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    #[inline]
    fn serialize_unit(self) -> Done {
        self.writer.null(self.comma)
    }

    #[inline]
    fn serialize_unit_struct(self, _: &'static str) -> Done {
        self.writer.null(self.comma)
    }

    #[inline]
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.writer.string(self.comma, variant)
    }

    #[inline(always)]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Done {
        if name == RAW_FRAGMENT {
            fragment::begin();
            return value.serialize(Offered(self));
        }
        if let Some(clue) = spelling::clue(name) {
            return Spelt::start(self, clue, value);
        }
        value.serialize(self)
    }

    #[inline(always)]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        let writer = self.writer()?;
        writer.variant(variant)?;
        value.serialize(ValueSerializer::new(writer, false))?;
        writer.ascend(1);
        writer.put([b"}"])
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<Seq<'w, 'b>, Error> {
        Seq::open(self.writer, self.comma)
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Seq<'w, 'b>, Error> {
        Seq::open(self.writer, self.comma)
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Seq<'w, 'b>, Error> {
        Seq::open(self.writer, self.comma)
    }

    #[inline(always)]
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<VariantSeq<'w, 'b>, Error> {
        let writer = self.writer()?;
        writer.variant(variant)?;
        Seq::open(writer, false).map(VariantSeq)
    }

    #[inline]
    fn serialize_map(self, _: Option<usize>) -> Result<Map<'w, 'b>, Error> {
        Map::open(self.writer()?)
    }

    #[inline(always)]
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'w, 'b>, Error> {
        let writer = self.writer()?;
        match Claim::of(name) {
            Some(claim) => Ok(Fields::fragment(writer, claim)),
            None => Fields::open(writer),
        }
    }

    #[inline(always)]
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<VariantFields<'w, 'b>, Error> {
        let writer = self.writer()?;
        writer.variant(variant)?;
        Fields::open(writer).map(VariantFields)
    }

    #[inline]
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Done {
        let writer = self.writer()?;
        writer.put([b"\""])?;
        writer.display(value)?;
        writer.put([b"\""])
    }
}

impl Destination for ValueSerializer<'_, '_> {
    fn number(self, text: &str) -> Done {
        self.writer()?.put([text.as_bytes()])
    }

    fn refuse(self, reason: &'static str) -> Error {
        self.writer.fail(Cause::Serialize, reason)
    }
}

impl Writer<'_> {
    #[inline(always)]
    pub(super) fn bool(&mut self, comma: bool, value: bool) -> Done {
        let word = if value { b"true\0\0\0\0" } else { b"false\0\0\0" };
        self.word(comma, *word, 5 - usize::from(value))
    }

    #[inline(always)]
    fn null(&mut self, comma: bool) -> Done {
        self.word(comma, *b"null\0\0\0\0", 4)
    }

    /// Writes a comma if one is due, and the first `len` bytes of `word`.
    #[inline(always)]
    pub(super) fn word(&mut self, comma: bool, word: [u8; 8], len: usize) -> Done {
        let done = self.cursor.put_word(comma, word, len);
        self.fits(done)
    }

    /// Opens the object around a variant's contents, and writes its name.
    #[inline(always)]
    fn variant(&mut self, variant: &'static str) -> Done {
        self.descend()?;
        self.name(b'{', variant)
    }

    /// Writes a comma if one is due, and a float. `print` calls serde_json, which finds the shortest digits.
    #[inline(always)]
    pub(super) fn float(
        &mut self,
        comma: bool,
        is_finite: bool,
        print: impl FnOnce(&mut Printed<'_, '_>) -> io::Result<()>,
    ) -> Done {
        if !is_finite {
            return Err(self.fail(Cause::NonFinite, "float is not finite"));
        }
        let done = print(&mut Printed { cursor: &mut self.cursor, comma }).map_err(|_| Full);
        self.fits(done)
    }

    /// Writes the `Display` output of `value`, without quotes.
    pub(super) fn display<T: Display + ?Sized>(&mut self, value: &T) -> Done {
        let mut text = Displayed { writer: self, error: None };
        let done = write!(text, "{value}");
        match (text.error, done) {
            (Some(error), _) => Err(error),
            (None, Err(fmt::Error)) => Err(Error::custom("a Display implementation returned an error")),
            (None, Ok(())) => Ok(()),
        }
    }
}

/// Receives a printed number.
pub(super) struct Printed<'w, 'b> {
    cursor: &'w mut OutputCursor<'b>,
    /// Whether a comma is due.
    comma: bool,
}

impl io::Write for Printed<'_, '_> {
    #[inline(always)]
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.write_all(text).map(|()| text.len())
    }

    #[inline(always)]
    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        let comma = mem::take(&mut self.comma);
        self.cursor.put_few(comma, text).map_err(|Full| io::ErrorKind::FileTooLarge.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Receives the pieces of a string.
struct Displayed<'w, 'b> {
    writer: &'w mut Writer<'b>,
    error: Option<Error>,
}

impl fmt::Write for Displayed<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let done = self.writer.cursor.put_escaped(text);
        self.writer.fits(done).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}
