//! The administrative commands of a sharded cluster, as its mongos takes them.

use std::collections::BTreeMap;

use bson::{Bson, Document, doc};
use futures_util::TryStreamExt as _;
use mongodb::Client;
use mongodb::error::{Error as DriverError, ErrorKind};

use base::error::{Error, Result};
use base::secrets::mask_text;

/// A connection to a mongos.
#[derive(Debug, Clone)]
pub struct Mongos(pub Client);

/// How the documents of a collection are distributed over the shards.
#[derive(Debug, Clone, PartialEq)]
pub enum ShardDistribution {
    /// By a hash of the key, from the beginning in so many chunks; None for as many as mongos
    /// makes.
    Hashed(Option<u32>),
    /// By ranges of the key, which shards get in turn; without any, there is one chunk on one
    /// shard.
    Ranged(Vec<ChunkRange>),
}

/// A chunk of a ranged collection.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkRange {
    /// Lower bound; None for the first chunk.
    pub from: Option<Bson>,
    /// A key inside the chunk.
    pub within: Bson,
}

impl Mongos {
    async fn admin(&self, command: Document) -> Result<Document> {
        let name = command.keys().next().cloned().unwrap_or_default();
        let reply = self.0.database("admin").run_command(command).await;
        reply.map_err(|error| refused(&name, &error))
    }

    /// Adds a shard; `host` is a member of its replica set.
    pub async fn add_shard(&self, set: &str, host: &str) -> Result<()> {
        self.admin(doc! { "addShard": format!("{set}/{host}") }).await.map(drop)
    }

