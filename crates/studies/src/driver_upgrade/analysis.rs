//! Times, traffic and ratios of the versions, from the runs of each experiment.

use super::answer;
use super::types::{Correlation, PartRows, Ratio, Row, UpgradeAnalysis};
use super::{CREATE, READ, UNWAITED, VERSIONS};
use crate::evidence;
use crate::study::{Made, Outcome};
use judge::analysis::rounds::Rounds;
use record::records::{Arm, PhaseRun};
use stats::descriptive::{OverRounds, median, over_rounds};
use stats::spearman::spearman;
use workload::plan::Limit;

type Figure = fn(&Row) -> Option<f64>;

/// Totals that the original published, by version, ms.
const ORIGINAL_MS: [(&str, f64); 2] = [("1.6.1", 28_314.0), ("1.9.2", 59_171.0)];

pub fn analyse(outcome: &Outcome<'_>) -> UpgradeAnalysis {
    let (mut parts, mut ratios) = (Vec::new(), Vec::new());
    for made in &outcome.made {
        let rounds = Rounds::new(made.experiment, made.runs);
        let rows = arms(made).map(|arm| row(made, &rounds, arm)).collect();
        parts.push(PartRows { part: made.part.to_owned(), rows });
        ratios.extend(of_ends(made, &rounds));
    }
    let versions = parts.iter().find(|it| it.part == VERSIONS);
    let mut analysis = UpgradeAnalysis {
        correlations: versions.map_or(Vec::new(), |part| correlations(&part.rows)),
        parts,
        ratios,
        evidence: Vec::new(),
        notes: evidence::notes_of_parts(outcome),
    };
    analysis.evidence = answer::all(outcome, &analysis);
    analysis
}

/// Without the twins of the baseline.
fn arms<'a>(made: &Made<'a>) -> impl Iterator<Item = &'a Arm> {
    made.experiment.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct)
}

/// Seconds that all operations of a phase take at the rate of one round, by round.
fn seconds(made: &Made<'_>, rounds: &Rounds<'_>, arm: &str, phase: &str) -> Vec<Option<f64>> {
    let planned = made.experiment.plan.phases.iter().find(|it| it.name == phase);
    let Some(Limit::Operations { count, .. }) = planned.map(|it| &it.limit) else {
        return Vec::new();
    };
    let time = |run: &PhaseRun| (run.throughput > 0.0).then(|| *count as f64 / run.throughput);
    rounds.of(arm, phase).into_iter().map(|run| time(run?)).collect()
}

fn both(a: &[Option<f64>], b: &[Option<f64>]) -> Vec<Option<f64>> {
    a.iter().zip(b).map(|(a, b)| Some((*a)? + (*b)?)).collect()
}

fn ms(seconds: &[Option<f64>]) -> Option<OverRounds> {
    over_rounds(&seconds.iter().flatten().map(|it| it * 1e3).collect::<Vec<_>>())
}

fn row(made: &Made<'_>, rounds: &Rounds<'_>, arm: &Arm) -> Row {
    let phase = |name: &str| rounds.of(&arm.id, name).into_iter().flatten().collect::<Vec<_>>();
    let (created, read) = (phase(CREATE), phase(READ));
    let all: Vec<&PhaseRun> = created.iter().chain(&read).copied().collect();
    // Failures make a run void: it is no figure, and yet an answer.
    let tried = |name: &str| rounds.measured(&arm.id, name).into_iter().flatten();
    let tried: Vec<&PhaseRun> = [CREATE, READ, UNWAITED].into_iter().flat_map(tried).collect();
    let [create_s, read_s] = [CREATE, READ].map(|name| seconds(made, rounds, &arm.id, name));
    let quantile = |of: &[&PhaseRun], which: fn(&PhaseRun) -> Option<f64>| {
        median(&of.iter().filter_map(|run| which(run)).collect::<Vec<_>>())
    };
    let p50 = |run: &PhaseRun| run.by_operation.first().and_then(|it| it.service.p50_us);
    let p99 = |run: &PhaseRun| run.by_operation.first().and_then(|it| it.service.p99_us);
    let counter = |run: &PhaseRun, name: &str| run.server.get(name).map(|it| *it as f64);
    let per_s = |name: &str| {
        let each = all.iter().filter_map(|run| Some(counter(run, name)? / run.measured_s));
        median(&each.collect::<Vec<_>>())
    };
    let per_op = |name: &str| {
        let each = all.iter().filter_map(|run| Some(counter(run, name)? / run.operations as f64));
        median(&each.collect::<Vec<_>>())
    };
    let operations = || tried.iter().flat_map(|run| &run.by_operation);
    // A phase of one operation calls it by its kind.
    let reads = || operations().filter(|it| it.operation == READ || it.operation == "find_one");
    Row {
        arm: arm.id.clone(),
        adapter: arm.adapter.clone(),
        version: arm.version.clone(),
        acknowledged: arm.acknowledged,
        total_ms: ms(&both(&create_s, &read_s)),
        create_ms: ms(&create_s),
        read_ms: ms(&read_s),
        create_p50_us: quantile(&created, p50),
        create_p99_us: quantile(&created, p99),
        read_p50_us: quantile(&read, p50),
        read_p99_us: quantile(&read, p99),
        reads: reads().map(|it| it.count).sum(),
        reads_missed: reads().map(|it| it.wrong).sum(),
        failed: operations().map(|it| it.failed).sum(),
        connections_peak: tried.iter().filter_map(|run| run.connections_peak).max(),
        threads_peak: tried.iter().filter_map(|run| run.threads_peak).max(),
        connections_per_s: per_s("connections.totalCreated"),
        in_per_s: per_s("network.bytesIn"),
        out_per_s: per_s("network.bytesOut"),
        in_per_op: per_op("network.bytesIn"),
        out_per_op: per_op("network.bytesOut"),
        cpu_us_per_op: median(&all.iter().map(|run| run.cpu_us_per_op).collect::<Vec<_>>()),
        original_ms: original_ms(made.part, arm),
    }
}

