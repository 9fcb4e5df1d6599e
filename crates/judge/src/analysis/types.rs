//! The content of every report, and the JSON of `run --json` and `report --format json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use record::records::{Death, Ended, GateUnclear, Machine, Seen, Server, Unavailable};
use stats::gates::Gate;
use stats::order::Order;
use stats::threshold::Interleave;
use stats::verdict::Verdict;

/// The whole answer of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// Version of this document's format.
    pub schema_version: u32,
    /// Path of the experiment folder.
    pub experiment: String,
    pub id: String,
    pub workload: String,
    /// Why that workload exists.
    pub why: String,
    pub seed: u64,
    /// Quick form: one look, wide threshold.
    pub quick: bool,
    /// Rounds finished.
    pub rounds: u32,
    /// Rounds that are compared; the others were disturbed.
    #[serde(default)]
    pub rounds_compared: u32,
    /// Numbers of the rounds that other processes or the hypervisor disturbed.
    #[serde(default)]
    pub rounds_disturbed: Vec<u32>,
    /// The cause of the disturbance, in words.
    #[serde(default)]
    pub disturbance: Option<String>,
    /// Start, RFC 3339.
    pub started_at: String,
    /// How it ended; `unfinished` while it runs, or where it was cut off.
    pub ended: Ended,
    pub server: Server,
    pub machine: Machine,
    /// Arms in the order asked for; the first is the baseline.
    pub arms: Vec<ArmSummary>,
    /// Adapters and versions that could not take part.
    pub unavailable: Vec<Unavailable>,
    /// One row per arm, phase and operation.
    pub results: Vec<ResultRow>,
    /// One row per compared arm, phase and metric.
    pub comparisons: Vec<ComparisonRow>,
    /// A/A noise floors and other figures per phase.
    pub phases: Vec<PhaseSummary>,
    /// Conditions that differ among the arms, and the command of `count` (gate G8).
    #[serde(default)]
    pub conditions: Vec<ConditionRow>,
    /// The tap's measurements, one row per arm and phase; empty without `--tap`.
    #[serde(default)]
    pub taps: Vec<TapRow>,
    /// Arms that died of memory: how far they came.
    #[serde(default)]
    pub deaths: Vec<DeathRow>,
    /// Of each driver with several versions: since which one a figure is another.
    #[serde(default)]
    pub since: Vec<SinceRow>,
    /// The gates that were asked for (`--gate`), by arm and phase.
    #[serde(default)]
    pub objectives: Vec<ObjectiveRow>,
    /// What one of them counts as that is not shown either way; None: neither kept nor broken.
    #[serde(default)]
    pub gate_unclear: Option<GateUnclear>,
    /// Where the time goes, and why.
    #[serde(default)]
    pub diagnosis: Vec<Finding>,
    /// Reasons not to trust a verdict, a sentence each: queries that find nothing, arms that are
    /// given different documents.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// Facts to know before trusting the numbers, a sentence each.
    pub warnings: Vec<String>,
}

impl Analysis {
    /// True where no round is finished, or each comparison asked for is void. For one driver alone
    /// that is the A/A comparison. Exit code 6. A death of memory is an answer.
    pub fn nothing_comparable(&self) -> bool {
        let alone = self.comparisons.iter().all(|row| row.is_aa);
        let mut asked = self.comparisons.iter().filter(|row| alone || !row.is_aa);
        let nothing = asked.all(|row| row.verdict == Verdict::NotComparable);
        self.rounds == 0 || (nothing && self.deaths.is_empty())
    }
}

/// The deaths of one arm of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeathRow {
    /// Arm id.
    pub arm: String,
    /// Rounds in which it died, and rounds that it began.
    pub rounds: u32,
    pub begun: u32,
    /// The first one.
    pub first: Death,
}

/// One condition and which arms ran under which value of it; twins of the baseline are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionRow {
    /// `write concern`, `pool size`, `command of count`, …
    pub condition: String,
    /// Its values, in the order of the arms.
    pub values: Vec<ConditionValue>,
}

