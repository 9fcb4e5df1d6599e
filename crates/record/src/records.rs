//! The records of `experiment.json`, `runs.jsonl`, `server.jsonl` and `clients.jsonl`.
//!
//! Records are only ever appended or added to. A reader ignores fields it does not know, so that
//! older and newer versions read each other's folders.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::broker::Broker;
pub use crate::death::{ClientMemory, Death};
pub use crate::driver_options::Seen;
pub use crate::earlier_study::EarlierStudy;
pub use crate::machine::{ForeignProcess, KeepAwake, Machine, MachineNoise, Placement};
pub use crate::process_limits::Limits;
pub use crate::quantiles::Quantiles;
pub use crate::queue::{OpenLoop, Queue};
pub use crate::request::{DriverShare, Request, ServerOptions};
pub use crate::server_kind::ServerKind;
pub use crate::settings::{Blocks, Conduct, GateUnclear, PhaseInterleave, Settings, SizedBy};
pub use crate::wire::{Link, Tap, TapCommand};
use workload::plan::Plan;

/// Raised when a field changes its meaning.
pub const SCHEMA_VERSION: u32 = 2;

/// `experiment.json`: everything known before the first run, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Version of mongodyno that wrote it.
    pub mongodyno: String,
    /// Identity: start time and a random suffix.
    pub id: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// End, RFC 3339 in UTC; None while it runs or if it was cut off.
    pub finished_at: Option<String>,
    /// Why it ended, once it has.
    pub ended: Option<Ended>,
    /// The command line, credentials masked; for people, nothing is run by it.
    pub command: Vec<String>,
    /// Other options asked for, which `resume` asks for again.
    #[serde(default)]
    pub request: Option<Request>,
    /// Rounds, seconds, looks, thresholds.
    pub settings: Settings,
    /// Where it was cut short and gone on with.
    #[serde(default)]
    pub gaps: Vec<Gap>,
    pub plan: Plan,
    /// The study that it was made for, in folders of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<EarlierStudy>,
    /// Arms in the order asked for; the first is the baseline.
    pub arms: Vec<Arm>,
    /// Adapters that this machine cannot run, or versions that would not install.
    pub unavailable: Vec<Unavailable>,
    /// The reader of messages, in phases with a consumer.
    #[serde(default)]
    pub consumer: Option<Arm>,
    pub server: Server,
    /// The databases there: one, and another for each time the experiment was resumed.
    #[serde(default)]
    pub databases: Vec<Database>,
    /// The link on the way to it; None without `--link`.
    #[serde(default)]
    pub link: Option<Link>,
    pub machine: Machine,
    /// The memory of each arm; None: no limit of ours.
    #[serde(default)]
    pub client_memory: Option<ClientMemory>,
}

/// A database of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Database {
    /// `mongodyno_` and 32 random hexadecimal digits.
    pub name: String,
    /// Whether it was dropped; on a server that mongodyno started it goes with the server.
    pub dropped: bool,
}

impl Experiment {
    /// Databases that may still be on somebody else's server.
    pub fn leftovers(&self) -> impl Iterator<Item = &str> {
        let left = self
            .databases
            .iter()
            .filter(|it| self.server.kind == ServerKind::External && !it.dropped);
        left.map(|it| it.name.as_str())
    }
}

/// An experiment was cut short here; the cut round was made again whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// Rounds finished before.
    pub after_round: u32,
    /// When it ended, RFC 3339 in UTC; None where it had no time to say so.
    pub cut_at: Option<String>,
    /// When it went on, RFC 3339 in UTC.
    pub resumed_at: String,
}

impl Gap {
    /// For the notes of reports.
    pub fn sentence(&self) -> String {
        let cut = self.cut_at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
        format!(
            "Cut short{cut} after round {} and gone on with at {}; the cut round was made again.",
            self.after_round, self.resumed_at
        )
    }
}

/// How an experiment ended. Only analyses have `unfinished`, where the record says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    Completed,
    Interrupted,
    Failed,
    Unfinished,
}

impl Ended {
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Unfinished => "unfinished",
        }
    }
}

