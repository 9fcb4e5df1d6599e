//! Documents a second: of each load, and over the course of those that outgrow a cache.

use super::types::Load;
use format::{count, figure};
use report::drawing::{Anchor, Drawing, Role, short, ticks};
use stats::descriptive::median;

const LEFT: f64 = 240.0;
const WIDTH: f64 = 440.0;
/// For the figure behind the longest bar.
const RIGHT: f64 = 80.0;
const BAR: f64 = 12.0;
const ROW: f64 = 20.0;
const HEIGHT: f64 = 160.0;

/// A bar a load of one part, in the order of the plan; None where none was measured.
pub fn rates(part: &str, loads: &[Load]) -> Option<Drawing> {
    let medians = loads.iter().filter_map(|it| Some(it.documents_per_s?.median));
    let most = medians.map(|it| it.high).fold(0.0, f64::max);
    if most == 0.0 {
        return None;
    }
    let title = format!("{part}: documents a second of each load");
    let mut drawing = Drawing::new(&title, LEFT + WIDTH + RIGHT);
    let words = "Medians over the rounds, from 0; the thin line is the interval of the median.";
    let mut top = drawing.head(&title, words) + 8.0;
    let x = |rate: f64| LEFT + rate / most * WIDTH;
    for load in loads {
        let line = top + BAR - 2.0;
        drawing.text((LEFT - 8.0, line), 11.0, Role::Ink, Anchor::End, &name(load, loads));
        if let Some(rate) = load.documents_per_s.map(|it| it.median) {
            let (fill, whisker) = (Role::Band.fill(), Role::Ink.stroke());
            let (y, middle) = (short(top), short(top + BAR / 2.0));
            let (wide, low, high) =
                (short(x(rate.estimate) - LEFT), short(x(rate.low)), short(x(rate.high)));
            drawing.raw(format_args!(
                r#"<rect {fill} x="{LEFT}" y="{y}" width="{wide}" height="{BAR}"/>"#
            ));
            drawing.raw(format_args!(r#"<path {whisker} d="M{low} {middle}H{high}"/>"#));
            let at = (x(rate.high) + 8.0, line);
            drawing.text(at, 10.5, Role::Soft, Anchor::Start, &figure(rate.estimate));
        } else {
            drawing.text((LEFT, line), 10.5, Role::Soft, Anchor::Start, "not measured");
        }
        top += ROW;
    }
    drawing.reach(top);
    Some(drawing)
}

/// The rate of each twentieth of a load; None of a load that outgrows no cache.
pub fn course(load: &Load) -> Option<Drawing> {
    let parts = load.twentieths.iter().map(Vec::len).min().filter(|it| *it > 1)?;
    let of_part = |part: usize| {
        let rates: Vec<f64> = load.twentieths.iter().map(|round| round[part]).collect();
        median(&rates)
    };
    let rates = (0..parts).map(of_part).collect::<Option<Vec<f64>>>()?;
    let most = rates.iter().copied().fold(0.0, f64::max);
    let title = format!("{}, {}: documents a second over the load", load.phase, load.arm);
    let mut drawing = Drawing::new(&title, LEFT + WIDTH + RIGHT);
    let words = "Medians over the rounds in each twentieth of the load, both axes from 0.";
    let top = drawing.head(&title, words) + 8.0;
    let bottom = top + HEIGHT;
    for tick in ticks(0.0, most, 4.0) {
        let (y, right, grid) = (bottom - tick / most * HEIGHT, LEFT + WIDTH, Role::Grid.stroke());
        drawing.raw(format_args!(r#"<path {grid} d="M{LEFT} {}H{right}"/>"#, short(y)));
        let label = count(tick as u64);
        drawing.text((LEFT - 8.0, y + 4.0), 10.5, Role::Soft, Anchor::End, &label);
    }
    let at = |(part, rate): (usize, &f64)| {
        let x = LEFT + (part as f64 + 0.5) / parts as f64 * WIDTH;
        format!("{} {}", short(x), short(bottom - rate / most * HEIGHT))
    };
    let path: Vec<String> = rates.iter().enumerate().map(at).collect();
    let (stroke, path) = (Role::Blue.stroke(), path.join("L"));
    drawing.raw(format_args!(r#"<path {stroke} stroke-width="1.6" d="M{path}"/>"#));
    for (documents, anchor) in [(0, Anchor::Start), (load.documents, Anchor::End)] {
        let x = if documents == 0 { LEFT } else { LEFT + WIDTH };
        let label = format!("{} documents", count(documents));
        drawing.text((x, bottom + 16.0), 10.5, Role::Soft, anchor, &label);
    }
    drawing.reach(bottom + 22.0);
    Some(drawing)
}

/// With its driver where there are several.
fn name(load: &Load, all: &[Load]) -> String {
    if all.iter().all(|it| it.arm == load.arm) {
        return load.phase.clone();
    }
    format!("{}, {}", load.phase, load.arm)
}
