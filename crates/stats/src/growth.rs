//! How a cost grows with a size: the exponent of a power, and the law that follows (section 8.11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::descriptive::Interval;
use super::theil_sen::theil_sen;

/// Different sizes that an exponent needs.
pub const SIZES_MIN: usize = 3;
/// Values over all sizes that an exponent needs.
pub const VALUES_MIN: usize = 6;
/// Two costs that come apart by less than this over all sizes follow the same law.
const SAME: f64 = 0.05;
/// A law is named where the whole interval lies so near to its exponent.
const NEAR: f64 = 0.1;

/// A law of growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// Not by 5 % over all sizes.
    Constant,
    /// Proportional to the root of the size.
    SquareRoot,
    /// Proportional to the size.
    Linear,
    /// Proportional to the size times its logarithm.
    LogLinear,
    /// Proportional to the square of the size.
    Quadratic,
}

impl Law {
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::SquareRoot => "square root",
            Self::Linear => "linear",
            Self::LogLinear => "n log n",
            Self::Quadratic => "quadratic",
        }
    }
}

/// The growth of a cost c with a size n, as `c = k n^p`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// p, with its 95 % interval.
    pub exponent: Interval,
    /// The law, where the interval leaves no other.
    pub law: Option<Law>,
    /// Exponents so near to each other come apart by less than 5 % over all sizes.
    pub tolerance: f64,
    /// Number of sizes.
    pub sizes: usize,
    /// Number of values over all sizes.
    pub values: usize,
}

/// Fits sizes, each with the cost in each round; only costs and sizes above 0 are read. None with
/// fewer than [`SIZES_MIN`] sizes or [`VALUES_MIN`] values.
pub fn growth(levels: &[(f64, Vec<f64>)]) -> Option<Growth> {
    let levels: Vec<_> = levels.iter().filter(|(size, _)| *size > 1.0).collect();
    let of = |(size, costs): &&(f64, Vec<f64>)| {
        let costs = costs.iter().filter(|cost| **cost > 0.0);
        costs.map(|cost| (size.ln(), cost.ln())).collect::<Vec<_>>()
    };
    let points: Vec<Vec<(f64, f64)>> = levels.iter().map(of).filter(|it| !it.is_empty()).collect();
    let (sizes, points) = (points.len(), points.concat());
    if sizes < SIZES_MIN || points.len() < VALUES_MIN {
        return None;
    }
    let slope = theil_sen(&points)?;
    let exponent = Interval { estimate: slope.slope, low: slope.low, high: slope.high };
    let logs = || points.iter().map(|(log, _)| *log);
    let range = (logs().fold(f64::INFINITY, f64::min), logs().fold(0.0, f64::max));
    let tolerance = (1.0 + SAME).ln() / (range.1 - range.0);
    let law = law(exponent, range, tolerance);
    Some(Growth { exponent, law, tolerance, sizes, values: points.len() })
}

/// `range`: logarithms of the smallest and the largest size.
fn law(exponent: Interval, range: (f64, f64), tolerance: f64) -> Option<Law> {
    if exponent.low >= -tolerance && exponent.high <= tolerance {
        return Some(Law::Constant);
    }
    // The slope of n ln n in logarithms is 1 + 1/ln n; here that between the ends.
    let log_linear = 1.0 + (range.1 / range.0).ln() / (range.1 - range.0);
    let laws = [
        (Law::Constant, 0.0),
        (Law::SquareRoot, 0.5),
        (Law::Linear, 1.0),
        (Law::LogLinear, log_linear),
        (Law::Quadratic, 2.0),
    ];
    let meets =
        |(_, p): &&(Law, f64)| exponent.low <= p + tolerance && p - tolerance <= exponent.high;
    let mut possible = laws.iter().filter(meets);
    let (law, p) = possible.next().filter(|_| possible.next().is_none())?;
    let near = exponent.low >= p - NEAR && exponent.high <= p + NEAR;
    // Constant is what was found above; a small power is none.
    (near && *law != Law::Constant).then_some(*law)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [f64; 5] = [1e6, 2e6, 4e6, 8e6, 1e7];

    /// Six rounds a size that lie up to `noise` around the cost.
    fn of(cost: impl Fn(f64) -> f64, noise: f64) -> Growth {
        let round = |size: f64, at: i32| cost(size) * (1.0 + noise * f64::from(at - 3) / 3.0);
        let level = |size: &f64| (*size, (0..6).map(|at| round(*size, at)).collect());
        growth(&SIZES.iter().map(level).collect::<Vec<_>>()).expect("enough values")
    }

    #[test]
    fn a_law_is_named_where_no_other_is_left() {
        assert_eq!(of(|_| 80.0, 0.02).law, Some(Law::Constant));
        assert_eq!(of(f64::sqrt, 0.02).law, Some(Law::SquareRoot));
        assert_eq!(of(|n| n / 5.0, 0.02).law, Some(Law::Linear));
        assert_eq!(of(|n| n.powf(1.01), 0.0).law, Some(Law::Linear), "2 % over all sizes");
        assert_eq!(of(|n| n * n.ln(), 0.02).law, Some(Law::LogLinear));
        assert_eq!(of(|n| n * n, 0.02).law, Some(Law::Quadratic));
    }

    #[test]
    fn no_law_is_named_where_several_are_left_or_none_is_near() {
        // Noise that holds n and n log n.
        let rough = of(|n| n / 5.0, 0.3);
        assert_eq!(rough.law, None, "{rough:?}");
        assert_eq!(of(f64::ln, 0.01).law, None, "a small power grows as the logarithm does");
        assert_eq!(of(|n| n.powf(0.75), 0.02).law, None);
        assert_eq!(of(|n| n.powf(0.05), 0.001).law, None, "12 % over all sizes");
    }

    #[test]
    fn the_exponent_is_that_of_scipy() {
        // theilslopes(-log(rate), log(size), method="joint"), scipy 1.17: inserts of 2010.
        let rates = [32_210.0, 29_540.0, 27_160.0, 22_100.0, 20_530.0, 20_530.0];
        let sizes = [1e6, 2e6, 4e6, 8e6, 1e7, 1e7];
        let levels: Vec<_> =
            sizes.iter().zip(rates).map(|(size, rate)| (*size, vec![1.0 / rate])).collect();
        let found = growth(&levels).expect("six values").exponent;
        assert!((found.estimate - 0.217_694_721_744_188_4).abs() < 1e-9, "{found:?}");
        assert!((found.low - 0.123_012_590_569_041_55).abs() < 1e-9, "{found:?}");
        assert!((found.high - 0.330_237_540_179_238_34).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn few_values_have_no_exponent() {
        assert_eq!(growth(&[(10.0, vec![1.0; 9]), (20.0, vec![2.0; 9])]), None, "two sizes");
        let three = [10.0, 20.0, 40.0].map(|size| (size, vec![size]));
        assert_eq!(growth(&three), None, "three values");
    }
}
