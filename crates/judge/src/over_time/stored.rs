//! From an experiment to what is kept of it over time.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::analysis::since::label;
use crate::analysis::types::{Analysis, Metric};
use record::history_store::{STORE_VERSION, StoredArm, StoredExperiment, StoredFigure};
use record::records::{Arm, Experiment};

/// Fields of a request that do not make it another one: seeds and gates; addresses and paths; and
/// what is compared in another form (the workload by its content, drivers without their versions,
/// the server by its kind).
const NOT_COMPARED: [&str; 10] = [
    "seed",
    "gates",
    "gate_unclear",
    "uri",
    "hosts",
    "workload",
    "parameters",
    "drivers",
    "consumer",
    "server",
];

/// What is kept of an experiment.
pub fn stored(experiment: &Experiment, analysis: &Analysis) -> StoredExperiment {
    StoredExperiment {
        schema_version: STORE_VERSION,
        id: experiment.id.clone(),
        started_at: experiment.started_at.clone(),
        mongodyno: experiment.mongodyno.clone(),
        workload: experiment.plan.workload.clone(),
        asked: asked(experiment),
        machine: experiment.machine.clone(),
        server: format!("{} {}", experiment.server.kind.word(), experiment.server.version),
        arms: experiment.arms.iter().filter(|arm| !arm.is_direct).map(arm).collect(),
        figures: figures(analysis),
    }
}

fn arm(arm: &Arm) -> StoredArm {
    StoredArm {
        id: arm.id.clone(),
        is_aa: arm.is_aa,
        version: arm.version.clone(),
        runtime: arm.runtime.clone(),
        native: arm.native,
        lock_sha256: arm.lock_sha256.clone(),
        resolved: arm.resolved.clone(),
    }
}

fn figures(analysis: &Analysis) -> Vec<StoredFigure> {
    let figure = |row: &crate::analysis::types::ResultRow| {
        let compared = analysis.comparisons.iter().filter(|it| {
            it.arm == row.arm && it.phase == row.phase
                // What a whole phase has is compared once, under the phase's name.
                && [&row.operation, &row.phase].contains(&&it.operation)
        });
        let ratio = |percent: f64| (percent / 100.0).ln_1p();
        let of = compared
            .filter_map(|it| Some((it.metric.word().to_owned(), ratio(it.estimate_percent?))));
        StoredFigure {
            arm: row.arm.clone(),
            phase: row.phase.clone(),
            operation: row.operation.clone(),
            against_baseline: of.filter(|(_, ratio)| ratio.is_finite()).collect(),
            values: row.values.clone(),
        }
    };
    analysis.results.iter().map(figure).collect()
}

/// What was asked for, by name.
fn asked(experiment: &Experiment) -> BTreeMap<String, Value> {
    let request = experiment.request.clone().unwrap_or_default();
    let fields = serde_json::to_value(&request).expect("requests serialise");
    let fields = fields.as_object().cloned().unwrap_or_default();
    let mut asked: BTreeMap<String, Value> = fields.into_iter().collect();
    asked.retain(|name, _| !NOT_COMPARED.contains(&name.as_str()));
    let mut drivers: Vec<String> =
        request.drivers.iter().map(|it| without_version(it.called())).collect();
    if experiment.request.is_none() {
        // Folders of earlier versions.
        let own = experiment.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct);
        drivers = own.map(|arm| label(&arm.id)).collect();
        asked.insert("quick".to_owned(), experiment.settings.looks.quick.into());
    }
    let consumer = request.consumer.as_ref().map(|it| without_version(it.called()));
    let server = &experiment.server;
    let kind = format!("{}, {}", server.kind.word(), server.topology);
    asked.extend([
        ("workload".to_owned(), json!(experiment.plan.workload)),
        ("content of the workload".to_owned(), json!(experiment.plan.workload_sha256)),
        ("parameters".to_owned(), json!(experiment.plan.parameters)),
        ("drivers".to_owned(), json!(drivers)),
        ("consumer".to_owned(), json!(consumer)),
        ("server".to_owned(), json!(kind)),
    ]);
    asked
}

/// A driver as `-d` takes it, without its version, path or commit: `python@4.20.0/w=1` becomes
/// `python/w=1`.
fn without_version(words: &str) -> String {
    let (name, rest) = words.split_once('@').unwrap_or((words, ""));
    let options = rest.split('/').filter(|part| part.contains('='));
    [name].into_iter().chain(options).collect::<Vec<_>>().join("/")
}

/// The value of a figure as ln(cost); + is slower.
pub(super) fn cost(figure: &StoredFigure, metric: Metric) -> Option<f64> {
    let value = figure.values.judged(metric).filter(|it| *it > 0.0)?.ln();
    Some(if metric == Metric::Throughput { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::without_version;

    #[test]
    fn versions_paths_and_commits_are_no_part_of_a_request() {
        for (words, expected) in [
            ("python", "python"),
            ("python@4.20.0/w=1", "python/w=1"),
            ("node:mongolian@0.1.18", "node:mongolian"),
            ("python@./checkout", "python"),
            ("go@git:/src/driver#main/api=v2", "go/api=v2"),
        ] {
            assert_eq!(without_version(words), expected);
        }
    }
}
