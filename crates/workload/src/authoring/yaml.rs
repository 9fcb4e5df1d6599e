//! The YAML of a workload; the doc comments are the reference that editors show.
#![allow(clippy::doc_markdown)] // editors show these comments as plain text

use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::{
    self, CAPPED_BYTES_MAX, CAPPED_BYTES_MIN, MIX_MAX, OPERATIONS_MAX, RATE_MAX, WINDOW_MAX,
    WORKERS_MAX,
};
use super::collection_options_yaml::{TimeSeriesYaml, ViewYaml};
use super::fields::{FieldType, FieldYaml};
use super::index_yaml::IndexYaml;
use super::located::{At, Location, NamedEntries};
use super::sharding_yaml::Sharding;
use super::tree::YamlTree;
use super::yaml_values::{Amount, BatchYaml, ExpectYaml, KeysYaml, Time};
use crate::operation_kind::OperationWord;
use crate::plan::ClientSharing;

/// A workload: documents and phases. `${name}` anywhere takes a parameter's value.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadYaml {
    /// Name in results; the file's name where it is missing.
    pub name: Option<At<String>>,
    /// One paragraph: what this workload is for.
    pub why: At<String>,
    /// Parameters and their defaults; `--set name=value` changes them.
    #[serde(default)]
    #[schemars(schema_with = "bounds::scalar")]
    pub parameters: NamedEntries<At<YamlTree>>,
    /// Standard URI options for every arm (`maxPoolSize: 50`); `default` leaves one unset.
    #[serde(default)]
    pub options: NamedEntries<At<YamlTree>>,
    /// Clients of each process: `process` (default: one for all workers), `worker` (one for each),
    /// or `operation` (one for each; the operations of a worker take them in turn).
    pub clients: Option<At<ClientSharing>>,
    /// Servers that know nothing of each other, `host:port` each, to which operations are dealt in
    /// turn: inserts alone. The servers of a command line win.
    #[serde(default)]
    pub hosts: Vec<At<String>>,
    /// Collections by name.
    #[serde(default)]
    pub collections: NamedEntries<At<CollectionYaml>>,
    /// Shapes by name: the fields and types of a mapped class, which an adapter has by that name.
    #[serde(default)]
    pub shapes: NamedEntries<At<NamedEntries<At<FieldType>>>>,
    /// Phases, measured in this order. Each phase that writes begins on collections made anew.
    pub phases: At<Vec<At<PhaseYaml>>>,
}

/// A collection and its documents.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectionYaml {
    /// Documents loaded beforehand (default 0; with `file`, as many as the file holds).
    pub documents: Option<At<u64>>,
    /// Secondary indexes.
    #[serde(default)]
    pub indexes: Vec<At<IndexYaml>>,
    /// How long what phases write stays there: `round` (default; for each arm anew), or
    /// `experiment` (from arm to arm: how does speed depend on what is already there?).
    pub keep: Option<At<Keep>>,
    /// Makes it a capped collection.
    pub capped: Option<At<CappedYaml>>,
    /// Makes it a time series: `{time: FIELD, meta: FIELD, granularity: seconds}`.
    pub timeseries: Option<At<TimeSeriesYaml>>,
    /// Makes it a view, which is only read: `{on: COLLECTION, pipeline: [$match: …]}`.
    pub view: Option<At<ViewYaml>>,
    /// The server refuses documents that this query does not select.
    pub validator: Option<At<NamedEntries<At<YamlTree>>>>,
    /// How its strings are compared: `{locale: fr, strength: 1}`.
    pub collation: Option<At<NamedEntries<At<YamlTree>>>>,
    /// Deals it to the shards of a cluster: `hashed` or `ranged` by `_id`, or in full
    /// `{by: ranged, key: number, chunks: 8, keys: 10000}`.
    pub shard: Option<At<Sharding>>,
    /// BSON size of every document in bytes; a field with `length: fill` makes it up.
    pub size_bytes: Option<At<u64>>,
    /// Fields of a document, in order. Without an `_id` there comes an objectid made of the key.
    pub document: Option<At<NamedEntries<At<FieldYaml>>>>,
    /// The user's own documents: `.bson` (mongodump) or `.jsonl` (Extended JSON, one a line),
    /// relative to the workload. The first 16 MiB are taken, over and over.
    pub file: Option<At<String>>,
    /// Top-level field by which the documents of `file` are found (default `_id`). Like `_id` it
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
pub struct CappedYaml {
    /// Size limit in bytes.
    #[schemars(range(min = CAPPED_BYTES_MIN, max = CAPPED_BYTES_MAX))]
    pub size_bytes: At<u64>,
    /// Limit in documents.
    #[schemars(range(min = 1))]
    pub documents: Option<At<u64>>,
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

