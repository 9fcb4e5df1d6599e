//! Quantiles of times, as records hold them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use stats::histogram::Histogram;

/// Quantiles in us, None where there are fewer than 100/(1-q) samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    pub mean_us: f64,
    pub min_us: f64,
    pub p50_us: Option<f64>,
    pub p90_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub p999_us: Option<f64>,
    pub max_us: f64,
}

impl Quantiles {
    pub fn of(histogram: &Histogram) -> Self {
        let us = |ns: u64| ns as f64 / 1e3;
        let percentile = |percent: f64| histogram.printable_percentile_ns(percent).map(us);
        Self {
            mean_us: histogram.mean_ns().unwrap_or(0.0) / 1e3,
            min_us: histogram.min_ns().map_or(0.0, us),
            p50_us: percentile(50.0),
            p90_us: percentile(90.0),
            p99_us: percentile(99.0),
            p999_us: percentile(99.9),
            max_us: histogram.max_ns().map_or(0.0, us),
        }
    }
}
