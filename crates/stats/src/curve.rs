//! The class of a run's curve of latency against message number (section 8.7).
//!
//! The run is cut into blocks of equal count. Their medians are fitted by `a + b g(u)`: a line, a
//! logarithm, and powers between and around them. A class is named only where an interval excludes
//! all others; everything else is `unclear`, with its reason.

mod fit;
mod message_blocks;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::descriptive::{Interval, median};
use super::overload::least_growth_us;
use fit::{Fit, Shape};
pub use message_blocks::Block;

/// Fewer messages have no class: 20 blocks of five, and a smaller block has hardly a median.
pub const MESSAGES_MIN: usize = 100;
/// In a flat run, at least this share of the blocks lies within the threshold of their median. A
/// trend of 0 alone would also be that of a hump, or of a step near the end.
const WITHIN_MIN: f64 = 0.95;
/// Share of the blocks' variance that the chosen shape must explain. A step has at most 0.75 with
/// a line and 0.65 with a logarithm, two equal steps 0.89, three 0.94.
const EXPLAINED_MIN: f64 = 0.95;

/// The class of a curve of latency against message number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Latency neither grows nor falls by more than the threshold, nor leaves that band for long.
    Flat,
    /// `a + b i`: every message waits longer than the one before it by the same time.
    Linear,
    /// `a + b ln i`: every doubling of the number costs the same time.
    Logarithmic,
    /// None of them, or more than one of them cannot be excluded.
    Unclear,
}

/// The curve of one run. Intervals are of 95 %.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// The class, by the rule of methodology 8.7.
    pub class: Class,
    /// Why, as a clause without a full stop.
    pub reason: String,
    /// Messages looked at, n.
    pub messages: u64,
    /// Median latency of the run's first tenth, us.
    pub level_us: f64,
    /// The smallest growth worth a word: 1 ms or 20 % of the level, whichever is more, us.
    pub threshold_us: f64,
    /// Growth from the middle of the first block to that of the last, us, by line or logarithm,
    /// whichever fits better. None with too few messages.
    pub growth_us: Option<Interval>,
    /// Slope of the straight line, us a message.
    pub slope_us_per_message: Option<Interval>,
    /// Time that a doubling of the message number adds, us; only of a logarithmic curve. Noise
    /// shifts the median of the strongly curved first block, by up to 2 % that the interval lacks.
    pub doubling_us: Option<Interval>,
    /// Exponent p of the best `a + b i^p` (0: the logarithm), between -1 and 3. Only of a curve
    /// that grows or falls.
    pub exponent: Option<Interval>,
    /// Share (0 to 1) of the blocks' variance that the class's shape explains. For flat and unclear
    /// that is the better of line and logarithm. None where nothing varies.
    pub explained: Option<f64>,
    /// True where latency falls by more than the threshold: there is no class for that.
    pub falls: bool,
    /// The blocks' medians, for drawing.
    pub blocks: Vec<Block>,
}

impl Curve {
    /// Classifies the latencies (us, finite; two clocks may make them negative) of all messages
    /// that arrived, in the order made.
    ///
    /// Keeps one block in memory, a tenth to a fortieth of a long run.
    pub fn of(latencies_us: impl ExactSizeIterator<Item = f64>) -> Self {
        let messages = latencies_us.len();
        let blocks = message_blocks::medians(latencies_us);
        let clean = message_blocks::without_strays(&blocks);
        let first_tenth = &clean[..clean.len().div_ceil(10).min(clean.len())];
        let level_us = median(first_tenth).unwrap_or(0.0);
        let mut curve = Self {
            class: Class::Unclear,
            reason: String::new(),
            messages: messages as u64,
            level_us,
            threshold_us: least_growth_us(level_us),
            growth_us: None,
            slope_us_per_message: None,
            doubling_us: None,
            exponent: None,
            explained: None,
            falls: false,
            blocks,
        };
        if messages < MESSAGES_MIN {
            curve.reason = format!("{messages} messages are too few, {MESSAGES_MIN} are needed");
        } else {
            curve.judge(&clean);
        }
        curve
    }

