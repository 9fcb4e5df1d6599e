//! Figures of single runs, and over rounds.

use super::types::Value;
use judge::analysis::rounds::Rounds;
use record::records::PhaseRun;
use stats::descriptive::{Interval, OverRounds, median, over_rounds};
use workload::operations::about;
use workload::plan::{Count, Limit, Phase};

/// Runs that count and came to their end without an error.
pub fn whole<'a>(rounds: &Rounds<'a>, arm: &str, phase: &str) -> Vec<&'a PhaseRun> {
    let of = rounds.of(arm, phase).into_iter().flatten();
    of.filter(|run| run.errors.is_empty() && run.operations > 0).collect()
}

/// Time of a document where the phase writes some, else of a call.
pub fn time_us(phase: &Phase, run: &PhaseRun) -> Option<f64> {
    let things = written(phase, run.operations).unwrap_or(run.operations);
    (things > 0).then(|| calls_us(run) / things as f64)
}

pub fn calls_us(run: &PhaseRun) -> f64 {
    run.by_operation.iter().map(|it| it.service.mean_us * it.count as f64).sum()
}

/// Documents that so many operations of a phase write, the last batch as short as need be; None of
/// a phase that writes none.
pub fn written(phase: &Phase, operations: u64) -> Option<u64> {
    let (_, made) = phase.single()?;
    match made.count {
        _ if !about(made.kind).inserts => None,
        Some(Count::Rest { batch, documents }) => {
            Some(operations.saturating_mul(u64::from(batch)).min(documents))
        }
        _ => match phase.limit {
            Limit::Operations { count, .. } => Some(operations.min(count)),
            Limit::Duration { .. } => Some(operations),
        },
    }
}

impl Value {
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.collect();
        Some(Self { median: median(&values)?, over: over_rounds(&values) })
    }

    /// Its interval, where the rounds are enough for a finding.
    pub fn sure(self) -> Option<Interval> {
        self.over.filter(OverRounds::is_sure).map(|it| it.median)
    }
}
