//! Latency histograms of one fixed geometry, so that merging is exact addition (section 6).

use std::fmt;

pub const LOWEST_NS: u64 = 1;
/// One hour. Longer durations are recorded as this.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;
/// A value is known to one part in a thousand.
pub const DIGITS: u8 = 3;

/// Durations in nanoseconds, 1 ns to 1 h, 3 significant digits.
#[derive(Clone, PartialEq)]
pub struct Histogram {
    counts: hdrhistogram::Histogram<u64>,
}

impl Histogram {
    /// Takes 270 KB: the geometry is allocated at once.
    pub fn new() -> Self {
        let counts = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS)
            .expect("1 ns to 1 h with 3 digits is a valid geometry");
        Self { counts }
    }

    /// Clamps into the geometry.
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Records `count` equal durations, clamped into the geometry.
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        // Saturating cannot happen after the clamp; it only spares an error that no caller can
        // handle.
        self.counts.saturating_record_n(value_ns.clamp(LOWEST_NS, HIGHEST_NS), count);
    }

    /// Exact, because there is only one geometry.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("equal geometries add");
    }

    /// Re-records a histogram of any geometry, each bucket at its lowest equivalent value.
    ///
    /// Reading happens at the highest equivalent value, so a coarser source is biased by up to one
    /// of its buckets. The upstream Java log test defines the same behaviour.
    pub fn from_other_geometry(other: &hdrhistogram::Histogram<u64>) -> Self {
        let mut histogram = Self::new();
        for bucket in other.iter_recorded() {
            let lowest = other.lowest_equivalent(bucket.value_iterated_to());
            histogram.record_n(lowest, bucket.count_at_value());
        }
        histogram
    }

    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Values from `low_ns` to `high_ns`, both included, with the precision of the buckets.
    pub fn count_between(&self, low_ns: u64, high_ns: u64) -> u64 {
        if high_ns < low_ns { 0 } else { self.counts.count_between(low_ns, high_ns) }
    }

    /// At the bucket's lowest equivalent; None when empty.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.counts.min())
    }

    /// At the bucket's highest equivalent; None when empty.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.counts.max())
    }

    /// Counts buckets at their middle; None when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.counts.mean())
    }

    /// The value at `percent` (0 to 100), whatever the number of values; None when empty.
    ///
    /// Rule of the Java original: rank `ceil(nextDown(percent) / 100 * n)`, at least 1, at its
    /// highest equivalent. The crate's own `value_at_quantile` omits the `nextDown`. So it takes
    /// the next value whenever a product such as 0.999 * n rounds up.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 || percent.is_nan() {
            return None;
        }
        let below = percent.next_down().clamp(0.0, 100.0);
        // nextDown would turn 100 into "the last but a hair", whose rank is still the last.
        let rank = (below * count as f64 / 100.0).ceil().clamp(1.0, count as f64);
        // Half a rank below the wanted one: the crate's own ceil() then arrives exactly there.
        Some(self.counts.value_at_quantile((rank - 0.5) / count as f64))
    }

    /// The same, but only if enough values above it allow to print it: n >= 100 / (1 - q). p50
    /// needs 200 values, p99 10 000, p99.9 100 000 (section 2.4).
    pub fn printable_percentile_ns(&self, percent: f64) -> Option<u64> {
        (self.count() >= values_needed(percent)?).then(|| self.percentile_ns(percent))?
    }

    pub(crate) fn counts(&self) -> &hdrhistogram::Histogram<u64> {
        &self.counts
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Histogram({} values, max {:?} ns)", self.count(), self.max_ns())
    }
}

/// Values that a run needs before the percentile is printed; None outside [0, 100).
pub fn values_needed(percent: f64) -> Option<u64> {
    // Rounded, because 100 - 99.9 is a little less than 0.1 in binary.
    (0.0..100.0).contains(&percent).then(|| (10_000.0 / (100.0 - percent)).round() as u64)
}
