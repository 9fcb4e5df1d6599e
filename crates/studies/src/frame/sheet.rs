//! The keys of `study.toml` that say what a study reads, shows and asks.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::cell::StudyCell;

/// Names of one coordinate: none for any, one, or several; `step_*` has every name that begins so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Names {
    #[default]
    Any,
    One(String),
    Several(Vec<String>),
}

impl Names {
    pub fn has(&self, name: &str) -> bool {
        let is = |known: &String| {
            known.strip_suffix('*').map_or(known == name, |start| name.starts_with(start))
        };
        match self {
            Self::Any => true,
            Self::One(known) => is(known),
            Self::Several(known) => known.iter().any(is),
        }
    }

    /// `forms or threads`.
    pub fn words(&self) -> String {
        match self {
            Self::Any => "any".to_owned(),
            Self::One(known) => known.clone(),
            Self::Several(known) => known.join(" or "),
        }
    }

    /// These, or else the only name `other`.
    fn or(&self, other: &str) -> Self {
        if *self == Self::Any { Self::One(other.to_owned()) } else { self.clone() }
    }
}

/// One of the four names that a cell is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coordinate {
    Part,
    Phase,
    Arm,
    Metric,
}

impl Coordinate {
    pub fn of(self, cell: &StudyCell) -> &str {
        match self {
            Self::Part => &cell.part,
            Self::Phase => &cell.phase,
            Self::Arm => &cell.arm,
            Self::Metric => &cell.metric,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Part => "part",
            Self::Phase => "phase",
            Self::Arm => "arm",
            Self::Metric => "metric",
        }
    }
}

/// Cells by their names. A coordinate that is left out is any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CellSelector {
    pub part: Names,
    pub phase: Names,
    /// Beside names of arms: `first` and `last` of the arms of each driver that has several.
    pub arm: Names,
    pub metric: Names,
}

impl CellSelector {
    /// A selector of part, phase, arm and metric; an empty name is any.
    pub fn of(names: [&str; 4]) -> Self {
        let [part, phase, arm, metric] = names.map(|name| match name {
            "" => Names::Any,
            name => Names::One(name.to_owned()),
        });
        Self { part, phase, arm, metric }
    }

    pub fn has(&self, cell: &StudyCell) -> bool {
        self.part.has(&cell.part)
            && self.phase.has(&cell.phase)
            && self.arm.has(&cell.arm)
            && self.metric.has(&cell.metric)
    }

    pub fn with(mut self, coordinate: Coordinate, name: &str) -> Self {
        let names = match coordinate {
            Coordinate::Part => &mut self.part,
            Coordinate::Phase => &mut self.phase,
            Coordinate::Arm => &mut self.arm,
            Coordinate::Metric => &mut self.metric,
        };
        *names = Names::One(name.to_owned());
        self
    }

    /// What it leaves out is that of the cell.
    pub fn beside(&self, cell: &StudyCell) -> Self {
        Self {
            part: self.part.or(&cell.part),
            phase: self.phase.or(&cell.phase),
            arm: self.arm.or(&cell.arm),
            metric: self.metric.or(&cell.metric),
        }
    }
}

/// `[[cells]]`: metrics that shared code reads from the parts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellSheet {
    #[serde(default)]
    pub part: Names,
    #[serde(default)]
    pub phase: Names,
    /// By their names in [`super::phase_metrics`].
    pub metrics: Vec<String>,
    /// Whether all arms share the figure: one cell of the arm `server`.
    #[serde(default)]
    pub shared: bool,
}

/// `[[originals]]`: figures of the original, of one metric and by one coordinate.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginalSheet {
    /// The arm of its cells.
    #[serde(default = "the_original")]
    pub arm: String,
    #[serde(default)]
    pub part: String,
    #[serde(default)]
    pub phase: String,
    #[serde(default)]
    pub metric: String,
    /// The coordinate whose names `values` has. Arms are those whose names begin so.
    pub by: Coordinate,
    pub values: BTreeMap<String, f64>,
    /// By arm: an option that the arms have to have.
    #[serde(default)]
    pub option: Option<String>,
    /// From the unit of the values to that of the metric.
    #[serde(default = "one")]
    pub times: f64,
}

/// `[[tables]]`: a view of the cells.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSheet {
    /// The text, in which `{}` is the name of `each`.
    pub name: String,
    /// `{metric}` is the first such figure of the table.
    #[serde(default)]
    pub about: String,
    /// Texts by the name of `each`, in the place of `about`.
    #[serde(default)]
    pub abouts: BTreeMap<String, String>,
    pub caption: String,
    /// Names that all its cells have.
    #[serde(default)]
    pub select: CellSelector,
    /// A table for each of these.
    #[serde(default)]
    pub each: Option<Coordinate>,
    /// Coordinates that distinguish rows.
    #[serde(default = "by_arm")]
    pub rows: Vec<Coordinate>,
    pub columns: Vec<ColumnSheet>,
}

/// A column, which with `select` and the names of a row leaves one cell.
#[expect(clippy::struct_excessive_bools, reason = "each is a key of study.toml")]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ColumnSheet {
    pub heading: String,
    pub part: Names,
    pub phase: Names,
    pub arm: Names,
    pub metric: Names,
    /// Whether it shows the original's figure for the row's arm.
    pub original: bool,
    /// Without intervals.
    pub median: bool,
    /// Too much for a terminal.
    pub page_only: bool,
    /// Whether it shows the remark on the cell.
    pub note: bool,
    /// The unit of its head, in the place of the metric's, and the factor to it.
    pub unit: Option<String>,
    pub times: Option<f64>,
}

