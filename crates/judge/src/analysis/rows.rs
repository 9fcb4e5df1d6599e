//! Rows of reports on arms, results and phases, and their warnings.

use std::collections::BTreeMap;

use super::rounds::Rounds;
use super::types::{ArmSummary, DeathRow, PhaseSummary, ResultRow};
use super::{documents, pooled_quantiles};
use base::error::Result;
use record::folder::Folder;
use record::metric_values::MetricValues;
use record::metrics::{Metric, MetricSource};
use record::records::{Death, Experiment, PhaseRun, Quantiles, Run, ServerKind};
use stats::descriptive::median;
use stats::threshold::Interleave;
use workload::bytes;
use workload::plan::{Operation, Pacing, Phase};

pub fn arms(experiment: &Experiment, runs: &[Run]) -> Vec<ArmSummary> {
    let summary = |arm: &record::records::Arm| {
        let own: Vec<&Run> = runs.iter().filter(|run| run.arm == arm.id).collect();
        let void = |run: &&&Run| run.failed.is_some() && run.death.is_none();
        let failed: Vec<&&Run> = own.iter().filter(void).collect();
        let noops: Vec<f64> = own.iter().filter_map(|run| run.noop_ns).collect();
        ArmSummary {
            id: arm.id.clone(),
            adapter: arm.adapter.clone(),
            driver: arm.driver.clone(),
            version: arm.version.clone(),
            native: arm.native,
            runtime: arm.runtime.clone(),
            concurrency: arm.concurrency.clone(),
            is_aa: arm.is_aa,
            runs: own.len() as u32,
            failed: failed.len() as u32,
            reason: failed.first().and_then(|run| run.failed.clone()),
            noop_ns: median(&noops),
            resolved: arm.resolved.clone(),
            seen: arm.seen.clone(),
            not_measured: arm.not_measured.clone(),
        }
    };
    experiment.arms.iter().map(summary).collect()
}

/// Warning that one arm is left of those that were asked for.
pub fn alone(experiment: &Experiment) -> Option<String> {
    let mut own = experiment.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct);
    let (Some(arm), None) = (own.next(), own.next()) else { return None };
    let lost: Vec<&str> = experiment.unavailable.iter().map(|it| it.adapter.as_str()).collect();
    (!lost.is_empty()).then(|| {
        let (id, lost) = (&arm.id, lost.join(", "));
        format!("{id} is measured alone, and compared with its copy: {lost} could not be measured")
    })
}

/// A row for each arm that died of memory.
pub fn deaths(experiment: &Experiment, runs: &[Run]) -> Vec<DeathRow> {
    let row = |arm: &record::records::Arm| {
        let own = || runs.iter().filter(|run| run.arm == arm.id);
        let deaths: Vec<&Death> = own().filter_map(|run| run.death.as_ref()).collect();
        Some(DeathRow {
            arm: arm.id.clone(),
            rounds: deaths.len() as u32,
            begun: own().count() as u32,
            first: (*deaths.first()?).clone(),
        })
    };
    experiment.arms.iter().filter_map(row).collect()
}

/// Runs that are shown but not compared: their number in each phase, and the first one's reason.
pub fn void_runs(experiment: &Experiment, rounds: &Rounds) -> Vec<String> {
    let sentence = |phase: &Phase| {
        let losses = experiment.arms.iter().flat_map(|arm| rounds.losses(&arm.id, &phase.name));
        let losses: Vec<String> = losses.collect();
        let blocks = experiment.settings.blocks.as_ref().map_or(1, |it| it.count as usize);
        let all = rounds.compared().len() * (experiment.arms.len() + blocks - 1);
        let first = losses.first()?;
        let (name, void) = (&phase.name, losses.len());
        Some(format!("{name}: {void} of {all} runs are not compared, the first because {first}"))
    };
    experiment.plan.phases.iter().filter_map(sentence).collect()
}

/// By arm, phase and code, over all rounds.
pub fn errors(experiment: &Experiment, runs: &[Run]) -> Vec<String> {
    let mut counts: BTreeMap<(String, String, i64, String), (u64, String)> = BTreeMap::new();
    for run in runs {
        for phase in &run.phases {
            for error in &phase.errors {
                let key = (run.arm.clone(), phase.phase.clone(), error.code, error.name.clone());
                let entry = counts.entry(key).or_insert((0, error.message.clone()));
                entry.0 += error.count;
            }
        }
    }
    let known = |arm: &str| experiment.arms.iter().any(|it| it.id == arm);
    let sentence = |((arm, phase, code, name), (count, message))| {
        let code = if code == 0 { String::new() } else { format!(" ({code})") };
        format!("{arm}, {phase}: {count} × {name}{code}: {message}")
    };
    counts.into_iter().filter(|(key, _)| known(&key.0)).map(sentence).collect()
}

