//! The cost of each operation against the documents, ours beside that of 2010.

use std::fmt::Write as _;

use super::cells::Series;
use super::rates::{OPERATIONS, arms};
use super::types::Rate;
use report::drawing::{Anchor, Drawing, Role, short};

const COLUMNS: usize = 3;
const WIDTH: f64 = 230.0;
const HEIGHT: f64 = 130.0;
const GAP: (f64, f64) = (28.0, 46.0);
const LEFT: f64 = 34.0;
/// Both axes reach from the smallest size to ten times as many documents, and a little further.
const REACH: f64 = 12.0;
/// The least cost that is drawn, as a part of that at the smallest size.
const LEAST: f64 = 0.5;
const COLOURS: [Role; 4] = [Role::Blue, Role::Red, Role::Green, Role::Ink];

/// Multiples of the smallest size's documents and cost.
type Points = Vec<(f64, f64)>;

/// A panel an operation; None without two sizes.
pub fn costs(all: &[Rate], series: Series) -> Option<Drawing> {
    let rates: Vec<&Rate> = all.iter().filter(|it| it.series == series).collect();
    if rates.iter().all(|it| it.millions == rates[0].millions) {
        return None;
    }
    let title = format!("{}: the cost of each operation against the documents", series.name());
    let mut drawing = Drawing::new(&title, LEFT + COLUMNS as f64 * (WIDTH + GAP.0));
    let arms = arms(all);
    let words = "Across: documents, upwards: time of an operation, both logarithmic, as multiples \
                 of those at the smallest size. Medians over the rounds.";
    let mut top = drawing.head(&title, words);
    top = legend(&mut drawing, top + 14.0, &arms) + 24.0;
    for (at, operation) in OPERATIONS.iter().enumerate() {
        let column = (at % COLUMNS) as f64;
        let row = (at / COLUMNS) as f64;
        let corner = (LEFT + column * (WIDTH + GAP.0), top + row * (HEIGHT + GAP.1));
        frame(&mut drawing, corner, operation);
        let of: Vec<&Rate> =
            rates.iter().copied().filter(|it| it.operation == *operation).collect();
        for (arm, role) in arms.iter().zip(COLOURS.iter().cycle()) {
            let own: Vec<&Rate> = of.iter().copied().filter(|it| it.arm == *arm).collect();
            let cost = |it: &Rate| Some(1.0 / it.per_s?.median.estimate);
            line(&mut drawing, corner, &points(&own, cost), *role, "");
        }
        let own: Vec<&Rate> = of.iter().copied().filter(|it| it.arm == of[0].arm).collect();
        let original = points(&own, |it| Some(1.0 / it.per_s_2010?));
        line(&mut drawing, corner, &original, Role::Soft, r#" stroke-dasharray="4 3""#);
    }
    let rows = OPERATIONS.len().div_ceil(COLUMNS) as f64;
    drawing.reach(top + rows * (HEIGHT + GAP.1));
    Some(drawing)
}

/// Answers where it ends.
fn legend(drawing: &mut Drawing, y: f64, arms: &[&str]) -> f64 {
    let mut x = LEFT;
    let mut item = |role: Role, look: &str, words: &str| {
        let (from, at) = (short(x), short(y - 3.5));
        drawing.raw(format_args!(r#"<path {}{look} d="M{from} {at}h16"/>"#, role.stroke()));
        drawing.text((x + 20.0, y), 10.5, Role::Soft, Anchor::Start, words);
        x += 20.0 + words.chars().count() as f64 * 6.0 + 14.0;
    };
    for (arm, role) in arms.iter().zip(COLOURS.iter().cycle()) {
        item(*role, "", arm);
    }
    item(Role::Soft, r#" stroke-dasharray="4 3""#, "2010");
    y
}

fn points(rates: &[&Rate], cost: impl Fn(&Rate) -> Option<f64>) -> Points {
    let mut all: Points =
        rates.iter().filter_map(|it| Some((f64::from(it.millions), cost(it)?))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(&(size, least)) = all.first() else { return all };
    all.iter().map(|(n, cost)| (n / size, cost / least)).collect()
}

fn place(corner: (f64, f64), (size, cost): (f64, f64)) -> (f64, f64) {
    let x = corner.0 + WIDTH * size.ln() / REACH.ln();
    let cost = cost.clamp(LEAST, REACH);
    (x, corner.1 + HEIGHT * (1.0 - (cost / LEAST).ln() / (REACH / LEAST).ln()))
}

fn frame(drawing: &mut Drawing, corner: (f64, f64), operation: &str) {
    let bottom = corner.1 + HEIGHT;
    drawing.text((corner.0, corner.1 - 6.0), 11.5, Role::Ink, Anchor::Start, operation);
    for multiple in [1.0, 2.0, 5.0, 10.0] {
        let words = format!("{multiple}x");
        let (across, up) = (place(corner, (multiple, LEAST)), place(corner, (1.0, multiple)));
        let grid = Role::Grid.stroke();
        let [x, y, top, left] = [across.0, up.1, corner.1, corner.0].map(short);
        drawing.raw(format_args!(r#"<path {grid} d="M{x} {top}v{HEIGHT}M{left} {y}h{WIDTH}"/>"#));
        drawing.text((across.0, bottom + 12.0), 9.5, Role::Soft, Anchor::Middle, &words);
        drawing.text((corner.0 - 4.0, up.1 + 3.0), 9.5, Role::Soft, Anchor::End, &words);
    }
}

fn line(drawing: &mut Drawing, corner: (f64, f64), points: &Points, role: Role, look: &str) {
    let mut path = String::new();
    for point in points {
        let (x, y) = place(corner, *point);
        let command = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{command}{} {}", short(x), short(y));
    }
    if points.len() > 1 {
        drawing
            .raw(format_args!(r#"<path {}{look} stroke-width="1.6" d="{path}"/>"#, role.stroke()));
    }
}
