//! Mann-Kendall: does a series rise or fall, whatever its shape (section 8.2).

use super::special::normal_cdf;
use super::theil_sen::{s_variance, tie_sizes};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Kendall's tau-b of value and time: -1 falls always, 1 rises always.
    pub tau: f64,
    /// Two-sided p-value, normal with continuity correction.
    pub p: f64,
}

/// Tests a series in the order of time; None with fewer than three values.
///
/// Mann 1945, Kendall 1975, with their correction for ties. The normal approximation is good from
/// some ten values on. A series that never changes has tau 0 and p 1.
pub fn mann_kendall(values: &[f64]) -> Option<Trend> {
    if values.len() < 3 {
        return None;
    }
    let mut s = 0_i64;
    for (at, value) in values.iter().enumerate() {
        for later in &values[at + 1..] {
            s += i64::from(later > value) - i64::from(later < value);
        }
    }
    let pairs = |count: f64| count * (count - 1.0) / 2.0;
    let all = pairs(values.len() as f64);
    let tied: f64 = tie_sizes(values).into_iter().map(pairs).sum();
    let deviation = s_variance(&[values.to_vec()]).sqrt();
    if deviation == 0.0 || tied >= all {
        return Some(Trend { tau: 0.0, p: 1.0 });
    }
    let s = s as f64;
    let z = (s.abs() - 1.0).max(0.0) / deviation;
    Some(Trend { tau: s / (all * (all - tied)).sqrt(), p: 2.0 * normal_cdf(-z) })
}