            /// Returns the keys that are given, with their names.
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
        operation: Option<At<OperationWord>>,
        /// Collection; the only one where there is one.
        collection: Option<At<String>>,
        /// Field that is looked for, one with `value: key`; default `_id`.
        by: Option<At<String>>,
        /// So many keys from the chosen one on (a field that is no guid).
        #[schemars(range(min = 1))]
        range: Option<At<u64>>,
        /// A filter in place of `by`. Here and in `update`, `pipeline` and `command`,
        /// `{$stamp: key}` is a value made per operation (a long),
        /// `{$stamp: {type: int, value: key, add: 5}}` in full. A field's words in a `document`,
        /// such as `one_of`, are refused there; `{constant: …}` sends a value that has them.
        filter: Option<At<YamlTree>>,
        /// Largest number of documents, or drawn for each operation: `{uniform: [1, 100]}`.
        limit: Option<At<Amount>>,
        /// Fields of the documents that are answered, as the server takes it.
        projection: Option<At<YamlTree>>,
        /// Order of the documents, field by field: `{number: -1}` begins with the largest number.
        sort: Option<At<NamedEntries<At<i32>>>>,
        /// Documents that are passed over before the first one is answered; needs `sort`.
        skip: Option<At<u32>>,
        /// The index to use, written as in the collection's `indexes`; `_id` is one of them.
        hint: Option<At<IndexYaml>>,
        /// How strings are compared, as the server takes it: `{locale: en, strength: 2}`.
        collation: Option<At<YamlTree>>,
        /// Longest time on the server, after which it refuses the operation.
        max_time: Option<At<Time>>,
        /// Field whose different values distinct answers.
        field: Option<At<String>>,
        /// Documents in one batch of the cursor.
        batch_size: Option<At<u32>>,
        /// Documents (parts of a bulk_write) of one call; `all`: a worker's share of the phase's
        /// `documents` at once.
        batch: Option<At<BatchYaml>>,
        /// Operations that a bulk_write is made of, each with its weight: insert_one, update_one,
        /// replace_one and delete_one. Operations of a transaction, in their order, each with its
        /// collection: these, find_one and find_one_and_update.
        #[schemars(length(min = 1, max = MIX_MAX))]
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
        set: Option<At<NamedEntries<At<FieldYaml>>>>,
        /// An update document in place of `set`.
        update: Option<At<YamlTree>>,
        /// An outcome that is right here: `missing` (keys that are not there: no document is
        /// found, matched or deleted), or `{duplicate: 0.1}` (so many of the inserted documents
        /// are there already, and are refused).
        expect: Option<At<ExpectYaml>>,
        /// Insert where nothing matches.
        upsert: Option<At<bool>>,
        /// Stages of the pipeline.
        pipeline: Option<At<YamlTree>>,
        /// Document of the command.
        command: Option<At<YamlTree>>,
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
        keys: Option<At<KeysYaml>>,
        /// So many operations, over all workers of an arm.
        #[schemars(range(min = 1, max = OPERATIONS_MAX))]
        operations: Option<At<u64>>,
        /// So many documents of insert_many, over all workers of an arm.
        #[schemars(range(min = 1))]
        documents: Option<At<u64>>,
    }

    /// One timed stretch of one operation or one mix of operations.
    PhaseYaml {
        /// Name in results; default: the operation.
        name: Option<At<String>>,
        /// Several operations, each with its weight, in place of `operation`.
        #[schemars(length(min = 1, max = MIX_MAX))]
        mix: Option<At<Vec<At<Mixed>>>>,
        /// Stretches of one counted operation each, in place of `operation`: each worker does its
        /// share of one after the other, without waiting for other workers between them.
        sequence: Option<At<Vec<At<Stretch>>>>,
        /// How keys are chosen: sequential, uniform (default), zipfian, latest, hashed (each once,
        /// out of order), hotspot, contiguous (a range for each worker), or with numbers:
        /// {zipfian: 0.8}, {hotspot: [0.2, 0.8]}, {contiguous: 0.5}.
        keys: Option<At<KeysYaml>>,
        /// Goes on with the documents that the phase before it left, in the same processes.
        continues: Option<At<bool>>,
        /// The server has everything on disk (fsync) before the sizes after the phase are read.
        checkpoint: Option<At<bool>>,
        /// Ends after so many operations, over all workers of an arm.
        #[schemars(range(min = 1, max = OPERATIONS_MAX))]
        operations: Option<At<u64>>,
        /// Ends after so many documents of insert_many, over all workers of an arm; the last batch
        /// of each is as short as need be.
        #[schemars(range(min = 1))]
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
        /// Random (Poisson) arrivals of the `rate`, in place of even gaps.
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
    #[schemars(schema_with = "bounds::members")]
    pub w: Option<At<YamlTree>>,
    /// Wait for the journal.
    pub j: Option<At<bool>>,
}
