//! Rates by part, their growth with the documents and with the threads.

use super::cells::{self, Cell, Series};
use super::findings;
use super::originals;
use super::types::{CrudScaleAnalysis, Growing, Rate, Scaling, Unwaited};
use crate::evidence;
use crate::study::{Made, Outcome};
use judge::analysis::rounds::Rounds;
use record::records::PhaseRun;
use stats::descriptive::{Interval, over_rounds};
use stats::growth::{VALUES_MIN, growth};
use stats::usl;
use workload::plan::{Limit, Phase};

/// As the tables order them.
pub const OPERATIONS: [&str; 6] =
    ["insert", "update", "delete", "search_id", "search_key", "search_value"];
/// Of what a search by value takes, the reading of the collection.
pub const SCAN: &str = "scan";

/// The study's tables and answers, from its parts.
pub fn analyse(outcome: &Outcome<'_>) -> CrudScaleAnalysis {
    let mut analysis = CrudScaleAnalysis {
        rates: Vec::new(),
        growth: Vec::new(),
        scaling: Vec::new(),
        unwaited: Vec::new(),
        evidence: Vec::new(),
        notes: Vec::new(),
    };
    for cell in cells::all(false) {
        let Some(made) = outcome.part(&cell.name()) else { continue };
        if cell.series != Series::Unwaited {
            analysis.rates.extend(rates(cell, made));
        }
        for note in evidence::notes(made.experiment, made.runs) {
            analysis.notes.push(format!("{}: {note}", made.part));
        }
    }
    analysis.notes.extend(analysis.rates.iter().filter_map(lost));
    analysis.growth = all_growth(&analysis.rates);
    let seed = outcome.only().experiment.settings.seed;
    analysis.scaling = scaling(&analysis.rates, seed);
    analysis.unwaited = unwaited(outcome);
    analysis.evidence = findings::all(&analysis);
    analysis
}

