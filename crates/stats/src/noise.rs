//! The A/A noise floor: how far two copies of one version seem apart (section 3.3).

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::descriptive::quantile;
use super::rank::hodges_lehmann_estimate;
use super::ratio::percent;

/// Fewer rounds give no noise floor, and only the table of floors applies (`--quick` has 6). A
/// bootstrap of so few repeats each too often to show the tail.
pub const MIN_ROUNDS: usize = 10;
/// Per A/A comparison.
const RESAMPLES: usize = 2_000;

/// 95th percentile of |estimate| in percent, over bootstrap resamples of the rounds.
///
/// `same_version` holds, for each A/A comparison of one metric, its per-round log ratios (see
/// [`super::comparison::log_ratios`]). Comparisons with fewer than ten rounds are left out; None
/// when none remains. The same seed gives the same floor.
pub fn noise_floor_percent(same_version: &[Vec<f64>], seed: u64) -> Option<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut sizes = Vec::with_capacity(RESAMPLES * same_version.len());
    for rounds in same_version.iter().filter(|rounds| rounds.len() >= MIN_ROUNDS) {
        let mut resample = vec![0.0; rounds.len()];
        for _ in 0..RESAMPLES {
            for slot in &mut resample {
                *slot = rounds[below(&mut random, rounds.len())];
            }
            sizes.extend(hodges_lehmann_estimate(&resample).map(|d| percent(d).abs()));
        }
    }
    quantile(&sizes, 0.95)
}

/// A uniform index below `limit` by multiplication; the bias is limit / 2^64.
pub(super) fn below(random: &mut ChaCha8Rng, limit: usize) -> usize {
    ((u128::from(random.next_u64()) * limit as u128) >> 64) as usize
}
