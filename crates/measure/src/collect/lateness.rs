//! Lateness of an open loop behind its schedule (gate G3).

use std::path::Path;

use crate::input_files::InputFiles;
use crate::turn::ArmTurn;
use base::error::{Error, Result};
use record::queue::OpenLoop;
use record::records::Quantiles;
use record::samples::Sample;
use stats::histogram::Histogram;
use workload::plan::{Pacing, Phase, Plan};
use workload::schedule::Schedule;

pub struct Lateness {
    per_second: f64,
    workers: u32,
    /// Behind the intended start.
    lag: Histogram,
    /// Behind the intended start or the last end of the worker, whichever is later.
    own_lag: Histogram,
    /// Last end, by worker.
    free_ns: Vec<u64>,
    busy_ns: u64,
    last_start_ns: u64,
}

impl Lateness {
    /// None where operations have no intended starts.
    pub fn of(phase: &Phase) -> Option<Self> {
        let Pacing::Rate { per_second, .. } = phase.pacing else { return None };
        Some(Self {
            per_second,
            workers: phase.workers * phase.processes,
            lag: Histogram::new(),
            own_lag: Histogram::new(),
            free_ns: Vec::new(),
            busy_ns: 0,
            last_start_ns: 0,
        })
    }

    /// Adds a sample; the samples of a worker come in order. Returns its own lateness, ns: behind
    /// both its intended start and the last end of the worker.
    pub fn take(&mut self, sample: &Sample) -> u64 {
        self.busy_ns += sample.service_ns;
        self.last_start_ns = self.last_start_ns.max(sample.start_ns);
        let worker = usize::from(sample.worker);
        if self.free_ns.len() <= worker {
            self.free_ns.resize(worker + 1, 0);
        }
        let free_ns = std::mem::replace(&mut self.free_ns[worker], sample.end_ns());
        let own_lag_ns = sample.start_ns.saturating_sub(sample.intended_ns.max(free_ns));
        if sample.outcome == 0 {
            self.lag.record(sample.start_ns.saturating_sub(sample.intended_ns));
            self.own_lag.record(own_lag_ns);
        }
        own_lag_ns
    }

    /// `done` counts the successful operations, of so many that were scheduled.
    pub fn open_loop(&self, done: u64, scheduled: f64, measured_s: f64) -> OpenLoop {
        let us = |percent: f64| self.lag.percentile_ns(percent).unwrap_or(0) as f64 / 1e3;
        let workers_s = measured_s * f64::from(self.workers);
        OpenLoop {
            offered_per_s: self.per_second,
            achieved_fraction: done as f64 / scheduled.max(1.0),
            pacer_lag_p50_us: us(50.0),
            pacer_lag_p99_us: us(99.0),
            pacer_lag_max_us: us(100.0),
            busy_fraction: self.busy_ns as f64 / 1e9 / workers_s.max(1e-9),
            own_lag: Some(Quantiles::of(&self.own_lag)),
        }
    }

    /// Operations that the schedules have for the measured time; where they ended in it, as many
    /// as they had gone on with. Rejected: the rate times the time. Of random arrivals so many come
    /// only on average, and all rounds have the same.
    pub fn scheduled(
        &self,
        inputs: &InputFiles,
        plan: &Plan,
        number: usize,
        turns: &[ArmTurn],
    ) -> Result<f64> {
        let Some((first, last)) = turns.first().zip(turns.last()) else {
            return Ok(0.0);
        };
        let exhausted = last.turned.exhausted;
        let end_ns = if exhausted { self.last_start_ns } else { last.until_ns };
        let time_ns = end_ns.saturating_sub(first.turned.began_ns);
        let phase = &plan.phases[number];
        let per_ns = self.per_second / f64::from(phase.processes) / 1e9;
        let mut scheduled = 0.0;
        for process in 0..phase.processes {
            let path = inputs.schedule(number, phase, process);
            let schedule = Schedule::read(Path::new(&path))
                .map_err(|error| Error::file("read", Path::new(&path), &error))?;
            let (limits, _) = inputs.scheduled(number, phase, process);
            let limit = limits.as_ref().map(|limits| limits.iter().sum());
            scheduled += due(&schedule, limit, per_ns, time_ns);
        }
        Ok(scheduled)
    }
}

