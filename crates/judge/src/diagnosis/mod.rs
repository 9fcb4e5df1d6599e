//! Where the time goes, in plain sentences with the numbers behind them (methodology 8).
//!
//! A rule reads records and nothing else, and speaks only where they show its cause; values are
//! medians over rounds, since a single round is noise. `docs/diagnosis.md` lists the rules.

mod case;
mod connections;
mod driver_share;
mod generator;
mod little;
mod no_cause;
mod one_way;
mod queue;
mod queueing;
pub mod sweep;
mod tap;
mod tap_unseen;

use crate::analysis::rounds::Rounds;
use crate::analysis::types::{ComparisonRow, Finding, ResultRow};
use case::Case;
use record::records::Experiment;

pub use no_cause::NAME as NO_CAUSE;

/// Every rule by its name, in the order of `docs/diagnosis.md`.
pub const RULES: [&str; 13] = [
    little::NAME,
    queue::GROWS,
    queue::GROWS_OTHERWISE,
    queueing::NAME,
    generator::NAME,
    connections::NAME,
    one_way::NAME,
    driver_share::NAME,
    sweep::NAME,
    tap::COST,
    tap::FAIRNESS,
    tap_unseen::NAME,
    no_cause::NAME,
];

/// What the rules look at.
pub struct Evidence<'a> {
    /// Plan, arms, machine.
    pub experiment: &'a Experiment,
    /// Runs by round.
    pub rounds: &'a Rounds<'a>,
    /// Quantiles over all rounds.
    pub results: &'a [ResultRow],
    /// Verdicts.
    pub comparisons: &'a [ComparisonRow],
}

/// The findings of one experiment: by phase in its order, by arm, by rule.
///
/// The A/A arm is left out: it would say again what is said of the baseline.
#[must_use]
pub fn findings(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for phase in &evidence.experiment.plan.phases {
        let arms = evidence.experiment.arms.iter().filter(|arm| !arm.is_aa);
        let cases: Vec<Case<'_>> = arms.map(|arm| Case::new(evidence, arm, phase)).collect();
        found.extend(cases.iter().flat_map(about_one));
        found.extend(driver_share::rule(&cases));
        found.extend(tap::cost(evidence, &cases));
        found.extend(tap::unfair(&cases));
    }
    let none = no_cause::rule(evidence, &found);
    found.extend(none);
    found
}

/// Rules about one arm in one phase.
fn about_one(case: &Case<'_>) -> Vec<Finding> {
    let queue = queue::rule(case);
    // A queue that grows says more than that there is one.
    let queueing = if queue.is_none() { queueing::rule(case) } else { None };
    let rest = [
        generator::rule(case),
        connections::rule(case),
        one_way::rule(case),
        tap_unseen::rule(case),
    ];
    let all = [little::rule(case), queue, queueing].into_iter().chain(rest);
    all.flatten().collect()
}
