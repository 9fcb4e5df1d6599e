//! Every arm against the baseline, in every phase and metric.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::conditions::Conditions;
use crate::analysis::own::Timed;
use crate::analysis::rounds::{PerRound, Rounds};
use crate::analysis::types::ComparisonRow;
use crate::result::records::{Arm, Experiment, PhaseRun};
use crate::stats::compare::{Arms, Comparison, Rules, Verdict, compare, log_ratios};
use crate::stats::gates::{self, Checked, Outcome};
use crate::stats::multiple::{FALSE_DISCOVERY_RATE, benjamini_hochberg};
use crate::stats::noise::noise_floor_percent;
use crate::stats::threshold::{Interleave, Quantity, ThresholdParts};
use crate::workload::plan::Phase;

/// All comparisons of an experiment.
pub struct Compared {
    /// Ready to print.
    pub rows: Vec<ComparisonRow>,
    /// Throughput of every arm but those that only vouch: the A/A one, and the one past the tap.
    pub deciding: Vec<Comparison>,
    /// A/A noise floor on throughput by phase, percent.
    pub noise_percent: BTreeMap<String, f64>,
    /// Sentences for the reader.
    pub warnings: Vec<String>,
}

/// One figure that is compared.
struct Metric {
    operation: String,
    name: &'static str,
    quantity: Quantity,
    value: Value,
}

type Value = Box<dyn Fn(&PhaseRun) -> Option<f64>>;

/// Compares every arm with the baseline.
#[must_use]
pub fn compare_all(experiment: &Experiment, rounds: &Rounds<'_>) -> Compared {
    let mut compared = Compared {
        rows: Vec::new(),
        deciding: Vec::new(),
        noise_percent: BTreeMap::new(),
        warnings: Vec::new(),
    };
    if let Some((baseline, others)) = experiment.arms.split_first() {
        for phase in &experiment.plan.phases {
            PhaseComparison::new(experiment, rounds, baseline, others, phase).run(&mut compared);
        }
    }
    let p_values: Vec<f64> = compared.rows.iter().filter_map(|row| row.p_value).collect();
    let mut adjusted = benjamini_hochberg(&p_values).into_iter();
    for row in &mut compared.rows {
        if row.p_value.is_some() {
            row.bh_rejected = adjusted.next().map(|p| p <= FALSE_DISCOVERY_RATE);
        }
    }
    let mut seen = BTreeSet::new();
    compared.warnings.retain(|warning| seen.insert(warning.clone()));
    compared
}

struct PhaseComparison<'a> {
    experiment: &'a Experiment,
    rounds: &'a Rounds<'a>,
    baseline: &'a Arm,
    others: &'a [Arm],
    phase: &'a Phase,
    interleave: Interleave,
    alpha: f64,
}

impl<'a> PhaseComparison<'a> {
    fn new(
        experiment: &'a Experiment,
        rounds: &'a Rounds<'a>,
        baseline: &'a Arm,
        others: &'a [Arm],
        phase: &'a Phase,
    ) -> Self {
        let settings = &experiment.settings;
        let interleave = settings.interleave.iter().find(|it| it.phase == phase.name);
        Self {
            experiment,
            rounds,
            baseline,
            others,
            phase,
            interleave: interleave.map_or(Interleave::Turns, |it| it.interleave),
            alpha: settings.looks.look_for_end(rounds.count() as u32).map_or(0.05, |it| it.alpha),
        }
    }

