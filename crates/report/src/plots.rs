//! The pictures of the page, drawn here so that it needs neither script nor library for them: the
//! intervals of a phase's comparisons, and the throughput of every round.

use super::drawing::{Drawing, escape, ticks};
use super::text::shorten;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 210.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 14.0;
const ROW: f64 = 34.0;
const AXIS: f64 = 42.0;
const LABEL_COLUMNS: usize = 27;
/// Of an axis, at most.
const STEPS: f64 = 6.0;

/// One comparison: estimate and interval in percent of time per operation.
pub struct Interval {
    pub label: String,
    pub hue: u32,
    pub is_aa: bool,
    pub estimate: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub threshold: f64,
    /// The same in words.
    pub text: String,
}

/// One arm's throughput in every round; None where its run is void.
pub struct Dots<'a> {
    pub label: String,
    pub hue: u32,
    pub is_aa: bool,
    pub values: &'a [Option<f64>],
    pub median: Option<f64>,
}

/// A linear map of a range to the picture's width.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn x(&self, value: f64) -> f64 {
        let part = (value - self.low) / (self.high - self.low);
        LEFT + part.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }
}

/// Estimates and intervals against the threshold band; empty where no comparison has any.
///
/// The axis is logarithmic in the ratio of times: twice as slow and twice as fast are equally far
/// from zero, as in the estimator (methodology 3.2).
pub fn intervals(rows: &[Interval], phase: &str) -> String {
    let ends = |row: &Interval| Some((finite(row.low)?, finite(row.high)?, finite(row.estimate)?));
    let Some(reach) = rows
        .iter()
        .filter_map(ends)
        .flat_map(|(low, high, estimate)| [low, high, estimate].map(|v| log(v).abs()))
        .reduce(f64::max)
    else {
        return String::new();
    };
    let band = rows.iter().map(|row| log(row.threshold.abs())).fold(0.0, f64::max);
    let reach = (reach.max(1.6 * band) * 1.08).clamp(0.01, 6.0);
    let scale = Scale { low: -reach, high: reach };
    let title = format!("{phase}: change of time per operation against the baseline, in percent");
    let (mut plot, bottom) = open(rows.len(), &title);
    for (index, row) in rows.iter().enumerate() {
        let top = TOP + ROW * index as f64;
        let (from, to) = (scale.x(-log(row.threshold)), scale.x(log(row.threshold)));
        let width = to - from;
        plot.raw(format_args!(
            r#"<rect class="band" x="{from:.1}" y="{top:.1}" width="{width:.1}" height="{ROW}"/>"#
        ));
    }
    for percent in percent_ticks(reach) {
        let text = if percent == 0.0 { "0 %".to_owned() } else { format!("{percent:+} %") };
        tick(&mut plot, scale.x(log(percent)), bottom, &text, percent == 0.0);
    }
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        label(&mut plot, &row.label, y, row.is_aa);
        if let Some(ends) = ends(row) {
            bar(&mut plot, row, ends, &scale, y);
        } else {
            let (x, text) = (scale.x(0.0) + 8.0, escape(&row.text));
            plot.raw(format_args!(r#"<text class="none" x="{x:.1}" y="{y:.1}">{text}</text>"#));
        }
    }
    close(plot, bottom, "← faster · time per operation against the baseline · slower →")
}

fn bar(plot: &mut Drawing, row: &Interval, ends: (f64, f64, f64), scale: &Scale, y: f64) {
    let (low, high, estimate) = ends;
    let (low, high, middle) = (scale.x(log(low)), scale.x(log(high)), scale.x(log(estimate)));
    let (name, text) = (escape(&row.label), escape(&row.text));
    let (class, hue) = (if row.is_aa { "mark aa" } else { "mark" }, row.hue);
    let (up, down) = (y - 5.0, y + 5.0);
    plot.raw(format_args!(
        r#"<g class="{class}" style="--h:{hue}" data-arm="{name}"><title>{name}: {text}</title>"#
    ));
    plot.raw(format_args!(r#"<path d="M{low:.1} {y:.1}H{high:.1}M{low:.1} {up:.1}V{down:.1}"#));
    plot.raw(format_args!(r#"M{high:.1} {up:.1}V{down:.1}"/>"#));
    plot.raw(format_args!(r#"<circle cx="{middle:.1}" cy="{y:.1}" r="5"/></g>"#));
}

/// Throughput of every round: a dot a round, the first on top, a line at the median.
pub fn dots(rows: &[Dots], phase: &str) -> String {
    let values = || rows.iter().flat_map(|row| row.values.iter().copied().flatten());
    let values = || values().filter(|v| v.is_finite());
    let (Some(low), Some(high)) = (values().reduce(f64::min), values().reduce(f64::max)) else {
        return String::new();
    };
    // From zero where the arms are far apart; else the differences would be lost.
    let low = if low < 0.5 * high { 0.0 } else { low };
    let margin = ((high - low) * 0.06).max(high.abs() * 0.005).max(1e-9);
    let start = if low == 0.0 { 0.0 } else { low - margin };
    let scale = Scale { low: start, high: high + margin };
    let title = format!("{phase}: operations per second in every round");
    let (mut plot, bottom) = open(rows.len(), &title);
    for value in ticks(scale.low, scale.high, STEPS) {
        tick(&mut plot, scale.x(value), bottom, &figures::figure(value), value == 0.0);
    }
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        label(&mut plot, &row.label, y, row.is_aa);
        strip(&mut plot, row, &scale, y);
    }
    close(plot, bottom, "operations per second; one dot a round, the first on top")
}

fn strip(plot: &mut Drawing, row: &Dots, scale: &Scale, y: f64) {
    let (class, hue) = (if row.is_aa { "mark aa" } else { "mark" }, row.hue);
    let name = escape(&row.label);
    plot.raw(format_args!(r#"<g class="{class}" style="--h:{hue}" data-arm="{name}">"#));
    if let Some(median) = finite(row.median) {
        let (x, up, down) = (scale.x(median), y - 13.0, y + 13.0);
        plot.raw(format_args!(r#"<path class="median" d="M{x:.1} {up:.1}V{down:.1}"/>"#));
    }
    let steps = row.values.len().max(2) - 1;
    for (index, value) in row.values.iter().enumerate() {
        let Some(value) = finite(*value) else { continue };
        let x = scale.x(value);
        let y = y - 10.0 + 20.0 * index as f64 / steps as f64;
        let (round, text) = (index + 1, figures::figure(value));
        let title = format!("{name}, round {round}: {text} ops/s");
        plot.raw(format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="3">"#));
        plot.raw(format_args!("<title>{title}</title></circle>"));
    }
    plot.raw(format_args!("</g>"));
}

/// An empty plot, and where its rows end.
fn open(rows: usize, title: &str) -> (Drawing, f64) {
    let mut plot = Drawing::new(title, WIDTH);
    let bottom = TOP + ROW * rows as f64;
    plot.reach(bottom + AXIS);
    (plot, bottom)
}

fn close(mut plot: Drawing, bottom: f64, caption: &str) -> String {
    let (x, y) = (LEFT + (WIDTH - LEFT - RIGHT) / 2.0, bottom + 36.0);
    let caption = escape(caption);
    plot.raw(format_args!(r#"<text class="caption" x="{x:.1}" y="{y:.1}">{caption}</text>"#));
    plot.inline("plot")
}

fn label(plot: &mut Drawing, text: &str, y: f64, is_aa: bool) {
    let class = if is_aa { "name aa" } else { "name" };
    let (short, full) = (escape(&shorten(text, LABEL_COLUMNS)), escape(text));
    let x = LEFT - 12.0;
    plot.raw(format_args!(
        r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{short}<title>{full}</title></text>"#
    ));
}

fn tick(plot: &mut Drawing, x: f64, bottom: f64, text: &str, strong: bool) {
    let class = if strong { "zero" } else { "grid" };
    let (y, text) = (bottom + 16.0, escape(text));
    plot.raw(format_args!(r#"<path class="{class}" d="M{x:.1} {TOP}V{bottom:.1}"/>"#));
    plot.raw(format_args!(r#"<text class="tick" x="{x:.1}" y="{y:.1}">{text}</text>"#));
}

/// ln of the ratio a change in percent stands for.
fn log(percent: f64) -> f64 {
    (1.0 + (percent / 100.0).max(-0.999)).ln()
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|v| v.is_finite())
}

/// Percentages to name on an axis that reaches `reach` in ln of the ratio to either side.
fn percent_ticks(reach: f64) -> Vec<f64> {
    let far = (reach.exp() - 1.0) * 100.0;
    if far < 60.0 {
        return ticks(-far.min(99.0), far, STEPS)
            .into_iter()
            .filter(|p| log(*p).abs() <= reach)
            .collect();
    }
    let steps: &[f64] = match far {
        f if f < 250.0 => &[25.0, 50.0, 100.0, 200.0],
        f if f < 1_500.0 => &[50.0, 100.0, 300.0, 900.0],
        _ => &[100.0, 900.0, 9_900.0],
    };
    let slower = steps.iter().copied();
    // The mirror of +100 % (twice the time) is -50 % (half of it).
    let faster = steps.iter().map(|p| -100.0 * p / (100.0 + p)).map(|p| (p * 10.0).round() / 10.0);
    let mut all: Vec<f64> = std::iter::once(0.0).chain(slower).chain(faster).collect();
    all.retain(|p| log(*p).abs() <= reach);
    all.sort_by(f64::total_cmp);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_axes_mirror_ratios() {
        assert_eq!(percent_ticks(1.2), [-66.7, -50.0, -33.3, -20.0, 0.0, 25.0, 50.0, 100.0, 200.0]);
    }

    #[test]
    fn nothing_to_draw_is_no_picture() {
        assert_eq!(intervals(&[], "find_one"), "");
        assert_eq!(dots(&[], "find_one"), "");
    }
}
