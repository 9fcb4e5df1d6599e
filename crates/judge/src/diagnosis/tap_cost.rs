//! The cost of the tap itself, and whether arms sent the same work.

use super::case::{Case, DiagnosisInput, numbers_of};
use crate::analysis::types::{Finding, Metric};
use format::{self, time};
use record::records::Tap;
use tap::fairness::{ArmTraffic, fairness};

pub const COST: &str = "tap-cost";
pub const FAIRNESS: &str = "fairness";

/// The baseline through the tap against the arm that goes past it.
pub fn cost(evidence: &DiagnosisInput<'_>, cases: &[Case<'_>]) -> Vec<Finding> {
    cost_of(evidence, cases).into_iter().collect()
}

fn cost_of(evidence: &DiagnosisInput<'_>, cases: &[Case<'_>]) -> Option<Finding> {
    let (through, past) = (cases.first()?, cases.iter().find(|case| case.arm.is_direct)?);
    let p50 = |case: &Case<'_>| case.rows.first()?.get(Metric::P50);
    let (through_us, past_us) = (p50(through)?, p50(past)?);
    let mut rows = evidence.comparisons.iter();
    let row = rows.find(|row| {
        row.arm == past.arm.id && row.phase == past.phase.name && row.metric == Metric::Throughput
    })?;
    // The row holds the gain of going past the tap; the inverse is its cost.
    let turned = |percent: Option<f64>| Some(100.0 / (1.0 + percent? / 100.0) - 100.0);
    let (low, high) = (turned(row.high_percent), turned(row.low_percent));
    let change = format::change(turned(row.estimate_percent), low, high);
    let what = if evidence.experiment.link.is_some() { "link and tap" } else { "the tap" };
    let verb = if evidence.experiment.link.is_some() { "cost" } else { "costs" };
    let sentence = format!(
        "TAP COST: {what} {verb} {} at p50 ({} through it, {} past it){}; every other arm goes \
         through it alike.",
        time((through_us - past_us).max(0.0)),
        time(through_us),
        time(past_us),
        change.map_or(String::new(), |change| format!(", {change} of the time per op")),
    );
    let numbers = [("through_p50_us", through_us), ("past_p50_us", past_us)];
    Some(through.finding(COST, sentence, &numbers))
}

/// Arms whose work on the wire differs from the baseline's.
pub fn unfair(_: &DiagnosisInput<'_>, cases: &[Case<'_>]) -> Vec<Finding> {
    // The last round that every arm has: signatures and batches do not change from round to round.
    let last = |case: &Case<'_>| {
        let run = case.measured.iter().rev().find(|run| run.tap.is_some())?;
        Some((run.tap.clone()?, run.by_operation.iter().map(|it| it.count).sum::<u64>()))
    };
    let seen: Vec<(&str, (Tap, u64))> =
        cases.iter().filter_map(|case| Some((case.arm.id.as_str(), last(case)?))).collect();
    let sides: Vec<ArmTraffic<'_>> = seen
        .iter()
        .map(|(name, (tap, operations))| ArmTraffic { name, tap, operations: *operations })
        .collect();
    let Some(phase) = cases.first().map(|case| case.phase.name.clone()) else { return Vec::new() };
    let finding = |sentence| Finding {
        rule: FAIRNESS.to_owned(),
        arm: None,
        phase: Some(phase.clone()),
        sentence,
        numbers: numbers_of(&[]),
    };
    fairness(&sides).into_iter().map(finding).collect()
}
