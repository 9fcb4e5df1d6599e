//! When a round has laps enough (methodology 2.7 c).

/// Laps whose mean counts as one value. Neighbouring laps resemble each other; batches of five do
/// so less. Rejected: a correction by the lag-1 correlation, which 40 laps know to 0.16 only.
pub const BATCH_LAPS: usize = 5;

/// Standard error of a round's mean log ratio by batch means, from the log ratios of its laps in
/// their order; None with fewer than two batches.
#[must_use]
pub fn standard_error(log_ratios: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let batches: Vec<f64> = log_ratios.chunks_exact(BATCH_LAPS).map(mean).collect();
    let degrees = batches.len().checked_sub(1).filter(|it| *it > 0)? as f64;
    let centre = mean(&batches);
    let squares: f64 = batches.iter().map(|batch| (batch - centre).powi(2)).sum();
    Some((squares / degrees / batches.len() as f64).sqrt())
}

/// The largest standard error of an arm against the baseline, from their rates lap by lap. Laps in
/// which one of the two has no rate do not count. None where nothing can be compared.
#[must_use]
pub fn largest_error<'a>(
    baseline: &[f64],
    others: impl IntoIterator<Item = &'a [f64]>,
) -> Option<f64> {
    let error = |other: &[f64]| {
        let pairs =
            baseline.iter().zip(other).filter(|(base, other)| **base > 0.0 && **other > 0.0);
        standard_error(&pairs.map(|(base, other)| (other / base).ln()).collect::<Vec<_>>())
    };
    others.into_iter().filter_map(error).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng as _, SeedableRng as _};

    use super::*;

    /// Values around 0 with a standard deviation of 1, each after the last with this correlation.
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
            // What batches of five still miss at 0.5 is an eighth.
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
        assert!((found - 1.2_f64.ln() / 2.0 / 7.0_f64.sqrt()).abs() < 1e-9, "{found}");
    }
}