/// One thing compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// The arm's name in tables: `node@7.9.0`; the A/A arm: `node@7.9.0 (A/A)`.
    pub id: String,
    pub adapter: String,
    /// Duplicate of the baseline.
    pub is_aa: bool,
    /// The baseline again, past tap and link: it shows their cost.
    #[serde(default)]
    pub is_direct: bool,
    /// The driver's name as its adapter reports it.
    pub driver: String,
    /// The version as the running adapter reports it; a folder's name in a folder of drivers.
    pub version: String,
    /// What its driver reports in place of a version, where the version is its folder's name.
    #[serde(default)]
    pub reports: Option<String>,
    /// The arm's own options: of the adapter, asked for or chosen, and of its connection string.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Compiled extension in use; None where the driver has none.
    pub native: Option<bool>,
    /// Runtime and its version.
    pub runtime: String,
    /// The kind of a worker: threads, tasks, processes.
    pub concurrency: String,
    /// Whether the workers are tasks of one thread: an event loop.
    #[serde(default)]
    pub event_loop: bool,
    /// Defaults the driver resolved (pool size, write concern, …): as reported, and as `seen`.
    pub resolved: serde_json::Value,
    /// None: it told all that could be seen, or nothing was sent to a server.
    #[serde(default)]
    pub seen: Option<Seen>,
    /// Whether its writes without a write concern are answered; None: not known yet.
    #[serde(default)]
    pub acknowledged: Option<bool>,
    /// Phases that it takes no part in, and why: "not measured: …".
    #[serde(default)]
    pub not_measured: BTreeMap<String, String>,
    /// What its driver has to itself.
    #[serde(default)]
    pub share: DriverShare,
    /// Version of its server.
    #[serde(default)]
    pub server_version: Option<String>,
    /// Read from the arm's first process in the first round.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// SHA-256 of the environment's lock file, and of sources of this machine; hex.
    pub lock_sha256: Option<String>,
}

/// An arm or adapter that could not take part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
    /// Adapter (and version) asked for or found.
    pub adapter: String,
    pub reason: String,
    /// One thing to do.
    pub hint: String,
    /// Not asked for by name: the default is all that can run here, and it cannot.
    #[serde(default)]
    pub unasked: bool,
}

/// The server measured against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    pub kind: ServerKind,
    /// By buildInfo.
    pub version: String,
    /// The connection string with credentials masked.
    pub uri: String,
    /// Command line of its start.
    pub flags: Vec<String>,
    /// `standalone`, `replica set NAME`, or `sharded`, of a cluster of ours with its shards.
    pub topology: String,
    /// Package and licence of an embedded server.
    pub source: Option<String>,
    /// Id of the process, if it is one of this machine and not hidden from us.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// Limits that were asked for.
    #[serde(default)]
    pub options: ServerOptions,
}

/// One line of `runs.jsonl`: one arm in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Round, from 1.
    pub round: u32,
    /// Arm id.
    pub arm: String,
    /// Whether it went through the tap: in a study that is a separate round.
    #[serde(default)]
    pub tapped: bool,
    /// Block of its round, from 0; the baseline has a run in each.
    #[serde(default)]
    pub block: u32,
    /// Place in the starting order of the round, or of its block, from 0.
    pub position: u32,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Why the run is void (adapter crashed, receipt mismatch, …); its phases so far are kept.
    pub failed: Option<String>,
    /// The phase in which it was lost; None without a loss, or outside of a phase.
    #[serde(default)]
    pub lost: Option<LostPhase>,
    /// It died of memory: then `failed` says so too.
    #[serde(default)]
    pub death: Option<Death>,
    /// The clocks of its processes agree with the core's within so much, us: echoes of `clock`.
    #[serde(default)]
    pub clock_within_us: Option<f64>,
    /// Cost of one operation's bookkeeping, ns: the adapter's own no-op loop.
    pub noop_ns: Option<f64>,
    /// Median time from the core's message to the first operation of a turn, us.
    pub wakeup_us: Option<f64>,
    /// Steal and foreign CPU during the round (gate G4), as fractions of the machine.
    pub machine_noise: MachineNoise,
    /// Phases in order.
    pub phases: Vec<PhaseRun>,
}

