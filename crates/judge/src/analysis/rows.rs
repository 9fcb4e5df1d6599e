//! Rows of reports on arms, results and phases, and their warnings.

use std::collections::BTreeMap;

use super::rounds::Rounds;
use super::types::{ArmSummary, DeathRow, PhaseSummary, ResultRow};
use super::{documents, quantiles};
use base::error::Result;
use record::folder::Folder;
use record::records::{Death, Experiment, PhaseRun, Quantiles, Run, ServerKind};
use stats::descriptive::median;
use stats::threshold::Interleave;
use workload::bytes;
use workload::plan::{Pacing, Phase};

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

/// That one arm is left of those that were asked for.
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
    let is_ours = experiment.server.kind != ServerKind::External;
    for arm in &experiment.arms {
        for (number, phase) in experiment.plan.phases.iter().enumerate() {
            let runs = rounds.measured(&arm.id, &phase.name);
            let measured = rounds.every(&arm.id, &phase.name);
            // Older records have a guess where they are not known.
            let known = bytes::document_bytes(&experiment.plan, number).is_some();
            let document_bytes = measured.iter().map(|run| run.document_bytes).sum::<Option<u64>>();
            let document_bytes = document_bytes.filter(|_| known);
            let told = |value: fn(&PhaseRun) -> Option<u64>| {
                measured.iter().filter_map(move |run| value(run))
            };
            let pooled = quantiles::pooled(folder, measured.iter().map(|run| run.hlog.as_deref()))?;
            for operation in &phase.operations {
                let name = &operation.name;
                let own = |run: &&&record::records::PhaseRun| {
                    run.by_operation.iter().find(|it| &it.operation == name).cloned()
                };
                let by_operation: Vec<_> = measured.iter().filter_map(|run| own(&run)).collect();
                let service = pooled.get(name).copied().unwrap_or_default();
                let response = pooled.get(&format!("{name}-response")).copied();
                let timer = pooled.get(&format!("{name}-timer")).copied();
                let making: Vec<f64> = measured.iter().filter_map(|run| run.document_ns).collect();
                let message = |pick: fn(&Quantiles) -> Option<f64>| {
                    let read =
                        measured.iter().filter_map(|run| pick(&run.broker.as_ref()?.latency));
                    median(&read.collect::<Vec<_>>())
                };
                let throughputs: Vec<f64> = measured.iter().map(|run| run.throughput).collect();
                let bytes = measured.iter().filter_map(|run| run.bytes_per_op(is_ours));
                let bytes: Vec<f64> = bytes.collect();
                let cpu: Vec<f64> = measured.iter().map(|run| run.cpu_us_per_op).collect();
                rows.push(ResultRow {
                    arm: arm.id.clone(),
                    phase: phase.name.clone(),
                    operation: name.clone(),
                    throughput: median(&throughputs),
                    p50_us: service.p50_us,
                    p90_us: service.p90_us,
                    p99_us: service.p99_us,
                    p999_us: service.p999_us,
                    response_p50_us: response.and_then(|it| it.p50_us),
                    response_p99_us: response.and_then(|it| it.p99_us),
                    timer_p50_us: timer.and_then(|it| it.p50_us),
                    message_p50_us: message(|it| it.p50_us),
                    message_p99_us: message(|it| it.p99_us),
                    timer_p99_us: timer.and_then(|it| it.p99_us),
                    document_ns: median(&making).filter(|_| operation.documents.is_some()),
                    cpu_us_per_op: median(&cpu),
                    bytes_per_op: median(&bytes),
                    rss_peak_bytes: measured.iter().map(|run| run.rss_peak_bytes).max(),
                    rss_held_bytes: told(|run| run.rss_held_bytes).max(),
                    threads_peak: told(|run| run.threads_peak).max(),
                    connections_peak: told(|run| run.connections_peak).max(),
                    gc_count: told(|run| run.gc_count).reduce(|sum, more| sum + more),
                    gc_ns: told(|run| run.gc_ns).reduce(|sum, more| sum + more),
                    operations: by_operation.iter().map(|it| it.count).sum(),
                    errors: by_operation.iter().map(|it| it.failed + it.wrong).sum(),
                    documents_per_op: documents::per_op(phase, operation, &measured),
                    document_bytes,
                    throughput_by_round: runs
                        .iter()
                        .map(|run| run.map(|run| run.throughput))
                        .collect(),
                });
            }
        }
    }
    Ok(rows)
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
