//! Arrays and objects.

use std::mem;

use serde::ser::{self, Serialize};
use serde_json::Error;

use super::fragment::{Claim, Fragment};
use super::key::KeySerializer;
use super::{Cause, Done, Writer};

/// An open array.
pub(super) struct Seq<'w, 'b> {
    writer: &'w mut Writer<'b>,
    is_empty: bool,
}

/// An array inside the object around a variant.
pub(super) struct VariantSeq<'w, 'b>(pub(super) Seq<'w, 'b>);

impl<'w, 'b> Seq<'w, 'b> {
    #[inline(always)]
    pub(super) fn open(writer: &'w mut Writer<'b>, comma: bool) -> Result<Self, Error> {
        writer.descend()?;
        writer.word(comma, *b"[\0\0\0\0\0\0\0", 1)?;
        Ok(Self { writer, is_empty: true })
    }

    #[inline(always)]
    pub(super) fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        let comma = !mem::take(&mut self.is_empty);
        self.writer.element(comma, value)
    }

    #[inline(always)]
    pub(super) fn close(self, brackets: u32) -> Done {
        self.writer.ascend(brackets);
        self.writer.put([if brackets == 1 { b"]" } else { b"]}" }])
    }
}

macro_rules! arrays {
    ($($type:ident as $trait:ident: $method:ident, |$array:ident| $seq:expr, $brackets:literal;)*) => {$(
        impl ser::$trait for $type<'_, '_> {
            type Ok = ();
            type Error = Error;

            #[inline(always)]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
                let $array = self;
                $seq.element(value)
            }

            #[inline(always)]
            fn end(self) -> Done {
                let $array = self;
                $seq.close($brackets)
            }
        }
    )*};
}

arrays! {
    Seq as SerializeSeq: serialize_element, |array| array, 1;
    Seq as SerializeTuple: serialize_element, |array| array, 1;
    Seq as SerializeTupleStruct: serialize_field, |array| array, 1;
    VariantSeq as SerializeTupleVariant: serialize_field, |array| array.0, 2;
}

/// An object with keys of any type. The opening bracket is written with the first key.
pub(super) struct Map<'w, 'b> {
    writer: &'w mut Writer<'b>,
    is_empty: bool,
    awaits_value: bool,
}

impl<'w, 'b> Map<'w, 'b> {
    #[inline(always)]
    pub(super) fn open(writer: &'w mut Writer<'b>) -> Result<Self, Error> {
        writer.descend()?;
        Ok(Self { writer, is_empty: true, awaits_value: false })
    }

    #[inline(always)]
    fn turn(&self, value: bool) -> bool {
        self.awaits_value == value
    }

    #[cold]
    fn out_of_turn(&mut self) -> Error {
        self.writer.fail(Cause::Serialize, "keys and values of a map must be written in turn")
    }

    #[inline(always)]
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        let before = if self.is_empty { b'{' } else { b',' };
        self.is_empty = false;
        self.writer.watched(|writer| key.serialize(KeySerializer::new(writer, before)))
    }
}

impl ser::SerializeMap for Map<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        if !self.turn(false) {
            return Err(self.out_of_turn());
        }
        self.awaits_value = true;
        self.key(key)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        if !self.turn(true) {
            return Err(self.out_of_turn());
        }
        self.awaits_value = false;
        self.writer.nested(value)
    }

    #[inline]
    fn serialize_entry<K: Serialize + ?Sized, V: Serialize + ?Sized>(&mut self, key: &K, value: &V) -> Done {
        if !self.turn(false) {
            return Err(self.out_of_turn());
        }
        self.key(key)?;
        self.writer.nested(value)
    }

    #[inline]
    fn end(mut self) -> Done {
        if !self.turn(false) {
            return Err(self.out_of_turn());
        }
        self.writer.ascend(1);
        self.writer.put([if self.is_empty { b"{}" } else { b"}" }])
    }
}

/// An object with constant keys, or the struct around a [`Fragment`]. The opening bracket is written with the first
/// key.
pub(super) struct Fields<'w, 'b> {
    writer: &'w mut Writer<'b>,
    state: FieldsState,
}

/// An object inside the object around a variant.
pub(super) struct VariantFields<'w, 'b>(pub(super) Fields<'w, 'b>);

#[derive(Clone, Copy)]
enum FieldsState {
    Empty,
    Open,
    /// The fragment hasn't been written yet.
    Awaits(Claim),
    /// The fragment has been written.
    Complete,
}

impl<'w, 'b> Fields<'w, 'b> {
    #[inline(always)]
    pub(super) fn open(writer: &'w mut Writer<'b>) -> Result<Self, Error> {
        writer.descend()?;
        Ok(Self { writer, state: FieldsState::Empty })
    }

    #[inline(always)]
    pub(super) fn fragment(writer: &'w mut Writer<'b>, claim: Claim) -> Self {
        Self { writer, state: FieldsState::Awaits(claim) }
    }

    #[inline(always)]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Done {
        let before = match self.state {
            FieldsState::Empty => b'{',
            FieldsState::Open => b',',
            FieldsState::Awaits(claim) => {
                self.state = FieldsState::Complete;
                return self.writer.watched(|writer| value.serialize(Fragment::new(writer, claim)));
            }
            FieldsState::Complete => return Err(self.writer.fail(Cause::Serialize, "a raw value has one field")),
        };
        self.state = FieldsState::Open;
        self.writer.name(before, name)?;
        self.writer.nested(value)
    }

    /// Writes the closing bracket, followed by `also`.
    #[inline(always)]
    fn close(self, also: &[u8]) -> Done {
        match self.state {
            FieldsState::Empty => self.writer.put([b"{}", also]),
            FieldsState::Open => self.writer.put([b"}", also]),
            FieldsState::Awaits(_) => Err(self.writer.fail(Cause::Serialize, "a raw value has one field")),
            FieldsState::Complete => Ok(()),
        }
    }
}

impl ser::SerializeStruct for Fields<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Done {
        self.field(name, value)
    }

    #[inline(always)]
    fn end(self) -> Done {
        if let FieldsState::Empty | FieldsState::Open = self.state {
            self.writer.ascend(1);
        }
        self.close(b"")
    }
}

impl ser::SerializeStructVariant for VariantFields<'_, '_> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Done {
        self.0.field(name, value)
    }

    #[inline(always)]
    fn end(self) -> Done {
        self.0.writer.ascend(2);
        self.0.close(b"}")
    }
}
