//! Little's law does not hold: samples are missing or wrong (methodology 8.1).

use super::case::Case;
use crate::analysis::types::Finding;
use format::fixed;
use record::records::Little;

pub const NAME: &str = "little";
/// Little's law is an identity, but for operations that straddle an edge.
const DISCREPANCY_MAX_PERCENT: f64 = 2.0;

/// By every run and not by a median: no round may break an identity.
pub fn rule(case: &Case<'_>) -> Option<Finding> {
    let discrepancy = |little: &Little| {
        let apart = (little.in_flight - little.throughput_times_residence).abs();
        100.0 * apart / little.in_flight
    };
    let all = case.measured.iter().filter_map(|run| run.little.as_ref());
    let broken: Vec<_> = all
        .map(|little| (discrepancy(little), little))
        .filter(|(percent, _)| *percent > DISCREPANCY_MAX_PERCENT)
        .collect();
    let (percent, worst) = broken.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let sentence = format!(
        "LITTLE'S LAW FAILS in {} of {} runs: {} operations in flight, but rate x time is {} ({} % \
         apart, the worst of them). Samples are missing, clocks are mixed or \
         operations lie outside of the measured time.",
        broken.len(),
        case.measured.len(),
        fixed(worst.in_flight, 3),
        fixed(worst.throughput_times_residence, 3),
        fixed(*percent, 1),
    );
    let numbers = [
        ("runs", broken.len() as f64),
        ("in_flight", worst.in_flight),
        ("throughput_times_residence", worst.throughput_times_residence),
        ("discrepancy_percent", *percent),
    ];
    Some(case.finding(NAME, sentence, &numbers))
}
