//! The judging side: from a folder's records to verdicts and causes.
//!
//! Reads nothing but the folder, so that any report can be made again later by a newer version.

pub mod analysis;
pub mod deciding;
pub mod diagnosis;
pub mod objectives;
pub mod over_time;

use analysis::compare::{self, compare_all};
use analysis::rounds::Rounds;
use analysis::types::{AlsoRow, Analysis, Metric, ObjectiveRow};
use analysis::{changed, conditions, documents, pooled_quantiles, rows, since, taps};
use base::error::Result;
use diagnosis::DiagnosisInput;
use objectives::ObjectiveGate;
use record::folder::Folder;
use record::records::{Blocks, Ended, Experiment, Gap, GateUnclear, SCHEMA_VERSION};
use stats::comparison::Comparison;
use stats::looks::RoundsProgress;

/// The analysis, and the comparisons that decide whether more rounds are needed.
pub struct AnalysisOutcome {
    pub analysis: Analysis,
    /// Throughput of every arm but the A/A one, for the stopping rule.
    pub compared: Vec<Comparison>,
}

pub fn analyse(folder: &Folder, experiment: &Experiment) -> Result<AnalysisOutcome> {
    let (runs, torn) = folder.runs_and_rest()?;
    let rounds = Rounds::new(experiment, &runs);
    let compared = compare_all(experiment, &rounds);
    let mut warnings = compared.warnings;
    if experiment.settings.looks.quick {
        warnings.push(
            "quick form: one look, short windows, thresholds of at least 5 %; run without --quick \
             before acting on it"
                .to_owned(),
        );
    }
    warnings.extend(experiment.settings.conduct.order().caution().map(str::to_owned));
    warnings.extend(experiment.settings.blocks.as_ref().map(Blocks::sentence));
    warnings.extend(experiment.gaps.iter().map(Gap::sentence));
    if let Some((count, what)) = rounds.restless() {
        let of = rounds.compared().len();
        warnings.push(format!("in {count} of {of} rounds {what} (gate G4)"));
    }
    warnings.extend(rows::errors(experiment, &runs));
    warnings.extend(rows::void_runs(experiment, &rounds));
    if torn {
        let what = "the last line of runs.jsonl is torn, as it was cut off while being written";
        warnings.push(format!("{what}; its run is left out"));
    }
    warnings.extend(pooled_quantiles::missing(folder));
    warnings.extend(rows::alone(experiment));
    if rounds.count() == 0 {
        warnings.push("no round was finished: there is nothing to compare".to_owned());
    }
    let results = rows::results(folder, experiment, &rounds)?;
    let diagnosis = diagnosis::findings(&DiagnosisInput {
        experiment,
        rounds: &rounds,
        results: &results,
        comparisons: &compared.rows,
    });
    let mut since = since::rows(compared.series);
    changed::explain(&mut since, experiment, &rounds);
    let mut analysis = Analysis {
        schema_version: SCHEMA_VERSION,
        experiment: folder.path().display().to_string(),
        id: experiment.id.clone(),
        workload: experiment.plan.workload.clone(),
        why: experiment.plan.why.clone(),
        seed: experiment.settings.seed,
        quick: experiment.settings.looks.quick,
        rounds: rounds.count() as u32,
        rounds_compared: rounds.compared().len() as u32,
        rounds_disturbed: rounds.disturbed(),
        disturbance: rounds.disturbance(),
        started_at: experiment.started_at.clone(),
        ended: experiment.ended.unwrap_or(Ended::Unfinished),
        server: experiment.server.clone(),
        machine: experiment.machine.clone(),
        arms: rows::arms(experiment, &runs),
        unavailable: experiment.unavailable.clone(),
        results,
        phases: rows::phases(experiment, &rounds, &compared.noise_percent),
        comparisons: compared.rows,
        conditions: conditions::rows(experiment),
        taps: taps::rows(experiment, &rounds),
        deaths: rows::deaths(experiment, &runs),
        since,
        objectives: Vec::new(),
        gate_unclear: None,
        diagnosis,
        doubts: documents::doubts(experiment, &rounds),
        warnings,
    };
    let settings = &experiment.settings;
    keep(&mut analysis, &settings.conduct.gates, settings.conduct.gate_unclear);
    Ok(AnalysisOutcome { analysis, compared: compared.deciding })
}

/// Holds the analysis against further gates. Each was read before: one that is none says nothing.
/// `unclear` is what those count as that are not shown either way; None leaves it as it is.
pub fn keep(analysis: &mut Analysis, gates: &[String], unclear: Option<GateUnclear>) {
    analysis.gate_unclear = unclear.or(analysis.gate_unclear);
    let gates = gates.iter().filter_map(|text| ObjectiveGate::parse(text).ok());
    let rows: Vec<ObjectiveRow> = gates.flat_map(|gate| gate.rows(analysis)).collect();
    analysis.objectives.extend(rows);
}

/// One figure of a phase by arm and compared round, as ln(cost per operation): + is slower. None
/// where the phase has no such figure.
pub fn costs(
    folder: &Folder,
    experiment: &Experiment,
    phase: &str,
    metric: Metric,
) -> Result<Option<Vec<Vec<Option<f64>>>>> {
    let runs = folder.runs()?;
    let rounds = Rounds::new(experiment, &runs);
    let phase = experiment.plan.phases.iter().find(|it| it.name == phase);
    let measure = phase.and_then(|phase| compare::values(experiment, &rounds, phase, metric, None));
    Ok(measure.map(|measure| measure.costs()))
}

/// What differs between the baseline and the first other arm, but for the figure compared.
pub fn also(
    folder: &Folder,
    experiment: &Experiment,
    phase: &str,
    metric: Metric,
) -> Result<Vec<AlsoRow>> {
    let runs = folder.runs()?;
    let rounds = Rounds::new(experiment, &runs);
    let mut own = experiment.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct);
    let (Some(a), Some(b)) = (own.next(), own.next()) else { return Ok(Vec::new()) };
    Ok(changed::also(experiment, &rounds, (phase, metric), [a, b]))
}

pub fn standing(folder: &Folder, experiment: &Experiment) -> Result<RoundsProgress> {
    Ok(Rounds::new(experiment, &folder.runs()?).standing())
}
