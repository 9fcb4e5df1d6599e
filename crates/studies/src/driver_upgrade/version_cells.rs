//! Figures of creations and reads together, of two versions, and of runs that failed.

use super::{BOTH, CONCERN, CONNECTIONS, CREATE, READ, VERSIONS};
use crate::frame::{Cells, Spread};
use crate::outcome::{Made, Outcome};
use judge::analysis::rounds::Rounds;
use record::records::{Arm, ClientSample, OperationRun, PhaseRun};
use stats::descriptive::median;
use stats::spearman::spearman;

/// The level of a correlation's interval.
const RHO_LEVEL: f64 = 0.95;

type RunFigure = fn(&PhaseRun) -> Option<f64>;
type ByRound = Vec<Option<f64>>;

/// Quotients of two figures of a run: metric, unit, and both.
const TRAFFIC: [(&str, &str, RunFigure, RunFigure); 12] = [
    ("in_bytes_per_s", "bytes_per_s", |run| counter(run, "network.bytesIn"), SECONDS),
    ("out_bytes_per_s", "bytes_per_s", |run| counter(run, "network.bytesOut"), SECONDS),
    ("connections_per_s", "per_s", |run| counter(run, "connections.totalCreated"), SECONDS),
    ("insert_per_s", "per_s", |run| counter(run, "opcounters.insert"), SECONDS),
    ("query_per_s", "per_s", |run| counter(run, "opcounters.query"), SECONDS),
    ("update_per_s", "per_s", |run| counter(run, "opcounters.update"), SECONDS),
    ("delete_per_s", "per_s", |run| counter(run, "opcounters.delete"), SECONDS),
    ("getmore_per_s", "per_s", |run| counter(run, "opcounters.getmore"), SECONDS),
    ("command_per_s", "per_s", |run| counter(run, "opcounters.command"), SECONDS),
    ("in_bytes_per_op", "bytes_per_op", |run| counter(run, "network.bytesIn"), OPERATIONS),
    ("out_bytes_per_op", "bytes_per_op", |run| counter(run, "network.bytesOut"), OPERATIONS),
    ("cpu_us", "us", |run| Some(run.cpu_ns as f64 / 1e3), OPERATIONS),
];

fn counter(run: &PhaseRun, name: &str) -> Option<f64> {
    run.server.get(name).map(|it| *it as f64)
}

const SECONDS: RunFigure = |run| Some(run.measured_s + run.arriving_s.unwrap_or(0.0));

const OPERATIONS: RunFigure = |run| Some(run.operations as f64);

pub fn push(outcome: &Outcome<'_>, cells: &mut Cells) {
    for made in &outcome.made {
        let rounds = Rounds::new(made.experiment, made.runs);
        let clients = made.folder.series().map(|it| it.clients).unwrap_or_default();
        let arms = made.experiment.arms.iter().filter(|arm| !arm.is_aa && !arm.is_direct);
        let arms: Vec<&Arm> = arms.collect();
        for arm in &arms {
            push_together(made.part, &arm.id, cells);
            push_traffic(made.part, &arm.id, &rounds, cells);
            push_tried(made, arm, &rounds, cells);
            push_client(made.part, &arm.id, &clients, cells);
        }
        push_ratios(made.part, &arms, cells);
    }
}

/// Creations, until they have arrived, and reads.
pub fn push_together(part: &str, arm: &str, cells: &mut Cells) {
    let by_round = |phase| cells.at([part, phase, arm, "arrived_ms"]).map(|it| &it.by_round);
    if let Some((written, read)) = by_round(CREATE).zip(by_round(READ)) {
        let all = both(written, read);
        cells.push([part, BOTH, arm, "arrived_ms"], "ms", all);
    }
}

fn both(a: &[Option<f64>], b: &[Option<f64>]) -> ByRound {
    a.iter().zip(b).map(|(a, b)| Some((*a)? + (*b)?)).collect()
}

/// The medians of the phases would be no figure of either: the quotient is one of sums.
fn push_traffic(part: &str, arm: &str, rounds: &Rounds<'_>, cells: &mut Cells) {
    for (group, phases) in [(CREATE, &[CREATE][..]), (READ, &[READ]), (BOTH, &[CREATE, READ])] {
        let sum = |of: RunFigure| {
            let each = |phase: &&str| -> ByRound {
                rounds.of(arm, phase).into_iter().map(|run| of(run?)).collect()
            };
            let each = phases.iter().map(each).filter(|it| it.iter().any(Option::is_some));
            each.reduce(|a, b| both(&a, &b))
        };
        for (metric, unit, value, by) in TRAFFIC {
            let Some((above, below)) = sum(value).zip(sum(by)) else { continue };
            let quotient = |(a, b): (&Option<f64>, &Option<f64>)| {
                Some((*a)? / (*b)?).filter(|it| it.is_finite())
            };
            let each = above.iter().zip(&below).map(quotient).collect();
            cells.push([part, group, arm, metric], unit, each);
        }
    }
}