    /// Names of the shards, in order.
    pub async fn shards(&self) -> Result<Vec<String>> {
        let reply = self.admin(doc! { "listShards": 1 }).await?;
        let listed = reply.get_array("shards").map(Vec::as_slice).unwrap_or_default();
        let names = listed.iter().filter_map(|it| it.as_document()?.get_str("_id").ok());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Stops the balancer: chunks stay where they are from now on.
    pub async fn stop_balancer(&self) -> Result<()> {
        self.admin(doc! { "balancerStop": 1 }).await?;
        self.check_balancer().await
    }

    /// # Errors
    /// The balancer may move chunks. mongodyno does not stop the balancer of an external cluster.
    pub async fn check_balancer(&self) -> Result<()> {
        let status = self.admin(doc! { "balancerStatus": 1 }).await?;
        if status.get_str("mode").ok() == Some("off") {
            return Ok(());
        }
        Err(Error::environment(
            "the cluster's balancer is on: it would move chunks while they are measured",
            "run sh.stopBalancer() before and sh.startBalancer() afterwards, or use \
             `--server mongod:shards=2`",
        ))
    }

    /// Creates the collection, which must not exist, and places its chunks.
    ///
    /// # Errors
    /// A refusal; a chunk that is not where it was put.
    pub async fn shard(
        &self,
        database: &str,
        collection: &str,
        field: &str,
        split: &ShardDistribution,
    ) -> Result<()> {
        let namespace = format!("{database}.{collection}");
        self.admin(doc! { "enableSharding": database }).await?;
        let mut command = doc! { "shardCollection": &namespace };
        match split {
            ShardDistribution::Hashed(chunks) => {
                command.insert("key", doc! { field: "hashed" });
                let chunks = chunks.and_then(|it| i32::try_from(it).ok());
                command.extend(chunks.map(|it| ("numInitialChunks".to_owned(), it.into())));
                self.admin(command).await?;
                self.check_even(&namespace, chunks).await
            }
            ShardDistribution::Ranged(ranges) => {
                command.insert("key", doc! { field: 1 });
                self.admin(command).await?;
                self.place(&namespace, field, ranges).await
            }
        }
    }

    async fn place(&self, namespace: &str, field: &str, ranges: &[ChunkRange]) -> Result<()> {
        for from in ranges.iter().filter_map(|it| it.from.as_ref()) {
            self.admin(doc! { "split": namespace, "middle": { field: from.clone() } }).await?;
        }
        let shards = self.shards().await?;
        let chosen = || ranges.iter().zip(shards.iter().cycle());
        let is_at = |chunks: &[Chunk], range: &ChunkRange, shard: &str| {
            let from = range.from.clone().unwrap_or(Bson::MinKey);
            chunks.iter().any(|it| it.shard == shard && it.min.get(field) == Some(&from))
        };
        let before = self.chunks(namespace).await?;
        for (range, shard) in chosen().filter(|(range, shard)| !is_at(&before, range, shard)) {
            let within = doc! { field: range.within.clone() };
            self.admin(doc! { "moveChunk": namespace, "find": within, "to": shard }).await?;
        }
        let after = self.chunks(namespace).await?;
        match chosen().find(|(range, shard)| !is_at(&after, range, shard)) {
            None => Ok(()),
            Some((range, shard)) => {
                let within = &range.within;
                Err(misplaced(&format!("the chunk of {namespace} with {within} is not on {shard}")))
            }
        }
    }

    /// Checks that mongos has distributed the chunks of a hashed collection evenly.
    async fn check_even(&self, namespace: &str, asked: Option<i32>) -> Result<()> {
        let chunks = self.chunks(namespace).await?;
        let made = chunks.len();
        if asked.is_some_and(|asked| usize::try_from(asked) != Ok(made)) {
            return Err(misplaced(&format!("{namespace} has {made} chunks")));
        }
        let shards = self.shards().await?;
        let on = |shard: &String| chunks.iter().filter(|it| it.shard == *shard).count();
        let each: Vec<usize> = shards.iter().map(on).collect();
        let apart =
            each.iter().max().zip(each.iter().min()).map_or(0, |(most, least)| most - least);
        if apart <= 1 { Ok(()) } else { Err(misplaced(&format!("{namespace}: {each:?} chunks"))) }
    }

    async fn chunks(&self, namespace: &str) -> Result<Vec<Chunk>> {
        let found = self.config("chunks", doc! { "ns": namespace }).await?;
        if !found.is_empty() {
            return Ok(found.iter().filter_map(Chunk::read).collect());
        }
        // From MongoDB 5.0 on a chunk has the collection's uuid in place of its name.
        let all = self.config("collections", doc! {}).await?;
        let ours = all.iter().find(|it| it.get_str("_id").ok() == Some(namespace));
        let Some(uuid) = ours.and_then(|it| it.get("uuid")) else { return Ok(Vec::new()) };
        let found = self.config("chunks", doc! { "uuid": uuid.clone() }).await?;
        Ok(found.iter().filter_map(Chunk::read).collect())
    }

    async fn config(&self, collection: &str, filter: Document) -> Result<Vec<Document>> {
        let found = self.0.database("config").collection::<Document>(collection).find(filter).await;
        let found = match found {
            Ok(cursor) => cursor.try_collect().await,
            Err(error) => Err(error),
        };
        found.map_err(|error| refused(&format!("find in config.{collection}"), &error))
    }
}

struct Chunk {
    min: Document,
    shard: String,
}

impl Chunk {
    fn read(chunk: &Document) -> Option<Self> {
        let min = chunk.get_document("min").ok()?.clone();
        Some(Self { min, shard: chunk.get_str("shard").ok()?.to_owned() })
    }
}

/// Number of documents by shard: of a collection from a reply to collStats, of a database from one
/// to dbStats. Empty if no mongos has replied.
pub fn by_shard(stats: &Document) -> BTreeMap<String, i64> {
    let of = |(name, values): (&String, &Bson)| {
        let values = values.as_document()?;
        let documents = match values.get("count").or_else(|| values.get("objects"))? {
            Bson::Int32(value) => i64::from(*value),
            Bson::Int64(value) => *value,
            Bson::Double(value) => *value as i64,
            _ => return None,
        };
        // dbStats has "shard/host:port,...".
        Some((name.split('/').next()?.to_owned(), documents))
    };
    let each = stats.get_document("shards").or_else(|_| stats.get_document("raw"));
    each.map_or(BTreeMap::new(), |each| each.iter().filter_map(of).collect())
}

fn refused(command: &str, error: &DriverError) -> Error {
    let why = match error.kind.as_ref() {
        ErrorKind::Command(refused) => refused.message.clone(),
        other => other.to_string(),
    };
    Error::unreachable(
        format!("mongos refused {command}: {}", mask_text(&why)),
        "see the logs of mongos and the shards, and the rights of the user in the URI",
    )
}

fn misplaced(problem: &str) -> Error {
    Error::unreachable(
        format!("{problem}, though mongos took the commands that put it there"),
        "see sh.status(): something else moves chunks, or a shard is missing",
    )
}

#[cfg(test)]
mod tests;
