use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use stats::descriptive::{Interval, OverRounds};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpgradeAnalysis {
    /// Experiments in order.
    pub parts: Vec<PartRows>,
    /// Ratios of the last version to the first one, by driver and experiment.
    pub ratios: Vec<Ratio>,
    /// Of the experiment `versions`, by driver.
    pub correlations: Vec<Correlation>,
    /// The answer, a finding at a time.
    pub evidence: Vec<Evidence>,
    /// Failures.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartRows {
    /// `versions`, `concern`, …
    pub part: String,
    /// Creations, and as many reads, of all threads together.
    pub operations: u64,
    pub threads: u64,
    pub rows: Vec<Row>,
}

/// One version in one experiment. Medians over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    pub arm: String,
    pub adapter: String,
    pub version: String,
    /// Whether its writes were answered; None where it does not tell.
    pub acknowledged: Option<bool>,
    /// All creations, until they have arrived, and all reads, ms.
    pub total_ms: Option<OverRounds>,
    pub create_ms: Option<OverRounds>,
    /// From the last creation's end until the server has all of them; None where it answers each.
    pub arriving_ms: Option<OverRounds>,
    pub read_ms: Option<OverRounds>,
    /// Its total to that of the driver's first version, paired by round.
    pub over_first: Option<OverRounds>,
    /// Response time of a creation and of a read, us.
    pub create_p50_us: Option<f64>,
    pub create_p99_us: Option<f64>,
    pub read_p50_us: Option<f64>,
    pub read_p99_us: Option<f64>,
    /// All operations of all rounds, those of void runs included.
    pub operations: u64,
    /// Reads of all rounds, those of void runs included.
    pub reads: u64,
    /// Reads with a wrong answer, most of them of a document that was not there; all rounds.
    pub reads_missed: u64,
    /// Failed operations; all rounds.
    pub failed: u64,
    pub connections_peak: Option<u64>,
    pub threads_peak: Option<u64>,
    /// Connections that the server accepted, a second.
    pub connections_per_s: Option<f64>,
    /// Connections that ended and threads that began and ended, as the client's processes showed
    /// them once a second: what came and went between two readings is in none.
    pub connections_ended_per_s: Option<f64>,
    pub threads_begun_per_s: Option<f64>,
    pub threads_ended_per_s: Option<f64>,
    /// Bytes that the server received and sent, over the time of creations and reads, a second.
    pub in_per_s: Option<f64>,
    pub out_per_s: Option<f64>,
    pub create_in_per_s: Option<f64>,
    pub create_out_per_s: Option<f64>,
    pub read_in_per_s: Option<f64>,
    pub read_out_per_s: Option<f64>,
    /// Over both phases' operations.
    pub in_per_op: Option<f64>,
    pub out_per_op: Option<f64>,
    pub cpu_us_per_op: Option<f64>,
    /// Total of the original in 2014, ms; None where it is not known.
    pub original_ms: Option<f64>,
    /// The same to that of the first version.
    pub original_over_first: Option<f64>,
}

/// Time of one arm (of the last version) to that of another (of the first one), paired by round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    pub part: String,
    /// Of `concern`: `default_first`, `default_last`, `driver_unanswered`, `driver_answered` or
    /// `api`.
    pub factor: String,
    pub adapter: String,
    /// Arms.
    pub first: String,
    pub last: String,
    /// Creations, until they have arrived.
    pub create: Option<OverRounds>,
    pub read: Option<OverRounds>,
    /// Both.
    pub total: Option<OverRounds>,
    /// The 99th percentile of one creation, and of one read.
    pub create_p99: Option<OverRounds>,
    pub read_p99: Option<OverRounds>,
}

/// Spearman's rho over the versions of one driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Correlation {
    pub adapter: String,
    /// `traffic` or `bytes an operation`.
    pub of: String,
    /// `time` or `version`.
    pub with: String,
    pub versions: usize,
    /// None with too few versions, or without variation.
    pub rho: Option<Interval>,
}
