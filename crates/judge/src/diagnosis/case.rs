//! The rules' view of the records: all of them, and one arm in one phase.

use std::collections::BTreeMap;

use crate::analysis::rounds::{PerRound, Rounds};
use crate::analysis::types::{ComparisonRow, Finding, ResultRow};
use format;
use record::records::{Arm, Experiment, PhaseRun, Queue, Tap};
use stats::descriptive::median;
use workload::plan::Phase;

pub struct DiagnosisInput<'a> {
    /// Plan, arms, machine.
    pub experiment: &'a Experiment,
    pub rounds: &'a Rounds<'a>,
    /// Quantiles over all rounds.
    pub results: &'a [ResultRow],
    pub comparisons: &'a [ComparisonRow],
}

/// Everything known of one arm in one phase.
pub struct Case<'a> {
    pub arm: &'a Arm,
    pub phase: &'a Phase,
    pub cores: f64,
    /// Runs of all rounds, void ones too: overload often voids a run (G3).
    pub measured: Vec<&'a PhaseRun>,
    /// Runs by round, None where void: to be compared with another arm's.
    pub valid: PerRound<'a>,
    /// Quantiles over all rounds, a row an operation.
    pub rows: Vec<&'a ResultRow>,
}

impl<'a> Case<'a> {
    pub fn new(evidence: &DiagnosisInput<'a>, arm: &'a Arm, phase: &'a Phase) -> Self {
        let rows = evidence.results.iter();
        let rounds = evidence.rounds;
        Self {
            arm,
            phase,
            cores: f64::from(evidence.experiment.machine.cores),
            measured: rounds.measured(&arm.id, &phase.name).into_iter().flatten().collect(),
            valid: rounds.of(&arm.id, &phase.name),
            rows: rows.filter(|row| row.arm == arm.id && row.phase == phase.name).collect(),
        }
    }

    /// Median over the rounds; None where fewer than half of them have a value.
    pub fn median(&self, value: impl Fn(&PhaseRun) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> =
            self.measured.iter().filter_map(|run| value(run)).filter(|it| it.is_finite()).collect();
        median(&values).filter(|_| 2 * values.len() >= self.measured.len())
    }

    /// The same for values of the tap.
    pub fn tap(&self, value: impl Fn(&Tap) -> Option<f64>) -> Option<f64> {
        self.median(|run| value(run.tap.as_ref()?))
    }

    /// The same for values of the overload test.
    pub fn queue(&self, value: impl Fn(&Queue) -> Option<f64>) -> Option<f64> {
        self.median(|run| value(run.queue.as_ref()?))
    }

    /// Threads or tasks of all processes.
    pub fn workers(&self) -> f64 {
        f64::from(self.phase.workers) * self.processes()
    }

    pub fn processes(&self) -> f64 {
        f64::from(self.phase.processes)
    }

    /// Largest number of connections of all processes; None where the driver reports none, or has
    /// no limit (0).
    pub fn pool(&self) -> Option<f64> {
        let size = self.arm.resolved.get("max_pool_size")?.as_f64()?;
        (size > 0.0).then(|| size * self.processes())
    }

    pub fn finding(&self, rule: &str, sentence: String, numbers: &[(&str, f64)]) -> Finding {
        Finding {
            rule: rule.to_owned(),
            arm: Some(self.arm.id.clone()),
            phase: Some(self.phase.name.clone()),
            sentence,
            numbers: numbers_of(numbers),
        }
    }
}

/// A number of workers, connections or messages, without decimals.
pub fn whole(value: f64) -> String {
    format::count(value.round() as u64)
}

/// Numbers by name; NaN and infinity are left out, for JSON does not know them.
pub fn numbers_of(numbers: &[(&str, f64)]) -> BTreeMap<String, f64> {
    let finite = numbers.iter().filter(|(_, value)| value.is_finite());
    finite.map(|(name, value)| ((*name).to_owned(), *value)).collect()
}
