//! Charts of a sweep over a load: throughput and latency against it, the knee with a ring.

use super::chart::{Chart, ChartForm, ChartLine, Places, Point};
use super::drawing::Drawing;
use super::palette::Palette;
use judge::analysis::load::{LoadCurve, LoadLevel, SweptLoad};
use stats::descriptive::over_rounds;
use stats::usl::ScalingFit;

/// Points of a fitted curve.
const FIT_POINTS: u32 = 64;
/// From this factor between the loads on, the axis is logarithmic.
const LOG_FROM: f64 = 8.0;

type Figure = fn(&LoadLevel) -> Option<Point>;

/// The charts of one phase on one server, the one that shows the knee first.
pub fn charts(curves: &[LoadCurve], on: &str, palette: &Palette) -> Vec<Drawing> {
    let Some(first) = curves.first() else { return Vec::new() };
    let rate = first.load == SweptLoad::Rate;
    let times = if rate { "response time" } else { "service time" };
    let latency = |percentile: &str| format!("{}{on}: {percentile} of {times}", first.operation);
    let throughput = (format!("{}{on}: throughput", first.phase), "ops/s", THROUGHPUT);
    let p50 = (latency("p50"), "µs", P50);
    let p99 = (latency("p99"), "µs", P99);
    let order = if rate { [p50, p99, throughput] } else { [throughput, p99, p50] };
    let chart = |(title, unit, figure)| chart(curves, title, unit, figure, palette);
    order.into_iter().filter_map(chart).collect()
}

const THROUGHPUT: Figure = |level| {
    let interval = over_rounds(&level.throughputs).map(|it| (it.median.low, it.median.high));
    Some(Point { median: level.throughput(), interval })
};
const P50: Figure = |level| level.p50_us.map(Point::of);
const P99: Figure = |level| level.p99_us.map(Point::of);

fn chart(
    curves: &[LoadCurve],
    title: String,
    unit: &str,
    figure: Figure,
    palette: &Palette,
) -> Option<Drawing> {
    let mut loads: Vec<f64> =
        curves.iter().flat_map(|it| it.levels.iter().map(|level| level.load)).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    let is_time = unit != "ops/s";
    let line = |curve: &LoadCurve| {
        let level = |load: &f64| curve.levels.iter().find(|it| it.load.total_cmp(load).is_eq());
        let knee = curve.knee().map(|place| curve.levels[place].load);
        ChartLine {
            knee: loads.iter().position(|load| knee == Some(*load)),
            fit: curve.fit.filter(|_| !is_time).map_or_else(Vec::new, |fit| fitted(&fit, &loads)),
            ..ChartLine::new(
                curve.arm.clone(),
                loads.iter().map(|load| figure(level(load)?)).collect(),
            )
        }
    };
    let series: Vec<ChartLine> = curves.iter().map(line).collect();
    let words = match (is_time, series.iter().any(|it| !it.fit.is_empty())) {
        (true, _) => "All rounds together. Ring: the knee.",
        (false, true) => {
            "Marker: median of the rounds, with its interval. Curve: the USL fit. Ring: the knee."
        }
        (false, false) => "Marker: median of the rounds, with its interval. Ring: the knee.",
    };
    let said = curves.iter().flat_map(LoadCurve::sentences).collect::<Vec<_>>().join("; ");
    let across = match curves.first()?.load {
        SweptLoad::Rate => "rate asked for, ops/s",
        SweptLoad::InFlight => "operations in flight",
    };
    let is_log = loads[0] > 0.0 && loads[loads.len() - 1] / loads[0] >= LOG_FROM;
    let across = if is_log { format!("{across}, log") } else { across.to_owned() };
    let chart = Chart {
        caption: format!("{title}. Knee: {said}"),
        title,
        words,
        across,
        unit: unit.to_owned(),
        places: Places::Values { values: loads, is_log, words: load_words },
        form: ChartForm::Line,
        is_log: is_time,
        series,
        palette,
        steps: Vec::new(),
        beside: None,
    };
    chart.drawing()
}

/// `8`, `0.5`, `16,000`: counts are not measured to three digits.
fn load_words(load: f64) -> String {
    if load < 1e3 { format::trimmed(load, 2) } else { format::figure(load) }
}

fn fitted(fit: &ScalingFit, loads: &[f64]) -> Vec<(f64, f64)> {
    let (from, to) = (loads[0], loads[loads.len() - 1]);
    let at = |step: u32| from * (to / from).powf(f64::from(step) / f64::from(FIT_POINTS));
    (0..=FIT_POINTS).map(at).map(|load| (load, fit.law.throughput(load))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::usl::scaling;

    #[test]
    fn the_ring_is_around_the_knee_and_a_fit_takes_the_place_of_the_line() {
        let usual = [2e3, 3.6e3, 3.9e3, 3.9e3, 3.8e3, 3.5e3];
        let level = |(place, throughput): (usize, &f64)| LoadLevel {
            load: f64::from(1 << place),
            throughputs: vec![*throughput; 6],
            // Too few values for a percentile at the first level.
            p50_us: (place > 0).then_some(500.0 * f64::from(1 << place)),
            p99_us: None,
            place,
        };
        let levels: Vec<LoadLevel> = usual.iter().enumerate().map(level).collect();
        let points: Vec<_> = levels.iter().map(|it| (it.load, it.throughputs.clone())).collect();
        let [arm, phase, operation] = ["go", "find", "find"].map(str::to_owned);
        let fit = scaling(&points, 7);
        let curve = LoadCurve { arm, phase, operation, load: SweptLoad::InFlight, levels, fit };
        let palette = Palette::of(["go"]);
        let all: Vec<String> =
            charts(&[curve], " on absorber", &palette).iter().map(Drawing::svg).collect();
        assert_eq!(all.len(), 2, "p99 was not measured");
        let at = |svg: &str| {
            let ring = svg.split("<circle").nth(1).expect("a ring");
            ring.split("cx=\"").nth(1).and_then(|it| it.split('"').next()).map(str::to_owned)
        };
        let places = |svg: &str| {
            let at = svg.split("data-at=\"").nth(1).expect("places").split('"').next();
            at.map(|it| it.split(' ').map(str::to_owned).collect::<Vec<_>>()).expect("places")
        };
        for svg in &all {
            assert_eq!(at(svg).as_ref(), places(svg).get(1), "two in flight: {svg}");
            assert!(svg.contains(">1</text>") && svg.contains(">32</text>"), "{svg}");
        }
        let joints = |svg: &str| {
            let line = svg.split("class=\"mark").nth(1).and_then(|it| it.split("<path").nth(1));
            line.and_then(|it| it.split("/>").next()).expect("a line").matches('L').count()
        };
        assert_eq!(joints(&all[0]), FIT_POINTS as usize, "the fit alone");
        assert_eq!(joints(&all[1]), 4, "a line from point to point");
        assert!(all[0].contains("find on absorber: throughput"), "{}", all[0]);
    }
}
