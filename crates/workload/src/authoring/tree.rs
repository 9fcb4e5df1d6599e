//! Free YAML inside a workload: constants, filters, updates, pipelines, commands.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_saphyr::Spanned;

use super::located::{At, Location};

/// A YAML value; mappings keep their order, as BSON does.
#[derive(Debug, Clone)]
pub enum YamlTree {
    Null,
    Bool(bool),
    /// A whole number: an int where it fits 32 bits, else a long, as in mongosh.
    Int(i64),
    Double(f64),
    String(String),
    List(Vec<At<YamlTree>>),
    /// A mapping; canonical Extended JSON (`$oid`, `$numberLong`) is understood.
    Map(Vec<(At<String>, At<YamlTree>)>),
}

impl YamlTree {
    pub fn get(&self, name: &str) -> Option<&At<YamlTree>> {
        match self {
            Self::Map(entries) => {
                entries.iter().find(|(key, _)| key.value == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// What it is to serde.
    pub fn found(&self) -> Unexpected<'_> {
        match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Int(value) => Unexpected::Signed(*value),
            Self::Double(value) => Unexpected::Float(*value),
            Self::String(value) => Unexpected::Str(value),
            Self::List(_) => Unexpected::Seq,
            Self::Map(_) => Unexpected::Map,
        }
    }

    /// Returns the name that messages use.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a bool",
            Self::Int(_) => "a whole number",
            Self::Double(_) => "a number",
            Self::String(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

/// Reads a value whose names are `N` and whose values are `V`.
struct TreeVisitor<N, V>(PhantomData<(N, V)>);

impl<'de, N, V> Visitor<'de> for TreeVisitor<N, V>
where
    N: Deserialize<'de> + Into<At<String>>,
    V: Deserialize<'de> + Into<At<YamlTree>>,
{
    type Value = YamlTree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }
    fn visit_unit<E>(self) -> Result<YamlTree, E> {
        Ok(YamlTree::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<YamlTree, E> {
        Ok(YamlTree::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<YamlTree, E> {
        Ok(YamlTree::Int(value))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<YamlTree, E> {
        i64::try_from(value)
            .map(YamlTree::Int)
            .map_err(|_| E::custom(format!("{value} does not fit a BSON long")))
    }
    fn visit_f64<E>(self, value: f64) -> Result<YamlTree, E> {
        Ok(YamlTree::Double(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<YamlTree, E> {
        Ok(YamlTree::String(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<YamlTree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<V>()? {
            items.push(item.into());
        }
        Ok(YamlTree::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlTree, A::Error> {
        let mut entries = Vec::new();
        while let Some((name, value)) = map.next_entry::<N, V>()? {
            entries.push((name.into(), value.into()));
        }
        Ok(YamlTree::Map(entries))
    }
}

impl<'de> Deserialize<'de> for YamlTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor::<At<String>, At<Self>>(PhantomData))
    }
}

/// A value or a name as the parser of YAML gives it.
pub struct Parsed<T>(Spanned<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Parsed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<T> Parsed<T> {
    fn map<U>(self, made: impl FnOnce(T) -> U) -> At<U> {
        let span = self.0.defined.span();
        let bytes = span.byte_offset().zip(span.byte_len());
        let place = |(first, length)| Location::new(first as usize, length as usize);
        At { value: made(self.0.value), place: bytes.map_or(Location::UNKNOWN, place) }
    }
}

impl From<Parsed<String>> for At<String> {
    fn from(parsed: Parsed<String>) -> Self {
        parsed.map(|name| name)
    }
}

impl From<Parsed<ParsedTree>> for At<YamlTree> {
    fn from(parsed: Parsed<ParsedTree>) -> Self {
        parsed.map(|tree| tree.0)
    }
}

pub struct ParsedTree(YamlTree);

impl<'de> Deserialize<'de> for ParsedTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = TreeVisitor::<Parsed<String>, Parsed<Self>>(PhantomData);
        deserializer.deserialize_any(visitor).map(Self)
    }
}

impl JsonSchema for YamlTree {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!(true)
    }
    fn inline_schema() -> bool {
        true
    }
}
