//! Bencher's metric format: benchmarks by name, each with its measures. `latency` (p50, ns) and
//! `throughput` (ops/s) are the measures that every project of Bencher has.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::formats::{Format, Joint, Report};
use super::tracked::{self, Tracked};
use judge::analysis::types::Metric;

pub const FORMAT: Format = Format {
    name: "bencher",
    about: "JSON for `bencher run --adapter json`",
    experiments: Some((render, joint)),
    study: None,
};

#[derive(Serialize)]
struct BencherMetric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write(&tracked::tracked(report.analysis, ""), out)
}

fn joint(joint: &Joint<'_>, out: &mut dyn Write) -> io::Result<()> {
    write(&tracked::joint(joint), out)
}

fn write(rows: &[Tracked<'_>], out: &mut dyn Write) -> io::Result<()> {
    let benchmarks: BTreeMap<&str, BTreeMap<&str, BencherMetric>> =
        rows.iter().map(|it| (it.name.as_str(), measures(it))).collect();
    serde_json::to_writer_pretty(&mut *out, &benchmarks)?;
    writeln!(out)
}

fn measures(tracked: &Tracked<'_>) -> BTreeMap<&'static str, BencherMetric> {
    let (low, high) = tracked.rates().unzip();
    let values = &tracked.row.values;
    let measures = [
        ("latency", values.judged(Metric::P50), 1e3),
        ("p99-latency", values.judged(Metric::P99), 1e3),
        ("cpu-per-operation", values.get(Metric::CpuPerOp), 1e3),
        ("peak-memory", values.get(Metric::RssPeak), 1.0),
    ];
    let measures = measures.into_iter().filter_map(|(name, value, factor)| {
        let value = value? * factor;
        Some((name, BencherMetric { value, lower_value: None, upper_value: None }))
    });
    let rate = values.get(Metric::Throughput);
    let rate = rate.map(|value| BencherMetric { value, lower_value: low, upper_value: high });
    measures.chain(rate.map(|rate| ("throughput", rate))).collect()
}