/// `[[charts]]`: a line for each arm, beside a table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartSheet {
    /// The name of the table; `{}` is each table named by a part, in the title as well.
    pub table: String,
    /// The text, in which `{}` is the name of `each`.
    pub title: String,
    /// A chart for each of these.
    #[serde(default)]
    pub each: Option<Coordinate>,
    #[serde(default)]
    pub words: String,
    /// The picture's points.
    pub of: CellSelector,
    /// The metric of the same cells that goes across; none: their phases do.
    #[serde(default)]
    pub against: String,
    /// Name of the axis across.
    #[serde(default)]
    pub across: String,
    /// An upright line at this value of it.
    #[serde(default)]
    pub mark: Option<f64>,
}

/// `[[questions]]`: what is compared, and which outcome says what.
#[expect(clippy::struct_excessive_bools, reason = "each is a key of study.toml")]
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionSheet {
    pub id: String,
    /// Letter or number of the original's claim.
    #[serde(default)]
    pub claim: Option<String>,
    pub text: String,
    #[serde(default)]
    pub rule: QuestionRule,
    /// The cells that are judged.
    pub of: CellSelector,
    /// The cell that each is divided by, for `ratio`. What it leaves out is that of the other.
    #[serde(default)]
    pub to: CellSelector,
    /// Whether a `ratio` is by round, where both were measured in the same rounds.
    #[serde(default)]
    pub paired: bool,
    /// The metric that the cells of `grows` grow with, and the coordinate that is one series.
    #[serde(default)]
    pub against: String,
    #[serde(default = "by_part")]
    pub over: Coordinate,
    /// Whether the cells of `grows` are rates, and the cost is asked for.
    #[serde(default)]
    pub inverse: bool,
    /// Yes where a whole interval lies within it.
    #[serde(default)]
    pub yes: Band,
    /// No where one lies within it; left out, where one lies outside `yes`.
    #[serde(default)]
    pub no: Option<Band>,
    /// The outcome of several cells of one arm.
    #[serde(default)]
    pub settle: Settle,
    /// Whether that is the outcome of the cells of all arms, which need not agree.
    #[serde(default)]
    pub together: bool,
    /// Level of an interval that decides; 0: figures without an interval do as well.
    #[serde(default = "sure")]
    pub level: f64,
    /// Conditions without which a cell says nothing.
    #[serde(default)]
    pub needs: Vec<NeedSheet>,
    /// One sentence, in which `{}` is the number.
    pub sentence: String,
    /// Cells that are named beside each that is judged.
    #[serde(default)]
    pub evidence: Vec<CellSelector>,
    /// Parts whose doubts are its own; none: all, of which one that is void leaves the others.
    #[serde(default)]
    pub basis: Vec<String>,
    /// Runs of these parts without which there is no answer.
    #[serde(default)]
    pub weighs: Weighs,
    /// Whether it is left out where none of its cells was measured.
    #[serde(default)]
    pub optional: bool,
}

/// How a question compares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionRule {
    /// Each cell with the band.
    #[default]
    Value,
    /// The ratio of two cells with the band.
    Ratio,
    /// The exponent of growth with a metric, with the band.
    Grows,
    /// Rust of the study.
    Own,
}

/// The outcome of one arm, whose cells may have different ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settle {
    /// The unit of all its cells; where they differ, none.
    #[default]
    Agree,
    /// One yes is enough.
    Any,
    /// One no is enough.
    Every,
}

/// Runs of a part whose void comparisons take an answer back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weighs {
    /// Failures of the arms of its rows.
    #[default]
    Rows,
    /// Failures of all arms: one that is void leaves the others.
    Part,
    /// None: each arm has an answer, and its failures are one.
    Nothing,
}

/// From `above` to below `below`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    pub above: Option<f64>,
    pub below: Option<f64>,
}

impl Band {
    pub fn holds(&self, low: f64, high: f64) -> bool {
        self.above.is_none_or(|above| low >= above) && self.below.is_none_or(|below| high < below)
    }

    /// Whether an interval lies wholly on one side of it.
    pub fn excludes(&self, low: f64, high: f64) -> bool {
        self.above.is_some_and(|above| high < above) || self.below.is_some_and(|below| low >= below)
    }

    /// `0.9 to 1.1`, `above 5`.
    pub fn words(&self, text: impl Fn(f64) -> String) -> String {
        match (self.above.map(&text), self.below.map(&text)) {
            (Some(above), Some(below)) => format!("{above} to {below}"),
            (Some(above), None) => format!("{above} or more"),
            (None, Some(below)) => format!("below {below}"),
            (None, None) => "any".to_owned(),
        }
    }
}

/// A condition on a cell beside the one that is judged.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeedSheet {
    pub of: CellSelector,
    pub within: Band,
    /// Sentence where it is not met.
    pub text: String,
}

fn the_original() -> String {
    "the original".to_owned()
}

fn one() -> f64 {
    1.0
}

/// Five rounds have 0.9375, four 0.875.
fn sure() -> f64 {
    0.9
}

fn by_arm() -> Vec<Coordinate> {
    vec![Coordinate::Arm]
}

fn by_part() -> Coordinate {
    Coordinate::Part
}
