//! The evidence of the overload test (methodology 8.2), from the samples of an open loop. It takes
//! a second pass, which needs the number of samples and their extent first.

use std::path::PathBuf;

use super::tail::{Claimed, each};
use base::error::Result;
use record::records::Queue;
use record::samples::Sample;
use stats::histogram::Histogram;
use stats::mann_kendall::mann_kendall;
use stats::overload::{QueueDepth, capacity_per_s};
use stats::theil_sen::{Slope, theil_sen};
use workload::plan::{Pacing, Phase};

/// Evenly spaced operations whose slope is taken: half a million pairs, 4 MB.
const SUBSAMPLE: u64 = 1_000;
/// Fewer show no trend.
const OPERATIONS_MIN: u64 = 20;

/// First and last arrival and end.
pub struct Extent {
    burst: bool,
    operations: u64,
    first_ns: u64,
    last_arrival_ns: u64,
    last_end_ns: u64,
}

impl Extent {
    /// None for a closed loop. Its workers begin no operation before the last has ended, so nothing
    /// piles up.
    pub fn of(phase: &Phase) -> Option<Self> {
        phase.pacing.is_open().then(|| Self {
            burst: phase.pacing == Pacing::Burst {},
            operations: 0,
            first_ns: u64::MAX,
            last_arrival_ns: 0,
            last_end_ns: 0,
        })
    }

    pub fn take(&mut self, sample: &Sample) {
        self.operations += 1;
        self.first_ns = self.first_ns.min(sample.intended_ns);
        self.last_arrival_ns = self.last_arrival_ns.max(sample.intended_ns);
        self.last_end_ns = self.last_end_ns.max(sample.end_ns());
    }

    /// Reads the same files again. None: too few operations for a trend.
    pub async fn queue(&self, files: &[PathBuf], claimed: &Claimed) -> Result<Option<Queue>> {
        if self.operations < OPERATIONS_MIN {
            return Ok(None);
        }
        let mut trace = Trace::new(self, files.len() as u64);
        each(files, claimed, |process, sample| {
            trace.take(u64::from(process), sample);
            Ok(())
        })
        .await?;
        Ok(trace.queue(self))
    }
}

/// Collected by the second pass.
struct Trace {
    processes: u64,
    stride: u64,
    /// Order, and response or service time in us, of the subsample.
    response: Vec<(f64, f64)>,
    service: Vec<(f64, f64)>,
    services: Histogram,
    waits: Histogram,
    depth: QueueDepth,
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
            depth: QueueDepth::new(extent.first_ns, extent.last_arrival_ns, extent.last_end_ns),
            ended_while_arriving: 0,
            last_arrival_ns: extent.last_arrival_ns,
        }
    }

    fn take(&mut self, process: u64, sample: &Sample) {
        // Failed ones were in the queue as well, but their times say nothing.
        self.depth.add(sample.intended_ns, sample.end_ns());
        self.ended_while_arriving += u64::from(sample.end_ns() <= self.last_arrival_ns);
        if sample.outcome != 0 {
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

    fn queue(&self, extent: &Extent) -> Option<Queue> {
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
        let arriving_s = seconds(extent.first_ns, extent.last_arrival_ns);
        let arriving = !extent.burst && arriving_s > 0.0;
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

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact in binary")]
mod tests {
    use super::super::test_support::{phase, sample};
    use super::*;

    /// Arrivals 1 us apart at one worker, over two processes in turn.
    async fn measured(service_ns: u64, count: u64) -> Option<Queue> {
        let scratch = tempfile::tempdir().expect("a folder");
        let mut extent = Extent::of(&phase("rate: 1000000", 1)).expect("an open loop");
        let (mut files, mut free_ns) = ([Vec::new(), Vec::new()], 0);
        for number in 0..count {
            let intended_ns = 1_000_000 + number * 1_000;
            let mut sample = sample(0, intended_ns, intended_ns.max(free_ns), service_ns);
            sample.index = (number / 2) as u32;
            free_ns = sample.end_ns();
            extent.take(&sample);
            files[(number % 2) as usize].extend(sample.to_bytes());
        }
        let files = [0, 1].map(|process| {
            let path = scratch.path().join(format!("{process}.bin"));
            std::fs::write(&path, &files[process]).expect("a file");
            path
        });
        let counts = vec![count.div_ceil(2), count / 2];
        extent.queue(&files, &Claimed { counts, fault: None }).await.expect("files")
    }

    #[tokio::test]
    async fn the_slope_is_what_each_operation_comes_too_late() {
        let queue = measured(1_250, 5_000).await.expect("operations enough");
        assert_eq!((queue.operations, queue.slope_us_per_op), (5_000, 0.25));
        assert_eq!((queue.service_slope_us_per_op, queue.service_p50_us), (0.0, 1.25));
        assert_eq!(queue.arrivals_per_s, Some(1e6));
        assert!(queue.depth_peak >= 990, "{}", queue.depth_peak);
        assert_eq!(measured(900, 5_000).await.expect("enough").slope_us_per_op, 0.0);
        assert_eq!(measured(900, 19).await, None);
        assert!(Extent::of(&phase("think: 1ms", 1)).is_none());
    }
}
