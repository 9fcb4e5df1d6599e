//! The scatter of latency against message number: a row an arm, a panel a round.

use std::fmt::Write as _;

use super::cloud::{self, Axes, Cloud, SHADES};
use base::text::wrap;
use format;
use report::drawing::{Anchor, Drawing, Role, escape, round, short, step, ticks};
use stats::curve::{Block, Class};
use stats::descriptive::Interval;

const LEFT: f64 = 208.0;
const GAP: f64 = 12.0;
/// Class and growth, above each panel.
const HEAD: f64 = 27.0;
const BETWEEN: f64 = 17.0;
/// Title and legend need so much however few panels there are.
const WIDTH_MIN: f64 = 760.0;
/// Steps of an axis of latency, at most.
const STEPS: f64 = 4.0;
/// Columns of the reason in an empty panel, and its lines.
const REASON: (usize, usize) = (32, 5);

/// Start of the time to the consumer's hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// The program made the message.
    Made,
    /// The message was intended: in a burst, the start of the phase.
    Intended,
}

impl Since {
    /// For the title; the beginning of the time; the order of the messages.
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Made => [
                "latency of each message",
                "the program made a message",
                "in the order in which they were made",
            ],
            Self::Intended => [
                "latency since each message was intended",
                "a message was intended",
                "in the order in which they were intended, those of one moment in the order in \
                 which they arrived",
            ],
        }
    }
}

/// One arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub arm: String,
    /// Shared by its panels.
    pub axes: Axes,
    /// One a round; the same number in every row.
    pub panels: Vec<Panel>,
}

/// One round of one arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    pub round: u32,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A run with messages.
    Measured(Box<Measured>),
    /// Why there is none.
    Empty(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// None where the samples were not kept.
    pub cloud: Option<Cloud>,
    /// Class of the run's curve.
    pub class: Class,
    /// Reason for the class.
    pub reason: String,
    pub growth_us: Option<Interval>,
    pub blocks: Vec<Block>,
}

/// The picture of one phase. Pure: nothing but `rows` is drawn.
pub fn scatter(phase: &str, since: Since, rows: &[Row]) -> Drawing {
    let panels = rows.iter().map(|row| row.panels.len()).max().unwrap_or(0);
    let right = LEFT + panels as f64 * (cloud::WIDTH + GAP);
    let [what, from, order] = since.words();
    let title = format!("{phase}: {what}, against its number");
    let mut drawing = Drawing::new(&title, right.max(WIDTH_MIN));
    let words = format!(
        "Latency in ms, from the moment {from} to the moment the consumer had it. A row is an arm, \
         a panel a round. Across: the messages {order}, on one axis for all panels. Upwards: \
         latency, linear from 0, on an axis of each arm's own. Above a panel: the class of its \
         curve, the slowest message, and the growth over the run with its 95 % interval."
    );
    let mut y = drawing.head(&title, &words);
    y = legend(&mut drawing, y + 10.0, rows);
    for (number, row) in rows.iter().enumerate() {
        if number == 0 {
            rounds(&mut drawing, y + 8.0, row);
            y += 14.0;
        }
        y = draw_row(&mut drawing, y, row);
    }
    if let Some(row) = rows.last() {
        numbers(&mut drawing, y - BETWEEN + 12.0, row.axes, panels);
    } else {
        drawing.text((0.0, y + 12.0), 12.0, Role::Soft, Anchor::Start, "No arm has taken part.");
    }
    drawing.reach(drawing_end(y));
    drawing
}

fn drawing_end(y: f64) -> f64 {
    y + 26.0
}

