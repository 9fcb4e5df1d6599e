//! One phase of one round: set up, warm up in turns, measure in turns, clear away.
//!
//! A phase that takes no turns is one turn as long as the phase: there is one mechanism.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;

use crate::adapter::messages::{Ended, Prepare, Role};
use crate::clock::Epoch;
use crate::error::Result;
use crate::experiment::admin::{Admin, Counters, difference};
use crate::experiment::arm::{ERRORS_CONSECUTIVE_MAX, LiveArm, Turn};
use crate::experiment::broker::{self, Read};
use crate::experiment::materials::Materials;
use crate::experiment::progress::Progress;
use crate::experiment::sampler::Sampler;
use crate::experiment::shuffle;
use crate::experiment::stop::Stop;
use crate::experiment::unacknowledged::settled;
use crate::stats::threshold::Interleave;
use crate::workload::plan::{Limit, Phase, Plan};
use crate::workload::schedule;

/// Shortest turn of a plain run (methodology 2.7 c).
const TURN_MIN: Duration = Duration::from_millis(50);
/// Shortest turn of the quick form: 40 of them are its one measured second.
const QUICK_TURN_MIN: Duration = Duration::from_millis(25);
/// Longest turn.
const TURN_MAX: Duration = Duration::from_secs(1);
/// Turns per phase and round, at least.
const TURNS_MIN: u32 = 40;
/// Operations per worker and turn, at least.
const TURN_OPERATIONS_MIN: f64 = 40.0;
/// A phase limited by a count ends at the latest after this.
const COUNTED_PHASE_MAX: Duration = Duration::from_secs(600);
/// Turns of a warm-up.
const WARMUP_TURN: Duration = Duration::from_millis(100);

/// What all phases of a round share.
pub struct Stage<'a> {
    /// What is done.
    pub plan: &'a Plan,
    /// Files of pools and schedules.
    pub materials: &'a Materials,
    /// The experiment's clock.
    pub epoch: &'a Epoch,
    /// Administration; None with `--server none`.
    pub admin: Option<&'a Admin>,
    /// Readings of the server once a second.
    pub sampler: &'a mut Sampler,
    /// Randomness of orders and names.
    pub rng: &'a mut ChaCha8Rng,
    /// The live line.
    pub progress: &'a mut Progress,
    /// Ctrl-C.
    pub stop: &'a Stop,
    /// Round, from 1.
    pub round: u32,
    /// Quick form.
    pub quick: bool,
    /// Some writes of the phase have no answer: they are waited for before anything is counted.
    pub unacknowledged: bool,
    /// Measured seconds where the phase does not say.
    pub measured_s: f64,
    /// Reads the messages of phases that have a consumer.
    pub consumer: Option<&'a mut LiveArm>,
}

/// What one arm did in one phase, before its samples are read.
pub struct Measured {
    /// Index of the arm in the experiment.
    pub arm: usize,
    /// Turns in order.
    pub turns: Vec<Turn>,
    /// Length asked of each turn.
    pub turn_length: Duration,
    /// CPU of the other arms during its turns, ns.
    pub idle_cpu_ns: u64,
    /// Server counters over its turns.
    pub counters: Counters,
    /// Making one document, ns.
    pub document_ns: Option<f64>,
    /// Operations a second in each second of the warm-up.
    pub warmup_throughput: Vec<f64>,
    /// Totals, once the phase has ended.
    pub ended: Option<Ended>,
    /// Resident set when armed, bytes.
    pub rss_armed_bytes: u64,
    /// Peak resident set, bytes.
    pub rss_peak_bytes: u64,
    /// Collection sizes before and after.
    pub sizes: Counters,
    /// Collection that this arm wrote.
    pub written: Option<String>,
    /// Documents in it after the phase and its drain.
    pub documents_after: Option<i64>,
    /// What the consumer did, in a phase that has one.
    pub read: Option<Read>,
}

impl Measured {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(arm: usize) -> Self {
        Self {
            arm,
            turns: Vec::new(),
            turn_length: Duration::ZERO,
            idle_cpu_ns: 0,
            counters: Counters::new(),
            document_ns: None,
            warmup_throughput: Vec::new(),
            ended: None,
            rss_armed_bytes: 0,
            rss_peak_bytes: 0,
            sizes: Counters::new(),
            written: None,
            documents_after: None,
            read: None,
        }
    }
}

