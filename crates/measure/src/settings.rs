//! Rounds, looks, measured seconds; the estimate of time and bytes.

use std::time::Duration;

use crate::unacknowledged;
use base::error::{Error, Result};
use record::records::PhaseInterleave;
use stats::threshold::Interleave;
use workload::plan::{Limit, Phase, Plan};

/// The reason where the user chose the interleave.
pub const ASKED_FOR: &str = "asked for";
/// Measured seconds per arm, phase and round.
pub const MEASURED_S: f64 = 3.0;
pub const QUICK_MEASURED_S: f64 = 1.0;
const QUICK_WARMUP_S: f64 = 1.0;
/// Warm-up of a later phase of a process, s: some 2,000 operations of a new kind. With a whole
/// second the first look at five arms and four phases came after 16 minutes.
const LATER_WARMUP_S: f64 = 0.5;
pub const QUICK_PHASES_MAX: usize = 2;
/// A phase that a count ends has no other end, s: some 115 days, the contract's largest time.
const UNTIL_COUNTED_S: f64 = 1e7;
/// Cost of a turn beside its length, s: wake-up, two readings of the server (measured).
const TURN_OVERHEAD_S: f64 = 0.003;
/// Setting up and clearing away one phase of one arm, s (measured with crud).
const PHASE_OVERHEAD_S: f64 = 0.25;
/// Starting, greeting, calibrating and closing one arm, s (measured).
const ARM_OVERHEAD_S: f64 = 0.35;

/// Warm-up of one arm in one phase.
pub fn warmup(profile_s: f64, phase: &Phase, first_phase: bool, quick: bool) -> Duration {
    let usual = match (quick, first_phase) {
        (true, _) => QUICK_WARMUP_S,
        (false, true) => profile_s,
        (false, false) => LATER_WARMUP_S,
    };
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

/// `--max-time`: counted phases that have no longest time of their own get this one.
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
pub fn phase_time(warmup: Duration, measured_s: f64) -> Duration {
    let turns = (measured_s / 0.05).max(40.0) + warmup.as_secs_f64() / 0.1;
    warmup + Duration::from_secs_f64(measured_s + turns * TURN_OVERHEAD_S + PHASE_OVERHEAD_S)
}

/// Time and disk of an experiment up to its first look.
#[derive(Debug, Clone, Copy)]
pub struct Estimate {
    pub round: Duration,
    /// Bytes of raw samples of one round, at a guess of 10,000 operations a second.
    pub round_sample_bytes: u64,
}

pub fn estimate(plan: &Plan, profiles_s: &[f64], quick: bool, measured_s: f64) -> Estimate {
    const GUESSED_RATE: f64 = 10_000.0;
    let mut seconds = 0.0;
    let mut operations = 0.0;
    for profile_s in profiles_s {
        seconds += ARM_OVERHEAD_S;
        for (number, phase) in plan.phases.iter().enumerate() {
            let warmup = warmup(*profile_s, phase, number == 0, quick);
            let (measured, count) = match phase.limit {
                Limit::Duration { .. } => {
                    let measured = measured(phase, measured_s);
                    let rate = GUESSED_RATE * f64::from(phase.workers * phase.processes).min(8.0);
                    (measured, measured * rate)
                }
                Limit::Operations { count, seconds_max } => {
                    let seconds = count as f64 / GUESSED_RATE;
                    (seconds_max.map_or(seconds, |most| seconds.min(most)), count as f64)
                }
            };
            seconds += phase_time(warmup, measured).as_secs_f64();
            operations += count;
        }
    }
    Estimate {
        round: Duration::from_secs_f64(seconds),
        round_sample_bytes: (operations * 32.0) as u64,
    }
}
