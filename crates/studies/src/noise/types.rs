//! What the noise study comes to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scatter::Scatter;
use crate::evidence::Evidence;
use stats::descriptive::OverRounds;

/// What the study comes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseAnalysis {
    /// Rounds made.
    pub rounds: u32,
    /// Numbers of those that something else disturbed.
    pub disturbed: Vec<u32>,
    /// What disturbed them, in words.
    pub disturbance: Option<String>,
    /// Whether the disturbed rounds count, because there are too few others.
    pub counts_disturbed: bool,
    /// Time that one arm took in one round, s: median.
    pub arm_round_s: Option<f64>,
    /// Phases in order.
    pub phases: Vec<PhaseNoise>,
    /// The answer, a finding at a time.
    pub evidence: Vec<Evidence>,
    /// What went wrong.
    pub notes: Vec<String>,
}

/// One phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseNoise {
    /// Its name.
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
    /// What the second copy takes longer than the first, percent.
    pub difference_percent: Option<OverRounds>,
    /// How that scatters; None with too few rounds.
    pub scatter: Option<Scatter>,
    /// Why runs do not count.
    pub lost: Vec<String>,
}
