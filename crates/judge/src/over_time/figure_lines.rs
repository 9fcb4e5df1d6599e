//! The lines of a request on one machine.

use std::collections::BTreeMap;

use serde_json::Value;

use super::stored::cost;
use super::types::{FigureLine, LineStep};
use crate::analysis::since::label;
use crate::analysis::types::{AlsoRow, Metric};
use record::history_store::{StoredArm, StoredExperiment, StoredFigure};
use stats::changes::{ChangePoint, undone};
use stats::descriptive::median;
use stats::line_steps::line_steps;
use stats::multiple::{FALSE_DISCOVERY_RATE, benjamini_hochberg};
use stats::ratio::percent;
use stats::threshold::{Interleave, QUICK_FLOOR_PERCENT};

/// Seed of the permutations: the same store gives the same lines.
const SEED: u64 = 1;
/// Part of a step that the A/A arm, or an arm that did not change, may move by itself.
const MOVED_PART: f64 = 0.5;

/// An arm over time: its label, and its place among those of that label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ArmKey(String, usize);

/// The experiments of a request on one machine.
pub(super) struct Dated<'a> {
    pub experiments: &'a [&'a StoredExperiment],
    /// By arm its record in each experiment, in the order of the first that has it.
    pub arms: Vec<(ArmKey, Vec<Option<&'a StoredArm>>)>,
    /// Place in `arms` of the arm of one version that others are compared through.
    pub anchor: Option<usize>,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject<'a> {
    pub arm: usize,
    pub phase: &'a str,
    pub operation: &'a str,
    pub metric: Metric,
}

