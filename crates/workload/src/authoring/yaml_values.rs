//! Values of a workload's YAML that can be written in several forms.
#![allow(clippy::doc_markdown)] // editors show these comments as plain text

use std::fmt;
use std::num::NonZeroU32;

use base::units::parse_duration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Unexpected, Visitor};

use super::bounds;
use super::located::{any_of, one_entry};

/// Name of a key choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeysName {
    /// 0, 1, 2, …
    Sequential,
    /// Every key alike.
    Uniform,
    /// Few keys often.
    Zipfian,
    /// The newest often.
    Latest,
    /// Every key once, in an order without order; new documents too.
    Hashed,
    /// A fifth of the keys for four fifths of the operations.
    Hotspot,
    /// A range of keys for each worker, in order.
    Contiguous,
}

/// A key choice.
#[derive(Debug, Clone, Copy)]
pub struct KeysYaml {
    pub name: KeysName,
    /// Exponent of zipfian and latest, shares of the others.
    pub numbers: Option<[f64; 2]>,
}

/// A number or a range that it is drawn from.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    Fixed(u32),
    /// Every number from the first to the second alike.
    Drawn(u32, u32),
}

/// Documents of one call.
#[derive(Debug, Clone, Copy)]
pub enum BatchYaml {
    Of(u32),
    /// All that the worker inserts.
    All,
}

impl BatchYaml {
    /// Returns the number of documents; None for `all`.
    pub fn count(self) -> Option<u32> {
        match self {
            Self::Of(count) => Some(count),
            Self::All => None,
        }
    }
}

/// A time in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Time(pub f64);

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = KeysYaml;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sequential, uniform, zipfian, latest, hashed, hotspot, contiguous ")?;
        f.write_str("or {zipfian: 0.8}")
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<KeysYaml, E> {
        let name = KeysName::deserialize(StrDeserializer::<E>::new(value))?;
        Ok(KeysYaml { name, numbers: None })
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<KeysYaml, A::Error> {
        let (name, numbers) = match one_entry(map)? {
            KeysWithNumbers::Zipfian(theta) => (KeysName::Zipfian, [theta, 0.0]),
            KeysWithNumbers::Latest(theta) => (KeysName::Latest, [theta, 0.0]),
            KeysWithNumbers::Hotspot(shares) => (KeysName::Hotspot, shares),
            KeysWithNumbers::Contiguous(from) => (KeysName::Contiguous, [from, 0.0]),
        };
        Ok(KeysYaml { name, numbers: Some(numbers) })
    }
}

/// A key choice with its numbers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum KeysWithNumbers {
    /// Exponent, between 0 and 1.
    Zipfian(f64),
    /// Exponent, between 0 and 1.
    Latest(f64),
    /// Share of the keys, and share of the operations that go to them.
    Hotspot([f64; 2]),
    /// Share of its range that a worker begins behind: 0.5 is the middle.
    Contiguous(f64),
}

struct AmountVisitor;

impl<'de> Visitor<'de> for AmountVisitor {
    type Value = Amount;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number or {uniform: [1, 100]}")
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Amount, E> {
        let wrong = |_| E::invalid_value(Unexpected::Signed(value), &self);
        u32::try_from(value).map(Amount::Fixed).map_err(wrong)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Amount, A::Error> {
        let Uniform { uniform: [low, high] } =
            Uniform::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Amount::Drawn(low, high))
    }
}

/// A range that numbers are drawn from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Uniform {
    /// Every number from the first to the second alike.
    #[schemars(inner(range(min = 1)))]
    uniform: [u32; 2],
}

struct BatchVisitor;

impl Visitor<'_> for BatchVisitor {
    type Value = BatchYaml;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, or all")
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<BatchYaml, E> {
        let wrong = |_| E::invalid_value(Unexpected::Signed(value), &self);
        u32::try_from(value).map(BatchYaml::Of).map_err(wrong)
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<BatchYaml, E> {
        match value {
            "all" => Ok(BatchYaml::All),
            _ => Err(E::invalid_value(Unexpected::Str(value), &self)),
        }
    }
}

/// An expected outcome.
#[derive(Debug, Clone, Copy)]
pub enum ExpectYaml {
    Missing,
    /// Share of the inserted documents, from 0 to 1.
    Duplicate(f64),
}

struct ExpectVisitor;

impl<'de> Visitor<'de> for ExpectVisitor {
    type Value = ExpectYaml;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("missing or {duplicate: 0.1}")
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<ExpectYaml, E> {
        match value {
            "missing" => Ok(ExpectYaml::Missing),
            _ => Err(E::invalid_value(Unexpected::Str(value), &self)),
        }
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ExpectYaml, A::Error> {
        let Duplicates { duplicate } = Duplicates::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ExpectYaml::Duplicate(duplicate))
    }
}

/// Inserted documents that are there already.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Duplicates {
    /// Their share, between 0 and 1: 0.1 is a tenth.
    duplicate: f64,
}

struct TimeVisitor;

impl Visitor<'_> for TimeVisitor {
    type Value = Time;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time: seconds, or with a unit as in 500ms, 10s, 2m")
    }
    fn visit_i64<E>(self, value: i64) -> Result<Time, E> {
        Ok(Time(value as f64))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Time, E> {
        Ok(Time(value))
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Time, E> {
        let wrong = |_| E::invalid_value(Unexpected::Str(value), &self);
        parse_duration(value).map(|it| Time(it.as_secs_f64())).map_err(wrong)
    }
}

any_of!(
    KeysYaml,
    KeysVisitor,
    g,
    [g.subschema_for::<KeysName>(), g.subschema_for::<KeysWithNumbers>()]
);
any_of!(Amount, AmountVisitor, g, [g.subschema_for::<u32>(), g.subschema_for::<Uniform>()]);
any_of!(
    BatchYaml,
    BatchVisitor,
    g,
    [g.subschema_for::<NonZeroU32>(), serde_json::json!({"const": "all"})]
);
any_of!(
    ExpectYaml,
    ExpectVisitor,
    g,
    [serde_json::json!({"const": "missing"}), g.subschema_for::<Duplicates>()]
);
any_of!(Time, TimeVisitor, _g, [bounds::time()]);