/// Failures make a run void: it is no figure, and yet an answer.
fn push_tried(made: &Made<'_>, arm: &Arm, rounds: &Rounds<'_>, cells: &mut Cells) {
    let plan = &made.experiment.plan.phases;
    let tried = plan.iter().flat_map(|phase| rounds.measured(&arm.id, &phase.name)).flatten();
    let tried: Vec<&PhaseRun> = tried.collect();
    let all = || tried.iter().flat_map(|run| &run.by_operation);
    // A phase of one operation calls it by its kind.
    let reads = || all().filter(|it| it.operation == READ || it.operation == "find_one");
    let peak = |of: fn(&PhaseRun) -> Option<u64>| tried.iter().filter_map(|run| of(run)).max();
    let planned = plan.first().map(|phase| phase.limit.operations());
    let threads = plan.first().map(workload::plan::Phase::all_workers);
    let counts = [
        ("planned_operations", planned),
        ("threads", threads),
        ("operations", Some(all().map(|it: &OperationRun| it.count).sum())),
        ("reads", Some(reads().map(|it| it.count).sum())),
        ("reads_missed", Some(reads().map(|it| it.wrong).sum())),
        ("failed", Some(all().map(|it| it.failed).sum())),
        ("connections_peak", peak(|run| run.connections_peak)),
        ("threads_peak", peak(|run| run.threads_peak)),
        ("acknowledged", arm.acknowledged.map(u64::from)),
    ];
    for (metric, count) in counts {
        let at = [made.part, BOTH, &arm.id, metric];
        cells.push_plain(at, "count", count.map(|it| it as f64));
    }
    let quantiles: [(&str, RunFigure); 2] = [
        ("p50_us", |run| run.by_operation.first()?.service.p50_us),
        ("p99_us", |run| run.by_operation.first()?.service.p99_us),
    ];
    for phase in [CREATE, READ].into_iter().filter(|_| made.part == CONNECTIONS) {
        for (metric, of) in quantiles {
            let each = tried.iter().filter(|run| run.phase == phase).filter_map(|run| of(run));
            let value = median(&each.collect::<Vec<_>>());
            cells.push_plain([made.part, phase, &arm.id, metric], "us", value);
        }
    }
}

fn push_client(part: &str, arm: &str, clients: &[ClientSample], cells: &mut Cells) {
    let [_, connections_ended] = come_and_go_per_s(clients, arm, |it| it.connections);
    let [threads_begun, threads_ended] = come_and_go_per_s(clients, arm, |it| Some(it.threads));
    for (metric, value) in [
        ("connections_ended_per_s", connections_ended),
        ("threads_begun_per_s", threads_begun),
        ("threads_ended_per_s", threads_ended),
    ] {
        cells.push_plain([part, BOTH, arm, metric], "per_s", value);
    }
}

/// How many of an arm's connections or threads come and how many go, each a second: from one
/// reading to the next within a phase, over all phases and rounds. What came and went between two
/// readings is in none.
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

fn push_ratios(part: &str, arms: &[&Arm], cells: &mut Cells) {
    for own in arms.chunk_by(|a, b| a.adapter == b.adapter) {
        for arm in &own[1..] {
            push_ratio(part, "over_first", [own[0], arm], cells);
        }
        if part == CONCERN {
            push_factors(own, cells);
        }
        if part == VERSIONS {
            let ids: Vec<&str> = own.iter().map(|arm| arm.id.as_str()).collect();
            push_correlations(&own[0].adapter, &ids, cells);
        }
    }
}

/// Time of the second arm to that of the first, paired by round.
fn push_ratio(part: &str, name: &str, [first, last]: [&Arm; 2], cells: &mut Cells) {
    let p99 = format!("{name}_p99");
    for (metric, of, phases) in
        [(name, "arrived_ms", &[CREATE, READ, BOTH][..]), (&p99, "p99_us", &[CREATE, READ])]
    {
        for phase in phases {
            let by_round = |arm: &Arm| cells.at([part, phase, &arm.id, of]).map(|it| &it.by_round);
            let Some((above, below)) = by_round(last).zip(by_round(first)) else { continue };
            let each = above.iter().zip(below).map(|(a, b)| Some((*a)? / (*b)?)).collect();
            cells.push([part, phase, &last.id, metric], "times", each);
        }
    }
}

/// What the write concern does to both versions, what the version does with each write concern, and
/// what the new API does.
fn push_factors(own: &[&Arm], cells: &mut Cells) {
    let (start, newest) = (own[0], own[own.len() - 1]);
    let find = |version: &str, w: &str| {
        let has = |arm: &&Arm| arm.options.get("w").is_some_and(|it| it == w);
        own.iter().copied().find(|arm| arm.version == version && has(arm))
    };
    let (first, last) = (start.version.as_str(), newest.version.as_str());
    let pairs = [
        ("default_first", find(first, "0"), find(first, "1")),
        ("default_last", find(last, "0"), find(last, "1")),
        ("driver_unanswered", find(first, "0"), find(last, "0")),
        ("driver_answered", find(first, "1"), find(last, "1")),
        ("api", find(last, "1"), Some(newest)),
    ];
    for (name, a, b) in pairs {
        if let Some((a, b)) = a.zip(b).filter(|(a, b)| a.id != b.id) {
            push_ratio(CONCERN, name, [a, b], cells);
        }
    }
}

/// Traffic a second, and bytes an operation, with the time of a version and its place in the line.
pub fn push_correlations(driver: &str, arms: &[&str], cells: &mut Cells) {
    for (name, metrics) in [
        ("traffic", ["in_bytes_per_s", "out_bytes_per_s"]),
        ("bytes_per_op", ["in_bytes_per_op", "out_bytes_per_op"]),
    ] {
        for with in ["time", "version"] {
            let pair = |(place, arm): (usize, &&str)| {
                let of = |metric| cells.median([VERSIONS, BOTH, arm, metric]);
                let x = if with == "time" { of("arrived_ms")? } else { place as f64 };
                Some((x, of(metrics[0])? + of(metrics[1])?))
            };
            let pairs: Vec<(f64, f64)> = arms.iter().enumerate().filter_map(pair).collect();
            let rho = spearman(&pairs).map(|it| Spread::interval(it, RHO_LEVEL, pairs.len()));
            let metric = format!("{name}_with_{with}_rho");
            cells.push_spread([VERSIONS, BOTH, driver, &metric], "rho", rho);
        }
    }
}
