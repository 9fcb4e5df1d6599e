//! The scatter of copies, by phase and driver, as cells.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::scatter::{ASKED_PERCENT, Scatter};
use crate::frame::{Cells, SERVER, Spread};
use crate::outcome::Made;
use judge::analysis::rounds::Rounds;
use record::records::{Experiment, Run};
use stats::descriptive::median;
use stats::disturbed::{self, ForeignLoad};
use stats::ratio::{log_ratios, percent};
use stats::threshold::Quantity;

/// The arm of all copies together.
pub const ALL: &str = "all drivers";
/// Arms of a run of two drivers.
const ARMS: f64 = 3.0;
/// The level of a scatter's interval.
const LEVEL: f64 = 0.95;

/// Rounds that something else disturbed.
pub struct Disturbed {
    pub rounds: usize,
    pub numbers: Vec<u32>,
    /// The cause in words; None where there is none.
    pub words: Option<String>,
    /// Whether they are left out: there are enough others.
    pub left_out: bool,
}

impl Disturbed {
    pub fn of(experiment: &Experiment, runs: &[Run]) -> Self {
        let mut around: BTreeMap<u32, ForeignLoad<'_>> = BTreeMap::new();
        for run in runs {
            around.entry(run.round).or_insert_with(|| run.machine_noise.around());
        }
        let flags: Vec<bool> = around.values().map(ForeignLoad::is_disturbed).collect();
        let look = experiment.settings.looks.first();
        around.retain(|_, load| load.is_disturbed());
        let words = disturbed::words(&around.values().cloned().collect::<Vec<_>>());
        Self {
            rounds: flags.len(),
            numbers: around.keys().copied().collect(),
            words: (!around.is_empty()).then_some(words),
            left_out: disturbed::only_quiet(&flags, look.rounds, look.alpha),
        }
    }
}

pub fn push(made: &Made<'_>, cells: &mut Cells) {
    let (experiment, runs) = (made.experiment, made.runs);
    let disturbed = Disturbed::of(experiment, runs);
    push_machine(made, &disturbed, cells);
    let is_kept = |run: &&Run| !(disturbed.left_out && disturbed.numbers.contains(&run.round));
    let kept: Vec<Run> = runs.iter().filter(is_kept).cloned().collect();
    let rounds = Rounds::new(experiment, &kept);
    for phase in &experiment.plan.phases {
        push_phase(made, &rounds, &phase.name, cells);
    }
}

/// What all phases share.
fn push_machine(made: &Made<'_>, disturbed: &Disturbed, cells: &mut Cells) {
    let at = |metric| [made.part, "", SERVER, metric];
    let fate = if disturbed.left_out { "left out" } else { "they count, as the rule here" };
    let count = disturbed.numbers.len() as f64;
    cells.push_plain(at("rounds"), "count", Some(disturbed.rounds as f64));
    cells.push_plain(at("disturbed_rounds"), "count", Some(count)).note =
        disturbed.words.as_ref().map(|words| format!("{words}; {fate}"));
    cells.push_plain(at("arm_round_s"), "s", arm_round_s(made.experiment, made.runs));
    if let Some(awake) = &made.experiment.machine.keep_awake {
        let kept = if awake.used { "kept awake" } else { "left to halt" };
        cells.push_plain(at("round_trip_us"), "us", awake.round_trip_us).note =
            Some(format!("cores were {kept} during turns: {}", awake.reason));
        cells.push_plain(at("round_trip_awake_us"), "us", awake.round_trip_awake_us);
    }
}

/// Copies are told by their ids: the second has `#2`.
fn push_phase(made: &Made<'_>, rounds: &Rounds<'_>, phase: &str, cells: &mut Cells) {
    let arms = &made.experiment.arms;
    let caution = made.experiment.settings.conduct.order().caution();
    let arm_round_s = cells.median([made.part, "", SERVER, "arm_round_s"]);
    let mut groups: Vec<(&str, Vec<f64>)> = Vec::new();
    for first in arms {
        let copy = format!("{}#2", first.id);
        if !arms.iter().any(|arm| arm.id == copy) {
            continue;
        }
        let runs = [&first.id, &copy].map(|arm| rounds.of(arm, phase));
        let measured_s = runs.iter().flatten().flatten().map(|run| Some(run.measured_s));
        let at = |metric| [made.part, phase, first.id.as_str(), metric];
        cells.push(at("measured_s"), "s", measured_s.collect());
        let [a, b] =
            runs.map(|of| of.iter().map(|run| Some((*run)?.throughput)).collect::<Vec<_>>());
        let ratios = log_ratios(Quantity::Throughput.direction(), &a, &b);
        let by_round = ratios.iter().map(|ratio| ratio.map(percent)).collect();
        let lost = [&first.id, &copy].into_iter().flat_map(|arm| rounds.losses(arm, phase));
        let lost: Vec<String> = lost.collect();
        cells.push(at("difference_percent"), "change_percent", by_round).note =
            (!lost.is_empty()).then(|| lost.join("; "));
        groups.push((&first.id, ratios.into_iter().flatten().collect()));
    }
    let all: Vec<Vec<f64>> = groups.iter().map(|(_, ratios)| ratios.clone()).collect();
    for (arm, groups) in groups.iter().map(|(arm, ratios)| (*arm, std::slice::from_ref(ratios))) {
        push_scatter([made.part, phase, arm], Scatter::of(groups), arm_round_s, caution, cells);
    }
    push_scatter([made.part, phase, ALL], Scatter::of(&all), arm_round_s, caution, cells);
}

fn push_scatter(
    [part, phase, arm]: [&str; 3],
    scatter: Option<Scatter>,
    arm_round_s: Option<f64>,
    caution: Option<&str>,
    cells: &mut Cells,
) {
    let named = |unit, asked| format!("{unit}_for_{asked}_percent");
    let Some(scatter) = scatter else {
        let rounds = ASKED_PERCENT.map(|asked| (named("rounds", asked), "count"));
        for (metric, unit) in [("scatter_percent".to_owned(), "percent")].into_iter().chain(rounds)
        {
            cells.push_plain([part, phase, arm, &metric], unit, None).note =
                Some("too few rounds have both copies".to_owned());
        }
        return;
    };
    let at = |metric| [part, phase, arm, metric];
    let spread = Spread::interval(scatter.percent, LEVEL, scatter.rounds);
    cells.push_spread(at("scatter_percent"), "percent", Some(spread)).note =
        caution.map(str::to_owned);
    cells.push_plain(at("degrees"), "count", Some(f64::from(scatter.degrees)));
    cells.push_plain(at("quick_percent"), "percent", Some(scatter.quick_percent));
    for (told, asked) in scatter.told.into_iter().zip(ASKED_PERCENT) {
        let minutes = arm_round_s.map(|s| told.estimate * ARMS * s / 60.0);
        let rounds = Spread::interval(told, LEVEL, scatter.rounds);
        let [arm_rounds, arm_minutes] = ["rounds", "minutes"].map(|unit| named(unit, asked));
        cells.push_spread([part, phase, arm, &arm_rounds], "count", Some(rounds));
        cells.push_plain([part, phase, arm, &arm_minutes], "minutes", minutes);
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
