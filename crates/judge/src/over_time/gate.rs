//! `--gate 'slower than history <= 3%'`: an experiment against those before it.

use super::figure_lines::{Dated, Subject};
use super::requests::{differences, machine};
use super::stored::stored;
use crate::analysis::types::{Analysis, Metric, Objective, ObjectiveRow};
use crate::objectives::ObjectiveGate;
use record::history_store::StoredExperiment;
use record::records::Experiment;
use stats::line_steps::{EXPERIMENTS_MIN, new_experiment};
use stats::ratio::percent;

/// Holds an analysis against the experiments before it, by the gates that are about them.
pub fn hold(analysis: &mut Analysis, experiment: &Experiment, store: &[StoredExperiment]) {
    let mut rows = Vec::new();
    let mut gates: Vec<String> = Vec::new();
    for row in &analysis.objectives {
        if !gates.contains(&row.gate) {
            gates.push(row.gate.clone());
        }
    }
    let gates = gates.iter().filter_map(|text| ObjectiveGate::parse(text).ok());
    let gates: Vec<ObjectiveGate> = gates.filter(ObjectiveGate::is_of_history).collect();
    for gate in &gates {
        rows.extend(against(gate, &stored(experiment, analysis), store));
    }
    let is_of_history =
        |row: &ObjectiveRow| ObjectiveGate::parse(&row.gate).is_ok_and(|it| it.is_of_history());
    let lost = |row: &ObjectiveRow| row.objective != Objective::Open;
    analysis.objectives.retain(|row| !is_of_history(row) || lost(row));
    analysis.objectives.extend(rows);
}

fn against(
    gate: &ObjectiveGate,
    this: &StoredExperiment,
    store: &[StoredExperiment],
) -> Vec<ObjectiveRow> {
    let before = |it: &&StoredExperiment| it.id != this.id && it.started_at < this.started_at;
    let earlier: Vec<&StoredExperiment> = store.iter().filter(before).collect();
    let asked: Vec<&StoredExperiment> =
        earlier.iter().filter(|it| it.asked == this.asked).copied().collect();
    let here = machine(&this.machine);
    let mut own: Vec<&StoredExperiment> =
        asked.iter().filter(|it| machine(&it.machine) == here).copied().collect();
    if own.is_empty() {
        let found = match (asked.is_empty(), earlier.last()) {
            (false, _) => format!("the history has none on this machine and kernel: {here}"),
            (true, None) => "the history has no experiment before this one".to_owned(),
            (true, Some(last)) => format!(
                "the history has none of this request; its last one differs in {}",
                differences(this, last).join(", ")
            ),
        };
        return vec![gate.row("every arm", "every phase", Objective::Open, &found)];
    }
    own.push(this);
    let dated = Dated::new(&own);
    let subjects = dated
        .subjects()
        .into_iter()
        .filter(|about| about.metric == Metric::Throughput && Some(about.arm) != dated.anchor);
    subjects.filter_map(|about| row(gate, &dated, about)).collect()
}

fn row(gate: &ObjectiveGate, dated: &Dated<'_>, about: Subject<'_>) -> Option<ObjectiveRow> {
    let (costs, relative) = dated.costs(about);
    let (new, costs) = costs.split_last()?;
    let arm = dated.arms[about.arm].1[costs.len()]?;
    let present: Vec<(usize, f64)> =
        costs.iter().enumerate().filter_map(|(at, cost)| Some((at, (*cost)?))).collect();
    let mut past: Vec<f64> = present.iter().map(|(_, cost)| *cost).collect();
    // The level that holds now: what a step has changed is no measure any more.
    let level = dated.steps(&past, about.metric).0.last().map_or(0, |step| step.at);
    let past = past.split_off(level);
    let started = present.get(level).map(|(at, _)| dated.experiments[*at].started_at.as_str());
    let since = started.and_then(|it| it.get(..10)).unwrap_or("now");
    let count = past.len();
    let (objective, what) = match new.map(|new| new_experiment(&past, new)) {
        None => (Objective::Broken, "nothing was measured".to_owned()),
        Some(None) => {
            let what = format!(
                "the history has {count} of the {EXPERIMENTS_MIN} experiments of one level that \
                 it takes (since {since})"
            );
            (Objective::Open, what)
        }
        Some(Some(found)) => {
            let [estimate, low, high] = [found.estimate, found.low, found.high].map(percent);
            let change = format::change(Some(estimate), Some(low), Some(high)).unwrap_or_default();
            let through = match dated.anchor.filter(|_| relative) {
                Some(anchor) => format!("through {}", dated.name(anchor)),
                None => "days as they are: no other arm has one version in all of them".to_owned(),
            };
            let what = format!(
                "{change} time per op against {count} experiments since {since} ({} interval; \
                 {through})",
                format::level(found.level)
            );
            (gate.of_interval(low, high), what)
        }
    };
    let found = format!("{}, {}: {what}", arm.id, about.phase);
    Some(gate.row(&arm.id, about.phase, objective, &found))
}
