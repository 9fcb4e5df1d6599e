//! When a round has enough laps (methodology 2.7 c).

/// Laps whose mean counts as one value. Neighbouring laps resemble each other; batches of five do
/// so less. Rejected: a correction by the lag-1 correlation, which 40 laps know to 0.16 only.
pub const BATCH_LAPS: usize = 5;

/// Standard error of the mean of values in the order of laps, by batch means. None with fewer than
/// two batches.
pub fn standard_error(laps: &[f64]) -> Option<f64> {
    let batches: Vec<f64> = laps.chunks_exact(BATCH_LAPS).map(mean).collect();
    let degrees = batches.len().checked_sub(1).filter(|it| *it > 0)? as f64;
    let centre = mean(&batches);
    let squares: f64 = batches.iter().map(|batch| (batch - centre).powi(2)).sum();
    Some((squares / degrees / batches.len() as f64).sqrt())
}

/// The largest standard error among the arms' log ratios to the baseline, from their rates by lap.
/// None where nothing can be compared.
///
/// A lap's value is the difference of the two rates, each relative to its mean. To first order
/// that is its share in the log ratio of the totals. Rejected: the log ratio of each lap. There a
/// single stalled turn outweighs all others; in the totals it does not.
pub fn largest_error<'a>(
    baseline: &[f64],
    others: impl IntoIterator<Item = &'a [f64]>,
) -> Option<f64> {
    let error = |other: &[f64]| {
        let (base_mean, other_mean) = (mean(baseline), mean(other));
        let lap = |(base, other): (&f64, &f64)| other / other_mean - base / base_mean;
        let laps: Vec<f64> = baseline.iter().zip(other).map(lap).collect();
        standard_error(&laps).filter(|error| error.is_finite())
    };
    others.into_iter().filter_map(error).reduce(f64::max)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng as _, SeedableRng as _};

    use super::*;

    /// Standard deviation 1 around 0; each value has this correlation with the last.
    fn draws(random: &mut ChaCha8Rng, count: usize, correlation: f64) -> Vec<f64> {
        let mut last = 0.0;
        let mut normal = || -> f64 {
            let mut uniform = || random.next_u64() as f64 / u64::MAX as f64;
            (0..12).map(|_| uniform()).sum::<f64>() - 6.0
        };
        let fresh = (1.0 - correlation * correlation).sqrt();
        let draw = |_| {
            last = correlation * last + fresh * normal();
            last
        };
        (0..count).map(draw).collect()
    }

    #[test]
    fn without_scatter_there_is_no_error() {
        assert_eq!(standard_error(&[0.5; 40]), Some(0.0));
        assert_eq!(standard_error(&[0.5; 9]), None, "one batch says nothing");
        assert_eq!(largest_error(&[1.0; 40], []), None);
        let slower = [2.0; 40];
        assert_eq!(largest_error(&[1.0; 40], [&slower[..], &[0.0; 40]]), Some(0.0));
    }

    #[test]
    fn the_error_is_that_of_the_mean_though_neighbours_resemble_each_other() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        for correlation in [0.0, 0.3, 0.5] {
            let (mut squares, mut estimated) = (0.0, 0.0);
            for _ in 0..2000 {
                let laps = draws(&mut random, 80, correlation);
                squares += (laps.iter().sum::<f64>() / 80.0).powi(2);
                estimated += standard_error(&laps).expect("laps").powi(2);
            }
            // Batches of five still miss an eighth at 0.5.
            let ratio = (estimated / squares).sqrt();
            assert!((0.82..1.05).contains(&ratio), "{correlation}: {ratio}");
        }
    }

    #[test]
    fn the_noisiest_arm_decides() {
        let base = vec![100.0; 40];
        let quiet: Vec<f64> = (0..40).map(|lap| 100.0 + f64::from(lap % 2)).collect();
        let noisy: Vec<f64> = (0..40).map(|lap| 100.0 + f64::from(lap / 5 % 2) * 20.0).collect();
        let found = largest_error(&base, [&quiet[..], &noisy[..]]).expect("arms");
        assert!((found - 10.0 / 110.0 / 7.0_f64.sqrt()).abs() < 1e-9, "{found}");
    }

    #[test]
    fn a_stalled_turn_counts_as_much_as_it_does_in_the_totals() {
        let base = vec![1000.0; 100];
        let mut stalled = base.clone();
        stalled[7] = 1.0;
        let found = largest_error(&base, [&stalled[..]]).expect("arms");
        // The totals differ by 1 %, and that is all there is.
        assert!((found - 0.01).abs() < 5e-4, "{found}");
    }
}