/// Explains dots, shades, ticks and the line; answers where it ends.
fn legend(drawing: &mut Drawing, y: f64, rows: &[Row]) -> f64 {
    let clouds = || {
        let panels = rows.iter().flat_map(|row| &row.panels);
        panels.filter_map(|panel| match &panel.content {
            Content::Measured(measured) => measured.cloud.as_ref(),
            Content::Empty(_) => None,
        })
    };
    let mut x = 0.0;
    let mut item = |drawing: &mut Drawing, mark: String, words: &str| {
        drawing.raw(format_args!(r#"<g transform="translate({} {})">{mark}</g>"#, short(x), y));
        drawing.text((x + 18.0, y + 3.5), 10.5, Role::Soft, Anchor::Start, words);
        x += 18.0 + words.chars().count() as f64 * 5.6 + 16.0;
    };
    let cloud = Role::Blue.stroke();
    let dot = format!(r#"<path {cloud} stroke-width="2.6" stroke-linecap="round" d="M7 0h0"/>"#);
    item(drawing, dot, "one message");
    if clouds().any(Cloud::is_dense) {
        for (number, (_, opacity, words)) in SHADES.iter().enumerate() {
            let words = if number == 0 { format!("{words} messages") } else { (*words).to_owned() };
            let shade = format!(r#"stroke-width="9" stroke-opacity="{opacity}""#);
            let mark = format!(r#"<path {cloud} {shade} d="M2 0h12"/>"#);
            item(drawing, mark, &words);
        }
    }
    let line = format!(r#"<path {} stroke-width="1.6" d="M0 0h14"/>"#, Role::Ink.stroke());
    item(drawing, line, "medians of blocks of messages");
    if clouds().any(|cloud| cloud.beyond_axis > 0) {
        let mark = format!(r#"<path {cloud} d="M5 -3v6M9 -3v6"/>"#);
        item(drawing, mark, "slower than the axis reaches");
    }
    y + 14.0
}

fn rounds(drawing: &mut Drawing, y: f64, row: &Row) {
    for (number, panel) in row.panels.iter().enumerate() {
        let x = LEFT + number as f64 * (cloud::WIDTH + GAP);
        let text = format!("round {}", panel.round);
        drawing.text((x, y), 11.0, Role::Ink, Anchor::Start, &text);
    }
}

/// Answers where the next row begins.
fn draw_row(drawing: &mut Drawing, y: f64, row: &Row) -> f64 {
    let top = y + HEAD + cloud::STRIP;
    let end = drawing.name(LEFT - 44.0, top + 8.0, LEFT - 44.0, &row.arm);
    let ticks = ticks(0.0, row.axes.top_ms, STEPS);
    if row.panels.iter().any(|panel| matches!(panel.content, Content::Measured(_))) {
        let range = format!("0 to {} ms, linear", tick_text(row.axes.top_ms));
        drawing.text((LEFT - 44.0, end + 2.0), 10.0, Role::Soft, Anchor::End, &range);
        for ms in &ticks {
            let at = (LEFT - 6.0, top + row.axes.y(*ms) + 3.3);
            drawing.text(at, 9.5, Role::Soft, Anchor::End, &tick_text(*ms));
        }
    }
    for (number, panel) in row.panels.iter().enumerate() {
        let x = LEFT + number as f64 * (cloud::WIDTH + GAP);
        match &panel.content {
            Content::Measured(measured) => {
                draw_panel(drawing, (x, top), row, panel.round, measured, &ticks);
            }
            Content::Empty(reason) => draw_empty(drawing, (x, top), row, panel.round, reason),
        }
    }
    drawing.reach(end + 8.0);
    (top + cloud::HEIGHT + BETWEEN).max(end + BETWEEN)
}

fn draw_panel(
    drawing: &mut Drawing,
    at: (f64, f64),
    row: &Row,
    round: u32,
    measured: &Measured,
    ticks: &[f64],
) {
    let (x, top) = at;
    let (class, role) = class(measured.class);
    let title = format!("{}, round {round}: {class}; {}", row.arm, measured.reason);
    drawing.raw(format_args!("<g><title>{}</title>", escape(&title)));
    frame(drawing, at);
    let mut grid = String::new();
    for ms in ticks {
        let (x, y) = (short(x), short(top + row.axes.y(*ms)));
        let _ = write!(grid, "M{x} {y}h{}", cloud::WIDTH);
    }
    drawing.raw(format_args!(r#"<path {} d="{grid}"/>"#, Role::Grid.stroke()));
    if let Some(cloud) = &measured.cloud {
        cloud.draw(drawing, at);
    }
    medians(drawing, at, row.axes, measured, role);
    let (class_y, growth_y) = (top - cloud::STRIP - 15.0, top - cloud::STRIP - 4.0);
    drawing.text((x, class_y), 11.0, role, Anchor::Start, class);
    let slowest = match &measured.cloud {
        None => "samples not kept".to_owned(),
        Some(cloud) if cloud.beyond_axis > 0 => {
            let beyond = format::count(cloud.beyond_axis);
            format!("{beyond} above, to {} ms", format::figure(cloud.slowest_ms))
        }
        Some(cloud) => format!("slowest {} ms", format::figure(cloud.slowest_ms)),
    };
    let end = x + cloud::WIDTH;
    drawing.text((end, class_y), 9.5, Role::Soft, Anchor::End, &slowest);
    if let Some(growth) = measured.growth_us {
        let text = growth_text(growth);
        drawing.text((x, growth_y), 9.5, Role::Soft, Anchor::Start, &text);
    }
    drawing.raw(format_args!("</g>"));
}

fn frame(drawing: &mut Drawing, at: (f64, f64)) {
    let (x, y) = (short(at.0), short(at.1));
    // Filled, if with nothing to see: a pointer anywhere in it shows the panel's title.
    let size = format!(r#"width="{}" height="{}""#, cloud::WIDTH, cloud::HEIGHT);
    let look = r##"fill="#ffffff" fill-opacity="0" stroke="#dfe3df""##;
    drawing.raw(format_args!(r#"<rect class="frame" x="{x}" y="{y}" {size} {look}/>"#));
}

fn medians(drawing: &mut Drawing, at: (f64, f64), axes: Axes, measured: &Measured, role: Role) {
    let mut line = String::new();
    for block in &measured.blocks {
        let command = if line.is_empty() { 'M' } else { ' ' };
        let x = at.0 + axes.x(block.message);
        let y = at.1 + axes.y(block.latency_us / 1e3);
        let _ = write!(line, "{command}{} {}", short(x), short(y));
    }
    if line.is_empty() {
        return;
    }
    // A rim of paper, so that the line is seen on a dark cloud.
    let rim = r##"class="rim" fill="none" stroke="#ffffff" stroke-opacity="0.75""##;
    for (look, width) in [(rim, "3.2"), (role.stroke().as_str(), "1.3")] {
        drawing.raw(format_args!(
            r#"<path {look} stroke-width="{width}" stroke-linejoin="round" d="{line}"/>"#
        ));
    }
}

fn draw_empty(drawing: &mut Drawing, at: (f64, f64), row: &Row, round: u32, reason: &str) {
    let title = format!("{}, round {round}: {reason}", row.arm);
    drawing.raw(format_args!("<g><title>{}</title>", escape(&title)));
    frame(drawing, at);
    let (columns, most) = REASON;
    let mut lines = wrap(reason, columns);
    if lines.len() > most {
        lines.truncate(most);
        lines[most - 1].push_str(" …");
    }
    for (number, line) in lines.iter().enumerate() {
        let at = (at.0 + 8.0, at.1 + 15.0 + 13.0 * number as f64);
        drawing.text(at, 9.5, Role::Soft, Anchor::Start, line);
    }
    drawing.raw(format_args!("</g>"));
}

/// The axis of message numbers below the last row.
fn numbers(drawing: &mut Drawing, y: f64, axes: Axes, panels: usize) {
    let step = step(axes.messages as f64, 3.0).max(1.0);
    for panel in 0..panels {
        let left = LEFT + panel as f64 * (cloud::WIDTH + GAP);
        let mut number = 0.0;
        while number <= axes.messages as f64 {
            let x = left + axes.x(number + 0.5);
            let near_end = x > left + cloud::WIDTH - 18.0;
            let end = match number {
                0.0 => Anchor::Start,
                _ if near_end => Anchor::End,
                _ => Anchor::Middle,
            };
            drawing.text((x, y), 9.5, Role::Soft, end, &format::count(number as u64));
            number += step;
        }
    }
    let x = LEFT + (panels as f64 * (cloud::WIDTH + GAP) - GAP) / 2.0;
    drawing.text((x, y + 14.0), 10.5, Role::Soft, Anchor::Middle, "message number");
}

/// `linear`, and its colour.
fn class(class: Class) -> (&'static str, Role) {
    match class {
        Class::Flat => ("flat", Role::Green),
        Class::Linear => ("linear", Role::Red),
        Class::Logarithmic => ("logarithmic", Role::Amber),
        Class::Unclear => ("unclear", Role::Ink),
    }
}

/// `+12.3 ms (+11.9 to +12.7)`, with as many decimals as the interval supports.
fn growth_text(growth_us: Interval) -> String {
    let Interval { estimate, low, high } = growth_us.times(1e-3);
    let places = format::decimals(low, high);
    let text = |value| format::signed(value, places);
    format!("{} ms ({} to {})", text(estimate), text(low), text(high))
}

/// The upper end of an axis that has to reach `ms`: a whole number of steps.
pub(super) fn top(ms: f64) -> f64 {
    let step = step(ms, STEPS);
    round((ms / step - 1e-9).ceil().max(1.0) * step)
}

fn tick_text(ms: f64) -> String {
    if ms >= 1_000.0 { format::count(ms.round() as u64) } else { ms.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_whole_number_of_round_steps() {
        for (ms, end, steps) in [
            (0.61, 0.8, vec![0.0, 0.2, 0.4, 0.6, 0.8]),
            (0.3, 0.3, vec![0.0, 0.1, 0.2, 0.3]),
            (812.0, 1_000.0, vec![0.0, 500.0, 1_000.0]),
            (4.0, 4.0, vec![0.0, 1.0, 2.0, 3.0, 4.0]),
            (7.1, 8.0, vec![0.0, 2.0, 4.0, 6.0, 8.0]),
        ] {
            assert!((top(ms) - end).abs() < 1e-9, "{ms}");
            assert_eq!(ticks(0.0, end, STEPS), steps, "{ms}");
        }
    }

    #[test]
    fn growth_has_the_decimals_of_its_interval() {
        let growth = |estimate, low, high| growth_text(Interval { estimate, low, high });
        assert_eq!(growth(812_345.0, 799_000.0, 825_000.0), "+812 ms (+799 to +825)");
        assert_eq!(growth(-12.0, -40.0, 18.0), "-0.012 ms (-0.040 to +0.018)");
    }
}
