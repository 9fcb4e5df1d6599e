//! Runs arranged by round, and the reasons that take a run out of its round.

use std::collections::{BTreeMap, BTreeSet};

use record::records::{Experiment, PhaseRun, Run};
use stats::disturbed::{self, ForeignLoad, RoundStep};
use stats::gates::{self, GateOutcome};
use stats::looks::{Look, RoundsProgress};

/// One arm in one phase: a run per round, None where the run is void.
pub type PerRound<'a> = Vec<Option<&'a PhaseRun>>;

/// By round, arm and block.
type ByKey<'a> = BTreeMap<(u32, &'a str, u32), &'a Run>;

pub struct Rounds<'a> {
    numbers: Vec<u32>,
    /// Rounds that are compared, and whether each was disturbed.
    compared: Vec<u32>,
    disturbed: Vec<bool>,
    look: Look,
    step: RoundStep,
    runs: ByKey<'a>,
    clock_source: &'a str,
}

impl<'a> Rounds<'a> {
    /// A round counts once every arm has its record in it.
    pub fn new(experiment: &'a Experiment, runs: &'a [Run]) -> Self {
        let by_key: ByKey<'_> =
            runs.iter().map(|run| ((run.round, run.arm.as_str(), run.block), run)).collect();
        let whole = |round: &u32| {
            experiment.arms.iter().all(|arm| in_round(&by_key, *round, &arm.id).next().is_some())
        };
        let begun: BTreeSet<u32> = runs.iter().map(|run| run.round).collect();
        let numbers: Vec<u32> = begun.into_iter().filter(whole).collect();
        // Without verdicts an experiment keeps to the rounds that it was asked for.
        let judged = !experiment.settings.conduct.figures_only;
        let around = around(&by_key, &numbers);
        let disturbed: Vec<bool> = around.iter().map(|it| judged && it.is_disturbed()).collect();
        let (look, step) = experiment.settings.looks.standing(&disturbed);
        let only_quiet = disturbed::only_quiet(&disturbed, look.rounds, look.alpha);
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

    /// Numbers of the finished rounds that are compared.
    pub fn compared(&self) -> &[u32] {
        &self.compared
    }

    /// How far the experiment has come.
    pub fn standing(&self) -> RoundsProgress {
        RoundsProgress {
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
        around.retain(ForeignLoad::is_restless);
        (!around.is_empty()).then(|| (around.len(), disturbed::words(&around)))
    }

    /// By compared round, void runs left out. Of a baseline of several blocks, see [`Self::all`].
    pub fn of(&self, arm: &str, phase: &str) -> PerRound<'a> {
        let all = self.all(arm, phase).into_iter();
        all.map(|runs| runs.first().map(|(_, run)| *run)).collect()
    }

    /// By compared round the runs of an arm with their blocks, void ones left out: of the baseline
    /// one for each block.
    pub fn all(&self, arm: &str, phase: &str) -> Vec<Vec<(u32, &'a PhaseRun)>> {
        let of_round = |round: &u32| {
            let runs = in_round(&self.runs, *round, arm);
            let valid = runs.filter_map(|run| Some((run.block, self.valid(run, phase).ok()?)));
            valid.collect()
        };
        self.compared.iter().map(of_round).collect()
    }

    /// By round, with void runs and rounds that are not compared: every measurement is shown,
    /// whatever it is worth.
    pub fn measured(&self, arm: &str, phase: &str) -> PerRound<'a> {
        let run = |round: &u32| {
            let run = self.first(*round, arm)?;
            run.phases.iter().find(|it| it.phase == phase)
        };
        self.numbers.iter().map(run).collect()
    }

    /// The same, and of the baseline the runs in all blocks.
    pub fn every(&self, arm: &str, phase: &str) -> Vec<&'a PhaseRun> {
        let runs = self.numbers.iter().flat_map(|round| in_round(&self.runs, *round, arm));
        runs.filter_map(|run| run.phases.iter().find(|it| it.phase == phase)).collect()
    }

    /// Position of each run of an arm in its round, by compared round.
    pub fn positions(&self, arm: &str) -> Vec<Option<u32>> {
        self.compared.iter().map(|round| self.first(*round, arm).map(|run| run.position)).collect()
    }

    /// A reason for each void run of an arm among the compared rounds.
    pub fn losses(&self, arm: &str, phase: &str) -> Vec<String> {
        let runs = self.compared.iter().flat_map(|round| in_round(&self.runs, *round, arm));
        runs.filter_map(|run| self.valid(run, phase).err()).collect()
    }

    /// Median cost of the bookkeeping of one operation of an arm, ns.
    pub fn noop_ns(&self, arm: &str) -> Option<f64> {
        let costs: Vec<f64> =
            self.numbers.iter().filter_map(|round| self.first(*round, arm)?.noop_ns).collect();
        stats::descriptive::median(&costs)
    }

    /// The run of an arm in a round: of the baseline that of the first block.
    fn first(&self, round: u32, arm: &str) -> Option<&'a Run> {
        in_round(&self.runs, round, arm).next()
    }

    /// A phase of a run, or why it does not count.
    fn valid(&self, run: &'a Run, phase: &str) -> Result<&'a PhaseRun, String> {
        let arm = &run.arm;
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
            GateOutcome::Fail(reason) => Err(reason),
            GateOutcome::Pass | GateOutcome::Warn(_) => Ok(found),
        }
    }
}

fn in_round<'a, 'b>(
    runs: &'b ByKey<'a>,
    round: u32,
    arm: &'b str,
) -> impl Iterator<Item = &'a Run> + use<'a, 'b> {
    runs.range((round, arm, 0)..=(round, arm, u32::MAX)).map(|(_, run)| *run)
}

/// Load that is not ours, by round: all runs of a round record the same.
fn around<'a>(runs: &ByKey<'a>, rounds: &[u32]) -> Vec<ForeignLoad<'a>> {
    let of = |round: &u32| Some(runs.range((*round, "", 0)..).next()?.1.machine_noise.around());
    rounds.iter().filter_map(of).collect()
}