/// The phase in which an arm was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostPhase {
    pub phase: String,
    /// Sizes as in [`PhaseRun`], after the loss.
    pub sizes: BTreeMap<String, i64>,
}

/// One phase of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRun {
    pub phase: String,
    /// Turns taken (1 for a whole run).
    pub turns: u32,
    /// Length of a turn, ms.
    pub turn_ms: f64,
    /// Time measured, s: the sum over turns (methodology 2.7 c).
    pub measured_s: f64,
    /// From the end of each turn until the server had all of its writes, s, within 20 ms; the sum
    /// over turns. None in a phase whose writes are all answered.
    #[serde(default)]
    pub arriving_s: Option<f64>,
    /// Operations counted for throughput.
    pub operations: u64,
    /// Operations a second.
    pub throughput: f64,
    /// Operations a second in each turn.
    #[serde(default)]
    pub turn_throughputs: Vec<f64>,
    /// Place of each turn within its lap, from 0.
    #[serde(default)]
    pub turn_positions: Vec<u32>,
    /// The phase ran out of work before its time.
    pub exhausted: bool,
    /// Per operation of the phase's mix.
    pub by_operation: Vec<OperationRun>,
    /// Errors by code.
    pub errors: Vec<ErrorCount>,
    /// CPU of the arm's processes while they had their turns, ns.
    pub cpu_ns: u64,
    /// CPU per operation, us.
    pub cpu_us_per_op: f64,
    /// Peak resident set of the arm's processes, bytes.
    pub rss_peak_bytes: u64,
    /// Resident set when armed, bytes.
    pub rss_armed_bytes: u64,
    /// Resident set after the phase, bytes.
    #[serde(default)]
    pub rss_held_bytes: Option<u64>,
    /// Most threads at once, read once a second and at the end.
    #[serde(default)]
    pub threads_peak: Option<u64>,
    /// Most open connections at once, over TCP or to a server's socket file, those that watch the
    /// server among them; read likewise.
    #[serde(default)]
    pub connections_peak: Option<u64>,
    /// BSON bytes of the documents written or read, as their pools have them; None where they do
    /// not follow from that (documents of several sizes, aggregations, projections, updates).
    #[serde(default)]
    pub document_bytes: Option<u64>,
    /// CPU of the idle arms during this arm's turns, as a fraction of that time (gate G9).
    pub idle_cpu_fraction: Option<f64>,
    /// CPU of this arm during the turns of the others, ns.
    #[serde(default)]
    pub waiting_cpu_ns: Option<u64>,
    /// Server counters over the arm's turns (opcounters.insert, network.bytesIn, …).
    pub server: BTreeMap<String, i64>,
    /// Claims of the adapter against counts of the server.
    pub receipt: Receipt,
    /// Totals that the adapter read, against the core's expectation.
    pub answers: Answers,
    /// Little's law over all turns (gate G2).
    pub little: Option<Little>,
    /// ln(median service time of the 2nd half / 1st half) of the run (gate G5).
    #[serde(alias = "half_log_ratio")]
    pub drift: Option<f64>,
    /// Making one document, before its operation is timed, ns; None where it is not known.
    #[serde(default)]
    pub document_ns: Option<f64>,
    /// Attempts of transactions beyond their first, by the driver itself; no errors.
    pub retries: Option<u64>,
    /// Garbage collections of the runtime, where it counts them; ns by its clock.
    #[serde(default)]
    pub gc_count: Option<u64>,
    #[serde(default)]
    pub gc_ns: Option<u64>,
    /// Operations per second in each second of the warm-up.
    pub warmup_throughput: Vec<f64>,
    /// Sizes before and after, in bytes where the name has no unit: of the arm's collection by
    /// collStats, of the experiment's whole database by dbStats.
    pub sizes: BTreeMap<String, i64>,
    /// Failed or warned gates, in words.
    pub gates: Vec<Gate>,
    /// Open loop: offered operations a second, achieved fraction and pacer lag.
    pub open_loop: Option<OpenLoop>,
    /// Overload test: of open loops and bursts with operations enough, else None.
    #[serde(default)]
    pub queue: Option<Queue>,
    /// Measurements of the tap during the arm's turns; None without `--tap`.
    #[serde(default)]
    pub tap: Option<Tap>,
    /// Messages, in a phase with a consumer.
    #[serde(default)]
    pub broker: Option<Broker>,
    /// Interval histograms under the folder, tagged `operation`, `operation-response` (from the
    /// intended start) or `operation-timer` (the adapter's own lateness).
    pub hlog: Option<String>,
    /// Files of raw samples under the folder; none when the disk budget was used up.
    pub samples: Vec<String>,
}

