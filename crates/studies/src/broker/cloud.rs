//! The messages of one run, reduced to a panel's grid as soon as they are read. Never more than one
//! run is in memory.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use report::drawing::{Drawing, Role, short};

const COLUMNS: usize = 88;
const LINES: usize = 40;
/// Side of a cell, units of the picture.
const CELL: f64 = 2.0;
/// Places of single messages in a cell, each way. A quarter of a cell is less than a pixel of most
/// screens. Rounding to it cannot be seen, and equal places need no second dot.
const FINE: usize = 4;
/// Up to so many messages are drawn one by one; with more, cells are shaded by their number.
pub const POINTS_MAX: usize = 2_000;
/// Width and height of a panel, units.
pub(super) const WIDTH: f64 = COLUMNS as f64 * CELL;
pub(super) const HEIGHT: f64 = LINES as f64 * CELL;
/// Height of the strip above it for messages beyond the axis.
pub(super) const STRIP: f64 = 7.0;

/// The shades: messages in a cell, opacity, and the name in the legend. Powers of ten, the same in
/// every picture: the eye compares shades between panels.
pub(super) const SHADES: [(u32, &str, &str); 4] = [
    (2, "0.28", "2 to 9"),
    (10, "0.5", "10 to 99"),
    (100, "0.74", "100 to 999"),
    (1_000, "1", "1,000 and more"),
];

/// Shared by a row's panels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axes {
    /// Messages at the right end.
    pub messages: u64,
    /// Latency at the upper end; at the lower end it is 0.
    pub top_ms: f64,
}

impl Axes {
    /// Place of a latency from the panel's upper edge, units.
    pub(super) fn y(&self, ms: f64) -> f64 {
        HEIGHT * (1.0 - (ms / self.top_ms).clamp(0.0, 1.0))
    }

    /// Place of a message's number, counted from 1, from the panel's left edge, units.
    pub(super) fn x(&self, number: f64) -> f64 {
        WIDTH * ((number - 0.5) / self.messages.max(1) as f64).clamp(0.0, 1.0)
    }
}

/// The messages of one run on a panel's grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Cloud {
    /// Places of single messages.
    points: BTreeSet<(u16, u16)>,
    /// Messages in each cell, line by line, where they are not single; empty without density.
    cells: Vec<u32>,
    /// Places above the axis, left to right.
    beyond: BTreeSet<u16>,
    /// Messages above the axis.
    pub beyond_axis: u64,
    pub slowest_ms: f64,
}

impl Cloud {
    /// Takes the latencies in the order of the messages.
    pub fn of(latencies_ms: impl ExactSizeIterator<Item = f64>, axes: Axes) -> Self {
        let dense = latencies_ms.len() > POINTS_MAX;
        let mut cloud = Self {
            points: BTreeSet::new(),
            cells: if dense { vec![0; COLUMNS * LINES] } else { Vec::new() },
            beyond: BTreeSet::new(),
            beyond_axis: 0,
            slowest_ms: 0.0,
        };
        // The place of each cell's first message, for cells that stay single.
        let mut first = vec![(0, 0); cloud.cells.len()];
        for (number, ms) in latencies_ms.enumerate() {
            cloud.slowest_ms = cloud.slowest_ms.max(ms);
            let right = (number as f64 + 0.5) / axes.messages.max(1) as f64;
            let x = place(right, COLUMNS);
            if ms > axes.top_ms {
                cloud.beyond.insert(x);
                cloud.beyond_axis += 1;
                continue;
            }
            let y = (LINES * FINE - 1) as u16 - place(ms / axes.top_ms, LINES);
            if dense {
                let cell = usize::from(y) / FINE * COLUMNS + usize::from(x) / FINE;
                if cloud.cells[cell] == 0 {
                    first[cell] = (x, y);
                }
                cloud.cells[cell] += 1;
            } else {
                cloud.points.insert((x, y));
            }
        }
        for (cell, count) in cloud.cells.iter_mut().enumerate().filter(|(_, count)| **count == 1) {
            cloud.points.insert(first[cell]);
            *count = 0;
        }
        cloud
    }

    pub fn is_dense(&self) -> bool {
        !self.cells.is_empty()
    }

