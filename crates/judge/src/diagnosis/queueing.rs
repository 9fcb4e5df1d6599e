//! Most of the response time is waiting (methodology 5).

use super::case::Case;
use super::growing_queue;
use crate::analysis::types::{Finding, Metric};
use format::time;
use workload::plan::Pacing;

pub const NAME: &str = "queueing-dominates";
const RATIO_MIN: f64 = 2.0;

/// Only in open loops with a rate: a burst asks for waiting. Over all rounds together: one run
/// rarely has the 10,000 operations that a p99 needs.
pub fn rule(case: &Case<'_>) -> Option<Finding> {
    // A queue that grows says more than a queue that is there.
    if !matches!(case.phase.pacing, Pacing::Rate { .. }) || growing_queue::grows_at_all(case) {
        return None;
    }
    let dominated = case.rows.iter().filter_map(|row| {
        let service = row.get(Metric::P99).filter(|service| *service > 0.0)?;
        let response = row.get(Metric::ResponseP99)?;
        (response > RATIO_MIN * service).then_some((*row, response, service))
    });
    let (row, response, service) = dominated.max_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)))?;
    let of = if case.rows.len() > 1 { format!(" of {}", row.operation) } else { String::new() };
    let sentence = format!(
        "QUEUEING DOMINATES: response p99{of} is {} and service p99 {}; most of what a caller \
         sees is waiting, not the operation.",
        time(response),
        time(service)
    );
    let numbers = [("response_p99_us", response), ("service_p99_us", service)];
    Some(case.finding(NAME, sentence, &numbers))
}
