//! The only code that knows the wire format of `protocol/SPEC.md`.
//!
//! All types serialize and deserialize: the hidden fake adapter speaks with the same types, and
//! `protocol/messages.schema.json` is generated from them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use workload::plan::{self, OperationKind, Stamp};
use workload::stamp::Input;

/// The version of the contract that the core speaks.
pub const PROTOCOL: u32 = 2;
/// Byte before each answer; everything else on stdout is chatter.
pub const FRAME: u8 = 0x1e;

/// Requests of the core, one a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "Request")]
pub enum AdapterRequest {
    Hello { protocol: u32, epoch_ns: String },
    Clock,
    Open { clients: Vec<ClientTarget>, deal: Deal, database: String },
    Prepare(Box<Prepare>),
    Turn { until_ns: u64 },
    End,
    Close,
    Render { template: String, stamps: Vec<Stamp>, input: Input },
}

impl AdapterRequest {
    /// Name of the message, for logs and errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "hello",
            Self::Clock => "clock",
            Self::Open { .. } => "open",
            Self::Prepare(_) => "prepare",
            Self::Turn { .. } => "turn",
            Self::End => "end",
            Self::Close => "close",
            Self::Render { .. } => "render",
        }
    }
}

/// A connection string, with its parts for drivers that do not parse it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientTarget {
    pub uri: String,
    pub hosts: Vec<String>,
    pub user: Option<String>,
    pub password: Option<String>,
    pub options: BTreeMap<String, String>,
}

/// To which of several clients an operation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deal {
    Worker,
    Operation,
}

/// SPEC section 4, and 9 for consumers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Prepare {
    Worker(WorkerPrepare),
    Consumer(ConsumerPrepare),
}

impl Prepare {
    /// Path of the file that the adapter writes.
    pub fn samples(&self) -> &str {
        match self {
            Self::Worker(prepare) => &prepare.samples,
            Self::Consumer(prepare) => &prepare.samples,
        }
    }
}

/// SPEC section 4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerPrepare {
    pub samples: String,
    pub schedule: String,
    pub pools: Vec<String>,
    pub workers: u32,
    pub first_worker: u32,
    pub limits: Option<Vec<u64>>,
    pub pacing: AdapterPacing,
    pub lap_step: u64,
    pub item_step: u64,
    pub errors_consecutive_max: u32,
    pub operations: Vec<AdapterOperation>,
}

/// SPEC section 9.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsumerPrepare {
    pub samples: String,
    pub errors_consecutive_max: u32,
    pub consumer: Consumer,
}

/// SPEC section 9.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consumer {
    pub collection: String,
    pub expected: u64,
    pub idle_ms: u64,
    pub marker_field: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub change_stream: bool,
}

/// How the next operation is issued (SPEC section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case")]
#[schemars(rename = "Pacing")]
pub enum AdapterPacing {
    Awaited {
        #[serde(default, skip_serializing_if = "is_zero")]
        think_ns: u64,
    },
    Window {
        size: u32,
    },
    Rate {},
    Burst {},
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl AdapterPacing {
    /// The word that declares it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Awaited { think_ns: 0 } => "awaited",
            Self::Awaited { .. } => "think",
            Self::Window { .. } => "window",
            Self::Rate {} => "rate",
            Self::Burst {} => "burst",
        }
    }
}

impl From<plan::Pacing> for AdapterPacing {
    fn from(pacing: plan::Pacing) -> Self {
        match pacing {
            plan::Pacing::Awaited { think_ns } => Self::Awaited { think_ns },
            plan::Pacing::Window { size } => Self::Window { size },
            plan::Pacing::Rate { .. } => Self::Rate {},
            plan::Pacing::Burst {} => Self::Burst {},
        }
    }
}

/// One of the operations that records name by their index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Operation")]
pub struct AdapterOperation {
    pub name: String,
    pub kind: OperationKind,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub collection: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<PoolDocuments>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lazy: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<plan::Expectable>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upsert: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_field: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_concern: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_concern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_preference: Option<String>,
}

/// Documents of a pool; the record of the schedule says which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Documents")]
pub struct PoolDocuments {
    pub pool: u32,
    pub stamps: Vec<Stamp>,
}

/// Always the same document of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    pub pool: u32,
    pub document: u32,
    pub stamps: Vec<Stamp>,
}

impl AdapterOperation {
    /// An operation that is given nothing.
    pub fn new(name: &str, kind: OperationKind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            collection: String::new(),
            documents: None,
            filter: None,
            projection: None,
            sort: None,
            skip: None,
            hint: None,
            collation: None,
            max_time_ms: None,
            field: None,
            update: None,
            pipeline: None,
            command: None,
            shape: None,
            ordered: None,
            lazy: None,
            expect: None,
            upsert: None,
            batch_size: None,
            sum_field: None,
            write_concern: None,
            read_concern: None,
            read_preference: None,
        }
    }
}

