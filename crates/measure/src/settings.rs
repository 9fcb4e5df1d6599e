//! Rounds, looks, measured seconds; the estimate of time and bytes.

use std::time::Duration;

use crate::unacknowledged;
use base::error::{Error, Result};
use record::records::PhaseInterleave;
use stats::threshold::Interleave;
use workload::operations::inserted;
use workload::plan::{Limit, Pacing, Phase, Plan};

/// The reason where the user chose the interleave.
pub const ASKED_FOR: &str = "asked for";
/// Measured seconds per arm, phase and round.
pub const MEASURED_S: f64 = 3.0;
pub const QUICK_MEASURED_S: f64 = 1.0;
/// The least warm-up of a phase in the quick form (decision 0087).
const QUICK_WARMUP_S: f64 = 1.0;
/// The least warm-up of a later phase of a process, s: some 2,000 operations of a new kind. With a
/// whole second the first look at five arms and four phases came after 16 minutes.
const LATER_WARMUP_S: f64 = 0.5;
pub const QUICK_PHASES_MAX: usize = 2;
/// Fewest turns per phase and round, and operations per worker in each (methodology 2.7 c).
pub const TURNS_MIN: u32 = 40;
pub const TURN_OPERATIONS_MIN: u32 = 40;
/// A phase that a count ends has no other end, s: some 115 days, the contract's largest time.
const UNTIL_COUNTED_S: f64 = 1e7;
/// Cost of a turn beside its length, s: wake-up, two readings of the server (measured).
const TURN_OVERHEAD_S: f64 = 0.003;
/// Setting up and clearing away one phase of one arm, s (measured with crud).
const PHASE_OVERHEAD_S: f64 = 0.25;
/// What a phase with a consumer takes beside that, s: its messages are matched (measured with the
/// broker study, whose slowest arms open thousands of connections).
const CONSUMER_S: f64 = 0.4;
/// Starting, greeting, calibrating and closing one arm, s (measured).
const ARM_OVERHEAD_S: f64 = 0.35;
/// Calibrating how long documents of one kind take to be made, s: two turns.
const MAKING_S: f64 = 0.3;
/// Operations a second of each of the first two workers in a counted phase; further ones wait for
/// the same server (measured with the studies, on two cores).
const CALLS_PER_S: f64 = 5_000.0;
/// Documents a second of large batches; one of more than 1,000 bytes counts by them (measured).
const DOCUMENTS_PER_S: f64 = 200_000.0;

/// Warm-up of one arm in one phase. One that continues has none: the documents that it goes on with
/// cannot be made twice.
pub fn warmup(profile_s: f64, phase: &Phase, first_phase: bool, quick: bool) -> Duration {
    if phase.continues && !first_phase {
        return Duration::ZERO;
    }
    // The code of a later phase is new to the compiler, the driver's mostly not (decision 0087).
    let share = match (first_phase, quick) {
        (true, false) => 1.0,
        (true, true) => 0.5,
        (false, _) => 0.25,
    };
    let least_s = match (first_phase, quick) {
        (true, false) => 0.0,
        (false, false) => LATER_WARMUP_S,
        (_, true) => QUICK_WARMUP_S,
    };
    let usual = (profile_s * share).max(least_s);
    let seconds = phase.warmup_s.unwrap_or(usual);
    Duration::from_secs_f64(seconds)
}

/// Turns or whole runs for each phase (methodology 2.7 d), with the reason.
///
/// `unanswered` is an arm whose connection string asks for no answers to its writes.
///
/// # Errors
/// Turns were asked for where they do not fit.
pub fn interleave(
    plan: &Plan,
    asked: Option<Interleave>,
    unanswered: Option<&str>,
) -> Result<Vec<PhaseInterleave>> {
    let choose = |phase: &Phase| -> Result<PhaseInterleave> {
        let of_arm = || unacknowledged::reason(phase, unanswered?);
        let whole_run_reason = phase.whole_run_reason.clone().or_else(of_arm);
        let (interleave, reason) = match (asked, &whole_run_reason) {
            (Some(Interleave::Turns), Some(reason)) => {
                return Err(Error::usage(
                    format!("phase {} cannot take turns: {reason}", phase.name),
                    "leave out --interleave: the choice is automatic",
                ));
            }
            (Some(Interleave::Runs), None) => (Interleave::Runs, ASKED_FOR.to_owned()),
            (_, Some(reason)) => (Interleave::Runs, reason.clone()),
            (asked, None) => {
                let reason = if asked.is_some() { ASKED_FOR } else { "closed loop" };
                (Interleave::Turns, reason.to_owned())
            }
        };
        Ok(PhaseInterleave { phase: phase.name.clone(), interleave, reason, turn_ms: None })
    };
    plan.phases.iter().map(choose).collect()
}

