//! Turns: the warm-up, their length, and laps until the round is precise enough (methodology 2.7).

use std::time::{Duration, Instant};

use crate::admin::difference;
use crate::arm::LiveArm;
use crate::context::PhaseContext;
use crate::measured::MeasuredPhase;
use crate::progress::{Laps, duration};
use crate::settings::{TURN_OPERATIONS_MIN, TURNS_MIN, turn_min};
use crate::unacknowledged::counters;
use crate::{arrange, broker, settings};
use adapter::patience::Patience;
use base::error::Result;
use stats::descriptive::median;
use stats::lap_precision::{BATCH_LAPS, largest_error};
use stats::threshold::Interleave;
use workload::plan::{Limit, Phase};

const TURN_MAX: Duration = Duration::from_secs(1);
const WARMUP_TURN: Duration = Duration::from_millis(100);
/// Laps are added until the round's own standard error is below this, in log units.
const ERROR_MAX: f64 = 0.01;

pub struct Turns {
    /// The same in all rounds.
    pub length: Duration,
    patience: Patience,
    planned: u32,
    most: u32,
}

/// Warms up every arm, in laps. Returns the median rate of each arm's turns, operations a second:
/// the last turn may have stalled.
pub async fn warm_up(
    context: &mut PhaseContext<'_>,
    arms: &mut [LiveArm],
    warmups: &[Duration],
    measured: &mut [MeasuredPhase],
) -> Result<Vec<f64>> {
    let _awake = context.awake.map(|awake| awake.spin());
    let mut left: Vec<Duration> = warmups.to_vec();
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); arms.len()];
    let mut seconds: Vec<(f64, u64)> = vec![(0.0, 0); arms.len()];
    while left.iter().any(|left| !left.is_zero()) {
        let mut order: Vec<usize> = (0..arms.len()).filter(|&at| !left[at].is_zero()).collect();
        arrange(context.order, &mut order, |place| arms[place].index, context.rng);
        for place in order {
            context.stop.check()?;
            let length = WARMUP_TURN.min(left[place]);
            let rate = rates[place].last().copied().unwrap_or(0.0);
            context.progress.turn(arms[place].index, "warm-up", rate);
            let patience = Patience::timed(length, context.longest);
            let turn = arms[place].turn(context.epoch, patience, context.admin);
            let Some(turn) = context.sampler.during(turn).await? else {
                left[place] = Duration::ZERO;
                continue;
            };
            left[place] = left[place].saturating_sub(length);
            if turn.turned.exhausted || turn.turned.gave_up {
                left[place] = Duration::ZERO;
            }
            let took_s = (turn.turned.ended_ns - turn.turned.began_ns) as f64 / 1e9;
            rates[place].push(turn.turned.operations as f64 / took_s.max(1e-9));
            let (second, operations) = &mut seconds[place];
            *second += took_s;
            *operations += turn.turned.operations;
            if *second >= 1.0 || left[place].is_zero() {
                measured[place].warmup_throughput.push(*operations as f64 / second.max(1e-9));
                seconds[place] = (0.0, 0);
            }
        }
    }
    Ok(rates.iter().map(|rates| median(rates).unwrap_or(0.0)).collect())
}

/// Length of a turn and number of laps. The slowest arm of the first warm-up decides the length for
/// all rounds: rounds with different turns would not be alike.
pub fn plan(
    context: &PhaseContext<'_>,
    phase: &Phase,
    rates: &[f64],
    interleave: Interleave,
) -> Turns {
    let seconds = settings::measured(phase, context.measured_s);
    if interleave == Interleave::Runs {
        let (length, longest) = (Duration::from_secs_f64(seconds), context.longest);
        let patience = match phase.limit {
            Limit::Duration { .. } => Patience::timed(length, longest),
            Limit::Operations { seconds_max, .. } => {
                let operation = settings::operation_time(context.plan, phase);
                Patience::counted(seconds_max.map(|_| length), operation, longest)
            }
        };
        return Turns { length, patience, planned: 1, most: 1 };
    }
    let workers = f64::from(phase.workers * phase.processes);
    let slowest = rates.iter().copied().filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
    let operations = f64::from(TURN_OPERATIONS_MIN) * workers;
    let wanted = Duration::from_secs_f64((operations / slowest).min(1.0));
    let length = context.turn.unwrap_or(wanted).clamp(turn_min(context.quick), TURN_MAX);
    let laps = |times: u32| (f64::from(times) * seconds / length.as_secs_f64()).ceil() as u32;
    let planned = laps(1).max(TURNS_MIN);
    let most = match phase.limit {
        Limit::Duration { .. } => laps(settings::stretch(context.quick)).max(planned),
        // The phase ends at its count, which arms reach after different numbers of laps.
        Limit::Operations { .. } => planned,
    };
    Turns { length, patience: Patience::timed(length, context.longest), planned, most }
}

