//! Signed ranks: the Hodges-Lehmann estimate, its exact interval and the Wilcoxon p-value.
//!
//! Section 3.2. The interval's rank is that of R's `wilcox.test`. Pragmastat's is one too narrow at
//! small n and misses more often than asked. Reference values: `tests/data/ranks.json`.

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

/// The same, by the normal approximation with continuity correction.
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
    let walsh = Walsh::new(values);
    let pairs = walsh.len();
    let estimate = walsh.median();
    let (rank, level) = interval_rank(values.len(), alpha);
    let (low, high) = if rank == 0 {
        (f64::NEG_INFINITY, f64::INFINITY)
    } else {
        (walsh.at(rank - 1), walsh.at(pairs - rank))
    };
    Some(HodgesLehmann { estimate, low, high, level, rank })
}

/// The estimate alone; faster, for the bootstrap. None without values.
pub fn hodges_lehmann_estimate(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    if values.len() > DIRECT_MAX {
        return Some(Walsh::new(values).median());
    }
    let mut walsh = walsh_averages(values);
    let middle = walsh.len() / 2;
    let even = walsh.len().is_multiple_of(2);
    let (below, &mut upper, _) = walsh.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = if even { below.iter().copied().fold(f64::NEG_INFINITY, f64::max) } else { upper };
    Some(f64::midpoint(lower, upper))
}

/// Largest number of values whose averages are made, which is quicker; for more they are counted.
const DIRECT_MAX: usize = 100;

/// The Walsh averages of all pairs, by their rank from 0.
struct Walsh {
    /// All averages of few values, else the values; sorted.
    sorted: Vec<f64>,
    values: usize,
}

impl Walsh {
    fn new(values: &[f64]) -> Self {
        let few = values.len() <= DIRECT_MAX;
        let mut sorted = if few { walsh_averages(values) } else { values.to_vec() };
        sorted.sort_unstable_by(f64::total_cmp);
        Self { sorted, values: values.len() }
    }

    fn len(&self) -> usize {
        self.values * (self.values + 1) / 2
    }

    fn median(&self) -> f64 {
        f64::midpoint(self.at((self.len() - 1) / 2), self.at(self.len() / 2))
    }

    /// The smallest number that more than `rank` averages do not exceed, found among all numbers
    /// in their order. A square of many values is never made.
    fn at(&self, rank: usize) -> f64 {
        if self.values <= DIRECT_MAX {
            return self.sorted[rank];
        }
        let ends = [self.sorted[0], self.sorted[self.values - 1]].map(ordinal);
        let [mut low, mut high] = ends;
        while low < high {
            let middle = (i128::from(low) + i128::from(high)).div_euclid(2) as i64;
            if self.up_to(number(middle)) > rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        number(low) + 0.0 // no negative zero
    }

    /// How many averages are not above `most`.
    fn up_to(&self, most: f64) -> usize {
        let (mut count, mut end) = (0, self.values);
        for (i, &a) in self.sorted.iter().enumerate() {
            while end > i && f64::midpoint(a, self.sorted[end - 1]) > most {
                end -= 1;
            }
            if end == i {
                break;
            }
            count += end - i;
        }
        count
    }
}

/// Numbers in the order of these.
fn ordinal(number: f64) -> i64 {
    let bits = number.to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

fn number(ordinal: i64) -> f64 {
    let bits = ordinal ^ ((ordinal >> 63).cast_unsigned() >> 1).cast_signed();
    f64::from_bits(bits.cast_unsigned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_averages_are_counted_as_they_would_be_sorted() {
        // Ties, both signs, other magnitudes.
        let value = |i: u64| {
            ((i * 7919 % 1009) as f64 - 504.0) / if i.is_multiple_of(3) { 7.0 } else { 1e6 }
        };
        let values: Vec<f64> = (0..301).map(value).collect();
        let mut averages = walsh_averages(&values);
        averages.sort_unstable_by(f64::total_cmp);
        let walsh = Walsh::new(&values);
        assert_eq!(walsh.len(), averages.len());
        for rank in (0..averages.len()).step_by(97).chain([averages.len() - 1]) {
            assert_eq!(walsh.at(rank).to_bits(), averages[rank].to_bits(), "{rank}");
        }
    }

    /// All averages of these would take 40 GB.
    #[test]
    fn a_hundred_thousand_values_take_no_square() {
        let values: Vec<f64> = (0..100_001).map(f64::from).collect();
        let found = hodges_lehmann(&values, 0.05).expect("values");
        assert!((found.estimate - 50_000.0).abs() < 1e-9, "{found:?}");
        assert!(found.low < 50_000.0 && found.high > 50_000.0, "{found:?}");
    }
}
