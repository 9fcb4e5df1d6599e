//! The rate of each operation of each driver in each part.

use super::cells::{Cell, Series};
use super::originals;
use super::types::Rate;
use crate::study::Made;
use judge::analysis::rounds::Rounds;
use stats::descriptive::over_rounds;
use workload::plan::{Limit, Phase};

/// As the tables order them.
pub const OPERATIONS: [&str; 6] =
    ["insert", "update", "delete", "search_id", "search_key", "search_value"];
/// Of what a search by value takes, the reading of the collection.
pub const SCAN: &str = "scan";

pub fn rates(cell: Cell, made: &Made<'_>) -> Vec<Rate> {
    let by_round = Rounds::new(made.experiment, made.runs);
    let phases = &made.experiment.plan.phases;
    let documents = phases.first().map_or(0, operations);
    let arms = made.experiment.arms.iter();
    let each = arms.flat_map(|arm| phases.iter().map(move |phase| (arm, phase)));
    each.filter(|(arm, phase)| !arm.not_measured.contains_key(&phase.name))
        .map(|(arm, phase)| {
            let rounds: Vec<Option<f64>> = by_round
                .of(&arm.id, &phase.name)
                .into_iter()
                .map(|run| Some(run?.throughput))
                .collect();
            let values: Vec<f64> = rounds.iter().flatten().copied().collect();
            let threads = phase.workers * phase.processes;
            // Each thread counts until the last one ends.
            let by_thread: Vec<f64> = values.iter().map(|it| it / f64::from(threads)).collect();
            Rate {
                part: made.part.to_owned(),
                series: cell.series,
                millions: cell.millions,
                documents,
                threads,
                arm: arm.id.clone(),
                operation: phase.name.clone(),
                per_s: over_rounds(&values),
                per_thread_s: over_rounds(&by_thread),
                per_s_2010: originals::rate(cell.series, &phase.name, cell.millions),
                rounds,
                lost: by_round.losses(&arm.id, &phase.name),
            }
        })
        .collect()
}

fn operations(phase: &Phase) -> u64 {
    match phase.limit {
        Limit::Operations { count, .. } => count,
        Limit::Duration { .. } => 0,
    }
}

/// A sentence on runs that do not count.
pub fn lost(rate: &Rate) -> Option<String> {
    let reason = rate.lost.first()?;
    let (lost, rounds) = (rate.lost.len(), rate.rounds.len());
    let Rate { part, operation, .. } = rate;
    Some(format!("{part}: {operation} does not count in {lost} of {rounds} rounds: {reason}."))
}

/// Drivers in order.
pub fn arms(rates: &[Rate]) -> Vec<&str> {
    let mut arms: Vec<&str> = Vec::new();
    for rate in rates {
        if !arms.contains(&rate.arm.as_str()) {
            arms.push(&rate.arm);
        }
    }
    arms
}

/// Series of one thread and of more.
pub const ACKNOWLEDGED: [Series; 2] = [Series::Acknowledged, Series::Threads];
pub const ONE_WAY: [Series; 2] = [Series::OneWay, Series::ThreadsOneWay];

/// One thread and more, of the same documents.
pub fn by_threads<'a>(
    rates: &'a [Rate],
    [one, more]: [Series; 2],
    arm: &str,
    operation: &str,
) -> Vec<&'a Rate> {
    let same = |it: &&Rate| {
        let among = it.series == more || it.series == one && it.millions == 1;
        among && it.arm == arm && it.operation == operation
    };
    rates.iter().filter(same).collect()
}
