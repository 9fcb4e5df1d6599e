//! Every arm against the baseline, in every phase and metric.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::adapter_costs::Timed;
use crate::analysis::conditions::Conditions;
use crate::analysis::rounds::{PerRound, Rounds};
use crate::analysis::since::{self, VersionSeries};
use crate::analysis::types::{ComparisonRow, Metric};
use record::records::{Arm, Experiment, PhaseRun, ServerKind};
use stats::bias;
use stats::comparison::Comparison;
use stats::descriptive::median;
use stats::gates::{self, GateId};
use stats::judge::{Entrant, Judged, Measure, Terms, judge};
use stats::multiple::{FALSE_DISCOVERY_RATE, benjamini_hochberg};
use stats::threshold::{Interleave, Quantity};
use stats::verdict::Verdict;
use stats::wording;
use workload::plan::{Limit, Phase};

pub struct Compared {
    pub rows: Vec<ComparisonRow>,
    /// Throughput of every arm but two: the A/A arm, and the one past the tap.
    pub deciding: Vec<Comparison>,
    /// A/A noise floor on throughput by phase, percent.
    pub noise_percent: BTreeMap<String, f64>,
    /// Figures over the versions of one driver.
    pub series: Vec<VersionSeries>,
    pub warnings: Vec<String>,
}

/// A metric of a phase, or of one of its operations.
struct OperationMetric {
    operation: String,
    metric: Metric,
    quantity: Quantity,
}

pub fn compare_all(experiment: &Experiment, rounds: &Rounds<'_>) -> Compared {
    let mut compared = Compared {
        rows: Vec::new(),
        deciding: Vec::new(),
        noise_percent: BTreeMap::new(),
        series: Vec::new(),
        warnings: Vec::new(),
    };
    if !experiment.arms.is_empty() {
        for phase in &experiment.plan.phases {
            PhaseComparison { experiment, rounds, arms: &experiment.arms, phase }
                .run(&mut compared);
        }
    }
    // Sizes are not in the family: they are reported beside the times.
    let in_family = |row: &ComparisonRow| row.p_value.filter(|_| !row.metric.is_size());
    let p_values: Vec<f64> = compared.rows.iter().filter_map(in_family).collect();
    let mut adjusted = benjamini_hochberg(&p_values).into_iter();
    for row in &mut compared.rows {
        if in_family(row).is_some() {
            row.found.bh_rejected = adjusted.next().map(|p| p <= FALSE_DISCOVERY_RATE);
        }
    }
    let mut seen = BTreeSet::new();
    compared.warnings.retain(|warning| seen.insert(warning.clone()));
    compared
}

/// One figure of a phase by arm and compared round, and how it is read. Without an `operation` a
/// latency is that of the phase's first.
pub fn values(
    experiment: &Experiment,
    rounds: &Rounds<'_>,
    phase: &Phase,
    metric: Metric,
    operation: Option<&str>,
) -> Option<Measure> {
    let arms = &experiment.arms;
    let is_asked = |figure: &OperationMetric| {
        figure.metric == metric && operation.is_none_or(|it| it == figure.operation)
    };
    let comparison = PhaseComparison { experiment, rounds, arms, phase };
    let figure = comparison.figures().into_iter().find(is_asked)?;
    Some(comparison.measure(&figure))
}

/// Every figure of a phase that no run is without, with its operation.
pub fn measures(
    experiment: &Experiment,
    rounds: &Rounds<'_>,
    phase: &Phase,
) -> Vec<(String, Metric, Measure)> {
    let comparison = PhaseComparison { experiment, rounds, arms: &experiment.arms, phase };
    let figures = comparison.figures().into_iter().filter(|it| comparison.has_values(it));
    let measured = figures.map(|figure| {
        let measure = comparison.measure(&figure);
        (figure.operation, figure.metric, measure)
    });
    measured.collect()
}

struct PhaseComparison<'a> {
    experiment: &'a Experiment,
    rounds: &'a Rounds<'a>,
    arms: &'a [Arm],
    phase: &'a Phase,
}

