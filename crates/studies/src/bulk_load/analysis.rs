//! The loads of every part, from its runs.

use super::in_turn::{self, Call};
use super::parts::{BY_HOSTS, BY_SHARDS};
use super::types::{BulkLoadAnalysis, Load};
use super::{answer, spread, tenths};
use crate::doubts;
use crate::study::{Made, Outcome};
use judge::analysis::rounds::Rounds;
use record::records::{PhaseRun, ServerKind, ServerSample};
use record::samples::{Sample, Samples};
use stats::descriptive::over_rounds;
use workload::plan::{Count, Limit, Phase, Plan};

/// The study's tables and its answer.
pub fn analyse(made: &Outcome<'_>) -> BulkLoadAnalysis {
    let loads: Vec<Load> = made.made.iter().flat_map(loads).collect();
    let doubts = doubts::of_parts(made, false);
    let mut evidence = answer::all(&loads);
    doubts::weigh(&doubts, &mut evidence, |_| Vec::new());
    BulkLoadAnalysis { evidence, notes: doubts::notes_of_parts(made, &doubts), loads }
}

/// Of one part, in the order of its plan.
pub fn loads(made: &Made<'_>) -> Vec<Load> {
    let rounds = Rounds::new(made.experiment, made.runs);
    let plan = &made.experiment.plan;
    let each = plan
        .phases
        .iter()
        .flat_map(|phase| made.experiment.arms.iter().map(move |arm| (phase, arm.id.as_str())));
    each.map(|(phase, arm)| load(made, &rounds, phase, arm)).collect()
}

fn load(made: &Made<'_>, rounds: &Rounds<'_>, phase: &Phase, arm: &str) -> Load {
    let runs = rounds.of(arm, &phase.name);
    let documents = documents(phase);
    let of_each = |of: &dyn Fn(&PhaseRun) -> Option<f64>| -> Vec<Option<f64>> {
        runs.iter().map(|run| of((*run)?)).collect()
    };
    let over =
        |values: &[Option<f64>]| over_rounds(&values.iter().copied().flatten().collect::<Vec<_>>());
    let per_document = |of: &dyn Fn(&PhaseRun) -> Option<f64>| {
        over(&of_each(&|run| Some(of(run)? / documents as f64)))
    };
    let rates = of_each(&|run| (run.measured_s > 0.0).then(|| documents as f64 / run.measured_s));
    let limits = &made.experiment.server.options;
    let last = runs.iter().copied().flatten().next_back();
    let seconds = spread::seconds(made, &phase.name);
    // Of each round that has them. They hold every sample: read once.
    let dealt: Vec<_> = runs.iter().copied().flatten().map(|run| calls(made, phase, run)).collect();
    let at_once = dealt.iter().flatten().map(|it| Some(in_turn::at_once(it)));
    let over_time = match dealt.last() {
        Some(Some(calls)) => in_turn::over_time(calls),
        _ => last.map_or(Vec::new(), |run| over_time(made, run, &seconds)),
    };
    Load {
        part: made.part.to_owned(),
        phase: phase.name.clone(),
        arm: arm.to_owned(),
        documents,
        document_bytes: document_bytes(&made.experiment.plan, phase),
        took_ms: over(&of_each(&|run| Some(run.measured_s * 1e3))),
        documents_per_s: over(&rates),
        rates,
        wire_bytes: per_document(&|run| Some(*run.server.get("network.bytesIn")? as f64)),
        stored_bytes: per_document(&|run| grown_bytes(run, "storageSize")),
        index_bytes: per_document(&|run| grown_bytes(run, "totalIndexSize")),
        last_tenth_percent: over(&of_each(&|run| last_tenth_percent(made, phase, run))),
        by_host: last.map_or(Vec::new(), spread::by_host),
        busiest_percent: spread::busiest(seconds.iter()),
        hosts_at_once: over(&at_once.collect::<Vec<_>>()),
        hosts_over_time: over_time,
        server: server(made),
        room_bytes: limits.memory_bytes.or(limits.cache_bytes),
        twentieths: twentieths(made, phase, &runs),
        lost: rounds.losses(arm, &phase.name),
    }
}

