//! One figure of a study, with its interval over the rounds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use stats::descriptive::{Interval, OverRounds, median, over_rounds};

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyCell {
    pub part: String,
    /// Phase, or the group of phases that the figure is of; empty: the whole part.
    pub phase: String,
    /// Driver; `server` where all share the figure.
    pub arm: String,
    pub metric: String,
    pub unit: String,
    /// None where nothing was measured.
    pub value: Option<Spread>,
    /// By round, where the figure is one of a round; null where its run does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_round: Vec<Option<f64>>,
    /// Whether it is a figure of the original.
    #[serde(default)]
    pub original: bool,
    /// Why nothing was measured, or a remark on what was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A figure over rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    pub median: f64,
    /// Ends of its interval, and the level of that, 0 to 1; None with one round.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub level: Option<f64>,
    /// Rounds with a value.
    pub rounds: usize,
}

impl Spread {
    pub fn over(values: &[f64]) -> Option<Self> {
        let median = median(values)?;
        Some(match over_rounds(values) {
            Some(over) => Self { median, ..Self::from(over) },
            None => Self { rounds: values.len(), ..Self::plain(median) },
        })
    }

    /// A figure without an interval.
    pub fn plain(median: f64) -> Self {
        Self { median, low: None, high: None, level: None, rounds: 0 }
    }

    pub fn interval(interval: Interval, level: f64, rounds: usize) -> Self {
        let Interval { estimate, low, high } = interval;
        Self { median: estimate, low: Some(low), high: Some(high), level: Some(level), rounds }
    }

    /// The ends of an interval that decides at this level.
    pub fn sure(&self, level: f64) -> Option<(f64, f64)> {
        if level <= 0.0 {
            return Some((self.low.unwrap_or(self.median), self.high.unwrap_or(self.median)));
        }
        let ends = self.low.zip(self.high)?;
        self.level.is_some_and(|own| own >= level).then_some(ends)
    }

    /// To that of another experiment: as wide as both intervals allow.
    pub fn to(&self, base: &Self) -> Option<Self> {
        let ends = |it: &Self| (it.low.unwrap_or(it.median), it.high.unwrap_or(it.median));
        let ((low, high), (base_low, base_high)) = (ends(self), ends(base));
        let known = self.level.or(base.level).is_some();
        let level = self.level.unwrap_or(1.0).min(base.level.unwrap_or(1.0));
        (base_low > 0.0).then(|| Self {
            median: self.median / base.median,
            low: known.then_some(low / base_high),
            high: known.then_some(high / base_low),
            level: known.then_some(level),
            rounds: self.rounds.min(base.rounds),
        })
    }

    /// `12.3 (11.0 to 13.9)`.
    pub fn text(&self, text: impl Fn(f64) -> String) -> String {
        format::with_interval(self.median, self.low.zip(self.high), text)
    }
}

impl From<OverRounds> for Spread {
    fn from(over: OverRounds) -> Self {
        Self::interval(over.median, over.level, over.rounds)
    }
}
