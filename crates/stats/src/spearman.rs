//! Spearman's rank correlation, with an interval.
//!
//! Methodology 3.7. The interval is Fisher's, with the standard error of Bonett and Wright (2000),
//! Psychometrika 65, 23-28, which keeps its level for ranks up to |rho| = 0.95. Rejected: Pearson's
//! own error, which is too narrow for ranks.

use std::cmp::Ordering;

use crate::descriptive::Interval;

/// Standard normal quantile of 0.975.
const Z: f64 = 1.959_963_984_540_054;
/// Fewer have no interval to speak of: one of five pairs spans nearly everything.
pub const PAIRS_MIN: usize = 5;

/// -1 to 1; None with fewer than [`PAIRS_MIN`] pairs, or where one side is constant.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<Interval> {
    if pairs.len() < PAIRS_MIN {
        return None;
    }
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let estimate = pearson(&ranks(&a), &ranks(&b))?;
    let error = ((1.0 + estimate * estimate / 2.0) / (pairs.len() as f64 - 3.0)).sqrt();
    // The transform of 1 is infinite; ranks that agree wholly are held a hair below it.
    let middle = estimate.clamp(-1.0 + 1e-12, 1.0 - 1e-12).atanh();
    let bound = |sign: f64| (middle + sign * Z * error).tanh();
    Some(Interval { estimate, low: bound(-1.0), high: bound(1.0) })
}

/// From 1; ties share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let count = |value: f64, is: fn(Ordering) -> bool| {
        values.iter().filter(|it| is(it.total_cmp(&value))).count() as f64
    };
    let rank = |&value: &f64| {
        count(value, Ordering::is_lt) + f64::midpoint(count(value, Ordering::is_eq), 1.0)
    };
    values.iter().map(rank).collect()
}

fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum = |each: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| each(a - mean_a, b - mean_b)).sum()
    };
    let spread = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    (spread > 0.0).then(|| sum(&|a, b| a * b) / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of IQ and hours of television: rho = -29/165.
    #[test]
    fn the_worked_example_of_the_textbooks() {
        let iq = [106.0, 100.0, 86.0, 101.0, 99.0, 103.0, 97.0, 113.0, 112.0, 110.0];
        let hours = [7.0, 27.0, 2.0, 50.0, 28.0, 29.0, 20.0, 12.0, 6.0, 17.0];
        let found = spearman(&iq.into_iter().zip(hours).collect::<Vec<_>>()).expect("a rho");
        assert!((found.estimate + 29.0 / 165.0).abs() < 1e-12, "{found:?}");
        assert!(found.low < -0.7 && found.high > 0.5, "ten pairs say little: {found:?}");
    }

    #[test]
    fn whole_agreement_is_one_and_ties_share_their_ranks() {
        let rising: Vec<(f64, f64)> =
            (0..10).map(|it| (f64::from(it), f64::from(it * it))).collect();
        let found = spearman(&rising).expect("a rho");
        assert!((found.estimate - 1.0).abs() < 1e-12 && found.low > 0.9, "{found:?}");
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

    #[test]
    fn a_constant_side_and_few_pairs_have_none() {
        let constant: Vec<(f64, f64)> = (0..9).map(|it| (f64::from(it), 1.0)).collect();
        assert_eq!(spearman(&constant), None);
        assert_eq!(spearman(&[(1.0, 2.0), (2.0, 3.0), (3.0, 4.0), (4.0, 5.0)]), None);
    }
}