/// The original ran on Mono, each version at its defaults.
pub fn original_ms(part: &str, arm: &Arm) -> Option<f64> {
    let (_, ms) = ORIGINAL_MS.iter().find(|(version, _)| {
        let rest = arm.version.strip_prefix(version);
        part == VERSIONS
            && arm.id.contains("runtime=mono")
            && rest.is_some_and(|it| it.is_empty() || it.starts_with('.'))
    })?;
    Some(*ms)
}

/// The first and the last version of each driver.
fn of_ends(made: &Made<'_>, rounds: &Rounds<'_>) -> Vec<Ratio> {
    let mut ends: Vec<(&Arm, &Arm)> = Vec::new();
    for arm in arms(made) {
        match ends.iter_mut().find(|(first, _)| first.adapter == arm.adapter) {
            Some((_, last)) => *last = arm,
            None => ends.push((arm, arm)),
        }
    }
    let ratio = |(first, last): (&Arm, &Arm)| {
        let of = |arm: &Arm, phase: &str| seconds(made, rounds, &arm.id, phase);
        let total = |arm: &Arm| both(&of(arm, CREATE), &of(arm, READ));
        let over = |last: Vec<Option<f64>>, first: Vec<Option<f64>>| {
            let each =
                last.iter().zip(&first).filter_map(|(last, first)| Some((*last)? / (*first)?));
            over_rounds(&each.collect::<Vec<_>>())
        };
        Ratio {
            part: made.part.to_owned(),
            adapter: first.adapter.clone(),
            first: first.id.clone(),
            last: last.id.clone(),
            create: over(of(last, CREATE), of(first, CREATE)),
            total: over(total(last), total(first)),
        }
    };
    ends.into_iter().filter(|(first, last)| first.id != last.id).map(ratio).collect()
}

/// Traffic a second, and bytes an operation, with the time of a version and its place in the line.
fn correlations(rows: &[Row]) -> Vec<Correlation> {
    let mut adapters: Vec<&str> = rows.iter().map(|row| row.adapter.as_str()).collect();
    adapters.dedup();
    let mut found = Vec::new();
    for adapter in adapters {
        let of: Vec<&Row> = rows.iter().filter(|row| row.adapter == adapter).collect();
        let traffic: Figure = |row| Some(row.in_per_s? + row.out_per_s?);
        let bytes: Figure = |row| Some(row.in_per_op? + row.out_per_op?);
        let figures: [(&str, Figure); 2] = [("traffic", traffic), ("bytes an operation", bytes)];
        for (name, figure) in figures {
            let time =
                |(_, row): (usize, &&Row)| Some((row.total_ms?.median.estimate, figure(row)?));
            let place = |(at, row): (usize, &&Row)| Some((at as f64, figure(row)?));
            let pairs: [(&str, Vec<(f64, f64)>); 2] = [
                ("time", of.iter().enumerate().filter_map(time).collect()),
                ("version", of.iter().enumerate().filter_map(place).collect()),
            ];
            found.extend(pairs.map(|(with, pairs)| Correlation {
                adapter: adapter.to_owned(),
                of: name.to_owned(),
                with: with.to_owned(),
                versions: pairs.len(),
                rho: spearman(&pairs),
            }));
        }
    }
    found
}
