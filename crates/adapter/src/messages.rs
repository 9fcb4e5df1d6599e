//! The only code that knows the wire format of `protocol/SPEC.md`.
//!
//! All types serialize and deserialize: the hidden fake adapter speaks with the same types, and
//! `protocol/messages.schema.json` is generated from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use workload::plan::{Counter, Operation, Pacing, Stamp};
use workload::stamp::Input;

pub const PROTOCOL_VERSION: u32 = 1;

/// Versions of the contract the core speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProtocolRange {
    pub min: u32,
    pub max: u32,
}

/// Requests of the core, one a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    Hello { protocol: ProtocolRange, epoch_ns: String },
    Clock,
    Open { uri: String, database: String, role: Role },
    Prepare(Box<Prepare>),
    Turn { start_ns: u64, until_ns: u64 },
    End,
    Close,
    Stop,
    Render { document: Value, stamps: Vec<Stamp>, input: Input },
}

impl Request {
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
            Self::Stop => "stop",
            Self::Render { .. } => "render",
        }
    }
}

/// Role of a process in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Worker,
    Consumer,
}

/// SPEC section 4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prepare {
    pub phase: String,
    pub role: Role,
    pub warmup: bool,
    pub samples: String,
    pub schedule: String,
    pub pools: Vec<String>,
    pub document_form: String,
    pub workers: u32,
    pub first_worker: u32,
    pub limits: Option<Vec<u64>>,
    pub pacing: Pacing,
    pub counter: Counter,
    pub errors_consecutive_max: u32,
    pub operations: Vec<Operation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer: Option<Consumer>,
}

/// SPEC section 8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consumer {
    pub collection: String,
    pub expected: u64,
    pub idle_ms: u64,
    pub marker_field: String,
}

/// Answers of an adapter, one a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Answer {
    Hello(Box<Hello>),
    Clock { now_ns: u64 },
    Opened(Box<Opened>),
    Armed,
    Turned(Turned),
    Ended(Ended),
    Closed,
    Rendered { bson: String },
    Error { code: String, message: String },
}

impl Answer {
    /// Name of the message, for logs and errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Clock { .. } => "clock",
            Self::Opened(_) => "opened",
            Self::Armed => "armed",
            Self::Turned(_) => "turned",
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

/// Abilities of an adapter: skips are computed from them, never from lists of adapters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    pub operations: Vec<String>,
    pub roles: Vec<Role>,
    pub pacing: Vec<String>,
    pub document_forms: Vec<String>,
    pub concurrency: Concurrency,
    pub stop: String,
    /// False: the driver has no type for doubles and sends those with a whole value as int32.
    #[serde(default = "yes")]
    pub whole_doubles: bool,
    /// A `noop` with `documents` makes one for each operation and counts it.
    #[serde(default)]
    pub noop_makes: bool,
}

fn yes() -> bool {
    true
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
    pub resolved: Value,
    pub server: Value,
}

/// SPEC section 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turned {
    pub began_ns: u64,
    pub ended_ns: u64,
    pub operations: u64,
    pub completed_by_deadline: u64,
    pub errors: u64,
    pub exhausted: bool,
    pub gave_up: bool,
}

/// Totals of a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {
    pub operations: u64,
    pub samples: u64,
    pub totals: Totals,
    pub errors: Vec<ErrorEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer: Option<Consumed>,
}

/// How a consumer read, SPEC section 8.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consumed {
    pub cursors: u64,
    pub positions_lost: u64,
}

/// Totals of reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    pub documents: u64,
    pub sum: u64,
}

/// Errors of one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorEntry {
    pub code: i64,
    pub name: String,
    pub count: u64,
    pub message: String,
}
