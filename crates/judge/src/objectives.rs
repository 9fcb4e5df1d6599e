//! `--gate`: figures that an experiment has to keep, for continuous integration.
//!
//! The word of the code is objective: gates are the checks G1 to G9 of the methodology.

use base::units::{parse_bytes, parse_duration};

use crate::analysis::types::{Analysis, Metric, Objective, ObjectiveRow, ResultRow};

const WANTED: &str = "a gate such as 'p99 < 5ms', 'throughput >= 2000', 'errors <= 0' or \
    'slower <= 3%'";
const NOTHING: &str = "nothing was measured";

/// A gate as it was written, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    text: String,
    figure: Figure,
    relation: Relation,
    /// In us, operations a second, errors, or percent.
    limit: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Figure {
    /// Of each arm's own.
    Own(Metric),
    Errors,
    /// Of each arm against the baseline, by the interval of throughput.
    Slower,
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

impl Gate {
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
        let number = |value: &str| value.trim().parse().ok().filter(|it: &f64| it.is_finite());
        let metric = Metric::ALL.into_iter().find(|metric| metric.word() == name);
        let (figure, limit) = match (name, metric) {
            ("slower", _) => (Figure::Slower, value.strip_suffix('%').and_then(number)),
            ("errors", _) => (Figure::Errors, number(value)),
            (_, Some(Metric::Throughput)) => (Figure::Own(Metric::Throughput), number(value)),
            (_, Some(metric)) if metric.is_size() => {
                (Figure::Own(metric), parse_bytes(value).ok().map(|bytes| bytes as f64))
            }
            (_, Some(metric)) => {
                let time = parse_duration(value).ok().map(|time| time.as_secs_f64() * 1e6);
                (Figure::Own(metric), time)
            }
            (_, None) => return Err(wrong()),
        };
        let rising = matches!(relation, Relation::Above | Relation::AtLeast);
        if figure == Figure::Slower && rising {
            return Err(wrong());
        }
        Ok(Self { text: text.trim().to_owned(), figure, relation, limit: limit.ok_or_else(wrong)? })
    }

    /// A row for each arm and operation that it is about. Where nothing was measured nothing was
    /// kept.
    pub fn rows(&self, analysis: &Analysis) -> Vec<ObjectiveRow> {
        let mut rows = match self.figure {
            Figure::Slower => self.against_the_baseline(analysis),
            figure => {
                let is_twin = |id: &str| analysis.arms.iter().any(|arm| arm.id == id && arm.is_aa);
                let own = analysis.results.iter().filter(|row| !is_twin(&row.arm));
                own.map(|row| self.own(figure, row, analysis)).collect()
            }
        };
        let without = analysis.unavailable.iter().map(|it| &it.adapter);
        rows.extend(without.map(|arm| {
            self.row(arm, "every phase", Objective::Broken, &format!("{arm}: {NOTHING}"))
        }));
        rows
    }

    fn own(&self, figure: Figure, row: &ResultRow, analysis: &Analysis) -> ObjectiveRow {
        let value = match figure {
            Figure::Own(Metric::Throughput) => row.throughput,
            Figure::Own(Metric::P50) => row.response_p50_us.or(row.p50_us),
            Figure::Own(Metric::P90) => row.p90_us,
            Figure::Own(Metric::P99) => row.response_p99_us.or(row.p99_us),
            Figure::Own(Metric::P999) => row.p999_us,
            Figure::Own(Metric::CpuPerOp) => row.cpu_us_per_op,
            Figure::Own(Metric::BytesPerOp) => row.bytes_per_op,
            Figure::Own(Metric::RssPeak) => row.rss_peak_bytes.map(|bytes| bytes as f64),
            Figure::Errors | Figure::Slower => Some(row.errors as f64),
        };
        let measured = is_measured(analysis, &row.arm, &row.phase);
        let objective = match value {
            _ if !measured => Objective::Broken,
            None => Objective::Open,
            Some(value) if self.relation.holds(value, self.limit) => Objective::Kept,
            Some(_) => Objective::Broken,
        };
        let found = match (figure, value) {
            _ if !measured => NOTHING.to_owned(),
            (_, None) => "too few samples".to_owned(),
            (Figure::Own(Metric::Throughput), Some(value)) => {
                format!("{} ops/s", figures::figure(value))
            }
            (Figure::Own(metric), Some(value)) if metric.is_size() => {
                figures::bytes(value.round() as u64)
            }
            (Figure::Own(_), Some(value)) => figures::time(value),
            (_, Some(value)) => figures::figure(value),
        };
        let mut about = format!("{}, {}", row.arm, row.phase);
        if row.operation != row.phase {
            about = format!("{about}, {}", row.operation);
        }
        self.row(&row.arm, &row.phase, objective, &format!("{about}: {found}"))
    }

    /// Kept where the whole interval is, broken where none of it is.
    fn against_the_baseline(&self, analysis: &Analysis) -> Vec<ObjectiveRow> {
        let rows = analysis.comparisons.iter();
        let rows = rows.filter(|row| !row.is_aa && row.metric == Metric::Throughput);
        let row = |row: &crate::analysis::types::ComparisonRow| {
            let objective = match (row.low_percent, row.high_percent) {
                _ if !is_measured(analysis, &row.arm, &row.phase) => Objective::Broken,
                (_, Some(high)) if self.relation.holds(high, self.limit) => Objective::Kept,
                (Some(low), _) if !self.relation.holds(low, self.limit) => Objective::Broken,
                _ => Objective::Open,
            };
            self.row(&row.arm, &row.phase, objective, &format!("{}: {}", row.phase, row.sentence))
        };
        rows.map(row).collect()
    }

    fn row(&self, arm: &str, phase: &str, objective: Objective, found: &str) -> ObjectiveRow {
        let word = match objective {
            Objective::Kept => "kept",
            Objective::Broken => "BROKEN",
            Objective::Open => "not shown either way",
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

/// By all operations of the phase: a mix may draw one of them never. An arm that cannot do the
/// phase breaks nothing.
fn is_measured(analysis: &Analysis, arm: &str, phase: &str) -> bool {
    if analysis.arms.iter().any(|it| it.id == arm && it.not_measured.contains_key(phase)) {
        return true;
    }
    let mut own = analysis.results.iter().filter(|row| row.arm == arm && row.phase == phase);
    own.any(|row| row.operations > 0)
}
