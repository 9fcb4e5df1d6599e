//! Figures and conditions that differ between two versions beside the one compared (section 3.6).

use crate::analysis::conditions;
use crate::analysis::rounds::{PerRound, Rounds};
use crate::analysis::since::label;
use crate::analysis::types::{AlsoRow, Metric, SinceRow};
use format::{signed, time, trimmed};
use record::records::{Arm, Experiment, PhaseRun, ServerKind, Tap};
use stats::rank::{HodgesLehmann, hodges_lehmann};
use stats::ratio::percent;
use stats::threshold::{Interleave, Quantity};

const ALPHA: f64 = 0.05;
const TENFOLD_PERCENT: f64 = 900.0;
/// Threshold equal to the floor of throughput with whole runs (section 3.3).
pub const DRIVER_PERCENT: f64 = 3.0;
/// Handshakes and monitors are not the same number in each round.
const WIRE_PERCENT: f64 = 2.0;

/// A change in percent with its interval.
pub struct PairedChange {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
    pub level: f64,
    pub rounds: usize,
}

/// From a to b over the rounds in which both are valid; None without a finite interval.
pub fn change(
    a: &PerRound<'_>,
    b: &PerRound<'_>,
    value: impl Fn(&PhaseRun) -> Option<f64>,
) -> Option<PairedChange> {
    let value = |run: Option<&PhaseRun>| value(run?).filter(|value| *value > 0.0);
    let ratio = |(a, b): (&_, &_)| Some((value(*b)? / value(*a)?).ln());
    let ratios: Vec<f64> = a.iter().zip(b).filter_map(ratio).collect();
    let HodgesLehmann { estimate, low, high, level, .. } = hodges_lehmann(&ratios, ALPHA)?;
    let finite = low.is_finite() && high.is_finite();
    let [estimate, low, high] = [estimate, low, high].map(percent);
    finite.then_some(PairedChange { estimate, low, high, level, rounds: ratios.len() })
}

struct ChangedFigure {
    what: &'static str,
    /// A smaller difference is none.
    floor_percent: f64,
    value: fn(&PhaseRun) -> Option<f64>,
    words: fn(f64) -> String,
    /// The server's counters have it too, those of a server of ours.
    counted: Option<&'static str>,
}

const fn wire(
    what: &'static str,
    tap: fn(&PhaseRun) -> Option<f64>,
    counter: &'static str,
) -> ChangedFigure {
    let (floor_percent, words) = (WIRE_PERCENT, count as fn(f64) -> String);
    ChangedFigure { what, floor_percent, value: tap, words, counted: Some(counter) }
}

fn tapped(run: &PhaseRun, pick: fn(&Tap) -> Option<f64>) -> Option<f64> {
    pick(run.tap.as_ref()?)
}

fn count(value: f64) -> String {
    trimmed(value, 2)
}

const CPU: &str = "CPU per operation";

fn figures(interleave: Interleave) -> [ChangedFigure; 6] {
    [
        wire(
            "round trips per operation",
            |run| tapped(run, |tap| Some(tap.round_trips_per_op)),
            "network.numRequests",
        ),
        wire(
            "bytes sent per operation",
            |run| tapped(run, |tap| Some(tap.bytes_out_per_op)),
            "network.bytesIn",
        ),
        wire(
            "bytes received per operation",
            |run| tapped(run, |tap| Some(tap.bytes_in_per_op)),
            "network.bytesOut",
        ),
        ChangedFigure {
            what: "connections",
            floor_percent: WIRE_PERCENT,
            value: |run| run.connections_peak.map(|count| count as f64),
            words: count,
            counted: None,
        },
        ChangedFigure {
            what: CPU,
            floor_percent: Quantity::CpuPerOperation.floor_percent(interleave),
            value: |run| Some(run.cpu_us_per_op),
            words: time,
            counted: None,
        },
        ChangedFigure {
            what: "time in the driver per operation",
            floor_percent: DRIVER_PERCENT,
            value: |run| tapped(run, |tap| tap.driver_us_per_op),
            words: time,
            counted: None,
        },
    ]
}

