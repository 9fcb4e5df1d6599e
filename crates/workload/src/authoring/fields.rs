//! The YAML of a document's fields.
#![allow(clippy::doc_markdown)] // editors show these comments as plain text

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Unexpected, Visitor};

use super::bounds::WIDTH_MAX;
use super::located::{At, Location, NamedEntries, any_of, one_entry};
use super::tree::YamlTree;
use crate::plan::StampSource;

/// BSON type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// `ObjectId`.
    ObjectId,
    /// 32-bit integer.
    Int,
    /// 64-bit integer.
    Long,
    /// 64-bit floating point.
    Double,
    /// UTF-8 text.
    String,
    /// Binary data.
    Bytes,
    /// UTC datetime.
    Date,
    /// UUID: binary subtype 4.
    Guid,
    /// UUID as 36 characters; with `value: key` alone.
    #[serde(rename = "guid_string")]
    GuidString,
    /// true or false.
    Bool,
    /// Nested document (`fields`).
    Document,
    /// Array (`of`, `length`).
    Array,
    /// Place on earth: GeoJSON `{type: Point, coordinates: [longitude, latitude]}`.
    Point,
}

impl FieldType {
    /// Returns the name in YAML.
    pub fn name(self) -> String {
        match self {
            Self::GuidString => "guid_string".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

/// One field: a type's name (`long`), or a mapping.
#[derive(Debug, Clone, Default)]
pub struct FieldYaml(pub FieldKeys);

/// The keys of a field.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldKeys {
    /// BSON type.
    #[serde(rename = "type")]
    pub kind: Option<At<FieldType>>,
    /// A value made per operation: key (the document's number, by which it is found), sequence
    /// (the index of the operation's sample), producer (number of the worker), `made_ns`
    /// (monotonic clock), `time_ms` (wall clock). Without it the value is random, from the seed.
    pub value: Option<At<StampSource>>,
    /// Added to `value`.
    pub add: Option<At<i64>>,
    /// string with `value`: text before the number. objectid: 8 hex digits before the key.
    pub prefix: Option<At<String>>,
    /// string with `value`: the number is padded with zeros to so many digits (default 16).
    #[schemars(range(max = WIDTH_MAX))]
    pub width: Option<At<u32>>,
    /// int, long, double, date (ms since 1970): smallest random value.
    pub min: Option<At<f64>>,
    /// int, long, double, date: largest random value.
    pub max: Option<At<f64>>,
    /// string, bytes: length in bytes; array: number of elements. A number, `{uniform: [a, b]}`,
    /// `{normal: [mean, deviation]}`, `{weights: {length: weight}}`, or `fill`: what is missing
    /// to the collection's `size_bytes`.
    pub length: Option<At<Length>>,
    /// string, bytes: zero (compresses to nothing), random (default) or text (words).
    pub fill: Option<At<Fill>>,
    /// array: the field that every element is.
    pub of: Option<Box<At<FieldYaml>>>,
    /// document: its fields.
    pub fields: Option<At<NamedEntries<At<FieldYaml>>>>,
    /// This value and no other; any YAML value, Extended JSON understood.
    #[serde(default, deserialize_with = "super::located::present")]
    pub constant: Option<At<YamlTree>>,
    /// A key of this collection, any one of its loaded documents alike: a reference.
    pub key_of: Option<At<String>>,
    /// `key_of`: the field of that collection whose value it is (default `_id`).
    pub by: Option<At<String>>,
    /// One of these values.
    pub one_of: Option<At<Vec<At<YamlTree>>>>,
    /// `one_of`: how often each, relative to the others.
    pub weights: Option<At<Vec<u32>>>,
}

/// Content of text and bytes; compression depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// Zero bytes (a string: the letter x).
    Zero,
    /// Random bytes (a string: random letters and digits).
    Random,
    /// Words.
    Text,
}

/// A length or a distribution of lengths.
#[derive(Debug, Clone, PartialEq)]
pub enum Length {
    Fixed(u64),
    /// All bytes that are missing to `size_bytes`.
    Fill,
    /// Drawn for each document.
    Drawn(Distribution),
}

impl Length {
    /// The largest length that can come.
    pub fn largest(&self) -> f64 {
        match self {
            Self::Fixed(length) => *length as f64,
            Self::Fill => 0.0,
            Self::Drawn(Distribution::Uniform([_, high])) => *high as f64,
            Self::Drawn(Distribution::Normal([mean, deviation])) => mean + 4.0 * deviation,
            Self::Drawn(Distribution::Weights(weights)) => {
                weights.keys().max().copied().unwrap_or(0) as f64
            }
        }
    }
}

/// How lengths are drawn.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Every length from the first to the second alike.
    Uniform([u64; 2]),
    /// Mean and standard deviation, cut at 0 and at four deviations.
    Normal([f64; 2]),
    /// Lengths and how often each, relative to the others.
    Weights(BTreeMap<u64, u32>),
}

struct LengthVisitor;
impl<'de> Visitor<'de> for LengthVisitor {
    type Value = Length;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a length: a number, fill, {uniform: [a, b]}, {normal: [mean, ")?;
        f.write_str("deviation]} or {weights: {length: weight}}")
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Length, E> {
        let wrong = |_| E::invalid_value(Unexpected::Signed(value), &self);
        u64::try_from(value).map(Length::Fixed).map_err(wrong)
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Length, E> {
        match value {
            "fill" => Ok(Length::Fill),
            _ => Err(E::invalid_value(Unexpected::Str(value), &self)),
        }
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Length, A::Error> {
        one_entry(map).map(Length::Drawn)
    }
}

any_of!(
    Length,
    LengthVisitor,
    g,
    [
        serde_json::json!({"type": "integer", "minimum": 0}),
        serde_json::json!({"const": "fill"}),
        g.subschema_for::<Distribution>()
    ]
);

struct FieldVisitor;
impl<'de> Visitor<'de> for FieldVisitor {
    type Value = FieldYaml;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a type (`long`) or a mapping (`{type: long, value: key}`)")
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<FieldYaml, E> {
        let kind = FieldType::deserialize(StrDeserializer::<E>::new(value))?;
        let kind = Some(At { value: kind, place: Location::UNKNOWN });
        Ok(FieldYaml(FieldKeys { kind, ..FieldKeys::default() }))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FieldYaml, A::Error> {
        FieldKeys::deserialize(MapAccessDeserializer::new(map)).map(FieldYaml)
    }
}

any_of!(
    FieldYaml,
    FieldVisitor,
    g,
    [g.subschema_for::<FieldType>(), g.subschema_for::<FieldKeys>()]
);
