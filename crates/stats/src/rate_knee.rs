//! The knee of a sweep over rates: the highest rate that is still borne (section 5.1).

/// A rate counts as kept from this share of it on.
const KEPT_SHARE: f64 = 0.95;
/// Median response time at which operations wait as long as they are served.
const SLOWER_MAX: f64 = 2.0;

/// An open loop at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLevel {
    /// Asked for, operations a second.
    pub rate_per_s: f64,
    /// Done, operations a second.
    pub throughput_per_s: f64,
    /// Median response time.
    pub p50_us: f64,
}

/// Why a rate is beyond the knee.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strain {
    /// Share of the rate that is done, 0 to 1.
    Throughput(f64),
    /// Median response time as a multiple of the least at lower rates.
    Response(f64),
}

/// The place of the last level that is borne, None where not even the first is; and why the next
/// one is not, None where there is no next one. Levels come in the order of their rates.
///
/// A level above one that is not borne counts as not borne: it would be chance.
pub fn rate_knee(levels: &[RateLevel]) -> (Option<usize>, Option<Strain>) {
    let mut least = f64::INFINITY;
    for (place, level) in levels.iter().enumerate() {
        least = least.min(level.p50_us);
        let share = level.throughput_per_s / level.rate_per_s;
        let times = level.p50_us / least;
        let strain = if share < KEPT_SHARE {
            Strain::Throughput(share)
        } else if times > SLOWER_MAX {
            Strain::Response(times)
        } else {
            continue;
        };
        return (place.checked_sub(1), Some(strain));
    }
    (levels.len().checked_sub(1), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Response times of one server of 1 ms, M/M/1.
    fn queue(rates: &[f64]) -> Vec<RateLevel> {
        let level = |rate_per_s: &f64| {
            let load: f64 = rate_per_s / 1_000.0;
            let waits = if load < 1.0 { 1.0 / (1.0 - load) } else { 1_000.0 };
            let throughput_per_s = rate_per_s.min(1_000.0);
            RateLevel { rate_per_s: *rate_per_s, throughput_per_s, p50_us: 693.0 * waits }
        };
        rates.iter().map(level).collect()
    }

    #[test]
    fn a_queue_bears_half_of_its_capacity() {
        let found = rate_knee(&queue(&[100.0, 200.0, 400.0, 600.0, 900.0]));
        assert_eq!(found.0, Some(2), "600 a second waits 2.5 times as long as served");
        assert!(matches!(found.1, Some(Strain::Response(times)) if times > 2.0), "{found:?}");
    }

    #[test]
    fn a_rate_that_is_not_reached_is_beyond_the_knee() {
        let found = rate_knee(&queue(&[400.0, 2_000.0]));
        assert_eq!(found, (Some(0), Some(Strain::Throughput(0.5))));
        assert_eq!(rate_knee(&queue(&[4_000.0])), (None, Some(Strain::Throughput(0.25))));
    }

    #[test]
    fn a_sweep_that_ends_below_the_knee_has_none_beyond() {
        assert_eq!(rate_knee(&queue(&[100.0, 200.0, 400.0])), (Some(2), None));
        assert_eq!(rate_knee(&[]), (None, None));
    }
}
