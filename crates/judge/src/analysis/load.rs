//! Sweeps over a load: throughput and latency against the operations in flight of a closed loop, or
//! against the rate of an open one, with the knee (methodology 5.1).

use crate::analysis::rounds::Rounds;
use crate::analysis::types::Analysis;
use format::{count, figure, fixed, time};
use record::metrics::Metric;
use record::records::{Experiment, Run};
use stats::descriptive::median;
use stats::rate_knee::{RateLevel, Strain, rate_knee};
use stats::usl::{ScalingFit, knee, scaling};
use workload::plan::{Pacing, Phase};

/// What grows over the sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweptLoad {
    InFlight,
    Rate,
}

/// One experiment of the sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadLevel {
    /// Operations in flight, or operations a second.
    pub load: f64,
    /// A value for each round that is compared; at a rate, for every round.
    pub throughputs: Vec<f64>,
    /// All rounds together; response times of an open loop, else service times.
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// Place of the experiment in the sweep.
    pub place: usize,
}

/// An arm in a phase, level by level.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadCurve {
    pub arm: String,
    pub phase: String,
    /// The operation that the times belong to.
    pub operation: String,
    pub load: SweptLoad,
    /// By load.
    pub levels: Vec<LoadLevel>,
    /// The Universal Scalability Law, of a closed loop with enough levels and rounds.
    pub fit: Option<ScalingFit>,
}

/// The levels of an arm in a phase; None where the sweep does not change the load.
///
/// The load is read from the plan, not from the parameter's values. So a sweep over something else
/// (sizes of documents) finds nothing, and one over processes does.
pub fn levels<'a>(
    experiments: impl Iterator<Item = (&'a Experiment, &'a [Run])>,
    arm: &str,
    phase: &str,
) -> Option<(SweptLoad, Vec<LoadLevel>)> {
    let mut found: Option<(SweptLoad, Vec<LoadLevel>)> = None;
    for (place, (experiment, runs)) in experiments.enumerate() {
        let (kind, load) = load(experiment.plan.phases.iter().find(|it| it.name == phase)?)?;
        let (known, levels) = found.get_or_insert((kind, Vec::new()));
        if *known != kind || levels.iter().any(|level| level.load.total_cmp(&load).is_eq()) {
            return None;
        }
        let rounds = Rounds::new(experiment, runs);
        // Runs that fall behind their rate are not compared, and are what ends the curve.
        let rounds = match kind {
            SweptLoad::Rate => rounds.measured(arm, phase),
            SweptLoad::InFlight => rounds.of(arm, phase),
        };
        let throughputs = rounds.into_iter().flatten().map(|run| run.throughput).collect();
        levels.push(LoadLevel { load, throughputs, p50_us: None, p99_us: None, place });
    }
    let (load, mut levels) = found?;
    levels.sort_by(|a, b| a.load.total_cmp(&b.load));
    Some((load, levels))
}

fn load(phase: &Phase) -> Option<(SweptLoad, f64)> {
    match phase.pacing {
        Pacing::Rate { per_second, .. } => Some((SweptLoad::Rate, per_second)),
        _ => Some((SweptLoad::InFlight, phase.in_flight()? as f64)),
    }
}

/// Input of a fit.
pub fn throughputs(levels: &[LoadLevel]) -> Vec<(f64, Vec<f64>)> {
    levels.iter().map(|level| (level.load, level.throughputs.clone())).collect()
}

/// The curves of a sweep on one server, by phase and arm.
pub fn curves(sweep: &[(&Experiment, &[Run], &Analysis)]) -> Vec<LoadCurve> {
    let Some((first, ..)) = sweep.first().filter(|_| sweep.len() > 1) else { return Vec::new() };
    let arms = || first.arms.iter().filter(|arm| !arm.is_aa);
    let pairs = first.plan.phases.iter().flat_map(|phase| arms().map(move |arm| (phase, arm)));
    pairs.filter_map(|(phase, arm)| curve(sweep, &arm.id, &phase.name)).collect()
}

