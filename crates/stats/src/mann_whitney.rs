//! Mann-Whitney: two samples that were not measured in pairs (imported, other sessions).

use super::rank::doubled_ranks;
use super::special::normal_cdf;

/// Up to this many values in both samples together the distribution is counted exactly.
pub const EXACT_MAX_VALUES: usize = 100;

/// The result of a Mann-Whitney test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// Number of pairs with x > y; ties count one half.
    pub u: f64,
    /// P(U >= u) when both come from one distribution: small when x is larger.
    pub p_greater: f64,
    /// P(U <= u): small when x is smaller.
    pub p_less: f64,
    /// Twice the smaller of the two, at most 1.
    pub p_two_sided: f64,
    /// Counted (ties included) or, beyond 100 values, from a normal curve.
    pub exact: bool,
}

/// Tests whether `x` and `y` come from one distribution. None when either is empty.
#[must_use]
pub fn mann_whitney(x: &[f64], y: &[f64]) -> Option<MannWhitney> {
    if x.is_empty() || y.is_empty() {
        return None;
    }
    let both: Vec<f64> = x.iter().chain(y).copied().collect();
    let ranks = doubled_ranks(&both);
    let rank_sum: usize = ranks[..x.len()].iter().sum();
    let exact = both.len() <= EXACT_MAX_VALUES;
    let (p_less, p_greater) = if exact {
        let counts = rank_sum_counts(&ranks, x.len());
        let total: f64 = counts.iter().sum();
        // Summed on its own side: 1 - p would lose the digits of a very small p.
        let less: f64 = counts[..=rank_sum].iter().sum();
        let greater: f64 = counts[rank_sum..].iter().sum();
        (less / total, greater / total)
    } else {
        normal_tails(&ranks, x.len(), rank_sum)
    };
    Some(MannWhitney {
        u: rank_sum as f64 / 2.0 - (x.len() * (x.len() + 1)) as f64 / 2.0,
        p_greater,
        p_less,
        p_two_sided: (2.0 * p_less.min(p_greater)).min(1.0),
        exact,
    })
}

/// How many choices of `size` among `ranks` give each sum (as floats: 100 choose 50 is 1e29).
fn rank_sum_counts(ranks: &[usize], size: usize) -> Vec<f64> {
    let width = ranks.iter().sum::<usize>() + 1;
    let mut counts = vec![vec![0.0; width]; size + 1];
    counts[0][0] = 1.0;
    let mut reached = 0;
    for (seen, &rank) in ranks.iter().enumerate() {
        reached += rank;
        for chosen in (1..=size.min(seen + 1)).rev() {
            let (fewer, more) = counts.split_at_mut(chosen);
            let (from, into) = (&fewer[chosen - 1], &mut more[0]);
            for sum in rank..=reached {
                into[sum] += from[sum - rank];
            }
        }
    }
    counts.swap_remove(size)
}

/// P(R <= sum) and P(R >= sum) of a doubled rank sum, normal with ties and continuity correction.
fn normal_tails(ranks: &[usize], size: usize, rank_sum: usize) -> (f64, f64) {
    let (all, n) = (ranks.len() as f64, size as f64);
    let mean_rank = ranks.iter().sum::<usize>() as f64 / all;
    let spread = ranks.iter().map(|&rank| (rank as f64 - mean_rank).powi(2)).sum::<f64>();
    // Variance of a sum of n drawn without replacement from a finite population.
    let deviation = (n * (all - n) / (all * (all - 1.0)) * spread).sqrt();
    if deviation == 0.0 {
        return (1.0, 1.0);
    }
    let distance = rank_sum as f64 - n * mean_rank;
    (normal_cdf((distance + 1.0) / deviation), normal_cdf((1.0 - distance) / deviation))
}

/// Smallest equal sample size at which the two-sided test can reach `alpha` at all.
///
/// 4 for 5 %, 5 for 1 % (benchstat: "need >= 4 samples to detect a difference").
#[must_use]
pub fn samples_needed(alpha: f64) -> Option<usize> {
    let mut ways = 1.0;
    for n in 1..=200_u32 {
        // (2n choose n), from its predecessor.
        ways *= 2.0 * (2.0 * f64::from(n) - 1.0) / f64::from(n);
        if 2.0 / ways <= alpha {
            return Some(n as usize);
        }
    }
    None
}

/// The shift y - x: median of all differences with its exact interval (Hodges-Lehmann, Moses).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Median of all pairwise differences.
    pub estimate: f64,
    /// Lower bound; minus infinity when the samples are too small for any interval.
    pub low: f64,
    /// Upper bound; plus infinity when the samples are too small for any interval.
    pub high: f64,
    /// The level achieved (0 to 1); 1 for the infinite interval.
    pub level: f64,
}

/// Estimates the shift from `x` to `y` with total error `alpha`. None when either is empty.
#[must_use]
pub fn shift(x: &[f64], y: &[f64], alpha: f64) -> Option<Shift> {
    if x.is_empty() || y.is_empty() {
        return None;
    }
    let mut differences: Vec<f64> = y.iter().flat_map(|b| x.iter().map(move |a| b - a)).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let pairs = differences.len();
    let estimate = f64::midpoint(differences[(pairs - 1) / 2], differences[pairs / 2]);
    let (rank, level) = shift_rank(x.len(), y.len(), alpha);
    let (low, high) = if rank == 0 {
        (f64::NEG_INFINITY, f64::INFINITY)
    } else {
        (differences[rank - 1], differences[pairs - rank])
    };
    Some(Shift { estimate, low, high, level })
}

/// Largest r with 2 P(U <= r - 1) <= alpha, and the level achieved.
fn shift_rank(n: usize, m: usize, alpha: f64) -> (usize, f64) {
    let smallest = n * (n + 1) / 2;
    if n + m > EXACT_MAX_VALUES {
        let mean = (n * m) as f64 / 2.0;
        let deviation = ((n * m * (n + m + 1)) as f64 / 12.0).sqrt();
        let error = |rank: usize| 2.0 * normal_cdf((rank as f64 - 0.5 - mean) / deviation);
        let rank = (1..=n * m / 2).take_while(|&rank| error(rank) <= alpha).count();
        return if rank == 0 { (0, 1.0) } else { (rank, 1.0 - error(rank)) };
    }
    let counts = rank_sum_counts(&(1..=n + m).collect::<Vec<_>>(), n);
    let total: f64 = counts.iter().sum();
    let (mut rank, mut below) = (0, 0.0);
    for &count in &counts[smallest..] {
        if 2.0 * (below + count) > alpha * total {
            break;
        }
        below += count;
        rank += 1;
    }
    (rank, 1.0 - 2.0 * below / total)
}
