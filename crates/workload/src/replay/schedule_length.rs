//! How many records a schedule has before it begins again.

use crate::operations::inserts;
use crate::plan::{Count, Limit, Operation, Pacing, Phase, Plan};

/// Records of a slice and of a file, at most: 8 MB and 34 MB.
const SLICE_RECORDS_MAX: u64 = 262_144;
pub const FILE_RECORDS_MAX: u64 = 1_048_576;
/// More than any worker does in a second: a slice rarely comes to its second lap.
const OPERATIONS_PER_SECOND: f64 = 20_000.0;

/// Records of one slice, or of the queue, in a phase of one operation, which inserts.
pub fn insert_records(plan: &Plan, phase: &Phase, made: &Operation) -> u64 {
    if phase.pacing.is_open() {
        return queue_records(phase, 0.0);
    }
    let pool = plan.pool(phase, made).map_or(1, |it| u64::from(it.pool_documents).max(1));
    let period = pool / gcd(inserts(made), pool);
    slice_records(phase, 0.0, period)
}

/// Records of a slice: enough for the phase, and so many that laps join seamlessly.
pub fn slice_records(phase: &Phase, seconds: f64, period: u64) -> u64 {
    let most = slice_records_max(phase);
    let all = phase.all_workers();
    let wanted = match phase.limit {
        Limit::Operations { count, .. } if count.div_ceil(all) <= most => {
            return count.div_ceil(all).max(1);
        }
        Limit::Operations { .. } => most,
        Limit::Duration { .. } => {
            let records = (seconds * OPERATIONS_PER_SECOND).ceil();
            (records as u64).clamp(1024, most.max(1024)).min(most)
        }
    };
    let rounded = wanted.div_ceil(period) * period;
    let fitting = if rounded <= most { rounded } else { most / period * period };
    if fitting == 0 { wanted } else { fitting }
}

/// Not by the workers of one process: laps are the same however workers are split.
pub fn slice_records_max(phase: &Phase) -> u64 {
    let bulks = phase.operations.iter().filter(|made| !made.parts.is_empty());
    let parts = bulks.filter_map(|made| made.count).map(Count::most).max().unwrap_or(0);
    let most = SLICE_RECORDS_MAX.min(FILE_RECORDS_MAX / u64::from(phase.workers));
    (most / (1 + u64::from(parts))).max(1)
}

pub fn queue_records(phase: &Phase, seconds: f64) -> u64 {
    let wanted = match (phase.limit, phase.pacing) {
        (Limit::Operations { count, .. }, _) => count,
        (_, Pacing::Rate { per_second, .. }) => {
            // A little more than is due, so that the last of them is no lap's first.
            (per_second * seconds * 1.05).ceil() as u64
        }
        _ => 1,
    };
    wanted.clamp(1, FILE_RECORDS_MAX).max(u64::from(phase.processes))
}

/// Whether a slice can hold the batches of a worker: a short one has no second lap.
pub fn fits_one_lap(phase: &Phase, batches: u64) -> bool {
    batches.div_ceil(phase.all_workers()) <= FILE_RECORDS_MAX / u64::from(phase.workers)
}

/// Whether the operations of a phase are all in the schedule's first lap.
pub fn has_one_lap(phase: &Phase) -> bool {
    let Limit::Operations { count, .. } = phase.limit else { return false };
    if phase.pacing.is_open() {
        return count <= FILE_RECORDS_MAX;
    }
    count.div_ceil(phase.all_workers()) <= slice_records_max(phase)
}

pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}
