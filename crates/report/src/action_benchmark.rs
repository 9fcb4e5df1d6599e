//! JSON of github-action-benchmark's tool `customSmallerIsBetter`: a list of figures, each with its
//! name, unit and value. A throughput becomes the time of an operation, so that all are smaller.

use std::io::{self, Write};

use serde::Serialize;

use super::formats::{Format, Joint, Report};
use super::tracked::{self, Tracked};
use judge::analysis::types::Metric;

pub const FORMAT: Format = Format {
    name: "github-action-benchmark",
    about: "JSON for its tool customSmallerIsBetter",
    experiments: Some((render, joint)),
    study: None,
};

#[derive(Serialize)]
struct ActionFigure {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

fn render(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write(&tracked::tracked(report.analysis, ""), out)
}

fn joint(joint: &Joint<'_>, out: &mut dyn Write) -> io::Result<()> {
    write(&tracked::joint(joint), out)
}

fn write(rows: &[Tracked<'_>], out: &mut dyn Write) -> io::Result<()> {
    let figures: Vec<ActionFigure> = rows.iter().flat_map(figures).collect();
    serde_json::to_writer_pretty(&mut *out, &figures)?;
    writeln!(out)
}

fn figures(tracked: &Tracked<'_>) -> impl Iterator<Item = ActionFigure> {
    let time = |rate: f64| 1e6 / rate;
    let values = &tracked.row.values;
    let rate = values.get(Metric::Throughput).filter(|rate| *rate > 0.0);
    let range = tracked.rates().map(|(low, high)| {
        // The action prints it behind the value.
        format!("{} to {}", format::figure(time(high)), format::figure(time(low)))
    });
    let figures = [
        ("time per operation", "us", rate.map(time), range),
        ("p50", "us", values.judged(Metric::P50), None),
        ("p99", "us", values.judged(Metric::P99), None),
        ("CPU per operation", "us", values.get(Metric::CpuPerOp), None),
        ("peak memory", "bytes", values.get(Metric::RssPeak), None),
    ];
    let (name, arm) = (tracked.name.clone(), tracked.arm);
    let extra = base::say::clean(&format!("{} {}, {}", arm.driver, arm.version, arm.runtime));
    figures.into_iter().filter_map(move |(what, unit, value, range)| {
        let (name, extra) = (format!("{name}: {what}"), extra.clone());
        Some(ActionFigure { name, unit, value: value?, range, extra })
    })
}