    fn run(&self, compared: &mut Compared) {
        // A quantile that some runs are too short for is not compared: `n/a` is no lost round.
        let metrics: Vec<Metric> =
            metrics(self.phase).into_iter().filter(|metric| self.has_values(metric)).collect();
        let twins: Vec<&Arm> = self.others.iter().filter(|arm| arm.is_aa).collect();
        let mut void = Vec::new();
        let mut floors = Vec::new();
        for metric in &metrics {
            let mut ratios = Vec::new();
            for twin in &twins {
                let (a, b) = (self.values(self.baseline, metric), self.values(twin, metric));
                ratios.push(
                    log_ratios(metric.quantity.direction(), &a, &b).into_iter().flatten().collect(),
                );
                // The A/A arm is judged by the table floors, never with the widened threshold.
                let parts = self.parts(None, twin).for_same_version();
                let checked = self.gates(twin, floor_percent(parts, metric));
                let comparison = self.compare(twin, metric, parts, &checked);
                if comparison.verdict == Verdict::NotComparable && metric.name == "throughput" {
                    compared.warnings.push(format!(
                        "{}: the A/A arm could not be judged; nothing vouches for this phase: {}",
                        self.phase.name,
                        comparison.reasons.join("; ")
                    ));
                }
                self.keep(&gates::same_version(&comparison), &mut void, compared);
                compared.rows.push(self.row(twin, metric, &comparison));
            }
            floors.push(noise_floor_percent(&ratios, self.experiment.settings.seed));
        }
        if let Some(Some(floor)) = floors.first() {
            compared.noise_percent.insert(self.phase.name.clone(), *floor);
        }
        let order = self.order_gate(&metrics[0]);
        self.keep(&order, &mut void, compared);
        for arm in self.others.iter().filter(|arm| !arm.is_aa) {
            for (metric, floor) in metrics.iter().zip(&floors) {
                let parts = self.parts(*floor, arm);
                let mut checked = self.gates(arm, floor_percent(parts, metric));
                checked.extend(void.iter().cloned());
                let comparison = self.compare(arm, metric, parts, &checked);
                if metric.name == "throughput" {
                    let prefix = format!("{}, {}", self.phase.name, arm.id);
                    let said = comparison.warnings.iter().map(|it| format!("{prefix}: {it}"));
                    compared.warnings.extend(said);
                    let making = self.timed(arm).making(comparison.threshold_percent);
                    compared.warnings.extend(making.map(|it| format!("{}: {it}", self.phase.name)));
                    compared.warnings.extend(checked.iter().filter_map(warning));
                    if !arm.is_direct {
                        compared.deciding.push(comparison.clone());
                    }
                }
                compared.rows.push(self.row(arm, metric, &comparison));
            }
        }
    }

    fn has_values(&self, metric: &Metric) -> bool {
        let arms = std::iter::once(self.baseline).chain(self.others);
        let mut runs = arms.flat_map(|arm| self.rounds.of(&arm.id, &self.phase.name)).flatten();
        metric.name == "throughput" || runs.all(|run| (metric.value)(run).is_some())
    }

    /// A gate of the whole phase: failures void its comparisons, warnings are shown.
    fn keep(&self, checked: &Checked, void: &mut Vec<Checked>, compared: &mut Compared) {
        match &checked.outcome {
            Outcome::Pass => {}
            Outcome::Warn(reason) => {
                compared.warnings.push(format!("{}: {reason}", self.phase.name));
            }
            Outcome::Fail(_) => void.push(checked.clone()),
        }
    }

    fn values(&self, arm: &Arm, metric: &Metric) -> Vec<Option<f64>> {
        let runs: PerRound<'_> = self.rounds.of(&arm.id, &self.phase.name);
        runs.into_iter().map(|run| (metric.value)(run?)).collect()
    }

    fn parts(&self, noise_floor_percent: Option<f64>, arm: &Arm) -> ThresholdParts {
        // Two clock readings are part of the no-op loop: half of it bounds one reading from above.
        let cost = |arm: &Arm| self.rounds.noop_ns(&arm.id).unwrap_or(0.0) / 2.0;
        ThresholdParts {
            interleave: self.interleave,
            quick: self.experiment.settings.looks.quick,
            noise_floor_percent,
            history_fence_percent: None,
            timer_cost_ns: cost(self.baseline).max(cost(arm)),
        }
    }

