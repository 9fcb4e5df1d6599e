//! The content of every report, and the JSON of `run --json` and `report --format json`.

use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use record::metric_values::MetricValues;
pub use record::metrics::Metric;
use record::records::{Death, Ended, GateUnclear, Machine, Seen, Server, Unavailable};
use stats::comparison::Comparison;
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
    /// For each driver with several versions, the version since which a figure differs.
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
    /// The values, in the order of the arms.
    pub values: Vec<ConditionValue>,
}

/// One value of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionValue {
    /// The value in a word; `unknown` where the driver does not report it.
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
    /// The options that the driver does not report.
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
    /// Over all rounds.
    #[serde(flatten)]
    pub values: MetricValues,
    /// Throughput of each round, for plots, void runs included; None where nothing was measured.
    pub throughput_by_round: Vec<Option<f64>>,
}

impl ResultRow {
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.values.get(metric)
    }
}

/// One comparison, ready to print: of an arm against the baseline, of the same between two servers,
/// or of an arm on one server against itself on another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonRow {
    /// The first of two servers, and the other one; None where both arms have one server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Baseline arm id; empty where an arm is compared with itself on another server.
    #[serde(default)]
    pub baseline: String,
    /// Compared arm id.
    pub arm: String,
    /// Whether this is the A/A comparison.
    #[serde(default)]
    pub is_aa: bool,
    pub phase: String,
    /// Operation the metric belongs to; the phase's name for throughput and CPU of a mix.
    pub operation: String,
    pub metric: Metric,
    #[serde(flatten)]
    pub found: Comparison,
}

impl Deref for ComparisonRow {
    type Target = Comparison;

    fn deref(&self) -> &Comparison {
        &self.found
    }
}

impl ComparisonRow {
    /// Whether both are of the same arms, phase, operation and metric.
    pub fn is_about(&self, other: &Self) -> bool {
        (&self.baseline, &self.arm, &self.phase) == (&other.baseline, &other.arm, &other.phase)
            && (&self.operation, self.metric) == (&other.operation, other.metric)
    }

    /// Whether an arm on one server is compared with itself on another.
    pub fn is_of_itself(&self) -> bool {
        self.to.is_some() && self.baseline.is_empty()
    }

    /// Whether the sentence names the arm that it is about.
    pub fn names_arms(&self) -> bool {
        if self.to.is_some() && !self.is_of_itself() {
            return self.verdict != Verdict::NotComparable && self.level.is_some();
        }
        self.verdict.names_arms(self.direction_only)
    }
}

/// A figure of one phase over the versions of one driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SinceRow {
    pub adapter: String,
    pub phase: String,
    /// The operation as a comparison names it.
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
    /// The value before, with its unit.
    pub before: String,
    pub after: String,
    /// None for what is no number.
    pub change_percent: Option<f64>,
}

/// A gate that was asked for, held against one arm in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveRow {
    /// The gate as it was written: `p99 < 5ms`.
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
    /// An arm that cannot do the phase, or that was not asked for by name and cannot run here.
    Skipped,
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
