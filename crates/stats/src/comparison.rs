//! A against B: paired rounds in, a verdict with its sentence out (sections 3.2 to 3.5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bias::{BROKEN_PERCENT, Bias, DriftRow};
use super::descriptive::{Outliers, first_run_slow, median};
use super::gates::GateId;
use super::order::Order;
use super::rank::{HodgesLehmann, hodges_lehmann, interval_rank, signed_rank_p};
use super::ratio::{log_ratios, percent};
use super::threshold::{Direction, Quantity, Threshold, ThresholdOrigin, ThresholdParts};
use super::verdict::Verdict;
use super::wording::{self, MeasuredChange};

/// A larger share of rounds lost to gates makes a comparison void.
const LOST_ROUNDS_LIMIT: f64 = 0.20;
/// No plan goes beyond it, so no advice does either.
pub const MAX_ROUNDS: u32 = 40;

/// The two arms of a comparison: one value per round, None where a gate voids the run.
#[derive(Debug, Clone, Copy)]
pub struct Arms<'a> {
    /// The base arm, as printed.
    pub name_a: &'a str,
    pub name_b: &'a str,
    /// Base values by round, in the quantity's unit.
    pub a: &'a [Option<f64>],
    /// Values to compare; rounds missing at the end of the shorter list count as lost.
    pub b: &'a [Option<f64>],
}

#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Error spent at this look (0.05 asks for a 95 % interval).
    pub alpha: f64,
    /// `--quick` included.
    pub threshold: ThresholdParts,
    /// The largest possible bias: it widens the interval.
    pub bias: Option<&'a Bias>,
    /// The cause of a busy machine, where disturbed rounds are compared: it doubles delta.
    pub busy: Option<&'a str>,
    /// The same comparison by other ways: SAME needs their agreement.
    pub witnesses: &'a [Witness],
    /// Conditions in which the arms differ by wish: the sentence names them behind B.
    pub conditions: Option<&'a str>,
}

/// The comparison made in another way, in which another bias would show.
#[derive(Debug, Clone, PartialEq)]
pub struct Witness {
    /// Such as `in the second half`.
    pub way: &'static str,
    /// ln(B/A) by round.
    pub ratios: Vec<f64>,
}

impl Rules<'_> {
    pub fn new(alpha: f64, threshold: ThresholdParts) -> Self {
        Self { alpha, threshold, bias: None, busy: None, witnesses: &[], conditions: None }
    }
}

/// One metric of one comparison: of two arms, of two versions, or of servers. Percentages are of
/// time (cost) per operation, + is slower.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Such as `find_one/throughput`.
    #[serde(skip)]
    pub metric: String,
    pub verdict: Verdict,
    /// Direction is clear, size is not: the threshold lies inside the interval.
    pub direction_only: bool,
    /// Change of time per operation, percent, + is slower. None without usable rounds.
    pub estimate_percent: Option<f64>,
    /// Lower end of the interval, bias included. None when unbounded (too few rounds).
    pub low_percent: Option<f64>,
    /// Upper end of the interval, bias included. None when unbounded (too few rounds).
    pub high_percent: Option<f64>,
    /// Achieved confidence level, 0..1. None when unbounded.
    pub level: Option<f64>,
    /// Rounds used, each a pair.
    pub rounds: u32,
    #[serde(skip)]
    pub rounds_lost: u32,
    /// Practical threshold of SLOWER and FASTER, percent; doubled on a busy machine.
    pub threshold_percent: f64,
    #[serde(skip)]
    pub threshold_origin: ThresholdOrigin,
    /// SAME: the interval lies within so much, percent.
    #[serde(default)]
    pub floor_percent: f64,
    /// Possible bias, percent: each end of the interval was moved outwards by it.
    #[serde(default)]
    pub bias_percent: f64,
    /// The gate that measured it: G5, G6, G7 or G9.
    #[serde(default)]
    pub bias_gate: Option<GateId>,
    /// The cause of a busy machine, where disturbed rounds had to be compared.
    #[serde(default)]
    pub busy: Option<String>,
    /// The order of the arms; one that is not shuffled is part of the sentence.
    #[serde(default)]
    pub order: Order,
    /// Throughput only: how time per operation moved within the phase.
    #[serde(default)]
    pub drift: Option<DriftRow>,
    /// Exact signed-rank p, for the detail table.
    #[serde(default)]
    pub p_value: Option<f64>,
    /// Survives Benjamini-Hochberg at q = 0.05 over the report.
    #[serde(default)]
    pub bh_rejected: Option<bool>,
    /// Further rounds that would probably settle an INCONCLUSIVE one. None: not asked, or more than
    /// [`MAX_ROUNDS`] in all.
    #[serde(skip)]
    pub rounds_needed: Option<u32>,
    /// The verdict in words.
    pub sentence: String,
    /// Reasons of NOT COMPARABLE; empty otherwise.
    #[serde(skip)]
    pub reasons: Vec<String>,
    /// For the reader; they decide nothing.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