impl<'a> Dated<'a> {
    pub fn new(experiments: &'a [&'a StoredExperiment]) -> Self {
        let mut arms: Vec<(ArmKey, Vec<Option<&StoredArm>>)> = Vec::new();
        for (at, experiment) in experiments.iter().enumerate() {
            let mut seen: BTreeMap<String, usize> = BTreeMap::new();
            for arm in experiment.arms.iter().filter(|arm| !arm.is_aa) {
                let place = seen.entry(label(&arm.id)).or_default();
                let key = ArmKey(label(&arm.id), *place);
                *place += 1;
                let known = arms.iter().position(|(known, _)| *known == key);
                let known = known.unwrap_or_else(|| {
                    arms.push((key, vec![None; experiments.len()]));
                    arms.len() - 1
                });
                arms[known].1[at] = Some(arm);
            }
        }
        // One arm alone is no measure of itself.
        let is_fixed = |(_, of): &(ArmKey, Vec<Option<&StoredArm>>)| {
            of.iter().all(Option::is_some) && unchanged(of.iter().flatten().copied())
        };
        let anchor = arms.iter().position(is_fixed).filter(|_| arms.len() > 1);
        Self { experiments, arms, anchor }
    }

    /// `python`; with a number where several differ in their version alone.
    pub fn name(&self, arm: usize) -> String {
        let ArmKey(label, place) = &self.arms[arm].0;
        let several = self.arms.iter().filter(|(key, _)| key.0 == *label).count() > 1;
        let versions = || self.arms[arm].1.iter().flatten().map(|it| it.version.as_str());
        let first = versions().next().unwrap_or_default();
        match several {
            false => label.clone(),
            true if versions().all(|it| it == first) => format!("{label} {first}"),
            true => format!("{label} ({})", place + 1),
        }
    }

    fn figure(&self, at: usize, about: Subject<'_>) -> Option<&'a StoredFigure> {
        let id = &self.arms[about.arm].1[at]?.id;
        figure(self.experiments[at], id, about)
    }

    /// ln(cost) in each experiment, as it is.
    fn absolute(&self, about: Subject<'_>) -> Vec<Option<f64>> {
        let of = |at| cost(self.figure(at, about)?, about.metric);
        (0..self.experiments.len()).map(of).collect()
    }

    /// ln(cost ratio) to the arm of one version, over paired rounds.
    fn relative(&self, about: Subject<'_>, anchor: usize) -> Vec<Option<f64>> {
        let against = |at: usize, arm: usize| {
            let own = Subject { arm, ..about };
            let is_baseline = self.experiments[at].arms.first()?.id == self.arms[arm].1[at]?.id;
            if is_baseline {
                return Some(0.0);
            }
            self.figure(at, own)?.against_baseline.get(about.metric.word()).copied()
        };
        let of = |at| Some(against(at, about.arm)? - against(at, anchor)?);
        (0..self.experiments.len()).map(of).collect()
    }

    /// Costs by which a line is judged, and whether they are those against the arm of one version.
    pub fn costs(&self, about: Subject<'_>) -> (Vec<Option<f64>>, bool) {
        match self.anchor.filter(|anchor| *anchor != about.arm) {
            Some(anchor) => (self.relative(about, anchor), true),
            None => (self.absolute(about), false),
        }
    }

    /// ln(cost ratio) of the A/A arm to the baseline that it repeats.
    fn same_version(&self, about: Subject<'_>) -> Vec<Option<f64>> {
        let of = |at: usize| {
            let experiment: &StoredExperiment = self.experiments[at];
            let twin = experiment.arms.iter().find(|arm| arm.is_aa)?;
            let figure = figure(experiment, &twin.id, about)?;
            figure.against_baseline.get(about.metric.word()).copied()
        };
        (0..self.experiments.len()).map(of).collect()
    }

    fn is_quick(&self) -> bool {
        self.experiments.first().is_some_and(|it| it.asked.get("quick") == Some(&Value::Bool(true)))
    }

    /// A smaller step of this metric is none.
    fn threshold_percent(&self, metric: Metric) -> f64 {
        let quantity = metric.definition().quantity;
        let floor = quantity.map_or(QUICK_FLOOR_PERCENT, |it| it.floor_percent(Interleave::Runs));
        if self.is_quick() { floor.max(QUICK_FLOOR_PERCENT) } else { floor }
    }

    /// Places with a value, the values, and the steps among them.
    fn found(&self, about: Subject<'_>) -> FoundSteps {
        let (costs, relative) = self.costs(about);
        let present: Vec<usize> = (0..costs.len()).filter(|at| costs[*at].is_some()).collect();
        let values: Vec<f64> = costs.iter().flatten().copied().collect();
        let (steps, p_value) = self.steps(&values, about.metric);
        FoundSteps { present, values, steps, p_value, relative }
    }

    /// The steps among these costs, and the p-value of the whole.
    pub fn steps(&self, costs: &[f64], metric: Metric) -> (Vec<ChangePoint>, f64) {
        line_steps(costs, self.threshold(metric), SEED)
    }

    fn threshold(&self, metric: Metric) -> f64 {
        (self.threshold_percent(metric) / 100.0).ln_1p()
    }

    fn line(&self, about: Subject<'_>, found: &FoundSteps) -> FigureLine {
        let of = &self.arms[about.arm].1;
        let mut against_percent = vec![None; self.experiments.len()];
        for (place, cost) in found.present.iter().zip(&found.values).filter(|_| found.relative) {
            against_percent[*place] = Some(100.0 * cost.exp());
        }
        let value = |at| self.figure(at, about)?.values.judged(about.metric);
        FigureLine {
            arm: self.name(about.arm),
            phase: about.phase.to_owned(),
            operation: about.operation.to_owned(),
            metric: about.metric,
            relative_to: self.anchor.filter(|_| found.relative).map(|arm| self.name(arm)),
            versions: of.iter().map(|it| it.map(|it| it.version.clone())).collect(),
            values: (0..self.experiments.len()).map(value).collect(),
            against_percent,
            threshold_percent: self.threshold_percent(about.metric),
            steps: found.steps.iter().map(|split| self.step(about, found, split)).collect(),
        }
    }

    fn step(&self, about: Subject<'_>, found: &FoundSteps, split: &ChangePoint) -> LineStep {
        let at = found.present[split.at];
        let rows = [found.values.clone()];
        let taken_back = undone(&rows, &found.steps, split.at, self.threshold(about.metric));
        LineStep {
            at,
            change_percent: percent(split.change.estimate),
            p_value: split.p_value,
            experiments: (split.at - split.segment.start, split.segment.end - split.at),
            taken_back_at: taken_back.map(|place| found.present[place]),
            together_with: self.together_with(about, found.present[split.at - 1], at),
            moved_as_well: self.moved_as_well(about, found, split),
        }
    }

    /// The A/A arm, or of a line as it is an arm that did not change, that moves at the same place
    /// to the same side by half as much.
    fn moved_as_well(
        &self,
        about: Subject<'_>,
        found: &FoundSteps,
        split: &ChangePoint,
    ) -> Option<(String, f64)> {
        let change = split.change.estimate;
        let places = |part: std::ops::Range<usize>| &found.present[part];
        let before = places(split.segment.start..split.at);
        let behind = places(split.at..split.segment.end);
        let moved = |costs: &[Option<f64>]| {
            let middle = |places: &[usize]| {
                median(&places.iter().filter_map(|at| costs[*at]).collect::<Vec<_>>())
            };
            Some(middle(behind)? - middle(before)?)
        };
        let enough = |by: &f64| by.abs() >= MOVED_PART * change.abs();
        if let Some(by) = moved(&self.same_version(about)).filter(enough) {
            return Some(("the A/A arm".to_owned(), percent(by)));
        }
        let others = (0..self.arms.len()).filter(|arm| !found.relative && *arm != about.arm);
        let mut fixed = others.filter(|arm| {
            let there = before.iter().chain(behind).map(|at| self.arms[*arm].1[*at]);
            let there: Option<Vec<&StoredArm>> = there.collect();
            there.is_some_and(|arms| unchanged(arms.into_iter()))
        });
        fixed.find_map(|arm| {
            let by = moved(&self.absolute(Subject { arm, ..about }))?;
            let same_side = by.signum() * change.signum() > 0.0;
            (same_side && enough(&by))
                .then(|| (format!("{}, which did not change,", self.name(arm)), percent(by)))
        })
    }

    /// What is not the same in two experiments beside the figure.
    fn together_with(&self, about: Subject<'_>, before: usize, at: usize) -> Vec<AlsoRow> {
        let of = &self.arms[about.arm].1;
        let (Some(a), Some(b)) = (of[before], of[at]) else { return Vec::new() };
        let [one, two] = [before, at].map(|at| self.experiments[at]);
        let native = |arm: &StoredArm| arm.native.map_or("none".to_owned(), |it| it.to_string());
        let mut rows = vec![
            ("driver".to_owned(), a.version.clone(), b.version.clone()),
            ("runtime".to_owned(), a.runtime.clone(), b.runtime.clone()),
            ("native extension".to_owned(), native(a), native(b)),
            ("server".to_owned(), one.server.clone(), two.server.clone()),
            ("system".to_owned(), one.machine.os.clone(), two.machine.os.clone()),
            ("mongodyno".to_owned(), one.mongodyno.clone(), two.mongodyno.clone()),
        ];
        if a.version == b.version && a.lock_sha256 != b.lock_sha256 {
            let short = |arm: &StoredArm| match &arm.lock_sha256 {
                Some(sum) => sum.chars().take(8).collect(),
                None => "none".to_owned(),
            };
            rows.push(("its packages or sources".to_owned(), short(a), short(b)));
        }
        let empty = serde_json::Map::new();
        let [old, new] = [a, b].map(|arm| arm.resolved.as_object().unwrap_or(&empty));
        let defaults = old.iter().filter_map(|(name, value)| {
            Some((name.replace('_', " "), value.to_string(), new.get(name)?.to_string()))
        });
        rows.extend(defaults);
        let differs = rows.into_iter().filter(|(_, before, after)| before != after);
        let row = |(what, before, after)| AlsoRow { what, before, after, change_percent: None };
        differs.map(row).collect()
    }
}

