//! One tidy table: a row per arm, phase, operation and metric, the unit in the metric's name. The
//! comparison of that very metric stands in the same row, so that no second table is needed;
//! empty cells mean "not measured" or "not compared".

use std::io::{self, Write};

use super::across::{self, Found};
use super::formats::{Format, Report};
use super::text::csv_cell;
use base::say::clean;
use judge::analysis::joint::JointAnalysis;
use judge::analysis::types::{Analysis, ComparisonRow, Metric, ResultRow};

pub const FORMAT: Format = Format { name: "csv", about: "One row per figure", render };

const HEAD: [&str; 26] = [
    "schema_version",
    "experiment_id",
    "workload",
    "server_kind",
    "server_version",
    "phase",
    "operation",
    "arm",
    "adapter",
    "driver_version",
    "is_aa",
    "metric",
    "value",
    "baseline",
    "verdict",
    "direction_only",
    "estimate_percent",
    "low_percent",
    "high_percent",
    "level",
    "rounds",
    "threshold_percent",
    "floor_percent",
    "bias_percent",
    "bias_gate",
    "busy",
];

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let analysis = report.analysis;
    let mut table = ::csv::Writer::from_writer(out);
    table.write_record(HEAD)?;
    for cells in records(analysis) {
        table.write_record(cells.iter().map(|cell| csv_cell(cell)))?;
    }
    table.flush()
}

fn records(analysis: &Analysis) -> impl Iterator<Item = Vec<String>> {
    analysis.results.iter().flat_map(move |row| {
        metrics(row).into_iter().map(move |(column, metric, value)| {
            let compared = metric.and_then(|metric| comparison(analysis, row, metric));
            record(analysis, row, column, value, compared)
        })
    })
}

/// One table of several experiments: before those columns the parameter, its value and the server.
/// First the comparisons between servers, which name the server that they are against.
pub fn joint(all: &JointAnalysis, out: &mut dyn Write) -> io::Result<()> {
    let mut table = ::csv::Writer::from_writer(out);
    table.write_record(
        ["parameter", "parameter_value", "server", "against_server"].iter().chain(&HEAD),
    )?;
    let parameter = all.parameter.as_deref().unwrap_or_default();
    let mut write = |value: &str, server: &str, against: &str, cells: Vec<String>| {
        let own = [parameter, value, server, against];
        let cells = own.into_iter().chain(cells.iter().map(String::as_str));
        table.write_record(cells.map(csv_cell))
    };
    for of in &all.values {
        for it in across::found(&of.servers) {
            let mut servers = of.servers.servers.iter();
            let Some(to) = servers.find(|other| other.server == it.to) else { continue };
            write(&of.value, it.to, it.from, between(&to.analysis, &it))?;
        }
    }
    for (value, server, analysis) in all.each() {
        for cells in records(analysis) {
            write(value, server, "", cells)?;
        }
    }
    table.flush()
}

/// Column name, metric of comparisons, value.
fn metrics(row: &ResultRow) -> [(&'static str, Option<Metric>, Option<String>); 19] {
    let real = |value: Option<f64>| value.filter(|v| v.is_finite()).map(|v| v.to_string());
    let whole = |value: u64| Some(value.to_string());
    [
        ("throughput_ops_per_s", Some(Metric::Throughput), real(row.throughput)),
        ("p50_us", Some(Metric::P50), real(row.p50_us)),
        ("p90_us", Some(Metric::P90), real(row.p90_us)),
        ("p99_us", Some(Metric::P99), real(row.p99_us)),
        ("p999_us", Some(Metric::P999), real(row.p999_us)),
        ("response_p50_us", None, real(row.response_p50_us)),
        ("response_p99_us", None, real(row.response_p99_us)),
        ("cpu_us_per_op", Some(Metric::CpuPerOp), real(row.cpu_us_per_op)),
        ("bytes_per_op", Some(Metric::BytesPerOp), real(row.bytes_per_op)),
        ("rss_peak_bytes", Some(Metric::RssPeak), row.rss_peak_bytes.and_then(whole)),
        ("rss_held_bytes", None, row.rss_held_bytes.and_then(whole)),
        ("threads_peak_count", None, row.threads_peak.and_then(whole)),
        ("connections_peak_count", None, row.connections_peak.and_then(whole)),
        ("gc_count", None, row.gc_count.and_then(whole)),
        ("gc_ns", None, row.gc_ns.and_then(whole)),
        ("operations_count", None, whole(row.operations)),
        ("errors_count", None, whole(row.errors)),
        ("documents_per_op", None, real(row.documents_per_op)),
        ("document_bytes", None, row.document_bytes.and_then(whole)),
    ]
}

/// A mix's throughput and CPU are compared for the whole phase, under the phase's name.
fn comparison<'a>(
    analysis: &'a Analysis,
    row: &ResultRow,
    metric: Metric,
) -> Option<&'a ComparisonRow> {
    analysis.comparisons.iter().find(|c| {
        c.arm == row.arm
            && c.phase == row.phase
            && c.metric == metric
            && (c.operation == row.operation || c.operation == row.phase)
    })
}

