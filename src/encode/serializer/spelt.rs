//! Writes numbers that arrive with their [`spelling`].

use std::fmt::Display;

use serde::ser::{Serialize, Serializer};
use serde_json::Error;
use wireline_json::spelling::{self, Clue, Number, Spelling};

use super::Done;
use super::offered::pass_on;

/// The destination of a number: a value or a key.
pub(super) trait Destination: Serializer<Ok = (), Error = Error> {
    /// Writes a number verbatim.
    fn number(self, text: &str) -> Done;

    fn refuse(self, reason: &'static str) -> Error;
}

/// Receives a number after the first characters of its spelling.
pub(super) struct Spelt<D> {
    destination: D,
    spelling: Spelling,
}

impl<D: Destination> Spelt<D> {
    /// Serializes `value`, the contents of a newtype struct whose name is the first clue.
    #[cold]
    #[inline(never)]
    pub(super) fn start<T: Serialize + ?Sized>(destination: D, clue: Clue, value: &T) -> Done {
        let mut spelt = Self { destination, spelling: Spelling::new() };
        spelt.spelling.add(clue);
        value.serialize(spelt)
    }

    fn inner(self) -> D {
        self.destination
    }

    fn number(self, number: Number) -> Done {
        if self.spelling.is_too_long() {
            return Err(self.destination.refuse("serde can't buffer a number of more than 64 characters exactly"));
        }
        match self.spelling.as_str() {
            text if number.is_value_of(text) => self.destination.number(text),
            // The number isn't this crate's, or was changed on its way here.
            _ => number.serialize(self.destination),
        }
    }
}

impl<D: Destination> Serializer for Spelt<D> {
    fn serialize_u64(self, value: u64) -> Done {
        self.number(Number::Unsigned(value))
    }

    fn serialize_i64(self, value: i64) -> Done {
        self.number(Number::Signed(value))
    }

    fn serialize_i128(self, value: i128) -> Done {
        self.number(Number::Wide(value))
    }

    fn serialize_f64(self, value: f64) -> Done {
        self.number(Number::Float(value))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(mut self, name: &'static str, value: &T) -> Done {
        match spelling::clue(name) {
            Some(clue) => {
                self.spelling.add(clue);
                value.serialize(self)
            }
            None => self.destination.serialize_newtype_struct(name, value),
        }
    }

    pass_on! { all but strings and wide numbers, to D }
    pass_on! {
        serialize_str(value: &str);
        serialize_u128(value: u128);
    }
}