fn curve(sweep: &[(&Experiment, &[Run], &Analysis)], arm: &str, phase: &str) -> Option<LoadCurve> {
    let experiments = sweep.iter().map(|(experiment, runs, _)| (*experiment, *runs));
    let (load, mut levels) = levels(experiments, arm, phase)?;
    let [p50, p99] = match load {
        SweptLoad::Rate => [Metric::ResponseP50, Metric::ResponseP99],
        SweptLoad::InFlight => [Metric::P50, Metric::P99],
    };
    let mut operation = String::new();
    for level in &mut levels {
        let (_, _, analysis) = sweep[level.place];
        // The first operation of a mix: its times are one curve, several mixed would be none.
        let mut rows = analysis.results.iter().filter(|row| row.arm == arm && row.phase == phase);
        if let Some(row) = rows.next() {
            (level.p50_us, level.p99_us) = (row.get(p50), row.get(p99));
            operation.clone_from(&row.operation);
        }
    }
    levels.retain(|level| !level.throughputs.is_empty());
    let seed = sweep.first()?.0.settings.seed;
    let fit = (load == SweptLoad::InFlight).then(|| scaling(&throughputs(&levels), seed)).flatten();
    let (arm, phase) = (arm.to_owned(), phase.to_owned());
    (levels.len() > 1).then_some(LoadCurve { arm, phase, operation, load, levels, fit })
}

impl LoadLevel {
    /// Median over the rounds.
    pub fn throughput(&self) -> f64 {
        median(&self.throughputs).unwrap_or(0.0)
    }
}

impl LoadCurve {
    /// Place of the knee among the levels; None where all of them are below or beyond it.
    pub fn knee(&self) -> Option<usize> {
        match self.load {
            SweptLoad::InFlight => {
                let points = self.levels.iter().map(|it| (it.load, it.throughput()));
                let knee = knee(&points.collect::<Vec<_>>())?;
                let found = self.levels.iter().position(|it| it.load.total_cmp(&knee).is_eq());
                found.filter(|place| place + 1 < self.levels.len())
            }
            SweptLoad::Rate => {
                let (last, strain) = self.strain();
                strain.and(last)
            }
        }
    }

    fn strain(&self) -> (Option<usize>, Option<Strain>) {
        let level = |it: &LoadLevel| RateLevel {
            rate_per_s: it.load,
            throughput_per_s: it.throughput(),
            p50_us: it.p50_us.unwrap_or(0.0),
        };
        rate_knee(&self.levels.iter().map(level).collect::<Vec<_>>())
    }

    /// The knee in words, and the fit where there is one.
    pub fn sentences(&self) -> Vec<String> {
        let knee = match self.load {
            SweptLoad::InFlight => self.in_flight(),
            SweptLoad::Rate => self.rate(),
        };
        let mut sentences = vec![format!("{}: {knee}", self.arm)];
        sentences.extend(self.fit.as_ref().map(|fit| format!("{}: {}", self.arm, law(fit))));
        sentences
    }

    fn in_flight(&self) -> String {
        let Some(place) = self.knee() else {
            let most = count(self.levels.last().map_or(0.0, |it| it.load).round() as u64);
            return format!("none up to {most} in flight, where throughput still grows");
        };
        let level = &self.levels[place];
        let highest = self.levels.iter().map(LoadLevel::throughput).fold(0.0, f64::max);
        let share = fixed(100.0 * level.throughput() / highest, 0);
        let interval = self.fit.map(|fit| fit.knee_interval);
        let in_flight = format::with_interval(level.load, interval, |it| count(it.round() as u64));
        format!(
            "{in_flight} in flight, {} ops/s, {share} % of the highest{}",
            figure(level.throughput()),
            times(level)
        )
    }

    fn rate(&self) -> String {
        let a_second = |level: &LoadLevel| format!("{}/s", figure(level.load));
        let strained = |strain: &Strain| match strain {
            Strain::Throughput(share) => {
                format!("it does {} % of the rate", fixed(100.0 * share, 0))
            }
            Strain::Response(times) => {
                format!("p50 is {} times the least of lower rates", fixed(*times, 1))
            }
        };
        match self.strain() {
            (Some(place), None) => {
                let level = &self.levels[place];
                format!("none up to {}{}", a_second(level), times(level))
            }
            (None, Some(strain)) => {
                format!("below {}, where {}", a_second(&self.levels[0]), strained(&strain))
            }
            (Some(place), Some(strain)) => {
                let (level, next) = (&self.levels[place], &self.levels[place + 1]);
                let (at, beyond) = (a_second(level), a_second(next));
                format!("{at}{}; at {beyond} {}", times(level), strained(&strain))
            }
            (None, None) => "not measured".to_owned(),
        }
    }
}

