//! The overload test: does a queue grow, and which capacity does its growth imply (section 8.2).
//!
//! The model is one consumer that is never idle (D/D/1). Operation i has the response time
//! `L_i = 1/mu + i (1/mu - 1/lambda)`. So latency that rises by s an operation implies the
//! capacity `mu = 1/(s + 1/lambda)`.

/// Smaller growth is not worth a word, us.
const GROWTH_MIN_US: f64 = 1_000.0;
/// The same, as a fraction of the usual level: here the median service time.
const GROWTH_MIN_OF_LEVEL: f64 = 0.2;
/// Kendall's tau of the depth above which it rises.
const TAU_MIN: f64 = 0.5;
/// Largest p-value of that trend.
const P_MAX: f64 = 0.01;
/// Tolerance between the implied capacity and the completions a second while operations wait.
const CAPACITY_TOLERANCE: f64 = 0.05;
/// Between two readings of the depth.
const INTERVAL_NS: u64 = 100_000_000;
/// Bounds of the readings while operations arrive, whatever that makes of their distance. Below
/// some ten no trend can have p < 0.01; a test looks at all pairs.
const READINGS: std::ops::RangeInclusive<u64> = 20..=2_000;
/// In all, those after the last arrival among them: bounds the memory.
const READINGS_MAX: u64 = 1 << 16;

/// The smallest growth of latency over a run that is worth a word, where it usually takes
/// `level_us`.
pub fn least_growth_us(level_us: f64) -> f64 {
    GROWTH_MIN_US.max(GROWTH_MIN_OF_LEVEL * level_us)
}

/// Between two arrivals; None: all at once.
fn gap_s(arrivals_per_s: Option<f64>) -> f64 {
    arrivals_per_s.map_or(0.0, |rate| 1.0 / rate)
}

/// Operations a second of one saturated consumer. `slope_s` is that of response time, s an
/// operation; without a rate all operations arrive at once (a burst). None where the slope is so
/// far down that no capacity follows.
pub fn capacity_per_s(slope_s: f64, arrivals_per_s: Option<f64>) -> Option<f64> {
    let between_s = slope_s + gap_s(arrivals_per_s);
    (between_s > 0.0 && between_s.is_finite()).then(|| 1.0 / between_s)
}

/// The inverse of [`capacity_per_s`]: the rise of latency with each message. Without a rate all
/// messages are issued at once.
///
/// 0 where it keeps pace: nothing waits, and latency cannot fall below one service time.
pub fn predicted_slope_us(capacity_per_s: f64, issue_rate_per_s: Option<f64>) -> f64 {
    ((1.0 / capacity_per_s - gap_s(issue_rate_per_s)) * 1e6).max(0.0)
}

/// Operations that had arrived (were intended) and not ended, over time, in bounded memory.
#[derive(Debug, Clone)]
pub struct QueueDepth {
    first_ns: u64,
    last_arrival_ns: u64,
    interval_ns: u64,
    /// By interval: arrivals less ends, and ends.
    change: Vec<i64>,
    ends: Vec<u64>,
}

impl QueueDepth {
    /// For arrivals from `first_ns` to `last_arrival_ns` and ends up to `last_end_ns` (monotonic).
    ///
    /// Read every 100 ms, or as often as makes 20 readings (2,000 at most) while operations arrive.
    pub fn new(first_ns: u64, last_arrival_ns: u64, last_end_ns: u64) -> Self {
        let arriving = last_arrival_ns.saturating_sub(first_ns);
        let whole = last_end_ns.max(last_arrival_ns).saturating_sub(first_ns);
        // In a burst nothing arrives later: then the readings are of the rest.
        let length = if arriving == 0 { whole } else { arriving };
        let interval_ns = INTERVAL_NS
            .clamp(length / READINGS.end(), length / READINGS.start())
            .max(whole / READINGS_MAX)
            .max(1);
        let intervals = (whole / interval_ns + 1) as usize;
        Self {
            first_ns,
            last_arrival_ns,
            interval_ns,
            change: vec![0; intervals],
            ends: vec![0; intervals],
        }
    }

    /// Adds one operation; times before the first or after the last count at the edge.
    pub fn add(&mut self, intended_ns: u64, end_ns: u64) {
        let last = self.change.len() - 1;
        let interval =
            |at: u64| ((at.saturating_sub(self.first_ns) / self.interval_ns) as usize).min(last);
        let (arrived, ended) = (interval(intended_ns), interval(end_ns));
        self.change[arrived] += 1;
        self.change[ended] -= 1;
        self.ends[ended] += 1;
    }

    /// At the end of each interval.
    fn readings(&self) -> impl Iterator<Item = i64> + '_ {
        self.change.iter().scan(0, |depth, change| {
            *depth += change;
            Some(*depth)
        })
    }

    /// Depth at each reading while operations arrive, for the test of the trend. Not longer: an
    /// overloaded run that ends by time never begins its last arrivals, so they are in no sample.
    pub fn while_arriving(&self) -> Vec<f64> {
        let arriving = self.last_arrival_ns.saturating_sub(self.first_ns);
        let count = (arriving / self.interval_ns) as usize;
        self.readings().take(count).map(|depth| depth as f64).collect()
    }

    /// At a reading.
    pub fn peak(&self) -> u64 {
        self.readings().max().unwrap_or(0).max(0) as u64
    }

    /// Over the intervals that begin and end with operations not ended; None without such an
    /// interval.
    pub fn busy_completions_per_s(&self) -> Option<f64> {
        let after: Vec<i64> = self.readings().collect();
        let busy = (1..after.len()).filter(|&at| after[at - 1] > 0 && after[at] > 0);
        let (mut intervals, mut ends) = (0_u64, 0);
        for at in busy {
            intervals += 1;
            ends += self.ends[at];
        }
        let seconds = intervals as f64 * self.interval_ns as f64 / 1e9;
        (intervals > 0).then(|| ends as f64 / seconds)
    }
}

/// Input of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Lower 95 % bound, over the run.
    pub growth_low_us: f64,
    pub service_p50_us: f64,
    /// Kendall's tau of the depth.
    pub depth_tau: f64,
    /// P-value of the tau.
    pub depth_p: f64,
    /// Implied by the slope.
    pub capacity_per_s: Option<f64>,
    /// While operations wait.
    pub busy_completions_per_s: Option<f64>,
}

/// Result of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overload {
    /// Response time does not grow, or the number waiting does not.
    None,
    /// One saturated consumer explains the growth: the queue grows.
    QueueGrows,
    /// Response time grows with the number waiting, by more or less than one saturated consumer
    /// would make it grow.
    Otherwise,
}

impl Growth {
    /// Judges one run, or the medians of several.
    pub fn judge(&self) -> Overload {
        let grows = self.growth_low_us > least_growth_us(self.service_p50_us);
        if !(grows && self.depth_tau > TAU_MIN && self.depth_p < P_MAX) {
            return Overload::None;
        }
        let (Some(implied), Some(seen)) = (self.capacity_per_s, self.busy_completions_per_s) else {
            return Overload::Otherwise;
        };
        if (implied / seen - 1.0).abs() <= CAPACITY_TOLERANCE {
            Overload::QueueGrows
        } else {
            Overload::Otherwise
        }
    }
}
