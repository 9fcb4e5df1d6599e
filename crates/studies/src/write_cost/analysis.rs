//! Figures of drivers over rounds, from runs.

use super::runs::{calls_us, time_us, whole, written};
use super::types::{Around, Documents, Row, Value, Way, WriteCostAnalysis};
use super::{answers, by_size, memory, stored};
use crate::doubts;
use crate::study::{Made, Outcome};
use judge::analysis::rounds::Rounds;
use record::folder::Series;
use record::records::{PhaseRun, ServerSample};
use stats::descriptive::median;
use workload::plan::Phase;

/// The study's tables and its answers, from the runs of its parts.
pub fn analyse(made: &Outcome<'_>) -> WriteCostAnalysis {
    let documents = ["small", "large"].into_iter().filter_map(|name| made.part(name));
    let doubts = doubts::of_parts(made, false);
    let mut analysis = WriteCostAnalysis {
        documents: documents.map(in_every_way).collect(),
        by_size: made.part("by-size").map(by_size::lines).unwrap_or_default(),
        stored: made.part("stored").map(stored::stored).unwrap_or_default(),
        memory: made.part("memory").map(memory::memory).unwrap_or_default(),
        evidence: Vec::new(),
        notes: doubts::notes_of_parts(made, &doubts),
    };
    // A death of memory is a result, and said as one.
    let runs = made.part("memory").into_iter().flat_map(|it| it.runs);
    let deaths: Vec<&str> =
        runs.filter(|it| it.death.is_some()).filter_map(|it| it.failed.as_deref()).collect();
    analysis.notes.retain(|note| !deaths.iter().any(|death| note.ends_with(*death)));
    analysis.evidence = answers::all(&analysis);
    doubts::weigh(&doubts, &mut analysis.evidence, |_| Vec::new());
    analysis
}

fn in_every_way(made: &Made<'_>) -> Documents {
    let plan = &made.experiment.plan;
    let first = &plan.phases[0];
    let bytes = plan.collection(&first.operations[0]).map_or(0.0, |it| it.document_bytes_mean);
    let rounds = Rounds::new(made.experiment, made.runs);
    let series = made.folder.series().unwrap_or_default();
    let row = |arm: &record::records::Arm| Row {
        arm: arm.id.clone(),
        ways: plan
            .phases
            .iter()
            .map(|phase| Way {
                not_measured: arm.not_measured.get(&phase.name).cloned(),
                ..way(phase, bytes, &whole(&rounds, &arm.id, &phase.name))
            })
            .collect(),
    };
    Documents {
        name: made.part.to_owned(),
        bytes,
        count: written(first, u64::MAX).unwrap_or(0),
        phases: plan.phases.iter().map(|phase| around(phase, &series)).collect(),
        rows: made.experiment.arms.iter().map(row).collect(),
    }
}

fn way(phase: &Phase, bytes: f64, runs: &[&PhaseRun]) -> Way {
    let growth = |run: &&PhaseRun| {
        let held = run.rss_held_bytes? as f64 - run.rss_armed_bytes as f64;
        Some(held / (written(phase, run.operations)? as f64 * bytes))
    };
    let bytes_of = |figure: fn(&PhaseRun) -> Option<u64>| {
        let each: Vec<f64> =
            runs.iter().filter_map(|run| figure(run)).map(|it| it as f64).collect();
        median(&each).map(|it| it as u64)
    };
    Way {
        phase: phase.name.clone(),
        time_us: Value::of(runs.iter().filter_map(|run| time_us(phase, run))),
        total_ms: Value::of(runs.iter().map(|run| calls_us(run) / 1e3)),
        armed_bytes: bytes_of(|run| Some(run.rss_armed_bytes)),
        peak_bytes: bytes_of(|run| Some(run.rss_peak_bytes)),
        held_bytes: bytes_of(|run| run.rss_held_bytes),
        held_share: Value::of(runs.iter().filter_map(growth)),
        collections: median(
            &runs.iter().filter_map(|run| run.gc_count).map(|it| it as f64).collect::<Vec<_>>(),
        ),
        not_measured: None,
    }
}

fn around(phase: &Phase, series: &Series) -> Around {
    let samples = || series.server.iter().filter(|sample| sample.phase == phase.name);
    let cached = |it: &ServerSample| it.values.get("cache.bytes currently in the cache").copied();
    let busy = samples().filter_map(|it| it.shares.get("disk.busy_fraction").copied());
    Around {
        phase: phase.name.clone(),
        cache_bytes: samples().filter_map(cached).max().map(i64::cast_unsigned),
        disk_busy_percent: median(&busy.map(|it| it * 100.0).collect::<Vec<_>>()),
    }
}
