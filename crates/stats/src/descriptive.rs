//! Medians, spread and outliers. Outliers are counted and named, never dropped (section 3.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Distance from the median, in median absolute deviations, beyond which a run is an outlier. The
/// limit is hyperfine's: 10 normal standard deviations.
pub const MAD_THRESHOLD: f64 = 14.826;

/// An estimate with its interval, all in the unit of the field that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// In another unit, or turned round by a negative factor.
    pub fn times(self, factor: f64) -> Self {
        let (a, b) = (self.low * factor, self.high * factor);
        Self { estimate: self.estimate * factor, low: a.min(b), high: a.max(b) }
    }
}

/// The median over a handful of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverRounds {
    /// Rounds that had a value.
    pub rounds: usize,
    /// Their median, between two of their values.
    pub median: Interval,
    /// Share of such intervals that hold the true median, 0 to 1: at least 0.95 from six rounds on.
    pub level: f64,
}

/// Level from which an interval decides: five rounds have 0.9375, four 0.875.
const SURE_LEVEL: f64 = 0.9;

impl OverRounds {
    /// Whether its interval is of enough rounds to say that something is shown.
    pub fn is_sure(&self) -> bool {
        self.level >= SURE_LEVEL
    }

    /// Ratio to the median of an experiment with other rounds: as wide as both intervals allow.
    /// None where that one may be zero.
    pub fn over(self, base: Self) -> Option<Interval> {
        let (rate, base) = (self.median, base.median);
        (base.low > 0.0).then(|| Interval {
            estimate: rate.estimate / base.estimate,
            low: rate.low / base.high,
            high: rate.high / base.low,
        })
    }
}

/// The median over rounds with its order-statistic interval. It is of 95 % from six rounds on, else
/// as wide as the values (five: 93.75 %).
///
/// None with fewer than two values. So few rounds give no better level, and no interval at all
/// would hide what five rounds do show.
pub fn over_rounds(values: &[f64]) -> Option<OverRounds> {
    let estimate = median(values)?;
    // Error of the interval from the smallest to the largest: all values on one side.
    let widest = 2.0 * 0.5_f64.powi(i32::try_from(values.len()).ok()?);
    let (low, high, level) = median_interval(values, widest.max(0.05))?;
    Some(OverRounds { rounds: values.len(), median: Interval { estimate, low, high }, level })
}

/// The middle value, or the mean of the two middle ones. None without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n.is_multiple_of(2) => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        _ => Some(sorted[middle]),
    }
}

/// Unscaled. None without values.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    median(&values.iter().map(|v| (v - centre).abs()).collect::<Vec<_>>())
}

/// The quantile `q` (0 to 1) with linear interpolation between order statistics (R's type 7).
/// None without values.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    quantile_of_sorted(&sorted(values), q)
}

fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let position = q.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (position.floor() as usize, position.ceil() as usize);
    Some(sorted[below] + (sorted[above] - sorted[below]) * position.fract())
}

/// Outlying runs, by three rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Outliers {
    pub runs: usize,
    /// Further than 14.826 median absolute deviations from the median.
    pub far_from_median: usize,
    /// Beyond 1.5 interquartile ranges from the quartiles, the severe ones included.
    pub tukey_mild: usize,
    /// Beyond 3 interquartile ranges from the quartiles.
    pub tukey_severe: usize,
}

impl Outliers {
    /// Counts the outliers among one value per run, in any unit.
    pub fn count(values: &[f64]) -> Self {
        let sorted = sorted(values);
        let (Some(q1), Some(q3)) =
            (quantile_of_sorted(&sorted, 0.25), quantile_of_sorted(&sorted, 0.75))
        else {
            return Self::default();
        };
        let outside = |ranges: f64| {
            let fence = ranges * (q3 - q1);
            values.iter().filter(|&&v| v < q1 - fence || v > q3 + fence).count()
        };
        Self {
            runs: values.len(),
            far_from_median: deviations(values).filter(|d| d.abs() > MAD_THRESHOLD).count(),
            tukey_mild: outside(1.5),
            tukey_severe: outside(3.0),
        }
    }

    /// More than 10 % of the runs are far from the median. Mild Tukey outliers do not count: among
    /// ten healthy runs one or two are usual.
    pub fn many(&self) -> bool {
        self.far_from_median.max(self.tukey_severe) * 10 > self.runs
    }
}

/// The first run is an outlier towards the slow side (values: time, larger is slower).
pub fn first_run_slow(times: &[f64]) -> bool {
    deviations(times).next().is_some_and(|deviation| deviation > MAD_THRESHOLD)
}

/// Distances from the median in median absolute deviations.
fn deviations(values: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let centre = median(values).unwrap_or(0.0);
    let spread = median_absolute_deviation(values).unwrap_or(0.0);
    // Hyperfine's rule: if more than half the runs are equal, any other value is far away.
    let spread = spread.max(f64::EPSILON * centre.abs()).max(f64::MIN_POSITIVE);
    values.iter().map(move |v| (v - centre) / spread)
}

/// Exact order-statistic interval of the median as (low, high, achieved level).
///
/// None when no interval of this level exists: 95 % needs 6 values, 99 % needs 8. As benchstat
/// (golang/perf `benchmath`), but with the achieved level.
pub fn median_interval(values: &[f64], alpha: f64) -> Option<(f64, f64, f64)> {
    let n = values.len();
    let mut below = 0.0;
    let mut rank = 0;
    // P(X = k) of Binomial(n, 1/2), by the recurrence from k = 0; underflows beyond 1 000 values.
    let mut term = 0.5_f64.powi(i32::try_from(n.min(1_000)).ok()?);
    while rank < n / 2 && 2.0 * (below + term) <= alpha {
        below += term;
        term *= (n - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    if rank == 0 || n > 1_000 {
        return None;
    }
    let sorted = sorted(values);
    Some((sorted[rank - 1], sorted[n - rank], 1.0 - 2.0 * below))
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}
