//! Ratios of two arms, round by round, as logarithms (section 3.2).

use super::threshold::Direction;

/// Per-round log ratios ln(B/A) of time per operation: + is slower. None for lost rounds.
///
/// Two equal values have ratio 0 even when both are zero (no bytes allocated on either side). A
/// zero, negative or non-finite value otherwise has no ratio and the round is lost.
#[expect(clippy::float_cmp, reason = "exactly equal values, zero included, are meant")]
pub fn log_ratios(direction: Direction, a: &[Option<f64>], b: &[Option<f64>]) -> Vec<Option<f64>> {
    let value = |values: &[Option<f64>], round: usize| {
        values.get(round).copied().flatten().filter(|v| v.is_finite() && *v >= 0.0)
    };
    (0..a.len().max(b.len()))
        .map(|round| {
            let (a, b) = (value(a, round)?, value(b, round)?);
            if a == b {
                return Some(0.0);
            }
            let ratio = match direction {
                Direction::LowerIsBetter => (b / a).ln(),
                Direction::HigherIsBetter => (a / b).ln(),
            };
            ratio.is_finite().then_some(ratio)
        })
        .collect()
}

/// (e^x - 1) 100 %.
pub fn percent(log_ratio: f64) -> f64 {
    100.0 * log_ratio.exp_m1()
}