fn rates(cell: Cell, made: &Made<'_>) -> Vec<Rate> {
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

/// A sentence on runs that do not count.
fn lost(rate: &Rate) -> Option<String> {
    let reason = rate.lost.first()?;
    let (lost, rounds) = (rate.lost.len(), rate.rounds.len());
    let Rate { part, operation, .. } = rate;
    Some(format!("{part}: {operation} does not count in {lost} of {rounds} rounds: {reason}."))
}

fn operations(phase: &Phase) -> u64 {
    match phase.limit {
        Limit::Operations { count, .. } => count,
        Limit::Duration { .. } => 0,
    }
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

/// Parts with more documents and one thread.
const SIZED: [Series; 3] = [Series::OneWay, Series::Acknowledged, Series::Remote];

fn all_growth(rates: &[Rate]) -> Vec<Growing> {
    let mut all = Vec::new();
    for series in SIZED {
        for arm in arms(rates) {
            for operation in OPERATIONS.into_iter().chain([SCAN]) {
                let of = |name: &str| -> Vec<&Rate> {
                    let same =
                        |it: &&Rate| it.series == series && it.arm == arm && it.operation == name;
                    rates.iter().filter(same).collect()
                };
                let (of, less) = if operation == SCAN {
                    (of("search_value"), of("search_key"))
                } else {
                    (of(operation), Vec::new())
                };
                if of.is_empty() {
                    continue;
                }
                let levels: Vec<(f64, Vec<f64>)> =
                    of.iter().map(|it| (it.documents as f64, costs(it, &less))).collect();
                let known = of.iter().filter_map(|it| {
                    Some((f64::from(it.millions), vec![1.0 / it.per_s_2010?; VALUES_MIN]))
                });
                let known = growth(&known.map(|(n, c)| (n * 1e6, c)).collect::<Vec<_>>());
                all.push(Growing {
                    series,
                    arm: arm.to_owned(),
                    operation: operation.to_owned(),
                    growth: growth(&levels),
                    exponent_2010: known.map(|it| it.exponent.estimate),
                });
            }
        }
    }
    all
}

/// Seconds an operation in each round, less those of another operation of the same part.
fn costs(rate: &Rate, less: &[&Rate]) -> Vec<f64> {
    let less = less.iter().find(|it| it.part == rate.part);
    let of = |(round, per_s): (usize, &Option<f64>)| {
        let other = match less {
            Some(less) => 1.0 / (*less.rounds.get(round)?)?,
            None => 0.0,
        };
        Some(1.0 / (*per_s)? - other)
    };
    rate.rounds.iter().enumerate().filter_map(of).collect()
}

fn scaling(rates: &[Rate], seed: u64) -> Vec<Scaling> {
    let mut all = Vec::new();
    for arm in arms(rates) {
        for operation in OPERATIONS {
            let levels: Vec<(f64, Vec<f64>)> = by_threads(rates, arm, operation)
                .iter()
                .map(|it| (f64::from(it.threads), it.rounds.iter().flatten().copied().collect()))
                .collect();
            let Some(found) = usl::scaling(&levels, seed) else { continue };
            let interval = |estimate, (low, high): (f64, f64)| Interval { estimate, low, high };
            all.push(Scaling {
                arm: arm.to_owned(),
                operation: operation.to_owned(),
                alpha: interval(found.law.alpha, found.alpha),
                beta: interval(found.law.beta, found.beta),
                gamma: interval(found.law.gamma, found.gamma),
                knee: interval(found.knee, found.knee_interval),
                peak: found.law.peak().filter(|_| found.shows_peak()),
            });
        }
    }
    all
}

/// One thread and more, of the same documents.
pub fn by_threads<'a>(rates: &'a [Rate], arm: &str, operation: &str) -> Vec<&'a Rate> {
    let smallest = |it: &Rate| it.series == Series::Acknowledged && it.millions == 1;
    let same = |it: &&Rate| {
        (smallest(it) || it.series == Series::Threads) && it.arm == arm && it.operation == operation
    };
    rates.iter().filter(same).collect()
}

fn unwaited(outcome: &Outcome<'_>) -> Vec<Unwaited> {
    let part = |series| {
        let of = |cell: &Cell| cell.series == series && cell.millions == 1;
        outcome.part(&cells::all(false).into_iter().find(of)?.name())
    };
    let Some(made) = part(Series::Unwaited) else { return Vec::new() };
    let waited = part(Series::OneWay);
    let mut all = Vec::new();
    for arm in &made.experiment.arms {
        let runs = phase_runs(made, &arm.id, "unwaited");
        if runs.is_empty() {
            continue;
        }
        let expected = |it: &&PhaseRun| it.answers.documents_expected;
        let searches: u64 = runs.iter().filter_map(expected).sum();
        let found: u64 = runs.iter().map(|it| it.answers.documents).sum();
        let waited = waited.map_or(Vec::new(), |it| phase_runs(it, &arm.id, "search_id"));
        all.push(Unwaited {
            arm: arm.id.clone(),
            searches,
            missed: searches.saturating_sub(found),
            search_us: over_rounds(&means_us(&runs, "search_id")),
            waited_search_us: over_rounds(&means_us(&waited, "find_one")),
        });
    }
    all
}

/// With those of wrong answers: a search that misses is the question here.
fn phase_runs<'a>(made: &Made<'a>, arm: &str, phase: &str) -> Vec<&'a PhaseRun> {
    let runs = made.runs.iter().filter(|run| run.arm == arm && run.failed.is_none());
    runs.flat_map(|run| &run.phases).filter(|it| it.phase == phase).collect()
}

fn means_us(runs: &[&PhaseRun], operation: &str) -> Vec<f64> {
    let of = |run: &&PhaseRun| {
        Some(run.by_operation.iter().find(|it| it.operation == operation)?.service.mean_us)
    };
    runs.iter().filter_map(of).collect()
}
