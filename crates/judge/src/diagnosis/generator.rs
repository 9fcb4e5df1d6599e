//! The client is the limit, and not the server or the driver under test.

use super::case::{Case, whole};
use crate::analysis::types::Finding;
use format::time;
use record::records::Quantiles;

pub const NAME: &str = "generator-saturated";

/// A saturated processor is in use for at least this share.
const SATURATED: f64 = 0.95;
/// A runtime of one thread uses little more than one core, for its collector and its file threads.
/// A runtime well beyond that has more threads.
const ONE_THREAD_MAX: f64 = 1.15;
/// Limit of gate G3: an event loop's timer alone is late by a millisecond.
const LAG_MIN_US: f64 = 2_000.0;

pub fn rule(case: &Case<'_>) -> Option<Finding> {
    processor(case).or_else(|| pacer(case))
}

/// CPU of the arm's processes against the cores they can use.
fn processor(case: &Case<'_>) -> Option<Finding> {
    let used = case
        .median(|run| (run.measured_s > 0.0).then(|| run.cpu_ns as f64 / 1e9 / run.measured_s))?;
    let numbers = [("cores_used", used), ("cores", case.cores)];
    if used >= SATURATED * case.cores {
        let sentence = format!(
            "GENERATOR SATURATED: the client's processes use {} of {} cores. The figures are \
             those of the client, and the server has to share its cores.",
            format::fixed(used, 2),
            whole(case.cores)
        );
        return Some(case.finding(NAME, sentence, &numbers));
    }
    // Tasks alone are no event loop: goroutines are tasks as well, on several threads.
    let processes = case.processes();
    let each = used / processes;
    if case.arm.event_loop && (SATURATED..=ONE_THREAD_MAX).contains(&each) {
        let sentence = format!(
            "GENERATOR SATURATED: each of the client's processes uses {} cores, and its workers \
             are tasks of one event loop, whose one thread can use no more. More `processes` would \
             show what is left.",
            format::fixed(each, 2)
        );
        return Some(case.finding(NAME, sentence, &numbers));
    }
    None
}

/// Operations that begin late although a worker is free.
fn pacer(case: &Case<'_>) -> Option<Finding> {
    let own = |pick: fn(&Quantiles) -> Option<f64>| {
        case.median(|run| pick(&run.open_loop.as_ref()?.own_lag?))
    };
    let (quantile, lag_us) = own(|it| it.p99_us)
        .map(|lag_us| ("p99", lag_us))
        .or_else(|| Some(("p90", own(|it| it.p90_us)?)))?;
    let service_us = case.queue(|it| Some(it.service_p50_us))?;
    if lag_us <= LAG_MIN_US.max(service_us) {
        return None;
    }
    let event_loop = if case.arm.event_loop {
        " An event loop that is busy is late with its timers."
    } else {
        ""
    };
    let sentence = format!(
        "GENERATOR SATURATED: operations begin up to {} late ({quantile}) although a worker is \
         free, longer than the {} that one takes (p50): the adapter's timers are late, not the \
         server.{event_loop}",
        time(lag_us),
        time(service_us),
    );
    let numbers = [("own_lag_us", lag_us), ("service_p50_us", service_us)];
    Some(case.finding(NAME, sentence, &numbers))
}