impl PhaseRun {
    /// Bytes on the wire per operation, both directions: the tap's count, else that of the server's
    /// counters where it has no other client.
    pub fn bytes_per_op(&self, counted: bool) -> Option<f64> {
        if let Some(tap) = &self.tap {
            return Some(tap.bytes_out_per_op + tap.bytes_in_per_op);
        }
        let of = |name: &str| self.server.get(name).filter(|_| counted).copied();
        let bytes = of("network.bytesIn")? + of("network.bytesOut")?;
        (self.operations > 0).then(|| bytes as f64 / self.operations as f64)
    }
}

/// One operation kind in one phase of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationRun {
    pub operation: String,
    pub count: u64,
    /// Samples with a wrong answer.
    pub wrong: u64,
    /// Samples that failed (errors and timeouts).
    pub failed: u64,
    /// Service time of the successful ones.
    pub service: Quantiles,
    /// Response time (open loop only).
    pub response: Option<Quantiles>,
    /// Whether the core checks its answers, by the workload; None in older records.
    #[serde(default)]
    pub answer_checked: Option<bool>,
}

/// Errors of one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// Server's code, 0 where the driver failed on its own.
    pub code: i64,
    /// Code name or exception class.
    pub name: String,
    /// How many.
    pub count: u64,
    /// First message, credentials masked.
    pub message: String,
}

/// Claims of the adapter against counts of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// `opcounters`, `collection` or `none`.
    pub level: String,
    /// Documents or operations that the adapter claims, per counter.
    pub claimed: BTreeMap<String, i64>,
    /// The same, by the server.
    pub counted: BTreeMap<String, i64>,
    pub agrees: bool,
}

/// Totals of all answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answers {
    pub documents: u64,
    pub sum: u64,
    /// None where the core cannot know it.
    pub documents_expected: Option<u64>,
    /// None where the core cannot know it.
    pub sum_expected: Option<u64>,
}

/// Little's law: in flight = throughput x residence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Little {
    pub in_flight: f64,
    pub throughput_times_residence: f64,
}

/// Outcome of one gate of methodology 3.4.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Which.
    pub id: stats::gates::GateId,
    /// true: the comparison is void; false: a warning.
    pub fails: bool,
    /// In words.
    pub reason: String,
}

/// One line of `server.jsonl`, once a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSample {
    /// ns since the experiment's epoch.
    pub at_ns: u64,
    /// Round and phase under way.
    pub round: u32,
    /// Phase under way, empty between phases.
    pub phase: String,
    /// Counters and gauges by dotted name (opcounters.insert, globalLock.currentQueue.readers, …).
    pub values: BTreeMap<String, i64>,
    /// Parts of a whole by dotted name: `cache.dirty_fraction`, `cache.used_fraction`, and of the
    /// time since the last sample `disk.busy_fraction`.
    #[serde(default)]
    pub shares: BTreeMap<String, f64>,
}

/// One line of `clients.jsonl`: the processes of one arm, once a second and at the end of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientSample {
    /// ns since the experiment's epoch.
    pub at_ns: u64,
    pub round: u32,
    /// Phase under way, empty between phases.
    pub phase: String,
    /// Arm id; a consumer's own.
    pub arm: String,
    /// It reads the messages of the other arms.
    #[serde(default)]
    pub consumer: bool,
    pub processes: u32,
    pub rss_bytes: u64,
    /// CPU time since the processes started, ns.
    pub cpu_ns: u64,
    pub threads: u64,
    /// Open connections, over TCP or to a server's socket file; null where that is not known.
    pub connections: Option<u64>,
}
