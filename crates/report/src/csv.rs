//! One tidy table: a row per arm, phase, operation and metric, the unit in the metric's name. The
//! comparison of that very metric is in the same row, so that no second table is needed;
//! empty cells mean "not measured" or "not compared".

use std::io::{self, Write};

use super::between_servers;
use super::formats::{Format, Joint, Report};
use base::say;
use base::say::clean;
use base::text::csv_cell;
use judge::analysis::types::{Analysis, ComparisonRow, Metric, ResultRow};

pub const FORMAT: Format = Format {
    name: "csv",
    about: "One row per figure",
    experiments: Some((render, joint)),
    study: Some(|it, _, out| {
        for missing in it.csv(out)? {
            say!("warning: {missing}");
        }
        Ok(Ok(()))
    }),
};

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
        let columns = Metric::ALL.iter().filter_map(|it| Some((*it, it.definition().column?)));
        columns.map(move |(metric, column)| record(analysis, row, metric, column))
    })
}

/// One table of several experiments: before those columns the parameter, its value and the server.
/// First the comparisons between servers, which name the server that they are against.
fn joint(joint: &Joint<'_>, out: &mut dyn Write) -> io::Result<()> {
    let all = joint.analysis;
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
        for row in between_servers::found(&of.servers) {
            let (Some(from), Some(to)) = (&row.from, &row.to) else { continue };
            let mut servers = of.servers.servers.iter();
            let Some(other) = servers.find(|other| other.server == *to) else { continue };
            write(&of.value, to, from, between(&other.analysis, row))?;
        }
    }
    for (value, server, analysis) in all.each() {
        for cells in records(analysis) {
            write(value, server, "", cells)?;
        }
    }
    table.flush()
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

/// The cells that describe the experiment and the arm.
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

fn record(analysis: &Analysis, row: &ResultRow, metric: Metric, column: &str) -> Vec<String> {
    let compared = comparison(analysis, row, metric);
    let value = match metric {
        Metric::Operations | Metric::Errors => Some(row.values.count(metric) as f64),
        _ => row.get(metric),
    };
    let mut cells = named(analysis, &row.phase, &row.operation, &row.arm);
    cells.extend([column.to_owned(), real(value)]);
    match compared {
        Some(compared) => cells.extend(comparison_cells(compared)),
        None => cells.resize(HEAD.len(), String::new()),
    }
    cells
}

/// From `baseline` to `busy`.
fn comparison_cells(row: &ComparisonRow) -> [String; 13] {
    let text = |value: Option<&str>| clean(value.unwrap_or_default());
    let baseline = if row.is_of_itself() { &row.arm } else { &row.baseline };
    [
        clean(baseline),
        row.verdict.word().to_owned(),
        row.direction_only.to_string(),
        real(row.estimate_percent),
        real(row.low_percent),
        real(row.high_percent),
        real(row.level),
        row.rounds.to_string(),
        real(Some(row.threshold_percent)),
        real(Some(row.floor_percent)),
        real(Some(row.bias_percent)),
        text(row.bias_gate.map(stats::gates::GateId::id)),
        text(row.busy.as_deref()),
    ]
}

/// A comparison between servers.
fn between(analysis: &Analysis, row: &ComparisonRow) -> Vec<String> {
    let mut cells = named(analysis, &row.phase, &row.operation, &row.arm);
    let column = row.metric.definition().column.unwrap_or_default();
    cells.extend([column.to_owned(), String::new()]);
    cells.extend(comparison_cells(row));
    cells
}
