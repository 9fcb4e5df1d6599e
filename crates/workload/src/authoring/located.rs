//! Values with the place they were written at, and mappings that keep their order.

use std::array::IntoIter;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{MapAccessDeserializer, SeqDeserializer};
use serde::de::{
    Deserialize, Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess, Visitor,
};

/// A place in the (substituted) text: its first byte, and how many bytes it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
pub struct Location(usize, usize);

impl Location {
    pub const UNKNOWN: Self = Self(usize::MAX, 0);

    pub fn new(first: usize, length: usize) -> Self {
        Self(first, length)
    }

    /// First byte and number of bytes, to the end of its line at most.
    pub fn span(self, text: &str) -> Option<(usize, usize)> {
        if self == Self::UNKNOWN {
            return None;
        }
        let first = self.0.min(text.len());
        let rest = &text[first..];
        let line = rest.find('\n').unwrap_or(rest.len());
        Some((first, self.1.clamp(usize::from(line > 0), line.max(1))))
    }
}

impl<E: Error> IntoDeserializer<'_, E> for Location {
    type Deserializer = SeqDeserializer<IntoIter<usize, 2>, E>;

    fn into_deserializer(self) -> Self::Deserializer {
        SeqDeserializer::new([self.0, self.1].into_iter())
    }
}

/// A value and its place, which `typed` knows; for an alias, the place of its anchor.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct At<T> {
    pub value: T,
    pub place: Location,
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
    fn inline_schema() -> bool {
        T::inline_schema()
    }
}

/// A value that may be null, which an `Option` would take for a key that is not there.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// The only entry of a mapping, as one of several: serde takes the first and drops the others.
pub fn one_entry<'de, A: MapAccess<'de>, T: Deserialize<'de>>(mut map: A) -> Result<T, A::Error> {
    let one = T::deserialize(MapAccessDeserializer::new(&mut map))?;
    match map.next_key::<IgnoredAny>()? {
        None => Ok(one),
        Some(_) => Err(A::Error::custom("a mapping of one key has several here")),
    }
}

/// A mapping in the order of the file.
#[derive(Debug, Clone)]
pub struct NamedEntries<T>(pub Vec<(At<String>, T)>);

impl<T> Default for NamedEntries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> NamedEntries<T> {
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(key, _)| key.value == name).map(|(_, value)| value)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.value.as_str())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NamedEntries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = NamedEntries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping of names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NamedEntries<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(name) = map.next_key()? {
                    entries.push((name, map.next_value()?));
                }
                Ok(NamedEntries(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for NamedEntries<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Named_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let values = generator.subschema_for::<T>();
        schemars::json_schema!({"type": "object", "additionalProperties": values})
    }
    fn inline_schema() -> bool {
        true
    }
}

/// A type that its visitor reads, and which is one of several others to an editor.
macro_rules! any_of {
    ($type:ident, $visitor:expr, $generator:ident, [$($part:expr),*]) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                // No `deserialize_any`: 4.0 is a whole number, as it is in JSON Schema.
                deserializer.deserialize_i64($visitor)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"anyOf": [$($part),*]})
            }
        }
    };
}
pub(crate) use any_of;