/// Runs one phase for the arms that share it; the answer is in the order of `arms`.
///
/// # Errors
/// The server lost, or Ctrl-C.
pub async fn run(
    stage: &mut Stage<'_>,
    arms: &mut [LiveArm],
    number: usize,
    warmups: &[Duration],
    interleave: Interleave,
) -> Result<Vec<Measured>> {
    let phase = &stage.plan.phases[number];
    let mut measured: Vec<_> = arms.iter().map(|arm| Measured::new(arm.index)).collect();
    // Which arm gets which collection is shuffled: the trees on the server differ.
    let mut slots: Vec<usize> = (0..arms.len()).collect();
    shuffle(&mut slots, stage.rng);

    set_up(stage, phase, &slots, true).await?;
    prepare(stage, arms, number, &slots, true).await;
    let rates = warm_up(stage, arms, warmups, &mut measured).await?;
    for arm in arms.iter_mut() {
        arm.end().await;
    }
    // What still comes would make the dropped collections anew.
    counters(stage, written_collection(phase, slots[0], true)).await?;
    clear(stage, phase, &slots, true).await?;

    set_up(stage, phase, &slots, false).await?;
    prepare(stage, arms, number, &slots, false).await;
    for (place, arm) in arms.iter_mut().enumerate() {
        let written = written_collection(phase, slots[place], false);
        if let (Some(admin), Some(name)) = (stage.admin, &written) {
            measured[place].sizes = prefixed("before", admin.sizes(name).await);
        }
        measured[place].written = written;
        arm.reset_rss_peak();
        measured[place].rss_armed_bytes = arm.rss_bytes().0;
    }
    let (length, laps) = turn_plan(stage, phase, &rates, interleave);
    for entry in &mut measured {
        entry.turn_length = length;
    }
    take_turns(stage, arms, number, (length, laps), &mut measured).await?;
    for (place, arm) in arms.iter_mut().enumerate() {
        measured[place].ended = arm.end().await;
        measured[place].rss_peak_bytes = arm.rss_bytes().1;
        if let (Some(admin), Some(name)) = (stage.admin, measured[place].written.clone()) {
            measured[place].documents_after = Some(drain(admin, &name).await?);
            measured[place].sizes.extend(prefixed("after", admin.sizes(&name).await));
        }
    }
    clear(stage, phase, &slots, false).await?;
    Ok(measured)
}

fn prefixed(prefix: &str, counters: Counters) -> Counters {
    counters.into_iter().map(|(name, value)| (format!("{prefix}.{name}"), value)).collect()
}

/// Unacknowledged writes go on after the last `end`: the count has settled when two readings
/// 50 ms apart agree. Answers it.
///
/// # Errors
/// The server lost.
pub async fn drain(admin: &Admin, name: &str) -> Result<i64> {
    let mut count = admin.count(name).await?;
    for _ in 0..600 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let again = admin.count(name).await?;
        if again == count {
            break;
        }
        count = again;
    }
    Ok(count)
}

/// Name on the server of a collection that an arm writes.
fn own_name(collection: &str, slot: usize, warmup: bool) -> String {
    format!("{collection}_{slot}{}", if warmup { "_warmup" } else { "" })
}

fn written_collection(phase: &Phase, slot: usize, warmup: bool) -> Option<String> {
    let operation = phase.operations.iter().find(|operation| !operation.collection.is_empty())?;
    phase.writes.then(|| own_name(&operation.collection, slot, warmup))
}

fn collections(phase: &Phase) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for operation in &phase.operations {
        if !operation.collection.is_empty() && !names.contains(&operation.collection.as_str()) {
            names.push(&operation.collection);
        }
    }
    names
}

async fn set_up(stage: &Stage<'_>, phase: &Phase, slots: &[usize], warmup: bool) -> Result<()> {
    let Some(admin) = stage.admin else { return Ok(()) };
    if !phase.writes {
        return Ok(());
    }
    for name in collections(phase) {
        let (number, collection) = stage.materials.collection(stage.plan, name);
        for slot in slots {
            let own = own_name(name, *slot, warmup);
            admin.create(&own, collection).await?;
            admin.load(&own, stage.materials.documents(stage.plan, number)).await?;
            if phase.consumer && !warmup {
                broker::sentinel(admin, &own).await?;
            }
        }
    }
    admin.settle().await;
    Ok(())
}