/// Measured seconds of one arm in one phase; the most, where a count ends it.
pub fn measured(phase: &Phase, measured_s: f64) -> f64 {
    match phase.limit {
        Limit::Duration { seconds } => seconds.unwrap_or(measured_s),
        Limit::Operations { seconds_max, .. } => seconds_max.unwrap_or(UNTIL_COUNTED_S),
    }
}

/// Shortest turn. That of the quick form makes 40 of them its one measured second.
pub fn turn_min(quick: bool) -> Duration {
    Duration::from_millis(if quick { 25 } else { 50 })
}

/// Measured seconds of one arm in one phase, where no arm is so slow that turns have to be longer.
pub fn planned(phase: &Phase, measured_s: f64, quick: bool, interleave: Interleave) -> f64 {
    let measured_s = measured(phase, measured_s);
    match (phase.limit, interleave) {
        (Limit::Duration { .. }, Interleave::Turns) => {
            measured_s.max(f64::from(TURNS_MIN) * turn_min(quick).as_secs_f64())
        }
        _ => measured_s,
    }
}

/// `--max-time`: counted phases without a longest time get this one.
pub fn limit_counted(plan: &mut Plan, max_s: Option<f64>) {
    for phase in &mut plan.phases {
        if let Limit::Operations { seconds_max, .. } = &mut phase.limit {
            *seconds_max = seconds_max.or(max_s);
        }
    }
}

/// Factor by which added laps may exceed the measured time. The quick form promises an answer in
/// minutes.
pub fn stretch(quick: bool) -> u32 {
    if quick { 2 } else { 4 }
}

/// Time of one arm in one phase.
pub fn phase_time(phase: &Phase, warmup: Duration, measured_s: f64) -> Duration {
    // A count may end a phase in its first turn.
    let counts = matches!(phase.limit, Limit::Operations { .. });
    let turns_min = if counts { 1.0 } else { f64::from(TURNS_MIN) };
    let turns = (measured_s / 0.05).max(turns_min) + warmup.as_secs_f64() / 0.1;
    let around_s = if phase.continues { 0.0 } else { PHASE_OVERHEAD_S };
    let consumer_s = if phase.consumer { CONSUMER_S } else { 0.0 };
    warmup + Duration::from_secs_f64(measured_s + turns * TURN_OVERHEAD_S + around_s + consumer_s)
}

/// Seconds until a phase has counted its operations, at a guess.
fn counted_s(plan: &Plan, phase: &Phase, count: u64) -> f64 {
    let count = count as f64;
    let workers = phase.all_workers() as f64;
    let calls_s = count / (CALLS_PER_S * workers.min(2.0));
    let paced_s = match phase.pacing {
        Pacing::Awaited { think_ns } => calls_s + count * think_ns as f64 / 1e9 / workers,
        Pacing::Rate { per_second, .. } => count / per_second,
        Pacing::Window { .. } | Pacing::Burst {} => calls_s,
    };
    let documents = phase.operations.iter().filter_map(|made| {
        let bytes = plan.collection(made)?.document_bytes_mean;
        Some(inserted(phase, made) as f64 * (bytes / 1e3).max(1.0))
    });
    paced_s.max(documents.sum::<f64>() / DOCUMENTS_PER_S)
}

/// Time of one operation of a worker in a counted phase, at a guess.
pub fn operation_time(plan: &Plan, phase: &Phase) -> Duration {
    let count = phase.limit.operations().max(1);
    let each = (count as f64 / phase.all_workers() as f64).max(1.0);
    Duration::from_secs_f64(counted_s(plan, phase, count) / each)
}

/// Time and disk of an experiment up to its first look.
#[derive(Debug, Clone, Copy)]
pub struct Estimate {
    pub round: Duration,
    /// Bytes of raw samples of one round, at a guess of 10,000 operations a second.
    pub round_sample_bytes: u64,
}

