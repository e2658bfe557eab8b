//! Serializes the contents of a newtype struct that may be one of this crate's fragments.

use std::fmt::Display;

use serde::ser::{Serialize, Serializer};
use serde_json::Error;
use wireline_json::fragment::{self, Received};

use super::fragment::Claim;
use super::value::ValueSerializer;
use super::{Cause, Done};

/// Implements methods of a serializer by forwarding to `self.inner()`. Wide numbers have 64 bits or more.
macro_rules! pass_on {
    (all but strings and wide numbers, to $type:ty) => {
        type Ok = ();
        type Error = Error;
        type SerializeSeq = <$type as Serializer>::SerializeSeq;
        type SerializeTuple = <$type as Serializer>::SerializeTuple;
        type SerializeTupleStruct = <$type as Serializer>::SerializeTupleStruct;
        type SerializeTupleVariant = <$type as Serializer>::SerializeTupleVariant;
        type SerializeMap = <$type as Serializer>::SerializeMap;
        type SerializeStruct = <$type as Serializer>::SerializeStruct;
        type SerializeStructVariant = <$type as Serializer>::SerializeStructVariant;

        pass_on! {
            serialize_bool(value: bool);
            serialize_i8(value: i8);
            serialize_i16(value: i16);
            serialize_i32(value: i32);
            serialize_u8(value: u8);
            serialize_u16(value: u16);
            serialize_u32(value: u32);
            serialize_f32(value: f32);
            serialize_char(value: char);
            serialize_bytes(value: &[u8]);
            serialize_none();
            serialize_unit();
            serialize_unit_struct(name: &'static str);
            serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
            serialize_seq(len: Option<usize>) -> Self::SerializeSeq;
            serialize_tuple(len: usize) -> Self::SerializeTuple;
            serialize_tuple_struct(name: &'static str, len: usize) -> Self::SerializeTupleStruct;
            serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
                -> Self::SerializeTupleVariant;
            serialize_map(len: Option<usize>) -> Self::SerializeMap;
            serialize_struct(name: &'static str, len: usize) -> Self::SerializeStruct;
            serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
                -> Self::SerializeStructVariant;
        }

        fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
            self.inner().serialize_some(value)
        }

        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            name: &'static str,
            index: u32,
            variant: &'static str,
            value: &T,
        ) -> Done {
            self.inner().serialize_newtype_variant(name, index, variant, value)
        }

        fn collect_str<T: Display + ?Sized>(self, value: &T) -> Done {
            self.inner().collect_str(value)
        }
    };
    ($($method:ident($($argument:ident: $of:ty),*) $(-> $compound:ty)?;)*) => {$(
        fn $method(self, $($argument: $of),*) -> Result<pass_on!(@ok $($compound)?), Error> {
            self.inner().$method($($argument),*)
        }
    )*};
    (@ok) => { () };
    (@ok $compound:ty) => { $compound };
}
pub(super) use pass_on;

/// Writes a text that is [offered](fragment) to it verbatim, and anything else as a value.
pub(super) struct Offered<'w, 'b>(pub(super) ValueSerializer<'w, 'b>);

impl<'w, 'b> Offered<'w, 'b> {
    fn inner(self) -> ValueSerializer<'w, 'b> {
        self.0
    }
}

impl<'w, 'b> Serializer for Offered<'w, 'b> {
    #[inline(always)]
    fn is_human_readable(&self) -> bool {
        fragment::welcome();
        true
    }

    #[inline(always)]
    fn serialize_str(self, text: &str) -> Done {
        match fragment::receive(text) {
            Received::Fragment => self.0.writer()?.fragment(text, Claim::Value),
            Received::String => self.0.serialize_str(text),
            Received::Other => {
                Err(self.0.writer()?.fail(Cause::Serialize, "raw JSON was changed on its way to the encoder"))
            }
        }
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Done {
        self.0.serialize_newtype_struct(name, value)
    }

    pass_on! { all but strings and wide numbers, to ValueSerializer<'w, 'b> }
    pass_on! {
        serialize_i64(value: i64);
        serialize_i128(value: i128);
        serialize_u64(value: u64);
        serialize_u128(value: u128);
        serialize_f64(value: f64);
    }
}