/// `, p50 85.0 µs, p99 210 µs`.
fn times(level: &LoadLevel) -> String {
    let named = [("p50", level.p50_us), ("p99", level.p99_us)];
    let known = named.into_iter().filter_map(|(name, us)| Some(format!(", {name} {}", time(us?))));
    known.collect::<Vec<_>>().concat()
}

/// `USL: alpha 0.0312 (0.0290 to 0.0330), …`.
fn law(fit: &ScalingFit) -> String {
    let number = |value, interval, words: fn(f64) -> String| {
        format::with_interval(value, Some(interval), words)
    };
    let peak = match fit.law.peak().filter(|_| fit.shows_peak()) {
        Some(peak) => format!("throughput falls beyond {} in flight", count(peak.round() as u64)),
        None => "no retrograde region measured".to_owned(),
    };
    format!(
        "USL fit: one in flight does {} ops/s, alpha {}, beta {}; {peak}",
        number(fit.law.gamma, fit.gamma, figure),
        number(fit.law.alpha, fit.alpha, format::small),
        number(fit.law.beta, fit.beta, format::small),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(load: SweptLoad, levels: &[(f64, f64, f64)]) -> LoadCurve {
        let level = |(place, (load, throughput, p50_us)): (usize, &(f64, f64, f64))| LoadLevel {
            load: *load,
            throughputs: vec![0.99 * throughput, *throughput, 1.01 * throughput],
            p50_us: Some(*p50_us),
            p99_us: Some(3.0 * p50_us),
            place,
        };
        let [arm, phase, operation] = ["go@2.4.0", "find", "find"].map(str::to_owned);
        let levels = levels.iter().enumerate().map(level).collect();
        LoadCurve { arm, phase, operation, load, levels, fit: None }
    }

    #[test]
    fn the_knee_of_a_closed_loop_is_where_throughput_hardly_grows() {
        let levels = [(1.0, 2e3, 500.0), (2.0, 3.6e3, 550.0), (4.0, 3.9e3, 1e3)];
        let mut found = curve(SweptLoad::InFlight, &levels);
        let said = "2 in flight, 3,600 ops/s, 92 % of the highest, p50 550 µs, p99 1.65 ms";
        assert_eq!(found.sentences(), [format!("go@2.4.0: {said}")]);
        let rounds = |x: &f64| [0.98, 0.99, 1.0, 1.01, 1.02, 1.0].map(|it| it * x).to_vec();
        let points: Vec<(f64, Vec<f64>)> = [(1.0, 2e3), (2.0, 3.6e3), (4.0, 3.9e3)]
            .into_iter()
            .chain([(8.0, 3.9e3), (16.0, 3.8e3), (32.0, 3.5e3)])
            .map(|(n, x)| (n, rounds(&x)))
            .collect();
        found.fit = scaling(&points, 7);
        let said = found.sentences();
        assert!(said[0].starts_with("go@2.4.0: 2 (2 to 2) in flight"), "{said:?}");
        assert!(said[1].contains("USL fit: one in flight does 2,"), "{said:?}");
        let rising = curve(SweptLoad::InFlight, &levels[..2]).sentences();
        assert_eq!(rising, ["go@2.4.0: none up to 2 in flight, where throughput still grows"]);
    }

    #[test]
    fn the_knee_of_a_rate_says_what_ends_it() {
        let levels = [(500.0, 500.0, 80.0), (1e3, 998.0, 90.0), (2e3, 1_996.0, 400.0)];
        let said = curve(SweptLoad::Rate, &levels).sentences();
        let beyond = "at 2,000/s p50 is 5.0 times the least of lower rates";
        assert_eq!(said, [format!("go@2.4.0: 1,000/s, p50 90.0 µs, p99 270 µs; {beyond}")]);
        let said = curve(SweptLoad::Rate, &[(500.0, 200.0, 9e5), (1e3, 210.0, 9e5)]).sentences();
        assert_eq!(said, ["go@2.4.0: below 500/s, where it does 40 % of the rate"]);
        let said = curve(SweptLoad::Rate, &levels[..2]).sentences();
        assert_eq!(said, ["go@2.4.0: none up to 1,000/s, p50 90.0 µs, p99 270 µs"]);
    }
}
