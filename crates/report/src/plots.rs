//! The plots of the page and the picture: a row an arm, its interval against the baseline or its
//! throughput in every round. The page needs neither script nor library for them.

use super::drawing::{Anchor, Drawing, Role, escape, short, ticks};
use super::view::{self, PhaseView};
use base::say::clean;
use judge::analysis::types::{Analysis, ComparisonRow, Metric, ResultRow};
use stats::verdict::Verdict;

/// Names end here, and the plot begins.
const LEFT: f64 = 200.0;
const RIGHT: f64 = LEFT + 350.0;
/// Figures and words right of the plot.
const FIGURES: f64 = RIGHT + 24.0;
const WORDS: f64 = FIGURES + 200.0;
pub const WIDTH: f64 = WORDS + 144.0;
/// The first row is below the name of the phase.
const TOP: f64 = 26.0;
/// Between names and plot.
const BLANK: f64 = 14.0;
/// Largest number of steps of an axis.
const STEPS: f64 = 6.0;
/// Between the middles of two numbers on an axis.
const APART: f64 = 46.0;

/// One arm.
pub struct PlotRow<'a> {
    pub label: String,
    pub hue: u32,
    pub is_aa: bool,
    /// Right of the plot: figures, then a word in its colour.
    pub figures: String,
    pub word: String,
    pub role: Role,
    pub mark: PlotMark<'a>,
}

pub enum PlotMark<'a> {
    Baseline,
    Interval(ChangeInterval),
    Rounds(&'a ResultRow),
}

/// A change in percent of time per operation.
pub struct ChangeInterval {
    /// Low, estimate, high; nothing is drawn where one is missing.
    pub ends: [Option<f64>; 3],
    pub threshold_percent: f64,
    pub floor_percent: f64,
}

/// A map of a range to the width of the plot. All phases of a picture share one, so that a length
/// means the same everywhere in it.
pub struct Axis {
    low: f64,
    high: f64,
    /// From a value to the linear range.
    linear: fn(f64) -> f64,
    ticks: Vec<(f64, String)>,
    /// Left and right of the numbers.
    ends: [&'static str; 2],
}

impl Axis {
    /// Axis of changes; None where no comparison has an interval.
    ///
    /// It is logarithmic in the ratio of times: twice as slow and twice as fast are equally far
    /// from zero, as in the estimator (methodology 3.2).
    pub fn of_changes<'a>(rows: impl Iterator<Item = &'a PlotRow<'a>> + Clone) -> Option<Self> {
        let compared = rows.filter_map(|row| row.interval());
        let ends = compared.clone().flat_map(|(_, ends)| ends).map(log);
        let band = compared.map(|(c, _)| 1.6 * log(c.threshold_percent)).fold(0.005, f64::max);
        let low = ends.clone().reduce(f64::min)?.min(-band).max(-6.0) * 1.04;
        let high = ends.reduce(f64::max)?.max(band).min(6.0) * 1.04;
        let text = |percent| match percent {
            0.0 => "0 %".to_owned(),
            _ => format!("{percent:+} %"),
        };
        let mut axis =
            Self { low, high, linear: log, ticks: Vec::new(), ends: ["← faster", "slower →"] };
        // Ticks closer than their texts are wide would overlap.
        for percent in percent_ticks(high.max(-low)) {
            let distance = |(other, _): &(f64, String)| (axis.x(percent) - axis.x(*other)).abs();
            let is_inside = (low..=high).contains(&log(percent));
            if is_inside && axis.ticks.iter().all(|other| distance(other) >= APART) {
                axis.ticks.push((percent, text(percent)));
            }
        }
        Some(axis)
    }

    /// Axis of operations a second; None where nothing was measured.
    pub fn of_rounds<'a>(rows: impl Iterator<Item = &'a PlotRow<'a>>) -> Option<Self> {
        let values: Vec<f64> =
            rows.flat_map(|row| row.rates().iter().filter_map(|it| finite(*it))).collect();
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        // From zero where the arms are far apart; else the differences would be lost.
        let low = if low < 0.5 * high { 0.0 } else { low };
        let margin = ((high - low) * 0.06).max(high.abs() * 0.005).max(1e-9);
        let (low, high) = (if low == 0.0 { 0.0 } else { low - margin }, high + margin);
        let text = |value| (value, format::figure(value));
        let ticks = ticks(low, high, STEPS).into_iter().map(text).collect();
        Some(Self { low, high, linear: |value| value, ticks, ends: ["", "ops/s"] })
    }

    fn x(&self, value: f64) -> f64 {
        let part = ((self.linear)(value) - self.low) / (self.high - self.low);
        LEFT + part.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }
}

