//! A range of values on a range of a chart, linear or logarithmic.

use super::drawing::{short, ticks};

const STEPS: f64 = 5.0;

/// A range of values on a range of the picture.
#[derive(Clone, Copy)]
pub struct ChartScale {
    pub from: f64,
    pub to: f64,
    pub is_log: bool,
    /// Where the ends of the range are.
    pub at: (f64, f64),
}

impl ChartScale {
    fn part(&self, value: f64) -> f64 {
        let linear = |value: f64| if self.is_log { value.max(1e-12).ln() } else { value };
        (linear(value) - linear(self.from)) / (linear(self.to) - linear(self.from))
    }

    pub fn place(&self, value: f64) -> f64 {
        self.at.0 + (self.at.1 - self.at.0) * self.part(value)
    }

    pub fn ticks(&self) -> Vec<f64> {
        if !self.is_log {
            return ticks(self.from, self.to, STEPS);
        }
        let decades = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        let factors: &[f64] = if self.to / self.from > 300.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = decades.flat_map(|power| factors.iter().map(move |it| it * 10_f64.powi(power)));
        all.filter(|it| (self.from..=self.to).contains(it)).collect()
    }

    /// For the script: `from to log first last`.
    pub fn data(&self) -> String {
        let [first, last] = [self.at.0, self.at.1].map(short);
        format!("{} {} {} {first} {last}", self.from, self.to, u8::from(self.is_log))
    }
}
