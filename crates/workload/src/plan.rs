//! The plan of a workload: pure data, computed once from a seed, that adapters replay.
//!
//! [`Operation`], [`Template`], [`Stamp`], [`Pacing`] and [`Counter`] go into a `prepare` as they
//! are (`protocol/SPEC.md`, sections 4 and 7). Rejected: types of their own for the wire, a second
//! copy of the contract.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::kind::Kind;

/// Everything one experiment does, but for the arms and the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The workload's name.
    pub workload: String,
    /// SHA-256 of the workload's text after parameters were put in, in hex: gate G8.
    pub workload_sha256: String,
    /// Why this workload exists, one paragraph.
    pub why: String,
    /// Seed of everything random: pools, keys, schedules.
    pub seed: u64,
    /// Resolved parameters, by name.
    pub parameters: std::collections::BTreeMap<String, String>,
    /// Standard URI options every arm gets (`maxPoolSize`); empty where the workload says default.
    pub uri_options: std::collections::BTreeMap<String, String>,
    /// Collections in the order of the file.
    pub collections: Vec<Collection>,
    /// Phases in the order of the file.
    pub phases: Vec<Phase>,
}

/// One collection: how it is made, what documents it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collection {
    /// Its name in the workload; on the server a prefix may come before it.
    pub name: String,
    /// Secondary indexes.
    pub indexes: Vec<Index>,
    /// Capped at so many bytes (and documents).
    pub capped: Option<Capped>,
    /// Documents loaded before the first phase that reads them; their keys are 0..loaded.
    pub loaded: u64,
    /// Pool of documents (file contents are made by `pool::write`), keys and other stamps.
    pub stamps: Vec<Stamp>,
    /// Number of documents in the pool.
    pub pool_documents: u32,
    /// Mean BSON size of a pool document, in bytes.
    pub document_bytes_mean: f64,
    /// Largest BSON size of a pool document, in bytes.
    pub document_bytes_max: u64,
}

/// A secondary index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Index {
    /// Key pattern, field and direction (1 or -1), in order.
    pub keys: Vec<(String, i32)>,
    /// Whether the server refuses duplicates.
    pub unique: bool,
}

/// Limits of a capped collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capped {
    /// Size limit in bytes.
    pub size_bytes: u64,
    /// Limit in documents, if any.
    pub max_documents: Option<u64>,
}

/// One timed stretch of one operation mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Unique name.
    pub name: String,
    /// Operations; the schedule's `operation` is an index into them.
    pub operations: Vec<Operation>,
    /// Relative weight of each operation, same length as `operations`.
    pub weights: Vec<u32>,
    /// How keys are chosen.
    pub keys: KeyChoice,
    /// Workers (threads or tasks) in each process.
    pub workers: u32,
    /// Processes of the arm's adapter.
    pub processes: u32,
    /// How the next operation is issued.
    pub pacing: Pacing,
    /// Where the phase ends.
    pub limit: Limit,
    /// Seconds of warm-up asked for; None: the adapter's profile.
    pub warmup_s: Option<f64>,
    /// Form in which documents are given to the driver.
    pub document_form: String,
    /// Whether a process of another role reads the documents along, as messages (SPEC section 8).
    #[serde(default)]
    pub consumer: bool,
    /// Whether some operation changes its collection. Then every arm has its own, made anew each
    /// round; collections that are only read are shared.
    pub writes: bool,
    /// Why this phase cannot take turns (methodology 2.7 d), or None.
    pub whole_run_reason: Option<String>,
    /// Collections (indices) whose pools `prepare` lists, in its order: adapters decode no others.
    /// `Documents::pool` counts among these.
    pub pools: Vec<u32>,
}

impl Phase {
    /// Whether nobody works beside its worker.
    pub fn has_one_worker(&self) -> bool {
        self.workers * self.processes == 1
    }
}

/// How keys are chosen among the loaded documents.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyChoice {
    /// 0, 1, 2, … dealt to the workers one after the other.
    Sequential,
    /// Every loaded key alike.
    Uniform,
    /// Zipf's law with exponent theta, hot keys scattered over the key space.
    Zipfian {
        /// Exponent, 0.99 in YCSB.
        theta: f64,
    },
    /// Zipfian offsets back from the newest document.
    Latest {
        /// Exponent.
        theta: f64,
    },
}

/// Where a phase ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Measured seconds per arm and round; None: the experiment's (3 s, quick 1 s).
    Duration {
        /// Seconds.
        seconds: Option<f64>,
    },
    /// Operations per arm and round, over all workers.
    Operations {
        /// Count.
        count: u64,
        /// Ends before, after so many seconds; None: when the count is reached.
        #[serde(default)]
        seconds_max: Option<f64>,
    },
}

