//! Metrics that a cell can have: name, unit, and how to read one from a run.

use record::records::{PhaseRun, ServerSample};
use stats::descriptive::median;
use workload::operations::about;
use workload::plan::{Count, Limit, Phase, Plan};

/// A run of a phase, and its plan.
#[derive(Clone, Copy)]
pub struct PhaseReading<'a> {
    pub plan: &'a Plan,
    pub phase: &'a Phase,
    pub run: &'a PhaseRun,
}

/// A metric of a whole run of a phase.
#[derive(Debug)]
pub struct PhaseMetric {
    pub name: &'static str,
    /// The unit as [`super::cells::figure_text`] knows it.
    pub unit: &'static str,
    pub read: fn(&PhaseReading<'_>) -> Option<f64>,
}

/// From the seconds of a phase in one round, of a server that all arms share.
#[derive(Debug)]
pub struct ServerMetric {
    pub name: &'static str,
    pub unit: &'static str,
    pub read: fn(&[&ServerSample]) -> Option<f64>,
}

const fn metric(
    name: &'static str,
    unit: &'static str,
    read: fn(&PhaseReading<'_>) -> Option<f64>,
) -> PhaseMetric {
    PhaseMetric { name, unit, read }
}

/// A new one is a line here.
static PHASE_METRICS: &[PhaseMetric] = &[
    metric("time_us", "us", |it| {
        let things = it.written().unwrap_or(it.run.operations);
        (things > 0).then(|| it.calls_us() / things as f64)
    }),
    metric("total_ms", "ms", |it| Some(it.calls_us() / 1e3)),
    metric("planned_ms", "ms", planned_ms),
    metric("arriving_ms", "ms", |it| Some(it.run.arriving_s? * 1e3)),
    metric("arrived_ms", "ms", |it| Some(planned_ms(it)? + it.run.arriving_s.unwrap_or(0.0) * 1e3)),
    metric("p50_us", "us", |it| it.run.by_operation.first()?.service.p50_us),
    metric("p99_us", "us", |it| it.run.by_operation.first()?.service.p99_us),
    metric("measured_ms", "ms", |it| Some(it.run.measured_s * 1e3)),
    metric("per_s", "per_s", |it| Some(it.run.throughput)),
    metric("per_thread_per_s", "per_s", |it| {
        Some(it.run.throughput / f64::from(it.phase.workers * it.phase.processes))
    }),
    metric("documents_per_s", "per_s", |it| {
        (it.run.measured_s > 0.0).then_some(it.written()? as f64 / it.run.measured_s)
    }),
    metric("operations", "count", |it| Some(it.run.operations as f64)),
    metric("documents", "count", |it| Some(it.written()? as f64)),
    metric("document_bytes", "bytes", document_bytes),
    metric("written_bytes", "bytes", written_bytes),
    metric("threads", "count", |it| Some(f64::from(it.phase.workers * it.phase.processes))),
    metric("armed_bytes", "bytes", |it| Some(it.run.rss_armed_bytes as f64)),
    metric("peak_bytes", "bytes", |it| Some(it.run.rss_peak_bytes as f64)),
    metric("held_bytes", "bytes", |it| Some(it.run.rss_held_bytes? as f64)),
    metric("held_percent", "change_percent", |it| {
        let held = it.run.rss_held_bytes? as f64 - it.run.rss_armed_bytes as f64;
        Some(100.0 * held / written_bytes(it)?)
    }),
    metric("collections", "count", |it| Some(it.run.gc_count? as f64)),
    metric("collections_per_1000", "count", |it| {
        Some(it.run.gc_count? as f64 * 1e3 / it.run.operations as f64)
    }),
    metric("cpu_us", "us", |it| Some(it.run.cpu_us_per_op)),
    metric("wire_bytes", "bytes", |it| {
        Some(*it.run.server.get("network.bytesIn")? as f64 / it.written()? as f64)
    }),
    metric("stored_bytes", "bytes", |it| it.grown("storageSize")),
    metric("stored_index_bytes", "bytes", |it| it.grown("totalIndexSize")),
    metric("data_mb_per_s", "MB/s", |it| {
        (it.run.measured_s > 0.0).then_some(written_bytes(it)? / 1e6 / it.run.measured_s)
    }),
    metric("stored_documents", "count", |it| it.size("count")),
    metric("data_bytes", "bytes", |it| it.size("size")),
    metric("average_bytes", "bytes", |it| it.size("avgObjSize")),
    metric("storage_bytes", "bytes", |it| it.size("storageSize")),
    metric("index_bytes", "bytes", |it| it.size("totalIndexSize")),
    metric("data_by_storage", "times", |it| {
        let storage = it.size("storageSize").filter(|storage| *storage > 0.0)?;
        Some(it.size("size")? / storage)
    }),
];

static SERVER_METRICS: &[ServerMetric] = &[
    ServerMetric {
        name: "cache_bytes",
        unit: "bytes",
        read: |samples| {
            let name = "cache.bytes currently in the cache";
            let each = samples.iter().filter_map(|sample| sample.values.get(name));
            each.max().map(|bytes| *bytes as f64)
        },
    },
    ServerMetric {
        name: "disk_busy_percent",
        unit: "percent",
        read: |samples| {
            let each = samples.iter().filter_map(|it| it.shares.get("disk.busy_fraction"));
            median(&each.map(|share| share * 100.0).collect::<Vec<_>>())
        },
    },
];

pub fn of_phase(name: &str) -> Option<&'static PhaseMetric> {
    PHASE_METRICS.iter().find(|metric| metric.name == name)
}

pub fn of_server(name: &str) -> Option<&'static ServerMetric> {
    SERVER_METRICS.iter().find(|metric| metric.name == name)
}

