//! From turns and samples to the record of one phase of one run. Streams: memory does not grow
//! with the number of operations.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use crate::phase::Measured;
use crate::{queue, receipt};
use base::error::Result;
use record::folder::Folder;
use record::records::{Answers, ErrorCount, Little, OpenLoop, OperationRun, PhaseRun, Quantiles};
use record::samples::{self, Sample};
use stats::gates::{self, Checked, Outcome};
use stats::histogram::Histogram;
use stats::hlog::{Interval, IntervalLog};
use stats::little::{Stretch, little};
use workload::expected::Expected;
use workload::operations::about;
use workload::plan::{Pacing, Phase, Plan};

/// Intervals of one `.hlog`: one second each, longer where a phase lasts longer than this many.
const INTERVALS_MAX: u64 = 64;
/// Samples per second kept open loop's busy count exact enough.
const NS_PER_S: u64 = 1_000_000_000;

/// Where the samples of one phase of one run lie, and what they are held against.
pub struct Source<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The phase.
    pub phase: &'a Phase,
    /// Files of samples, one a process.
    pub files: Vec<PathBuf>,
    /// What the answers should have added up to; a field is None where the core cannot know it.
    pub expected: Expected,
    /// Whether the server is ours alone: then its counters are a receipt.
    pub exclusive: bool,
    /// Name of the `.hlog` under the folder.
    pub hlog: String,
    /// Arm id, for the sentences of gates.
    pub arm: &'a str,
}

/// Reads the samples and writes the record.
///
/// # Errors
/// Files that cannot be read or written.
pub fn summarise(source: &Source<'_>, measured: &Measured, folder: &Folder) -> Result<PhaseRun> {
    let (operations, measured_s) = counted(measured, source.phase);
    let total: u64 = measured.turns.iter().map(|turn| turn.turned.operations).sum();
    let cpu_ns: u64 = measured.turns.iter().map(|turn| turn.cpu_ns).sum();
    let wall_ns: u64 = measured.turns.iter().map(length_ns).sum();
    let mut pass = Pass::new(source, measured);
    for sample in samples::all(&source.files) {
        pass.add(&sample?);
    }
    let found = check_little(&source.files, measured, total)?;
    write_hlog(folder, &source.hlog, pass.interval_ns, std::mem::take(&mut pass.intervals))?;
    let mut run = PhaseRun {
        phase: source.phase.name.clone(),
        turns: measured.turns.len() as u32,
        turn_ms: measured.turn_length.as_secs_f64() * 1e3,
        measured_s,
        operations,
        throughput: if measured_s > 0.0 { operations as f64 / measured_s } else { 0.0 },
        turn_throughputs: measured.rates.clone(),
        turn_positions: measured.positions.clone(),
        exhausted: measured.turns.last().is_some_and(|turn| turn.turned.exhausted),
        by_operation: pass.by_operation(source.phase),
        errors: errors(measured),
        cpu_ns,
        cpu_us_per_op: cpu_ns as f64 / 1e3 / total.max(1) as f64,
        rss_peak_bytes: measured.rss_peak_bytes,
        rss_armed_bytes: measured.rss_armed_bytes,
        document_bytes: document_bytes(source.plan, source.phase, measured, &pass),
        idle_cpu_fraction: Some(measured.idle_cpu_ns as f64 / wall_ns.max(1) as f64),
        server: measured.counters.clone(),
        receipt: receipt::receipt(source.phase, measured, &pass.done, source.exclusive),
        answers: answers(measured, source.expected),
        little: found.map(|little| Little {
            in_flight: little.in_flight,
            throughput_times_residence: little.rate_times_time,
        }),
        half_log_ratio: pass.half_log_ratio(),
        document_ns: measured.document_ns,
        warmup_throughput: measured.warmup_throughput.clone(),
        sizes: measured.sizes.clone(),
        gates: Vec::new(),
        open_loop: pass.open_loop(source.phase, measured_s),
        queue: queue::measure(source.phase, &source.files)?,
        tap: None,
        broker: None,
        hlog: Some(source.hlog.clone()),
        samples: Vec::new(),
    };
    // What an adapter claims at the end must be what its turns and its samples say.
    let claimed = measured.ended.as_ref().map_or(total, |ended| ended.operations);
    run.gates = run_gates(source.arm, &run, found.as_ref(), claimed);
    Ok(run)
}

