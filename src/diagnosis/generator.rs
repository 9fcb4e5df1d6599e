//! The client, and not what it measures, is the limit.

use super::case::{Case, whole};
use crate::analysis::types::Finding;
use crate::report::number::time;

pub const NAME: &str = "generator-saturated";

/// What is saturated uses at least this share of what it has.
const SATURATED: f64 = 0.95;
/// A runtime of one thread uses little more than one core, for its collector and its file threads;
/// one that is well beyond has more threads.
const ONE_THREAD_MAX: f64 = 1.15;
/// Below this share of busy workers nobody waits for a worker: lateness is the pacer's.
const WORKERS_FREE: f64 = 0.9;
/// As in gate G3: an event loop's timer alone is late by a millisecond.
const LAG_MIN_US: f64 = 2_000.0;

pub fn rule(case: &Case<'_>) -> Option<Finding> {
    processor(case).or_else(|| pacer(case))
}

/// CPU of the arm's processes against what they can use.
fn processor(case: &Case<'_>) -> Option<Finding> {
    // Of pretended time no processor knows.
    if case.arm.concurrency == "pretended" {
        return None;
    }
    let used = case
        .median(|run| (run.measured_s > 0.0).then(|| run.cpu_ns as f64 / 1e9 / run.measured_s))?;
    let numbers = [("cores_used", used), ("cores", case.cores)];
    if used >= SATURATED * case.cores {
        let sentence = format!(
            "GENERATOR SATURATED: the client's processes use {used:.2} of {} cores. What is \
             measured is the client, and the server has to share with it.",
            whole(case.cores)
        );
        return Some(case.finding(NAME, sentence, &numbers));
    }
    // The contract tells tasks from threads and not how many threads run the tasks, so the
    // sentence says under which condition it holds.
    let processes = case.processes();
    let each = used / processes;
    if case.arm.concurrency == "tasks" && (SATURATED..=ONE_THREAD_MAX).contains(&each) {
        let sentence = format!(
            "GENERATOR SATURATED: each of the client's processes uses {each:.2} cores, and its \
             workers are tasks: an event loop, which has one thread, can use no more. More \
             `processes` would show what is left."
        );
        return Some(case.finding(NAME, sentence, &numbers));
    }
    None
}

/// Operations that begin late although a worker was free.
fn pacer(case: &Case<'_>) -> Option<Finding> {
    let open = |pick: fn(&crate::result::records::OpenLoop) -> f64| {
        case.median(|run| run.open_loop.as_ref().map(pick))
    };
    let lag_us = open(|it| it.pacer_lag_p99_us)?;
    let busy = open(|it| it.busy_fraction)?;
    let service_us = case.queue(|it| Some(it.service_p50_us))?;
    if busy >= WORKERS_FREE || lag_us <= LAG_MIN_US.max(service_us) {
        return None;
    }
    let event_loop = if case.arm.concurrency == "tasks" {
        " An event loop that is busy is late with its timers."
    } else {
        ""
    };
    let sentence = format!(
        "GENERATOR SATURATED: operations begin up to {} late (p99), longer than the {} that one \
         takes (p50), while {:.0} % of the workers are busy: the pacer is late, not the \
         server.{event_loop}",
        time(lag_us),
        time(service_us),
        100.0 * busy
    );
    let numbers =
        [("pacer_lag_p99_us", lag_us), ("service_p50_us", service_us), ("busy_fraction", busy)];
    Some(case.finding(NAME, sentence, &numbers))
}
