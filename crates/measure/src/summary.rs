//! From turns and samples to the record of one phase of one run.

use std::path::PathBuf;

use crate::collect::{self, Collected, GivenAnswers, Lateness, RightAnswers};
use crate::input_files::InputFiles;
use crate::measured::MeasuredPhase;
use crate::messages::{self, Tapped};
use crate::receipt;
use crate::turn::ArmTurn;
use base::error::Result;
use record::folder::Folder;
use record::records::{Answers, ErrorCount, Gate, Little, OpenLoop, PhaseRun, Quantiles, Tap};
use stats::gates::{self, GateOutcome, GateResult};
use tap::recording;
use tap::tap_summary::CallSpan;
use workload::expected::{self, Expected};
use workload::operations::inserts;
use workload::plan::{Pacing, Phase, Plan};

/// The samples of one phase of one run, and the data to check them with.
pub struct PhaseSource<'a> {
    /// The arm's own plan.
    pub plan: &'a Plan,
    pub number: usize,
    /// One a process.
    pub files: Vec<PathBuf>,
    /// The inputs, whose schedules give the right totals.
    pub inputs: &'a InputFiles,
    /// Whether the server is ours alone: then its counters are a receipt.
    pub exclusive: bool,
    pub hlog: String,
    /// For the sentences of gates.
    pub arm: &'a str,
    /// None where the run went past the tap.
    pub tapped: Option<Tapped<'a>>,
}

/// Reads the samples and makes the record, without the names of kept files.
pub async fn summarise(
    source: &PhaseSource<'_>,
    measured: &MeasuredPhase,
    folder: &Folder,
) -> Result<PhaseRun> {
    let phase = &source.plan.phases[source.number];
    let right = RightAnswers::new(source.inputs, source.plan, source.number);
    let tapped = source.tapped.as_ref();
    let collected = collect::read(&source.files, phase, measured, right, tapped.is_some()).await?;
    let Collected { counts, given, lateness, sent, mut calls, .. } = collected;
    let (operations, measured_s) = counted(measured, phase);
    let total: u64 = measured.turns.iter().map(|turn| turn.turned.operations).sum();
    let cpu_ns: u64 = measured.turns.iter().map(|turn| turn.cpu_ns).sum();
    let wall_ns: u64 = measured.turns.iter().map(length_ns).sum();
    let done = counts.done();
    let little = collected.law.check(Some(total));
    collected.intervals.write(folder, &source.hlog)?;
    let queue = match &collected.extent {
        Some(extent) => extent.queue(&source.files, &measured.claimed).await?,
        None => None,
    };
    let open_loop = |it: Lateness| -> Result<OpenLoop> {
        let scheduled = it.scheduled(source.inputs, source.plan, source.number, &measured.turns)?;
        Ok(it.open_loop(done.iter().sum(), scheduled, measured_s))
    };
    let open_loop = lateness.map(open_loop).transpose()?;
    let mut broker = None;
    if let Some((sent, read)) = sent.zip(measured.read.as_ref()) {
        let (record, of_messages) = messages::join(phase, measured, read, sent, tapped)?;
        (broker, calls) = (Some(record), of_messages);
    }
    let checked = expected::checked(source.plan, source.number);
    let by_operation = counts.by_operation(&checked);
    let seen = by_operation.iter().map(|it| it.count).sum();
    let tap = tapped.map(|it| through_tap(it, measured, calls, seen)).transpose()?;
    let runtime = measured.ended.as_ref().and_then(|ended| ended.runtime);
    let mut run = PhaseRun {
        phase: phase.name.clone(),
        turns: measured.turns.len() as u32,
        turn_ms: measured.turn_length.as_secs_f64() * 1e3,
        measured_s,
        arriving_s: measured.arriving.map(|it| it.as_secs_f64()),
        operations,
        throughput: if measured_s > 0.0 { operations as f64 / measured_s } else { 0.0 },
        turn_throughputs: measured.rates.clone(),
        turn_positions: measured.positions.clone(),
        exhausted: measured.turns.last().is_some_and(|turn| turn.turned.exhausted),
        by_operation,
        errors: errors(measured),
        cpu_ns,
        cpu_us_per_op: cpu_ns as f64 / 1e3 / total.max(1) as f64,
        rss_peak_bytes: measured.rss_peak_bytes,
        rss_armed_bytes: measured.rss_armed_bytes,
        rss_held_bytes: Some(measured.rss_held_bytes),
        threads_peak: measured.peak.map(|it| it.threads),
        connections_peak: measured.peak.and_then(|it| it.connections),
        document_bytes: document_bytes(source, measured, &done, &given),
        idle_cpu_fraction: Some(measured.idle_cpu_ns as f64 / wall_ns.max(1) as f64),
        waiting_cpu_ns: Some(measured.waiting_cpu_ns),
        server: measured.counters.clone(),
        receipt: receipt::receipt((source.plan, phase), measured, &done, &given, source.exclusive),
        answers: answers(measured, collected.expected),
        little: little.map(|little| Little {
            in_flight: little.in_flight,
            throughput_times_residence: little.rate_times_time,
        }),
        drift: collected.drift.ratio(),
        document_ns: measured.document_ns,
        retries: measured.ended.as_ref().and_then(|ended| ended.totals.retries),
        gc_count: runtime.and_then(|it| it.gc_count),
        gc_ns: runtime.and_then(|it| it.gc_ns),
        warmup_throughput: measured.warmup_throughput.clone(),
        sizes: measured.sizes.clone(),
        gates: Vec::new(),
        open_loop,
        queue,
        tap,
        broker,
        hlog: Some(source.hlog.clone()),
        samples: Vec::new(),
    };
    let fault = [Some(&measured.claimed), measured.read.as_ref().map(|read| &read.claimed)];
    let claims = gates::Possible {
        fault: fault.into_iter().flatten().find_map(|claimed| claimed.fault.as_deref()),
        most_in_flight: most_in_flight(phase),
    };
    run.gates = run_gates(source.arm, &run, little.as_ref(), &claims, total);
    Ok(run)
}