impl ChangeInterval {
    pub fn of(row: &ComparisonRow) -> Self {
        Self {
            ends: match row.verdict {
                Verdict::NotComparable => [None; 3],
                _ => [row.low_percent, row.estimate_percent, row.high_percent],
            },
            threshold_percent: row.threshold_percent,
            floor_percent: row.floor_percent,
        }
    }
}

impl PlotRow<'_> {
    /// The change, and its interval with the estimate between.
    fn interval(&self) -> Option<(&ChangeInterval, [f64; 3])> {
        let PlotMark::Interval(c) = &self.mark else { return None };
        let [Some(low), Some(estimate), Some(high)] = c.ends.map(finite) else { return None };
        Some((c, [low, estimate, high]))
    }

    /// Throughput of each round; None where its run is void.
    pub fn rates(&self) -> &[Option<f64>] {
        match &self.mark {
            PlotMark::Rounds(result) => &result.throughput_by_round,
            _ => &[],
        }
    }
}

/// The baseline, and a row a comparison of the phase.
pub fn comparisons<'a>(analysis: &Analysis, phase: &PhaseView<'a>) -> Vec<PlotRow<'a>> {
    let base = analysis.arms.first().filter(|_| !phase.verdicts.is_empty()).map(|arm| {
        let label = view::arm_label(arm);
        PlotRow {
            hue: view::hue(&arm.id),
            is_aa: false,
            figures: phase.speed_of(&label).unwrap_or_default(),
            word: String::new(),
            role: Role::Ink,
            mark: PlotMark::Baseline,
            label,
        }
    });
    let compared = phase.verdicts.iter().map(|it| it.comparison).map(|c| PlotRow {
        label: view::label_of(analysis, &c.arm),
        hue: view::hue(&c.arm),
        is_aa: c.is_aa,
        figures: match c.verdict {
            Verdict::NotComparable => String::new(),
            _ => view::change(c),
        },
        word: view::verdict_text(c),
        role: Role::of_verdict(c.verdict),
        mark: PlotMark::Interval(ChangeInterval::of(c)),
    });
    base.into_iter().chain(compared).collect()
}

/// A row an arm that has results in the phase.
pub fn rounds<'a>(analysis: &'a Analysis, phase: &PhaseView<'_>) -> Vec<PlotRow<'a>> {
    // Throughput is the whole phase's: the first result of each arm has it.
    let of_arm = |arm| {
        let mut results = analysis.results.iter();
        results.find(|it| it.arm == arm && clean(&it.phase) == phase.name)
    };
    let results = analysis.arms.iter().filter_map(|arm| of_arm(arm.id.as_str()));
    let row = |result: &'a ResultRow| {
        let label = view::label_of(analysis, &result.arm);
        PlotRow {
            hue: view::hue(&result.arm),
            is_aa: view::is_aa(analysis, &result.arm),
            figures: phase.speed_of(&label).unwrap_or_default(),
            word: String::new(),
            role: Role::Blue,
            mark: PlotMark::Rounds(result),
            label,
        }
    };
    results.map(row).collect()
}

/// The rows of one phase.
pub fn plot(phase: &str, rows: &[PlotRow], axis: &Axis) -> Drawing {
    let text = |row: &PlotRow| format!("{} {} {}", row.label, row.word, row.figures);
    let texts: Vec<String> = rows.iter().map(text).collect();
    let mut plot = Drawing::new(&format!("{phase}: {}", texts.join("; ")), WIDTH);
    plot.text((0.0, 14.0), 13.5, Role::Ink, Anchor::Start, phase);
    let mut bottom = TOP;
    let mut places = Vec::new();
    for row in rows {
        let end = plot.name(LEFT - BLANK, bottom + 16.0, LEFT - BLANK, &row.label) - 5.0;
        places.push((bottom, end));
        bottom = end;
    }
    for (row, (top, bottom)) in rows.iter().zip(&places) {
        if let PlotMark::Interval(c) = &row.mark {
            band(&mut plot, axis, c, *top, *bottom);
        }
    }
    grid(&mut plot, axis, bottom);
    for (row, (top, bottom)) in rows.iter().zip(&places) {
        mark(&mut plot, axis, row, f64::midpoint(*top, *bottom));
    }
    plot
}