/// Converts a plan's operation for adapters; its templates are appended to `templates`, which is
/// the pool with number `pool`.
pub fn operation<'a>(
    made: &'a plan::Operation,
    pool: u32,
    templates: &mut Vec<&'a plan::Template>,
) -> AdapterOperation {
    let mut reference = |template: Option<&'a plan::Template>| {
        let template = template?;
        templates.push(template);
        let stamps = &template.stamps;
        let document = u32::try_from(templates.len() - 1).expect("few templates");
        Some(Reference { pool, document, stamps: stamps.clone() })
    };
    AdapterOperation {
        filter: reference(made.filter.as_ref()),
        projection: reference(made.projection.as_ref()),
        sort: reference(made.sort.as_ref()),
        hint: reference(made.hint.as_ref()),
        collation: reference(made.collation.as_ref()),
        skip: made.skip,
        max_time_ms: made.max_time_ms,
        field: made.field.clone(),
        update: reference(made.update.as_ref()),
        pipeline: reference(made.pipeline.as_ref()),
        command: reference(made.command.as_ref()),
        collection: made.collection.clone(),
        documents: made
            .documents
            .as_ref()
            .map(|it| PoolDocuments { pool: it.pool, stamps: it.stamps.clone() }),
        shape: made.shape.clone(),
        ordered: made.ordered,
        lazy: made.lazy,
        expect: made.expect,
        upsert: made.upsert,
        batch_size: made.batch_size,
        sum_field: made.sum_field.clone(),
        write_concern: made.write_concern.clone(),
        read_concern: made.read_concern.clone(),
        read_preference: made.read_preference.clone(),
        ..AdapterOperation::new(&made.name, made.kind)
    }
}

/// Answers of an adapter, one a line, each after [`FRAME`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "Answer")]
pub enum AdapterAnswer {
    Hello(Box<Hello>),
    Clock { now_ns: u64 },
    Opened(Box<Opened>),
    Ready,
    TurnDone(TurnDone),
    Ended(PhaseEnd),
    Closed,
    Rendered { bson: String },
    Error { code: String, message: String },
}

impl AdapterAnswer {
    /// Name of the message, for logs and errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Clock { .. } => "clock",
            Self::Opened(_) => "opened",
            Self::Ready => "ready",
            Self::TurnDone(_) => "turn_done",
            Self::Ended(_) => "ended",
            Self::Closed => "closed",
            Self::Rendered { .. } => "rendered",
            Self::Error { .. } => "error",
        }
    }
}

/// SPEC section 3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    pub protocol: u32,
    pub adapter: String,
    pub driver: Driver,
    pub runtime: Runtime,
    pub clock: Clock,
    pub capabilities: Capabilities,
}

/// The driver as the running adapter knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Driver {
    pub name: String,
    pub version: String,
    pub native: Option<bool>,
}

/// The language runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Runtime {
    pub name: String,
    pub version: String,
    #[serde(default)]
    pub flags: Vec<String>,
}

/// Source of the adapter's readings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    pub source: String,
    pub resolution_ns: f64,
}

/// Capabilities of an adapter: which arms take part is computed from them, never from lists of
/// adapters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    pub operations: Vec<String>,
    pub pacing: Vec<String>,
    #[serde(default)]
    pub extras: Vec<String>,
    #[serde(default)]
    pub shapes: Vec<String>,
    #[serde(default)]
    pub alters: Vec<Alters>,
    #[serde(default)]
    pub uri: UriKind,
    /// CPU cost of a message, ns; None if it has no consumer.
    #[serde(default)]
    pub consumer_ns: Option<u64>,
    pub concurrency: Concurrency,
}

/// Changes that a driver's natural types make in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Alters {
    Int64,
    Double,
    FieldOrder,
}

/// Whether a driver accepts options that the user did not ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UriKind {
    #[default]
    Standard,
    Plain,
}

/// The kind of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Concurrency {
    pub kind: String,
    #[serde(default)]
    pub max: Option<u32>,
    /// How many threads run the tasks of one process: 1 is an event loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
}

/// Answer to `open`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Opened {
    /// Whether the server acknowledges writes without an explicit write concern.
    pub acknowledged: bool,
    pub resolved: Value,
}

/// Answer to `turn`: all else is in the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnDone {
    pub began_ns: u64,
    pub exhausted: bool,
    pub gave_up: bool,
}

/// Totals of a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ended")]
pub struct PhaseEnd {
    pub totals: ReadTotals,
    pub errors: Vec<ErrorEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeCost>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer: Option<Consumed>,
}

/// Garbage collections of a phase. Some runtimes report only their number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeCost {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_ns: Option<u64>,
}

/// How a consumer read, SPEC section 9.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consumed {
    pub cursors: u64,
    pub positions_lost: u64,
}

/// Totals of reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Totals")]
pub struct ReadTotals {
    pub documents: u64,
    pub sum: u64,
    /// Attempts of transactions beyond the first of each; None without transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
}

/// Errors of one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorEntry {
    pub code: i64,
    pub name: String,
    pub count: u64,
    pub message: String,
}
