//! A against B without common rounds: imported results or separate sessions (section 3.2, 5).

use super::compare::{Comparison, Margins, Verdict, percent};
use super::descriptive::median;
use super::mann_whitney::{mann_whitney, samples_needed, shift};
use super::threshold::{Direction, Quantity, ThresholdParts};
use super::wording::Finding;

/// The remark every such comparison carries.
pub const REMARK: &str = "not interleaved; drift cannot be excluded";
/// The error of benchstat's test.
pub const ALPHA: f64 = 0.05;

/// Values of two arms, one per run, in the quantity's unit.
#[derive(Debug, Clone, Copy)]
pub struct UnpairedArms<'a> {
    /// Name of the base arm, as printed.
    pub name_a: &'a str,
    /// Name of the arm compared with it.
    pub name_b: &'a str,
    /// Base values.
    pub a: &'a [f64],
    /// Compared values.
    pub b: &'a [f64],
}

/// Compares by Mann-Whitney. The verdict is always INCONCLUSIVE: at most the sentence says
/// `looks slower`, since a drift between the sessions would look exactly the same.
#[must_use]
pub fn compare_unpaired(
    metric: &str,
    quantity: Quantity,
    arms: &UnpairedArms<'_>,
    threshold: ThresholdParts,
) -> Comparison {
    let log_times = |values: &[f64]| -> Vec<f64> {
        let sign = if quantity.direction() == Direction::LowerIsBetter { 1.0 } else { -1.0 };
        values.iter().map(|v| sign * v.ln()).filter(|v| v.is_finite()).collect()
    };
    let (a, b) = (log_times(arms.a), log_times(arms.b));
    let threshold = threshold.threshold(quantity, median(arms.a).unwrap_or(0.0));
    let interval = shift(&a, &b, ALPHA);
    let bounded = interval.filter(|interval| interval.low.is_finite());
    let mut comparison = Comparison {
        metric: metric.to_owned(),
        verdict: Verdict::Inconclusive,
        direction_only: false,
        paired: false,
        quick: false,
        estimate_percent: interval.map(|interval| percent(interval.estimate)),
        low_percent: bounded.map(|interval| percent(interval.low)),
        high_percent: bounded.map(|interval| percent(interval.high)),
        level: bounded.map(|interval| interval.level),
        rounds: a.len().min(b.len()),
        rounds_lost: arms.a.len() + arms.b.len() - a.len() - b.len(),
        threshold_percent: threshold.percent,
        threshold_origin: threshold.origin,
        margins: Margins::default(),
        p_value: mann_whitney(&b, &a).map(|test| test.p_two_sided),
        rounds_needed: None,
        sentence: String::new(),
        reasons: Vec::new(),
        warnings: vec![REMARK.to_owned()],
    };
    comparison.sentence = sentence(&comparison, quantity, arms, (a.len(), b.len()));
    comparison
}

fn sentence(
    comparison: &Comparison,
    quantity: Quantity,
    arms: &UnpairedArms<'_>,
    (runs_a, runs_b): (usize, usize),
) -> String {
    let (Some(estimate), Some(low), Some(high), Some(level)) = (
        comparison.estimate_percent,
        comparison.low_percent,
        comparison.high_percent,
        comparison.level,
    ) else {
        let needed = samples_needed(ALPHA).unwrap_or(4);
        return format!(
            "INCONCLUSIVE: {runs_a} and {runs_b} runs are too few, at least {needed} on each side \
             are needed; {REMARK}."
        );
    };
    let delta = comparison.threshold_percent;
    let finding = Finding {
        name_a: arms.name_a,
        name_b: arms.name_b,
        quantity,
        estimate_percent: estimate,
        low_percent: low,
        high_percent: high,
        level,
        rounds: comparison.rounds,
        threshold_percent: delta,
    };
    if low <= delta && high >= -delta {
        return format!("INCONCLUSIVE: {}; {REMARK}.", finding.between());
    }
    let decimals = finding.decimals();
    let size = |value: f64| figures::fixed(value.abs(), decimals);
    let (near, far) = if low > 0.0 { (low, high) } else { (high, low) };
    format!(
        "INCONCLUSIVE: {} looks {} than {} by {} % ({} CI {} to {} %, {runs_a} and {runs_b} runs, \
         threshold {} %); {REMARK}.",
        arms.name_b,
        if low > 0.0 { "slower" } else { "faster" },
        arms.name_a,
        size(estimate),
        figures::level(level),
        size(near),
        size(far),
        figures::threshold(delta),
    )
}