    fn compare(
        &self,
        arm: &Arm,
        metric: &Metric,
        threshold: ThresholdParts,
        checked: &[Checked],
    ) -> Comparison {
        let a = self.values(self.baseline, metric);
        let b = self.values(arm, metric);
        let mut reasons = gates::failures(checked);
        let lost = a.iter().zip(&b).filter(|(a, b)| a.is_none() || b.is_none()).count();
        if lost * 5 > a.len() {
            // Why rounds were lost is what the reader can act on.
            for arm in [self.baseline, arm] {
                reasons.extend(self.rounds.losses(&arm.id, &self.phase.name).into_iter().take(1));
            }
        }
        let mut said = BTreeSet::new();
        reasons.retain(|reason| said.insert(reason.clone()));
        let axis = self.conditions(arm).axis().map_or(String::new(), |axis| format!(" ({axis})"));
        let name_b = format!("{}{axis}", arm.id);
        let arms = Arms { name_a: &self.baseline.id, name_b: &name_b, a: &a, b: &b };
        let name = format!("{}/{}", metric.operation, metric.name);
        let rules = Rules { alpha: self.alpha, threshold };
        let mut found = compare(&name, metric.quantity, &arms, &rules, &reasons);
        self.timed(arm).hold_back(&mut found, metric.name, &metric.value);
        if !found.sentence.contains(&axis) {
            // Sentences of size and reasons name no arm.
            crate::stats::wording::append(&mut found.sentence, axis.trim_start());
        }
        found
    }

    /// Gates that concern the two arms of a comparison.
    fn gates(&self, arm: &Arm, delta_percent: f64) -> Vec<Checked> {
        let mut checked = vec![self.conditions(arm).gate()];
        checked.extend(self.steadiness(arm, delta_percent));
        for arm in [self.baseline, arm] {
            let runs: Vec<_> =
                self.rounds.of(&arm.id, &self.phase.name).into_iter().flatten().collect();
            if self.interleave == Interleave::Turns {
                let idle: Vec<f64> = runs.iter().filter_map(|run| run.idle_cpu_fraction).collect();
                let percent = crate::stats::descriptive::median(&idle).unwrap_or(0.0) * 100.0;
                checked.push(gates::idle_cpu(
                    &format!("beside {}, the waiting arms", arm.id),
                    percent,
                ));
            }
            checked.extend(runs.iter().flat_map(|run| &run.gates).filter(|it| !it.fails).map(
                |it| Checked {
                    gate: gates::Gate::Errors,
                    outcome: Outcome::Warn(it.reason.clone()),
                },
            ));
        }
        checked
    }

    /// Of arms that take turns it is how one drifts against the other; of whole runs how each does.
    fn steadiness(&self, arm: &Arm, delta_percent: f64) -> Vec<Checked> {
        let of = |arm: &Arm| {
            let runs: PerRound<'_> = self.rounds.of(&arm.id, &self.phase.name);
            runs.into_iter().map(|run| run?.half_log_ratio)
        };
        let check =
            |who: &str, ratios: &[f64]| gates::steadiness(who, ratios, self.alpha, delta_percent);
        if self.interleave == Interleave::Turns {
            let pairs = of(self.baseline).zip(of(arm));
            let ratios: Vec<f64> = pairs.filter_map(|(a, b)| Some(b? - a?)).collect();
            return vec![check(&format!("{} against {}", arm.id, self.baseline.id), &ratios)];
        }
        let each = [self.baseline, arm].into_iter();
        each.map(|arm| check(&arm.id, &of(arm).flatten().collect::<Vec<_>>())).collect()
    }

    fn timed<'b>(&'b self, arm: &'b Arm) -> Timed<'b> {
        let arms = [self.baseline.id.as_str(), arm.id.as_str()];
        Timed { rounds: self.rounds, phase: self.phase, arms }
    }

    fn conditions(&self, arm: &Arm) -> Conditions {
        Conditions::new(self.baseline, arm, self.phase, &self.experiment.server.topology)
    }

