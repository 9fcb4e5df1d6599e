//! Connections are opened all the time in place of being kept.

use super::case::{Case, whole};
use crate::analysis::types::Finding;
use format::figure;

pub const NAME: &str = "connection-storm";

/// Opened a second during the turns, when the warm-up has filled the pool.
const RATE_MIN_PER_S: f64 = 10.0;
/// A pool that grows on demand opens one for each operation in flight, and a monitor or two beside.
const PER_OPERATION_MAX: f64 = 2.0;

pub fn rule(case: &Case<'_>) -> Option<Finding> {
    let opened = case.tap(|tap| Some(tap.connections_opened as f64))?;
    let closed = case.tap(|tap| Some(tap.connections_closed as f64))?;
    let rate = case.median(|run| {
        let opened = run.tap.as_ref()?.connections_opened as f64;
        (run.measured_s > 0.0).then(|| opened / run.measured_s)
    })?;
    let beyond_pool = case.pool().is_some_and(|pool| opened > pool);
    let in_flight = case.phase.in_flight().map_or(case.workers(), |it| it as f64);
    let beyond_need = opened > PER_OPERATION_MAX * in_flight;
    if !(beyond_pool || (rate >= RATE_MIN_PER_S && beyond_need)) {
        return None;
    }
    let pool =
        case.pool().map_or_else(String::new, |pool| format!(" for a pool of {}", whole(pool)));
    let sentence = format!(
        "CONNECTION STORM: {} connections are opened and {} closed while {} workers measure, {} \
         a second{pool}; each costs a handshake before its first command.",
        whole(opened),
        whole(closed),
        whole(case.workers()),
        figure(rate)
    );
    let numbers = [
        ("connections_opened", opened),
        ("connections_closed", closed),
        ("connections_opened_per_s", rate),
        ("workers", case.workers()),
        ("max_pool_size", case.pool().unwrap_or(f64::NAN)),
    ];
    Some(case.finding(NAME, sentence, &numbers))
}
