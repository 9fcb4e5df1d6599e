//! Arms differ, and no rule says why.

use std::collections::BTreeMap;

use super::case::DiagnosisInput;
use super::{tap_cost, tap_unseen};
use crate::analysis::types::Finding;
use stats::verdict::Verdict;

pub const NAME: &str = "no-cause-found";

/// One sentence for all phases in which an arm is SLOWER or FASTER and no other rule fired. A limit
/// of the tap's view is no cause.
pub fn rule(evidence: &DiagnosisInput<'_>, found: &[Finding]) -> Option<Finding> {
    let differs = |phase: &str| {
        let mut rows = evidence.comparisons.iter();
        let clear = [Verdict::Slower, Verdict::Faster];
        rows.any(|row| row.phase == phase && !row.is_aa && clear.contains(&row.verdict))
    };
    let about_tap = [tap_cost::COST, tap_cost::FAIRNESS, tap_unseen::NAME];
    let explained = |phase: &str| {
        let mut found = found.iter();
        found.any(|it| it.phase.as_deref() == Some(phase) && !about_tap.contains(&it.rule.as_str()))
    };
    let phases = evidence.experiment.plan.phases.iter().map(|phase| phase.name.as_str());
    let open: Vec<&str> = phases.filter(|phase| differs(phase) && !explained(phase)).collect();
    let (phase, differences) = match open[..] {
        [] => return None,
        [phase] => (Some(phase.to_owned()), "the difference".to_owned()),
        _ => (None, format!("the differences in {}", open.join(", "))),
    };
    let arms = &evidence.experiment.arms;
    let tapped = arms.iter().any(|arm| {
        let runs = open.iter().flat_map(|phase| evidence.rounds.measured(&arm.id, phase));
        runs.flatten().any(|run| run.tap.is_some())
    });
    let more = if tapped {
        "the rest is inside the drivers, for a profiler"
    } else {
        "--tap would show server time, bytes and round trips per operation"
    };
    Some(Finding {
        rule: NAME.to_owned(),
        arm: None,
        phase,
        sentence: format!("No cause found for {differences}: no rule applies; {more}."),
        numbers: BTreeMap::new(),
    })
}