/// One row per arm, phase and operation.
pub fn results(
    folder: &Folder,
    experiment: &Experiment,
    rounds: &Rounds,
) -> Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    for arm in &experiment.arms {
        for (number, phase) in experiment.plan.phases.iter().enumerate() {
            let runs = rounds.every(&arm.id, &phase.name);
            let pooled =
                pooled_quantiles::pooled(folder, runs.iter().map(|run| run.hlog.as_deref()))?;
            // Older records have a guess where they are not known.
            let is_known = bytes::document_bytes(&experiment.plan, number).is_some();
            let measured = PhaseResults { experiment, phase, runs, pooled, is_known };
            let by_round = rounds.measured(&arm.id, &phase.name);
            let by_round: Vec<_> =
                by_round.iter().map(|run| Some(run.as_ref()?.throughput)).collect();
            rows.extend(phase.operations.iter().map(|operation| ResultRow {
                arm: arm.id.clone(),
                phase: phase.name.clone(),
                operation: operation.name.clone(),
                values: measured.values(operation),
                throughput_by_round: by_round.clone(),
            }));
        }
    }
    Ok(rows)
}

/// An arm in one phase, over all rounds.
struct PhaseResults<'a> {
    experiment: &'a Experiment,
    phase: &'a Phase,
    runs: Vec<&'a PhaseRun>,
    /// By the tags of the interval histograms.
    pooled: BTreeMap<String, Quantiles>,
    /// Whether the plan says how many bytes of documents there are.
    is_known: bool,
}

impl PhaseResults<'_> {
    fn values(&self, operation: &Operation) -> MetricValues {
        let value = |metric: &Metric| (*metric, self.value(*metric, operation));
        Metric::ALL.iter().map(value).collect()
    }

    fn value(&self, metric: Metric, operation: &Operation) -> Option<f64> {
        let is_ours = self.experiment.server.kind != ServerKind::External;
        match (metric, metric.definition().source) {
            (Metric::DocumentNs, _) if operation.documents.is_none() => None,
            (Metric::DocumentBytes, _) if !self.is_known => None,
            (_, MetricSource::Times(of, quantile)) => {
                quantile(self.pooled.get(&format!("{}{}", operation.name, of.tag()))?)
            }
            (_, MetricSource::Answers) => documents::per_op(self.phase, operation, &self.runs),
            (_, MetricSource::Phase(over, _) | MetricSource::Operation(over, _)) => {
                let value = |run: &&PhaseRun| metric.value(run, &operation.name, is_ours);
                over.of(&self.runs.iter().map(value).collect::<Vec<_>>())
            }
        }
    }
}

pub fn phases(
    experiment: &Experiment,
    rounds: &Rounds,
    noise_percent: &BTreeMap<String, f64>,
) -> Vec<PhaseSummary> {
    let summary = |phase: &Phase| {
        let settings = experiment.settings.interleave.iter().find(|it| it.phase == phase.name);
        let turns: Vec<f64> = experiment
            .arms
            .iter()
            .flat_map(|arm| rounds.measured(&arm.id, &phase.name))
            .flatten()
            .map(|run| run.turn_ms)
            .collect();
        PhaseSummary {
            phase: phase.name.clone(),
            interleave: settings.map_or(Interleave::Turns, |it| it.interleave),
            interleave_reason: settings.map_or(String::new(), |it| it.reason.clone()),
            turn_ms: median(&turns),
            loop_note: loop_note(phase),
            aa_noise_percent: noise_percent.get(&phase.name).copied(),
            answers_unchecked: documents::unchecked(experiment, rounds, phase),
        }
    };
    experiment.plan.phases.iter().map(summary).collect()
}

fn loop_note(phase: &Phase) -> String {
    match phase.pacing {
        Pacing::Awaited { .. } | Pacing::Window { .. } => format!(
            "closed loop, {} in flight; omits waiting a real caller would see",
            format::count(phase.in_flight().unwrap_or_default())
        ),
        Pacing::Rate { per_second, poisson } => format!(
            "open loop, {per_second} operations a second offered{}",
            if poisson { ", Poisson arrivals" } else { "" }
        ),
        Pacing::Burst {} => "burst: every operation intended at the start".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_window_is_in_flight_for_each_worker() {
        let phase = |pacing| -> Phase {
            let value = json!({
                "name": "work", "operations": [], "weights": [], "keys": "uniform", "workers": 2,
                "processes": 1, "pacing": pacing, "limit": { "duration": { "seconds": null } },
                "warmup_s": null, "document_form": "native", "writes": true,
                "whole_run_reason": null, "pools": [],
            });
            serde_json::from_value(value).expect("a phase")
        };
        for (pacing, in_flight) in [
            (json!({ "mode": "awaited", "think_ns": 0 }), "closed loop, 2 in flight;"),
            (json!({ "mode": "window", "size": 1000 }), "closed loop, 2,000 in flight;"),
        ] {
            let note = loop_note(&phase(pacing));
            assert!(note.starts_with(in_flight), "{note}");
        }
    }
}