/// What differs between two arms beyond its own noise, but for the figure compared.
pub fn also(
    experiment: &Experiment,
    rounds: &Rounds<'_>,
    (phase, metric): (&str, Metric),
    [a, b]: [&Arm; 2],
) -> Vec<AlsoRow> {
    let Some(phase) = experiment.plan.phases.iter().find(|it| it.name == phase) else {
        return Vec::new();
    };
    let interleave = experiment.settings.interleave.iter().find(|it| it.phase == phase.name);
    let interleave = interleave.map_or(Interleave::Turns, |it| it.interleave);
    let [runs_a, runs_b] = [a, b].map(|arm| rounds.of(&arm.id, &phase.name));
    let is_ours = experiment.server.kind != ServerKind::External;
    let told = |it: &ChangedFigure, value: &dyn Fn(&PhaseRun) -> Option<f64>| {
        let change = change(&runs_a, &runs_b, value)?;
        let beyond = change.low > 0.0 || change.high < 0.0;
        if !beyond || change.estimate.abs() < it.floor_percent {
            return None;
        }
        let middle = |runs: &PerRound<'_>| {
            let values: Vec<f64> = runs.iter().flatten().filter_map(|run| value(run)).collect();
            stats::descriptive::median(&values).map(it.words)
        };
        Some(AlsoRow {
            what: it.what.to_owned(),
            before: middle(&runs_a)?,
            after: middle(&runs_b)?,
            change_percent: Some(change.estimate),
        })
    };
    let figure = |it: ChangedFigure| {
        if it.what == CPU && metric == Metric::CpuPerOp {
            return None;
        }
        let has_tap = [&runs_a, &runs_b]
            .iter()
            .all(|runs| runs.iter().flatten().any(|run| run.tap.is_some()));
        match it.counted.filter(|_| is_ours && !has_tap) {
            Some(counter) => told(&it, &|run| {
                Some(*run.server.get(counter)? as f64 / run.operations.max(1) as f64)
            }),
            None => told(&it, &it.value),
        }
    };
    let figures = figures(interleave).into_iter().filter_map(figure);
    let met = [a, b].map(|arm| (arm, experiment.server.topology.as_str()));
    let differ = conditions::differences(met, phase).into_iter();
    let differ =
        differ.map(|(what, [before, after])| AlsoRow { what, before, after, change_percent: None });
    figures.chain(differ).collect()
}

impl AlsoRow {
    /// `CPU per operation 60.0 us -> 78.6 us (+31 %)`.
    fn words(&self) -> String {
        let Self { what, before, after, .. } = self;
        // Beyond tenfold the two figures say more than `+333333 %`.
        let percent = self.change_percent.filter(|it| it.abs() < TENFOLD_PERCENT);
        let percent = percent.map(|it| format!(" ({} %)", signed(it, 0)));
        format!("{what} {before} -> {after}{}", percent.unwrap_or_default())
    }
}

/// `At 4.0.0 also changed: round trips per operation 1.00 -> 2.00 (+100 %), …`; empty without any.
pub fn sentence(version: &str, rows: &[AlsoRow]) -> String {
    let words: Vec<String> = rows.iter().map(AlsoRow::words).collect();
    if words.is_empty() {
        return String::new();
    }
    format!("At {version} also changed: {}.", words.join(", "))
}

/// Adds to each step the other changes at its version.
pub fn explain(since: &mut [SinceRow], experiment: &Experiment, rounds: &Rounds<'_>) {
    for row in since {
        let (phase, metric, series) = (row.phase.clone(), row.metric, row.adapter.clone());
        let arm = |version: &str| {
            let own = experiment.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct);
            let mut own = own.filter(|arm| label(&arm.id) == series);
            own.find(|arm| arm.version == version)
        };
        for step in &mut row.changes {
            let (Some(a), Some(b)) = (arm(&step.before), arm(&step.after)) else { continue };
            step.also = also(experiment, rounds, (&phase, metric), [a, b]);
            let said = sentence(&step.after, &step.also);
            if !said.is_empty() {
                row.sentence = format!("{} {said}", row.sentence);
                step.sentence = format!("{} {said}", step.sentence);
            }
        }
    }
}