impl Comparison {
    /// Too few rounds are left of those made for an interval.
    pub fn is_short(&self) -> bool {
        self.verdict == Verdict::Inconclusive && self.level.is_none()
    }

    /// True when further rounds are pointless: every verdict but INCONCLUSIVE and direction only.
    pub fn settled(&self) -> bool {
        self.verdict != Verdict::Inconclusive && !self.direction_only
    }
}

/// Compares B with A. `failed_gates` are the reasons of gates that failed for the whole comparison.
pub fn compare(
    metric: &str,
    quantity: Quantity,
    arms: &Arms<'_>,
    rules: &Rules<'_>,
    failed_gates: &[String],
) -> Comparison {
    let ratios = log_ratios(quantity.direction(), arms.a, arms.b);
    let kept: Vec<f64> = ratios.iter().copied().flatten().collect();
    let base: Vec<f64> = arms.a.iter().copied().flatten().collect();
    let mut threshold = rules.threshold.threshold(quantity, median(&base).unwrap_or(0.0));
    if rules.busy.is_some() {
        threshold.percent *= 2.0;
    }
    let rounds = ratios.iter().flatten().count();
    let mut comparison = Comparison {
        metric: metric.to_owned(),
        rounds: rounds as u32,
        rounds_lost: (ratios.len() - rounds) as u32,
        threshold_percent: threshold.percent,
        threshold_origin: threshold.origin,
        floor_percent: threshold.floor_percent,
        bias_percent: rules.bias.map_or(0.0, Bias::percent),
        bias_gate: rules.bias.map(|bias| bias.gate),
        busy: rules.busy.map(str::to_owned),
        ..Comparison::default()
    };
    comparison.reasons.extend_from_slice(failed_gates);
    if f64::from(comparison.rounds_lost) > LOST_ROUNDS_LIMIT * ratios.len() as f64 {
        let (lost, all) = (comparison.rounds_lost, ratios.len());
        comparison.reasons.push(format!("{lost} of {all} rounds were lost, more than 20 %"));
    }
    if let Some(bias) = rules.bias.filter(|it| it.percent() > limit_of_bias(threshold)) {
        comparison.reasons.push(format!("too much to be noise: {}", bias.caution));
    }
    comparison.warnings = warnings(quantity, arms);
    // NOT COMPARABLE still carries its numbers: a failed measurement is data.
    let interval = hodges_lehmann(&kept, rules.alpha);
    if let Some(interval) = &interval {
        comparison.fill(interval, rules.bias.map_or(0.0, |bias| bias.size));
        comparison.p_value = Some(signed_rank_p(&kept));
    }
    let named = rules.conditions.map(|it| format!("{} ({it})", arms.name_b));
    let name_b = named.as_deref().unwrap_or(arms.name_b);
    comparison.judge(quantity, &Arms { name_b, ..*arms }, rules);
    let is_named = comparison.verdict.names_arms(comparison.direction_only);
    if let Some(conditions) = rules.conditions.filter(|_| !is_named) {
        wording::append(&mut comparison.sentence, &format!("({conditions})"));
    }
    if let Some(busy) = rules.busy {
        wording::append(&mut comparison.sentence, &format!("on a busy machine ({busy})"));
    }
    if rules.threshold.quick {
        wording::append(&mut comparison.sentence, "(quick)");
    }
    comparison
}

/// A metric with a higher floor has a bias of 10 % as its ordinary noise.
fn limit_of_bias(threshold: Threshold) -> f64 {
    threshold.floor_percent.max(BROKEN_PERCENT)
}

impl Witness {
    /// Returns the interval as text, if it does not lie within the floor.
    fn doubts(&self, floor_percent: f64, alpha: f64) -> Option<String> {
        let found = hodges_lehmann(&self.ratios, alpha).filter(|it| it.rank > 0)?;
        let (low, high) = (percent(found.low), percent(found.high));
        (low < -floor_percent || high > floor_percent)
            .then(|| format!(", {} {}", self.way, wording::between(low, high)))
    }
}

impl Comparison {
    /// `bias` in log units.
    pub(super) fn fill(&mut self, interval: &HodgesLehmann, bias: f64) {
        self.estimate_percent = Some(percent(interval.estimate));
        if interval.rank > 0 {
            self.low_percent = Some(percent(interval.low - bias));
            self.high_percent = Some(percent(interval.high + bias));
            self.level = Some(interval.level);
        }
    }

