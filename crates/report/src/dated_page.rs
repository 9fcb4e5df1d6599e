//! Experiments over time as a page: the steps in words, then a chart a line.

use std::io::{self, Write};

use super::chart::{Chart, ChartForm, ChartLine, Places, Point};
use super::dated_words::{CAUTION, cautions, name, quiet, sentences, title};
use super::drawing::{Drawing, Role};
use super::formats::Options;
use super::palette::Palette;
use super::study::{self, Column, Figure, PhaseView, Table, TableRow, View};
use base::say::clean;
use format::MISSING;
use judge::analysis::types::Metric;
use judge::over_time::{FigureLine, OnMachine, RequestOverTime};

const WORDS: &str = "Marker: an experiment. Dashes: a step.";

pub fn render(requests: &[RequestOverTime], _: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut view = View {
        title: "Experiments over time".to_owned(),
        question: "Since when is a figure another, and what changed together with it?".to_owned(),
        command: "mongodyno history".to_owned(),
        notes: vec![CAUTION.to_owned()],
        ..View::default()
    };
    for request in requests {
        let title = title(request);
        for on in &request.machines {
            let of = |line: &FigureLine| {
                let lines = sentences(line, on).into_iter();
                lines.map(|it| format!("{} {it}.", name(line))).collect::<Vec<_>>()
            };
            let mut answers: Vec<String> = on.lines.iter().flat_map(of).collect();
            answers.extend(quiet(on).into_iter().map(|it| format!("{it}.")));
            let several = request.machines.len() > 1;
            let on_machine = if several { format!(", on {}", on.machine) } else { String::new() };
            let name = clean(&format!("{title}{on_machine}"));
            view.answers.push((name.clone(), answers));
            view.phases.push(phase(name, on));
        }
        let own = cautions(request).into_iter().filter(|it| it != CAUTION);
        view.warnings.extend(own.map(|it| format!("{title}: {it}")));
    }
    view.arms = arms(requests);
    study::render(&view, out)
}

fn phase(name: String, on: &OnMachine) -> PhaseView {
    let drawn = |line: &&FigureLine| line.metric == Metric::Throughput || !line.steps.is_empty();
    let drawings =
        on.lines.iter().filter(drawn).flat_map(|line| {
            [drawing(line, on, false), drawing(line, on, true)].into_iter().flatten()
        });
    PhaseView {
        name,
        about: clean(&on.machine),
        table: table(on),
        figures: drawings.map(|it| Figure::of(&it)).collect(),
    }
}

/// The line as it is, or its cost against the arm of one version.
fn drawing(line: &FigureLine, on: &OnMachine, against: bool) -> Option<Drawing> {
    let (values, unit) = match (against, &line.relative_to) {
        (false, _) => (&line.values, line.metric.unit().symbol().to_owned()),
        (true, Some(of)) => (&line.against_percent, format!("% of {of}")),
        (true, None) => return None,
    };
    let point = |value: &Option<f64>| value.map(Point::of);
    let title = match &line.relative_to {
        Some(of) if against => format!("{}, cost against {of}", name(line)),
        _ => name(line),
    };
    let said = sentences(line, on);
    let said = if said.is_empty() { "No step.".to_owned() } else { said.join(". ") + "." };
    let role = |change: f64| if change > 0.0 { Role::Red } else { Role::Green };
    let chart = Chart {
        caption: format!("{title}. {said}"),
        title,
        words: WORDS,
        across: "experiment".to_owned(),
        unit,
        places: Places::Named(on.experiments.iter().map(|it| it.date.clone()).collect()),
        form: ChartForm::Line,
        is_log: false,
        palette: &Palette::default(),
        series: vec![ChartLine::new(line.arm.clone(), values.iter().map(point).collect())],
        steps: line.steps.iter().map(|it| (it.at, role(it.change_percent))).collect(),
        beside: None,
    };
    chart.drawing()
}

/// A row an experiment: its throughput by line.
fn table(on: &OnMachine) -> Table {
    let lines: Vec<&FigureLine> =
        on.lines.iter().filter(|line| line.metric == Metric::Throughput).collect();
    let figure = |line: &&FigureLine| {
        Column::figures(&format!("{}, {}", line.arm, line.phase), line.metric.unit().symbol())
    };
    let row = |at: usize| {
        let value = |line: &&FigureLine| line.values[at].map_or(MISSING.to_owned(), format::figure);
        TableRow { arm: on.experiments[at].date.clone(), cells: lines.iter().map(value).collect() }
    };
    Table {
        caption: "Throughput of each experiment, by date.".to_owned(),
        columns: lines.iter().map(figure).collect(),
        rows: (0..on.experiments.len()).map(row).collect(),
    }
}

/// The versions of each arm, the first and the last.
fn arms(requests: &[RequestOverTime]) -> Table {
    let mut rows: Vec<TableRow> = Vec::new();
    let lines = requests.iter().flat_map(|it| &it.machines).flat_map(|it| &it.lines);
    for line in lines {
        if rows.iter().any(|row| row.arm == line.arm) {
            continue;
        }
        let mut versions = line.versions.iter().flatten();
        let first = versions.next().cloned().unwrap_or_default();
        let last = versions.next_back().cloned().unwrap_or_else(|| first.clone());
        rows.push(TableRow { arm: line.arm.clone(), cells: vec![first, last] });
    }
    Table {
        caption: "The versions of each driver.".to_owned(),
        columns: vec![Column::words("first version"), Column::words("last version")],
        rows,
    }
}
