//! Times, traffic and ratios of the versions, from the runs of each experiment.

use super::answer;
use super::types::{Correlation, PartRows, Ratio, Row, UpgradeAnalysis};
use super::{CONCERN, CONNECTIONS, CREATE, READ, UNWAITED, VERSIONS};
use crate::doubts;
use crate::study::{Made, Outcome};
use judge::analysis::rounds::Rounds;
use record::records::{Arm, ClientSample, PhaseRun};
use stats::descriptive::{OverRounds, median, over_rounds};
use stats::spearman::spearman;
use workload::plan::{Limit, Phase, Plan};

type Figure = fn(&Row) -> Option<f64>;

/// Totals that the original published, by build, ms.
pub const ORIGINAL_MS: [(&str, f64); 10] = [
    ("1.6.1.4678", 28_314.0),
    ("1.7.0.4714", 33_085.0),
    ("1.7.1.4791", 33_932.0),
    ("1.8.0.124", 36_391.0),
    ("1.8.1.20", 38_995.0),
    ("1.8.2.34", 41_144.0),
    ("1.8.3.9", 40_477.0),
    ("1.9.0.200", 59_239.0),
    ("1.9.1.221", 60_077.0),
    ("1.9.2.235", 59_171.0),
];

pub fn analyse(outcome: &Outcome<'_>) -> UpgradeAnalysis {
    let (mut parts, mut ratios) = (Vec::new(), Vec::new());
    for made in &outcome.made {
        let of = Part {
            made,
            rounds: Rounds::new(made.experiment, made.runs),
            clients: made.folder.series().map(|it| it.clients).unwrap_or_default(),
        };
        let plan = &made.experiment.plan;
        parts.push(PartRows {
            part: made.part.to_owned(),
            operations: plan.phases.first().map_or(0, |phase| phase.limit.operations()),
            threads: plan.phases.first().map_or(0, Phase::all_workers),
            rows: of.rows(),
        });
        ratios.extend(if made.part == CONCERN { of.factors() } else { of.ends() });
    }
    let doubts = doubts::of_parts(outcome, true);
    let versions = parts.iter().find(|it| it.part == VERSIONS);
    let mut analysis = UpgradeAnalysis {
        correlations: versions.map_or(Vec::new(), |part| correlations(&part.rows)),
        parts,
        ratios,
        evidence: Vec::new(),
        notes: doubts::notes_of_parts(outcome, &doubts),
    };
    analysis.evidence = answer::all(outcome, &analysis, &doubts);
    doubts::weigh(&doubts, &mut analysis.evidence, |it| answer::basis(it, &analysis.ratios));
    analysis
}

/// Operations that a phase counts.
fn planned(plan: &Plan, phase: &str) -> Option<u64> {
    match plan.phases.iter().find(|it| it.name == phase)?.limit {
        Limit::Operations { count, .. } => Some(count),
        Limit::Duration { .. } => None,
    }
}

type ByRound = Vec<Option<f64>>;

fn both(a: &[Option<f64>], b: &[Option<f64>]) -> ByRound {
    a.iter().zip(b).map(|(a, b)| Some((*a)? + (*b)?)).collect()
}

fn over(of: &[Option<f64>]) -> Option<OverRounds> {
    over_rounds(&of.iter().flatten().copied().collect::<Vec<_>>())
}

/// Paired by round.
fn ratio(last: &[Option<f64>], first: &[Option<f64>]) -> Option<OverRounds> {
    let each = last.iter().zip(first).map(|(last, first)| Some((*last)? / (*first)?));
    over(&each.collect::<Vec<_>>())
}

struct Part<'a> {
    made: &'a Made<'a>,
    rounds: Rounds<'a>,
    /// The processes of its arms, once a second.
    clients: Vec<ClientSample>,
}

