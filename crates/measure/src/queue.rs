//! The evidence of the overload test (methodology 8.2), from the samples of an open loop: two more
//! streaming passes, in memory that does not grow with the operations.

use std::path::PathBuf;

use base::error::Result;
use record::records::Queue;
use record::samples::{Sample, Samples};
use stats::histogram::Histogram;
use stats::mann_kendall::mann_kendall;
use stats::overload::{Depth, capacity_per_s};
use stats::theil_sen::{Slope, theil_sen};
use workload::plan::{Pacing, Phase};

/// Operations whose slope is taken, evenly spaced: half a million pairs, 4 MB.
const SUBSAMPLE: u64 = 1_000;
/// Fewer show no trend.
const OPERATIONS_MIN: u64 = 20;

/// Measures one phase of one run; `files` are its samples, one a process.
///
/// None for a closed loop: no worker begins before its last operation has ended, so nothing can
/// pile up, and its intended starts are its starts.
///
/// # Errors
/// Files that cannot be read.
pub fn measure(phase: &Phase, files: &[PathBuf]) -> Result<Option<Queue>> {
    let burst = match phase.pacing {
        Pacing::Awaited { .. } | Pacing::Window { .. } => return Ok(None),
        Pacing::Rate { .. } => false,
        Pacing::Burst {} => true,
    };
    let mut extent = Extent::default();
    each(files, |_, sample| extent.add(sample))?;
    if extent.operations < OPERATIONS_MIN {
        return Ok(None);
    }
    let mut trace = Trace::new(&extent, files.len() as u64);
    each(files, |process, sample| trace.add(process, sample))?;
    Ok(trace.queue(&extent, burst))
}

fn each(files: &[PathBuf], mut take: impl FnMut(u64, &Sample)) -> Result<()> {
    for (process, file) in (0..).zip(files) {
        for sample in Samples::open(file)? {
            take(process, &sample?);
        }
    }
    Ok(())
}

/// From when to when operations arrived and ended.
#[derive(Default)]
struct Extent {
    operations: u64,
    first_ns: u64,
    last_arrival_ns: u64,
    last_end_ns: u64,
}

impl Extent {
    fn add(&mut self, sample: &Sample) {
        let first = if self.operations == 0 { u64::MAX } else { self.first_ns };
        self.operations += 1;
        self.first_ns = first.min(sample.intended_ns);
        self.last_arrival_ns = self.last_arrival_ns.max(sample.intended_ns);
        self.last_end_ns = self.last_end_ns.max(sample.end_ns());
    }
}

/// What the second pass keeps.
struct Trace {
    processes: u64,
    stride: u64,
    /// Order, response and service in us, of the subsample.
    response: Vec<(f64, f64)>,
    service: Vec<(f64, f64)>,
    services: Histogram,
    waits: Histogram,
    depth: Depth,
    ended_while_arriving: u64,
    last_arrival_ns: u64,
}

impl Trace {
    fn new(extent: &Extent, processes: u64) -> Self {
        Self {
            processes,
            stride: extent.operations.div_ceil(SUBSAMPLE),
            response: Vec::new(),
            service: Vec::new(),
            services: Histogram::new(),
            waits: Histogram::new(),
            depth: Depth::new(extent.first_ns, extent.last_arrival_ns, extent.last_end_ns),
            ended_while_arriving: 0,
            last_arrival_ns: extent.last_arrival_ns,
        }
    }

    fn add(&mut self, process: u64, sample: &Sample) {
        // Failed ones were in the queue as well; only their times say nothing.
        self.depth.add(sample.intended_ns, sample.end_ns());
        self.ended_while_arriving += u64::from(sample.end_ns() <= self.last_arrival_ns);
        if sample.result() != 0 {
            return;
        }
        self.services.record(sample.service_ns);
        self.waits.record(sample.start_ns.saturating_sub(sample.intended_ns));
        // The queue is dealt out to the processes in turn: index and process give its order. The
        // second bound is for an adapter that numbers its samples otherwise.
        let order = u64::from(sample.index) * self.processes + process;
        if order.is_multiple_of(self.stride) && self.response.len() < 2 * SUBSAMPLE as usize {
            let us = |ns: u64| ns as f64 / 1e3;
            self.response.push((order as f64, us(sample.response_ns())));
            self.service.push((order as f64, us(sample.service_ns)));
        }
    }

    fn queue(&self, extent: &Extent, burst: bool) -> Option<Queue> {
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
        let arriving_s = seconds(extent.first_ns, extent.last_arrival_ns);
        let arriving = !burst && arriving_s > 0.0;
        let count = extent.operations as f64;
        let arrivals_per_s = arriving.then(|| (count - 1.0) / arriving_s);
        let completions_per_s = if arriving {
            self.ended_while_arriving as f64 / arriving_s
        } else {
            count / seconds(extent.first_ns, extent.last_end_ns).max(1e-9)
        };
        let response: Slope = theil_sen(&self.response)?;
        let service: Slope = theil_sen(&self.service)?;
        let trend = arriving.then(|| mann_kendall(&self.depth.while_arriving())).flatten();
        let median_us = |histogram: &Histogram| Some(histogram.percentile_ns(50.0)? as f64 / 1e3);
        Some(Queue {
            operations: extent.operations,
            arrivals_per_s,
            completions_per_s,
            busy_completions_per_s: self.depth.busy_completions_per_s(),
            capacity_per_s: capacity_per_s(response.slope / 1e6, arrivals_per_s),
            slope_us_per_op: response.slope,
            slope_low_us_per_op: response.low,
            slope_high_us_per_op: response.high,
            growth_us: response.slope * count,
            growth_low_us: response.low * count,
            service_slope_us_per_op: service.slope,
            service_slope_low_us_per_op: service.low,
            service_slope_high_us_per_op: service.high,
            service_p50_us: median_us(&self.services)?,
            wait_p50_us: median_us(&self.waits)?,
            depth_peak: self.depth.peak(),
            depth_tau: trend.map(|it| it.tau),
            depth_p: trend.map(|it| it.p),
            drain_s: seconds(extent.last_arrival_ns, extent.last_end_ns),
        })
    }
}