/// The steps among the experiments that have a figure.
struct FoundSteps {
    /// Places of these experiments.
    present: Vec<usize>,
    values: Vec<f64>,
    steps: Vec<ChangePoint>,
    p_value: f64,
    relative: bool,
}

fn figure<'a>(
    experiment: &'a StoredExperiment,
    id: &str,
    about: Subject<'_>,
) -> Option<&'a StoredFigure> {
    let mut own = experiment.figures.iter().filter(|it| it.arm == id && it.phase == about.phase);
    own.find(|it| it.operation == about.operation)
}

/// Whether records of one arm are of the same driver, runtime and packages.
fn unchanged<'a>(mut arms: impl Iterator<Item = &'a StoredArm>) -> bool {
    let same = |it: &'a StoredArm| (&it.version, &it.runtime, it.native, &it.lock_sha256);
    let first = arms.next().map(same);
    arms.all(|it| Some(same(it)) == first)
}

/// Every line of the experiments of a request on one machine.
pub(super) fn lines(experiments: &[&StoredExperiment]) -> Vec<FigureLine> {
    let dated = Dated::new(experiments);
    let subjects = dated.subjects();
    let mut found: Vec<FoundSteps> = subjects.iter().map(|about| dated.found(*about)).collect();
    let p_values: Vec<f64> = found.iter().map(|it| it.p_value).collect();
    for (it, adjusted) in found.iter_mut().zip(benjamini_hochberg(&p_values)) {
        if adjusted > FALSE_DISCOVERY_RATE {
            it.steps.clear();
        }
    }
    let line = |(about, found): (&Subject<'_>, &FoundSteps)| dated.line(*about, found);
    subjects.iter().zip(&found).map(line).collect()
}

impl<'a> Dated<'a> {
    /// What has a value in some experiment. Figures of a whole phase are of its first operation.
    pub fn subjects(&self) -> Vec<Subject<'a>> {
        let mut subjects: Vec<Subject<'_>> = Vec::new();
        for arm in 0..self.arms.len() {
            for (at, experiment) in self.experiments.iter().enumerate() {
                let Some(record) = self.arms[arm].1[at] else { continue };
                let mut phases: Vec<&str> = Vec::new();
                for it in experiment.figures.iter().filter(|it| it.arm == record.id) {
                    let is_first = !phases.contains(&it.phase.as_str());
                    phases.push(&it.phase);
                    let (phase, operation) = (it.phase.as_str(), it.operation.as_str());
                    for (metric, _) in Metric::compared() {
                        let about = Subject { arm, phase, operation, metric };
                        let whole = !metric.is_of_operation() && !is_first;
                        let measured = it.values.judged(metric).is_some();
                        if measured && !whole && !subjects.contains(&about) {
                            subjects.push(about);
                        }
                    }
                }
            }
        }
        subjects
    }
}
