//! Experiments over time as tables: a row a figure, and a row an experiment as Otava reads it.

use std::io::{self, Write};

use super::formats::Options;
use base::text::csv_cell;
use judge::over_time::{FigureLine, RequestOverTime};

const HEAD: [&str; 13] = [
    "request",
    "machine",
    "experiment_id",
    "started_at",
    "arm",
    "driver_version",
    "phase",
    "operation",
    "metric",
    "value",
    "relative_to",
    "against_percent",
    "step_percent",
];

fn real(value: Option<f64>) -> String {
    value.map(|it| it.to_string()).unwrap_or_default()
}

/// The name in CSV, with the unit.
fn column(line: &FigureLine) -> &'static str {
    let definition = line.metric.definition();
    definition.column.unwrap_or(definition.name)
}

/// A row for each figure of each experiment.
pub fn csv(requests: &[RequestOverTime], _: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut table = ::csv::Writer::from_writer(out);
    table.write_record(HEAD)?;
    for (number, request) in requests.iter().enumerate() {
        for on in &request.machines {
            for line in &on.lines {
                for (at, dated) in on.experiments.iter().enumerate() {
                    let step = line.steps.iter().find(|step| step.at == at);
                    let cells = [
                        (number + 1).to_string(),
                        on.machine.clone(),
                        dated.id.clone(),
                        dated.started_at.clone(),
                        line.arm.clone(),
                        line.versions[at].clone().unwrap_or_default(),
                        line.phase.clone(),
                        line.operation.clone(),
                        column(line).to_owned(),
                        real(line.values[at]),
                        line.relative_to.clone().unwrap_or_default(),
                        real(line.against_percent[at]),
                        real(step.map(|step| step.change_percent)),
                    ];
                    table.write_record(cells.iter().map(|cell| csv_cell(cell)))?;
                }
            }
        }
    }
    table.flush()
}

/// A row an experiment and a column a figure, of the request and machine with the most experiments:
/// Otava knows neither. Figures that an experiment lacks are left out: it refuses empty cells.
/// Columns are named in letters and digits, which its configuration need not quote.
pub fn otava(requests: &[RequestOverTime], _: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut table = ::csv::Writer::from_writer(out);
    let all = requests.iter().flat_map(|it| &it.machines);
    let Some(on) = all.max_by_key(|on| on.experiments.len()) else { return table.flush() };
    let plain = |line: &FigureLine| {
        let parts = [line.arm.as_str(), &line.phase, &line.operation, column(line)];
        let name = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        parts.join(".").replace('.', "__").chars().map(name).collect::<String>()
    };
    let whole = on.lines.iter().filter(|line| line.values.iter().all(Option::is_some));
    let whole: Vec<&FigureLine> = whole.collect();
    let names: Vec<String> = whole.iter().map(|line| plain(line)).collect();
    table.write_record(["time", "commit"].into_iter().chain(names.iter().map(String::as_str)))?;
    for (at, dated) in on.experiments.iter().enumerate() {
        let figures = whole.iter().map(|line| real(line.values[at]));
        let row = [dated.started_at.clone(), csv_cell(&dated.id)].into_iter().chain(figures);
        table.write_record(row.collect::<Vec<_>>())?;
    }
    table.flush()
}