/// Makes the planned laps, and more until the standard error of the round is small. The rule looks
/// at scatter, not at the difference of the arms: the end of a round favours none.
pub async fn take_turns(
    context: &mut PhaseContext<'_>,
    arms: &mut [LiveArm],
    number: usize,
    turns: &Turns,
    began: Instant,
    measured: &mut [MeasuredPhase],
) -> Result<()> {
    let _awake = context.awake.map(|awake| awake.spin());
    let phase = &context.plan.phases[number];
    let mut done = vec![false; arms.len()];
    let mut told = false;
    let mut laps = Laps { done: 0, planned: turns.planned, error: None };
    let mut before = context.sampler.counters().await?;
    while laps.done < turns.planned
        || (laps.done < turns.most
            && laps.error.is_some_and(|error| error >= ERROR_MAX)
            && !done.contains(&true))
    {
        let mut order: Vec<usize> =
            (0..arms.len()).filter(|&at| !done[at] && arms[at].alive()).collect();
        if order.is_empty() {
            break;
        }
        arrange(context.order, &mut order, |place| arms[place].index, context.rng);
        for (position, place) in order.into_iter().enumerate() {
            context.stop.check()?;
            let rate = measured[place].rates.last().copied().unwrap_or(0.0);
            context.progress.turn(arms[place].index, &phase.name, rate);
            let cpu_before_ns = cpu_ns(arms);
            let written = measured[place].written.clone().filter(|_| phase.consumer);
            let (turn, after) = if let Some(collection) = written {
                let (arm, files) = (&mut arms[place], context.inputs);
                let samples = files.received(context.round, arm.index, number);
                let (turn, after, read) =
                    broker::turn(context, phase, &collection, arm, turns.patience, samples).await?;
                measured[place].read = read;
                (turn, after)
            } else {
                let turn = arms[place].turn(context.epoch, turns.patience, context.admin);
                let turn = context.sampler.during(turn).await?;
                let written = measured[place].written.clone();
                let (after, arriving) = counters(context, written).await?;
                if let Some(arriving) = arriving {
                    *measured[place].arriving.get_or_insert_default() += arriving;
                }
                (turn, after)
            };
            let cpu_after_ns = cpu_ns(arms);
            if turn.is_some() {
                let used = cpu_after_ns.iter().zip(&cpu_before_ns);
                for (other, (after, before)) in used.enumerate().filter(|(it, _)| *it != place) {
                    let used_ns = after.saturating_sub(*before);
                    measured[other].waiting_cpu_ns += used_ns;
                    measured[place].idle_cpu_ns += used_ns;
                }
            }
            let entry = &mut measured[place];
            if let Some(turn) = turn {
                for (name, value) in difference(&before, &after) {
                    *entry.counters.entry(name).or_default() += value;
                }
                done[place] = turn.turned.exhausted || turn.turned.gave_up;
                entry.rates.push(turn.rate(phase.has_one_worker()));
                entry.positions.push(position as u32);
                entry.turns.push(turn);
            } else {
                done[place] = true; // lost, or not able to
            }
            before = after;
            if !told && began.elapsed() > 2 * context.planned {
                told = true;
                context.progress.note(&format!(
                    "round {}, {}: {} so far, the plan was {}; {laps}",
                    context.round,
                    phase.name,
                    duration(began.elapsed()),
                    duration(context.planned),
                ));
            }
        }
        laps.done += 1;
        if laps.done.is_multiple_of(BATCH_LAPS as u32) {
            laps.error = error(measured, laps.done as usize);
        }
        context.progress.laps(laps);
    }
    Ok(())
}

/// The round's own standard error so far; None where the baseline or all other arms are lost.
fn error(measured: &[MeasuredPhase], laps: usize) -> Option<f64> {
    let whole = |it: &&MeasuredPhase| it.rates.len() == laps;
    let baseline = measured.iter().find(|it| it.arm == 0).filter(whole)?;
    let others = measured.iter().filter(|it| it.arm != 0).filter(whole);
    largest_error(&baseline.rates, others.map(|it| &it.rates[..]))
}

fn cpu_ns(arms: &[LiveArm]) -> Vec<u64> {
    arms.iter().map(LiveArm::cpu_ns).collect()
}
