//! From a folder's records to verdicts: the one place where results meet statistics.
//!
//! Reads nothing but the folder, so that any report can be made again later by a newer version.

pub mod compare;
pub mod conditions;
pub mod own;
pub mod quantiles;
pub mod rounds;
pub mod taps;
pub mod types;

use std::collections::BTreeMap;

use crate::analysis::rounds::Rounds;
use crate::analysis::types::{Analysis, ArmSummary, PhaseSummary, ResultRow};
use crate::diagnosis::{self, Evidence};
use base::error::Result;
use record::folder::Folder;
use record::records::{Ended, Experiment, Gap, Run, SCHEMA_VERSION};
use stats::compare::Comparison;
use stats::descriptive::median;
use stats::disturbed::Standing;
use workload::plan::{Pacing, Phase};

/// The analysis, and the comparisons that decide whether more rounds are needed.
pub struct Outcome {
    /// What reports show.
    pub analysis: Analysis,
    /// Throughput of every arm but the A/A one, for the stopping rule.
    pub deciding: Vec<Comparison>,
}

/// Analyses an experiment from its folder.
///
/// # Errors
/// Files of the folder that cannot be read.
pub fn analyse(folder: &Folder, experiment: &Experiment) -> Result<Outcome> {
    let (runs, torn) = folder.runs_and_rest()?;
    let rounds = Rounds::new(experiment, &runs);
    let compared = compare::compare_all(experiment, &rounds);
    let mut warnings = compared.warnings;
    if experiment.settings.looks.quick {
        warnings.push(
            "quick form: one look, short windows, thresholds of at least 5 %; run without --quick \
             before acting on it"
                .to_owned(),
        );
    }
    warnings.extend(experiment.gaps.iter().map(Gap::sentence));
    if let Some((count, what)) = rounds.restless() {
        let of = rounds.compared_count();
        warnings.push(format!("in {count} of {of} rounds {what} (gate G4)"));
    }
    warnings.extend(errors(experiment, &runs));
    warnings.extend(void_runs(experiment, &rounds));
    if torn {
        let what = "the last line of runs.jsonl is torn, as it was cut off while being written";
        warnings.push(format!("{what}; its run is left out"));
    }
    if rounds.count() == 0 {
        warnings.push("no round was finished: there is nothing to compare".to_owned());
    }
    let results = results(folder, experiment, &rounds)?;
    let diagnosis = diagnosis::findings(&Evidence {
        experiment,
        rounds: &rounds,
        results: &results,
        comparisons: &compared.rows,
    });
    let analysis = Analysis {
        schema_version: SCHEMA_VERSION,
        experiment: folder.path().display().to_string(),
        id: experiment.id.clone(),
        workload: experiment.plan.workload.clone(),
        why: experiment.plan.why.clone(),
        seed: experiment.settings.seed,
        quick: experiment.settings.looks.quick,
        rounds: rounds.count() as u32,
        rounds_compared: rounds.compared_count() as u32,
        rounds_disturbed: rounds.disturbed(),
        disturbance: rounds.disturbance(),
        started_at: experiment.started_at.clone(),
        ended: match experiment.ended {
            Some(Ended::Completed) => "completed",
            Some(Ended::Interrupted) => "interrupted",
            Some(Ended::Failed) => "failed",
            None => "unfinished",
        }
        .to_owned(),
        server: experiment.server.clone(),
        machine: experiment.machine.clone(),
        arms: arms(experiment, &runs),
        unavailable: experiment.unavailable.clone(),
        results,
        phases: phases(experiment, &rounds, &compared.noise_percent),
        comparisons: compared.rows,
        conditions: conditions::rows(experiment),
        taps: taps::rows(experiment, &rounds),
        diagnosis,
        warnings,
    };
    Ok(Outcome { analysis, deciding: compared.deciding })
}

/// How far an experiment has come.
///
/// # Errors
/// Files of the folder that cannot be read.
pub fn standing(folder: &Folder, experiment: &Experiment) -> Result<Standing> {
    Ok(Rounds::new(experiment, &folder.runs()?).standing())
}

