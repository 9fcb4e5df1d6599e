//! Going on with an experiment that was cut short: the cut round is made again whole, and the gap
//! stays visible.

use std::path::Path;

use crate::clock::wall;
use crate::error::{Error, Result};
use crate::result::folder::Folder;
use crate::result::records::{Arm, Ended, Experiment, Gap};
use crate::workload::plan::Plan;

/// What was there when the experiment was cut.
pub struct Resumed {
    /// As it was recorded.
    pub experiment: Experiment,
    /// Rounds in which every arm has its run.
    pub finished: u32,
}

impl Resumed {
    /// Opens the folder of a cut experiment. Runs of a round that is not whole are dropped: arms
    /// are compared round by round, in the same minutes.
    ///
    /// # Errors
    /// No experiment, or one that is complete.
    pub fn open(path: &Path) -> Result<(Folder, Self)> {
        let (folder, experiment) = Folder::open(path)?;
        if experiment.ended == Some(Ended::Completed) {
            return Err(Error::usage(
                format!("{} is complete: there is nothing to go on with", path.display()),
                format!("mongodyno report {}", path.display()),
            ));
        }
        let (mut runs, _) = folder.runs_and_rest()?;
        let arms = experiment.arms.len();
        let whole = |round: u32| runs.iter().filter(|run| run.round == round).count() == arms;
        let finished = (1..).take_while(|round| whole(*round)).last().unwrap_or(0);
        runs.retain(|run| run.round <= finished);
        folder.write_runs(&runs)?;
        Ok((folder, Self { experiment, finished }))
    }

    /// Whether the same is going to be done as before: rounds of two plans do not compare.
    ///
    /// # Errors
    /// The workload or an arm is another one now.
    pub fn fits(&self, plan: &Plan, arms: &[Arm]) -> Result<()> {
        let hint = "start anew: mongodyno run …, with another --out";
        if plan != &self.experiment.plan {
            let what = format!("the workload {} is not what it was", plan.workload);
            return Err(Error::usage(what, hint));
        }
        let now = arms.iter().map(|arm| (&arm.id, &arm.lock_sha256));
        if now.ne(self.experiment.arms.iter().map(|arm| (&arm.id, &arm.lock_sha256))) {
            return Err(Error::usage("the arms are not what they were", hint));
        }
        Ok(())
    }

    /// The record to go on with.
    #[must_use]
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