impl Part<'_> {
    /// Without the twins of the baseline.
    fn arms(&self) -> impl Iterator<Item = &Arm> {
        self.made.experiment.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct)
    }

    fn each(&self, arm: &str, phase: &str, value: impl Fn(&PhaseRun) -> Option<f64>) -> ByRound {
        self.rounds.of(arm, phase).into_iter().map(|run| value(run?)).collect()
    }

    /// Time that all operations of a phase take at the rate of one round, ms, by round.
    fn calls_ms(&self, arm: &str, phase: &str) -> ByRound {
        let Some(count) = planned(&self.made.experiment.plan, phase) else { return Vec::new() };
        let time =
            |run: &PhaseRun| (run.throughput > 0.0).then(|| 1e3 * count as f64 / run.throughput);
        self.each(arm, phase, time)
    }

    /// Until unanswered creations have arrived.
    fn arriving_ms(&self, arm: &str) -> ByRound {
        self.each(arm, CREATE, |run| Some(1e3 * run.arriving_s.unwrap_or(0.0)))
    }

    /// Creations, until they have arrived, and reads.
    fn total_ms(&self, arm: &str) -> ByRound {
        let written = both(&self.calls_ms(arm, CREATE), &self.arriving_ms(arm));
        both(&written, &self.calls_ms(arm, READ))
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<(Row, ByRound)> = Vec::new();
        for arm in self.arms() {
            let (mut row, total) = (self.row(arm), self.total_ms(&arm.id));
            let first = rows.iter().find(|(it, _)| it.adapter == row.adapter);
            row.over_first = first.and_then(|(_, first)| ratio(&total, first));
            row.original_ms = original_ms(self.made.part, arm);
            let original = first.and_then(|(it, _)| it.original_ms);
            row.original_over_first = row.original_ms.zip(original).map(|(own, first)| own / first);
            rows.push((row, total));
        }
        rows.into_iter().map(|(row, _)| row).collect()
    }

    fn row(&self, arm: &Arm) -> Row {
        let id = &arm.id;
        let [_, connections_ended_per_s] =
            come_and_go_per_s(&self.clients, id, |it| it.connections);
        let [threads_begun_per_s, threads_ended_per_s] =
            come_and_go_per_s(&self.clients, id, |it| Some(it.threads));
        // Failures make a run void: it is no figure, and yet an answer.
        let tried = |name: &str| self.rounds.measured(id, name).into_iter().flatten();
        let tried: Vec<&PhaseRun> = [CREATE, READ, UNWAITED].into_iter().flat_map(tried).collect();
        let quantile = |phase: &str, which: fn(&PhaseRun) -> Option<f64>| {
            let valid = self.each(id, phase, which);
            let shown = tried.iter().filter(|run| run.phase == phase);
            let failing = || shown.filter_map(|run| which(run)).collect::<Vec<_>>();
            let valid: Vec<f64> = valid.into_iter().flatten().collect();
            median(&if self.made.part == CONNECTIONS { failing() } else { valid })
        };
        let operations = || tried.iter().flat_map(|run| &run.by_operation);
        // A phase of one operation calls it by its kind.
        let reads = || operations().filter(|it| it.operation == READ || it.operation == "find_one");
        Row {
            arm: arm.id.clone(),
            adapter: arm.adapter.clone(),
            version: arm.version.clone(),
            acknowledged: arm.acknowledged,
            total_ms: over(&self.total_ms(id)),
            create_ms: over(&self.calls_ms(id, CREATE)),
            arriving_ms: over(&self.arriving_ms(id)).filter(|_| arm.acknowledged == Some(false)),
            read_ms: over(&self.calls_ms(id, READ)),
            over_first: None,
            create_p50_us: quantile(CREATE, p50),
            create_p99_us: quantile(CREATE, p99),
            read_p50_us: quantile(READ, p50),
            read_p99_us: quantile(READ, p99),
            operations: operations().map(|it| it.count).sum(),
            reads: reads().map(|it| it.count).sum(),
            reads_missed: reads().map(|it| it.wrong).sum(),
            failed: operations().map(|it| it.failed).sum(),
            connections_peak: tried.iter().filter_map(|run| run.connections_peak).max(),
            threads_peak: tried.iter().filter_map(|run| run.threads_peak).max(),
            connections_per_s: self.rate(id, &[CREATE, READ], "connections.totalCreated"),
            connections_ended_per_s,
            threads_begun_per_s,
            threads_ended_per_s,
            in_per_s: self.rate(id, &[CREATE, READ], "network.bytesIn"),
            out_per_s: self.rate(id, &[CREATE, READ], "network.bytesOut"),
            create_in_per_s: self.rate(id, &[CREATE], "network.bytesIn"),
            create_out_per_s: self.rate(id, &[CREATE], "network.bytesOut"),
            read_in_per_s: self.rate(id, &[READ], "network.bytesIn"),
            read_out_per_s: self.rate(id, &[READ], "network.bytesOut"),
            in_per_op: self.share(id, &[CREATE, READ], "network.bytesIn", of_calls),
            out_per_op: self.share(id, &[CREATE, READ], "network.bytesOut", of_calls),
            cpu_us_per_op: self.cpu_us_per_op(id),
            original_ms: None,
            original_over_first: None,
        }
    }

    /// A counter of the server over the time of the phases, by round: the median.
    fn rate(&self, arm: &str, phases: &[&str], counter: &str) -> Option<f64> {
        self.share(arm, phases, counter, |run| run.measured_s + run.arriving_s.unwrap_or(0.0))
    }

    /// A counter of the server in all of these phases over the sum of another figure. The medians
    /// of the phases would be no figure of either.
    fn share(
        &self,
        arm: &str,
        phases: &[&str],
        counter: &str,
        by: fn(&PhaseRun) -> f64,
    ) -> Option<f64> {
        self.quotient(arm, phases, |run| run.server.get(counter).map(|it| *it as f64), by)
    }

    fn cpu_us_per_op(&self, arm: &str) -> Option<f64> {
        self.quotient(arm, &[CREATE, READ], |run| Some(run.cpu_ns as f64 / 1e3), of_calls)
    }

    fn quotient(
        &self,
        arm: &str,
        phases: &[&str],
        value: impl Fn(&PhaseRun) -> Option<f64>,
        by: fn(&PhaseRun) -> f64,
    ) -> Option<f64> {
        let sum = |value: &dyn Fn(&PhaseRun) -> Option<f64>| {
            let each = phases.iter().map(|phase| self.each(arm, phase, value));
            each.filter(|it| it.iter().any(Option::is_some)).reduce(|a, b| both(&a, &b))
        };
        let (above, below) = (sum(&value)?, sum(&|run| Some(by(run)))?);
        let each = above.iter().zip(&below).filter_map(|(a, b)| Some((*a)? / (*b)?));
        median(&each.filter(|it| it.is_finite()).collect::<Vec<_>>())
    }

    /// The first and the last version of each driver.
    fn ends(&self) -> Vec<Ratio> {
        let mut ends: Vec<[&Arm; 2]> = Vec::new();
        for arm in self.arms() {
            match ends.iter_mut().find(|it| it[0].adapter == arm.adapter) {
                Some(it) => it[1] = arm,
                None => ends.push([arm, arm]),
            }
        }
        let ends = ends.into_iter().filter(|[first, last]| first.id != last.id);
        ends.map(|it| self.between("", it)).collect()
    }

    /// Of each driver: what the write concern does to each of both versions, what the version does
    /// with each write concern, and what the new API does.
    fn factors(&self) -> Vec<Ratio> {
        let mut adapters: Vec<&str> = self.arms().map(|arm| arm.adapter.as_str()).collect();
        adapters.dedup();
        let of_adapter = |adapter: &str| {
            let own: Vec<&Arm> = self.arms().filter(|arm| arm.adapter == adapter).collect();
            let version = |at: Option<&&Arm>| at.map_or(String::new(), |arm| arm.version.clone());
            let (first, last) = (version(own.first()), version(own.last()));
            let find = |version: &str, w: &str| {
                let same = |arm: &&&Arm| {
                    arm.version == version && arm.options.get("w").is_some_and(|it| it == w)
                };
                own.iter().find(same).copied()
            };
            let newest = own.last().copied();
            let pairs = [
                ("default_first", find(&first, "0"), find(&first, "1")),
                ("default_last", find(&last, "0"), find(&last, "1")),
                ("driver_unanswered", find(&first, "0"), find(&last, "0")),
                ("driver_answered", find(&first, "1"), find(&last, "1")),
                ("api", find(&last, "1"), newest),
            ];
            let factor = |(name, a, b): (&str, Option<&Arm>, Option<&Arm>)| {
                let both = [a?, b?];
                (both[0].id != both[1].id).then(|| self.between(name, both))
            };
            pairs.into_iter().filter_map(factor).collect::<Vec<_>>()
        };
        adapters.into_iter().flat_map(of_adapter).collect()
    }

    fn between(&self, factor: &str, [first, last]: [&Arm; 2]) -> Ratio {
        let of = |value: &dyn Fn(&str) -> ByRound| ratio(&value(&last.id), &value(&first.id));
        Ratio {
            part: self.made.part.to_owned(),
            factor: factor.to_owned(),
            adapter: first.adapter.clone(),
            first: first.id.clone(),
            last: last.id.clone(),
            create: of(&|arm| both(&self.calls_ms(arm, CREATE), &self.arriving_ms(arm))),
            read: of(&|arm| self.calls_ms(arm, READ)),
            total: of(&|arm| self.total_ms(arm)),
            create_p99: of(&|arm| self.each(arm, CREATE, p99)),
            read_p99: of(&|arm| self.each(arm, READ, p99)),
        }
    }
}

