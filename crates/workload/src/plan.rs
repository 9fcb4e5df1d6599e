//! The plan of a workload: pure data, computed once from a seed, that adapters replay.
//!
//! [`Stamp`] goes into a `prepare` as it is; everything else has separate types on the wire
//! (`adapter::protocol`), because a plan says more than an adapter has to know.

mod operation;

use std::ops::Range;

use bson::{Bson, Document};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::client_sharing::ClientSharing;
pub use crate::mention::Mention;
pub use crate::operation_kind::OperationKind;
pub use crate::replay::stamp::{Stamp, StampForm, StampSource};
pub use operation::{Count, Expectable, Operation, OperationPart, Template, WrittenDocuments};

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
    #[serde(default)]
    pub clients: ClientSharing,
    /// Collections in the order of the file.
    pub collections: Vec<Collection>,
    /// Phases in the order of the file.
    pub phases: Vec<Phase>,
    /// Runs of arms before this one that filled the collections that are kept.
    #[serde(default)]
    pub runs_before: u32,
}

/// One collection: how it is made, what documents it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Collection {
    /// Name in the workload; on the server a prefix may come before it.
    pub name: String,
    /// Secondary indexes.
    pub indexes: Vec<Index>,
    /// Capped at so many bytes (and documents).
    pub capped: Option<CollectionCap>,
    /// Other options of `create`; in JSON: canonical Extended JSON.
    #[serde(default, skip_serializing_if = "Document::is_empty", with = "crate::extended_json")]
    #[schemars(with = "Value")]
    pub options: Document,
    /// `{viewOn, pipeline}` of a view, which shows the documents of another collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<Template>,
    /// How it is dealt to shards; None: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Whether it goes from arm to arm, with all that they have inserted. Else each arm that writes
    /// has its own, made anew each round.
    #[serde(default)]
    pub kept: bool,
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
    /// Key pattern, in order: each field with its direction (1 or -1) or its kind.
    pub keys: Vec<(String, IndexedAs)>,
    /// Whether the server refuses duplicates.
    pub unique: bool,
    /// Other options of `createIndexes`; in JSON: canonical Extended JSON.
    #[serde(default, skip_serializing_if = "Document::is_empty", with = "crate::extended_json")]
    #[schemars(with = "Value")]
    pub options: Document,
}

/// How an index has a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum IndexedAs {
    /// 1 or -1.
    Direction(i32),
    /// text, 2dsphere, 2d or hashed.
    Kind(String),
}

impl IndexedAs {
    /// The value in a key pattern.
    pub fn bson(&self) -> Bson {
        match self {
            Self::Direction(direction) => Bson::Int32(*direction),
            Self::Kind(kind) => Bson::String(kind.clone()),
        }
    }
}

/// Limits of a capped collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CollectionCap {
    /// Size limit in bytes.
    pub size_bytes: u64,
    /// Limit in documents, if any.
    pub max_documents: Option<u64>,
}

/// How a collection is sharded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// By what a shard is chosen.
    pub by: ShardBy,
    /// Field of the shard key.
    pub key: String,
    /// Chunks before the first document comes; None: as many as the server makes.
    pub chunks: Option<u32>,
    /// Keys that the chunks of a ranged collection share evenly.
    pub keys: u64,
}

/// By what a shard is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ShardBy {
    /// A hash of the shard key.
    Hashed,
    /// Ranges of the shard key.
    Ranged,
}

/// One timed stretch of one operation mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(clippy::struct_excessive_bools)] // each is a separate fact
pub struct Phase {
    /// Unique name.
    pub name: String,
    /// Operations; the schedule's `operation` is an index into them.
    pub operations: Vec<Operation>,
    /// Each operation as a phase, if workers do one after the other without waiting for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sequence: Vec<Phase>,
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
    /// Whether a consumer reads the documents along, as messages (SPEC section 9).
    #[serde(default)]
    pub consumer: bool,
    /// Whether it reads a change stream, in place of a tailable cursor.
    #[serde(default)]
    pub change_stream: bool,
    /// Whether it goes on with what the phase before it left, in the same processes.
    #[serde(default)]
    pub continues: bool,
    /// Whether the server has everything on disk before the sizes after it are read.
    #[serde(default)]
    pub checkpoint: bool,
    /// Whether some operation changes its collection. Then every arm has its own, made anew each
    /// round; collections that are only read are shared.
    pub writes: bool,
    /// Why this phase cannot take turns (methodology 2.7 d), or None.
    pub whole_run_reason: Option<String>,
    /// Collections (indices) whose pools `prepare` lists, in its order: adapters decode no others.
    /// `WrittenDocuments::pool` counts among these.
    pub pools: Vec<u32>,
}

impl Phase {
    /// Workers of all its processes.
    pub fn all_workers(&self) -> u64 {
        u64::from(self.workers) * u64::from(self.processes)
    }