/// How the next operation is issued (SPEC section 4).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Pacing {
    /// One after the other, `think_ns` asleep after each.
    Awaited {
        /// Think time in ns.
        think_ns: u64,
    },
    /// Up to `size` in flight per worker.
    Window {
        /// Operations in flight.
        size: u32,
    },
    /// Open loop: intended starts come from the schedule.
    Rate {
        /// Operations per second over all workers and processes; the core's, adapters ignore it.
        per_second: f64,
        /// Poisson arrivals instead of constant gaps; the core's, adapters ignore it.
        poisson: bool,
    },
    /// Everything intended at T0.
    Burst {},
}

impl Pacing {
    /// Whether operations are intended at times of their own, whatever comes back.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Rate { .. } | Self::Burst {})
    }
}

/// Keys of inserted documents (SPEC section 4, "Keys").
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counter {
    /// Key of worker 0's first inserted document.
    pub first: u64,
    /// Distance between two keys of one worker: the number of workers of the run.
    pub stride: u64,
    /// Documents loaded beforehand.
    pub loaded: u64,
}

/// Where an operation's key comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// The record's key.
    Schedule,
    /// The worker's own counter of inserted documents.
    Counter,
    /// An offset back from what this worker inserted last.
    Latest,
}

impl Plan {
    /// The plan of an arm that has so many processes of its own, whatever its phases say.
    pub fn with_processes(&self, processes: Option<u32>) -> Self {
        let mut plan = self.clone();
        if let Some(processes) = processes {
            plan.phases.iter_mut().for_each(|phase| phase.processes = processes);
        }
        plan
    }

    /// The collection that an operation works on.
    pub fn collection(&self, made: &Operation) -> Option<&Collection> {
        self.collections.iter().find(|it| it.name == made.collection)
    }

    /// Whether every operation is one that no server sees.
    pub fn needs_no_server(&self) -> bool {
        let mut operations = self.phases.iter().flat_map(|phase| &phase.operations);
        operations.all(|operation| operation.kind == Kind::Noop)
    }
}

/// One operation template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Name in results; unique in its phase.
    pub name: String,
    /// Kind of operation.
    pub kind: Kind,
    /// Collection in the experiment's database.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub collection: String,
    /// Where its key comes from.
    pub key: KeySource,
    /// Documents to insert or to replace with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<Documents>,
    /// Documents of one insert_many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// insert_many: stop at the first error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered: Option<bool>,
    /// Filter of finds, updates, deletes and counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Template>,
    /// Update document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Template>,
    /// `{"pipeline": […]}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Template>,
    /// Command document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Template>,
    /// Insert where nothing matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upsert: Option<bool>,
    /// Largest number of documents a find answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Cursor batch size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<u32>,
    /// Integer field whose values are added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_field: Option<String>,
    /// `{"w": 0}`, `{"w": "majority", "j": true}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_concern: Option<Value>,
    /// Level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_concern: Option<String>,
    /// Mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_preference: Option<String>,
}

impl Operation {
    /// An operation with its keys out of the schedule and nothing else set.
    pub fn new(name: &str, kind: Kind, collection: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            collection: collection.to_owned(),
            key: KeySource::Schedule,
            documents: None,
            batch: None,
            ordered: None,
            filter: None,
            update: None,
            pipeline: None,
            command: None,
            upsert: None,
            limit: None,
            batch_size: None,
            sum_field: None,
            write_concern: None,
            read_concern: None,
            read_preference: None,
        }
    }
}

/// Pool and stamps of the documents an operation writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Documents {
    /// Index into the `pools` of `prepare`.
    pub pool: u32,
    /// Stamps of every copy.
    pub stamps: Vec<Stamp>,
}

/// A document in canonical Extended JSON and the values put into it per operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Template {
    /// Canonical Extended JSON.
    pub document: Value,
    /// Stamps of every copy.
    pub stamps: Vec<Stamp>,
}

/// Replaces the value at `path` (SPEC section 7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stamp {
    /// Field names, array elements by decimal index.
    pub path: Vec<String>,
    /// BSON type and form.
    #[serde(rename = "as")]
    pub form: StampForm,
    /// Source of the value.
    pub from: StampSource,
    /// Added to the value.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub add: i64,
    /// `string`: text before the number; `objectid`: 8 hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// `string`: zero-padded to so many digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(value: &i64) -> bool {
    *value == 0
}

/// BSON form of a stamped value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum StampForm {
    Int32,
    Int64,
    Double,
    Date,
    String,
    ObjectId,
    Guid,
}

/// Source of a stamped value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum StampSource {
    Key,
    Sequence,
    Producer,
    MadeNs,
    TimeMs,
}