    /// `at` is the panel's upper left corner.
    pub(super) fn draw(&self, drawing: &mut Drawing, at: (f64, f64)) {
        let (x, y) = at;
        let shades = self.shades();
        if shades.iter().any(|path| !path.is_empty()) {
            // Without smoothing: neighbours would show a seam between them.
            drawing.raw(format_args!(
                r#"<g {} shape-rendering="crispEdges" {}>"#,
                Role::Blue.stroke(),
                at_scale(x, y + CELL / 2.0, CELL)
            ));
            for (path, (_, opacity, _)) in shades.iter().zip(SHADES) {
                if !path.is_empty() {
                    drawing.raw(format_args!(r#"<path stroke-opacity="{opacity}" d="{path}"/>"#));
                }
            }
            drawing.raw(format_args!("</g>"));
        }
        if !self.points.is_empty() {
            drawing.raw(format_args!(
                r#"<path {} stroke-width="2.6" stroke-linecap="round" {} d="{}"/>"#,
                Role::Blue.stroke(),
                at_scale(x, y, CELL / FINE as f64),
                dots(&self.points)
            ));
        }
        if !self.beyond.is_empty() {
            let mut path = String::new();
            for x in &self.beyond {
                let _ = write!(path, "M{x} 0v10");
            }
            drawing.raw(format_args!(
                r#"<path {} stroke-width="2" {} d="{path}"/>"#,
                Role::Blue.stroke(),
                at_scale(x, y - STRIP + 1.0, CELL / FINE as f64)
            ));
        }
    }

    /// The cells of each shade as horizontal strokes a cell wide.
    fn shades(&self) -> [String; SHADES.len()] {
        let mut paths = [const { String::new() }; SHADES.len()];
        let shade = |count: u32| SHADES.iter().rposition(|(least, _, _)| count >= *least);
        for (line, cells) in self.cells.chunks(COLUMNS).enumerate() {
            let mut column = 0;
            while column < cells.len() {
                let same =
                    cells[column..].iter().take_while(|c| shade(**c) == shade(cells[column]));
                let length = same.count();
                if let Some(shade) = shade(cells[column]) {
                    let _ = write!(paths[shade], "M{column} {line}h{length}");
                }
                column += length;
            }
        }
        paths
    }
}

/// The attribute that moves the grid's origin to (x, y), in units of the grid from then on.
fn at_scale(x: f64, y: f64, unit: f64) -> String {
    format!(r#"transform="translate({} {}) scale({unit})""#, short(x), short(y))
}

/// A part of an axis, 0 to 1, as a place on the fine grid.
fn place(part: f64, cells: usize) -> u16 {
    let places = cells * FINE;
    ((part * places as f64) as usize).min(places - 1) as u16
}

/// Round caps on strokes without length. Relative, as neighbours are near: it halves the file.
fn dots(points: &BTreeSet<(u16, u16)>) -> String {
    let mut path = String::with_capacity(points.len() * 7);
    let mut last = (0, 0);
    for &(x, y) in points {
        let (x, y) = (i32::from(x), i32::from(y));
        // A minus parts two numbers as well as a space does.
        let parted = if y < last.1 { "" } else { " " };
        let _ = write!(path, "m{}{parted}{}h0", x - last.0, y - last.1);
        last = (x, y);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: Axes = Axes { messages: 10_000, top_ms: 10.0 };

    #[test]
    fn few_messages_are_points_and_many_are_cells() {
        let few = Cloud::of(vec![1.0; POINTS_MAX].into_iter(), AXES);
        assert!(!few.is_dense());
        assert!(!few.points.is_empty());
        let many = Cloud::of(vec![1.0; POINTS_MAX + 1].into_iter(), AXES);
        assert!(many.is_dense());
        assert_eq!(many.cells.iter().sum::<u32>() as usize, POINTS_MAX + 1);
        assert!(many.points.is_empty());
    }

    #[test]
    fn a_single_slow_message_keeps_a_dot_of_its_own() {
        let mut latencies = vec![1.0; 10_000];
        latencies[5_000] = 9.99;
        latencies[2_500] = 11.0;
        let cloud = Cloud::of(latencies.into_iter(), AXES);
        assert_eq!(cloud.points, BTreeSet::from([(176, 0)]));
        assert_eq!(cloud.beyond, BTreeSet::from([88]));
        assert_eq!((cloud.beyond_axis, cloud.slowest_ms), (1, 11.0));
    }

    #[test]
    fn neighbours_of_one_shade_are_one_stroke() {
        let cloud = Cloud::of(vec![0.0; 10_000].into_iter(), AXES);
        assert_eq!(cloud.shades(), ["", "", "M0 39h88", ""]);
    }

    #[test]
    fn dots_are_relative() {
        assert_eq!(dots(&BTreeSet::from([(3, 9), (3, 4), (10, 2)])), "m3 4h0m0 5h0m7-7h0");
    }
}
