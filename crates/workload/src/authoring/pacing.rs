//! When a phase's operations begin and when it ends.

use super::bounds::{DAY_S, OPERATIONS_MAX, RATE_MAX, WINDOW_MAX};
use super::checking::Check;
use super::located::{At, Location};
use super::yaml;
use super::yaml_values::Time;
use crate::plan::{Limit, Pacing};

pub fn pacing_of(check: &mut Check<'_>, keys: &yaml::PhaseYaml) -> Pacing {
    let burst = keys.burst.as_ref().filter(|burst| burst.value);
    let given = [
        ("rate", keys.rate.as_ref().map(|key| key.place)),
        ("window", keys.window.as_ref().map(|key| key.place)),
        ("burst", burst.map(|key| key.place)),
        ("think", keys.think.as_ref().map(|key| key.place)),
    ];
    let mut given = given.into_iter().filter_map(|(name, place)| Some((name, place?)));
    if let (Some((first, _)), Some((second, place))) = (given.next(), given.next()) {
        check.wrong(
            place,
            format!("`{first}` and `{second}` exclude each other"),
            "leave one of the two out",
        );
    }
    if let (Some(poisson), None) = (&keys.poisson, &keys.rate) {
        check.wrong(
            poisson.place,
            "`poisson` needs a `rate`",
            "add `rate:`, in operations per second",
        );
    }
    if let Some(rate) = &keys.rate {
        if !(rate.value > 0.0 && rate.value <= RATE_MAX) {
            let message = format!("the rate cannot be {} operations per second", rate.value);
            check.wrong(rate.place, message, format!("choose one above 0, {RATE_MAX} at most"));
        }
        let poisson = keys.poisson.as_ref().is_some_and(|poisson| poisson.value);
        return Pacing::Rate { per_second: rate.value, poisson };
    }
    if let Some(window) = &keys.window {
        if window.value == 0 || window.value > WINDOW_MAX {
            let message = format!("a window cannot have {} operations", window.value);
            check.wrong(window.place, message, format!("choose 1 to {WINDOW_MAX}"));
        }
        return Pacing::Window { size: window.value };
    }
    if burst.is_some() {
        return Pacing::Burst {};
    }
    let think = keys.think.as_ref().map_or(0.0, |think| time(check, think, 0.0));
    Pacing::Awaited { think_ns: (think * 1e9).round() as u64 }
}

pub fn limit_of(
    check: &mut Check<'_>,
    keys: &yaml::PhaseYaml,
    pacing: Pacing,
    batches: Option<u64>,
    place: Location,
) -> Limit {
    let seconds = keys.duration.as_ref().map(|at| time(check, at, 0.001));
    if pacing == (Pacing::Burst {}) && keys.operations.is_none() {
        check.wrong(place, "a burst needs a number of operations", "add `operations:`");
    }
    if let Some(count) = batches {
        return Limit::Operations { count, seconds_max: seconds };
    }
    if let Some(operations) = &keys.operations {
        if operations.value == 0 || operations.value > OPERATIONS_MAX {
            let message = format!("a phase cannot have {} operations", operations.value);
            check.wrong(operations.place, message, format!("choose 1 to {OPERATIONS_MAX}"));
        }
        return Limit::Operations { count: operations.value, seconds_max: seconds };
    }
    Limit::Duration { seconds }
}

pub fn warmup_of(check: &mut Check<'_>, keys: &yaml::PhaseYaml) -> Option<f64> {
    keys.warmup.as_ref().map(|warmup| time(check, warmup, 0.0))
}

fn time(check: &mut Check<'_>, time: &At<Time>, least: f64) -> f64 {
    let seconds = time.value.0;
    if seconds >= least && seconds <= DAY_S {
        return seconds;
    }
    let message = format!("the time cannot be {seconds} s");
    check.wrong(time.place, message, format!("choose {least} s to a day"));
    least
}