async fn clear(stage: &Stage<'_>, phase: &Phase, slots: &[usize], warmup: bool) -> Result<()> {
    let Some(admin) = stage.admin else { return Ok(()) };
    if phase.writes {
        for name in collections(phase) {
            for slot in slots {
                admin.drop_collection(&own_name(name, *slot, warmup)).await?;
            }
        }
    }
    Ok(())
}

async fn prepare(
    stage: &Stage<'_>,
    arms: &mut [LiveArm],
    number: usize,
    slots: &[usize],
    warmup: bool,
) {
    let phase = &stage.plan.phases[number];
    for (place, arm) in arms.iter_mut().enumerate() {
        let own = |name: &str| {
            if phase.writes { own_name(name, slots[place], warmup) } else { name.to_owned() }
        };
        let which = Which { round: stage.round, arm: arm.index, phase: number, warmup };
        let plan = stage.plan.with_processes(arm.own_processes);
        arm.prepare(prepares(stage.materials, &plan, which, own)).await;
    }
}

/// Which phase of which run.
#[derive(Debug, Clone, Copy)]
pub struct Which {
    /// Round, from 1.
    pub round: u32,
    /// Index of the arm.
    pub arm: usize,
    /// Index of the phase.
    pub phase: usize,
    /// Its warm-up instead.
    pub warmup: bool,
}

/// The `prepare` of each process; `own` names a collection as it is called on the server.
pub fn prepares(
    materials: &Materials,
    plan: &Plan,
    which: Which,
    own: impl Fn(&str) -> String,
) -> Vec<Prepare> {
    let phase = &plan.phases[which.phase];
    let mut operations = phase.operations.clone();
    for operation in operations.iter_mut().filter(|it| !it.collection.is_empty()) {
        operation.collection = own(&operation.collection);
    }
    let prepare = |process| Prepare {
        phase: phase.name.clone(),
        role: Role::Worker,
        warmup: which.warmup,
        samples: materials.samples(which.round, which.arm, which.phase, process, which.warmup),
        schedule: materials.schedule(which.phase, phase.processes, process),
        pools: materials.pools(phase),
        document_form: phase.document_form.clone(),
        workers: phase.workers,
        first_worker: process * phase.workers,
        limits: materials.limits(which.phase, phase.processes, process),
        pacing: phase.pacing,
        counter: schedule::counter(plan, phase),
        errors_consecutive_max: ERRORS_CONSECUTIVE_MAX,
        operations: operations.clone(),
        consumer: None,
    };
    (0..phase.processes).map(prepare).collect()
}

/// Warm-up in turns: every arm has its seconds, in laps of shuffled order. Answers the rate of
/// each arm at its end, operations a second.
async fn warm_up(
    stage: &mut Stage<'_>,
    arms: &mut [LiveArm],
    warmups: &[Duration],
    measured: &mut [Measured],
) -> Result<Vec<f64>> {
    let mut left: Vec<Duration> = warmups.to_vec();
    let mut rates = vec![0.0; arms.len()];
    let mut seconds: Vec<(f64, u64)> = vec![(0.0, 0); arms.len()];
    while left.iter().any(|left| !left.is_zero()) {
        let mut order: Vec<usize> = (0..arms.len()).filter(|&at| !left[at].is_zero()).collect();
        shuffle(&mut order, stage.rng);
        for place in order {
            stage.stop.check()?;
            let length = WARMUP_TURN.min(left[place]);
            stage.progress.turn(arms[place].index, "warm-up", rates[place]);
            let Some(turn) = stage.sampler.during(arms[place].turn(stage.epoch, length)).await?
            else {
                left[place] = Duration::ZERO;
                continue;
            };
            left[place] = left[place].saturating_sub(length);
            if turn.turned.exhausted || turn.turned.gave_up {
                left[place] = Duration::ZERO;
            }
            let took_s = (turn.turned.ended_ns - turn.turned.began_ns) as f64 / 1e9;
            rates[place] = turn.turned.operations as f64 / took_s.max(1e-9);
            let (second, operations) = &mut seconds[place];
            *second += took_s;
            *operations += turn.turned.operations;
            if *second >= 1.0 || left[place].is_zero() {
                measured[place].warmup_throughput.push(*operations as f64 / second.max(1e-9));
                seconds[place] = (0.0, 0);
            }
        }
    }
    Ok(rates)
}

