//! The YAML of a workload; the doc comments are the reference that editors show.
#![allow(clippy::doc_markdown)] // editors show these comments as plain text

use std::fmt;

use base::units::parse_duration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Unexpected, Visitor};

use super::bounds::{self, RATE_MAX, WINDOW_MAX, WORKERS_MAX};
use crate::clients::Clients;
use super::fields::{Field, FieldType};
use crate::kind::Word;
use super::located::{At, Location, Named, any_of, one_entry};
use crate::sharding::Sharding;
use super::tree::Tree;

/// A workload: documents and phases. `${name}` anywhere takes a parameter's value.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Name in results; the file's name where it is missing.
    pub name: Option<At<String>>,
    /// One paragraph: what this workload is for.
    pub why: At<String>,
    /// Parameters and their defaults; `--set name=value` changes them.
    #[serde(default)]
    #[schemars(schema_with = "bounds::scalar")]
    pub parameters: Named<At<Tree>>,
    /// Standard URI options for every arm (`maxPoolSize: 50`); `default` leaves one unset.
    #[serde(default)]
    pub options: Named<At<Tree>>,
    /// Clients of each process: `process` (default: one for all workers), `worker` (one for each),
    /// or `operation` (one for each; the operations of a worker take them in turn).
    pub clients: Option<At<Clients>>,
    /// Servers that know nothing of each other, `host:port` each, to which operations are dealt in
    /// turn: inserts alone. The servers of a command line win.
    #[serde(default)]
    pub hosts: Vec<At<String>>,
    /// Collections by name.
    #[serde(default)]
    pub collections: Named<At<Collection>>,
    /// Shapes by name: the fields and types of a mapped class, which an adapter has by that name.
    #[serde(default)]
    pub shapes: Named<At<Named<At<FieldType>>>>,
    /// Phases, measured in this order. Each phase that writes begins on collections made anew.
    pub phases: At<Vec<At<Phase>>>,
}

/// A collection and its documents.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// Documents loaded beforehand (default 0; with `file`, as many as the file holds).
    pub documents: Option<At<u64>>,
    /// Secondary indexes.
    #[serde(default)]
    pub indexes: Vec<At<Index>>,
    /// How long what phases write stays there: `round` (default; for each arm anew), or
    /// `experiment` (from arm to arm: how does speed depend on what is already there?).
    pub keep: Option<At<Keep>>,
    /// Makes it a capped collection.
    pub capped: Option<At<Capped>>,
    /// Deals it to the shards of a cluster: `hashed` or `ranged` by `_id`, or in full
    /// `{by: ranged, key: number, chunks: 8, keys: 10000}`.
    pub shard: Option<At<Sharding>>,
    /// BSON size of every document in bytes; a field with `length: fill` makes it up.
    pub size_bytes: Option<At<u64>>,
    /// Fields of a document, in order. Without an `_id` there comes an objectid made of the key.
    pub document: Option<At<Named<At<Field>>>>,
    /// The user's own documents: `.bson` (mongodump) or `.jsonl` (Extended JSON, one a line),
    /// relative to the workload. The first 16 MiB are taken, over and over.
    pub file: Option<At<String>>,
    /// With `file`: top-level field by which documents are found (default `_id`). Like `_id` it
    /// is replaced by a value made of the document's number.
    pub key: Option<At<String>>,
}

/// How long documents stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Each arm begins anew.
    Round,
    /// Each arm goes on where the one before it ended.
    Experiment,
}

/// Limits of a capped collection.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capped {
    /// Size limit in bytes.
    pub size_bytes: At<u64>,
    /// Limit in documents.
    pub documents: Option<At<u64>>,
}

/// An index: a field's name, or `{keys: {field: 1}, unique: true}`.
#[derive(Debug, Clone)]
pub struct Index {
    /// Fields and directions.
    pub keys: Named<At<i32>>,
    pub field: Option<String>,
    /// Whether duplicates are refused.
    pub unique: bool,
}

