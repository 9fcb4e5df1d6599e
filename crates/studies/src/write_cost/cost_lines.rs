//! Time against size: the fixed part, the part for each byte, and a step at 85,000 bytes.

use std::collections::BTreeMap;

use crate::frame::{CellSelector, Cells, Spread, StudyCell};
use stats::cost::{self, Cost};
use stats::descriptive::median;

/// Part of the experiment, and its phases before the size of the field that differs.
const PART: &str = "by-size";
const WAYS: [&str; 2] = ["write", "read"];
/// The size that the original suspected: .NET puts larger objects onto a separate heap.
const SUSPECTED_BYTES: u64 = 85_000;
/// Sizes near it.
const NEAR: std::ops::RangeInclusive<u64> = 80_000..=90_000;
/// BSON size of a small document where none was measured.
const SMALL_BYTES: f64 = 51.0;

/// Time of one size by round.
struct SizeTimes<'a> {
    data_bytes: u64,
    bytes: f64,
    time_us: &'a [Option<f64>],
}

/// A line for each arm and way, from the times of the sizes.
pub fn push(cells: &mut Cells) {
    let arms: Vec<String> = cells.arms().into_iter().map(str::to_owned).collect();
    for (way, arm) in WAYS.iter().flat_map(|way| arms.iter().map(move |arm| (*way, arm))) {
        let sizes = sizes(cells, way, arm);
        if sizes.is_empty() {
            continue;
        }
        SizeLine::of(&sizes).push(cells, way, arm);
    }
}

fn sizes<'a>(cells: &'a Cells, way: &str, arm: &str) -> Vec<SizeTimes<'a>> {
    let size = |cell: &'a StudyCell| {
        let data_bytes = cell.phase.strip_prefix(way)?.strip_prefix('_')?.parse().ok()?;
        let bytes = cells.median([PART, &cell.phase, arm, "document_bytes"])?;
        Some(SizeTimes { data_bytes, bytes, time_us: &cell.by_round })
    };
    let times = CellSelector::of([PART, "", arm, "time_us"]);
    let mut sizes: Vec<SizeTimes<'_>> = cells.select(&times).into_iter().filter_map(size).collect();
    sizes.sort_by_key(|size| size.data_bytes);
    sizes
}

#[derive(Default)]
struct SizeLine {
    /// By round.
    fixed_us: Vec<Option<f64>>,
    kilobyte_us: Vec<Option<f64>>,
    step_percent: Vec<Option<f64>>,
    /// The size that lies farthest from the line, and its relative distance, percent.
    farthest: Option<(u64, f64)>,
}

impl SizeLine {
    fn of(sizes: &[SizeTimes<'_>]) -> Self {
        let rounds = sizes.iter().map(|size| size.time_us.len()).max().unwrap_or(0);
        let mut misfits: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut line = Self::default();
        for round in 0..rounds {
            let points = sizes.iter().filter_map(|size| {
                Some((size.data_bytes, (size.bytes, (*size.time_us.get(round)?)?)))
            });
            let points: Vec<(u64, (f64, f64))> = points.collect();
            let all: Vec<(f64, f64)> = points.iter().map(|(_, point)| *point).collect();
            let cost = cost::fit(&all);
            if let Some(cost) = cost {
                for (size, point) in &points {
                    misfits.entry(*size).or_default().push(cost.misfit(*point) * 100.0);
                }
            }
            line.fixed_us.push(cost.map(|it| it.fixed));
            line.kilobyte_us.push(cost.map(|it| it.per_unit * 1e3));
            line.step_percent.push(cost.and_then(|it| Some(step(&it, &points)? * 100.0)));
        }
        line.farthest = farthest(&misfits);
        line
    }

    fn push(self, cells: &mut Cells, way: &str, arm: &str) {
        let small = cells.median(["small", "one_by_one", arm, "document_bytes"]);
        let at = |metric| [PART, way, arm, metric];
        let fixed = cells.push(at("fixed_us"), "us", self.fixed_us).value;
        let kilobyte = cells.push(at("kilobyte_us"), "us", self.kilobyte_us).value;
        let percent = fixed.zip(kilobyte);
        let percent = percent.and_then(|it| fixed_percent(it, small.unwrap_or(SMALL_BYTES)));
        cells.push_spread(at("fixed_percent"), "percent", percent);
        cells.push(at("step_percent"), "change_percent", self.step_percent);
        let size = self.farthest.map(|(size, _)| size as f64);
        cells.push_plain(at("misfit_bytes"), "count", size);
        let percent = self.farthest.map(|(_, percent)| percent);
        cells.push_plain(at("misfit_percent"), "change_percent", percent);
    }
}

/// The fixed part of the time of a small document, as wide as both intervals allow.
pub fn fixed_percent((fixed, kilobyte): (Spread, Spread), small_bytes: f64) -> Option<Spread> {
    let of = |fixed: f64, kilobyte: f64| 100.0 * fixed / (fixed + kilobyte * small_bytes / 1e3);
    let median = of(fixed.median, kilobyte.median);
    let ends = |low: Option<f64>, high: Option<f64>| Some(of(low?, high?));
    median.is_finite().then(|| Spread {
        median,
        low: ends(fixed.low, kilobyte.high),
        high: ends(fixed.high, kilobyte.low),
        ..fixed
    })
}

/// By the medians over the rounds: one odd round names no size.
fn farthest(misfits: &BTreeMap<u64, Vec<f64>>) -> Option<(u64, f64)> {
    let medians = misfits.iter().filter_map(|(size, each)| Some((*size, median(each)?)));
    medians.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))
}

/// Mean relative distance of the sizes from the suspected one on, less that of those below it.
fn step(cost: &Cost, points: &[(u64, (f64, f64))]) -> Option<f64> {
    let near = || points.iter().filter(|(size, _)| NEAR.contains(size));
    let side = |above: bool| {
        let side = near().filter(|(size, _)| (*size >= SUSPECTED_BYTES) == above);
        mean(&side.map(|(_, point)| cost.misfit(*point)).collect::<Vec<_>>())
    };
    Some(side(true)? - side(false)?)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
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