impl PhaseComparison<'_> {
    fn run(&self, compared: &mut Compared) {
        // A quantile for which some runs are too short is not compared: `n/a` is no lost round.
        let figures: Vec<OperationMetric> =
            self.figures().into_iter().filter(|it| self.has_values(it)).collect();
        let measures: Vec<Measure> = figures.iter().map(|it| self.measure(it)).collect();
        let halves = self.leveled(|run| run.drift, identity, identity);
        let arms = self.arms.iter().zip(halves);
        let arms: Vec<Entrant<'_>> = arms.map(|(arm, halves)| self.entrant(arm, halves)).collect();
        let settings = &self.experiment.settings;
        let interleave = settings.interleave.iter().find(|it| it.phase == self.phase.name);
        let busy = self.rounds.busy();
        let interleave = interleave.map_or(Interleave::Turns, |it| it.interleave);
        let counts = matches!(self.phase.limit, Limit::Operations { .. });
        let terms = Terms {
            interleave,
            whole_job: counts && interleave == Interleave::Runs,
            quick: settings.looks.quick,
            alpha: self.rounds.standing().look.alpha,
            seed: settings.seed,
            busy: busy.as_deref(),
        };
        let mut judgement = judge(&arms, &measures, &terms);
        for judged in &mut judgement.judged {
            self.finish(judged, &figures[judged.measure]);
        }
        let mut say = |what: &str| compared.warnings.push(format!("{}: {what}", self.phase.name));
        judgement.shared_drift.iter().for_each(|drift| say(drift));
        for judged in &judgement.judged {
            let (arm, comparison) = (&self.arms[judged.arm], &judged.comparison);
            if judged.measure == 0 {
                let void = comparison.verdict == Verdict::NotComparable;
                if void && arm.is_aa {
                    say(&format!(
                        "the A/A arm could not be judged; nothing vouches for this phase: {}",
                        comparison.reasons.join("; ")
                    ));
                }
                if !void {
                    // What all arms waited beside is one sentence, below.
                    let own = judged.biases.iter().filter(|it| it.gate != GateId::IdleCpu);
                    own.for_each(|bias| say(&bias.caution));
                }
                if !arm.is_aa {
                    comparison.warnings.iter().for_each(|it| say(it));
                    self.run_cautions(arm).iter().for_each(|it| say(it));
                    if let Some(it) = self.timed(arm).making(comparison.threshold_percent) {
                        say(&it);
                    }
                }
                if !arm.is_aa && !arm.is_direct {
                    compared.deciding.push(comparison.clone());
                }
            }
            compared.rows.push(self.row(arm, &figures[judged.measure], judged));
        }
        let idle = judgement.judged.iter().flat_map(|judged| &judged.biases);
        let idle = idle.filter(|bias| bias.gate == GateId::IdleCpu).map(|bias| bias.size);
        if let Some(waited) = bias::waiting_cpu(idle, &self.waiting()) {
            say(&waited);
        }
        for (place, (figure, measure)) in figures.iter().zip(&measures).enumerate() {
            let of_figure = judgement.judged.iter().filter(|judged| judged.measure == place);
            let thresholds = of_figure.map(|judged| judged.comparison.threshold_percent);
            compared.series.extend(since::scan(
                self.experiment,
                (&self.phase.name, &figure.operation),
                (figure.metric, measure),
                thresholds.fold(0.0, f64::max),
            ));
        }
        if let Some(Some(floor)) = judgement.noise_percent.first() {
            compared.noise_percent.insert(self.phase.name.clone(), *floor);
        }
    }

    fn has_values(&self, figure: &OperationMetric) -> bool {
        let mut runs = self.arms.iter().flat_map(|arm| self.runs(arm)).flatten();
        figure.metric == Metric::Throughput || runs.all(|run| self.value(figure, run).is_some())
    }

    fn runs(&self, arm: &Arm) -> PerRound<'_> {
        self.rounds.of(&arm.id, &self.phase.name)
    }

    fn measure(&self, figure: &OperationMetric) -> Measure {
        Measure {
            name: format!("{}/{}", figure.operation, figure.metric.word()),
            quantity: figure.quantity,
            values: self.leveled(|run| self.value(figure, run), f64::ln, f64::exp),
        }
    }

    /// Values by arm and round, as if all blocks of a round had had one baseline: the mean of
    /// theirs. On the scale of `to` each value keeps its distance to the baseline of its block.
    fn leveled(
        &self,
        value: impl Fn(&PhaseRun) -> Option<f64>,
        to: fn(f64) -> f64,
        back: fn(f64) -> f64,
    ) -> Vec<Vec<Option<f64>>> {
        let all = |arm: &Arm| self.rounds.all(&arm.id, &self.phase.name);
        let told = |runs: &[(u32, &PhaseRun)]| -> BTreeMap<u32, f64> {
            runs.iter().filter_map(|(block, run)| Some((*block, value(run)?))).collect()
        };
        let base: Vec<BTreeMap<u32, f64>> = all(&self.arms[0]).iter().map(|it| told(it)).collect();
        let level = |(round, runs): (usize, &Vec<(u32, &PhaseRun)>)| {
            let (block, own) = told(runs).pop_first()?;
            let base = &base[round];
            if self.experiment.settings.blocks.is_none() {
                return Some(own);
            }
            let mean = base.values().map(|it| to(*it)).sum::<f64>() / base.len() as f64;
            Some(back(to(own) - to(*base.get(&block)?) + mean))
        };
        let of_arm = |arm| all(arm).iter().enumerate().map(level).collect();
        self.arms.iter().map(of_arm).collect()
    }

    fn entrant<'b>(&self, arm: &'b Arm, halves: Vec<Option<f64>>) -> Entrant<'b> {
        let runs = self.runs(arm);
        let idle = runs.iter().flatten().filter_map(|run| run.idle_cpu_fraction);
        Entrant {
            name: &arm.id,
            is_aa: arm.is_aa,
            halves,
            positions: self.rounds.positions(&arm.id),
            idle_fraction: median(&idle.collect::<Vec<_>>()).unwrap_or(0.0),
            // Two clock readings are part of the no-op loop: half of its time bounds one from
            // above.
            timer_cost_ns: self.rounds.noop_ns(&arm.id).unwrap_or(0.0) / 2.0,
            wrong: gates::failures(&[self.conditions(arm).gate()]),
            lost_because: self.rounds.losses(&arm.id, &self.phase.name).into_iter().next(),
            conditions: self.conditions(arm).axis(),
        }
    }

    /// CPU of each arm during the turns of the others, ns, over all rounds.
    fn waiting(&self) -> Vec<(&str, u64)> {
        let used_ns =
            |arm: &Arm| self.runs(arm).iter().flatten().filter_map(|run| run.waiting_cpu_ns).sum();
        self.arms.iter().map(|arm| (arm.id.as_str(), used_ns(arm))).collect()
    }

    /// Cautions about the baseline and an arm, by gates of single runs that do not void them.
    fn run_cautions(&self, arm: &Arm) -> BTreeSet<String> {
        let runs = [&self.arms[0], arm].into_iter().flat_map(|arm| self.runs(arm)).flatten();
        let gates = runs.flat_map(|run| &run.gates).filter(|gate| !gate.fails);
        gates.map(|gate| gate.reason.clone()).collect()
    }

    fn conditions(&self, arm: &Arm) -> Conditions {
        let topology = &self.experiment.server.topology;
        Conditions::new(&self.arms[0], arm, self.phase, topology)
    }

    fn timed<'b>(&'b self, arm: &'b Arm) -> Timed<'b> {
        let arms = [self.arms[0].id.as_str(), arm.id.as_str()];
        Timed { rounds: self.rounds, phase: self.phase, arms }
    }

    /// Takes back a verdict that timers forbid. Says it where the order was fixed.
    fn finish(&self, judged: &mut Judged, figure: &OperationMetric) {
        let (arm, found) = (&self.arms[judged.arm], &mut judged.comparison);
        if self.timed(arm).holds_back(found, figure.metric, |run| self.value(figure, run))
            && let Some(axis) = self.conditions(arm).axis()
        {
            wording::append(&mut found.sentence, &format!("({axis})"));
        }
        self.experiment.settings.conduct.order().remark(&mut found.sentence);
    }

    fn row(&self, arm: &Arm, figure: &OperationMetric, judged: &Judged) -> ComparisonRow {
        let order = self.experiment.settings.conduct.order();
        let of_time = judged.drift.as_ref().filter(|_| judged.measure == 0);
        let drift = of_time.map(|drift| drift.row(order));
        ComparisonRow {
            from: None,
            to: None,
            baseline: self.arms[0].id.clone(),
            arm: arm.id.clone(),
            is_aa: arm.is_aa,
            phase: self.phase.name.clone(),
            operation: figure.operation.clone(),
            metric: figure.metric,
            found: Comparison { order, drift, ..judged.comparison.clone() },
        }
    }

    /// Throughput first: it decides. Metrics of the phase are before those of its operations.
    fn figures(&self) -> Vec<OperationMetric> {
        let figures = |operation: &String, is_of_operation: bool| -> Vec<OperationMetric> {
            let own = Metric::compared().filter(|(it, _)| it.is_of_operation() == is_of_operation);
            let figure = |(metric, quantity)| OperationMetric {
                operation: operation.clone(),
                metric,
                quantity,
            };
            own.map(figure).collect()
        };
        let mut all = figures(&self.phase.name, false);
        all.extend(self.phase.operations.iter().flat_map(|it| figures(&it.name, true)));
        all
    }

    /// The value of one run, times in ns.
    fn value(&self, figure: &OperationMetric, run: &PhaseRun) -> Option<f64> {
        let is_ours = self.experiment.server.kind != ServerKind::External;
        let scale = if figure.quantity.limited_by_timer() { 1e3 } else { 1.0 };
        Some(figure.metric.value(run, &figure.operation, is_ours)? * scale)
    }
}

/// Drifts are logs already.
fn identity(value: f64) -> f64 {
    value
}
