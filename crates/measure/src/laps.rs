//! Turns: the warm-up, their length, and laps until the round is precise enough (methodology 2.7).

use std::time::{Duration, Instant};

use crate::admin::{MongodCounters, difference};
use crate::arm::LiveArm;
use crate::awake::Awake;
use crate::measured::MeasuredPhase;
use crate::progress::{Laps, duration};
use crate::settings::{TURN_OPERATIONS_MIN, TURNS_MIN, turn_min};
use crate::turn::ArmTurn;
use crate::unacknowledged::counters;
use crate::world::PhaseContext;
use crate::{arrange, broker, settings};
use adapter::patience::Patience;
use base::error::Result;
use stats::descriptive::median;
use stats::lap_precision::{BATCH_LAPS, largest_error};
use stats::threshold::Interleave;
use workload::plan::Limit;

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

impl Turns {
    /// Whether the round needs another lap, where none of its arms is `done`.
    fn want_another(&self, laps: Laps, done: &[bool]) -> bool {
        let scatters = laps.error.is_some_and(|error| error >= ERROR_MAX);
        laps.done < self.planned || (laps.done < self.most && scatters && !done.contains(&true))
    }
}

/// Warms up every arm, in laps. Returns the median rate of each arm's turns, operations a second:
/// the last turn may have stalled.
pub async fn warm_up(
    context: &mut PhaseContext<'_>,
    arms: &mut [LiveArm],
    warmups: &[Duration],
    measured: &mut [MeasuredPhase],
) -> Result<Vec<f64>> {
    let _awake = context.world.machine.awake.as_ref().map(Awake::spin);
    let longest = context.longest();
    let mut left: Vec<Duration> = warmups.to_vec();
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); arms.len()];
    let mut seconds: Vec<(f64, u64)> = vec![(0.0, 0); arms.len()];
    while left.iter().any(|left| !left.is_zero()) {
        let mut order: Vec<usize> = (0..arms.len()).filter(|&at| !left[at].is_zero()).collect();
        let asked = context.settings().conduct.order();
        arrange(asked, &mut order, |place| arms[place].index, context.rng);
        for place in order {
            let world = &mut *context.world;
            world.stop.check()?;
            let length = WARMUP_TURN.min(left[place]);
            world.progress.turn(arms[place].index, "warm-up");
            let patience = Patience::timed(length, longest);
            let admin = world.server.admin.as_ref();
            let turn = arms[place].turn(&world.epoch, patience, admin);
            let turn = world.sampler.during(turn);
            let Some(turn) = world.progress.during(turn).await? else {
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
pub fn plan(context: &PhaseContext<'_>, rates: &[f64]) -> Turns {
    let (phase, settings) = (context.phase(), context.settings());
    let (chosen, longest) = (&settings.interleave[context.number], context.longest());
    let seconds = settings::measured(phase, settings.measured_s);
    if chosen.interleave == Interleave::Runs {
        let length = Duration::from_secs_f64(seconds);
        let patience = match phase.limit {
            Limit::Duration { .. } => Patience::timed(length, longest),
            Limit::Operations { seconds_max, .. } => {
                let operation = settings::operation_time(context.plan(), phase);
                Patience::counted(seconds_max.map(|_| length), operation, longest)
            }
        };
        return Turns { length, patience, planned: 1, most: 1 };
    }
    let workers = f64::from(phase.workers * phase.processes);
    let slowest = rates.iter().copied().filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
    let operations = f64::from(TURN_OPERATIONS_MIN) * workers;
    let wanted = Duration::from_secs_f64((operations / slowest).min(1.0));
    let decided = chosen.turn_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1e3).ok());
    let quick = settings.looks.quick;
    let length = decided.unwrap_or(wanted).clamp(turn_min(quick), TURN_MAX);
    let laps = |times: u32| (f64::from(times) * seconds / length.as_secs_f64()).ceil() as u32;
    let planned = laps(1).max(TURNS_MIN);
    let most = match phase.limit {
        Limit::Duration { .. } => laps(settings::stretch(quick)).max(planned),
        // The phase ends at its count, which arms reach after different numbers of laps.
        Limit::Operations { .. } => planned,
    };
    Turns { length, patience: Patience::timed(length, longest), planned, most }
}

/// Makes the planned laps, and more until the standard error of the round is small. The rule looks
/// at scatter, not at the difference of the arms: the end of a round favours none.
///
/// `planned` is the time that the plan gives the phase, over all arms, since `began`.
pub async fn take_turns(
    context: &mut PhaseContext<'_>,
    arms: &mut [LiveArm],
    turns: &Turns,
    (began, planned): (Instant, Duration),
    measured: &mut [MeasuredPhase],
) -> Result<()> {
    let _awake = context.world.machine.awake.as_ref().map(Awake::spin);
    let (phase, asked) = (context.phase(), context.settings().conduct.order());
    let mut done = vec![false; arms.len()];
    let mut is_late = false;
    let mut laps = Laps { done: 0, planned: turns.planned, error: None };
    let mut before = context.world.sampler.counters().await?;
    while turns.want_another(laps, &done) {
        let mut order: Vec<usize> =
            (0..arms.len()).filter(|&at| !done[at] && arms[at].alive()).collect();
        if order.is_empty() {
            break;
        }
        arrange(asked, &mut order, |place| arms[place].index, context.rng);
        for (position, place) in order.into_iter().enumerate() {
            context.world.stop.check()?;
            context.world.progress.turn(arms[place].index, &phase.name);
            let cpu_before_ns = cpu_ns(arms);
            let entry = &mut measured[place];
            let (turn, after) = take_turn(context, &mut arms[place], turns.patience, entry).await?;
            if let Some(turn) = turn {
                for (name, value) in difference(&before, &after) {
                    *entry.counters.entry(name).or_default() += value;
                }
                entry.rates.push(turn.rate(phase.has_one_worker()));
                entry.positions.push(position as u32);
                entry.turns.push(turn);
                context.world.progress.turned(entry.arm, &entry.rates);
                note_idle_cpu(measured, place, &cpu_before_ns, &cpu_ns(arms));
            }
            // Without a turn the arm is lost, or cannot do the phase.
            done[place] = turn.is_none_or(|it| it.turned.exhausted || it.turned.gave_up);
            before = after;
            if !is_late && began.elapsed() > 2 * planned {
                is_late = true;
                context.world.progress.note(&format!(
                    "round {}, {}: {} so far, the plan was {}; {laps}",
                    context.round,
                    phase.name,
                    duration(began.elapsed()),
                    duration(planned),
                ));
            }
        }
        laps.done += 1;
        if laps.done.is_multiple_of(BATCH_LAPS as u32) {
            laps.error = error(measured, laps.done as usize);
        }
        context.world.progress.laps(laps);
    }
    Ok(())
}

/// Runs one turn of an arm, with that of its consumer. Returns the server's counters after it.
async fn take_turn(
    context: &mut PhaseContext<'_>,
    arm: &mut LiveArm,
    patience: Patience,
    entry: &mut MeasuredPhase,
) -> Result<(Option<ArmTurn>, MongodCounters)> {
    let written = entry.written.clone();
    if let Some(collection) = written.as_ref().filter(|_| context.phase().consumer) {
        let (turn, after, read) = broker::turn(context, collection, arm, patience).await?;
        entry.read = read;
        return Ok((turn, after));
    }
    let world = &mut *context.world;
    let turn = arm.turn(&world.epoch, patience, world.server.admin.as_ref());
    let turn = world.progress.during(world.sampler.during(turn)).await?;
    let (after, arriving) = counters(context, written).await?;
    if let Some(arriving) = arriving {
        *entry.arriving.get_or_insert_default() += arriving;
    }
    Ok((turn, after))
}

/// Adds the CPU time that the other arms used during the turn of the arm at `place`.
fn note_idle_cpu(
    measured: &mut [MeasuredPhase],
    place: usize,
    before_ns: &[u64],
    after_ns: &[u64],
) {
    for (other, (after, before)) in after_ns.iter().zip(before_ns).enumerate() {
        if other != place {
            let used_ns = after.saturating_sub(*before);
            measured[other].waiting_cpu_ns += used_ns;
            measured[place].idle_cpu_ns += used_ns;
        }
    }
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
