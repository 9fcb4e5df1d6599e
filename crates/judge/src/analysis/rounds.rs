//! Runs arranged by round, and the reasons that take a run out of its round.

use std::collections::{BTreeMap, BTreeSet};

use record::records::{Experiment, PhaseRun, Run};
use stats::disturbed::{self, Around, Step};
use stats::gates::{self, Outcome};
use stats::looks::{Look, Standing};

/// One arm in one phase: a run per round, None where the run is void.
pub type PerRound<'a> = Vec<Option<&'a PhaseRun>>;

type ByKey<'a> = BTreeMap<(u32, &'a str), &'a Run>;

pub struct Rounds<'a> {
    numbers: Vec<u32>,
    /// Rounds that are compared, and whether each was disturbed.
    compared: Vec<u32>,
    disturbed: Vec<bool>,
    look: Look,
    step: Step,
    runs: ByKey<'a>,
    clock_source: &'a str,
}

impl<'a> Rounds<'a> {
    /// A round counts once every arm has its record in it.
    pub fn new(experiment: &'a Experiment, runs: &'a [Run]) -> Self {
        let by_key: ByKey<'_> =
            runs.iter().map(|run| ((run.round, run.arm.as_str()), run)).collect();
        let whole = |round: &u32| {
            experiment.arms.iter().all(|arm| by_key.contains_key(&(*round, arm.id.as_str())))
        };
        let begun: BTreeSet<u32> = runs.iter().map(|run| run.round).collect();
        let numbers: Vec<u32> = begun.into_iter().filter(whole).collect();
        // A study compares no arms with each other: it keeps to the rounds it was asked for.
        let judged = experiment.study.is_none();
        let around = around(&by_key, &numbers);
        let disturbed: Vec<bool> = around.iter().map(|it| judged && it.is_disturbed()).collect();
        let (look, step) = experiment.settings.looks.standing(&disturbed);
        let only_quiet = disturbed::only_quiet(&disturbed, look.rounds);
        let rounds = numbers.iter().zip(&disturbed);
        let compared = rounds.filter(|(_, disturbed)| !(only_quiet && **disturbed));
        Self {
            compared: compared.map(|(round, _)| *round).collect(),
            numbers,
            disturbed,
            look,
            step,
            runs: by_key,
            clock_source: &experiment.machine.clock_source,
        }
    }

    /// Finished rounds.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Finished rounds that are compared.
    pub fn compared_count(&self) -> usize {
        self.compared.len()
    }

    /// How far the experiment has come.
    pub fn standing(&self) -> Standing {
        Standing {
            round: self.count() as u32,
            look: self.look,
            step: self.step,
            disturbed: self.disturbed(),
            disturbance: self.disturbance(),
        }
    }

    /// Numbers of the disturbed rounds.
    pub fn disturbed(&self) -> Vec<u32> {
        let rounds = self.numbers.iter().zip(&self.disturbed);
        rounds.filter(|(_, disturbed)| **disturbed).map(|(round, _)| *round).collect()
    }

    /// The cause of disturbed rounds; None where there are none.
    pub fn disturbance(&self) -> Option<String> {
        let around = around(&self.runs, &self.disturbed());
        (!around.is_empty()).then(|| disturbed::words(&around))
    }

    /// The same where disturbed rounds are compared, for want of others.
    pub fn busy(&self) -> Option<String> {
        self.disturbance().filter(|_| self.compared.len() == self.numbers.len())
    }

    /// Compared rounds in which other processes worked, yet not enough to disturb: their number,
    /// and how much that was.
    pub fn restless(&self) -> Option<(usize, String)> {
        let mut around = around(&self.runs, &self.compared);
        around.retain(Around::is_restless);
        (!around.is_empty()).then(|| (around.len(), disturbed::words(&around)))
    }

    /// By compared round, void runs left out.
    pub fn of(&self, arm: &str, phase: &str) -> PerRound<'a> {
        self.compared.iter().map(|round| self.valid(*round, arm, phase).ok()).collect()
    }

    /// By round, with void runs and rounds that are not compared: every measurement is shown,
    /// whatever it is worth.
    pub fn measured(&self, arm: &str, phase: &str) -> PerRound<'a> {
        let run = |round: &u32| {
            let run = self.runs.get(&(*round, arm))?;
            run.phases.iter().find(|it| it.phase == phase)
        };
        self.numbers.iter().map(run).collect()
    }

    /// Position of each run of an arm in its round, by compared round.
    pub fn positions(&self, arm: &str) -> Vec<Option<u32>> {
        self.compared
            .iter()
            .map(|round| self.runs.get(&(*round, arm)).map(|run| run.position))
            .collect()
    }

    /// A reason for each void run of an arm among the compared rounds.
    pub fn losses(&self, arm: &str, phase: &str) -> Vec<String> {
        self.compared.iter().filter_map(|round| self.valid(*round, arm, phase).err()).collect()
    }

    /// Median cost of the bookkeeping of one operation of an arm, ns.
    pub fn noop_ns(&self, arm: &str) -> Option<f64> {
        let costs: Vec<f64> = self
            .numbers
            .iter()
            .filter_map(|round| self.runs.get(&(*round, arm))?.noop_ns)
            .collect();
        stats::descriptive::median(&costs)
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
        match gates::clock_source(self.clock_source).outcome {
            Outcome::Fail(reason) => Err(reason),
            Outcome::Pass | Outcome::Warn(_) => Ok(found),
        }
    }
}

/// Load that is not ours, by round: all runs of a round record the same.
fn around<'a>(runs: &ByKey<'a>, rounds: &[u32]) -> Vec<Around<'a>> {
    let of = |round: &u32| Some(runs.range((*round, "")..).next()?.1.machine_noise.around());
    rounds.iter().filter_map(of).collect()
}
