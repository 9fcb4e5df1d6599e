//! Latency of each arm, phase and operation, as curves for pictures: percentiles, distribution and
//! course over the seconds of a phase.

use std::collections::BTreeMap;

use super::pooled_quantiles;
use base::error::Result;
use record::folder::Folder;
use record::records::{Experiment, Run};
use stats::descriptive::median;
use stats::histogram::{Histogram, values_needed};

/// The percentiles of a curve; the maximum follows them.
pub const PERCENTS: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];
/// Steps of a distribution, to each factor of two.
const STEPS_PER_OCTAVE: f64 = 8.0;
const STEPS_MAX: usize = 400;

/// The times of one operation of an arm in a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseLatency {
    pub arm: String,
    pub phase: String,
    /// The operation, or `operation-response` with the times from the intended start.
    pub tag: String,
    /// At [`PERCENTS`], then the maximum, us; None with too few values.
    pub quantiles_us: Vec<Option<f64>>,
    /// Time in us, and the share of the values around it, percent.
    pub density: Vec<(f64, f64)>,
    pub seconds: Vec<LatencySecond>,
}

/// One second of a phase: medians over the rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencySecond {
    pub second: u64,
    /// Operations done up to the end of this second.
    pub operations: f64,
    pub p50_us: f64,
    /// None with too few values.
    pub p99_us: Option<f64>,
}

/// Latencies of every finished run, pooled over the rounds.
///
/// # Errors
/// A log that is named and cannot be read.
pub fn latencies(
    folder: &Folder,
    experiment: &Experiment,
    runs: &[Run],
) -> Result<Vec<PhaseLatency>> {
    let mut all = Vec::new();
    for arm in &experiment.arms {
        for phase in &experiment.plan.phases {
            let of_arm = runs.iter().filter(|run| run.arm == arm.id);
            let phases = of_arm.flat_map(|run| &run.phases).filter(|it| it.phase == phase.name);
            let mut sums: BTreeMap<String, Histogram> = BTreeMap::new();
            let mut seconds: BTreeMap<String, BTreeMap<u64, Vec<Histogrammed>>> = BTreeMap::new();
            let logs = phases.map(|it| it.hlog.as_deref());
            pooled_quantiles::each(folder, logs, &mut sums, |tag, second, histogram| {
                let at = seconds.entry(tag.to_owned()).or_default().entry(second).or_default();
                at.push((histogram.count() as f64, us(histogram, 50.0), us(histogram, 99.0)));
            })?;
            all.extend(sums.into_iter().map(|(tag, sum)| PhaseLatency {
                arm: arm.id.clone(),
                phase: phase.name.clone(),
                quantiles_us: quantiles(&sum),
                density: density(&sum),
                seconds: seconds.remove(&tag).map_or_else(Vec::new, course),
                tag,
            }));
        }
    }
    Ok(all)
}

/// Operations, p50 and p99 of one second of one run.
type Histogrammed = (f64, Option<f64>, Option<f64>);

fn us(histogram: &Histogram, percent: f64) -> Option<f64> {
    // One second of one run has few values: ten beyond the percentile suffice for a picture.
    let enough = values_needed(percent).is_some_and(|needed| histogram.count() * 10 >= needed);
    histogram.percentile_ns(percent).filter(|_| enough).map(|ns| ns as f64 / 1e3)
}

fn quantiles(sum: &Histogram) -> Vec<Option<f64>> {
    let us = |ns: u64| ns as f64 / 1e3;
    let each = PERCENTS.map(|percent| sum.printable_percentile_ns(percent).map(us));
    each.into_iter().chain([sum.max_ns().map(us)]).collect()
}

fn density(sum: &Histogram) -> Vec<(f64, f64)> {
    let (Some(low), Some(high)) = (sum.percentile_ns(0.1), sum.percentile_ns(99.8)) else {
        return Vec::new();
    };
    let factor = (1.0 / STEPS_PER_OCTAVE).exp2();
    let mut from = low as f64 / factor;
    let mut found = Vec::new();
    while from <= high as f64 * factor && found.len() < STEPS_MAX {
        let to = from * factor;
        let count = sum.count_between(from as u64, (to as u64).saturating_sub(1));
        let share = 100.0 * count as f64 / sum.count() as f64;
        found.push(((from * to).sqrt() / 1e3, share));
        from = to;
    }
    found
}

fn course(seconds: BTreeMap<u64, Vec<Histogrammed>>) -> Vec<LatencySecond> {
    let mut operations = 0.0;
    let at = |(second, rounds): (u64, Vec<Histogrammed>)| {
        let counts: Vec<f64> = rounds.iter().map(|it| it.0).collect();
        operations += median(&counts).unwrap_or(0.0);
        let [p50, p99] = [|it: &Histogrammed| it.1, |it: &Histogrammed| it.2]
            .map(|of| median(&rounds.iter().filter_map(of).collect::<Vec<f64>>()));
        Some(LatencySecond { second, operations, p50_us: p50?, p99_us: p99 })
    };
    seconds.into_iter().filter_map(at).collect()
}