/// `arms` are the warm-up of each, s, and its phases; None: all.
pub fn estimate(
    plan: &Plan,
    interleave: &[PhaseInterleave],
    arms: &[(f64, Option<&Vec<String>>)],
    quick: bool,
    measured_s: f64,
) -> Estimate {
    const GUESSED_RATE: f64 = 10_000.0;
    let mut seconds = 0.0;
    let mut operations = 0.0;
    for (profile_s, own) in arms {
        seconds += ARM_OVERHEAD_S;
        let mut calibrated = Vec::new();
        for (number, phase) in plan.phases.iter().enumerate() {
            if own.is_some_and(|own| !own.contains(&phase.name)) {
                continue;
            }
            let mut warmup = warmup(*profile_s, phase, number == 0, quick);
            let (measured, count) = match phase.limit {
                Limit::Duration { .. } => {
                    let interleave = interleave[number].interleave;
                    let measured = planned(phase, measured_s, quick, interleave);
                    let rate = GUESSED_RATE * f64::from(phase.workers * phase.processes).min(8.0);
                    (measured, measured * rate)
                }
                Limit::Operations { count, seconds_max } => {
                    let seconds = counted_s(plan, phase, count);
                    let seconds = seconds_max.map_or(seconds, |most| seconds.min(most));
                    // The count ends its warm-up as well.
                    warmup = warmup.min(Duration::from_secs_f64(seconds));
                    (seconds, count as f64)
                }
            };
            if let Some(made) = phase.operations.iter().find(|it| it.documents.is_some()) {
                let pool = plan.pool(phase, made).map(|it| &it.name);
                let kind = (pool, &made.documents, &made.shape);
                if !calibrated.contains(&kind) {
                    calibrated.push(kind);
                    seconds += MAKING_S;
                }
            }
            seconds += phase_time(phase, warmup, measured).as_secs_f64();
            operations += count;
        }
    }
    Estimate {
        round: Duration::from_secs_f64(seconds),
        round_sample_bytes: (operations * 32.0) as u64,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use workload::builtin;

    /// Seconds of a round of one arm that warms up for one second.
    fn round_s(workload: &str, sets: &[(&str, &str)]) -> f64 {
        let sets = sets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let sets: BTreeMap<String, String> = sets.collect();
        let plan = builtin::open(workload, &sets, 1).expect("a workload").plan;
        let interleave = interleave(&plan, None, None).expect("a choice");
        estimate(&plan, &interleave, &[(1.0, None)], false, MEASURED_S).round.as_secs_f64()
    }

    #[test]
    fn the_quick_form_and_later_phases_warm_up_for_less() {
        let plan = builtin::open("crud", &BTreeMap::new(), 1).expect("a workload").plan;
        let warm_ms = |number: usize, quick| {
            [1.0, 5.0, 15.0].map(|profile_s| {
                warmup(profile_s, &plan.phases[number], number == 0, quick).as_millis()
            })
        };
        assert_eq!(warm_ms(0, false), [1_000, 5_000, 15_000]);
        assert_eq!(warm_ms(0, true), [1_000, 2_500, 7_500]);
        assert_eq!(warm_ms(1, false), [500, 1_250, 3_750]);
        assert_eq!(warm_ms(1, true), [1_000, 1_250, 3_750]);
    }

    #[test]
    fn a_short_phase_still_takes_forty_turns() {
        let mut plan = builtin::open("crud", &BTreeMap::new(), 1).expect("a workload").plan;
        plan.phases[0].limit = Limit::Duration { seconds: Some(0.2) };
        let planned_ms = |quick, interleave| {
            let planned_s = planned(&plan.phases[0], 3.0, quick, interleave);
            Duration::from_secs_f64(planned_s).as_millis()
        };
        assert_eq!([false, true].map(|it| planned_ms(it, Interleave::Turns)), [2_000, 1_000]);
        assert_eq!(planned_ms(false, Interleave::Runs), 200);
    }

    #[test]
    fn counted_phases_are_estimated_near_what_they_took() {
        // Go on two cores, the phases after the first one without a warm-up: 6.6 s.
        let sets = [("documents", "15000"), ("tenth", "1500"), ("searches", "20")];
        let crud_s = round_s("crud-scale", &sets);
        assert!((5.5..8.0).contains(&crud_s), "{crud_s}");
        // C, four times 52,000 documents in large batches: 4 s, however few the calls.
        let names_s = round_s("bulk-names", &[("documents", "52000")]);
        assert!((3.0..5.5).contains(&names_s), "{names_s}");
        let more_s = round_s("bulk-names", &[("documents", "5200000")]);
        assert!(more_s > 10.0 * names_s, "{more_s}");
    }
}
