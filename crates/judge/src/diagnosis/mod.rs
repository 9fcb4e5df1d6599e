//! Where the time goes, in plain sentences with the numbers behind them (methodology 8).
//!
//! A rule is a file and a line of [`RULES`]. It reads records and nothing else, and speaks only
//! where they show its cause. Values are medians over rounds: a single round is noise.

mod case;
mod connections;
pub mod contention;
mod driver_share;
mod generator;
mod growing_queue;
mod little;
mod no_cause;
mod one_way;
mod queueing;
mod tap_cost;
mod tap_unseen;

use crate::analysis::types::Finding;
use case::Case;
use contention::SweptExperiment;

pub use case::DiagnosisInput;
pub use no_cause::NAME as NO_CAUSE;

/// The input of a rule.
pub enum Rule {
    /// One arm in one phase.
    Arm(fn(&Case<'_>) -> Option<Finding>),
    /// The arms of a phase together.
    Phase(fn(&DiagnosisInput<'_>, &[Case<'_>]) -> Vec<Finding>),
    /// The experiment, once the other rules have spoken.
    Findings(fn(&DiagnosisInput<'_>, &[Finding]) -> Option<Finding>),
    /// The experiments of a sweep.
    Sweep(fn(&[SweptExperiment]) -> Vec<Finding>),
}

/// By name, in the order of `docs/diagnosis.md`, which a test holds.
pub static RULES: [(&str, Rule); 13] = [
    (little::NAME, Rule::Arm(little::rule)),
    (growing_queue::GROWS, Rule::Arm(growing_queue::grows)),
    (growing_queue::GROWS_OTHERWISE, Rule::Arm(growing_queue::grows_otherwise)),
    (queueing::NAME, Rule::Arm(queueing::rule)),
    (generator::NAME, Rule::Arm(generator::rule)),
    (connections::NAME, Rule::Arm(connections::rule)),
    (one_way::NAME, Rule::Arm(one_way::rule)),
    (driver_share::NAME, Rule::Phase(driver_share::rule)),
    (contention::NAME, Rule::Sweep(contention::rule)),
    (tap_cost::COST, Rule::Phase(tap_cost::cost)),
    (tap_cost::FAIRNESS, Rule::Phase(tap_cost::unfair)),
    (tap_unseen::NAME, Rule::Arm(tap_unseen::rule)),
    (no_cause::NAME, Rule::Findings(no_cause::rule)),
];

/// Rules that compare times of two arms.
const COMPARING: [&str; 2] = [driver_share::NAME, tap_cost::COST];

/// The findings of one experiment: by phase in its order, by arm, by rule; then those about a whole
/// phase.
///
/// The A/A arm is left out: it would repeat the findings of the baseline.
pub fn findings(evidence: &DiagnosisInput<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for phase in &evidence.experiment.plan.phases {
        let arms = evidence.experiment.arms.iter().filter(|arm| !arm.is_aa);
        let cases: Vec<Case<'_>> = arms.map(|arm| Case::new(evidence, arm, phase)).collect();
        for case in &cases {
            found.extend(
                rules().filter_map(|it| if let Rule::Arm(it) = it { it(case) } else { None }),
            );
        }
        for rule in rules() {
            if let Rule::Phase(rule) = rule {
                found.extend(rule(evidence, &cases));
            }
        }
    }
    for rule in rules() {
        if let Rule::Findings(rule) = rule {
            let last = rule(evidence, &found);
            found.extend(last);
        }
    }
    for finding in found.iter_mut().filter(|it| COMPARING.contains(&it.rule.as_str())) {
        evidence.experiment.settings.conduct.order().remark(&mut finding.sentence);
    }
    found
}

/// The findings of a sweep, over all its experiments.
pub fn sweep_findings(cells: &[SweptExperiment]) -> Vec<Finding> {
    let found = rules().map(|it| if let Rule::Sweep(it) = it { it(cells) } else { Vec::new() });
    found.flatten().collect()
}

fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().map(|(_, rule)| rule)
}
