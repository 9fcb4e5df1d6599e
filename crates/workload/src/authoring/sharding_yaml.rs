//! The YAML of how a collection is dealt to the shards of a cluster.
#![allow(clippy::doc_markdown)] // editors show these comments as plain text

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Visitor};

use super::bounds::CHUNKS_MAX;
use super::located::{At, any_of};
use crate::plan::ShardBy;

/// `hashed` or `ranged` by `_id`, or in full.
#[derive(Debug, Clone)]
pub struct Sharding(pub FullSharding);

/// A sharding in full.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FullSharding {
    /// hashed or ranged.
    pub by: ShardBy,
    /// Field of the shard key (default `_id`).
    pub key: Option<At<String>>,
    /// Chunks before the first document comes, dealt evenly to the shards; with `ranged` they are
    /// split and moved. Default: hashed as many as mongos makes, ranged one.
    #[schemars(range(min = 2, max = CHUNKS_MAX))]
    pub chunks: Option<At<u32>>,
    /// Number of keys, from 0 on, that the chunks share evenly; needs `ranged` and `chunks`
    /// (default: the documents that are loaded).
    pub keys: Option<At<u64>>,
}

struct ShardingVisitor;

impl<'de> Visitor<'de> for ShardingVisitor {
    type Value = Sharding;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hashed, ranged, or {by: ranged, chunks: 8, keys: 10000}")
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Sharding, E> {
        let by = ShardBy::deserialize(StrDeserializer::<E>::new(value))?;
        Ok(Sharding(FullSharding { by, key: None, chunks: None, keys: None }))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sharding, A::Error> {
        FullSharding::deserialize(MapAccessDeserializer::new(map)).map(Sharding)
    }
}

any_of!(
    Sharding,
    ShardingVisitor,
    g,
    [g.subschema_for::<ShardBy>(), g.subschema_for::<FullSharding>()]
);