/// Within the darker it is SAME, beyond the paler SLOWER or FASTER.
fn band(plot: &mut Drawing, axis: &Axis, c: &ChangeInterval, top: f64, bottom: f64) {
    for (percent, opacity) in [(c.threshold_percent, 0.5), (c.floor_percent, 1.0)] {
        let (from, to) = (axis.x(-percent), axis.x(percent));
        let [x, y, width, height] = [from, top, to - from, bottom - top].map(short);
        let (role, size) = (Role::Band.fill(), format!(r#"width="{width}" height="{height}""#));
        plot.raw(format_args!(r#"<rect {role} opacity="{opacity}" x="{x}" y="{y}" {size}/>"#));
    }
}

fn grid(plot: &mut Drawing, axis: &Axis, bottom: f64) {
    for (value, text) in &axis.ticks {
        let role = if *value == 0.0 { Role::Soft } else { Role::Grid };
        let at = axis.x(*value);
        let [x, top, end] = [at, TOP, bottom].map(short);
        plot.raw(format_args!(r#"<path {} d="M{x} {top}V{end}"/>"#, role.stroke()));
        plot.text((at, bottom + 15.0), 10.5, Role::Soft, Anchor::Middle, text);
    }
    let [left, right] = axis.ends;
    plot.text((LEFT - BLANK, bottom + 15.0), 10.5, Role::Soft, Anchor::End, left);
    plot.text((FIGURES, bottom + 15.0), 10.5, Role::Soft, Anchor::Start, right);
}

/// The interval or the rounds, and what stands beside them.
fn mark(plot: &mut Drawing, axis: &Axis, row: &PlotRow, y: f64) {
    let (name, hue) = (escape(&row.label), row.hue);
    let opacity = if row.is_aa { 0.6 } else { 1.0 };
    let look = format!(r#"style="--h:{hue}" opacity="{opacity}" data-arm="{name}""#);
    plot.raw(format_args!(r#"<g class="mark" {look}>"#));
    if let PlotMark::Baseline = row.mark {
        dot(plot, row, (axis.x(0.0), y), 4.5, "");
    }
    if let Some((_, ends)) = row.interval() {
        let [low, middle, high] = ends.map(|percent| axis.x(percent));
        let [low, high, y0, top] = [low, high, y, y - 4.5].map(short);
        line(plot, row, &format!("M{low} {y0}H{high}M{low} {top}v9M{high} {top}v9"));
        dot(plot, row, (middle, y), 4.5, "");
    }
    if let PlotMark::Rounds(result) = &row.mark {
        if let Some(median) = finite(result.get(Metric::Throughput)) {
            let [x, top] = [axis.x(median), y - 10.0].map(short);
            line(plot, row, &format!("M{x} {top}v20"));
        }
        let steps = row.rates().len().max(2) - 1;
        for (index, value) in row.rates().iter().enumerate() {
            let Some(value) = finite(*value) else { continue };
            let y = y - 8.0 + 16.0 * index as f64 / steps as f64;
            let title = format!("{name}, round {}: {} ops/s", index + 1, format::figure(value));
            dot(plot, row, (axis.x(value), y), 2.5, &format!("<title>{title}</title>"));
        }
    }
    plot.text((FIGURES, y + 4.0), 11.5, Role::Ink, Anchor::Start, &row.figures);
    plot.text((WORDS, y + 4.0), 11.5, row.role, Anchor::Start, &row.word);
    plot.raw(format_args!("</g>"));
}

fn line(plot: &mut Drawing, row: &PlotRow, d: &str) {
    plot.raw(format_args!(r#"<path {} stroke-width="2" d="{d}"/>"#, row.role.stroke()));
}

fn dot(plot: &mut Drawing, row: &PlotRow, at: (f64, f64), radius: f64, title: &str) {
    let (x, y, look) = (short(at.0), short(at.1), row.role.fill());
    plot.raw(format_args!(r#"<circle {look} cx="{x}" cy="{y}" r="{radius}">{title}</circle>"#));
}

/// ln of the ratio a change in percent stands for.
fn log(percent: f64) -> f64 {
    (1.0 + (percent / 100.0).max(-0.999)).ln()
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|v| v.is_finite())
}

/// Percentages to name on an axis that reaches `reach` in ln of the ratio, first those that should
/// be named most.
fn percent_ticks(reach: f64) -> Vec<f64> {
    let far = (reach.exp() - 1.0) * 100.0;
    if far < 60.0 {
        let mut all = ticks(-far, far, STEPS);
        all.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        return all;
    }
    let steps: &[f64] = match far {
        f if f < 250.0 => &[100.0, 50.0, 25.0, 200.0],
        f if f < 1_500.0 => &[100.0, 300.0, 50.0, 900.0],
        _ => &[100.0, 900.0, 9_900.0],
    };
    // The mirror of +100 % (twice the time) is -50 % (half of it).
    let faster = |slower: f64| (-1_000.0 * slower / (100.0 + slower)).round() / 10.0;
    let sides = steps.iter().flat_map(|&slower| [slower, faster(slower)]);
    std::iter::once(0.0).chain(sides).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_axes_mirror_ratios() {
        let mut ticks = percent_ticks(1.2);
        ticks.sort_by(f64::total_cmp);
        assert_eq!(ticks, [-66.7, -50.0, -33.3, -20.0, 0.0, 25.0, 50.0, 100.0, 200.0]);
    }
}
