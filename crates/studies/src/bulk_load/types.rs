use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use stats::descriptive::OverRounds;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BulkLoadAnalysis {
    /// Loads by part, phase and driver, in the order of the plan.
    pub loads: Vec<Load>,
    /// The answer, a finding at a time.
    pub evidence: Vec<Evidence>,
    /// Failures.
    pub notes: Vec<String>,
}

/// One way to load, by one driver.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    pub part: String,
    pub phase: String,
    /// Driver.
    pub arm: String,
    /// Documents of one load.
    pub documents: u64,
    /// Mean size of a document as BSON, bytes.
    pub document_bytes: f64,
    /// Documents a second, by round; null where the round was lost.
    pub rates: Vec<Option<f64>>,
    /// Time of the load, ms.
    pub took_ms: Option<OverRounds>,
    pub documents_per_s: Option<OverRounds>,
    /// Bytes that the server received for a document.
    pub wire_bytes: Option<OverRounds>,
    /// Bytes of storage for a document, compressed, without indexes.
    pub stored_bytes: Option<OverRounds>,
    /// Bytes of indexes for a document.
    pub index_bytes: Option<OverRounds>,
    /// Documents a second in the last tenth of the load against the first, percent. Of loads of one
    /// thread with enough calls of one size.
    pub last_tenth_percent: Option<OverRounds>,
    /// Documents a second in each twentieth of the load, by round, where it outgrows the cache.
    pub twentieths: Vec<Vec<f64>>,
    /// Memory of the server, or else its cache, bytes, where the part limits it.
    pub room_bytes: Option<u64>,
    /// Documents that each of several hosts or shards has at the end, of the last round that
    /// counts.
    pub by_host: Vec<u64>,
    /// Share of the documents of a second that goes to the host or shard with the most of them,
    /// percent, over all seconds of the load. With one driver; None of a load of few seconds.
    pub busiest_percent: Option<f64>,
    /// Hosts that have a batch in flight while any has one, as a mean over that time.
    pub hosts_at_once: Option<OverRounds>,
    /// Share of each host or shard in each tenth of the load's time, percent, of the last round
    /// that counts. Of shards with one driver, in loads of ten seconds or more.
    pub hosts_over_time: Vec<Vec<f64>>,
    /// Version of the server, and whether it is ours.
    pub server: String,
    /// Reasons of rounds that do not count.
    pub lost: Vec<String>,
}