/// Defines structs that share keys; serde's flatten would lose the places that messages point at.
macro_rules! with_shared_keys {
    ($shared:tt $($(#[$about:meta])* $name:ident $own:tt)*) => {
        $(with_keys! { $shared $(#[$about])* $name $own })*
    };
}

macro_rules! with_keys {
    (
        { $($(#[$doc:meta])* $key:ident: $type:ty,)* }
        $(#[$about:meta])* $name:ident { $($(#[$own_doc:meta])* $own:ident: $own_type:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$own_doc])* pub $own: $own_type,)*
            $($(#[$doc])* pub $key: $type,)*
        }

        impl $name {
            /// The keys of the operation alone.
            pub fn operation_keys(&self) -> OperationKeys {
                OperationKeys { $($key: self.$key.clone(),)* }
            }

            /// Takes those of another.
            pub fn set(&mut self, keys: OperationKeys) {
                $(self.$key = keys.$key;)*
            }

            /// Those of them that are given, by their name.
            pub fn given(&self) -> impl Iterator<Item = (&'static str, Location)> {
                let places = [$((stringify!($key), self.$key.as_ref().map(|it| it.place)),)*];
                places.into_iter().filter_map(|(name, place)| Some((name, place?)))
            }
        }
    };
}

with_shared_keys! {
    {
        /// Name of the operation.
        operation: Option<At<Word>>,
        /// Collection; the only one where there is one.
        collection: Option<At<String>>,
        /// Field that is looked for, one with `value: key`; default `_id`.
        by: Option<At<String>>,
        /// So many keys from the chosen one on (a field that is no guid).
        range: Option<At<u64>>,
        /// A filter of one's own in place of `by`. Here and in `update`, `pipeline` and `command`,
        /// `{$stamp: key}` is a value made per operation (a long),
        /// `{$stamp: {type: int, value: key, add: 5}}` in full. A field's words in a `document`,
        /// such as `one_of`, are refused there; `{constant: …}` sends a value that has them.
        filter: Option<At<Tree>>,
        /// Largest number of documents, or drawn for each operation: `{uniform: [1, 100]}`.
        limit: Option<At<Amount>>,
        /// Fields of the documents that are answered, as the server takes it.
        projection: Option<At<Tree>>,
        /// Documents in one batch of the cursor.
        batch_size: Option<At<u32>>,
        /// Documents (parts of a bulk_write) of one call; `all`: a worker's share of the phase's
        /// `documents` at once.
        batch: Option<At<Batch>>,
        /// Operations that a bulk_write is made of, each with its weight: insert_one, update_one,
        /// replace_one and delete_one.
        parts: Option<At<Vec<At<Mixed>>>>,
        /// Stop at the first error (default true).
        ordered: Option<At<bool>>,
        /// The driver is given a sequence and asks for one document after the other (default
        /// false). Making them lies in the operation's time then.
        lazy: Option<At<bool>>,
        /// Takes its documents from another collection, which has the same `_id`.
        document_of: Option<At<String>>,
        /// One of the file's `shapes`: documents are of a mapped class of that name.
        shape: Option<At<String>>,
        /// Fields and their new values, written as in `document`.
        set: Option<At<Named<At<Field>>>>,
        /// An update document in place of `set`.
        update: Option<At<Tree>>,
        /// Insert where nothing matches.
        upsert: Option<At<bool>>,
        /// Stages of the pipeline.
        pipeline: Option<At<Tree>>,
        /// Document of the command.
        command: Option<At<Tree>>,
        /// Write concern, `{w: 1}`, `{w: majority, j: true}`; w: 0 is unacknowledged.
        write_concern: Option<At<WriteConcern>>,
        /// Read concern: local, majority, available, linearizable or snapshot.
        read_concern: Option<At<String>>,
        /// Read preference: primary, primaryPreferred, secondary, secondaryPreferred, nearest.
        read_preference: Option<At<String>>,
    }

    /// The keys that a phase and an entry of `mix` have in common.
    OperationKeys {}

    /// An operation of a `mix`; collection and concerns default to the phase's.
    Mixed {
        /// How often, relative to the others (default 1).
        weight: Option<At<u32>>,
        /// Name in results; default: the operation.
        name: Option<At<String>>,
    }

    /// A stretch of a `sequence`; collection and concerns default to the phase's.
    Stretch {
        /// Name in results; default: the operation.
        name: Option<At<String>>,
        /// How keys are chosen, as in a phase.
        keys: Option<At<Keys>>,
        /// So many operations, over all workers of an arm.
        operations: Option<At<u64>>,
        /// So many documents of insert_many, over all workers of an arm.
        documents: Option<At<u64>>,
    }

    /// One timed stretch of one operation or one mix of operations.
    Phase {
        /// Name in results; default: the operation.
        name: Option<At<String>>,
        /// Several operations, each with its weight, in place of `operation`.
        mix: Option<At<Vec<At<Mixed>>>>,
        /// Stretches of one counted operation each, in place of `operation`: each worker does its
        /// share of one after the other and waits for nobody between them.
        sequence: Option<At<Vec<At<Stretch>>>>,
        /// How keys are chosen: sequential, uniform (default), zipfian, latest, hashed (each once,
        /// out of order), hotspot, contiguous (a range for each worker), or with numbers:
        /// {zipfian: 0.8}, {hotspot: [0.2, 0.8]}, {contiguous: 0.5}.
        keys: Option<At<Keys>>,
        /// Goes on with the documents that the phase before it left, in the same processes.
        continues: Option<At<bool>>,
        /// The server has everything on disk (fsync) before the sizes after the phase are read.
        checkpoint: Option<At<bool>>,
        /// Ends after so many operations, over all workers of an arm.
        operations: Option<At<u64>>,
        /// Ends after so many documents of insert_many, over all workers of an arm; the last batch
        /// of each is as short as need be.
        documents: Option<At<u64>>,
        /// Ends after this time: seconds, or `500ms`, `10s`, `2m` (default 3 s, quick 1 s; none
        /// with `operations`). With `operations`: whichever comes first.
        duration: Option<At<Time>>,
        /// Warm-up; default: what the adapter's language needs.
        warmup: Option<At<Time>>,
        /// Threads or tasks in each process (default 1).
        #[schemars(range(min = 1, max = WORKERS_MAX))]
        workers: Option<At<u32>>,
        /// Processes (default 1).
        #[schemars(range(min = 1, max = WORKERS_MAX))]
        processes: Option<At<u32>>,
        /// Open loop: operations per second over all workers, begun on time whatever comes back.
        #[schemars(range(max = RATE_MAX), extend("exclusiveMinimum" = 0))]
        rate: Option<At<f64>>,
        /// With `rate`: random (Poisson) arrivals in place of even gaps.
        poisson: Option<At<bool>>,
        /// Each worker keeps so many operations in flight.
        #[schemars(range(min = 1, max = WINDOW_MAX))]
        window: Option<At<u32>>,
        /// All operations intended at the start.
        burst: Option<At<bool>>,
        /// Pause of a worker after each operation.
        think: Option<At<Time>>,
        /// A further process reads the documents along, with a tailable cursor: messages. The
        /// collection is capped, and its documents have `producer: {type: int, value: producer}`,
        /// `sequence: {type: long, value: sequence}` and `made_ns: {type: long, value: made_ns}`.
        consumer: Option<At<bool>>,
        /// The consumer reads a change stream of a replica set, in place of a tailable cursor.
        change_stream: Option<At<bool>>,
    }
}

/// A write concern.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteConcern {
    /// Number of members, or `majority`.
    pub w: Option<At<Tree>>,
    /// Wait for the journal.
    pub j: Option<At<bool>>,
}

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
pub struct Keys {
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
pub enum Batch {
    Of(u32),
    /// All that the worker inserts.
    All,
}

impl Batch {
    /// Its number, where it is one.
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

struct IndexVisitor;

impl<'de> Visitor<'de> for IndexVisitor {
    type Value = Index;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name or {keys: {field: 1}, unique: true}")
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Index, E> {
        Ok(Index { keys: Named::default(), field: Some(value.to_owned()), unique: false })
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Index, A::Error> {
        let long = IndexKeys::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Index { keys: long.keys, field: None, unique: long.unique })
    }
}

/// An index in full.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IndexKeys {
    /// Fields and directions, 1 or -1.
    keys: Named<At<i32>>,
    /// Refuse duplicates.
    #[serde(default)]
    unique: bool,
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sequential, uniform, zipfian, latest, hashed, hotspot, contiguous ")?;
        f.write_str("or {zipfian: 0.8}")
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Keys, E> {
        let name = KeysName::deserialize(StrDeserializer::<E>::new(value))?;
        Ok(Keys { name, numbers: None })
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Keys, A::Error> {
        let (name, numbers) = match one_entry(map)? {
            KeysWithNumbers::Zipfian(theta) => (KeysName::Zipfian, [theta, 0.0]),
            KeysWithNumbers::Latest(theta) => (KeysName::Latest, [theta, 0.0]),
            KeysWithNumbers::Hotspot(shares) => (KeysName::Hotspot, shares),
            KeysWithNumbers::Contiguous(from) => (KeysName::Contiguous, [from, 0.0]),
        };
        Ok(Keys { name, numbers: Some(numbers) })
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
    uniform: [u32; 2],
}

struct BatchVisitor;

impl Visitor<'_> for BatchVisitor {
    type Value = Batch;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, or all")
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Batch, E> {
        let wrong = |_| E::invalid_value(Unexpected::Signed(value), &self);
        u32::try_from(value).map(Batch::Of).map_err(wrong)
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Batch, E> {
        match value {
            "all" => Ok(Batch::All),
            _ => Err(E::invalid_value(Unexpected::Str(value), &self)),
        }
    }
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

any_of!(Index, IndexVisitor, g, [g.subschema_for::<String>(), g.subschema_for::<IndexKeys>()]);
any_of!(
    Keys,
    KeysVisitor,
    g,
    [g.subschema_for::<KeysName>(), g.subschema_for::<KeysWithNumbers>()]
);
any_of!(Amount, AmountVisitor, g, [g.subschema_for::<u32>(), g.subschema_for::<Uniform>()]);
any_of!(Batch, BatchVisitor, g, [g.subschema_for::<u32>(), serde_json::json!({"const": "all"})]);
any_of!(Time, TimeVisitor, _g, [bounds::time()]);
