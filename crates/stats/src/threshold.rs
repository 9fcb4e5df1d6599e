//! The practical threshold delta: differences below it are not worth a verdict (section 3.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Smallest threshold of a `--quick` comparison.
pub const QUICK_FLOOR_PERCENT: f64 = 5.0;

/// How the arms of a round share the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interleave {
    /// The live processes take turns of some 50 ms: the noise is small, and so are the floors.
    Turns,
    /// Each runs whole, one after the other.
    Runs,
}

impl Interleave {
    /// Returns the word that `--interleave` takes.
    pub fn word(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Runs => "runs",
        }
    }
}

/// Which way a metric gets better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A rate: turned into time per operation by taking its inverse.
    HigherIsBetter,
    /// A time, a size, a cost.
    LowerIsBetter,
}

/// The quantity of a per-round value: it decides the direction, the floor and the words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Operations per second.
    Throughput,
    /// Median time of an operation, in nanoseconds.
    P50,
    /// 90th percentile, in nanoseconds.
    P90,
    /// 99th percentile, in nanoseconds.
    P99,
    /// 99.9th percentile, in nanoseconds.
    P999,
    /// CPU time of the worker's process per operation (any unit).
    CpuPerOperation,
    /// Bytes allocated per operation.
    AllocatedBytes,
    /// Bytes on the wire per operation, both directions.
    WireBytes,
    /// Peak resident set of the worker's processes.
    PeakMemory,
    /// Anything else, with its own floor.
    Other {
        direction: Direction,
        /// The smallest difference worth a verdict.
        floor_percent: f64,
    },
}

impl Quantity {
    pub fn direction(self) -> Direction {
        match self {
            Self::Throughput => Direction::HigherIsBetter,
            Self::Other { direction, .. } => direction,
            _ => Direction::LowerIsBetter,
        }
    }

    /// The table floor for whole runs (section 3.3) or turns (section 2.7 g).
    pub fn floor_percent(self, interleave: Interleave) -> f64 {
        let turns = interleave == Interleave::Turns;
        match self {
            Self::Throughput | Self::P50 | Self::CpuPerOperation => {
                if turns {
                    2.0
                } else {
                    3.0
                }
            }
            Self::P90 => {
                if turns {
                    4.0
                } else {
                    5.0
                }
            }
            Self::P99 => 10.0,
            Self::P999 => 20.0,
            Self::AllocatedBytes => 1.0,
            // Handshakes and monitors are not the same number in each round.
            Self::WireBytes => 2.0,
            // Heaps grow in steps.
            Self::PeakMemory => 5.0,
            Self::Other { floor_percent, .. } => floor_percent,
        }
    }

    /// Latencies: a timer read at both ends of an operation cannot resolve them finely. Throughput
    /// and CPU are read over a whole turn.
    pub fn limited_by_timer(self) -> bool {
        matches!(self, Self::P50 | Self::P90 | Self::P99 | Self::P999)
    }
}

/// The part that decided a threshold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdOrigin {
    /// The table of floors.
    #[default]
    Floor,
    /// The 5 % of `--quick`.
    Quick,
    /// Twice the A/A noise floor.
    Noise,
    /// max(2 us, 5 x timer cost), as a share of the base arm's median.
    Timer,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// Delta: SLOWER and FASTER must exceed it.
    pub percent: f64,
    /// The largest part, which decided it.
    pub origin: ThresholdOrigin,
    /// The limit of SAME: the parts that do not grow with the noise.
    pub floor_percent: f64,
}

/// The parts of a metric's threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdParts {
    /// Turns or whole runs: two tables of floors.
    pub interleave: Interleave,
    /// `--quick`: at least 5 %.
    pub quick: bool,
    /// Noise floor of this metric, if there are enough rounds for one.
    pub noise_floor_percent: Option<f64>,
    /// Cost of one timestamp, as calibrated in the worker.
    pub timer_cost_ns: f64,
}

impl ThresholdParts {
    /// The floors alone, for the A/A arm: the widened delta could not fire (section 2.5).
    pub fn for_same_version(self) -> Self {
        Self { noise_floor_percent: None, ..self }
    }

    /// The largest of all parts. `base_median` is the base arm's median value, used for latencies
    /// only (nanoseconds).
    pub fn threshold(self, quantity: Quantity, base_median: f64) -> Threshold {
        let timer_ns = (5.0 * self.timer_cost_ns).max(2_000.0);
        let timed = quantity.limited_by_timer() && base_median > 0.0;
        let floor = quantity.floor_percent(self.interleave);
        let mut threshold =
            Threshold { percent: floor, origin: ThresholdOrigin::Floor, floor_percent: floor };
        let mut at_least = |part: Option<f64>, origin| {
            if let Some(percent) = part.filter(|&percent| percent > threshold.percent) {
                threshold = Threshold { percent, origin, ..threshold };
            }
            threshold.percent
        };
        at_least(self.quick.then_some(QUICK_FLOOR_PERCENT), ThresholdOrigin::Quick);
        let resolution = timed.then(|| 100.0 * timer_ns / base_median);
        let floor_percent = at_least(resolution, ThresholdOrigin::Timer);
        at_least(self.noise_floor_percent.map(|noise| 2.0 * noise), ThresholdOrigin::Noise);
        Threshold { floor_percent, ..threshold }
    }
}
