//! At which version did the figures change: rank CUSUM within rounds (section 3.6).
//!
//! A rank within its round knows nothing of a machine that was slow in that round. Detectors on
//! medians (E-Divisive, Hunter) cannot see a step at the last of few versions (section 3.6).
//! Reference values: `tests/data/grouped-cases.json`.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng as _;

use super::descriptive::median;
use super::noise::below;
use super::rank::{HodgesLehmann, doubled_ranks, hodges_lehmann};

/// Error of the test of the whole series. Each segment below it has half of that.
const ALPHA: f64 = 0.05;
/// Error of the interval that is printed with a change. The choice of the version biases it: only
/// fresh rounds give a size.
const INTERVAL_ALPHA: f64 = 0.05;
/// Shuffles of the ranks: a p-value is a multiple of 1/10,000.
const SHUFFLES: u32 = 9_999;
/// Two ways to the same statistic differ by rounding.
const ROUNDING: f64 = 1e-9;
/// So many changes to the same side within so many versions are a slope.
const SLOPE_CHANGES: usize = 3;
const SLOPE_VERSIONS: usize = 6;

/// The most likely change within a segment of the series.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangePoint {
    pub segment: Range<usize>,
    /// The first version of the right part.
    pub at: usize,
    pub p_value: f64,
    /// Difference of the medians of the right and the left part by round, in log units.
    pub change: HodgesLehmann,
    pub kind: ChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// To be confirmed on fresh rounds.
    Change,
    /// More than chance, and smaller than the threshold.
    BelowThreshold,
    /// Nothing that chance does not make.
    Chance,
}

/// All splits that were tested, in the order of versions.
///
/// `rounds` holds by round ln(cost per operation) of each version; all are equally long and finite.
/// `threshold` is ln(1 + delta). The same seed gives the same p-values.
pub fn splits(rounds: &[Vec<f64>], threshold: f64, seed: u64) -> Vec<ChangePoint> {
    let versions = rounds.first().map_or(0, Vec::len);
    let mut found = Vec::new();
    divide(rounds, 0..versions, ALPHA, threshold, seed, &mut found);
    found.sort_by_key(|split| (split.at, split.segment.len()));
    found
}

fn divide(
    rounds: &[Vec<f64>],
    segment: Range<usize>,
    alpha: f64,
    threshold: f64,
    seed: u64,
    found: &mut Vec<ChangePoint>,
) {
    if rounds.is_empty() || segment.len() < 2 {
        return;
    }
    let mut ranks: Vec<Vec<usize>> =
        rounds.iter().map(|round| doubled_ranks(&round[segment.clone()])).collect();
    let (place, highest) = cusum(&ranks);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut as_high = 1;
    for _ in 0..SHUFFLES {
        for round in &mut ranks {
            for last in (1..round.len()).rev() {
                round.swap(last, below(&mut random, last + 1));
            }
        }
        as_high += u32::from(cusum(&ranks).1 >= highest - ROUNDING);
    }
    let p_value = f64::from(as_high) / f64::from(SHUFFLES + 1);
    let at = segment.start + place;
    let Some(change) = step(rounds, segment.clone(), at) else { return };
    let kind = match p_value <= alpha {
        false => ChangeKind::Chance,
        true if change.estimate.abs() >= threshold => ChangeKind::Change,
        true => ChangeKind::BelowThreshold,
    };
    let parts = [segment.start..at, at..segment.end];
    found.push(ChangePoint { segment, at, p_value, change, kind });
    if kind != ChangeKind::Chance {
        for (number, part) in parts.into_iter().enumerate() {
            let seed = seed.wrapping_mul(2).wrapping_add(number as u64 + 1);
            divide(rounds, part, ALPHA / 2.0, threshold, seed, found);
        }
    }
}

/// The steps of a series: the splits beyond chance that part their neighbours by the threshold.
///
/// A split's own sides may hold further steps, and then their medians hide it or make it larger. So
/// each is measured again, from the nearest split before it to the nearest one behind it (its
/// `segment`), at the version that stands out there: in a line of slower and slower versions the
/// ranks are farthest apart in the middle, wherever its step is. The smallest step below the
/// threshold is dropped, until none is.
pub fn steps(rounds: &[Vec<f64>], found: &[ChangePoint], threshold: f64) -> Vec<ChangePoint> {
    let versions = rounds.first().map_or(0, Vec::len);
    let beyond = found.iter().filter(|it| it.kind != ChangeKind::Chance);
    let mut left: Vec<ChangePoint> = beyond.cloned().collect();
    loop {
        // In one row a step looks like one value that lies far from its neighbours.
        let moved = if rounds.len() > 1 { left.len() } else { 0 };
        for number in 0..moved {
            let start = number.checked_sub(1).map_or(0, |before| left[before].at);
            let end = left.get(number + 1).map_or(versions, |behind| behind.at);
            left[number].at = place(rounds, start..end, &left[number]);
        }
        let ends = left.iter().map(|it| it.at).chain([versions]);
        let edges: Vec<usize> = [0].into_iter().chain(ends).collect();
        let measured = left.iter().zip(edges.windows(3)).filter_map(|(split, near)| {
            let segment = near[0]..near[2];
            let change = step(rounds, segment.clone(), split.at)?;
            Some(ChangePoint { segment, change, kind: ChangeKind::Change, ..split.clone() })
        });
        let measured: Vec<ChangePoint> = measured.collect();
        let height = |at: &usize| measured[*at].change.estimate.abs();
        let smallest =
            (0..measured.len()).min_by(|one, other| height(one).total_cmp(&height(other)));
        match smallest.filter(|at| height(at) < threshold) {
            Some(at) => drop(left.remove(at)),
            None => return measured,
        }
    }
}

