//! Theil-Sen: a trend that outliers do not move, with Sen's interval (section 8.2).

const Z_95: f64 = 1.959_963_984_540_054;

/// Slope of a cloud of points, in units of y per unit of x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// Median of the slopes of all pairs of points with different x.
    pub slope: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
}

/// None where fewer than three points or no two x differ.
///
/// Theil 1950. The interval is Sen's (1968), by the variance of Kendall's S with ties in x and y,
/// as in `scipy.stats.theilslopes`. It takes the points for independent. Successive operations of a
/// queue are not. There it is too narrow, and the caller must ask for more than that 0 lies
/// outside. Takes n²/2 slopes of memory: give it a bounded subsample.
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Slope> {
    if points.len() < 3 {
        return None;
    }
    let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
    for (at, (x, y)) in points.iter().enumerate() {
        let later = points[at + 1..].iter().filter(|(other, _)| other.total_cmp(x).is_ne());
        slopes.extend(later.map(|(x2, y2)| (y2 - y) / (x2 - x)));
    }
    let pairs = slopes.len();
    if pairs == 0 {
        return None;
    }
    let values = |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).collect::<Vec<_>>();
    let variance = s_variance(&[values(|point| point.0), values(|point| point.1)]);
    // Half of the number of ranks, and the distance of the bounds' ranks from it.
    let (middle, away) = (pairs as f64 / 2.0, Z_95 * variance.sqrt() / 2.0);
    let low = ((middle - away).round() - 1.0).max(0.0) as usize;
    let high = ((middle + away).round() as usize).min(pairs - 1);
    let mut at = |rank: usize| *slopes.select_nth_unstable_by(rank, f64::total_cmp).1;
    let slope = f64::midpoint(at((pairs - 1) / 2), at(pairs / 2));
    Some(Slope { slope, low: at(low), high: at(high) })
}

/// Variance of Kendall's S of n values, less the share of the ties in each column.
pub(super) fn s_variance(columns: &[Vec<f64>]) -> f64 {
    let term = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let ties: f64 = columns.iter().flat_map(|column| tie_sizes(column)).map(term).sum();
    let count = columns.first().map_or(0, Vec::len) as f64;
    ((term(count) - ties) / 18.0).max(0.0)
}

/// Number of values that share each value that occurs more than once.
pub(super) fn tie_sizes(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let runs = sorted.chunk_by(|a, b| a.total_cmp(b).is_eq());
    runs.map(|run| run.len() as f64).filter(|size| *size > 1.0).collect()
}
