//! Figures along versions, values or servers: a line for each series, with intervals.

use super::drawing::{Anchor, Drawing, LOOKS, Role, escape, short, ticks};
use super::plot_rows::WIDTH;
use base::say::clean;

const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 20.0;
const HEIGHT: f64 = 180.0;
/// Names of places that fit beside each other.
const NAMES_MAX: usize = 14;
const STEPS: f64 = 5.0;
/// A line of the legend, and the piece of line before its name.
const LEGEND: f64 = 15.0;
const PIECE: f64 = 26.0;
/// Between the points of two series at the same place: intervals do not cover each other.
const ASIDE: f64 = 7.0;

#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub median: f64,
    /// None with too few rounds, and for what is no figure of each round.
    pub interval: Option<(f64, f64)>,
}

impl Point {
    /// `9,500 (9,100 to 9,900) ops/s`.
    pub fn words(&self, unit: &str) -> String {
        format!("{} {unit}", format::with_interval(self.median, self.interval, format::figure))
    }
}

pub struct ChartLine {
    pub name: String,
    /// One for each place; None where nothing was measured.
    pub points: Vec<Option<Point>>,
}

pub struct Chart<'a> {
    pub title: String,
    /// Below the title.
    pub words: &'a str,
    /// For those who cannot see it.
    pub caption: String,
    /// Name of the axis across.
    pub across: String,
    /// Unit of the axis upwards.
    pub unit: String,
    pub places: Vec<String>,
    /// Whether one place follows another, as values do and servers do not.
    pub is_course: bool,
    pub series: Vec<ChartLine>,
    /// Dashes before a place.
    pub steps: Vec<(usize, Role)>,
}

impl Chart<'_> {
    /// None where nothing was measured.
    pub fn drawing(&self) -> Option<Drawing> {
        let points = self.series.iter().flat_map(|it| it.points.iter().flatten());
        let ends = points.map(|it| it.interval.map_or(it.median, |(_, high)| high));
        let highest = ends.fold(0.0, f64::max);
        if highest <= 0.0 {
            return None;
        }
        let mut chart = Drawing::new(&clean(&self.caption), WIDTH);
        chart.text((0.0, 14.0), 13.5, Role::Ink, Anchor::Start, &clean(&self.title));
        let legend = chart.paragraph(16.0, self.words);
        let named = if self.series.len() > 1 { self.series.len() as f64 } else { 0.0 };
        let top = legend + 24.0 + named * LEGEND;
        let y = |rate: f64| top + HEIGHT * (1.0 - rate / (1.05 * highest));
        self.grid(&mut chart, top, highest);
        for (number, series) in self.series.iter().enumerate() {
            let (role, dashes) = LOOKS[number % LOOKS.len()];
            let look = format!(r#"stroke-width="1.6" stroke-dasharray="{dashes}""#);
            let aside = ASIDE * (number as f64 - (self.series.len() - 1) as f64 / 2.0);
            if named > 0.0 {
                let at = legend + 18.0 + number as f64 * LEGEND;
                let (to, y) = (LEFT + PIECE, short(at - 4.0));
                chart.raw(format_args!(r#"<path {} {look} d="M{LEFT} {y}H{to}"/>"#, role.stroke()));
                chart.text((to + 8.0, at), 11.0, Role::Ink, Anchor::Start, &series.name);
            }
            let places = series.points.iter().enumerate();
            let drawn = places.filter_map(|(at, it)| Some((self.x(at) + aside, (*it)?)));
            let drawn: Vec<(f64, Point)> = drawn.collect();
            if self.is_course && drawn.len() > 1 {
                let at = |(x, it): &(f64, Point)| format!("{} {}", short(*x), short(y(it.median)));
                let line: Vec<String> = drawn.iter().map(at).collect();
                let (line, stroke) = (line.join("L"), role.stroke());
                chart.raw(format_args!(r#"<path {stroke} {look} d="M{line}"/>"#));
            }
            for (x, point) in &drawn {
                let x = short(*x);
                if let Some((low, high)) = point.interval {
                    let (low, high, stroke) = (short(y(low)), short(y(high)), role.stroke());
                    chart.raw(format_args!(
                        r#"<path {stroke} stroke-width="2" d="M{x} {low}V{high}"/>"#
                    ));
                }
                let (y, fill) = (short(y(point.median)), role.fill());
                let title = escape(&format!("{}: {}", series.name, point.words(&self.unit)));
                chart.raw(format_args!(
                    r#"<circle {fill} cx="{x}" cy="{y}" r="3"><title>{title}</title></circle>"#
                ));
            }
        }
        Some(chart)
    }

    fn x(&self, place: usize) -> f64 {
        LEFT + (RIGHT - LEFT) * (place as f64 + 0.5) / self.places.len() as f64
    }

    /// The axes with their names, and the dashes.
    fn grid(&self, chart: &mut Drawing, top: f64, highest: f64) {
        let (bottom, stroke) = (top + HEIGHT, Role::Grid.stroke());
        for rate in ticks(0.0, highest, STEPS) {
            let y = bottom - HEIGHT * rate / (1.05 * highest);
            let (left, right, at) = (short(LEFT), short(RIGHT), short(y));
            chart.raw(format_args!(r#"<path {stroke} d="M{left} {at}H{right}"/>"#));
            let text = format::figure(rate);
            chart.text((LEFT - 8.0, y + 4.0), 11.0, Role::Soft, Anchor::End, &text);
        }
        chart.text((LEFT - 8.0, top - 6.0), 11.0, Role::Soft, Anchor::End, &self.unit);
        for (place, role) in &self.steps {
            let x = short(self.x(*place) - (self.x(1) - self.x(0)) / 2.0);
            let (top, bottom, stroke) = (short(top), short(bottom), role.stroke());
            chart.raw(format_args!(
                r#"<path {stroke} stroke-dasharray="4 3" d="M{x} {top}V{bottom}"/>"#
            ));
        }
        let every = self.places.len().div_ceil(NAMES_MAX);
        for (at, place) in self.places.iter().enumerate().filter(|(at, _)| at % every == 0) {
            let at = (self.x(at), bottom + 16.0);
            chart.text(at, 10.5, Role::Ink, Anchor::Middle, place);
        }
        let at = (f64::midpoint(LEFT, RIGHT), bottom + 33.0);
        chart.text(at, 11.0, Role::Soft, Anchor::Middle, &self.across);
    }
}
