use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scatter::Scatter;
use crate::evidence::Evidence;
use stats::descriptive::OverRounds;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseAnalysis {
    /// Rounds made.
    pub rounds: u32,
    /// Numbers of those that something else disturbed.
    pub disturbed: Vec<u32>,
    /// The cause of the disturbance, in words.
    pub disturbance: Option<String>,
    /// Whether the disturbed rounds count, because there are too few others.
    pub counts_disturbed: bool,
    /// Time that one arm took in one round, s: median.
    pub arm_round_s: Option<f64>,
    /// Phases in order.
    pub phases: Vec<PhaseNoise>,
    /// The answer, a finding at a time.
    pub evidence: Vec<Evidence>,
    /// Failures.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseNoise {
    pub phase: String,
    /// Time measured of an arm in a round, s: median.
    pub measured_s: Option<f64>,
    /// All drivers together.
    pub all: Option<Scatter>,
    /// Drivers in order.
    pub rows: Vec<Row>,
}

/// Two copies of one driver in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Driver.
    pub arm: String,
    /// Rounds in which both copies have a run that counts.
    pub rounds: u32,
    /// Extra time of the second copy against the first, percent.
    pub difference_percent: Option<OverRounds>,
    /// Its scatter; None with too few rounds.
    pub scatter: Option<Scatter>,
    /// Reasons of runs that do not count.
    pub lost: Vec<String>,
}
