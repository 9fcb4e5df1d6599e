//! What is told of experiments over time.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::analysis::types::{AlsoRow, Metric};

/// The experiments of one request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestOverTime {
    pub workload: String,
    /// What was asked for, by name.
    pub asked: BTreeMap<String, Value>,
    /// Names of what was asked for otherwise than in the first request of the store.
    pub differs_in: Vec<String>,
    /// By machine and kernel: no line goes across them.
    pub machines: Vec<OnMachine>,
    /// Changes of machine or kernel, in the order of time.
    pub moves: Vec<MachineMove>,
}

/// The experiments of a request on one machine with one kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OnMachine {
    /// Processor, cores, memory and kernel.
    pub machine: String,
    pub experiments: Vec<DatedExperiment>,
    pub lines: Vec<FigureLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DatedExperiment {
    pub id: String,
    /// RFC 3339 in UTC.
    pub started_at: String,
    /// For people: the date, with the time where several have one date.
    pub date: String,
}

/// Consecutive experiments on two machines, or two kernels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineMove {
    pub date: String,
    pub before: String,
    pub after: String,
}

/// One figure of one arm over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureLine {
    /// Driver and options without the version; a number where several differ in that alone.
    pub arm: String,
    pub phase: String,
    pub operation: String,
    pub metric: Metric,
    /// The arm of one version in all experiments through which it is compared; None: as it is.
    pub relative_to: Option<String>,
    /// By experiment; None where it was not measured.
    pub versions: Vec<Option<String>>,
    pub values: Vec<Option<f64>>,
    /// Cost in percent of that of `relative_to` in the same experiment, over paired rounds; none
    /// where it is compared as it is.
    pub against_percent: Vec<Option<f64>>,
    /// A smaller step is none.
    pub threshold_percent: f64,
    pub steps: Vec<LineStep>,
}

impl FigureLine {
    /// Experiments with a value.
    pub fn count(&self) -> usize {
        let judged = if self.relative_to.is_some() { &self.against_percent } else { &self.values };
        judged.iter().flatten().count()
    }
}

/// A step of a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineStep {
    /// Place of the first experiment behind it.
    pub at: usize,
    /// Change of cost, percent, + is slower.
    pub change_percent: f64,
    /// By permutation of the experiments.
    pub p_value: f64,
    /// Experiments that are compared: before it and behind it.
    pub experiments: (usize, usize),
    /// Place of the experiment that takes it back.
    pub taken_back_at: Option<usize>,
    /// What else is not the same before it and behind it.
    pub together_with: Vec<AlsoRow>,
    /// What moved as well though nothing of it changed, and how far: then there is no verdict.
    pub moved_as_well: Option<(String, f64)>,
}