/// One value of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionValue {
    /// In a word; `unknown` where the driver does not tell.
    pub value: String,
    /// Ids of its arms.
    pub arms: Vec<String>,
}

/// Commands and times of one arm in one phase: medians over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TapRow {
    /// Arm id.
    pub arm: String,
    pub phase: String,
    /// Commands an operation, by name, with those that are no part of an operation.
    pub commands_per_op: std::collections::BTreeMap<String, f64>,
    /// Commands an operation.
    pub round_trips_per_op: f64,
    /// Bytes to the server, an operation.
    pub bytes_out_per_op: f64,
    /// Bytes from the server, an operation.
    pub bytes_in_per_op: f64,
    /// Server and wire, us an operation.
    pub server_us_per_op: f64,
    /// The simulated link, both ways, us an operation.
    pub link_us_per_op: f64,
    /// The driver, us an operation; None where it cannot be told.
    pub driver_us_per_op: Option<f64>,
    /// From call to last request byte, p50, us.
    pub encode_p50_us: Option<f64>,
    /// From last reply byte to return, p50, us.
    pub decode_p50_us: Option<f64>,
    /// Mean number of commands under way.
    pub in_flight_mean: f64,
    /// Connections opened during the turns of all rounds.
    pub connections_opened: u64,
    /// Most connections at once.
    pub connections_peak: u64,
    /// Why the driver's share cannot be told.
    pub not_separable: Option<String>,
}

/// A finding of the diagnosis (methodology 8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The rule's name: `queue-grows`, `driver-share`, …
    pub rule: String,
    /// Arm it is about, if one.
    pub arm: Option<String>,
    /// Phase it is about, if one.
    pub phase: Option<String>,
    /// In words, with the numbers.
    pub sentence: String,
    /// Behind the sentence, by name with the unit last.
    pub numbers: std::collections::BTreeMap<String, f64>,
}

/// An arm over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmSummary {
    /// Arm id.
    pub id: String,
    pub adapter: String,
    pub driver: String,
    /// Version, as the running adapter reported it.
    pub version: String,
    /// Compiled extension in use.
    pub native: Option<bool>,
    /// Runtime and version.
    pub runtime: String,
    /// `threads`, `tasks` or `processes`.
    pub concurrency: String,
    /// Duplicate of the baseline.
    pub is_aa: bool,
    /// Finished runs, failed ones among them.
    pub runs: u32,
    /// Void runs.
    pub failed: u32,
    /// Why, for the first void run.
    pub reason: Option<String>,
    /// Median cost of one operation's bookkeeping, ns.
    pub noop_ns: Option<f64>,
    /// Resolved defaults.
    pub resolved: serde_json::Value,
    /// Those that the driver does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
    /// Phases that it took no part in, and why.
    #[serde(default)]
    pub not_measured: std::collections::BTreeMap<String, String>,
}

