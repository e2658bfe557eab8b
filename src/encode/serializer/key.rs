//! Keys of maps: strings, and scalars in quotes.

use std::fmt::Display;

use serde::ser::{Impossible, Serialize, Serializer};
use serde_json::Error;
use serde_json::ser::{CompactFormatter, Formatter};
use wireline_json::spelling;

use super::fragment::refuse_all;
use super::spelt::{Destination, Spelt};
use super::{Cause, Done, Writer};

/// Writes a key, with the bracket or comma before it and the colon after it.
pub(super) struct KeySerializer<'w, 'b> {
    writer: &'w mut Writer<'b>,
    /// An opening bracket or a comma.
    before: u8,
}

impl<'w, 'b> KeySerializer<'w, 'b> {
    #[inline(always)]
    pub(super) fn new(writer: &'w mut Writer<'b>, before: u8) -> Self {
        Self { writer, before }
    }

    fn quoted(self, write: impl FnOnce(&mut Writer<'b>) -> Done) -> Done {
        self.writer.put([&[self.before, b'"']])?;
        write(self.writer)?;
        self.writer.put([b"\":"])
    }

    #[cold]
    fn refuse(self) -> Error {
        self.writer.fail(Cause::Serialize, "key must be a string")
    }
}

macro_rules! quoted {
    ($($method:ident: $type:ty => |$writer:ident, $value:ident| $write:expr;)*) => {$(
        fn $method(self, $value: $type) -> Done {
            self.quoted(|$writer| $write)
        }
    )*};
}

impl Serializer for KeySerializer<'_, '_> {
    type Ok = ();
    type Error = Error;

    quoted! {
        serialize_bool: bool => |writer, value| writer.bool(false, value);
        serialize_i8: i8 => |writer, value| writer.i64(false, value.into());
        serialize_i16: i16 => |writer, value| writer.i64(false, value.into());
        serialize_i32: i32 => |writer, value| writer.i64(false, value.into());
        serialize_i64: i64 => |writer, value| writer.i64(false, value);
        serialize_i128: i128 => |writer, value| writer.i128(false, value);
        serialize_u8: u8 => |writer, value| writer.u64(false, value.into());
        serialize_u16: u16 => |writer, value| writer.u64(false, value.into());
        serialize_u32: u32 => |writer, value| writer.u64(false, value.into());
        serialize_u64: u64 => |writer, value| writer.u64(false, value);
        serialize_u128: u128 => |writer, value| writer.u128(false, value);
        serialize_f32: f32 => |writer, value| {
            writer.float(false, value.is_finite(), |writer| CompactFormatter.write_f32(writer, value))
        };
        serialize_f64: f64 => |writer, value| {
            writer.float(false, value.is_finite(), |writer| CompactFormatter.write_f64(writer, value))
        };
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Done {
        self.writer.key(self.before, value)
    }

    fn serialize_char(self, value: char) -> Done {
        self.writer.key(self.before, value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.writer.key(self.before, variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Done {
        match spelling::clue(name) {
            Some(clue) => Spelt::start(self, clue, value),
            None => value.serialize(self),
        }
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Done {
        self.quoted(|writer| writer.display(value))
    }

    refuse_all! { compounds }
}

impl Destination for KeySerializer<'_, '_> {
    fn number(self, text: &str) -> Done {
        self.writer.put([&[self.before, b'"'], text.as_bytes(), b"\":"])
    }

    fn refuse(self, reason: &'static str) -> Error {
        self.writer.fail(Cause::Serialize, reason)
    }
}
