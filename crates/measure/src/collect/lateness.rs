//! Lateness of an open loop behind its schedule (gate G3).

use record::queue::OpenLoop;
use record::records::Quantiles;
use record::samples::Sample;
use stats::histogram::Histogram;
use workload::plan::{Pacing, Phase};

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
}

impl Lateness {
    /// None where operations have no intended starts of their own.
    pub fn of(phase: &Phase) -> Option<Self> {
        let Pacing::Rate { per_second, .. } = phase.pacing else { return None };
        Some(Self {
            per_second,
            workers: phase.workers * phase.processes,
            lag: Histogram::new(),
            own_lag: Histogram::new(),
            free_ns: Vec::new(),
            busy_ns: 0,
        })
    }

    /// Adds a sample; the samples of a worker come in order. Returns its own lateness, ns: behind
    /// both its intended start and the last end of the worker.
    pub fn take(&mut self, sample: &Sample) -> u64 {
        self.busy_ns += sample.service_ns;
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

    /// `done` counts the successful operations.
    pub fn open_loop(&self, done: u64, measured_s: f64) -> OpenLoop {
        let us = |percent: f64| self.lag.percentile_ns(percent).unwrap_or(0) as f64 / 1e3;
        let workers_s = measured_s * f64::from(self.workers);
        OpenLoop {
            offered_per_s: self.per_second,
            achieved_fraction: done as f64 / (self.per_second * measured_s).max(1.0),
            pacer_lag_p50_us: us(50.0),
            pacer_lag_p99_us: us(99.0),
            pacer_lag_max_us: us(100.0),
            busy_fraction: self.busy_ns as f64 / 1e9 / workers_s.max(1e-9),
            own_lag: Some(Quantiles::of(&self.own_lag)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{phase, sample};
    use super::*;

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
        let found = lateness.open_loop(2, 1e-6);
        assert_eq!((found.offered_per_s, found.pacer_lag_max_us), (10.0, 0.95));
        assert_eq!(found.own_lag.map(|it| it.max_us), Some(0.03));
        assert!((found.busy_fraction - 3.0).abs() < 1e-9, "{}", found.busy_fraction);
    }
}