/// One operation of one phase of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultRow {
    /// Arm id.
    pub arm: String,
    pub phase: String,
    pub operation: String,
    /// Operations a second: median of the rounds (of the whole phase).
    pub throughput: Option<f64>,
    /// Service time quantiles of all rounds together, us; None where too few samples.
    pub p50_us: Option<f64>,
    /// p90, us.
    pub p90_us: Option<f64>,
    /// p99, us.
    pub p99_us: Option<f64>,
    /// p99.9, us.
    pub p999_us: Option<f64>,
    /// Response time p50 (open loop), us.
    pub response_p50_us: Option<f64>,
    /// Response time p99 (open loop), us.
    pub response_p99_us: Option<f64>,
    /// Lateness of the adapter's own timers (open loop), p50, us.
    #[serde(default)]
    pub timer_p50_us: Option<f64>,
    /// The same, p99.
    #[serde(default)]
    pub timer_p99_us: Option<f64>,
    /// From the making of a message to its reading, the median of the rounds, us; None where nobody
    /// reads.
    #[serde(default)]
    pub message_p50_us: Option<f64>,
    /// The same at p99.
    #[serde(default)]
    pub message_p99_us: Option<f64>,
    /// Making one document, median of the rounds, ns; None where none is made.
    #[serde(default)]
    pub document_ns: Option<f64>,
    /// Client CPU per operation, median of the rounds, us.
    pub cpu_us_per_op: Option<f64>,
    /// On the wire per operation, both directions; by the tap, else by the server's counters.
    #[serde(default)]
    pub bytes_per_op: Option<f64>,
    /// Largest peak resident set, bytes.
    pub rss_peak_bytes: Option<u64>,
    /// Largest resident set after the phase, bytes.
    #[serde(default)]
    pub rss_held_bytes: Option<u64>,
    /// Most threads at once, in any round.
    #[serde(default)]
    pub threads_peak: Option<u64>,
    /// Most open connections at once, in any round.
    #[serde(default)]
    pub connections_peak: Option<u64>,
    /// Garbage collections in all rounds, where the runtime tells.
    #[serde(default)]
    pub gc_count: Option<u64>,
    /// Their time, ns.
    #[serde(default)]
    pub gc_ns: Option<u64>,
    /// Operations measured in all rounds.
    pub operations: u64,
    /// Failed operations in all rounds.
    pub errors: u64,
    /// Documents that a right answer brings, the median of the rounds; of several finds in a mix
    /// their mean together. None where it brings none, or where the totals do not tell.
    #[serde(default)]
    pub documents_per_op: Option<f64>,
    /// BSON bytes of the documents written or read in the phase; None where they are not known.
    pub document_bytes: Option<u64>,
    /// Throughput of each round, for plots, void runs included; None where nothing was measured.
    pub throughput_by_round: Vec<Option<f64>>,
}

/// A figure that is compared between two arms.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    Throughput,
    P50,
    P90,
    P99,
    P999,
    CpuPerOp,
    BytesPerOp,
    RssPeak,
}

impl Metric {
    pub const ALL: [Self; 8] = [
        Self::Throughput,
        Self::P50,
        Self::P90,
        Self::P99,
        Self::P999,
        Self::CpuPerOp,
        Self::BytesPerOp,
        Self::RssPeak,
    ];

    /// Whether it is counted in bytes; the others are times and rates.
    pub fn is_size(self) -> bool {
        matches!(self, Self::BytesPerOp | Self::RssPeak)
    }

    /// The word in records and tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P999 => "p999",
            Self::CpuPerOp => "cpu_per_op",
            Self::BytesPerOp => "bytes_per_op",
            Self::RssPeak => "rss_peak",
        }
    }
}

/// One comparison, ready to print.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonRow {
    /// Baseline arm id.
    pub baseline: String,
    /// Compared arm id.
    pub arm: String,
    /// Whether this is the A/A comparison.
    pub is_aa: bool,
    pub phase: String,
    /// Operation the metric belongs to; the phase's name for throughput and CPU of a mix.
    pub operation: String,
    pub metric: Metric,
    pub verdict: Verdict,
    /// Direction is clear, size is not.
    pub direction_only: bool,
    /// Change of time per operation, percent, + is slower.
    pub estimate_percent: Option<f64>,
    /// Lower end of the interval, bias included.
    pub low_percent: Option<f64>,
    /// Upper end of the interval, bias included.
    pub high_percent: Option<f64>,
    /// Achieved confidence level, 0..1.
    pub level: Option<f64>,
    /// Rounds used.
    pub rounds: u32,
    /// Practical threshold of SLOWER and FASTER, percent; doubled on a busy machine.
    pub threshold_percent: f64,
    /// SAME: the interval lies within so much, percent.
    #[serde(default)]
    pub floor_percent: f64,
    /// Possible bias, percent: each end of the interval was moved outwards by it.
    #[serde(default)]
    pub bias_percent: f64,
    /// The gate that measured it: G5, G6, G7 or G9.
    #[serde(default)]
    pub bias_gate: Option<Gate>,
    /// The cause of a busy machine, where disturbed rounds had to be compared.
    #[serde(default)]
    pub busy: Option<String>,
    /// Of the arms; one that is not shuffled is part of the sentence.
    #[serde(default)]
    pub order: Order,
    /// Throughput only: how time per operation moved within the phase.
    #[serde(default)]
    pub drift: Option<DriftRow>,
    /// Exact signed-rank p, for the detail table.
    pub p_value: Option<f64>,
    /// Survives Benjamini-Hochberg at q = 0.05 over the report.
    pub bh_rejected: Option<bool>,
    /// The verdict in words.
    pub sentence: String,
}

