//! `--gate`: figures that an experiment has to keep, for continuous integration.
//!
//! The word of the code is objective: gates are the checks G1 to G9 of the methodology.

use base::units::{parse_bytes, parse_duration};

use crate::analysis::types::{Analysis, ComparisonRow, Metric, Objective, ObjectiveRow, ResultRow};
use record::metrics::MetricUnit;
use record::records::GateUnclear;
use stats::verdict::Verdict;

const WANTED: &str = "a gate such as 'p99 < 5ms', 'throughput >= 2000', 'errors <= 0' or \
    'slower <= 3%'";
const NO_HISTORY: &str = "no history was given; add --history FILE";
const NOTHING: &str = "nothing was measured";

impl Analysis {
    /// What a gate comes to where what is unclear counts as asked.
    pub fn counted(&self, objective: Objective) -> Objective {
        match (objective, self.gate_unclear) {
            (Objective::Open, Some(GateUnclear::Fail)) => Objective::Broken,
            (Objective::Open, Some(GateUnclear::Pass)) => Objective::Kept,
            (objective, _) => objective,
        }
    }

    /// Whether a gate that was asked for is broken (exit code 1), or one is open (125).
    pub fn has_gate(&self, objective: Objective) -> bool {
        self.objectives.iter().any(|row| self.counted(row.objective) == objective)
    }
}

/// A gate as it was written, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectiveGate {
    text: String,
    figure: GateFigure,
    relation: Relation,
    /// In the unit of the figure, or percent.
    limit: f64,
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|it: &f64| it.is_finite())
}

