//! Rates by part, their growth with the documents and with the threads.

use super::cells::{self, Cell, Series};
use super::findings;
use super::rates::{ACKNOWLEDGED, OPERATIONS, SCAN, arms, by_threads, lost, rates};
use super::types::{CrudScaleAnalysis, Growing, Rate, Scaling, Unwaited};
use crate::doubts;
use crate::study::{Made, Outcome};
use record::records::PhaseRun;
use stats::descriptive::{Interval, over_rounds};
use stats::growth::{VALUES_MIN, growth};
use stats::usl;

/// The study's tables and answers, from its parts.
pub fn analyse(outcome: &Outcome<'_>) -> CrudScaleAnalysis {
    let doubts = doubts::of_parts(outcome, false);
    let mut analysis = CrudScaleAnalysis {
        rates: all_rates(outcome),
        growth: Vec::new(),
        scaling: Vec::new(),
        unwaited: unwaited(outcome),
        evidence: Vec::new(),
        notes: doubts::notes_of_parts(outcome, &doubts),
    };
    analysis.notes.extend(analysis.rates.iter().filter_map(lost));
    analysis.growth = all_growth(&analysis.rates);
    let seed = outcome.only().experiment.settings.seed;
    analysis.scaling = scaling(&analysis.rates, seed);
    analysis.evidence = findings::all(&analysis);
    doubts::weigh(&doubts, &mut analysis.evidence, |_| Vec::new());
    analysis
}

/// The figures alone, without what is fitted to them.
pub fn all_rates(outcome: &Outcome<'_>) -> Vec<Rate> {
    let cells = cells::all(false).into_iter().filter(|cell| cell.series != Series::Unwaited);
    let made = cells.filter_map(|cell| Some((cell, outcome.part(&cell.name())?)));
    made.flat_map(|(cell, made)| rates(cell, made)).collect()
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
            let levels: Vec<(f64, Vec<f64>)> = by_threads(rates, ACKNOWLEDGED, arm, operation)
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
