//! Time against size: the fixed part, the part for each byte, and a step at 85,000 bytes.

use std::collections::BTreeMap;

use super::runs::{time_us, whole};
use super::types::{BySize, Line, Point, Value};
use crate::study::Made;
use judge::analysis::rounds::Rounds;
use record::records::PhaseRun;
use stats::cost::{self, Cost};
use stats::descriptive::median;
use workload::plan::{Phase, Plan};

/// The size that the original suspected: .NET puts larger objects onto a heap of their own.
pub const SUSPECTED_BYTES: u64 = 85_000;
/// Sizes near it.
const NEAR: std::ops::RangeInclusive<u64> = 80_000..=90_000;

/// Runs of one phase, by round.
struct Size<'a> {
    data_bytes: u64,
    bytes: f64,
    phase: &'a Phase,
    runs: Vec<Option<&'a PhaseRun>>,
}

pub fn lines(made: &Made<'_>) -> Vec<BySize> {
    let rounds = Rounds::new(made.experiment, made.runs);
    let plan = &made.experiment.plan;
    let of = |arm: &str, prefix: &str| line(&sizes(plan, &rounds, arm, prefix));
    let arms = made.experiment.arms.iter().map(|arm| arm.id.as_str());
    arms.map(|arm| BySize { arm: arm.to_owned(), write: of(arm, "write_"), read: of(arm, "read_") })
        .collect()
}

fn sizes<'a>(plan: &'a Plan, rounds: &Rounds<'a>, arm: &str, prefix: &str) -> Vec<Size<'a>> {
    let mut sizes: Vec<Size<'_>> = plan
        .phases
        .iter()
        .filter_map(|phase| {
            let data_bytes = phase.name.strip_prefix(prefix)?.parse().ok()?;
            let collection = plan.collection(&phase.operations[0])?;
            let whole = whole(rounds, arm, &phase.name);
            let is_whole = |run: &&PhaseRun| whole.iter().any(|it| std::ptr::eq(*it, *run));
            let runs = rounds.of(arm, &phase.name);
            let runs = runs.into_iter().map(|run| run.filter(is_whole)).collect();
            Some(Size { data_bytes, bytes: collection.document_bytes_mean, phase, runs })
        })
        .collect();
    sizes.sort_by_key(|size| size.data_bytes);
    sizes
}

fn line(sizes: &[Size<'_>]) -> Line {
    let rounds = sizes.iter().map(|size| size.runs.len()).max().unwrap_or(0);
    let mut fits: Vec<(Cost, Option<f64>)> = Vec::new();
    let mut misfits: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for round in 0..rounds {
        let points = sizes.iter().filter_map(|size| {
            let run = (*size.runs.get(round)?)?;
            Some((size.data_bytes, (size.bytes, time_us(size.phase, run)?)))
        });
        let points: Vec<(u64, (f64, f64))> = points.collect();
        let all: Vec<(f64, f64)> = points.iter().map(|(_, point)| *point).collect();
        let Some(cost) = cost::fit(&all) else { continue };
        for (size, point) in &points {
            misfits.entry(*size).or_default().push(cost.misfit(*point) * 100.0);
        }
        fits.push((cost, step(&cost, &points)));
    }
    let farthest = farthest(&misfits);
    Line {
        points: sizes.iter().map(point).collect(),
        fixed_us: Value::of(fits.iter().map(|(cost, _)| cost.fixed)),
        kilobyte_us: Value::of(fits.iter().map(|(cost, _)| cost.per_unit * 1e3)),
        misfit_bytes: farthest.map(|(size, _)| size),
        misfit_percent: farthest.map(|(_, percent)| percent),
        step_percent: Value::of(fits.iter().filter_map(|(_, step)| Some((*step)? * 100.0))),
    }
}

/// By the medians over the rounds: one odd round names no size.
fn farthest(misfits: &BTreeMap<u64, Vec<f64>>) -> Option<(u64, f64)> {
    let medians = misfits.iter().filter_map(|(size, each)| Some((*size, median(each)?)));
    medians.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))
}

/// Mean relative distance of the sizes from the suspected one on, less that of those below it.
fn step(cost: &Cost, points: &[(u64, (f64, f64))]) -> Option<f64> {
    let near = || points.iter().filter(|(size, _)| NEAR.contains(size));
    let mean = |above: bool| {
        let side = near().filter(|(size, _)| (*size >= SUSPECTED_BYTES) == above);
        let misfits: Vec<f64> = side.map(|(_, point)| cost.misfit(*point)).collect();
        (!misfits.is_empty()).then(|| misfits.iter().sum::<f64>() / misfits.len() as f64)
    };
    Some(mean(true)? - mean(false)?)
}

fn point(size: &Size<'_>) -> Point {
    let runs = || size.runs.iter().flatten();
    let collections = runs().filter_map(|run| {
        (run.operations > 0).then(|| Some(run.gc_count? as f64 * 1e3 / run.operations as f64))?
    });
    Point {
        data_bytes: size.data_bytes,
        bytes: size.bytes,
        time_us: Value::of(runs().filter_map(|run| time_us(size.phase, run))),
        collections: median(&collections.collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_from_a_slope_and_a_bend() {
        let sizes = [1_000, 40_000, 80_000, 82_000, 84_000, 85_000, 88_000, 90_000, 200_000_u64];
        let step_of = |time: &dyn Fn(f64) -> f64| {
            let points: Vec<(u64, (f64, f64))> =
                sizes.iter().map(|it| (*it, (*it as f64, time(*it as f64)))).collect();
            let all: Vec<(f64, f64)> = points.iter().map(|(_, it)| *it).collect();
            step(&cost::fit(&all).expect("a fit"), &points).expect("both sides")
        };
        let line = |size: f64| 100.0 + 0.01 * size;
        assert!(step_of(&line).abs() < 1e-9);
        let bend = |size: f64| line(size) + 5e-8 * size * size;
        assert!(step_of(&bend).abs() < 0.02, "{}", step_of(&bend));
        let jump = |size: f64| line(size) * if size >= 85_000.0 { 1.3 } else { 1.0 };
        assert!(step_of(&jump) > 0.15, "{}", step_of(&jump));
    }

    #[test]
    fn the_farthest_size_is_far_in_most_rounds() {
        let rounds = [(1_000_u64, [5.0, -4.0, 900.0]), (200_000, [-35.0, -36.0, -34.0])];
        let misfits = rounds.map(|(size, each)| (size, each.to_vec()));
        assert_eq!(farthest(&misfits.into()), Some((200_000, -35.0)));
        assert_eq!(farthest(&BTreeMap::new()), None);
    }
}