impl PhaseReading<'_> {
    fn calls_us(&self) -> f64 {
        self.run.by_operation.iter().map(|it| it.service.mean_us * it.count as f64).sum()
    }

    /// Documents that the operations of the run write, the last batch as short as need be; None of
    /// a phase that writes none.
    fn written(&self) -> Option<u64> {
        let (_, made) = self.phase.single()?;
        let operations = self.run.operations;
        match made.count {
            _ if !about(made.kind).inserts() => None,
            Some(Count::Rest { batch, documents }) => {
                Some(operations.saturating_mul(u64::from(batch)).min(documents))
            }
            _ => match self.phase.limit {
                Limit::Operations { count, .. } => Some(operations.min(count)),
                Limit::Duration { .. } => Some(operations),
            },
        }
    }

    /// One of the collection's sizes at the end.
    fn size(&self, name: &str) -> Option<f64> {
        let size = self.run.sizes.get(&format!("after.collStats.{name}"))?;
        Some((*size).max(0) as f64)
    }

    /// Growth of one of them for a document.
    fn grown(&self, name: &str) -> Option<f64> {
        let before = self.run.sizes.get(&format!("before.collStats.{name}")).copied();
        let grown = self.size(name)? - before.unwrap_or(0) as f64;
        // A file that no checkpoint has written yet has no size.
        (grown > 0.0).then_some(grown / self.written()? as f64)
    }
}

fn document_bytes(it: &PhaseReading<'_>) -> Option<f64> {
    Some(it.plan.collection(it.phase.operations.first()?)?.document_bytes_mean)
}

fn written_bytes(it: &PhaseReading<'_>) -> Option<f64> {
    Some(it.written()? as f64 * document_bytes(it)?)
}

/// Time that all operations of its plan take at the rate of the run.
fn planned_ms(it: &PhaseReading<'_>) -> Option<f64> {
    let Limit::Operations { count, .. } = it.phase.limit else { return None };
    (it.run.throughput > 0.0).then(|| 1e3 * count as f64 / it.run.throughput)
}
