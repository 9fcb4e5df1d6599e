//! Input of a plot: a row an arm, and where its parts lie across.

use super::drawing::Role;
use super::palette::ArmLook;
use judge::analysis::types::{ComparisonRow, ResultRow};
use stats::verdict::Verdict;

/// Where the parts of a plot lie across.
pub struct PlotLayout {
    /// The names end before `left`, where the plot begins.
    pub left: f64,
    pub right: f64,
    /// Figures and words right of the plot.
    pub figures: f64,
    pub words: f64,
    pub width: f64,
    /// Where the first row begins: below the name of the phase, if the picture has one.
    pub top: f64,
    /// For phones: the name and the word of a row are above its mark.
    pub is_narrow: bool,
}

/// Layout of a whole picture.
pub const WIDE: PlotLayout = PlotLayout {
    left: 200.0,
    right: 550.0,
    figures: 574.0,
    words: 774.0,
    width: WIDTH,
    top: 26.0,
    is_narrow: false,
};
pub const WIDTH: f64 = 918.0;
/// Beside the sentences of the page.
pub const BESIDE: PlotLayout = PlotLayout {
    left: 150.0,
    right: 385.0,
    figures: 405.0,
    words: 583.0,
    width: 660.0,
    top: 0.0,
    is_narrow: false,
};
/// On a phone.
pub const NARROW: PlotLayout = PlotLayout {
    left: 0.0,
    right: 164.0,
    figures: 176.0,
    words: 340.0,
    width: 340.0,
    top: 0.0,
    is_narrow: true,
};
/// One arm.
pub struct PlotRow<'a> {
    pub label: String,
    pub look: ArmLook,
    /// Right of the plot: figures, then a word in its colour.
    pub figures: String,
    pub word: String,
    pub role: Role,
    pub mark: PlotMark<'a>,
}

pub enum PlotMark<'a> {
    Baseline,
    Interval(ChangeInterval),
    Rounds(&'a ResultRow),
}

/// A change in percent of time per operation.
pub struct ChangeInterval {
    /// Low, estimate, high; nothing is drawn where one is missing.
    pub ends: [Option<f64>; 3],
    pub threshold_percent: f64,
    pub floor_percent: f64,
}

impl ChangeInterval {
    pub fn of(row: &ComparisonRow) -> Self {
        Self {
            ends: match row.verdict {
                Verdict::NotComparable => [None; 3],
                _ => [row.low_percent, row.estimate_percent, row.high_percent],
            },
            threshold_percent: row.threshold_percent,
            floor_percent: row.floor_percent,
        }
    }
}

impl PlotRow<'_> {
    /// The change, and its interval with the estimate between.
    pub fn interval(&self) -> Option<(&ChangeInterval, [f64; 3])> {
        let PlotMark::Interval(c) = &self.mark else { return None };
        let [Some(low), Some(estimate), Some(high)] = c.ends.map(finite) else { return None };
        Some((c, [low, estimate, high]))
    }

    /// Throughput of each round; None where its run is void.
    pub fn rates(&self) -> &[Option<f64>] {
        match &self.mark {
            PlotMark::Rounds(result) => &result.throughput_by_round,
            _ => &[],
        }
    }
}

pub fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|v| v.is_finite())
}