    fn judge(&mut self, clean: &[f64]) {
        let numbers: Vec<f64> = self.blocks.iter().map(|block| block.message).collect();
        let (Some(line), Some(log)) =
            (Fit::of(Shape::LINE, &numbers, clean), Fit::of(Shape::LOG, &numbers, clean))
        else {
            return;
        };
        let better = if log.unexplained < line.unexplained { &log } else { &line };
        let growth = better.growth();
        self.growth_us = Some(growth);
        let way = numbers.last().zip(numbers.first()).map_or(1.0, |(last, first)| last - first);
        self.slope_us_per_message = Some(line.growth().times(1.0 / way));
        self.explained = better.explained();
        let limit = self.threshold_us;
        if growth.low >= -limit && growth.high <= limit {
            self.judge_flat(clean);
        } else if growth.low > limit {
            self.judge_shape(&line, &log, &numbers, clean);
        } else if growth.high < -limit {
            self.falls = true;
            self.exponent = fit::exponent(&numbers, clean);
            self.reason = format!("latency falls by {}", over_the_run(growth.times(-1.0)));
        } else {
            self.reason = format!(
                "growth over the run is uncertain: {} to {} ms, with a threshold of {} ms",
                ms(growth.low),
                ms(growth.high),
                ms(limit)
            );
        }
    }

    /// The trend is within the threshold: is everything else?
    fn judge_flat(&mut self, clean: &[f64]) {
        let limit = self.threshold_us;
        let centre = median(clean).unwrap_or(0.0);
        let within = clean.iter().filter(|&&it| (it - centre).abs() <= limit).count();
        if within as f64 >= WITHIN_MIN * clean.len() as f64 {
            self.class = Class::Flat;
            self.reason = format!("no trend beyond ±{} ms over the run", ms(limit));
        } else {
            self.reason = format!(
                "no trend, but {} of {} blocks are more than {} ms off their median",
                clean.len() - within,
                clean.len(),
                ms(limit)
            );
        }
    }

    /// Latency grows: by which shape?
    fn judge_shape(&mut self, line: &Fit, log: &Fit, numbers: &[f64], clean: &[f64]) {
        let Some(exponent) = fit::exponent(numbers, clean) else { return };
        self.exponent = Some(exponent);
        let growth = self.growth_us.unwrap_or(exponent);
        let found = [(Class::Linear, Shape::LINE, line), (Class::Logarithmic, Shape::LOG, log)]
            .into_iter()
            .find(|(_, shape, _)| shape.alone_fits(exponent))
            .filter(|(class, _, fit)| {
                *class == Class::Linear || !fit::comes_to_rest(fit, numbers, clean)
            });
        let Some((class, shape, fit)) = found else {
            self.reason = format!(
                "latency grows by {}, neither as a line nor as a logarithm for certain: like \
                 i^p with p {} to {}",
                over_the_run(growth),
                format::fixed(exponent.low, 2),
                format::fixed(exponent.high, 2)
            );
            return;
        };
        self.explained = fit.explained();
        let percent = 100.0 * fit.explained().unwrap_or(0.0);
        if percent < 100.0 * EXPLAINED_MIN {
            self.reason = format!(
                "latency grows by {}, but a {} explains only {} % of it",
                over_the_run(growth),
                shape.name(),
                format::fixed(percent, 0)
            );
            return;
        }
        self.class = class;
        self.growth_us = Some(fit.growth());
        if class == Class::Logarithmic {
            self.doubling_us = Some(fit.coefficient().times(std::f64::consts::LN_2));
        }
        self.reason = format!(
            "latency grows by {}; a {} explains {} % of it, p of i^p is {} to {}",
            over_the_run(fit.growth()),
            shape.name(),
            format::fixed(percent, 1),
            format::fixed(exponent.low, 2),
            format::fixed(exponent.high, 2)
        );
    }
}

/// `12.3 (11.9 to 12.7) ms`.
fn over_the_run(growth_us: Interval) -> String {
    let Interval { estimate, low, high } = growth_us.times(1e-3);
    let places = format::decimals(low, high);
    format::with_interval(estimate, Some((low, high)), |ms| format::fixed(ms, places)) + " ms"
}

/// Milliseconds; the unit is the caller's, once for a sentence.
fn ms(time_us: f64) -> String {
    format::signed_figure(time_us / 1e3)
}