    /// Position within the round against what remains of log throughput once the round's and the
    /// arm's own level are taken out.
    fn order_gate(&self, metric: &Metric) -> Checked {
        let arms: Vec<&Arm> = std::iter::once(self.baseline).chain(self.others).collect();
        let logs: Vec<Vec<Option<f64>>> = arms
            .iter()
            .map(|arm| self.values(arm, metric).into_iter().map(|it| it.map(f64::ln)).collect())
            .collect();
        let whole: Vec<usize> = (0..self.rounds.count())
            .filter(|round| logs.iter().all(|arm| arm[*round].is_some()))
            .collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let at = |arm: usize, round: usize| logs[arm][round].unwrap_or(0.0);
        let of_arm: Vec<f64> = (0..arms.len())
            .map(|arm| mean(&whole.iter().map(|round| at(arm, *round)).collect::<Vec<_>>()))
            .collect();
        let overall = mean(&of_arm);
        let (mut positions, mut residuals) = (Vec::new(), Vec::new());
        for (number, arm) in arms.iter().enumerate() {
            let places = self.rounds.positions(&arm.id);
            for round in &whole {
                let all: Vec<f64> = (0..arms.len()).map(|arm| at(arm, *round)).collect();
                let Some(place) = places[*round] else { continue };
                positions.push(f64::from(place));
                residuals.push(at(number, *round) - of_arm[number] - mean(&all) + overall);
            }
        }
        gates::order(&positions, &residuals)
    }

    fn row(&self, arm: &Arm, metric: &Metric, comparison: &Comparison) -> ComparisonRow {
        ComparisonRow {
            baseline: self.baseline.id.clone(),
            arm: arm.id.clone(),
            is_aa: arm.is_aa,
            phase: self.phase.name.clone(),
            operation: metric.operation.clone(),
            metric: metric.name.to_owned(),
            verdict: comparison.verdict.word().to_owned(),
            direction_only: comparison.direction_only,
            estimate_percent: comparison.estimate_percent,
            low_percent: comparison.low_percent,
            high_percent: comparison.high_percent,
            level: comparison.level,
            rounds: comparison.rounds as u32,
            threshold_percent: comparison.threshold_percent,
            p_value: comparison.p_value,
            bh_rejected: None,
            sentence: comparison.sentence.clone(),
        }
    }
}

/// Threshold in percent where no absolute floor in us raises it.
fn floor_percent(parts: ThresholdParts, metric: &Metric) -> f64 {
    parts.threshold(metric.quantity, f64::INFINITY).percent
}

fn warning(checked: &Checked) -> Option<String> {
    match &checked.outcome {
        Outcome::Warn(reason) => Some(reason.clone()),
        Outcome::Pass | Outcome::Fail(_) => None,
    }
}

/// Throughput first: it decides.
fn metrics(phase: &Phase) -> Vec<Metric> {
    let whole = |name, quantity, value: fn(&PhaseRun) -> Option<f64>| Metric {
        operation: phase.name.clone(),
        name,
        quantity,
        value: Box::new(value),
    };
    let mut metrics = vec![
        whole("throughput", Quantity::Throughput, |run| Some(run.throughput)),
        whole("cpu_per_op", Quantity::CpuPerOperation, |run| Some(run.cpu_us_per_op)),
    ];
    for operation in &phase.operations {
        let latency =
            |name, quantity, pick: fn(&crate::result::records::Quantiles) -> Option<f64>| {
                let wanted = operation.name.clone();
                Metric {
                    operation: wanted.clone(),
                    name,
                    quantity,
                    // Open loops are judged by response time: from the intended start.
                    value: Box::new(move |run| {
                        let own = run.by_operation.iter().find(|it| it.operation == wanted)?;
                        Some(pick(own.response.as_ref().unwrap_or(&own.service))? * 1e3)
                    }),
                }
            };
        metrics.push(latency("p50", Quantity::P50, |it| it.p50_us));
        metrics.push(latency("p90", Quantity::P90, |it| it.p90_us));
        metrics.push(latency("p99", Quantity::P99, |it| it.p99_us));
        metrics.push(latency("p999", Quantity::P999, |it| it.p999_us));
    }
    metrics
}
