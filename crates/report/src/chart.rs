//! The chart kit: lines, dots with intervals, densities and stacked bars over places or values. A
//! chart says its axes and units, and carries its figures, so that a script can show and save them.

use super::chart_scale::ChartScale;
use super::drawing::{Anchor, Drawing, Role, escape, name_width, short};
use super::palette::{ArmLook, Palette};
use base::say::clean;

pub const CHART_WIDTH: f64 = 620.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = CHART_WIDTH - 12.0;
const HEIGHT: f64 = 190.0;
/// Letters of the names of places that fit beside each other.
const LETTERS_MAX: usize = 84;
const LEGEND: f64 = 16.0;
/// Between the points of two series at the same place: intervals do not cover each other.
const ASIDE: f64 = 7.0;
/// Markers of a line with more points than this are on some of them only.
const MARKERS_MAX: usize = 24;

#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub median: f64,
    /// None with too few rounds, and for what is no figure of each round.
    pub interval: Option<(f64, f64)>,
}

impl Point {
    pub fn of(median: f64) -> Self {
        Self { median, interval: None }
    }

    /// `9,500 (9,100 to 9,900) ops/s`.
    pub fn words(&self, unit: &str) -> String {
        format!("{} {unit}", format::with_interval(self.median, self.interval, format::figure))
    }
}

pub struct ChartLine {
    pub name: String,
    /// One for each place; None where nothing was measured.
    pub points: Vec<Option<Point>>,
    /// A fitted curve, by the values of the places; it is drawn in place of a line from point to
    /// point.
    pub fit: Vec<(f64, f64)>,
    /// Place of the knee, which gets a ring.
    pub knee: Option<usize>,
}

impl ChartLine {
    pub fn new(name: String, points: Vec<Option<Point>>) -> Self {
        Self { name, points, fit: Vec::new(), knee: None }
    }
}

/// Places of the points, across.
pub enum Places {
    /// Each has a name, and all are equally far from the next.
    Named(Vec<String>),
    Values {
        values: Vec<f64>,
        is_log: bool,
        words: fn(f64) -> String,
    },
}

/// How the points of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartForm {
    /// Places do not follow each other.
    Dots,
    Line,
    /// A line with the area below it.
    Density,
    /// Series upon each other at each place.
    Bars,
}

pub struct Chart<'a> {
    pub title: String,
    /// Below the title.
    pub words: &'a str,
    /// For those who cannot see it.
    pub caption: String,
    /// Name of the axis across, with its unit.
    pub across: String,
    /// Unit of the axis upwards.
    pub unit: String,
    pub places: Places,
    pub form: ChartForm,
    /// Whether the axis upwards is logarithmic; else it begins at zero.
    pub is_log: bool,
    pub series: Vec<ChartLine>,
    pub palette: &'a Palette,
    /// Dashes before a place.
    pub steps: Vec<(usize, Role)>,
    /// Least and greatest value of a chart beside which it is read; both have one scale.
    pub beside: Option<(f64, f64)>,
}