/// Returns the version near a split whose difference to the version before it is more than twice
/// that at the split, to the same side. Without one, returns the split's own version. Rejected: the
/// place that parts the sizes best, which missed one step in three that the ranks place rightly.
fn place(rounds: &[Vec<f64>], near: Range<usize>, split: &ChangePoint) -> usize {
    let side = split.change.estimate.signum();
    let height = |at: usize| {
        let own: Vec<f64> = rounds.iter().map(|round| side * (round[at] - round[at - 1])).collect();
        median(&own).unwrap_or(0.0)
    };
    let highest = (near.start + 1..near.end).max_by(|a, b| height(*a).total_cmp(&height(*b)));
    let farther = highest.filter(|at| height(*at) > 2.0 * height(split.at).max(0.0));
    farther.unwrap_or(split.at)
}

/// Difference of the medians from `at` on and before it by round, within a segment.
fn step(rounds: &[Vec<f64>], segment: Range<usize>, at: usize) -> Option<HodgesLehmann> {
    let middle = |round: &[f64]| median(round).unwrap_or(f64::NAN);
    let of = |round: &Vec<f64>| middle(&round[at..segment.end]) - middle(&round[segment.start..at]);
    hodges_lehmann(&rounds.iter().map(of).collect::<Vec<_>>(), INTERVAL_ALPHA)
}

/// Where the ranks' sums leave their mean most, and by how much: the maximum over s of
/// |sum over v < s of (S_v - K (V + 1) / 2)| / sqrt(s (V - s)), with doubled ranks.
fn cusum(ranks: &[Vec<usize>]) -> (usize, f64) {
    let versions = ranks[0].len();
    let mean = (ranks.len() * (versions + 1)) as f64;
    let (mut best, mut sum) = ((1, -1.0), 0.0);
    for place in 1..versions {
        let column: usize = ranks.iter().map(|round| round[place - 1]).sum();
        sum += column as f64 - mean;
        let height = sum.abs() / ((place * (versions - place)) as f64).sqrt();
        if height > best.1 + ROUNDING {
            best = (place, height);
        }
    }
    best
}

/// The version that took back the step at `at`: a later step to the other side leaves less than the
/// threshold of it, or goes beyond it.
pub fn undone(
    rounds: &[Vec<f64>],
    steps: &[ChangePoint],
    at: usize,
    threshold: f64,
) -> Option<usize> {
    let changes = steps.iter().map(|split| split.at);
    let ends = [rounds.first()?.len()];
    let edges: Vec<usize> = [0].into_iter().chain(changes).chain(ends).collect();
    let level = |round: &[f64], part: usize| median(&round[edges[part]..edges[part + 1]]);
    let change = |from: usize, to: usize| {
        let steps = rounds.iter().filter_map(|it| Some(level(it, to)? - level(it, from)?));
        hodges_lehmann(&steps.collect::<Vec<_>>(), INTERVAL_ALPHA).map(|it| it.estimate)
    };
    let after = edges.iter().position(|edge| *edge == at)?;
    let step = change(after - 1, after)?;
    let back = |part: &usize| {
        let turns = change(part - 1, *part).is_some_and(|it| it * step < 0.0);
        // What goes beyond it has taken it back too.
        turns && change(after - 1, *part).is_some_and(|it| it * step.signum() < threshold)
    };
    (after + 1..edges.len() - 1).find(back).map(|part| edges[part])
}

/// The versions of a slope: steps to one side that follow each other so closely that no single
/// version stands out. One that makes half of it does.
pub fn slope(steps: &[ChangePoint]) -> Option<Range<usize>> {
    steps.windows(SLOPE_CHANGES).find_map(|near| {
        let slower = near[0].change.estimate > 0.0;
        let one_way = near.iter().all(|split| (split.change.estimate > 0.0) == slower);
        let range = near[0].at - 1..near[SLOPE_CHANGES - 1].at;
        let sizes = || near.iter().map(|split| split.change.estimate.abs());
        let alike = sizes().fold(0.0, f64::max) < sizes().sum::<f64>() / 2.0;
        (one_way && alike && range.len() < SLOPE_VERSIONS).then_some(range)
    })
}
