use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use stats::descriptive::OverRounds;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteCostAnalysis {
    /// Small and large ones.
    pub documents: Vec<Documents>,
    /// Drivers in order.
    pub by_size: Vec<BySize>,
    pub stored: Vec<Stored>,
    /// Drivers in order, under `--client-memory`.
    pub memory: Vec<Memory>,
    /// The answers, a question at a time.
    pub evidence: Vec<Evidence>,
    /// Failures.
    pub notes: Vec<String>,
}

/// A figure over rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Value {
    pub median: f64,
    /// None with one round.
    pub over: Option<OverRounds>,
}

/// A size of document, in every way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Documents {
    /// `small` or `large`.
    pub name: String,
    /// BSON size of one.
    pub bytes: f64,
    /// Documents of each way of writing.
    pub count: u64,
    /// Ways in order.
    pub phases: Vec<Around>,
    pub rows: Vec<Row>,
}

/// The server and the disk in a phase, over all drivers and rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Around {
    pub phase: String,
    /// Most bytes in the server's cache.
    pub cache_bytes: Option<u64>,
    /// Share of the time in which the server's disk was busy, percent: median.
    pub disk_busy_percent: Option<f64>,
}

/// A driver's ways.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    pub arm: String,
    pub ways: Vec<Way>,
}

/// A driver in a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Way {
    pub phase: String,
    /// Time of the driver's calls, for a document where the phase writes some, else for a call, us.
    pub time_us: Option<Value>,
    /// Time of all calls of a round, ms.
    pub total_ms: Option<Value>,
    /// Resident set before, at the peak and after, bytes: medians.
    pub armed_bytes: Option<u64>,
    pub peak_bytes: Option<u64>,
    pub held_bytes: Option<u64>,
    /// Growth of the resident set over the phase, as a share of the bytes that it wrote.
    pub held_share: Option<Value>,
    /// Collections of garbage in a round, where the runtime tells: median.
    pub collections: Option<f64>,
    /// Why the driver takes no part.
    pub not_measured: Option<String>,
}

/// Time against size, of one driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BySize {
    pub arm: String,
    pub write: Line,
    pub read: Line,
}

/// Time against size.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    pub points: Vec<Point>,
    /// Time of a document without bytes, us.
    pub fixed_us: Option<Value>,
    /// Time of 1,000 bytes, us.
    pub kilobyte_us: Option<Value>,
    /// The size that lies farthest from the line: that of the field that differs.
    pub misfit_bytes: Option<u64>,
    /// Its relative distance from the line, percent: median.
    pub misfit_percent: Option<f64>,
    /// Extra time from 85,000 bytes on, percent of the line.
    pub step_percent: Option<Value>,
}

/// One size of one driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Of the field that differs.
    pub data_bytes: u64,
    /// BSON size.
    pub bytes: f64,
    pub time_us: Option<Value>,
    /// Collections of garbage per 1,000 documents: median.
    pub collections: Option<f64>,
}

/// Documents on the server, by collStats after a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stored {
    /// Their bytes: `zero`, `text`, `random`; or `small`.
    pub name: String,
    pub documents: u64,
    pub data_bytes: u64,
    pub average_bytes: u64,
    pub storage_bytes: u64,
    pub index_bytes: u64,
    /// Data by storage.
    pub ratio: Option<f64>,
    /// Data by what DEFLATE makes of it, in pieces of 32 KiB.
    pub compressible: Option<f64>,
}

/// How much one insertMany may hold in a driver's limited memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    pub arm: String,
    pub limit_bytes: u64,
    pub rounds: u32,
    /// The largest that fitted in every round.
    pub fits_documents: Option<u64>,
    pub fits_bytes: Option<u64>,
    /// Most memory with it, bytes: median.
    pub peak_bytes: Option<u64>,
    /// The next larger one, which did not.
    pub fails_documents: Option<u64>,
    /// Fates, each once.
    pub fates: Vec<String>,
}