/// Length of a turn and number of laps.
fn turn_plan(
    stage: &Stage<'_>,
    phase: &Phase,
    rates: &[f64],
    interleave: Interleave,
) -> (Duration, u32) {
    let seconds = match phase.limit {
        Limit::Duration { seconds } => seconds.unwrap_or(stage.measured_s),
        Limit::Operations { seconds_max, .. } => {
            seconds_max.unwrap_or(COUNTED_PHASE_MAX.as_secs_f64())
        }
    };
    if interleave == Interleave::Runs {
        return (Duration::from_secs_f64(seconds), 1);
    }
    let shortest = if stage.quick { QUICK_TURN_MIN } else { TURN_MIN };
    let workers = f64::from(phase.workers * phase.processes);
    let slowest = rates.iter().copied().filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
    let wanted = Duration::from_secs_f64((TURN_OPERATIONS_MIN * workers / slowest).min(1.0));
    let length = wanted.clamp(shortest, TURN_MAX);
    let laps = (seconds / length.as_secs_f64()).ceil() as u32;
    (length, laps.max(TURNS_MIN))
}

async fn take_turns(
    stage: &mut Stage<'_>,
    arms: &mut [LiveArm],
    number: usize,
    (length, laps): (Duration, u32),
    measured: &mut [Measured],
) -> Result<()> {
    let phase = &stage.plan.phases[number];
    let mut done = vec![false; arms.len()];
    let mut before = stage.sampler.counters().await?;
    for lap in 0..laps {
        let mut order: Vec<usize> =
            (0..arms.len()).filter(|&at| !done[at] && arms[at].alive()).collect();
        if order.is_empty() {
            break;
        }
        shuffle(&mut order, stage.rng);
        for place in order {
            stage.stop.check()?;
            let rate = measured[place]
                .turns
                .last()
                .map_or(0.0, |turn: &Turn| turn.turned.operations as f64 / length.as_secs_f64());
            stage.progress.turn(arms[place].index, &phase.name, rate);
            let others_before = idle_cpu_ns(arms, place);
            let written = measured[place].written.clone().filter(|_| phase.consumer);
            let (turn, after) = if let Some(collection) = written {
                let (arm, files) = (&mut arms[place], stage.materials);
                let samples = files.received(stage.round, arm.index, number);
                let (turn, after, read) =
                    broker::turn(stage, phase, &collection, arm, length, samples).await?;
                measured[place].read = read;
                (turn, after)
            } else {
                let turn = arms[place].turn(stage.epoch, length);
                let turn = stage.sampler.during(turn).await?;
                (turn, counters(stage, measured[place].written.clone()).await?)
            };
            let others_after = idle_cpu_ns(arms, place);
            let entry = &mut measured[place];
            if let Some(turn) = turn {
                entry.idle_cpu_ns += others_after.saturating_sub(others_before);
                for (name, value) in difference(&before, &after) {
                    *entry.counters.entry(name).or_default() += value;
                }
                done[place] = turn.turned.exhausted || turn.turned.gave_up;
                entry.turns.push(turn);
            }
            before = after;
        }
        stage.progress.lap(lap + 1, laps);
    }
    Ok(())
}

/// The server's counters, once it is through with what nobody waited for.
async fn counters(stage: &mut Stage<'_>, written: Option<String>) -> Result<Counters> {
    match (stage.admin, written) {
        (Some(admin), Some(name)) if stage.unacknowledged => {
            settled(stage.sampler, admin, &name).await
        }
        _ => stage.sampler.counters().await,
    }
}

/// CPU of all arms but one.
fn idle_cpu_ns(arms: &[LiveArm], busy: usize) -> u64 {
    let idle = arms.iter().enumerate().filter(|(place, _)| *place != busy);
    idle.map(|(_, arm)| arm.cpu_ns()).sum()
}