/// Of `record`, what the experiment and the arm tell.
fn named(analysis: &Analysis, phase: &str, operation: &str, id: &str) -> Vec<String> {
    let arm = analysis.arms.iter().find(|arm| arm.id == id);
    let text = |value: Option<&str>| clean(value.unwrap_or_default());
    vec![
        analysis.schema_version.to_string(),
        clean(&analysis.id),
        clean(&analysis.workload),
        analysis.server.kind.word().to_owned(),
        clean(&analysis.server.version),
        clean(phase),
        clean(operation),
        clean(id),
        text(arm.map(|arm| arm.adapter.as_str())),
        text(arm.map(|arm| arm.version.as_str())),
        arm.is_some_and(|arm| arm.is_aa).to_string(),
    ]
}

fn real(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map(|v| v.to_string()).unwrap_or_default()
}

fn record(
    analysis: &Analysis,
    row: &ResultRow,
    column: &str,
    value: Option<String>,
    compared: Option<&ComparisonRow>,
) -> Vec<String> {
    let text = |value: Option<&str>| clean(value.unwrap_or_default());
    let mut cells = named(analysis, &row.phase, &row.operation, &row.arm);
    cells.extend([
        column.to_owned(),
        value.unwrap_or_default(),
        text(compared.map(|c| c.baseline.as_str())),
        text(compared.map(|c| c.verdict.word())),
        compared.map(|c| c.direction_only.to_string()).unwrap_or_default(),
        real(compared.and_then(|c| c.estimate_percent)),
        real(compared.and_then(|c| c.low_percent)),
        real(compared.and_then(|c| c.high_percent)),
        real(compared.and_then(|c| c.level)),
        compared.map(|c| c.rounds.to_string()).unwrap_or_default(),
        real(compared.map(|c| c.threshold_percent)),
        real(compared.map(|c| c.floor_percent)),
        real(compared.map(|c| c.bias_percent)),
        text(compared.and_then(|c| Some(c.bias_gate?.id()))),
        text(compared.and_then(|c| c.busy.as_deref())),
    ]);
    cells
}

/// A comparison between servers, in the words of `metrics`.
fn between(analysis: &Analysis, it: &Found<'_>) -> Vec<String> {
    let columns = analysis.results.first().map(metrics).into_iter().flatten();
    let column =
        columns.filter(|(_, metric, _)| *metric == Some(it.metric)).map(|(name, ..)| name).next();
    let [low, estimate, high] = it.ends;
    let mut cells = named(analysis, it.phase, it.operation, it.arm);
    cells.extend([
        column.unwrap_or_else(|| it.metric.word()).to_owned(),
        String::new(),
        clean(it.baseline),
        it.verdict.to_owned(),
        it.direction_only.to_string(),
        real(estimate),
        real(low),
        real(high),
        real(it.level),
        it.rounds.to_string(),
        real(Some(it.threshold_percent)),
        real(Some(it.floor_percent)),
        real(it.bias_percent),
        String::new(),
        String::new(),
    ]);
    cells
}