    /// Whether the phase has a single worker.
    pub fn has_one_worker(&self) -> bool {
        self.all_workers() == 1
    }

    /// Operations that a closed loop keeps in flight; None in an open one, where that follows.
    pub fn in_flight(&self) -> Option<u64> {
        let workers = self.all_workers();
        match self.pacing {
            Pacing::Awaited { .. } => Some(workers),
            Pacing::Window { size } => Some(workers * u64::from(size)),
            Pacing::Rate { .. } | Pacing::Burst {} => None,
        }
    }

    /// The one operation that is drawn, and its number; None in a mix.
    pub fn single(&self) -> Option<(usize, &Operation)> {
        let drawn = self.operations.iter().enumerate().zip(&self.weights);
        let mut drawn = drawn.filter(|(_, weight)| **weight > 0).map(|(made, _)| made);
        let only = drawn.next()?;
        drawn.next().is_none().then_some(only)
    }

    /// Where its documents are counted, other workers insert them in another number of batches.
    fn deal(&mut self, processes: u32) {
        self.processes = processes;
        self.sequence.iter_mut().for_each(|stretch| stretch.deal(processes));
        let calls = match &self.sequence[..] {
            [] => self.single().and_then(|(_, made)| made.count?.batches(self.all_workers())),
            stretches => Some(stretches.iter().map(|stretch| stretch.limit.operations()).sum()),
        };
        if let (Some(calls), Limit::Operations { count, .. }) = (calls, &mut self.limit) {
            *count = calls;
        }
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
    /// Every key once, in an order without order; new documents get theirs in such an order too.
    Hashed,
    /// Few keys often: this share of the keys gets that share of the operations.
    Hotspot {
        /// Share of the keys, the first ones.
        keys: f64,
        /// Share of the operations that go to them.
        operations: f64,
    },
    /// A separate range for each worker, in order.
    Contiguous {
        /// Share of its range that a worker begins behind: 0.5 is the middle.
        from: f64,
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

impl Limit {
    /// Operations over all workers; 0 where time ends them.
    pub fn operations(self) -> u64 {
        match self {
            Self::Operations { count, .. } => count,
            Self::Duration { .. } => 0,
        }
    }
}

/// How the next operation is issued (SPEC section 5).
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
        /// Operations per second over all workers and processes.
        per_second: f64,
        /// Poisson arrivals instead of constant gaps.
        poisson: bool,
    },
    /// Everything intended at T0.
    Burst {},
}

impl Pacing {
    /// Whether operations are intended at fixed times, whether or not earlier ones have ended.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Rate { .. } | Self::Burst {})
    }
}

impl Plan {
    /// Returns the plan of an arm with a fixed number of processes, whatever its phases say.
    pub fn with_processes(&self, processes: Option<u32>) -> Self {
        let mut plan = self.clone();
        if let Some(processes) = processes {
            plan.phases.iter_mut().for_each(|phase| phase.deal(processes));
        }
        plan
    }

    /// The phases that go on with one another, this one among them.
    pub fn story(&self, phase: usize) -> Range<usize> {
        let begins = |number: &usize| !self.phases[*number].continues;
        let first = (0..=phase).rev().find(begins).unwrap_or(0);
        let next = (phase + 1..self.phases.len()).find(begins);
        first..next.unwrap_or(self.phases.len())
    }

    /// The collection that an operation works on.
    pub fn collection(&self, made: &Operation) -> Option<&Collection> {
        self.collections.iter().find(|it| it.name == made.collection)
    }

    /// Names of all collections that an operation works on, and of those that its views show.
    pub fn collections_of<'a>(&'a self, made: &'a Operation) -> Vec<&'a str> {
        let mut names: Vec<&str> = made.collections().collect();
        let mut at = 0;
        while let Some(name) = names.get(at) {
            let view = self.collections.iter().find(|it| it.name == *name);
            let shown = view.and_then(|it| it.view.as_ref()).into_iter();
            names.extend(shown.flat_map(|view| &view.mentions).map(|it| it.collection.as_str()));
            at += 1;
        }
        names
    }

    /// The collection whose pool an operation's documents come from.
    pub fn pool(&self, phase: &Phase, made: &Operation) -> Option<&Collection> {
        let documents = made.documents.as_ref()?;
        Some(&self.collections[phase.pools[documents.pool as usize] as usize])
    }

    /// The collection that goes from arm to arm, if one does.
    pub fn kept(&self) -> Option<&Collection> {
        self.collections.iter().find(|it| it.kept)
    }

    /// Whether every operation is one that no server sees.
    pub fn needs_no_server(&self) -> bool {
        let mut operations = self.phases.iter().flat_map(|phase| &phase.operations);
        operations.all(|operation| operation.kind == OperationKind::Noop)
    }
}
