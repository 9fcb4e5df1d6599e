//! The scatter of copies, by phase and driver, from runs.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::answer;
use super::scatter::Scatter;
use super::types::{NoiseAnalysis, PhaseNoise, Row};
use crate::evidence;
use judge::analysis::rounds::Rounds;
use record::records::{Experiment, Run};
use stats::descriptive::{median, over_rounds};
use stats::disturbed::{self, ForeignLoad};
use stats::ratio::{log_ratios, percent};
use stats::threshold::Quantity;

/// The study's tables and its answer, from its runs.
pub fn analyse(experiment: &Experiment, runs: &[Run]) -> NoiseAnalysis {
    let mut around: BTreeMap<u32, ForeignLoad<'_>> = BTreeMap::new();
    for run in runs {
        around.entry(run.round).or_insert_with(|| run.machine_noise.around());
    }
    let flags: Vec<bool> = around.values().map(ForeignLoad::is_disturbed).collect();
    let look = experiment.settings.looks.first();
    let only_quiet = disturbed::only_quiet(&flags, look.rounds, look.alpha);
    let rounds = around.len() as u32;
    around.retain(|_, it| it.is_disturbed());
    let is_kept = |run: &&Run| !(only_quiet && around.contains_key(&run.round));
    let kept: Vec<Run> = runs.iter().filter(is_kept).cloned().collect();
    let by_round = Rounds::new(experiment, &kept);
    let phases = experiment.plan.phases.iter();
    let phases = phases.map(|it| phase_noise(experiment, &by_round, &it.name)).collect();
    let words = disturbed::words(&around.values().cloned().collect::<Vec<_>>());
    let mut analysis = NoiseAnalysis {
        rounds,
        disturbed: around.keys().copied().collect(),
        disturbance: (!around.is_empty()).then_some(words),
        counts_disturbed: !only_quiet,
        arm_round_s: arm_round_s(experiment, runs),
        phases,
        evidence: Vec::new(),
        notes: evidence::notes(experiment, runs),
    };
    analysis.evidence = answer::all(experiment, &analysis);
    analysis
}

/// Copies are told by their ids: the second has `#2`.
fn phase_noise(experiment: &Experiment, rounds: &Rounds<'_>, phase: &str) -> PhaseNoise {
    let (mut rows, mut groups, mut measured_s) = (Vec::new(), Vec::new(), Vec::new());
    for first in &experiment.arms {
        let copy = format!("{}#2", first.id);
        if !experiment.arms.iter().any(|arm| arm.id == copy) {
            continue;
        }
        let runs = [&first.id, &copy].map(|arm| rounds.of(arm, phase));
        measured_s.extend(runs.iter().flatten().flatten().map(|run| run.measured_s));
        let [a, b] =
            runs.map(|of| of.iter().map(|run| Some((*run)?.throughput)).collect::<Vec<_>>());
        let ratios = log_ratios(Quantity::Throughput.direction(), &a, &b);
        let ratios: Vec<f64> = ratios.into_iter().flatten().collect();
        let percents: Vec<f64> = ratios.iter().copied().map(percent).collect();
        rows.push(Row {
            arm: first.id.clone(),
            rounds: ratios.len() as u32,
            difference_percent: over_rounds(&percents),
            scatter: Scatter::of(std::slice::from_ref(&ratios)),
            lost: [&first.id, &copy].iter().flat_map(|arm| rounds.losses(arm, phase)).collect(),
        });
        groups.push(ratios);
    }
    PhaseNoise {
        phase: phase.to_owned(),
        measured_s: median(&measured_s),
        all: Scatter::of(&groups),
        rows,
    }
}

/// By the starts of the rounds, and the end of the last.
fn arm_round_s(experiment: &Experiment, runs: &[Run]) -> Option<f64> {
    let mut starts: BTreeMap<u32, &str> = BTreeMap::new();
    for run in runs {
        starts.entry(run.round).or_insert(&run.started_at);
    }
    let moments = starts.into_values().chain(experiment.finished_at.as_deref());
    let moments: Vec<Timestamp> = moments.filter_map(|it| it.parse().ok()).collect();
    let rounds = moments.windows(2).map(|it| it[1].duration_since(it[0]).as_secs_f64());
    Some(median(&rounds.collect::<Vec<_>>())? / experiment.arms.len() as f64)
}
