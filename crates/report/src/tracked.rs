//! Figures for programs that follow them over time: each needs one name that stays the same from
//! version to version.

use super::formats::Joint;
use judge::analysis::since::label;
use judge::analysis::types::{Analysis, ArmSummary, ResultRow};
use stats::descriptive::median_interval;

/// Error spent on the interval of a throughput.
const ALPHA: f64 = 0.05;

/// One operation of an arm.
pub struct Tracked<'a> {
    /// `crud/insert_one/python`.
    pub name: String,
    pub arm: &'a ArmSummary,
    pub row: &'a ResultRow,
}

/// Whatever was measured, but for the A/A arm. `before` begins each name.
pub fn tracked<'a>(analysis: &'a Analysis, before: &str) -> Vec<Tracked<'a>> {
    let arm = |id: &str| analysis.arms.iter().find(|arm| arm.id == id && !arm.is_aa);
    let measured = analysis.results.iter().filter_map(|row| Some((arm(&row.arm)?, row)));
    let name = |(arm, row): (&'a ArmSummary, &'a ResultRow)| {
        let own = analysis.arms.iter().filter(|other| !other.is_aa);
        let alike = own.filter(|other| label(&other.id) == label(&arm.id)).count();
        // Two versions of one driver in one experiment have to be told apart.
        let arm_name = if alike > 1 { arm.id.clone() } else { label(&arm.id) };
        let mut parts = vec![before, &analysis.workload, &row.phase];
        if row.operation != row.phase {
            parts.push(&row.operation);
        }
        parts.push(&arm_name);
        parts.retain(|part| !part.is_empty());
        Tracked { name: base::say::clean(&parts.join("/")), arm, row }
    };
    measured.map(name).collect()
}

/// The same of several experiments.
pub fn joint<'a>(joint: &Joint<'a>) -> Vec<Tracked<'a>> {
    joint.named().flat_map(|(name, report)| tracked(report.analysis, &name)).collect()
}

impl Tracked<'_> {
    /// Interval of the median throughput over the rounds.
    pub fn rates(&self) -> Option<(f64, f64)> {
        let rates: Vec<f64> = self.row.throughput_by_round.iter().flatten().copied().collect();
        median_interval(&rates, ALPHA).map(|(low, high, _)| (low, high))
    }
}
