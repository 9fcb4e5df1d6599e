//! Signed ranks: the Hodges-Lehmann estimate, its exact interval and the Wilcoxon p-value.
//!
//! Section 3.2. The interval's rank is that of R's `wilcox.test`. Pragmastat's is one too narrow at
//! small n and misses more often than asked. Reference: `data/rank_cusum_reference.py`.

use super::special::normal_cdf;

/// For more pairs a normal curve takes the place of the counted null distribution.
pub const EXACT_MAX_PAIRS: usize = 50;

/// The Hodges-Lehmann estimate with its distribution-free interval, in the unit of the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HodgesLehmann {
    /// Median of the Walsh averages.
    pub estimate: f64,
    /// Minus infinity when there are too few values for any interval.
    pub low: f64,
    /// Plus infinity when there are too few values for any interval.
    pub high: f64,
    /// Achieved (0 to 1): at least the one asked for; 1 for the infinite interval.
    pub level: f64,
    /// Rank of the bounds among the sorted Walsh averages; 0 for the infinite interval.
    pub rank: usize,
}

/// How many of the 2^n sign patterns of n untied pairs give each rank sum. Panics above
/// [`EXACT_MAX_PAIRS`]: the counts would soon overflow.
pub fn signed_rank_counts(pairs: usize) -> Vec<u64> {
    assert!(pairs <= EXACT_MAX_PAIRS, "exact counts are for at most {EXACT_MAX_PAIRS} pairs");
    subset_sum_counts(&(1..=pairs).collect::<Vec<_>>())
}

/// Number of subsets of `weights` that have each sum.
fn subset_sum_counts(weights: &[usize]) -> Vec<u64> {
    let mut counts = vec![0; weights.iter().sum::<usize>() + 1];
    counts[0] = 1;
    let mut reached = 0;
    for &weight in weights {
        reached += weight;
        for sum in (weight..=reached).rev() {
            counts[sum] += counts[sum - weight];
        }
    }
    counts
}

/// Rank of the interval's bounds for a total error `alpha`, and the level achieved.
///
/// The rank is the largest r with 2 P(T+ <= r - 1) <= alpha. (0, 1.0) means that no finite interval
/// of this level exists.
pub fn interval_rank(pairs: usize, alpha: f64) -> (usize, f64) {
    if pairs > EXACT_MAX_PAIRS {
        return interval_rank_normal(pairs, alpha);
    }
    let patterns = (1_u64 << pairs) as f64;
    let (mut rank, mut below) = (0, 0_u64);
    for count in signed_rank_counts(pairs) {
        if 2.0 * (below + count) as f64 > alpha * patterns {
            break;
        }
        below += count;
        rank += 1;
    }
    (rank, 1.0 - 2.0 * below as f64 / patterns)
}

/// With a normal curve and continuity correction.
fn interval_rank_normal(pairs: usize, alpha: f64) -> (usize, f64) {
    let n = pairs as f64;
    let mean = n * (n + 1.0) / 4.0;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let error = |rank: usize| 2.0 * normal_cdf((rank as f64 - 0.5 - mean) / deviation);
    // The error grows with the rank: bisect for the last one that is small enough.
    let (mut fits, mut exceeds) = (0, pairs * (pairs + 1) / 4 + 1);
    while exceeds - fits > 1 {
        let middle = usize::midpoint(fits, exceeds);
        if error(middle) <= alpha {
            fits = middle;
        } else {
            exceeds = middle;
        }
    }
    if fits == 0 { (0, 1.0) } else { (fits, 1.0 - error(fits)) }
}

/// The centre of `values`, with total error `alpha`. None without values. NaN must not occur.
pub fn hodges_lehmann(values: &[f64], alpha: f64) -> Option<HodgesLehmann> {
    if values.is_empty() {
        return None;
    }
    let mut walsh = walsh_averages(values);
    walsh.sort_unstable_by(f64::total_cmp);
    let pairs = walsh.len();
    let estimate = f64::midpoint(walsh[(pairs - 1) / 2], walsh[pairs / 2]);
    let (rank, level) = interval_rank(values.len(), alpha);
    let (low, high) = if rank == 0 {
        (f64::NEG_INFINITY, f64::INFINITY)
    } else {
        (walsh[rank - 1], walsh[pairs - rank])
    };
    Some(HodgesLehmann { estimate, low, high, level, rank })
}

/// The estimate alone; faster, for the bootstrap. None without values.
pub fn hodges_lehmann_estimate(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let mut walsh = walsh_averages(values);
    let middle = walsh.len() / 2;
    let even = walsh.len().is_multiple_of(2);
    let (below, &mut upper, _) = walsh.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = if even { below.iter().copied().fold(f64::NEG_INFINITY, f64::max) } else { upper };
    Some(f64::midpoint(lower, upper))
}

fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut walsh = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (i, &a) in values.iter().enumerate() {
        walsh.extend(values[i..].iter().map(|&b| f64::midpoint(a, b)));
    }
    walsh
}

/// Two-sided p-value of the Wilcoxon signed-rank test that the centre is 0; 1 without values.
///
/// Zeros are dropped and ties share mid-ranks. Exact up to 50 pairs (the distribution of the ranks
/// as they are, ties included), normal with continuity correction beyond.
pub fn signed_rank_p(differences: &[f64]) -> f64 {
    let nonzero: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
    if nonzero.is_empty() {
        return 1.0;
    }
    let sizes: Vec<f64> = nonzero.iter().map(|d| d.abs()).collect();
    let ranks = doubled_ranks(&sizes);
    let positive: usize =
        ranks.iter().zip(&nonzero).filter(|&(_, &d)| d > 0.0).map(|(&rank, _)| rank).sum();
    if nonzero.len() > EXACT_MAX_PAIRS {
        let mean = ranks.iter().sum::<usize>() as f64 / 2.0;
        let variance = ranks.iter().map(|&rank| (rank as f64).powi(2)).sum::<f64>() / 4.0;
        // Doubled ranks: the continuity correction of one half doubles as well.
        let distance = ((positive as f64 - mean).abs() - 1.0).max(0.0);
        return (2.0 * normal_cdf(-distance / variance.sqrt())).min(1.0);
    }
    let counts = subset_sum_counts(&ranks);
    let at_most: u64 = counts[..=positive].iter().sum();
    let at_least: u64 = counts[positive..].iter().sum();
    (2.0 * at_most.min(at_least) as f64 / (1_u64 << nonzero.len()) as f64).min(1.0)
}

/// Mid-ranks times two, so that ties stay whole numbers: 2, 4, 6 ... without ties.
#[expect(clippy::float_cmp, reason = "ties are exactly equal values")]
pub fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|&i, &j| values[i] == values[j]) {
        let last = first + group.len() - 1;
        for &index in group {
            ranks[index] = first + last + 2;
        }
        first = last + 1;
    }
    ranks
}
