//! The plots of the page and the picture: a row an arm, its interval against the baseline or its
//! throughput in every round. The page needs neither script nor library for them.

use super::axis::Axis;
use super::drawing::{Anchor, Drawing, Role, escape, short};
use super::palette::Palette;
use super::plot_rows::{ChangeInterval, PlotLayout, PlotMark, PlotRow, finite};
use super::view::{self, PhaseView};
use base::say::clean;
use judge::analysis::types::{Analysis, Metric, ResultRow};
use stats::verdict::Verdict;

/// Between names and plot.
const BLANK: f64 = 14.0;
/// A row on a phone.
const NARROW_ROW: f64 = 34.0;

/// The baseline, and a row a comparison of the phase.
pub fn comparisons<'a>(
    analysis: &Analysis,
    phase: &PhaseView<'a>,
    palette: &Palette,
) -> Vec<PlotRow<'a>> {
    let base = analysis.arms.first().filter(|_| !phase.verdicts.is_empty()).map(|arm| {
        let label = view::arm_label(arm);
        PlotRow {
            look: palette.look(&label),
            figures: phase.speed_of(&label).unwrap_or_default(),
            word: String::new(),
            role: Role::Ink,
            mark: PlotMark::Baseline,
            label,
        }
    });
    let compared = phase.verdicts.iter().map(|it| it.comparison).map(|c| PlotRow {
        label: view::label_of(analysis, &c.arm),
        look: palette.look(&view::label_of(analysis, &c.arm)),
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
pub fn rounds<'a>(
    analysis: &'a Analysis,
    phase: &PhaseView<'_>,
    palette: &Palette,
) -> Vec<PlotRow<'a>> {
    // Throughput is the whole phase's: the first result of each arm has it.
    let of_arm = |arm| {
        let mut results = analysis.results.iter();
        results.find(|it| it.arm == arm && clean(&it.phase) == phase.name)
    };
    let results = analysis.arms.iter().filter_map(|arm| of_arm(arm.id.as_str()));
    let row = |result: &'a ResultRow| {
        let label = view::label_of(analysis, &result.arm);
        PlotRow {
            look: palette.look(&label),
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
pub fn plot(phase: &str, rows: &[PlotRow], axis: &Axis, layout: &PlotLayout) -> Drawing {
    let text = |row: &PlotRow| format!("{} {} {}", row.label, row.word, row.figures);
    let texts: Vec<String> = rows.iter().map(text).collect();
    let mut plot = Drawing::new(&format!("{phase}: {}", texts.join("; ")), layout.width);
    if layout.top > 0.0 {
        plot.text((0.0, 14.0), 13.5, Role::Ink, Anchor::Start, phase);
    }
    let mut bottom = layout.top;
    let mut places = Vec::new();
    for row in rows {
        let (top, right) = (bottom, layout.left - BLANK);
        bottom = if layout.is_narrow {
            plot.text((12.0, top + 14.0), 12.0, Role::Ink, Anchor::Start, &row.label);
            top + NARROW_ROW
        } else {
            plot.name(right, top + 16.0, right, &row.label) - 5.0
        };
        places.push((top, bottom));
    }
    for (row, (top, bottom)) in rows.iter().zip(&places) {
        if let PlotMark::Interval(c) = &row.mark {
            band(&mut plot, (axis, layout), c, *top, *bottom);
        }
    }
    grid(&mut plot, axis, layout, bottom);
    for (row, (top, bottom)) in rows.iter().zip(&places) {
        let middle = f64::midpoint(*top, *bottom) + if layout.is_narrow { 8.0 } else { 0.0 };
        mark(&mut plot, axis, layout, row, middle);
    }
    plot
}

/// Within the darker it is SAME, beyond the paler SLOWER or FASTER.
fn band(
    plot: &mut Drawing,
    (axis, layout): (&Axis, &PlotLayout),
    c: &ChangeInterval,
    top: f64,
    bottom: f64,
) {
    let top = if layout.is_narrow { top + 18.0 } else { top };
    for (percent, opacity) in [(c.threshold_percent, 0.5), (c.floor_percent, 1.0)] {
        let (from, to) = (axis.x(layout, -percent), axis.x(layout, percent));
        let [x, y, width, height] = [from, top, to - from, bottom - top].map(short);
        let (role, size) = (Role::Band.fill(), format!(r#"width="{width}" height="{height}""#));
        plot.raw(format_args!(r#"<rect {role} opacity="{opacity}" x="{x}" y="{y}" {size}/>"#));
    }
}

fn grid(plot: &mut Drawing, axis: &Axis, layout: &PlotLayout, bottom: f64) {
    for (value, at, text) in axis.places(layout) {
        let role = if value == 0.0 { Role::Soft } else { Role::Grid };
        let [x, top, end] = [at, layout.top, bottom].map(short);
        if !layout.is_narrow {
            plot.raw(format_args!(r#"<path {} d="M{x} {top}V{end}"/>"#, role.stroke()));
        } else if value == 0.0 {
            // Lines would cross the names.
            let lines = (0..).map(|row| layout.top + 18.0 + f64::from(row) * NARROW_ROW);
            let line = |y: f64| format!("M{x} {}v{}", short(y), short(NARROW_ROW - 18.0));
            let lines: String = lines.take_while(|y| *y < bottom).map(line).collect();
            plot.raw(format_args!(r#"<path {} d="{lines}"/>"#, role.stroke()));
        }
        plot.text((at, bottom + 15.0), 10.5, Role::Soft, Anchor::Middle, text);
    }
    let [left, right] = axis.ends;
    if layout.is_narrow {
        let words = [left, right].join("  ");
        plot.text((layout.width, bottom + 15.0), 10.5, Role::Soft, Anchor::End, words.trim());
        return;
    }
    plot.text((layout.left - BLANK, bottom + 15.0), 10.5, Role::Soft, Anchor::End, left);
    plot.text((layout.figures, bottom + 15.0), 10.5, Role::Soft, Anchor::Start, right);
}

/// The interval or the rounds, and what is beside them.
fn mark(plot: &mut Drawing, axis: &Axis, layout: &PlotLayout, row: &PlotRow, y: f64) {
    let (name, class) = (escape(&row.label), row.look.class());
    plot.raw(format_args!(r#"<g class="mark {class}" data-arm="{name}">"#));
    if layout.is_narrow {
        plot.raw(format_args!("{}", row.look.marker((5.0, y - 15.0), 1.0, "")));
    }
    if let PlotMark::Baseline = row.mark {
        plot.raw(format_args!("{}", row.look.marker((axis.x(layout, 0.0), y), 1.0, "")));
    }
    if let Some((_, ends)) = row.interval() {
        let [low, middle, high] = ends.map(|percent| axis.x(layout, percent));
        let [low, high, y0, top] = [low, high, y, y - 4.5].map(short);
        line(plot, row, &format!("M{low} {y0}H{high}M{low} {top}v9M{high} {top}v9"));
        plot.raw(format_args!("{}", row.look.marker((middle, y), 1.0, "")));
    }
    if let PlotMark::Rounds(result) = &row.mark {
        if let Some(median) = finite(result.get(Metric::Throughput)) {
            let [x, top] = [axis.x(layout, median), y - 10.0].map(short);
            line(plot, row, &format!("M{x} {top}v20"));
        }
        let steps = row.rates().len().max(2) - 1;
        for (index, value) in row.rates().iter().enumerate() {
            let Some(value) = finite(*value) else { continue };
            let y = y - 8.0 + 16.0 * index as f64 / steps as f64;
            let title = format!("{name}, round {}: {} ops/s", index + 1, format::figure(value));
            let dot = row.look.marker((axis.x(layout, value), y), 0.6, &title);
            plot.raw(format_args!("{dot}"));
        }
    }
    let is_change = matches!(row.mark, PlotMark::Interval(_));
    let figures = match row.figures.split_once(", ") {
        Some((first, _)) if layout.is_narrow && !is_change => first,
        _ => &row.figures,
    };
    plot.text((layout.figures, y + 4.0), 11.5, Role::Ink, Anchor::Start, figures);
    let (at, end) = if layout.is_narrow {
        ((layout.words, y - 12.0), Anchor::End)
    } else {
        ((layout.words, y + 4.0), Anchor::Start)
    };
    plot.text(at, 11.5, row.role, end, &row.word);
    plot.raw(format_args!("</g>"));
}

fn line(plot: &mut Drawing, row: &PlotRow, d: &str) {
    plot.raw(format_args!(r#"<path {} stroke-width="2" d="{d}"/>"#, row.look.stroke()));
}
