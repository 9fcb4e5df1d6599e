//! A driver's versions as a line: throughput in the order of releases, with intervals and steps.

use super::drawing::{Anchor, Drawing, Role, short, ticks};
use super::plots::WIDTH;
use base::say::clean;
use judge::analysis::since::label;
use judge::analysis::types::{Analysis, Metric, ResultRow, SinceRow};
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
    /// None with too few rounds, and for what is no figure of each round.
    interval: Option<(f64, f64)>,
}

fn points(analysis: &Analysis, row: &SinceRow) -> Vec<Point> {
    let point = |version: &String| {
        let mut arms = analysis.arms.iter().filter(|arm| label(&arm.id) == row.adapter);
        let arm = arms.find(|arm| !arm.is_aa && &arm.version == version)?;
        // What a whole phase has stands beside each of its operations.
        let own = |it: &ResultRow| [&it.operation, &it.phase].contains(&&row.operation);
        let mut results = analysis.results.iter().filter(|it| it.arm == arm.id && own(it));
        let (median, interval) = figure(row.metric, results.find(|it| it.phase == row.phase)?)?;
        Some(Point { version: version.clone(), median, interval })
    };
    row.versions.iter().filter_map(point).collect()
}

fn figure(metric: Metric, it: &ResultRow) -> Option<(f64, Option<(f64, f64)>)> {
    // Open loops are judged by response time, of which a result has two quantiles.
    let service = |quantile: Option<f64>| quantile.filter(|_| it.response_p50_us.is_none());
    let value = match metric {
        Metric::Throughput => {
            let rates: Vec<f64> = it.throughput_by_round.iter().flatten().copied().collect();
            let interval = median_interval(&rates, ALPHA).map(|(low, high, _)| (low, high));
            return Some((median(&rates)?, interval));
        }
        Metric::P50 => it.response_p50_us.or(it.p50_us),
        Metric::P90 => service(it.p90_us),
        Metric::P99 => it.response_p99_us.or(service(it.p99_us)),
        Metric::P999 => service(it.p999_us),
        Metric::CpuPerOp => it.cpu_us_per_op,
        Metric::BytesPerOp => it.bytes_per_op,
        Metric::RssPeak => it.rss_peak_bytes.map(|bytes| bytes as f64),
    };
    Some((value?, None))
}

fn words(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Throughput => format!("{} ops/s", figures::figure(value)),
        Metric::BytesPerOp | Metric::RssPeak => figures::bytes(value.round() as u64),
        _ => figures::time(value),
    }
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

/// Lines of the terminal, below the name of their series where there are several:
/// `4.13.0  ████████████████  8,105 ops/s (8,020 to 8,190)`.
pub fn bars(analysis: &Analysis) -> Vec<Vec<String>> {
    let several = of_throughput(analysis).nth(1).is_some();
    let named = |row: &SinceRow| {
        let name = several.then(|| clean(&format!("{}, {}", row.adapter, row.phase)));
        name.into_iter().chain(bars_of(analysis, row)).collect()
    };
    of_throughput(analysis).map(named).collect()
}

/// Those of one series, with the figure of its metric.
pub fn bars_of(analysis: &Analysis, row: &SinceRow) -> Vec<String> {
    let points = points(analysis, row);
    let highest = points.iter().map(|it| it.median).fold(0.0, f64::max);
    let widest = points.iter().map(|it| it.version.chars().count()).max().unwrap_or(0);
    let bar = |it: &Point| {
        let length = (BAR * it.median / highest).round() as usize;
        let (version, bar) = (clean(&it.version), "█".repeat(length));
        let value = words(row.metric, it.median);
        let interval = it.interval.map_or(String::new(), |(low, high)| {
            format!(" ({} to {})", figures::figure(low), figures::figure(high))
        });
        format!("{version:widest$}  {bar:0$}  {value}{interval}", BAR as usize)
    };
    points.iter().map(bar).collect()
}
