//! Time against size: a line for each driver.

use super::by_size::SUSPECTED_BYTES;
use super::types::Line;
use format::{count, time};
use report::drawing::{Anchor, Drawing, LOOKS, Role, name_width, short, ticks};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 240.0;
/// For the labels of the axis, and for a piece of line before a name.
const LEFT: f64 = 70.0;
const PIECE: f64 = 44.0;
const NAME_SIZE: f64 = 10.5;
const NAME_HEIGHT: f64 = 14.0;
/// None without a point.
pub fn by_size(what: &str, lines: &[(&str, &Line)]) -> Option<Drawing> {
    let points = |line: &Line| -> Vec<(f64, f64)> {
        let each = line.points.iter();
        each.filter_map(|it| Some((it.data_bytes as f64, it.time_us?.median))).collect()
    };
    let drawn: Vec<(&str, Vec<(f64, f64)>)> =
        lines.iter().map(|(arm, line)| (*arm, points(line))).collect();
    let all = || drawn.iter().flat_map(|(_, points)| points);
    let most_bytes = all().map(|(size, _)| *size).fold(0.0, f64::max);
    let most_us = all().map(|(_, time_us)| *time_us).fold(0.0, f64::max);
    if most_bytes == 0.0 || most_us == 0.0 {
        return None;
    }
    let title = format!("Time of {what} one document, against its size");
    let names = lines.iter().map(|(arm, _)| name_width(arm, NAME_SIZE));
    let right = PIECE + names.fold(0.0, f64::max);
    let mut drawing = Drawing::new(&title, LEFT + WIDTH + right);
    let words = format!(
        "Medians over the rounds, both axes linear from 0. The upright line stands at {} bytes.",
        count(SUSPECTED_BYTES)
    );
    let top = drawing.head(&title, &words) + 12.0;
    let x = |size: f64| LEFT + size / most_bytes * WIDTH;
    let y = |time_us: f64| top + HEIGHT - time_us / most_us * HEIGHT;
    let grid = Role::Grid.stroke();
    for tick in ticks(0.0, most_us, 5.0) {
        let (at, right) = (short(y(tick)), LEFT + WIDTH);
        drawing.raw(format_args!(r#"<path {grid} d="M{LEFT} {at}H{right}"/>"#));
        drawing.text((LEFT - 6.0, y(tick) + 4.0), 10.5, Role::Soft, Anchor::End, &time(tick));
    }
    let bottom = top + HEIGHT;
    for tick in ticks(0.0, most_bytes, 5.0) {
        let label = count(tick as u64);
        drawing.text((x(tick), bottom + 16.0), 10.5, Role::Soft, Anchor::Middle, &label);
    }
    let suspected = short(x(SUSPECTED_BYTES as f64));
    drawing.raw(format_args!(
        r#"<path {grid} d="M{suspected} {}V{}"/>"#,
        short(top),
        short(bottom)
    ));
    for (number, (arm, points)) in drawn.iter().enumerate() {
        let (role, dashes) = LOOKS[number % LOOKS.len()];
        let at =
            |(size, time_us): &(f64, f64)| format!("{} {}", short(x(*size)), short(y(*time_us)));
        let path: Vec<String> = points.iter().map(at).collect();
        let (stroke, path) = (role.stroke(), path.join("L"));
        let look = format!(r#"stroke-width="1.6" stroke-dasharray="{dashes}""#);
        // Ends of lines may meet: names stand in a list with a piece of their line.
        let name = top + NAME_HEIGHT * (number as f64 + 0.5);
        let (from, to) = (LEFT + WIDTH + 12.0, LEFT + WIDTH + 36.0);
        if !points.is_empty() {
            drawing.raw(format_args!(r#"<path {stroke} {look} d="M{path}"/>"#));
        }
        drawing.raw(format_args!(r#"<path {stroke} {look} d="M{from} {}H{to}"/>"#, short(name)));
        drawing.text((to + 6.0, name + 4.0), NAME_SIZE, Role::Ink, Anchor::Start, arm);
    }
    drawing.reach(bottom + 26.0);
    Some(drawing)
}
