//! A driver's versions as a line: throughput in the order of releases, with intervals and steps.

use super::chart::{Chart, ChartForm, ChartLine, Places, Point};
use super::drawing::{Drawing, Role};
use super::palette::Palette;
use base::say::clean;
use judge::analysis::since::label;
use judge::analysis::types::{Analysis, ChangeRow, Metric, ResultRow, SinceRow};
use stats::descriptive::{median, median_interval};

/// Error spent on the interval around each point.
const ALPHA: f64 = 0.05;
/// Columns of a bar in the terminal.
const BAR: f64 = 32.0;

fn points(analysis: &Analysis, row: &SinceRow) -> Vec<(String, Point)> {
    let point = |version: &String| {
        let mut arms = analysis.arms.iter().filter(|arm| label(&arm.id) == row.adapter);
        let arm = arms.find(|arm| !arm.is_aa && &arm.version == version)?;
        // What a whole phase has is repeated for each of its operations.
        let own = |it: &ResultRow| [&it.operation, &it.phase].contains(&&row.operation);
        let mut results = analysis.results.iter().filter(|it| it.arm == arm.id && own(it));
        let (median, interval) = figure(row.metric, results.find(|it| it.phase == row.phase)?)?;
        Some((version.clone(), Point { median, interval }))
    };
    row.versions.iter().filter_map(point).collect()
}

fn figure(metric: Metric, it: &ResultRow) -> Option<(f64, Option<(f64, f64)>)> {
    if metric != Metric::Throughput {
        return Some((it.values.judged(metric)?, None));
    }
    let rates: Vec<f64> = it.throughput_by_round.iter().flatten().copied().collect();
    let interval = median_interval(&rates, ALPHA).map(|(low, high, _)| (low, high));
    Some((median(&rates)?, interval))
}

fn of_throughput(analysis: &Analysis) -> impl Iterator<Item = &SinceRow> {
    analysis.since.iter().filter(|row| row.metric == Metric::Throughput)
}

/// A chart for each series.
pub fn charts(analysis: &Analysis) -> Vec<Drawing> {
    let chart = |row| chart(row, &points(analysis, row));
    of_throughput(analysis).filter_map(chart).collect()
}

fn chart(row: &SinceRow, points: &[(String, Point)]) -> Option<Drawing> {
    if points.len() < 2 {
        return None;
    }
    let title = format!("{}, {}: operations a second by version", row.adapter, row.phase);
    let step = |change: &ChangeRow| {
        let after = points.iter().position(|(version, _)| *version == change.after).unwrap_or(0);
        (after, if change.change_percent > 0.0 { Role::Red } else { Role::Green })
    };
    let chart = Chart {
        caption: format!("{title}. {}", row.sentence),
        title,
        words: "Marker: median of the rounds. Line: its 95 % interval. Dashes: a step, scan only.",
        across: "version".to_owned(),
        unit: "ops/s".to_owned(),
        places: Places::Named(points.iter().map(|(version, _)| version.clone()).collect()),
        form: ChartForm::Line,
        is_log: false,
        palette: &Palette::default(),
        series: vec![ChartLine::new(
            row.adapter.clone(),
            points.iter().map(|(_, point)| Some(*point)).collect(),
        )],
        steps: row.changes.iter().map(step).collect(),
        beside: None,
    };
    chart.drawing()
}

/// Lines of the terminal, below the name of their series where there are several:
/// `4.13.0  ████████████████  8,105 (8,020 to 8,190) ops/s`.
pub fn bars(analysis: &Analysis) -> Vec<Vec<String>> {
    let several = of_throughput(analysis).nth(1).is_some();
    let named = |row: &SinceRow| {
        let name = several.then(|| clean(&format!("{}, {}", row.adapter, row.phase)));
        name.into_iter().chain(bars_of(analysis, row)).collect()
    };
    of_throughput(analysis).map(named).collect()
}

/// Bars of one series, with the figure of its metric.
pub fn bars_of(analysis: &Analysis, row: &SinceRow) -> Vec<String> {
    let points = points(analysis, row);
    let highest = points.iter().map(|(_, it)| it.median).fold(0.0, f64::max);
    let widest = points.iter().map(|(version, _)| version.chars().count()).max().unwrap_or(0);
    let bar = |(version, it): &(String, Point)| {
        let length = (BAR * it.median / highest).round() as usize;
        let (version, bar) = (clean(version), "█".repeat(length));
        // Throughput alone has an interval.
        let value = match it.interval {
            Some(_) => it.words("ops/s"),
            None => row.metric.unit().words(it.median),
        };
        format!("{version:widest$}  {bar:0$}  {value}", BAR as usize)
    };
    points.iter().map(bar).collect()
}