fn length_ns(turn: &crate::arm::Turn) -> u64 {
    turn.turned.ended_ns.saturating_sub(turn.turned.began_ns)
}

/// Operations and seconds that throughput is made of.
fn counted(measured: &Measured, phase: &Phase) -> (u64, f64) {
    let each = measured.turns.iter().map(|turn| turn.counted(phase.has_one_worker()));
    let (operations, ns) =
        each.fold((0, 0), |sum: (u64, u64), turn| (sum.0 + turn.0, sum.1 + turn.1));
    (operations, ns as f64 / 1e9)
}

fn errors(measured: &Measured) -> Vec<ErrorCount> {
    let ended = measured.ended.as_ref();
    ended.map_or_else(Vec::new, |ended| {
        let one = |error: &adapter::messages::ErrorEntry| ErrorCount {
            code: error.code,
            name: error.name.clone(),
            count: error.count,
            message: error.message.clone(),
        };
        ended.errors.iter().map(one).collect()
    })
}

fn answers(measured: &Measured, expected: Expected) -> Answers {
    let totals = measured.ended.as_ref().map(|ended| ended.totals).unwrap_or_default();
    Answers {
        documents: totals.documents,
        sum: totals.sum,
        documents_expected: expected.documents,
        sum_expected: expected.sum,
    }
}

fn document_bytes(plan: &Plan, phase: &Phase, measured: &Measured, pass: &Pass) -> u64 {
    let mean = |name: &str| {
        let found = plan.collections.iter().find(|collection| collection.name == name);
        found.map_or(0.0, |collection| collection.document_bytes_mean)
    };
    let mut bytes = 0.0;
    for (operation, done) in phase.operations.iter().zip(&pass.done) {
        if operation.documents.is_some() {
            let documents = *done as f64 * f64::from(operation.batch.unwrap_or(1));
            bytes += documents * mean(&operation.collection);
        }
    }
    let read = measured.ended.as_ref().map_or(0, |ended| ended.totals.documents);
    let reader = phase.operations.iter().find(|operation| about(operation.kind).reads_documents);
    if let Some(operation) = reader {
        bytes += read as f64 * mean(&operation.collection);
    }
    bytes as u64
}

/// One pass over the samples.
struct Pass {
    /// Successful samples by operation.
    done: Vec<u64>,
    wrong: Vec<u64>,
    failed: Vec<u64>,
    service: Vec<Histogram>,
    response: Option<Vec<Histogram>>,
    /// By operation: in a mix, one that comes later would look like a drift of all.
    halves: Vec<[Histogram; 2]>,
    middle_ns: u64,
    began_ns: u64,
    interval_ns: u64,
    intervals: Intervals,
    names: Vec<String>,
    /// Each operation has a time of its own.
    paced: bool,
    lag: Histogram,
    own_lag: Histogram,
    /// When each worker had its last answer.
    free_ns: HashMap<u16, u64>,
    busy_ns: u64,
}

