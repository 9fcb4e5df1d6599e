//! How an experiment is run and judged, and how its rounds are divided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use stats::looks::LookPlan;
use stats::order::Order;
use stats::threshold::Interleave;

/// How the experiment is run and judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Seed of orders, names, pools and keys.
    pub seed: u64,
    /// Numbers of rounds after which a verdict is asked for, and the error spent at each.
    pub looks: LookPlan,
    /// `turns` or `runs` for each phase, with the reason.
    pub interleave: Vec<PhaseInterleave>,
    /// Measured seconds per arm, phase and round.
    pub measured_s: f64,
    #[serde(flatten)]
    pub conduct: Conduct,
    /// Whether cores may be kept awake during turns.
    #[serde(default)]
    pub keep_awake: bool,
    /// None: all arms of a round live at once, or each by itself.
    #[serde(default)]
    pub blocks: Option<Blocks>,
}

/// How an experiment is conducted: what a request asks for and an experiment keeps unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Conduct {
    /// Longest time of a counted phase for each arm and round, s.
    pub max_time_s: Option<f64>,
    /// Figures that the experiment has to keep, as `--gate` takes them.
    pub gates: Vec<String>,
    /// What a gate counts as that is not shown either way; None: neither.
    pub gate_unclear: Option<GateUnclear>,
    /// The order of the arms at the start of a round and within its laps; None: shuffled.
    pub order: Option<Order>,
    /// Whether it only measures: no A/A arm, no verdicts, no more rounds than were asked for.
    pub figures_only: bool,
    /// Whether one more round follows the others, which alone goes through the tap.
    pub tap_last_round: bool,
}

impl Conduct {
    pub fn order(&self) -> Order {
        self.order.unwrap_or_default()
    }
}

/// What a gate counts as that is not shown either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateUnclear {
    /// Broken.
    Fail,
    /// Kept.
    Pass,
}

impl GateUnclear {
    /// The word that `--gate-unclear` takes.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Pass => "pass",
        }
    }
}

/// How the arms of a round share the machine in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseInterleave {
    pub phase: String,
    /// `turns` or `runs`.
    pub interleave: Interleave,
    /// Why, in a few words ("asked for", "unacknowledged writes do not fit turns").
    pub reason: String,
    /// Length of a turn, ms: decided in the first round and kept. None before, and for whole runs.
    #[serde(default)]
    pub turn_ms: Option<f64>,
}

/// How each round is divided. The baseline is in every block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blocks {
    /// Blocks of a round.
    pub count: u32,
    /// The most arms of one, the baseline among them.
    pub arms_max: u32,
    /// Memory that was free when this was decided, bytes.
    pub free_bytes: u64,
    /// The most that an arm's processes were taken to need, bytes.
    pub arm_bytes: u64,
    /// Who says so.
    pub by: SizedBy,
}

/// Where an arm's size comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizedBy {
    /// `--client-memory`.
    ClientMemory,
    /// `process_mib` of the adapter's manifest.
    Manifest,
}

impl Blocks {
    /// `4 a round, of at most 20 arms, the baseline in each (… free, … an arm by its manifest)`.
    pub fn words(&self) -> String {
        let by = match self.by {
            SizedBy::ClientMemory => "by --client-memory",
            SizedBy::Manifest => "by its manifest",
        };
        format!(
            "{} a round, of at most {} arms, the baseline in each ({} free, {} an arm {by})",
            self.count,
            self.arms_max,
            format::bytes(self.free_bytes),
            format::bytes(self.arm_bytes)
        )
    }

    /// Whether so many arms can be dealt into them.
    pub fn fit(&self, arms: usize) -> bool {
        (2..arms).contains(&(self.count as usize))
    }

    /// For the notes of reports.
    pub fn sentence(&self) -> String {
        format!(
            "not all arms fit into memory at once: blocks, {}; each arm is compared with the \
             baseline of its own block, and arms of different blocks through the baseline alone",
            self.words()
        )
    }
}
