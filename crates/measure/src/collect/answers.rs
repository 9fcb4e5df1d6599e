//! The totals of all right answers of a phase, and what its records gave to the server.

use std::path::Path;

use crate::input_files::InputFiles;
use base::error::{Error, Result};
use record::samples::Sample;
use workload::expected::{Answered, Expectation, Expected};
use workload::operations::{about, varies};
use workload::plan::{OperationKind, Phase, Plan};
use workload::schedule::Schedule;

/// Deeds of the right operations of one template, where only their records show them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GivenAnswers {
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
}

/// Compares each sample with the schedule of its process.
pub struct RightAnswers<'a> {
    inputs: &'a InputFiles,
    number: usize,
    phase: &'a Phase,
    /// None where the core cannot know: the answers of a mix may depend on the order of its writes.
    expectation: Option<Expectation>,
    /// By operation; None where the number of operations suffices.
    given: Vec<Option<GivenAnswers>>,
    /// The current process and its schedule. One at a time, for they are large.
    schedule: Option<(u32, Schedule)>,
}

impl<'a> RightAnswers<'a> {
    /// `plan` is the arm's own.
    pub fn new(inputs: &'a InputFiles, plan: &'a Plan, number: usize) -> Self {
        let phase = &plan.phases[number];
        let expectation = Expectation::new(plan, number);
        let given = phase.operations.iter().map(|made| {
            let tells = varies(made) || !made.parts.is_empty();
            tells.then(GivenAnswers::default)
        });
        Self { inputs, number, phase, expectation, given: given.collect(), schedule: None }
    }

    pub fn take(&mut self, process: u32, sample: &Sample) -> Result<()> {
        let place = usize::from(sample.operation);
        let tells = self.given.get(place).is_some_and(Option::is_some);
        if sample.outcome != 0 || (self.expectation.is_none() && !tells) {
            return Ok(());
        }
        let schedule = match &mut self.schedule {
            Some((of, schedule)) if *of == process => schedule,
            other => {
                *other = None;
                let path = self.inputs.schedule(self.number, self.phase, process);
                let read = Schedule::read(Path::new(&path))
                    .map_err(|error| Error::file("read", Path::new(&path), &error))?;
                &mut other.insert((process, read)).1
            }
        };
        let first = process * self.phase.workers;
        let own = u32::from(sample.worker).checked_sub(first);
        // In an open loop the workers of a process share its schedule.
        let Some(slice) = (if self.phase.pacing.is_open() { Some(0) } else { own }) else {
            return Ok(());
        };
        let (index, operation) = (u64::from(sample.index), sample.operation);
        if let Some((record, _)) = schedule.record(slice, index).filter(|_| tells) {
            let made = &self.phase.operations[place];
            for part in schedule.parts(record).iter().filter(|_| !made.parts.is_empty()) {
                let part = usize::from(part.operation);
                // A transaction's parts may be in several collections.
                let owner = if made.kind == OperationKind::Transaction { part } else { place };
                let given = self.given[owner].get_or_insert_default();
                match about(self.phase.operations[part].kind) {
                    about if about.inserts() => given.inserted += 1,
                    about if about.deletes() => given.deleted += 1,
                    _ => given.updated += 1,
                }
            }
            if made.parts.is_empty() {
                self.given[place].get_or_insert_default().inserted += u64::from(record.count);
            }
        }
        if let Some(expectation) = &mut self.expectation {
            expectation.add(schedule, Answered { slice, index, operation });
        }
        Ok(())
    }

    /// By operation.
    pub fn given(&self) -> Vec<Option<GivenAnswers>> {
        self.given.clone()
    }

    /// The totals; a field is None where the core cannot know.
    pub fn expected(&self) -> Expected {
        let unknown = Expected { documents: None, sum: None };
        self.expectation.as_ref().map_or(unknown, Expectation::total)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::test_support::{sample, workload};
    use super::*;
    use record::folder::Folder;
    use workload::Workload;

    #[test]
    fn each_process_has_a_schedule_of_its_own() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(&scratch.path().join("results")).expect("a folder");
        let Workload { plan, pools, .. } = workload("processes: 2, keys: sequential", 1);
        let processes = BTreeSet::from([None]);
        let inputs = InputFiles::write(&plan, &processes, pools, &folder, 0.01).expect("files");
        let mut answers = RightAnswers::new(&inputs, &plan, 0);
        let total = |documents, sum| Expected { documents: Some(documents), sum: Some(sum) };
        assert_eq!(answers.expected(), total(0, 0));
        for (process, index) in [(0, 0), (0, 1), (1, 0), (1, 1), (0, 0)] {
            let worker = process as u16;
            answers.take(process, &Sample { index, worker, ..sample(0, 1, 1, 1) }).expect("a file");
        }
        assert_eq!(answers.expected(), total(5, 0));
        let wrong = Sample { outcome: 1, ..sample(9, 1, 1, 1) };
        answers.take(0, &wrong).expect("it is not asked for");
        assert_eq!(answers.expected(), total(5, 0));
        assert!(answers.take(2, &sample(0, 1, 1, 1)).is_err(), "there are two processes");
        answers.take(0, &sample(9, 1, 1, 1)).expect("a file");
        assert_eq!(answers.expected(), Expected { documents: None, sum: None });
    }
}