fn server(made: &Made<'_>) -> String {
    let server = &made.experiment.server;
    let whose = if server.kind == ServerKind::External { "yours" } else { "of this machine" };
    format!("MongoDB {} {whose}", server.version)
}

/// Documents of one load of a phase.
fn documents(phase: &Phase) -> u64 {
    let operation = phase.single().map(|(_, operation)| operation);
    match (operation.and_then(|it| it.count), phase.limit) {
        (Some(Count::Rest { documents, .. }), _) => documents,
        (_, Limit::Operations { count, .. }) => count,
        (_, Limit::Duration { .. }) => 0,
    }
}

fn document_bytes(plan: &Plan, phase: &Phase) -> f64 {
    let operation = phase.single().map(|(_, operation)| operation);
    let pool = operation.and_then(|operation| plan.pool(phase, operation));
    pool.map_or(0.0, |pool| pool.document_bytes_mean)
}

/// Growth of one of the collection's sizes.
fn grown_bytes(run: &PhaseRun, size: &str) -> Option<f64> {
    let after = *run.sizes.get(&format!("after.collStats.{size}"))?;
    let before = run.sizes.get(&format!("before.collStats.{size}")).copied().unwrap_or(0);
    // A file that no checkpoint has written yet has no size.
    (after > before).then(|| (after - before) as f64)
}

/// By host, where the adapter deals them.
fn calls(made: &Made<'_>, phase: &Phase, run: &PhaseRun) -> Option<Vec<Vec<Call>>> {
    let (_, operation) = phase.single()?;
    let count = operation.count.filter(|_| made.part == BY_HOSTS)?;
    in_turn::calls(count, &samples(made, run)?, run.samples.len(), &spread::by_host(run))
}

/// Of shards, by the seconds of the load.
fn over_time(made: &Made<'_>, run: &PhaseRun, seconds: &[ServerSample]) -> Vec<Vec<f64>> {
    if made.part != BY_SHARDS {
        return Vec::new();
    }
    let samples = samples(made, run).unwrap_or_default();
    let began_ns = samples.iter().map(|it| it.start_ns).min();
    let ended_ns = samples.iter().map(Sample::end_ns).max();
    let Some((began_ns, ended_ns)) = began_ns.zip(ended_ns) else { return Vec::new() };
    let is_within = |it: &&ServerSample| (began_ns..=ended_ns).contains(&it.at_ns);
    spread::over_time(&seconds.iter().filter(is_within).collect::<Vec<_>>())
}

/// Of all processes.
fn samples(made: &Made<'_>, run: &PhaseRun) -> Option<Vec<Sample>> {
    let mut all = Vec::new();
    for file in &run.samples {
        for sample in Samples::below(made.folder.path(), file).ok()? {
            all.push(sample.ok()?);
        }
    }
    Some(all)
}

/// Of a server whose cache is limited.
fn twentieths(made: &Made<'_>, phase: &Phase, runs: &[Option<&PhaseRun>]) -> Vec<Vec<f64>> {
    if made.experiment.server.options.cache_bytes.is_none() {
        return Vec::new();
    }
    let documents = documents(phase) as f64;
    let of_run = |run: &&PhaseRun| {
        let per_call = documents / run.operations as f64;
        let calls = tenths::twentieths(run.operations, even_samples(made, phase, run)?);
        Some(calls.into_iter().map(|it| it * per_call).collect::<Vec<f64>>())
    };
    let each = runs.iter().flatten().filter_map(of_run);
    each.filter(|it| it.len() as u64 == tenths::PARTS).collect()
}

fn last_tenth_percent(made: &Made<'_>, phase: &Phase, run: &PhaseRun) -> Option<f64> {
    tenths::last_tenth_percent(run.operations, even_samples(made, phase, run)?)
}

/// None where the calls differ in size, or come from several workers or processes.
fn even_samples(made: &Made<'_>, phase: &Phase, run: &PhaseRun) -> Option<Samples> {
    let (_, operation) = phase.single()?;
    let even = match operation.count {
        Some(Count::Rest { batch, documents }) => documents.is_multiple_of(u64::from(batch)),
        _ => true,
    };
    let [file] = &run.samples[..] else { return None };
    if !even || !phase.has_one_worker() {
        return None;
    }
    Samples::below(made.folder.path(), file).ok()
}