/// The comparisons of throughput that decide whether more rounds are needed: of every arm but the
/// A/A one.
///
/// # Errors
/// Files of the folder that cannot be read.
pub fn deciding(folder: &Folder, experiment: &Experiment) -> Result<Vec<Comparison>> {
    Ok(analyse(folder, experiment)?.deciding)
}

impl Analysis {
    /// Whether there is no answer: no round, or each comparison that was asked for is void. Of one
    /// driver alone the A/A comparison is that. Exit code 6.
    #[must_use]
    pub fn nothing_comparable(&self) -> bool {
        let alone = self.comparisons.iter().all(|row| row.is_aa);
        let mut asked = self.comparisons.iter().filter(|row| alone || !row.is_aa);
        self.rounds == 0 || asked.all(|row| row.verdict == "NOT COMPARABLE")
    }
}

fn arms(experiment: &Experiment, runs: &[Run]) -> Vec<ArmSummary> {
    let summary = |arm: &record::records::Arm| {
        let own: Vec<&Run> = runs.iter().filter(|run| run.arm == arm.id).collect();
        let failed: Vec<&&Run> = own.iter().filter(|run| run.failed.is_some()).collect();
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
        }
    };
    experiment.arms.iter().map(summary).collect()
}

/// Runs that are shown but not compared: how many in each phase, and why the first.
fn void_runs(experiment: &Experiment, rounds: &Rounds) -> Vec<String> {
    let sentence = |phase: &Phase| {
        let losses = experiment.arms.iter().flat_map(|arm| rounds.losses(&arm.id, &phase.name));
        let losses: Vec<String> = losses.collect();
        let all = rounds.compared_count() * experiment.arms.len();
        let first = losses.first()?;
        let (name, void) = (&phase.name, losses.len());
        Some(format!("{name}: {void} of {all} runs are not compared, the first because {first}"))
    };
    experiment.plan.phases.iter().filter_map(sentence).collect()
}

/// Errors by arm, phase and code, over all rounds.
#[must_use]
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

fn results(folder: &Folder, experiment: &Experiment, rounds: &Rounds) -> Result<Vec<ResultRow>> {
    let mut rows = Vec::new();
    for arm in &experiment.arms {
        for phase in &experiment.plan.phases {
            let runs = rounds.measured(&arm.id, &phase.name);
            let measured: Vec<_> = runs.iter().copied().flatten().collect();
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
                let throughputs: Vec<f64> = measured.iter().map(|run| run.throughput).collect();
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
                    timer_p99_us: timer.and_then(|it| it.p99_us),
                    document_ns: median(&making).filter(|_| operation.documents.is_some()),
                    cpu_us_per_op: median(&cpu),
                    rss_peak_bytes: measured.iter().map(|run| run.rss_peak_bytes).max(),
                    operations: by_operation.iter().map(|it| it.count).sum(),
                    errors: by_operation.iter().map(|it| it.failed + it.wrong).sum(),
                    document_bytes: measured.iter().map(|run| run.document_bytes).sum(),
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

fn phases(
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
        let in_flight = phase.workers * phase.processes;
        PhaseSummary {
            phase: phase.name.clone(),
            interleave: settings.map_or(String::new(), |it| match it.interleave {
                stats::threshold::Interleave::Turns => "turns".to_owned(),
                stats::threshold::Interleave::Runs => "runs".to_owned(),
            }),
            interleave_reason: settings.map_or(String::new(), |it| it.reason.clone()),
            turn_ms: median(&turns),
            loop_note: match phase.pacing {
                Pacing::Awaited { .. } | Pacing::Window { .. } => format!(
                    "closed loop, {in_flight} in flight; omits waiting a real caller would see"
                ),
                Pacing::Rate { per_second, poisson } => format!(
                    "open loop, {per_second} operations a second offered{}",
                    if poisson { ", Poisson arrivals" } else { "" }
                ),
                Pacing::Burst {} => "burst: every operation intended at the start".to_owned(),
            },
            aa_noise_percent: noise_percent.get(&phase.name).copied(),
        }
    };
    experiment.plan.phases.iter().map(summary).collect()
}
