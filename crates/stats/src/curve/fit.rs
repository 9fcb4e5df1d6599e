//! Least squares of `a + b g(u)` on block medians whose noise is autocorrelated.

use crate::descriptive::Interval;
use crate::special::student_t_point;

/// Two-sided.
const ALPHA: f64 = 0.05;
/// Least effective number of blocks. Fewer leave no degree of freedom for an interval of the
/// exponent. A saturated queue, whose noise is a random walk, would have two.
const EFFECTIVE_MIN: f64 = 5.0;
/// In steps of 0.05; beyond them no class is near.
const EXPONENTS: std::ops::RangeInclusive<i32> = -20..=60;
const EXPONENT_STEP: f64 = 0.05;

/// Rates k at which a rival of the logarithm comes to rest. A slower one is nearly a line, a
/// quicker one is at rest for most of the run.
const REST_RATES: std::ops::RangeInclusive<i32> = 1..=16;

/// A named shape, and when an exponent's interval excludes the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    exponent: f64,
    name: &'static str,
    /// The named shapes on both sides: the interval must lie between them.
    others: (f64, f64),
    /// The estimate must lie nearer to this shape than to them. Between powers the border is the
    /// geometric mean, else it lies half way.
    near: (f64, f64),
}

impl Shape {
    /// Others: the square root and the parabola.
    pub const LINE: Self =
        Self { exponent: 1.0, name: "straight line", others: (0.5, 2.0), near: (0.7, 1.4) };
    /// Others: the square root and, on the other side, 1/root, which comes to rest.
    pub const LOG: Self =
        Self { exponent: 0.0, name: "logarithm", others: (-0.5, 0.5), near: (-0.25, 0.25) };

    pub fn name(self) -> &'static str {
        self.name
    }

    pub fn alone_fits(self, exponent: Interval) -> bool {
        let (least, most) = self.near;
        let (below, above) = self.others;
        (least..=most).contains(&exponent.estimate)
            && exponent.low >= below
            && exponent.high <= above
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Fit {
    /// Sum of squares left over.
    pub unexplained: f64,
    /// Sum of squares about the mean.
    total: f64,
    /// b, of g(u) with u from 0 to 1.
    slope: f64,
    /// Sum of squares of g about its mean, and g's way from the first block to the last.
    g_squares: f64,
    g_range: f64,
    /// Effective number of blocks.
    effective: f64,
}

impl Fit {
    /// Fits a shape to medians at message numbers (counted from 1); None with fewer than three.
    pub fn of(shape: Shape, numbers: &[f64], medians: &[f64]) -> Option<Self> {
        Self::power(shape.exponent, numbers, medians)
    }

    /// (u^p - 1)/p, which goes over into ln u at p = 0 (Box and Cox 1964).
    fn power(exponent: f64, numbers: &[f64], medians: &[f64]) -> Option<Self> {
        Self::by(numbers, medians, |u| {
            if exponent == 0.0 { u.ln() } else { (u.powf(exponent) - 1.0) / exponent }
        })
    }

    fn by(numbers: &[f64], medians: &[f64], g: impl Fn(f64) -> f64) -> Option<Self> {
        let count = numbers.len() as f64;
        let last = numbers.last().filter(|_| numbers.len() > 2)?;
        let g: Vec<f64> = numbers.iter().map(|number| g(number / last)).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
        let (g_mean, y_mean) = (mean(&g), mean(medians));
        let squares = |values: &[f64], mean: f64| values.iter().map(|v| (v - mean).powi(2)).sum();
        let (g_squares, total): (f64, f64) = (squares(&g, g_mean), squares(medians, y_mean));
        let products = g.iter().zip(medians).map(|(g, y)| (g - g_mean) * (y - y_mean));
        let slope = products.sum::<f64>() / g_squares;
        let residuals: Vec<f64> =
            g.iter().zip(medians).map(|(g, y)| y - y_mean - slope * (g - g_mean)).collect();
        let unexplained = residuals.iter().map(|it| it * it).sum();
        let g_range = g[g.len() - 1] - g[0];
        let effective = effective(&residuals, unexplained);
        Some(Self { unexplained, total, slope, g_squares, g_range, effective })
    }

    /// R², None where nothing varies.
    pub fn explained(&self) -> Option<f64> {
        (self.total > 0.0).then(|| 1.0 - self.unexplained / self.total)
    }

    /// b with its interval: s² = unexplained/(effective - 2). The effective number of blocks
    /// replaces their number (Santer and others 2000, 2008).
    pub fn coefficient(&self) -> Interval {
        let degrees = self.effective - 2.0;
        let error = (self.unexplained / degrees / self.g_squares).sqrt();
        let away = student_t_point(ALPHA, degrees) * error;
        Interval { estimate: self.slope, low: self.slope - away, high: self.slope + away }
    }

    /// A shape that leaves more over is excluded: unexplained (1 + t²/degrees). It is the profile
    /// of the sum of squares; degrees are the effective number of blocks less three parameters.
    fn most_unexplained(&self) -> f64 {
        let degrees = self.effective - 3.0;
        self.unexplained * (1.0 + student_t_point(ALPHA, degrees).powi(2) / degrees)
    }

    /// From the first block to the last, us.
    pub fn growth(&self) -> Interval {
        self.coefficient().times(self.g_range)
    }
}

/// True if a curve that comes to rest, `1 - exp(-k u)`, cannot be excluded beside this fit.
///
/// No power is such a rival of the logarithm. A queue that fills a window and then stays full looks
/// like it.
pub fn comes_to_rest(fit: &Fit, numbers: &[f64], medians: &[f64]) -> bool {
    REST_RATES
        .filter_map(|k| Fit::by(numbers, medians, |u| 1.0 - (-f64::from(k) * u).exp()))
        .any(|rival| rival.unexplained <= fit.most_unexplained())
}

/// Effective number of blocks: B (1 - r)/(1 + r), r the residuals' correlation with their
/// successors. Corrected: in the residuals of a trend r is (2 + 4r)/B too low (Kendall 1954;
/// Marriott and Pope 1954).
fn effective(residuals: &[f64], squares: f64) -> f64 {
    let count = residuals.len() as f64;
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let seen = if squares > 0.0 { products / squares } else { 0.0 };
    let r = ((seen + 2.0 / count) / (1.0 - 4.0 / count)).clamp(0.0, 1.0);
    (count * (1.0 - r) / (1.0 + r)).max(EFFECTIVE_MIN)
}

/// The exponent that fits best. Its interval holds those that fit hardly worse
/// ([`Fit::most_unexplained`]), and ends at the first exponents that are excluded.
pub fn exponent(numbers: &[f64], medians: &[f64]) -> Option<Interval> {
    let value = |step: i32| f64::from(step) * EXPONENT_STEP;
    let tried: Vec<(i32, Fit)> = EXPONENTS
        .filter_map(|step| Some((step, Fit::power(value(step), numbers, medians)?)))
        .collect();
    let (best_step, best) =
        tried.iter().min_by(|(_, a), (_, b)| a.unexplained.total_cmp(&b.unexplained))?;
    let most = best.most_unexplained();
    let fitting = || tried.iter().filter(|(_, fit)| fit.unexplained <= most).map(|(at, _)| *at);
    let (low, high) = (fitting().min()?, fitting().max()?);
    Some(Interval {
        estimate: value(*best_step),
        low: value((low - 1).max(*EXPONENTS.start())),
        high: value((high + 1).min(*EXPONENTS.end())),
    })
}
