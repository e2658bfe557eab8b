//! Raw JSON, which is validated and then written verbatim.

use serde::ser::{Impossible, Serialize, Serializer};
use serde_json::Error;

use wireline_json::fragment::{NUMBER, RAW_VALUE};
use wireline_json::{Accepted, DEEPEST, SyntaxError, SyntaxErrorKind, accept, explain};

use super::{Cause, Done, Writer};

/// Implements methods of a serializer by calling `self.refuse()`.
macro_rules! refuse_all {
    (scalars) => {
        refuse_all! {
            serialize_bool(bool);
            serialize_i8(i8);
            serialize_i16(i16);
            serialize_i32(i32);
            serialize_i64(i64);
            serialize_i128(i128);
            serialize_u8(u8);
            serialize_u16(u16);
            serialize_u32(u32);
            serialize_u64(u64);
            serialize_u128(u128);
            serialize_f32(f32);
            serialize_f64(f64);
            serialize_char(char);
            serialize_unit_variant(&'static str, u32, &'static str);
        }

        fn collect_str<T: std::fmt::Display + ?Sized>(self, _: &T) -> Done {
            Err(self.refuse())
        }

        fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Done {
            Err(self.refuse())
        }

        fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, _: &T) -> Done {
            Err(self.refuse())
        }
    };
    (compounds) => {
        type SerializeSeq = Impossible<(), Error>;
        type SerializeTuple = Impossible<(), Error>;
        type SerializeTupleStruct = Impossible<(), Error>;
        type SerializeTupleVariant = Impossible<(), Error>;
        type SerializeMap = Impossible<(), Error>;
        type SerializeStruct = Impossible<(), Error>;
        type SerializeStructVariant = Impossible<(), Error>;

        refuse_all! {
            serialize_bytes(&[u8]);
            serialize_none();
            serialize_unit();
            serialize_unit_struct(&'static str);
            serialize_seq(Option<usize>) -> Impossible<(), Error>;
            serialize_tuple(usize) -> Impossible<(), Error>;
            serialize_tuple_struct(&'static str, usize) -> Impossible<(), Error>;
            serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Impossible<(), Error>;
            serialize_map(Option<usize>) -> Impossible<(), Error>;
            serialize_struct(&'static str, usize) -> Impossible<(), Error>;
            serialize_struct_variant(&'static str, u32, &'static str, usize) -> Impossible<(), Error>;
        }

        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Done {
            Err(self.refuse())
        }
    };
    ($($method:ident($($argument:ty),*) $(-> $compound:ty)?;)*) => {$(
        fn $method(self, $(_: $argument),*) -> Result<refuse_all!(@ok $($compound)?), Error> {
            Err(self.refuse())
        }
    )*};
    (@ok) => { () };
    (@ok $compound:ty) => { $compound };
}
pub(super) use refuse_all;

/// The kind of JSON that a fragment claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Any JSON value.
    Value,
    /// A number.
    Number,
}

impl Claim {
    /// The claim of a struct with this name. serde_json passes raw text in structs with private names.
    #[inline(always)]
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            RAW_VALUE => Some(Self::Value),
            // With the feature `arbitrary_precision`.
            NUMBER => Some(Self::Number),
            _ => None,
        }
    }
}

impl Writer<'_> {
    /// Writes `json` verbatim, if it is of the claimed kind.
    pub(super) fn fragment(&mut self, json: &str, claim: Claim) -> Done {
        let bytes = json.as_bytes();
        // The scanner can't handle longer texts, and no line can be longer either.
        if u32::try_from(bytes.len()).is_err() {
            return Err(self.fail(Cause::TooLong, "longer than the limit"));
        }
        let depth = self.depth.min(DEEPEST);
        let Some(Accepted { scanned, .. }) = accept(bytes.into(), depth, &mut ()) else {
            let error = explain(bytes, depth).unwrap_or(SyntaxError { kind: SyntaxErrorKind::UnexpectedByte, at: 0 });
            return Err(self.fail_at(error.at, Cause::Rule(error.kind.into()), "expected a raw value to be JSON"));
        };
        if claim == Claim::Number && !matches!(bytes.first(), Some(b'-' | b'0'..=b'9')) {
            return Err(self.fail(Cause::Serialize, "expected a raw number to be a number"));
        }
        if scanned.flags.has_controls()
            && let Some(at) = memchr::memchr2(b'\n', b'\r', bytes)
        {
            return Err(self.fail_at(at, Cause::LineBreak, "line break in a raw value"));
        }
        self.put([bytes])
    }
}

/// Receives a fragment as a string, and refuses anything else.
pub(super) struct Fragment<'w, 'b> {
    writer: &'w mut Writer<'b>,
    claim: Claim,
}

impl<'w, 'b> Fragment<'w, 'b> {
    #[inline(always)]
    pub(super) fn new(writer: &'w mut Writer<'b>, claim: Claim) -> Self {
        Self { writer, claim }
    }

    #[cold]
    fn refuse(self) -> Error {
        self.writer.fail(Cause::Serialize, "expected a raw value to be a string of JSON")
    }
}

impl Serializer for Fragment<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_str(self, json: &str) -> Done {
        self.writer.fragment(json, self.claim)
    }

    refuse_all! { scalars }
    refuse_all! { compounds }
}
