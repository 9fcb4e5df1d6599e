//! Continues an experiment that was cut short. The cut round is made again whole, and the gap stays
//! visible.

use std::path::Path;

use crate::unacknowledged;
use base::clock::wall;
use base::error::{Error, Result};
use base::strings::shell_quoted;
use record::folder::Folder;
use record::records::{Arm, Ended, Experiment, Gap, PhaseInterleave, Server, Settings};
use workload::plan::Plan;

const TURN_MS: std::ops::RangeInclusive<f64> = 0.001..=60_000.0;
const ANEW: &str = "start anew, with another --out";

/// The experiment as it was when it was cut.
pub struct Resumed {
    pub experiment: Experiment,
    /// Rounds in which every arm has its run.
    pub finished: u32,
}

impl Resumed {
    /// Opens the folder of a cut experiment, and changes nothing.
    ///
    /// # Errors
    /// No experiment, or one that is complete.
    pub fn open(path: &Path) -> Result<(Folder, Self)> {
        let (folder, resumed) = Self::read(path)?;
        if resumed.is_complete() {
            return Err(Error::usage(
                format!("{} is complete: there is nothing to go on with", path.display()),
                format!("mongodyno report {}", shell_quoted(&path.display())),
            ));
        }
        Ok((folder, resumed))
    }

    /// The same of an experiment that may be complete. Runs of an unfinished round do not count:
    /// arms are compared round by round, in the same minutes.
    ///
    /// # Errors
    /// No experiment, or one that cannot be continued.
    pub fn read(path: &Path) -> Result<(Folder, Self)> {
        let (folder, experiment) = Folder::open(path)?;
        folder.only_files()?;
        let is_cut = experiment.ended != Some(Ended::Completed);
        if let Some(kept) = experiment.plan.kept().filter(|_| is_cut) {
            // The documents went with the experiment's database.
            let what = format!("`{}` was kept from arm to arm, and is gone", kept.name);
            return Err(Error::usage(what, ANEW));
        }
        let runs = folder.runs()?;
        let arms = experiment.arms.len();
        let last = runs.iter().map(|run| run.round).max().unwrap_or(0);
        let whole = |round: &u32| {
            let of_round = || runs.iter().filter(|run| run.round == *round);
            // The baseline has a run in each block.
            let blocks = of_round().map(|run| run.block as usize).max().unwrap_or(0);
            of_round().count() == arms + blocks
        };
        let finished = (1..=last).take_while(whole).last().unwrap_or(0);
        Ok((folder, Self { experiment, finished }))
    }

    /// Whether it has this arm: a driver that its server refused is not among its arms.
    pub fn has(&self, id: &str) -> bool {
        self.experiment.arms.iter().any(|arm| arm.id == id)
    }

    pub fn is_complete(&self) -> bool {
        self.experiment.ended == Some(Ended::Completed)
    }

    /// Compares the request with the record, before anything is installed or started: rounds of two
    /// plans do not compare. `ids` are those of the arms without twins.
    ///
    /// # Errors
    /// The workload, the settings or an arm differ.
    pub fn is_asked_again(&self, plan: &Plan, settings: &Settings, ids: &[String]) -> Result<()> {
        let was = &self.experiment;
        if plan != &was.plan {
            let what = format!("the workload {} is not what it was", plan.workload);
            return Err(Error::usage(what, ANEW));
        }
        let (then, now) = (&was.settings, settings);
        // A turn's length is measured in the first round, and stays.
        let asked = |it: &PhaseInterleave| (it.phase.clone(), it.interleave, it.reason.clone());
        // So are whole runs for a phase in which a driver has said that it waits for no answers.
        let mut planned = then.interleave.iter().zip(&now.interleave).zip(&plan.phases);
        let interleaved = then.interleave.len() == now.interleave.len()
            && planned.all(|((then, now), phase)| {
                let mut fitted = now.clone();
                unacknowledged::fit(&mut fitted, phase, &was.arms);
                [now, &fitted].map(asked).contains(&asked(then))
            });
        let a_turn = |it: &PhaseInterleave| it.turn_ms.is_none_or(|ms| TURN_MS.contains(&ms));
        // Blocks stay as they were, whatever memory is free now.
        let dealt = then.blocks.as_ref().is_none_or(|it| it.fit(was.arms.len()));
        let same = then.looks == now.looks
            && then.conduct.order() == now.conduct.order()
            && interleaved
            && then.interleave.iter().all(a_turn)
            && dealt;
        if !same || then.measured_s.to_bits() != now.measured_s.to_bits() {
            return Err(Error::usage("the settings are not what they were", ANEW));
        }
        let arms = was.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct);
        if arms.map(|arm| &arm.id).ne(ids) {
            return Err(Error::usage("the arms are not what they were", ANEW));
        }
        Ok(())
    }

    /// Compares the installed arms and the running server with the record, after
    /// [`Resumed::is_asked_again`].
    ///
    /// # Errors
    /// An arm, the consumer or the server differs.
    pub fn fits(&self, arms: &[Arm], consumer: Option<&Arm>, server: &Server) -> Result<()> {
        let was = &self.experiment;
        let now = arms.iter().chain(consumer).map(|arm| (&arm.id, &arm.lock_sha256));
        let then = was.arms.iter().chain(&was.consumer).map(|arm| (&arm.id, &arm.lock_sha256));
        if now.ne(then) {
            return Err(Error::usage("the arms are not what they were", ANEW));
        }
        let named = |it: &Server| format!("{} {}", it.kind.word(), it.version);
        if named(server) != named(&was.server) {
            let what = format!("the server was {}, now {}", named(&was.server), named(server));
            return Err(Error::usage(what, "name one as it was, or start anew with another --out"));
        }
        Ok(())
    }

    pub fn go_on(&self) -> Experiment {
        let mut experiment = self.experiment.clone();
        experiment.gaps.push(Gap {
            after_round: self.finished,
            cut_at: experiment.finished_at.take(),
            resumed_at: wall(),
        });
        experiment.ended = None;
        experiment
    }
}
