//! A sweep over the number of workers: contention and retrograde scaling (methodology 8.5, 8.6).

use super::case::{numbers_of, whole};
use crate::analysis::load::{self, SweptLoad};
use crate::analysis::types::Finding;
use format::{figure, fixed, small, with_interval};
use record::records::{Experiment, Run};
use stats::usl::{LEVELS_MIN, ROUNDS_MIN, ScalingFit, scaling};

pub const NAME: &str = "contention";

/// Workers with at least this share of their throughput alone are not worth a word.
const EFFICIENCY_MAX: f64 = 0.9;

pub struct SweptExperiment {
    /// Name of its folder, such as `threads=4`.
    pub label: String,
    pub experiment: Experiment,
    pub runs: Vec<Run>,
}

/// The scaling of each arm and phase, in the order of the first cell.
///
/// Workers are counted by the plan, not by the parameter's values. So a sweep over something else
/// (sizes of documents) finds nothing, and one over processes does.
pub fn rule(cells: &[SweptExperiment]) -> Vec<Finding> {
    let Some(first) = cells.first() else { return Vec::new() };
    let mut found = Vec::new();
    for phase in &first.experiment.plan.phases {
        for arm in first.experiment.arms.iter().filter(|arm| !arm.is_aa) {
            let levels = levels(cells, &arm.id, &phase.name);
            let seed = first.experiment.settings.seed;
            if let Some(scaling) = scaling(&levels, seed).filter(bends) {
                found.push(finding(&arm.id, &phase.name, &levels, &scaling));
            }
        }
    }
    found
}

/// Why a sweep over the number of workers is too small for a fit; None where it is not.
pub fn too_small(cells: &[SweptExperiment]) -> Option<String> {
    let first = cells.first()?;
    let phases = first.experiment.plan.phases.iter();
    let arm = first.experiment.arms.first()?;
    let levels = phases.map(|phase| levels(cells, &arm.id, &phase.name)).find(|it| it.len() > 1)?;
    let rounds = levels.iter().map(|(_, rounds)| rounds.len()).min()?;
    (levels.len() < LEVELS_MIN || rounds < ROUNDS_MIN).then(|| {
        format!(
            "how throughput scales with workers is not judged: a fit needs {LEVELS_MIN} numbers \
             of workers and {ROUNDS_MIN} rounds of each, these are {} and {rounds}",
            levels.len()
        )
    })
}

/// Workers and throughput of each round; empty where the sweep does not change their number. The
/// throughput of an open loop follows from its rate, so it shows nothing.
fn levels(cells: &[SweptExperiment], arm: &str, phase: &str) -> Vec<(f64, Vec<f64>)> {
    let cells = cells.iter().map(|cell| (&cell.experiment, &cell.runs[..]));
    match load::levels(cells, arm, phase) {
        Some((SweptLoad::InFlight, levels)) => load::throughputs(&levels),
        _ => Vec::new(),
    }
}

fn bends(scaling: &ScalingFit) -> bool {
    (scaling.alpha.0 > 0.0 || scaling.beta.0 > 0.0) && scaling.efficiency() < EFFICIENCY_MAX
}

fn finding(arm: &str, phase: &str, levels: &[(f64, Vec<f64>)], scaling: &ScalingFit) -> Finding {
    let rounds = levels.iter().map(|(_, rounds)| rounds.len()).min().unwrap_or(0);
    let law = scaling.law;
    let mut numbers = vec![
        ("alpha", law.alpha),
        ("alpha_low", scaling.alpha.0),
        ("alpha_high", scaling.alpha.1),
        ("gamma_per_s", law.gamma),
        ("gamma_low_per_s", scaling.gamma.0),
        ("gamma_high_per_s", scaling.gamma.1),
        ("efficiency", scaling.efficiency()),
        ("knee", scaling.knee),
        ("knee_low", scaling.knee_interval.0),
        ("knee_high", scaling.knee_interval.1),
        ("levels", levels.len() as f64),
        ("rounds", rounds as f64),
    ];
    if let Some(peak) = law.peak().filter(|_| scaling.shows_peak()) {
        numbers.extend([
            ("beta", law.beta),
            ("beta_low", scaling.beta.0),
            ("beta_high", scaling.beta.1),
            ("peak", peak),
        ]);
    }
    Finding {
        rule: NAME.to_owned(),
        arm: Some(arm.to_owned()),
        phase: Some(phase.to_owned()),
        sentence: sentence(scaling, levels.len(), rounds),
        numbers: numbers_of(&numbers),
    }
}

fn sentence(scaling: &ScalingFit, levels: usize, rounds: usize) -> String {
    let law = scaling.law;
    let bound = match (law.roof(), law.optimum()) {
        (Some(roof), Some(optimum)) if scaling.alpha.0 > 0.0 => format!(
            ": no number in flight brings more than {}/s, and more than {} bring little",
            figure(roof),
            whole(optimum)
        ),
        _ => String::new(),
    };
    let peak = match law.peak().filter(|_| scaling.shows_peak()) {
        Some(peak) => format!(
            "RETROGRADE: beta {}, so throughput falls beyond {} in flight.",
            with_interval(law.beta, Some(scaling.beta), small),
            whole(peak)
        ),
        None => "No retrograde region measured.".to_owned(),
    };
    format!(
        "CONTENTION: {} in flight do {} % of what they would without it. USL over {levels} \
         levels, at least {rounds} rounds each, intervals of 95 %: alpha {}, gamma {} a \
         second{bound}. Knee (90 % of the highest): {} in flight. {peak}",
        whole(scaling.most),
        fixed(100.0 * scaling.efficiency(), 0),
        with_interval(law.alpha, Some(scaling.alpha), small),
        with_interval(law.gamma, Some(scaling.gamma), figure),
        with_interval(scaling.knee, Some(scaling.knee_interval), whole),
    )
}