impl Chart<'_> {
    /// None where nothing was measured.
    pub fn drawing(&self) -> Option<Drawing> {
        let (lowest, highest) = self.reach()?;
        let (low, high) = self.beside.unwrap_or((lowest, highest));
        let (lowest, highest) = (lowest.min(low), highest.max(high));
        let mut chart = Drawing::new(&clean(&self.caption), CHART_WIDTH);
        chart.text((0.0, 14.0), 13.5, Role::Ink, Anchor::Start, &clean(&self.title));
        let words = chart.paragraph(16.0, self.words);
        let top = self.legend(&mut chart, words) + 22.0;
        let upward = ChartScale {
            from: if self.is_log { lowest / 1.1 } else { 0.0 },
            to: highest * if self.is_log { 1.15 } else { 1.05 },
            is_log: self.is_log,
            at: (top + HEIGHT, top),
        };
        let across = self.across();
        let (x, y) = (across.data(), upward.data());
        // The script zooms into an axis of values.
        let class = match self.places {
            Places::Named(_) => "plot",
            Places::Values { .. } => "plot course",
        };
        let (names, unit) = (escape(&self.place_names().join("|")), escape(&self.unit));
        let at = (0..self.length()).map(|place| short(self.x(&across, place)));
        let at = at.collect::<Vec<_>>().join(" ");
        let data = format!(r#"data-unit="{unit}" data-places="{names}" data-at="{at}""#);
        chart.raw(format_args!(r#"<g class="{class}" data-x="{x}" data-y="{y}" {data}>"#));
        self.grid(&mut chart, &across, &upward);
        let mut below = vec![0.0; self.length()];
        for (number, series) in self.series.iter().enumerate() {
            let look = self.look(number);
            let (name, class) = (escape(&series.name), look.class());
            let values: Vec<String> = series.points.iter().map(|it| figure(it.as_ref())).collect();
            let values = values.join(" ");
            chart.raw(format_args!(
                r#"<g class="mark {class}" data-arm="{name}" data-values="{values}">"#
            ));
            match self.form {
                ChartForm::Bars => self.bars(&mut chart, number, &mut below, &across, &upward),
                _ => self.line(&mut chart, number, &across, &upward),
            }
            chart.raw(format_args!("</g>"));
        }
        chart.raw(format_args!("</g>"));
        Some(chart)
    }

    /// The least and the greatest value, with intervals and sums.
    pub fn reach(&self) -> Option<(f64, f64)> {
        let points = self.series.iter().flat_map(|series| series.points.iter().flatten());
        let ends = |point: &Point| point.interval.unwrap_or((point.median, point.median));
        let lows = points.clone().map(|point| ends(point).0).filter(|low| *low > 0.0);
        let mut highest = points.map(|point| ends(point).1).fold(0.0, f64::max);
        if self.form == ChartForm::Bars {
            let sum = |place: usize| {
                let each = self.series.iter().filter_map(|it| (*it.points.get(place)?).as_ref());
                each.map(|point| point.median).sum::<f64>()
            };
            highest = (0..self.length()).map(sum).fold(0.0, f64::max);
        }
        let fitted = self.series.iter().flat_map(|series| series.fit.iter().map(|(_, y)| *y));
        highest = fitted.fold(highest, f64::max);
        (highest > 0.0).then(|| (lows.fold(highest, f64::min), highest))
    }

    fn length(&self) -> usize {
        match &self.places {
            Places::Named(names) => names.len(),
            Places::Values { values, .. } => values.len(),
        }
    }

    fn place_names(&self) -> Vec<String> {
        match &self.places {
            Places::Named(names) => names.clone(),
            Places::Values { values, words, .. } => values.iter().map(|it| words(*it)).collect(),
        }
    }

    fn across(&self) -> ChartScale {
        let at = (LEFT, RIGHT);
        match &self.places {
            Places::Named(names) => {
                ChartScale { from: -0.5, to: names.len() as f64 - 0.5, is_log: false, at }
            }
            Places::Values { values, is_log, .. } => {
                let from = values.iter().copied().fold(f64::INFINITY, f64::min);
                let to = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let to = if to > from { to } else { from + 1.0 };
                ChartScale { from, to, is_log: *is_log, at }
            }
        }
    }

    fn look(&self, number: usize) -> ArmLook {
        match self.form {
            // Shares are no arms.
            ChartForm::Bars => ArmLook::nth(number),
            _ => self.palette.look(&self.series[number].name),
        }
    }

    fn x(&self, across: &ChartScale, place: usize) -> f64 {
        across.place(match &self.places {
            Places::Named(_) => place as f64,
            Places::Values { values, .. } => values[place],
        })
    }

    /// Markers and names of the series; returns where they end.
    fn legend(&self, chart: &mut Drawing, above: f64) -> f64 {
        if self.series.len() < 2 {
            return above;
        }
        let (mut x, mut y) = (6.0, above + LEGEND);
        for (number, series) in self.series.iter().enumerate() {
            let name = clean(&series.name);
            let width = name_width(&name, 11.0) + 28.0;
            if x > 6.0 && x + width > CHART_WIDTH {
                (x, y) = (6.0, y + LEGEND);
            }
            let class = self.look(number).class();
            chart.raw(format_args!(r#"<g class="named {class}">"#));
            chart.raw(format_args!("{}", self.look(number).marker((x, y - 4.0), 1.0, "")));
            chart.text((x + 10.0, y), 11.0, Role::Ink, Anchor::Start, &name);
            chart.raw(format_args!("</g>"));
            x += width;
        }
        y
    }

    fn line(&self, chart: &mut Drawing, number: usize, across: &ChartScale, upward: &ChartScale) {
        let (series, look) = (&self.series[number], self.look(number));
        let is_aside = matches!(self.places, Places::Named(_));
        let middle = (self.series.len() - 1) as f64 / 2.0;
        let room = (across.at.1 - across.at.0) / self.length().max(1) as f64 / 2.0;
        let step = ASIDE.min(room / self.series.len() as f64);
        let aside = if is_aside { step * (number as f64 - middle) } else { 0.0 };
        let drawn = series.points.iter().enumerate();
        let drawn =
            drawn.map(|(place, point)| point.map(|point| (self.x(across, place) + aside, point)));
        let drawn: Vec<Option<(f64, Point)>> = drawn.collect();
        let at =
            |(x, it): &(f64, Point)| format!("{} {}", short(*x), short(upward.place(it.median)));
        let fit = series.fit.iter();
        let fit =
            fit.map(|(x, y)| format!("{} {}", short(across.place(*x)), short(upward.place(*y))));
        if !series.fit.is_empty() {
            let (line, stroke) = (fit.collect::<Vec<_>>().join("L"), look.stroke());
            chart.raw(format_args!(r#"<path {stroke} stroke-width="1.6" d="M{line}"/>"#));
        }
        let is_joined = self.form != ChartForm::Dots && series.fit.is_empty();
        // A place without a figure breaks the line.
        for piece in drawn.split(Option::is_none).filter(|_| is_joined) {
            let piece: Vec<String> = piece.iter().flatten().map(at).collect();
            if piece.len() > 1 {
                let (line, stroke, dashes) = (piece.join("L"), look.stroke(), look.dashes());
                if self.form == ChartForm::Density {
                    let ends = [&piece[0], &piece[piece.len() - 1]];
                    let [first, last] = ends.map(|it| it.split(' ').next().unwrap_or_default());
                    let (fill, bottom) = (look.fill(), short(upward.at.0));
                    let area = format!("M{first} {bottom}L{line}L{last} {bottom}z");
                    chart.raw(format_args!(r#"<path {fill} opacity="0.1" d="{area}"/>"#));
                }
                let dashes = format!(r#"stroke-width="1.6" stroke-dasharray="{dashes}""#);
                chart.raw(format_args!(r#"<path {stroke} {dashes} d="M{line}"/>"#));
            }
        }
        let count = drawn.iter().flatten().count();
        let every = if count > MARKERS_MAX { count.div_ceil(6) } else { 1 };
        let knee = series.knee.and_then(|place| drawn.get(place).copied().flatten());
        if let Some((x, point)) = knee {
            let (x, y, stroke) = (short(x), short(upward.place(point.median)), look.stroke());
            let title = escape(&format!("{}: the knee", series.name));
            let ring = format!(r#"stroke-width="1.6" cx="{x}" cy="{y}" r="9""#);
            chart.raw(format_args!("<circle {stroke} {ring}><title>{title}</title></circle>"));
        }
        for (index, (x, point)) in drawn.iter().flatten().enumerate() {
            if let Some((low, high)) = point.interval {
                let [x, low, high] = [*x, upward.place(low), upward.place(high)].map(short);
                let stroke = look.stroke();
                chart.raw(format_args!(
                    r#"<path {stroke} stroke-width="2" d="M{x} {low}V{high}"/>"#
                ));
            }
            if index % every == every / 2 {
                let title = escape(&format!("{}: {}", series.name, point.words(&self.unit)));
                let marker = look.marker((*x, upward.place(point.median)), 0.75, &title);
                chart.raw(format_args!("{marker}"));
            }
        }
    }

    fn bars(
        &self,
        chart: &mut Drawing,
        number: usize,
        below: &mut [f64],
        across: &ChartScale,
        upward: &ChartScale,
    ) {
        let width = (0.6 * (across.at.1 - across.at.0) / self.length() as f64).min(64.0);
        let series = &self.series[number];
        let fill = self.look(number).fill();
        for (place, point) in series.points.iter().enumerate() {
            let Some(point) = point else { continue };
            let (bottom, top) =
                (upward.place(below[place]), upward.place(below[place] + point.median));
            below[place] += point.median;
            let x = self.x(across, place);
            let sides = [x - width / 2.0, top, width, bottom - top];
            let [left, y, across, height] = sides.map(short);
            let title = escape(&format!("{}: {}", series.name, point.words(&self.unit)));
            let size = format!(r#"x="{left}" y="{y}" width="{across}" height="{height}""#);
            chart.raw(format_args!("<rect {fill} {size}><title>{title}</title></rect>"));
            if bottom - top > 13.0 {
                let at = (x + width / 2.0 + 6.0, f64::midpoint(bottom, top) + 4.0);
                let text = format::figure(point.median);
                chart.text(at, 10.5, Role::Ink, Anchor::Start, &text);
            }
        }
    }

    /// The axes with their names, and the dashes.
    fn grid(&self, chart: &mut Drawing, across: &ChartScale, upward: &ChartScale) {
        let (bottom, top) = upward.at;
        for value in upward.ticks() {
            let y = upward.place(value);
            let (left, right, at) = (short(LEFT), short(RIGHT), short(y));
            let stroke = Role::Grid.stroke();
            chart.raw(format_args!(r#"<path {stroke} d="M{left} {at}H{right}"/>"#));
            let text = format::figure(value);
            chart.text((LEFT - 8.0, y + 4.0), 11.0, Role::Soft, Anchor::End, &text);
        }
        let unit = if self.is_log { format!("{}, log", self.unit) } else { self.unit.clone() };
        chart.text((LEFT - 8.0, top - 8.0), 11.0, Role::Soft, Anchor::Middle, &unit);
        for (place, role) in &self.steps {
            let before = self.x(across, place.saturating_sub(1));
            let x = short(f64::midpoint(self.x(across, *place), before));
            let (top, bottom, stroke) = (short(top), short(bottom), role.stroke());
            chart.raw(format_args!(
                r#"<path {stroke} stroke-dasharray="4 3" d="M{x} {top}V{bottom}"/>"#
            ));
        }
        chart.raw(format_args!(r#"<g class="places">"#));
        for (x, text) in self.names_across(across) {
            chart.text((x, bottom + 16.0), 10.5, Role::Ink, Anchor::Middle, &text);
        }
        chart.raw(format_args!("</g>"));
        let at = (f64::midpoint(LEFT, RIGHT), bottom + 33.0);
        chart.text(at, 11.0, Role::Soft, Anchor::Middle, &self.across);
    }

    fn names_across(&self, across: &ChartScale) -> Vec<(f64, String)> {
        match &self.places {
            Places::Named(names) => {
                let letters: usize = names.iter().map(|it| it.chars().count() + 2).sum();
                let every = letters.div_ceil(LETTERS_MAX).max(1);
                let names = names.iter().enumerate().filter(|(at, _)| at % every == 0);
                names.map(|(at, name)| (self.x(across, at), name.clone())).collect()
            }
            Places::Values { values, words, .. } => {
                let named = |it: f64| (across.place(it), words(it));
                let own: Vec<(f64, String)> = values.iter().map(|it| named(*it)).collect();
                let fits =
                    |pair: &[(f64, String)]| pair[1].0 - pair[0].0 > name_width(&pair[1].1, 12.0);
                if own.windows(2).all(fits) {
                    return own;
                }
                across.ticks().into_iter().map(named).collect()
            }
        }
    }
}

/// A figure for the script: `9.5e3`, with its interval `9.5e3:9.1e3:9.9e3`.
fn figure(point: Option<&Point>) -> String {
    let Some(point) = point else { return "-".to_owned() };
    let ends = point.interval.map_or_else(Vec::new, |(low, high)| vec![low, high]);
    let all = [point.median].into_iter().chain(ends).map(format::digits);
    all.collect::<Vec<_>>().join(":")
}