fn limit(unit: MetricUnit, text: &str) -> Option<f64> {
    let seconds = || parse_duration(text).ok().map(|time| time.as_secs_f64());
    match unit {
        MetricUnit::OperationsPerSecond | MetricUnit::Count => number(text),
        MetricUnit::Bytes => parse_bytes(text).ok().map(|bytes| bytes as f64),
        MetricUnit::Microseconds => seconds().map(|it| it * 1e6),
        MetricUnit::Nanoseconds => seconds().map(|it| it * 1e9),
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum GateFigure {
    /// Value of each arm by itself.
    Own(Metric),
    /// Change of each arm against the baseline, by the interval of throughput.
    Slower,
    /// Change of each arm against the experiments before this one.
    SlowerThanHistory,
}

impl GateFigure {
    /// Whether its limit is a change in percent.
    fn is_change(self) -> bool {
        matches!(self, Self::Slower | Self::SlowerThanHistory)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Relation {
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Relation {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
        }
    }
}

impl ObjectiveGate {
    /// The error is a sentence for the command line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not {WANTED}");
        let relations = [
            ("<=", Relation::AtMost),
            (">=", Relation::AtLeast),
            ("<", Relation::Below),
            (">", Relation::Above),
        ];
        let parts = relations.into_iter().find_map(|(sign, relation)| {
            text.split_once(sign).map(|(name, value)| (name.trim(), relation, value.trim()))
        });
        let (name, relation, value) = parts.ok_or_else(wrong)?;
        let percent = || value.strip_suffix('%').and_then(number);
        let (figure, limit) = match (name, Metric::named(name)) {
            ("slower", _) => (GateFigure::Slower, percent()),
            ("slower than history", _) => (GateFigure::SlowerThanHistory, percent()),
            (_, Some(metric)) => (GateFigure::Own(metric), limit(metric.unit(), value)),
            (_, None) => return Err(wrong()),
        };
        let rising = matches!(relation, Relation::Above | Relation::AtLeast);
        if figure.is_change() && rising {
            return Err(wrong());
        }
        Ok(Self { text: text.trim().to_owned(), figure, relation, limit: limit.ok_or_else(wrong)? })
    }

    /// Whether it is about arms against the baseline.
    pub fn compares(&self) -> bool {
        self.figure == GateFigure::Slower
    }

    /// Whether it is about arms against earlier experiments.
    pub fn is_of_history(&self) -> bool {
        self.figure == GateFigure::SlowerThanHistory
    }

    /// A row for each arm and operation that it is about. Where nothing was measured nothing was
    /// kept; nor where there is nothing that it is about.
    pub fn rows(&self, analysis: &Analysis) -> Vec<ObjectiveRow> {
        let mut rows = match self.figure {
            GateFigure::Slower => self.against_the_baseline(analysis),
            GateFigure::SlowerThanHistory => {
                vec![self.row("every arm", "every phase", Objective::Open, NO_HISTORY)]
            }
            GateFigure::Own(metric) => {
                let is_twin = |id: &str| analysis.arms.iter().any(|arm| arm.id == id && arm.is_aa);
                let own = analysis.results.iter().filter(|row| !is_twin(&row.arm));
                own.map(|row| self.own(metric, row, analysis)).collect()
            }
        };
        let of_all = |arm: &str, objective, what: &str| {
            self.row(arm, "every phase", objective, &format!("{arm}: {what}"))
        };
        rows.extend(analysis.unavailable.iter().map(|lost| {
            if lost.unasked {
                of_all(&lost.adapter, Objective::Skipped, &lost.reason)
            } else {
                of_all(&lost.adapter, Objective::Broken, NOTHING)
            }
        }));
        if rows.iter().all(|row| row.objective == Objective::Skipped) {
            let what = if self.compares() { "nothing was compared" } else { NOTHING };
            let base = analysis.arms.first().map_or("every arm", |arm| arm.id.as_str());
            rows.push(of_all(base, Objective::Broken, what));
        }
        rows
    }

    /// How many comparisons have a direction that may be beyond the limit: more rounds may decide.
    pub fn undecided(&self, analysis: &Analysis) -> usize {
        let has_direction = |row: &&ComparisonRow| {
            row.low_percent.is_some_and(|it| it > 0.0)
                || row.high_percent.is_some_and(|it| it < 0.0)
        };
        let open = self.compared(analysis).filter(has_direction);
        open.filter(|row| self.of_comparison(analysis, row) == Objective::Open).count()
    }

    fn own(&self, metric: Metric, row: &ResultRow, analysis: &Analysis) -> ObjectiveRow {
        let value = row.values.judged(metric).or(row.get(metric));
        let measured = is_measured(analysis, &row.arm, &row.phase);
        let objective = match value {
            _ if sits_out(analysis, &row.arm, &row.phase) => Objective::Skipped,
            _ if !measured => Objective::Broken,
            None => Objective::Open,
            Some(value) if self.relation.holds(value, self.limit) => Objective::Kept,
            Some(_) => Objective::Broken,
        };
        let found = match value {
            _ if !measured => NOTHING.to_owned(),
            None => "too few samples".to_owned(),
            Some(value) => metric.unit().words(value),
        };
        let mut about = format!("{}, {}", row.arm, row.phase);
        if row.operation != row.phase {
            about = format!("{about}, {}", row.operation);
        }
        self.row(&row.arm, &row.phase, objective, &format!("{about}: {found}"))
    }

    fn against_the_baseline(&self, analysis: &Analysis) -> Vec<ObjectiveRow> {
        let row = |row: &ComparisonRow| {
            let found = format!("{}: {}", row.phase, row.sentence);
            self.row(&row.arm, &row.phase, self.of_comparison(analysis, row), &found)
        };
        self.compared(analysis).map(row).collect()
    }

    /// The comparisons that it is about.
    fn compared<'a>(&self, analysis: &'a Analysis) -> impl Iterator<Item = &'a ComparisonRow> {
        let compares = self.compares();
        let rows = analysis.comparisons.iter();
        rows.filter(move |row| compares && !row.is_aa && row.metric == Metric::Throughput)
    }

    /// Kept where the whole interval is, broken where none of it is. No result keeps nothing, but
    /// for an arm that cannot do the phase.
    fn of_comparison(&self, analysis: &Analysis, row: &ComparisonRow) -> Objective {
        let both = [row.baseline.as_str(), row.arm.as_str()];
        match (row.low_percent, row.high_percent) {
            _ if both.iter().any(|arm| sits_out(analysis, arm, &row.phase)) => Objective::Skipped,
            _ if !is_measured(analysis, &row.arm, &row.phase) => Objective::Broken,
            _ if row.verdict == Verdict::NotComparable => Objective::Broken,
            (low, high) => {
                self.of_interval(low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY))
            }
        }
    }

    /// By an interval of the change, percent.
    pub(crate) fn of_interval(&self, low: f64, high: f64) -> Objective {
        match () {
            () if self.relation.holds(high, self.limit) => Objective::Kept,
            () if !self.relation.holds(low, self.limit) => Objective::Broken,
            () => Objective::Open,
        }
    }

    pub(crate) fn row(
        &self,
        arm: &str,
        phase: &str,
        objective: Objective,
        found: &str,
    ) -> ObjectiveRow {
        let word = match objective {
            Objective::Kept => "kept",
            Objective::Broken => "BROKEN",
            Objective::Open => "not shown either way",
            Objective::Skipped => "left out",
        };
        ObjectiveRow {
            gate: self.text.clone(),
            arm: arm.to_owned(),
            phase: phase.to_owned(),
            objective,
            sentence: format!("{}: {word}. {found}", self.text),
        }
    }
}

/// By all operations of the phase: a mix may draw one of them never.
fn is_measured(analysis: &Analysis, arm: &str, phase: &str) -> bool {
    let mut own = analysis.results.iter().filter(|row| row.arm == arm && row.phase == phase);
    own.any(|row| row.values.count(Metric::Operations) > 0)
}

/// An arm that cannot do a phase breaks no gate.
fn sits_out(analysis: &Analysis, arm: &str, phase: &str) -> bool {
    analysis.arms.iter().any(|it| it.id == arm && it.not_measured.contains_key(phase))
}
