//! Free YAML inside a workload: constants, filters, updates, pipelines, commands.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::at::At;

/// A YAML value; mappings keep their order, as BSON does.
#[derive(Debug, Clone)]
pub enum Tree {
    Null,
    Bool(bool),
    /// A whole number: an int where it fits 32 bits, else a long, as in mongosh.
    Int(i64),
    Double(f64),
    String(String),
    List(Vec<At<Tree>>),
    /// A mapping; canonical Extended JSON (`$oid`, `$numberLong`) is understood.
    Map(Vec<(At<String>, At<Tree>)>),
}

impl Tree {
    pub fn get(&self, name: &str) -> Option<&At<Tree>> {
        match self {
            Self::Map(entries) => {
                entries.iter().find(|(key, _)| key.value == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Its name in messages.
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

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }
    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }
    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Int(value))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Tree, E> {
        i64::try_from(value)
            .map(Tree::Int)
            .map_err(|_| E::custom(format!("{value} does not fit a BSON long")))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Double(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::String(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key()? {
            entries.push((key, map.next_value()?));
        }
        Ok(Tree::Map(entries))
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

impl JsonSchema for Tree {
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