impl Pass {
    fn new(source: &Source<'_>, measured: &Measured) -> Self {
        let operations = source.phase.operations.len();
        let open = matches!(source.phase.pacing, Pacing::Rate { .. } | Pacing::Burst {});
        let turns = &measured.turns;
        let began_ns = turns.first().map_or(0, |turn| turn.turned.began_ns);
        let ended_ns = turns.last().map_or(0, |turn| turn.turned.ended_ns);
        let middle_ns = match turns.len() {
            0 => 0,
            1 => u64::midpoint(began_ns, ended_ns),
            many => turns[many / 2].turned.began_ns,
        };
        let seconds = (ended_ns - began_ns).div_ceil(NS_PER_S).div_ceil(INTERVALS_MAX).max(1);
        let histograms = || (0..operations).map(|_| Histogram::new()).collect::<Vec<_>>();
        Self {
            done: vec![0; operations],
            wrong: vec![0; operations],
            failed: vec![0; operations],
            service: histograms(),
            response: open.then(histograms),
            halves: (0..operations).map(|_| [Histogram::new(), Histogram::new()]).collect(),
            middle_ns,
            began_ns,
            interval_ns: seconds * NS_PER_S,
            intervals: BTreeMap::new(),
            names: source.phase.operations.iter().map(|it| it.name.clone()).collect(),
            paced: matches!(source.phase.pacing, Pacing::Rate { .. }),
            lag: Histogram::new(),
            own_lag: Histogram::new(),
            free_ns: HashMap::new(),
            busy_ns: 0,
        }
    }

    fn add(&mut self, sample: &Sample) {
        let operation = usize::from(sample.operation);
        let Some(done) = self.done.get_mut(operation) else { return };
        match sample.result() {
            0 => *done += 1,
            1 => self.wrong[operation] += 1,
            _ => self.failed[operation] += 1,
        }
        self.busy_ns += sample.service_ns;
        // Each worker's samples come in its order: a start is late on its own by what lies behind
        // both its time and the moment from which the worker was free to keep it.
        let free_ns = self.paced.then(|| self.free_ns.insert(sample.worker, sample.end_ns()));
        let free_ns = free_ns.flatten().unwrap_or(0);
        let own_lag_ns = sample.start_ns.saturating_sub(sample.intended_ns.max(free_ns));
        if sample.result() != 0 {
            // Failed operations are counted, not timed: a refusal may be quick, a timeout slow.
            return;
        }
        self.service[operation].record(sample.service_ns);
        let half = usize::from(sample.start_ns >= self.middle_ns);
        self.halves[operation][half].record(sample.service_ns);
        let interval = sample.start_ns.saturating_sub(self.began_ns) / self.interval_ns;
        self.interval(interval, self.names[operation].clone()).record(sample.service_ns);
        if let Some(response) = &mut self.response {
            response[operation].record(sample.response_ns());
            self.lag.record(sample.start_ns.saturating_sub(sample.intended_ns));
            if self.paced {
                self.own_lag.record(own_lag_ns);
                let name = format!("{}-timer", self.names[operation]);
                self.interval(interval, name).record(own_lag_ns);
            }
            let name = format!("{}-response", self.names[operation]);
            self.interval(interval, name).record(sample.response_ns());
        }
    }

    fn interval(&mut self, interval: u64, name: String) -> &mut Histogram {
        self.intervals.entry((interval, name)).or_default()
    }

    fn by_operation(&self, phase: &Phase) -> Vec<OperationRun> {
        let each = phase.operations.iter().enumerate();
        each.map(|(at, operation)| OperationRun {
            operation: operation.name.clone(),
            count: self.done[at] + self.wrong[at] + self.failed[at],
            wrong: self.wrong[at],
            failed: self.failed[at],
            service: Quantiles::of(&self.service[at]),
            response: self.response.as_ref().map(|response| Quantiles::of(&response[at])),
        })
        .collect()
    }

    /// Of each operation ln(median of the second half / of the first), weighted by its share of
    /// the time: so much the time of the mix moved, whatever the halves drew of each operation.
    fn half_log_ratio(&self) -> Option<f64> {
        let median = |half: &Histogram| Some(half.percentile_ns(50.0)? as f64);
        let (mut sum, mut weights) = (0.0, 0.0);
        for ([first, second], all) in self.halves.iter().zip(&self.service) {
            let Some((first, second)) = median(first).zip(median(second)) else { continue };
            let weight = all.mean_ns().unwrap_or(0.0) * all.count() as f64;
            sum += weight * (second / first).ln();
            weights += weight;
        }
        (weights > 0.0).then(|| sum / weights).filter(|ratio| ratio.is_finite())
    }