/// Operations that the workers of a phase can have in flight; None in a burst, where none waits for
/// another.
fn most_in_flight(phase: &Phase) -> Option<u64> {
    match phase.pacing {
        Pacing::Awaited { .. } | Pacing::Rate { .. } => Some(phase.all_workers()),
        Pacing::Window { size } => Some(phase.all_workers() * u64::from(size)),
        Pacing::Burst {} => None,
    }
}

/// The tap's view of the arm's turns.
fn through_tap(
    tapped: &Tapped<'_>,
    measured: &MeasuredPhase,
    calls: Vec<CallSpan>,
    operations: u64,
) -> Result<Tap> {
    let (exchanges, recording) = recording::read(tapped.prefix, tapped.arm)?;
    let turns: Vec<_> =
        measured.turns.iter().map(|it| (it.turned.began_ns, it.turned.ended_ns)).collect();
    Ok(tap::tap_summary::summarise(&exchanges, &recording, &turns, calls, operations))
}

fn length_ns(turn: &ArmTurn) -> u64 {
    turn.turned.ended_ns.saturating_sub(turn.turned.began_ns)
}

/// Operations and seconds that throughput is made of.
fn counted(measured: &MeasuredPhase, phase: &Phase) -> (u64, f64) {
    let each = measured.turns.iter().map(|turn| turn.counted(phase.has_one_worker()));
    let (operations, ns) =
        each.fold((0, 0), |sum: (u64, u64), turn| (sum.0 + turn.0, sum.1 + turn.1));
    (operations, ns as f64 / 1e9)
}

fn errors(measured: &MeasuredPhase) -> Vec<ErrorCount> {
    let ended = measured.ended.as_ref();
    ended.map_or_else(Vec::new, |ended| {
        let one = |error: &adapter::protocol::ErrorEntry| ErrorCount {
            code: error.code,
            name: error.name.clone(),
            count: error.count,
            message: error.message.clone(),
        };
        ended.errors.iter().map(one).collect()
    })
}

fn answers(measured: &MeasuredPhase, expected: Expected) -> Answers {
    let totals = measured.ended.as_ref().map(|ended| ended.totals).unwrap_or_default();
    Answers {
        documents: totals.documents,
        sum: totals.sum,
        documents_expected: expected.documents,
        sum_expected: expected.sum,
    }
}

fn document_bytes(
    source: &PhaseSource<'_>,
    measured: &MeasuredPhase,
    done: &[u64],
    given: &[Option<GivenAnswers>],
) -> Option<u64> {
    let bytes = workload::bytes::document_bytes(source.plan, source.number)?;
    let operations = &source.plan.phases[source.number].operations;
    let each = operations.iter().zip(done).zip(given).zip(&bytes.written);
    let written = each.map(|(((operation, done), given), bytes)| {
        bytes * given.map_or(done * inserts(operation).max(1), |it| it.inserted)
    });
    let read = measured.ended.as_ref().map_or(0, |ended| ended.totals.documents);
    Some(written.sum::<u64>() + bytes.read * read)
}

fn run_gates(
    arm: &str,
    run: &PhaseRun,
    little: Option<&stats::littles_law::LittlesLawResult>,
    claims: &gates::Possible<'_>,
    operations: u64,
) -> Vec<Gate> {
    let failed: u64 = run.by_operation.iter().map(|it| it.failed + it.wrong).sum();
    let seen: u64 = run.by_operation.iter().map(|it| it.count).sum();
    let counts =
        gates::RunCounts { operations, errors: failed, received: Some(seen), checksum: None };
    // Where samples cannot be, their number says nothing.
    let mut checked =
        vec![gates::littles_law(arm, little, claims), gates::errors(arm, &counts, arm, &counts)];
    if let (Some(open), Some(first)) = (&run.open_loop, run.by_operation.first()) {
        checked.push(gates::offered_rate(
            arm,
            &gates::OpenLoopRun {
                offered_per_second: open.offered_per_s,
                achieved_per_second: open.offered_per_s * open.achieved_fraction,
                dropped: 0,
                busy_fraction: open.busy_fraction,
                lag: lag(open, first.response.as_ref()),
            },
        ));
    }
    checked.iter().filter_map(record).collect()
}

/// Own lateness and response time at the highest quantile that both have samples for.
fn lag(open: &OpenLoop, response: Option<&Quantiles>) -> Option<gates::Lag> {
    let (own, response) = (open.own_lag?, response?);
    [
        ("p99", own.p99_us, response.p99_us),
        ("p90", own.p90_us, response.p90_us),
        ("p50", own.p50_us, response.p50_us),
    ]
    .into_iter()
    .find_map(|(quantile, own_us, response_us)| {
        Some(gates::Lag { quantile, own_us: own_us?, response_us: response_us? })
    })
}

/// The record of a gate that does not pass.
fn record(checked: &GateResult) -> Option<Gate> {
    let (fails, reason) = match &checked.outcome {
        GateOutcome::Pass => return None,
        GateOutcome::Warn(reason) => (false, reason.clone()),
        GateOutcome::Fail(reason) => (true, reason.clone()),
    };
    Some(Gate { id: checked.gate, fails, reason })
}

#[cfg(test)]
mod tests;
