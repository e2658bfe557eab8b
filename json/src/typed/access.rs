//! serde's access to the contents of arrays, objects and enums.

use std::mem;

use serde::de::{self, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::string::DecodedStr;
use super::{BorrowedStrDeserializer, Deserializer, Integer, RAW_VALUE, Unread, integer};

/// The elements of an array, inside its brackets.
pub(super) struct Elements<'a, 'de, 's> {
    deserializer: &'a mut Deserializer<'de, 's>,
    is_first: bool,
}

impl<'a, 'de, 's> Elements<'a, 'de, 's> {
    pub(super) fn new(deserializer: &'a mut Deserializer<'de, 's>) -> Self {
        Self { deserializer, is_first: true }
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de, '_> {
    type Error = Unread;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Unread> {
        match self.deserializer.peek()? {
            b']' => return Ok(None),
            _ if mem::take(&mut self.is_first) => {}
            b',' => self.deserializer.cursor.at += 1,
            // The previous element hasn't been read completely.
            _ => return self.deserializer.noting(|_| Err(Unread)),
        }
        seed.deserialize(&mut *self.deserializer).map(Some)
    }
}

/// The members of an object, inside its brackets.
pub(super) struct Members<'a, 'de, 's> {
    deserializer: &'a mut Deserializer<'de, 's>,
    is_first: bool,
}

impl<'a, 'de, 's> Members<'a, 'de, 's> {
    pub(super) fn new(deserializer: &'a mut Deserializer<'de, 's>) -> Self {
        Self { deserializer, is_first: true }
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de, '_> {
    type Error = Unread;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unread> {
        match self.deserializer.peek()? {
            b'}' => return Ok(None),
            _ if mem::take(&mut self.is_first) => {}
            b',' => self.deserializer.cursor.at += 1,
            _ => return self.deserializer.noting(|_| Err(Unread)),
        }
        seed.deserialize(KeyDeserializer { deserializer: &mut *self.deserializer }).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Unread> {
        self.deserializer.noting(|this| this.expect(b':'))?;
        seed.deserialize(&mut *self.deserializer)
    }
}

/// Deserializes a key, which can be read as a string, or as an integer or boolean in quotes.
struct KeyDeserializer<'a, 'de, 's> {
    deserializer: &'a mut Deserializer<'de, 's>,
}

/// Reads integers in quotes. Other numbers are left to serde_json.
macro_rules! numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
            self.deserializer.noting(|this| match this.string()? {
                DecodedStr::Borrowed(key) => match integer(key) {
                    Some(Integer::Positive(integer)) if !has_leading_zero(key) => visitor.visit_u64(integer),
                    Some(Integer::Negative(integer)) if !has_leading_zero(&key[1..]) => visitor.visit_i64(integer),
                    _ => Err(Unread),
                },
                DecodedStr::Decoded(_) => Err(Unread),
            })
        }
    )*};
}

fn has_leading_zero(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

impl<'de> de::Deserializer<'de> for KeyDeserializer<'_, 'de, '_> {
    type Error = Unread;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.deserializer.noting(|this| this.visit_string(visitor))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.deserializer.noting(|this| match this.string()? {
            DecodedStr::Borrowed("true") => visitor.visit_bool(true),
            DecodedStr::Borrowed("false") => visitor.visit_bool(false),
            _ => Err(Unread),
        })
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }

    fn deserialize_i128<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unread> {
        self.deserializer.noting(|_| Err(Unread))
    }

    fn deserialize_u128<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unread> {
        self.deserializer.noting(|_| Err(Unread))
    }

    /// A key is never null.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Unread> {
        match name == RAW_VALUE {
            true => self.deserializer.noting(|this| visitor.visit_map(RawValue::new(this.skip()?))),
            false => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unread> {
        self.deserializer.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.deserializer.deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.deserializer.deserialize_bytes(visitor)
    }

    serde::forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant with content: the only member of an object, inside its brackets.
pub(super) struct Variant<'a, 'de, 's> {
    pub(super) deserializer: &'a mut Deserializer<'de, 's>,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de, '_> {
    type Error = Unread;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Unread> {
        let variant = seed.deserialize(&mut *self.deserializer)?;
        self.deserializer.noting(|this| this.expect(b':'))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de, '_> {
    type Error = Unread;

    fn unit_variant(self) -> Result<(), Unread> {
        de::Deserialize::deserialize(self.deserializer)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Unread> {
        seed.deserialize(self.deserializer)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Unread> {
        de::Deserializer::deserialize_seq(self.deserializer, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Unread> {
        de::Deserializer::deserialize_struct(self.deserializer, "", fields, visitor)
    }
}

/// A variant without content: only a name.
pub(super) struct UnitVariant<'a, 'de, 's> {
    pub(super) deserializer: &'a mut Deserializer<'de, 's>,
}

impl<'de> EnumAccess<'de> for UnitVariant<'_, 'de, '_> {
    type Error = Unread;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Unread> {
        Ok((seed.deserialize(&mut *self.deserializer)?, self))
    }
}

impl<'de> VariantAccess<'de> for UnitVariant<'_, 'de, '_> {
    type Error = Unread;

    fn unit_variant(self) -> Result<(), Unread> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Unread> {
        self.deserializer.noting(|_| Err(Unread))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Unread> {
        self.deserializer.noting(|_| Err(Unread))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Unread> {
        self.deserializer.noting(|_| Err(Unread))
    }
}

/// A text, in the form that serde_json's `RawValue` expects.
pub(super) struct RawValue<'de> {
    text: Option<&'de str>,
}

impl<'de> RawValue<'de> {
    pub(super) fn new(text: &'de str) -> Self {
        Self { text: Some(text) }
    }
}

impl<'de> MapAccess<'de> for RawValue<'de> {
    type Error = Unread;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unread> {
        match self.text {
            Some(_) => seed.deserialize(BorrowedStrDeserializer::new(RAW_VALUE)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Unread> {
        seed.deserialize(BorrowedStrDeserializer::new(self.text.take().ok_or(Unread)?))
    }
}
