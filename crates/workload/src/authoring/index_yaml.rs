//! The YAML of an index.
#![allow(clippy::doc_markdown)] // editors show these comments as plain text

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};

use super::located::{At, NamedEntries, any_of};
use super::tree::YamlTree;
use super::yaml_values::Time;

/// An index: a field's name, or `{keys: {field: 1}, unique: true}`.
#[derive(Debug, Clone)]
pub enum IndexYaml {
    Field(String),
    Full(Box<IndexKeys>),
}

/// An index in full.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IndexKeys {
    /// Fields, each with its direction (1 or -1) or its kind: text, 2dsphere, 2d, hashed. The
    /// field `$**` is every field.
    pub keys: NamedEntries<At<IndexedAsYaml>>,
    /// Refuse duplicates.
    #[serde(default)]
    pub unique: bool,
    /// Leave out documents without the field.
    #[serde(default)]
    pub sparse: bool,
    /// A filter: leave out documents that it does not select.
    pub partial: Option<At<NamedEntries<At<YamlTree>>>>,
    /// The server deletes a document so long after the date in the field (TTL): seconds, or
    /// `90s`, `10m`, `2h`.
    pub expire_after: Option<At<Time>>,
    /// How strings are compared: `{locale: fr, strength: 1}`.
    pub collation: Option<At<NamedEntries<At<YamlTree>>>>,
    /// Further options, as `createIndexes` of the server has them: `{weights: {title: 10}}`.
    pub options: Option<At<NamedEntries<At<YamlTree>>>>,
}

/// How an index has a field: the direction of an ordered one, or its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexedAsYaml {
    Direction(i32),
    Kind(&'static str),
}

const KINDS: [&str; 4] = ["text", "2dsphere", "2d", "hashed"];

struct IndexVisitor;

impl<'de> Visitor<'de> for IndexVisitor {
    type Value = IndexYaml;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name or {keys: {field: 1}, unique: true}")
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<IndexYaml, E> {
        Ok(IndexYaml::Field(value.to_owned()))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<IndexYaml, A::Error> {
        let full = IndexKeys::deserialize(MapAccessDeserializer::new(map))?;
        Ok(IndexYaml::Full(Box::new(full)))
    }
}

struct IndexedAsVisitor;

impl Visitor<'_> for IndexedAsVisitor {
    type Value = IndexedAsYaml;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1, -1, {}", KINDS.join(", "))
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<IndexedAsYaml, E> {
        match value {
            1 => Ok(IndexedAsYaml::Direction(1)),
            -1 => Ok(IndexedAsYaml::Direction(-1)),
            _ => Err(E::invalid_value(Unexpected::Signed(value), &self)),
        }
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<IndexedAsYaml, E> {
        let known = KINDS.into_iter().find(|kind| *kind == value);
        known.map(IndexedAsYaml::Kind).ok_or_else(|| E::unknown_variant(value, &KINDS))
    }
}

any_of!(IndexYaml, IndexVisitor, g, [g.subschema_for::<String>(), g.subschema_for::<IndexKeys>()]);
any_of!(
    IndexedAsYaml,
    IndexedAsVisitor,
    _g,
    [serde_json::json!({"enum": [1, -1]}), serde_json::json!({"enum": KINDS})]
);
