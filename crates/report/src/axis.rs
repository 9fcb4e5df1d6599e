//! The axis of changes and of throughput across a plot.

use super::drawing::ticks;
use super::plot_rows::{PlotLayout, PlotRow, finite};

/// Largest number of steps of an axis.
const STEPS: f64 = 6.0;
/// Between the middles of two numbers on an axis.
const APART: f64 = 46.0;

/// A map of a range to the width of the plot. All phases of a picture share one, so that a length
/// means the same everywhere in it.
pub struct Axis {
    low: f64,
    high: f64,
    /// From a value to the linear range.
    linear: fn(f64) -> f64,
    ticks: Vec<(f64, String)>,
    /// Left and right of the numbers.
    pub ends: [&'static str; 2],
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
        let inside = |percent: &f64| (low..=high).contains(&log(*percent));
        let ticks = percent_ticks(high.max(-low)).into_iter().filter(inside);
        axis.ticks = ticks.map(|percent| (percent, text(percent))).collect();
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

    pub fn x(&self, layout: &PlotLayout, value: f64) -> f64 {
        let part = ((self.linear)(value) - self.low) / (self.high - self.low);
        layout.left + part.clamp(0.0, 1.0) * (layout.right - layout.left)
    }

    /// Numbers with their places. Those closer than their texts are wide would overlap.
    pub fn places(&self, layout: &PlotLayout) -> Vec<(f64, f64, &str)> {
        let mut places: Vec<(f64, f64, &str)> = Vec::new();
        for (value, text) in &self.ticks {
            let x = self.x(layout, *value);
            if places.iter().all(|(_, other, _)| (x - other).abs() >= APART) {
                places.push((*value, x, text));
            }
        }
        places
    }
}

/// ln of the ratio a change in percent stands for.
fn log(percent: f64) -> f64 {
    (1.0 + (percent / 100.0).max(-0.999)).ln()
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