    fn open_loop(&self, phase: &Phase, measured_s: f64) -> Option<OpenLoop> {
        let Pacing::Rate { per_second, .. } = phase.pacing else { return None };
        let done: u64 = self.done.iter().sum();
        let us = |percent: f64| self.lag.percentile_ns(percent).unwrap_or(0) as f64 / 1e3;
        let workers = f64::from(phase.workers * phase.processes);
        Some(OpenLoop {
            offered_per_s: per_second,
            achieved_fraction: done as f64 / (per_second * measured_s).max(1.0),
            pacer_lag_p50_us: us(50.0),
            pacer_lag_p99_us: us(99.0),
            pacer_lag_max_us: us(100.0),
            busy_fraction: self.busy_ns as f64 / 1e9 / (measured_s * workers).max(1e-9),
            own_lag: Some(Quantiles::of(&self.own_lag)),
        })
    }
}

fn check_little(
    files: &[PathBuf],
    measured: &Measured,
    claimed: u64,
) -> Result<Option<stats::little::Little>> {
    let stretches: Vec<Stretch> = measured
        .turns
        .iter()
        .map(|turn| Stretch { start_ns: turn.turned.began_ns, end_ns: turn.turned.ended_ns })
        .collect();
    let mut lost = Ok(());
    let samples = samples::all(files)
        .map_while(|sample| sample.map_err(|error| lost = Err(error)).ok())
        .map(|sample| (sample.start_ns, sample.end_ns()));
    let found = little(samples, &stretches, Some(claimed));
    lost.map(|()| found)
}

/// Histograms of intervals, by number and name.
type Intervals = BTreeMap<(u64, String), Histogram>;

fn write_hlog(folder: &Folder, name: &str, length_ns: u64, intervals: Intervals) -> Result<()> {
    let length = Duration::from_nanos(length_ns);
    let intervals = intervals.into_iter().map(|((number, tag), histogram)| Interval {
        tag: Some(tag),
        start: length * u32::try_from(number).unwrap_or(u32::MAX),
        length,
        histogram,
    });
    let log = IntervalLog { start_time: None, intervals: intervals.collect() };
    let mut bytes = Vec::new();
    log.write(&mut bytes).expect("writing to memory; tags are operation names");
    folder.write_whole(name, &bytes)
}

fn run_gates(
    arm: &str,
    run: &PhaseRun,
    little: Option<&stats::little::Little>,
    claimed: u64,
) -> Vec<record::records::Gate> {
    let failed: u64 = run.by_operation.iter().map(|it| it.failed + it.wrong).sum();
    let seen: u64 = run.by_operation.iter().map(|it| it.count).sum();
    let counts = gates::RunCounts {
        operations: claimed,
        errors: failed,
        received: Some(seen),
        checksum: None,
    };
    let mut checked =
        vec![gates::errors(arm, &counts, arm, &counts), gates::littles_law(arm, little)];
    if let (Some(open), Some(first)) = (&run.open_loop, run.by_operation.first()) {
        checked.push(gates::offered_rate(
            arm,
            &gates::OpenLoop {
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

/// Own lateness and response time at the highest of the usual quantiles that both have samples for.
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

/// A gate that does not pass, as it is kept.
#[must_use]
pub fn record(checked: &Checked) -> Option<record::records::Gate> {
    let (fails, reason) = match &checked.outcome {
        Outcome::Pass => return None,
        Outcome::Warn(reason) => (false, reason.clone()),
        Outcome::Fail(reason) => (true, reason.clone()),
    };
    Some(record::records::Gate { id: checked.gate.id().to_owned(), fails, reason })
}
