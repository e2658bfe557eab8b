//! serde's data model as JSON.

use std::fmt::{self, Display, Write as _};
use std::io;

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Error;
use serde_json::ser::{CompactFormatter, Formatter};

use super::compound::{Fields, Map, Seq, VariantFields, VariantSeq};
use super::fragment::{self, Claim};
use super::{Cause, Done, Writer};
use crate::json::escape::{Cursor, Full};
use crate::json::{RAW_FRAGMENT, ask_for_fragment};

macro_rules! integers {
    ($($method:ident: $type:ty => $write:ident;)*) => {$(
        #[inline]
        fn $method(self, value: $type) -> Done {
            self.$write(value.into())
        }
    )*};
}

impl<'w, 'b> Serializer for &'w mut Writer<'b> {
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
        self.bool(value)
    }

    #[inline]
    fn serialize_f32(self, value: f32) -> Done {
        self.float(value.is_finite(), |writer| CompactFormatter.write_f32(writer, value))
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Done {
        self.float(value.is_finite(), |writer| CompactFormatter.write_f64(writer, value))
    }

    #[inline]
    fn serialize_char(self, value: char) -> Done {
        self.string(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Done {
        self.string(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Done {
        let mut seq = Seq::open(self)?;
        for byte in value {
            seq.element(byte)?;
        }
        seq.close(1)
    }

    #[inline]
    fn serialize_none(self) -> Done {
        self.null()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    #[inline]
    fn serialize_unit(self) -> Done {
        self.null()
    }

    #[inline]
    fn serialize_unit_struct(self, _: &'static str) -> Done {
        self.null()
    }

    #[inline]
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.string(variant)
    }

    #[inline(always)]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Done {
        if name == RAW_FRAGMENT {
            let _question = ask_for_fragment();
            return value.serialize(fragment::Fragment::new(self, Claim::Value));
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
        self.variant(variant)?;
        value.serialize(&mut *self)?;
        self.ascend(1);
        self.put([b"}"])
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<Seq<'w, 'b>, Error> {
        Seq::open(self)
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Seq<'w, 'b>, Error> {
        Seq::open(self)
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Seq<'w, 'b>, Error> {
        Seq::open(self)
    }

    #[inline(always)]
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<VariantSeq<'w, 'b>, Error> {
        self.variant(variant)?;
        Seq::open(self).map(VariantSeq)
    }

    #[inline]
    fn serialize_map(self, _: Option<usize>) -> Result<Map<'w, 'b>, Error> {
        Map::open(self)
    }

    #[inline(always)]
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'w, 'b>, Error> {
        match Claim::of(name) {
            Some(claim) => Ok(Fields::fragment(self, claim)),
            None => Fields::open(self),
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
        self.variant(variant)?;
        Fields::open(self).map(VariantFields)
    }

    #[inline]
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Done {
        self.put([b"\""])?;
        self.display(value)?;
        self.put([b"\""])
    }
}

impl Writer<'_> {
    #[inline(always)]
    pub(super) fn bool(&mut self, value: bool) -> Done {
        let word = if value { b"true\0\0\0\0" } else { b"false\0\0\0" };
        let done = self.cursor.put_word(*word, 5 - usize::from(value));
        self.fits(done)
    }

    #[inline(always)]
    fn null(&mut self) -> Done {
        self.put([b"null"])
    }

    /// Opens the object around a variant's contents, and writes its name.
    #[inline(always)]
    fn variant(&mut self, variant: &'static str) -> Done {
        self.descend()?;
        self.name(b'{', variant)
    }

    /// Writes a float. `print` calls serde_json, which finds the shortest digits.
    #[inline(always)]
    pub(super) fn float(
        &mut self,
        is_finite: bool,
        print: impl FnOnce(&mut Printed<'_, '_>) -> io::Result<()>,
    ) -> Done {
        if !is_finite {
            return Err(self.fail(Cause::NonFinite, "float is not finite"));
        }
        let done = print(&mut Printed(&mut self.cursor)).map_err(|_| Full);
        self.fits(done)
    }

    /// Writes what `value` displays, without quotes.
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
pub(super) struct Printed<'w, 'b>(&'w mut Cursor<'b>);

impl io::Write for Printed<'_, '_> {
    #[inline(always)]
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.write_all(text).map(|()| text.len())
    }

    #[inline(always)]
    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        self.0.put_few(text).map_err(|Full| io::ErrorKind::FileTooLarge.into())
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