    /// By the table of section 3.5, in its order.
    fn judge(&mut self, quantity: Quantity, arms: &Arms<'_>, rules: &Rules<'_>) {
        if !self.reasons.is_empty() {
            self.verdict = Verdict::NotComparable;
            self.sentence = wording::not_comparable_sentence(&self.reasons);
            return;
        }
        let Some(finding) = self.finding(quantity, arms) else {
            let needed = rounds_for_an_interval(rules.alpha);
            self.rounds_needed = (needed as u32).checked_sub(self.rounds);
            let [rounds, lost] = [self.rounds, self.rounds_lost].map(|it| it as usize);
            self.sentence = wording::too_few_sentence((rounds, rounds + lost), needed, rules.alpha);
            return;
        };
        let (low, high) = (finding.low_percent, finding.high_percent);
        let (delta, floor) = (finding.threshold_percent, self.floor_percent);
        let mut aside = self.aside();
        let narrow = -floor <= low && high <= floor;
        let doubt = rules.witnesses.iter().find_map(|it| it.doubts(floor, rules.alpha));
        if low > delta || high < -delta {
            self.verdict = if low > delta { Verdict::Slower } else { Verdict::Faster };
            self.sentence = finding.clear_sentence(self.verdict, &aside);
        } else if narrow && doubt.is_none() {
            self.verdict = Verdict::Same;
            self.sentence = finding.same_sentence(floor, &aside);
        } else if low > 0.0 || high < 0.0 {
            self.verdict = if low > 0.0 { Verdict::Slower } else { Verdict::Faster };
            self.direction_only = true;
            self.sentence = finding.direction_sentence(self.verdict, &aside);
        } else {
            aside.extend(doubt.filter(|_| narrow));
            let wanted = self.rounds_wanted(&finding);
            self.rounds_needed = more_rounds(wanted, f64::from(self.rounds));
            if wanted > f64::from(MAX_ROUNDS) {
                self.warnings.push(format!(
                    "{}: with this scatter even {MAX_ROUNDS} rounds would probably not decide",
                    finding.name_b
                ));
            }
            self.sentence = finding.inconclusive_sentence(self.rounds_needed, MAX_ROUNDS, &aside);
        }
    }

    /// The part of the interval that is no scatter.
    fn aside(&self) -> String {
        let bias = self.bias_percent;
        self.bias_gate.map_or(String::new(), |gate| {
            format!(", of which {} % either side for {}", format::threshold(bias), Bias::word(gate))
        })
    }

    /// K (half-width / distance of the estimate from the nearest limit)^2 (section 2.6). Rounds
    /// narrow the scatter and not the bias, so the bias is taken off both. Infinite between floor
    /// and delta, or where the bias leaves no distance.
    fn rounds_wanted(&self, finding: &MeasuredChange<'_>) -> f64 {
        let half_width = (finding.high_percent - finding.low_percent) / 2.0 - self.bias_percent;
        let size = finding.estimate_percent.abs();
        let distance = (self.floor_percent - size).max(size - finding.threshold_percent);
        let spare = distance - self.bias_percent;
        if spare > 0.0 {
            f64::from(self.rounds) * (half_width / spare).powi(2)
        } else {
            f64::INFINITY
        }
    }

    fn finding<'a>(&self, quantity: Quantity, arms: &Arms<'a>) -> Option<MeasuredChange<'a>> {
        Some(MeasuredChange {
            name_a: arms.name_a,
            name_b: arms.name_b,
            quantity,
            estimate_percent: self.estimate_percent?,
            low_percent: self.low_percent?,
            high_percent: self.high_percent?,
            level: self.level?,
            rounds: self.rounds as usize,
            threshold_percent: self.threshold_percent,
        })
    }
}

/// The fewest rounds for an interval with this error: 6 for 5 %, 8 for 1 %.
pub fn rounds_for_an_interval(alpha: f64) -> usize {
    (1..=60).find(|&rounds| interval_rank(rounds, alpha).0 > 0).unwrap_or(60)
}

/// Rounds to make, at least 1, at most [`MAX_ROUNDS`] in all; None when those are made.
fn more_rounds(wanted: f64, made: f64) -> Option<u32> {
    let spare = f64::from(MAX_ROUNDS) - made;
    (spare > 0.0).then(|| (wanted - made).ceil().clamp(1.0, spare) as u32)
}

/// Outliers and a slow first round, per arm: named, never removed.
fn warnings(quantity: Quantity, arms: &Arms<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, values) in [(arms.name_a, arms.a), (arms.name_b, arms.b)] {
        let times: Vec<f64> = values
            .iter()
            .flatten()
            .map(|&v| if quantity.direction() == Direction::LowerIsBetter { v } else { 1.0 / v })
            .filter(|v| v.is_finite())
            .collect();
        let outliers = Outliers::count(&times);
        if outliers.many() {
            let far = outliers.far_from_median.max(outliers.tukey_severe);
            warnings.push(format!("{name} has outliers: {far} of {} runs (kept)", outliers.runs));
        }
        if values.first().is_some_and(Option::is_some) && first_run_slow(&times) {
            warnings.push(format!("{name}: the first round is much slower than the others (kept)"));
        }
    }
    warnings
}