/// How many of an arm's connections or threads come and how many go, each a second: from one
/// reading to the next within a phase, over all phases and rounds.
pub fn come_and_go_per_s(
    clients: &[ClientSample],
    arm: &str,
    count: fn(&ClientSample) -> Option<u64>,
) -> [Option<f64>; 2] {
    let own: Vec<&ClientSample> = clients.iter().filter(|sample| sample.arm == arm).collect();
    let same = |a: &ClientSample, b: &ClientSample| a.round == b.round && a.phase == b.phase;
    let (mut come, mut gone, mut time_ns) = (0, 0, 0);
    for pair in own.windows(2) {
        let [before, after] = [pair[0], pair[1]];
        if before.phase.is_empty() || !same(before, after) {
            continue;
        }
        let (Some(was), Some(is)) = (count(before), count(after)) else { continue };
        come += is.saturating_sub(was);
        gone += was.saturating_sub(is);
        time_ns += after.at_ns.saturating_sub(before.at_ns);
    }
    [come, gone].map(|all| (time_ns > 0).then(|| all as f64 * 1e9 / time_ns as f64))
}

fn of_calls(run: &PhaseRun) -> f64 {
    run.operations as f64
}

fn p50(run: &PhaseRun) -> Option<f64> {
    run.by_operation.first()?.service.p50_us
}

fn p99(run: &PhaseRun) -> Option<f64> {
    run.by_operation.first()?.service.p99_us
}

/// The original ran on Mono, each version at its defaults.
pub fn original_ms(part: &str, arm: &Arm) -> Option<f64> {
    let same = |build: &str| {
        let shorter = build.strip_prefix(&arm.version);
        shorter.is_some_and(|it| it.is_empty() || it.starts_with('.'))
    };
    let is_ours = part == VERSIONS && arm.id.contains("runtime=mono");
    ORIGINAL_MS.iter().find(|(build, _)| is_ours && same(build)).map(|(_, ms)| *ms)
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
