//! Spearman's rank correlation, for the order-effect gate.

use super::rank::doubled_ranks;
use super::special::student_t_two_sided;

/// Up to this many pairs all orders (9! = 362 880) are tried; beyond it Student's t is used.
pub const EXACT_MAX_PAIRS: usize = 9;

/// A rank correlation and how likely it is by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spearman {
    /// Correlation of the mid-ranks, -1 to 1.
    pub rho: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// Counted over all orders of the ranks as they are (ties included), or from Student's t.
    pub exact: bool,
}

/// Correlates `x` and `y`, which must be of equal length.
///
/// None with fewer than three pairs, with unequal lengths, or when either is constant.
#[must_use]
pub fn spearman(x: &[f64], y: &[f64]) -> Option<Spearman> {
    if x.len() != y.len() || x.len() < 3 {
        return None;
    }
    let (x, y) = (centred_ranks(x), centred_ranks(y));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scale = (product(&x, &x) * product(&y, &y)).sqrt();
    if scale == 0.0 {
        return None;
    }
    let covariance = product(&x, &y);
    let rho = (covariance / scale).clamp(-1.0, 1.0);
    let exact = x.len() <= EXACT_MAX_PAIRS;
    let p = if exact {
        let mut orders = Orders { x: &x, limit: covariance.abs() - 1e-9, all: 0, as_extreme: 0 };
        orders.visit(&mut y.clone(), 0, 0.0);
        orders.as_extreme as f64 / orders.all as f64
    } else if rho.abs() >= 1.0 {
        0.0
    } else {
        let degrees = x.len() as f64 - 2.0;
        student_t_two_sided(rho * (degrees / (1.0 - rho * rho)).sqrt(), degrees)
    };
    Some(Spearman { rho, p, exact })
}

fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let centre = values.len() as f64 + 1.0;
    doubled_ranks(values).into_iter().map(|rank| rank as f64 - centre).collect()
}

/// Walks all orders of y against x and counts those at least as correlated.
struct Orders<'a> {
    x: &'a [f64],
    limit: f64,
    all: u64,
    as_extreme: u64,
}

impl Orders<'_> {
    fn visit(&mut self, y: &mut [f64], placed: usize, covariance: f64) {
        if placed == y.len() {
            self.all += 1;
            self.as_extreme += u64::from(covariance.abs() >= self.limit);
            return;
        }
        for next in placed..y.len() {
            y.swap(placed, next);
            self.visit(y, placed + 1, covariance + self.x[placed] * y[placed]);
            y.swap(placed, next);
        }
    }
}
