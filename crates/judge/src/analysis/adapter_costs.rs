//! Costs of the adapters that no gate voids: late timers, and the making of documents.

use crate::analysis::rounds::Rounds;
use crate::analysis::types::Metric;
use format::time;
use record::records::PhaseRun;
use stats::comparison::Comparison;
use stats::descriptive::median;
use stats::verdict::Verdict;
use workload::plan::{Count, Phase};

/// A verdict that timers took back begins so.
pub const NOT_JUDGED: &str = "INCONCLUSIVE: not judged";

/// The same quantile of two arms in a phase of an open loop.
pub struct Timed<'a> {
    pub rounds: &'a Rounds<'a>,
    pub phase: &'a Phase,
    /// Baseline and arm.
    pub arms: [&'a str; 2],
}

impl Timed<'_> {
    fn each(&self, value: impl Fn(&PhaseRun) -> Option<f64>) -> Option<[f64; 2]> {
        let of = |arm: &str| {
            let runs = self.rounds.of(arm, &self.phase.name);
            median(&runs.into_iter().flatten().filter_map(&value).collect::<Vec<_>>())
        };
        Some([of(self.arms[0])?, of(self.arms[1])?])
    }

    /// Takes back a verdict on response times that would be one on timers. These differ by more
    /// than the response times do, and by more than the threshold.
    pub fn holds_back(
        &self,
        found: &mut Comparison,
        metric: Metric,
        value: impl Fn(&PhaseRun) -> Option<f64>,
    ) -> bool {
        if found.verdict == Verdict::NotComparable {
            return false;
        }
        let late = |run: &PhaseRun| metric.quantile(&run.open_loop.as_ref()?.own_lag?);
        let us = |run: &PhaseRun| Some(value(run)? / 1e3);
        let (Some(late), Some(values)) = (self.each(late), self.each(us)) else { return false };
        let (timers, arms) = ((late[1] - late[0]).abs(), (values[1] - values[0]).abs());
        let is_theirs = timers > arms && timers > values[0] * found.threshold_percent / 100.0;
        if is_theirs {
            found.verdict = Verdict::Inconclusive;
            found.direction_only = false;
            found.sentence = format!(
                "{NOT_JUDGED}: the arms' timers differ by {} ({}), more than \
                 the arms ({}).",
                time(timers),
                metric.word(),
                time(arms)
            );
        }
        is_theirs
    }

    /// Making documents costs throughput and no service time. Says so where the arms' difference is
    /// more than half of the threshold.
    pub fn making(&self, threshold_percent: f64) -> Option<String> {
        let count = self.phase.operations.iter().find(|it| it.documents.is_some())?.count;
        let batch = f64::from(count.map_or(1, Count::most));
        let making = self.each(|run| run.document_ns)?.map(|ns| ns / 1e3);
        let workers = f64::from(self.phase.workers * self.phase.processes);
        let [whole, _] = self.each(|run| Some(workers * 1e6 / run.throughput))?;
        let percent = 100.0 * batch * (making[1] - making[0]) / whole;
        (percent.abs() > threshold_percent / 2.0).then(|| {
            let change = format::signed(percent, 1);
            format!(
                "{} makes a document in {}, {} in {}: {change} % of the time of an \
                 operation, which throughput has and service times have not",
                self.arms[1],
                time(making[1]),
                self.arms[0],
                time(making[0]),
            )
        })
    }
}
