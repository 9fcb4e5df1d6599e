//! A driver's versions as a line: throughput in the order of releases, with intervals and steps.

use super::drawing::{Anchor, Drawing, Role, short, ticks};
use super::plots::WIDTH;
use base::say::clean;
use judge::analysis::types::{Analysis, Metric, SinceRow};
use stats::descriptive::{median, median_interval};

const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = TOP + 180.0;
/// Of the interval around each point.
const ALPHA: f64 = 0.05;
/// Names of versions that fit beside each other.
const NAMES_MAX: usize = 14;
const STEPS: f64 = 5.0;
/// Columns of a bar in the terminal.
const BAR: f64 = 32.0;

struct Point {
    version: String,
    median: f64,
    /// None with too few rounds.
    interval: Option<(f64, f64)>,
}

fn points(analysis: &Analysis, row: &SinceRow) -> Vec<Point> {
    let point = |version: &String| {
        let arms = analysis.arms.iter().filter(|arm| arm.adapter == row.adapter);
        let arm = arms.into_iter().find(|arm| !arm.is_aa && &arm.version == version)?;
        let mut results = analysis.results.iter();
        let result = results.find(|it| it.arm == arm.id && it.phase == row.phase)?;
        let rates: Vec<f64> = result.throughput_by_round.iter().flatten().copied().collect();
        let interval = median_interval(&rates, ALPHA).map(|(low, high, _)| (low, high));
        Some(Point { version: version.clone(), median: median(&rates)?, interval })
    };
    row.versions.iter().filter_map(point).collect()
}

fn of_throughput(analysis: &Analysis) -> impl Iterator<Item = &SinceRow> {
    analysis.since.iter().filter(|row| row.metric == Metric::Throughput)
}

/// A chart for each series.
pub fn charts(analysis: &Analysis) -> Vec<Drawing> {
    let chart = |row| chart(row, &points(analysis, row));
    of_throughput(analysis).filter_map(chart).collect()
}

fn chart(row: &SinceRow, points: &[Point]) -> Option<Drawing> {
    let ends = points.iter().flat_map(|it| {
        let (low, high) = it.interval.unwrap_or((it.median, it.median));
        [low, high]
    });
    let highest = ends.fold(0.0, f64::max);
    if points.len() < 2 || highest <= 0.0 {
        return None;
    }
    let x = |at: usize| LEFT + (RIGHT - LEFT) * (at as f64 + 0.5) / points.len() as f64;
    let y = |rate: f64| BOTTOM - (BOTTOM - TOP) * rate / (1.05 * highest);
    let title = format!("{}, {}: operations a second by version", row.adapter, row.phase);
    let mut chart = Drawing::new(&clean(&format!("{title}. {}", row.sentence)), WIDTH);
    chart.text((0.0, 14.0), 13.5, Role::Ink, Anchor::Start, &clean(&title));
    let words = "Dot: median of the rounds. Line: its 95 % interval. Dashes: a step, scan only.";
    chart.text((0.0, 31.0), 11.0, Role::Soft, Anchor::Start, words);
    for rate in ticks(0.0, highest, STEPS) {
        let (left, right, y) = (short(LEFT), short(RIGHT), short(y(rate)));
        let stroke = Role::Grid.stroke();
        chart.raw(format_args!(r#"<path {stroke} d="M{left} {y}H{right}"/>"#));
    }
    for rate in ticks(0.0, highest, STEPS) {
        let at = (LEFT - 8.0, y(rate) + 4.0);
        chart.text(at, 11.0, Role::Soft, Anchor::End, &figures::figure(rate));
    }
    for change in &row.changes {
        let after = points.iter().position(|it| it.version == change.after).unwrap_or(0);
        let (x, top, bottom) = (short(x(after) - (x(1) - x(0)) / 2.0), short(TOP), short(BOTTOM));
        let role = if change.change_percent > 0.0 { Role::Red } else { Role::Green };
        let stroke = role.stroke();
        chart.raw(format_args!(
            r#"<path {stroke} stroke-dasharray="4 3" d="M{x} {top}V{bottom}"/>"#
        ));
    }
    let line: Vec<String> = points
        .iter()
        .enumerate()
        .map(|(at, it)| format!("{} {}", short(x(at)), short(y(it.median))))
        .collect();
    let (line, stroke) = (line.join("L"), Role::Blue.stroke());
    chart.raw(format_args!(r#"<path {stroke} d="M{line}"/>"#));
    let every = points.len().div_ceil(NAMES_MAX);
    for (at, point) in points.iter().enumerate() {
        let (x_short, fill) = (short(x(at)), Role::Blue.fill());
        if let Some((low, high)) = point.interval {
            let (low, high) = (short(y(low)), short(y(high)));
            chart.raw(format_args!(
                r#"<path {stroke} stroke-width="2" d="M{x_short} {low}V{high}"/>"#
            ));
        }
        let y = short(y(point.median));
        chart.raw(format_args!(r#"<circle {fill} cx="{x_short}" cy="{y}" r="3"/>"#));
        if at % every == 0 {
            let name = clean(&point.version);
            chart.text((x(at), BOTTOM + 16.0), 10.5, Role::Ink, Anchor::Middle, &name);
        }
    }
    chart.reach(BOTTOM + 20.0);
    Some(chart)
}

/// Lines of the terminal: `4.13.0  ████████████████  8,105 ops/s`.
pub fn bars(analysis: &Analysis) -> Vec<Vec<String>> {
    let of_row = |row| {
        let points = points(analysis, row);
        let highest = points.iter().map(|it| it.median).fold(0.0, f64::max);
        let widest = points.iter().map(|it| it.version.chars().count()).max().unwrap_or(0);
        let bar = |it: &Point| {
            let length = (BAR * it.median / highest).round() as usize;
            let (version, bar) = (clean(&it.version), "█".repeat(length));
            let rate = figures::figure(it.median);
            format!("{version:widest$}  {bar:0$}  {rate} ops/s", BAR as usize)
        };
        points.iter().map(bar).collect()
    };
    of_throughput(analysis).map(of_row).collect()
}