/// A figure of one phase over the versions of one driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SinceRow {
    pub adapter: String,
    pub phase: String,
    /// As in a comparison.
    pub operation: String,
    pub metric: Metric,
    /// In the order asked for.
    pub versions: Vec<String>,
    /// Rounds in which each version has the figure.
    pub rounds: u32,
    /// A smaller step is none, percent.
    pub threshold_percent: f64,
    /// Steps that chance does not make; only fresh rounds confirm them.
    pub changes: Vec<ChangeRow>,
    /// In words.
    pub sentence: String,
}

/// A step between two versions that follow each other in the series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeRow {
    /// The last version before the step.
    pub before: String,
    /// The first version behind it.
    pub after: String,
    /// Change of time (cost) per operation, percent, + is slower. The choice of the place makes it
    /// larger than it is.
    pub change_percent: f64,
    /// By permutation within rounds.
    pub p_value: f64,
    /// The version whose step to the other side leaves less than the threshold of it.
    #[serde(default)]
    pub mended_at: Option<String>,
    /// Other changes between the two versions.
    #[serde(default)]
    pub also: Vec<AlsoRow>,
    /// In words.
    pub sentence: String,
}

/// A figure or a condition that changed together with another figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlsoRow {
    /// `round trips per operation`, `write concern`, …
    pub what: String,
    /// With its unit.
    pub before: String,
    pub after: String,
    /// None for what is no number.
    pub change_percent: Option<f64>,
}

/// A gate that was asked for, held against one arm in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveRow {
    /// As it was written: `p99 < 5ms`.
    pub gate: String,
    pub arm: String,
    pub phase: String,
    pub objective: Objective,
    /// In words.
    pub sentence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    Kept,
    /// Exit code 1.
    Broken,
    /// The interval holds the limit, or there are too few samples. Exit code 125.
    Open,
    /// An arm that cannot do the phase, or that nobody named and this machine cannot run.
    Skipped,
}

/// Movement from the first to the second half of a phase (gate G5). With turns it is that of the
/// arm against the baseline. With whole runs it is that of the arm that moved more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriftRow {
    /// Change of time per operation, percent, + became slower.
    pub estimate_percent: f64,
    /// Lower end of the interval.
    pub low_percent: f64,
    /// Upper end of the interval.
    pub high_percent: f64,
    /// Achieved confidence level, 0..1.
    pub level: f64,
    /// In words.
    pub sentence: String,
}

/// A phase over all arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseSummary {
    pub phase: String,
    /// How the arms of a round share the machine.
    pub interleave: Interleave,
    /// Why.
    pub interleave_reason: String,
    /// Median turn length, ms.
    pub turn_ms: Option<f64>,
    /// `closed loop, N in flight; omits waiting a real caller would see`, or the offered rate.
    pub loop_note: String,
    /// Noise floor of the A/A arm on throughput, percent.
    pub aa_noise_percent: Option<f64>,
    /// Operations whose answers the core does not check.
    #[serde(default)]
    pub answers_unchecked: Vec<String>,
}