fn due(schedule: &Schedule, limit: Option<u64>, per_ns: f64, time_ns: u64) -> f64 {
    let last_ns = limit.and_then(|limit| {
        let (record, lap) = schedule.record(0, limit.checked_sub(1)?)?;
        Some((limit, lap * schedule.lap_ns + record.intended_ns))
    });
    match last_ns {
        Some((limit, last_ns)) if last_ns < time_ns => {
            limit as f64 + per_ns * (time_ns - last_ns) as f64
        }
        _ => schedule.due(time_ns) as f64,
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "whole numbers")]
mod tests {
    use std::collections::BTreeSet;

    use super::super::test_support::{phase, sample, turn, workload};
    use super::*;
    use record::folder::Folder;
    use workload::Workload;
    use workload::schedule::Record;

    #[test]
    fn waiting_for_a_worker_is_not_the_adapters_lateness() {
        assert!(Lateness::of(&phase("burst: true, operations: 5", 1)).is_none());
        let mut lateness = Lateness::of(&phase("rate: 10", 1)).expect("a rate");
        assert_eq!(lateness.take(&sample(0, 100, 130, 1_000)), 30);
        // Intended while the worker was busy until 1,130; begun 20 later.
        assert_eq!(lateness.take(&sample(0, 200, 1_150, 1_000)), 20);
        // Another worker, on time; its failure is no measure of lateness.
        let failed = Sample { worker: 7, outcome: 2, ..sample(0, 300, 5_300, 1_000) };
        assert_eq!(lateness.take(&failed), 5_000);
        let found = lateness.open_loop(2, 4.0, 1e-6);
        assert_eq!((found.offered_per_s, found.pacer_lag_max_us), (10.0, 0.95));
        assert!((found.achieved_fraction - 0.5).abs() < 1e-9);
        assert_eq!(found.own_lag.map(|it| it.max_us), Some(0.03));
        assert!((found.busy_fraction - 3.0).abs() < 1e-9, "{}", found.busy_fraction);
    }

    #[test]
    fn random_arrivals_are_held_against_their_schedule() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(&scratch.path().join("results")).expect("a folder");
        let Workload { plan, pools, .. } = workload("rate: 300, poisson: true, processes: 2", 1);
        let processes = BTreeSet::from([None]);
        let inputs = InputFiles::write(&plan, &processes, pools, &folder, 3.0).expect("files");
        let lateness = Lateness::of(&plan.phases[0]).expect("a rate");
        let mut far = 0;
        for tenths in 1..=30 {
            let length_ns = tenths * 100_000_000;
            let turns = [turn(7, 7 + length_ns)];
            let scheduled = lateness.scheduled(&inputs, &plan, 0, &turns).expect("files");
            let in_schedules: u64 = (0..2)
                .map(|process| {
                    let path = inputs.schedule(0, &plan.phases[0], process);
                    let schedule = Schedule::read(Path::new(&path)).expect("a schedule");
                    let due = |index| {
                        let (record, lap) = schedule.record(0, index).expect("it goes on");
                        lap * schedule.lap_ns + record.intended_ns < length_ns
                    };
                    (0..2_000).find(|index| !due(*index)).expect("an end")
                })
                .sum();
            assert_eq!(scheduled as u64, in_schedules, "{tenths}");
            let nominal = 300.0 * length_ns as f64 / 1e9;
            far += u32::from((scheduled / nominal - 1.0).abs() > 0.01);
        }
        assert!(far > 10, "{far} of 30 would have been too few by the rate");
    }

    #[test]
    fn a_count_that_came_late_was_not_offered() {
        let record = |intended_ns| Record { intended_ns, ..Record::default() };
        let records = (0..10).map(|it| record(it * 100)).collect();
        let schedule = Schedule { slices: 1, lap_ns: 1_000, guids: false, records, parts: vec![] };
        let due = |limit, time_ns| due(&schedule, limit, 0.01, time_ns);
        assert_eq!([due(None, 0), due(None, 901), due(None, 2_101)], [0.0, 10.0, 22.0]);
        // The last of 15 is intended at 1,400; by 2,400 another 10 would have come.
        assert_eq!([due(Some(15), 1_000), due(Some(15), 2_400)], [10.0, 25.0]);
    }
}
