//! Runs arranged by round, and what takes a run out of its round.

use std::collections::BTreeMap;

use crate::result::records::{Experiment, PhaseRun, Run};
use crate::stats::gates::{self, Outcome};

/// One arm in one phase: a run per round, None where the run is void.
pub type PerRound<'a> = Vec<Option<&'a PhaseRun>>;

/// All rounds of an experiment.
pub struct Rounds<'a> {
    numbers: Vec<u32>,
    runs: BTreeMap<(u32, &'a str), &'a Run>,
    clock_source: &'a str,
}

impl<'a> Rounds<'a> {
    /// Arranges runs; a round counts once every arm has its record in it.
    #[must_use]
    pub fn new(experiment: &'a Experiment, runs: &'a [Run]) -> Self {
        let by_key: BTreeMap<(u32, &str), &Run> =
            runs.iter().map(|run| ((run.round, run.arm.as_str()), run)).collect();
        let last = runs.iter().map(|run| run.round).max().unwrap_or(0);
        let whole = |round: &u32| {
            experiment.arms.iter().all(|arm| by_key.contains_key(&(*round, arm.id.as_str())))
        };
        Self {
            numbers: (1..=last).filter(whole).collect(),
            runs: by_key,
            clock_source: &experiment.machine.clock_source,
        }
    }

    /// Finished rounds.
    #[must_use]
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Runs of an arm in a phase, void ones left out.
    #[must_use]
    pub fn of(&self, arm: &str, phase: &str) -> PerRound<'a> {
        self.numbers.iter().map(|round| self.valid(*round, arm, phase).ok()).collect()
    }

    /// The same with void runs left in: what was measured is shown, whatever it is worth.
    #[must_use]
    pub fn measured(&self, arm: &str, phase: &str) -> PerRound<'a> {
        let run = |round: &u32| {
            let run = self.runs.get(&(*round, arm))?;
            run.phases.iter().find(|it| it.phase == phase)
        };
        self.numbers.iter().map(run).collect()
    }

    /// Position of each run of an arm in its round.
    #[must_use]
    pub fn positions(&self, arm: &str) -> Vec<Option<u32>> {
        self.numbers
            .iter()
            .map(|round| self.runs.get(&(*round, arm)).map(|run| run.position))
            .collect()
    }

    /// Why runs of an arm are void in a phase, a reason for each of them.
    #[must_use]
    pub fn losses(&self, arm: &str, phase: &str) -> Vec<String> {
        self.numbers.iter().filter_map(|round| self.valid(*round, arm, phase).err()).collect()
    }

    /// Median cost of the bookkeeping of one operation of an arm, ns.
    #[must_use]
    pub fn noop_ns(&self, arm: &str) -> Option<f64> {
        let costs: Vec<f64> = self
            .numbers
            .iter()
            .filter_map(|round| self.runs.get(&(*round, arm))?.noop_ns)
            .collect();
        crate::stats::descriptive::median(&costs)
    }

    /// The run of an arm in a round, or why it does not count.
    fn valid(&self, round: u32, arm: &str, phase: &str) -> Result<&'a PhaseRun, String> {
        let run = self.runs.get(&(round, arm)).ok_or_else(|| format!("{arm} did not run"))?;
        let found = run.phases.iter().find(|it| it.phase == phase);
        let Some(found) = found else {
            let why = run.failed.clone().unwrap_or_else(|| "did not reach it".to_owned());
            return Err(format!("{arm}: {why}"));
        };
        if !found.receipt.agrees {
            return Err(format!(
                "{arm} claims {:?}, the server counted {:?}",
                found.receipt.claimed, found.receipt.counted
            ));
        }
        let answers = &found.answers;
        let documents = answers.documents_expected.is_some_and(|it| it != answers.documents);
        if documents || answers.sum_expected.is_some_and(|it| it != answers.sum) {
            return Err(format!("{arm} read other values than the collection holds"));
        }
        if let Some(gate) = found.gates.iter().find(|gate| gate.fails) {
            return Err(gate.reason.clone());
        }
        let machine = gates::machine(&gates::Machine {
            steal_percent: run.machine_noise.steal_fraction * 100.0,
            foreign_cpu_percent: run.machine_noise.foreign_fraction * 100.0,
            saturated: None,
            clock_source: (!self.clock_source.is_empty()).then_some(self.clock_source),
        });
        match machine.outcome {
            Outcome::Fail(reason) => Err(reason),
            Outcome::Pass | Outcome::Warn(_) => Ok(found),
        }
    }
}
