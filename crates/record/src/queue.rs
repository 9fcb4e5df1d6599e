//! The records of an open loop: the overload test, and how well the schedule was kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantiles::Quantiles;

/// Input of the overload test for one phase of one run (methodology 8.2). Slopes are Theil-Sen's
/// over operations in the order in which they were intended, with 95 % intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// Operations intended and begun, n.
    pub operations: u64,
    /// Arrivals a second, by their intended starts; None in a burst, where all arrive at once.
    pub arrivals_per_s: Option<f64>,
    /// Completions a second while operations arrive (in a burst: to the last end).
    pub completions_per_s: f64,
    /// Completions a second while operations wait or are under way; None where none ever did.
    pub busy_completions_per_s: Option<f64>,
    /// Capacity that the slope of response time implies for one saturated consumer, 1/s.
    pub capacity_per_s: Option<f64>,
    /// Slope of response time, us an operation.
    pub slope_us_per_op: f64,
    /// Lower end of its interval.
    pub slope_low_us_per_op: f64,
    /// Upper end of its interval.
    pub slope_high_us_per_op: f64,
    /// Growth of response time over the run: slope × n, us.
    pub growth_us: f64,
    /// Lower end of its interval.
    pub growth_low_us: f64,
    /// Slope of service time, us an operation.
    pub service_slope_us_per_op: f64,
    /// Lower end of its interval.
    pub service_slope_low_us_per_op: f64,
    /// Upper end of its interval.
    pub service_slope_high_us_per_op: f64,
    /// Median service time, us.
    pub service_p50_us: f64,
    /// Median wait (start - intended start), us.
    pub wait_p50_us: f64,
    /// Most operations that had arrived and not ended.
    pub depth_peak: u64,
    /// Mann-Kendall's tau of their number while operations arrive, read each 100 ms (more often in
    /// short runs). None in a burst.
    pub depth_tau: Option<f64>,
    /// The p-value of the depth's trend.
    pub depth_p: Option<f64>,
    /// From the last arrival to the last end, s.
    pub drain_s: f64,
}

/// How well an open loop kept its schedule (gate G3).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    pub offered_per_s: f64,
    pub achieved_fraction: f64,
    /// Lateness behind the intended start: waiting for a free worker is in it.
    pub pacer_lag_p50_us: f64,
    pub pacer_lag_p99_us: f64,
    pub pacer_lag_max_us: f64,
    /// Mean fraction of the workers that were busy.
    pub busy_fraction: f64,
    /// Lateness of starts behind their time or their worker's last end, whichever is later: the
    /// adapter's timers alone.
    #[serde(default)]
    pub own_lag: Option<Quantiles>,
}
