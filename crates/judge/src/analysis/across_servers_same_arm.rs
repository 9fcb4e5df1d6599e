//! An arm on one server against the same arm on another: rounds that follow each other (methodology
//! 3.7).

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::compare::measures;
use crate::analysis::conditions::{SERVER_VERSION, differences};
use crate::analysis::rounds::Rounds;
use crate::analysis::types::{Analysis, ComparisonRow, Metric};
use record::records::{Arm, Experiment, Run};
use record::servers_folder::ServerExperiment;
use stats::comparison::{Arms, Comparison, Rules, compare};
use stats::judge::Measure;
use stats::threshold::{Interleave, ThresholdParts};
use stats::wording::append;
use workload::plan::Phase;

/// The experiment of one server, to be held against another.
pub struct ServerSide<'a> {
    pub server: &'a str,
    pub experiment: &'a Experiment,
    pub comparisons: &'a [ComparisonRow],
    pub rounds: Rounds<'a>,
}

impl<'a> ServerSide<'a> {
    pub fn new((made, analysis, runs): &'a (&ServerExperiment, Analysis, Vec<Run>)) -> Self {
        Self {
            server: &made.server,
            experiment: &made.experiment,
            comparisons: &analysis.comparisons,
            rounds: Rounds::new(&made.experiment, runs),
        }
    }
}

/// Every arm that both servers have, in every phase and metric; twins are left out.
pub fn itself(sides: [&ServerSide<'_>; 2]) -> Vec<ComparisonRow> {
    let phases = sides[0].experiment.plan.phases.iter();
    phases.flat_map(|phase| ServerPair { sides, phase }.rows()).collect()
}

struct ServerPair<'a> {
    sides: [&'a ServerSide<'a>; 2],
    phase: &'a Phase,
}

impl ServerPair<'_> {
    fn rows(&self) -> Vec<ComparisonRow> {
        let [first, second] = self.sides.map(|it| measures(it.experiment, &it.rounds, self.phase));
        let arms = &self.sides[0].experiment.arms;
        let mut rows = Vec::new();
        for (at, arm) in arms.iter().enumerate().filter(|(_, arm)| !arm.is_aa && !arm.is_direct) {
            let mut others = self.sides[1].experiment.arms.iter().enumerate();
            let Some((place, other)) = others.find(|(_, it)| it.id == arm.id) else { continue };
            for (operation, metric, measure) in &first {
                let mut same = second.iter().filter(|it| (&it.0, it.1) == (operation, *metric));
                if let Some((_, _, of_other)) = same.next() {
                    let values = [&measure.values[at][..], &of_other.values[place][..]];
                    let found = self.compared([arm, other], measure, values);
                    rows.push(self.row(arm, (operation, *metric), found));
                }
            }
        }
        rows
    }

    /// By the floors of whole runs, for they scatter alike. What else differs is named.
    fn compared(
        &self,
        arms: [&Arm; 2],
        measure: &Measure,
        values: [&[Option<f64>]; 2],
    ) -> Comparison {
        let [from, to] = self.sides;
        let rounds = self.sides.map(|it| it.rounds.compared());
        let all: BTreeSet<&u32> = rounds.into_iter().flatten().collect();
        let (a, b) = neighbours(rounds, values);
        let name_a = format!("on {}", from.server);
        let name_b = format!("{} on {}", arms[0].id, to.server);
        // The server with fewer rounds sets the look, as for the differences of drivers.
        let is_shorter = to.rounds.compared().len() < from.rounds.compared().len();
        let shorter = if is_shorter { to } else { from };
        let threshold = ThresholdParts {
            interleave: Interleave::Runs,
            quick: from.experiment.settings.looks.quick,
            noise_floor_percent: None,
            timer_cost_ns: 0.0,
        };
        let busy = from.rounds.busy().or(to.rounds.busy());
        let rules = Rules {
            busy: busy.as_deref(),
            ..Rules::new(shorter.rounds.standing().look.alpha, threshold)
        };
        let both = Arms { name_a: &name_a, name_b: &name_b, a: &a, b: &b };
        let mut found = compare(&measure.name, measure.quantity, &both, &rules, &[]);
        let on_one_alone = all.len() - a.len();
        if found.is_short() && on_one_alone > 0 {
            let count = all.len();
            let why = format!("({on_one_alone} of {count} rounds count on one server alone)");
            append(&mut found.sentence, &why);
        }
        let [one, other] = self.sides.map(|it| it.experiment.server.topology.as_str());
        let differ = differences([(arms[0], one), (arms[1], other)], self.phase).into_iter();
        for (name, [a, b]) in differ.filter(|(name, _)| name != SERVER_VERSION) {
            append(&mut found.sentence, &format!("({name} {b} against {a})"));
        }
        found
    }

    fn row(
        &self,
        arm: &Arm,
        (operation, metric): (&String, Metric),
        found: Comparison,
    ) -> ComparisonRow {
        ComparisonRow {
            from: Some(self.sides[0].server.to_owned()),
            to: Some(self.sides[1].server.to_owned()),
            baseline: String::new(),
            arm: arm.id.clone(),
            is_aa: false,
            phase: self.phase.name.clone(),
            operation: operation.clone(),
            metric,
            found,
        }
    }
}

/// Values of the rounds that both compare: on two servers, rounds of one number follow each other.
fn neighbours(
    rounds: [&[u32]; 2],
    values: [&[Option<f64>]; 2],
) -> (Vec<Option<f64>>, Vec<Option<f64>>) {
    let second: BTreeMap<u32, Option<f64>> =
        rounds[1].iter().copied().zip(values[1].iter().copied()).collect();
    let first = rounds[0].iter().zip(values[0]);
    first.filter_map(|(round, value)| Some((*value, *second.get(round)?))).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_paired_by_their_number() {
        // The second round was disturbed on one server, the fourth not yet made on the other.
        let rounds: [&[u32]; 2] = [&[1, 3, 4], &[1, 2, 3]];
        let values: [&[Option<f64>]; 2] =
            [&[Some(1.0), None, Some(4.0)], &[Some(10.0), Some(20.0), Some(30.0)]];
        let paired = (vec![Some(1.0), None], vec![Some(10.0), Some(30.0)]);
        assert_eq!(neighbours(rounds, values), paired);
    }
}
