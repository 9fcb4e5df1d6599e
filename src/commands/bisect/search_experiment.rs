//! An experiment of a search, and what it says of the search's versions.

use std::path::Path;

use base::error::{Error, Exit, Result};
use judge::analysis::since;
use judge::analysis::types::{AlsoRow, Analysis, ComparisonRow, Metric};
use record::folder::Folder;
use record::records::{Arm, Experiment};

pub struct SearchExperiment {
    folder: Folder,
    // On the heap: a future holds several.
    record: Box<Experiment>,
    pub analysis: Box<Analysis>,
}

/// A version with its arm.
pub struct Entry {
    pub at: usize,
    pub arm: Arm,
    /// ln(cost) by round.
    costs: Vec<Option<f64>>,
}

impl Entry {
    /// Name of the series that the version belongs to.
    pub fn label(&self) -> String {
        since::label(&self.arm.id)
    }

    pub fn is_measured(&self) -> bool {
        self.costs.iter().any(Option::is_some)
    }
}

impl SearchExperiment {
    pub fn open(path: &Path, analysis: Analysis) -> Result<Self> {
        let (folder, record) = Folder::open(path)?;
        Ok(Self { folder, record: Box::new(record), analysis: Box::new(analysis) })
    }

    pub fn first_phase(&self) -> Result<String> {
        let phase = self.analysis.phases.first().map(|phase| phase.phase.clone());
        phase.ok_or_else(|| nothing("no phase was measured"))
    }

    /// Comparison of the first two versions.
    pub fn comparison(&self, (phase, metric): (&str, Metric)) -> Result<ComparisonRow> {
        let mut rows = self.analysis.comparisons.iter().filter(|row| !row.is_aa);
        let row = rows.find(|row| row.phase == phase && row.metric == metric);
        row.cloned().ok_or_else(|| nothing("not all runs have this figure"))
    }

    /// Other changes between the first two versions.
    pub fn also(&self, (phase, metric): (&str, Metric)) -> Result<Vec<AlsoRow>> {
        judge::also(&self.folder, &self.record, phase, metric)
    }

    /// Entries of `asked`, by their places in `versions`, that have an arm.
    pub fn entries(
        &self,
        asked: &[usize],
        versions: &[String],
        (phase, metric): (&str, Metric),
    ) -> Result<Vec<Entry>> {
        let costs = judge::costs(&self.folder, &self.record, phase, metric)?;
        let costs = costs.ok_or_else(|| nothing("the phase has no such figure"))?;
        let arms = self.record.arms.iter().zip(costs);
        let own = arms.filter(|(arm, _)| !arm.is_aa && !arm.is_direct);
        let lost = &self.record.unavailable;
        let is_left = |at: &&usize| lost.iter().all(|it| it.adapter != versions[**at]);
        // Arms are in the order asked for. Their names may be other words.
        let left = asked.iter().filter(is_left).zip(own);
        Ok(left.map(|(at, (arm, costs))| Entry { at: *at, arm: arm.clone(), costs }).collect())
    }

    /// ln(cost) of good, middle and bad, by round; none where the middle was not measured.
    pub fn costs(
        &self,
        asked: [usize; 3],
        versions: &[String],
        figure: (&str, Metric),
    ) -> Result<Vec<[f64; 3]>> {
        let entries = self.entries(&asked, versions, figure)?;
        let of = |at: usize| {
            let own = entries.iter().find(|it| it.at == at && it.is_measured());
            own.map(|it| it.costs.as_slice())
        };
        let [Some(good), middle, Some(bad)] = asked.map(of) else {
            return Err(nothing("a version that was measured before could not be measured again"));
        };
        let rounds = good.iter().zip(middle.unwrap_or_default()).zip(bad);
        let whole =
            rounds.filter_map(|((good, middle), bad)| Some([(*good)?, (*middle)?, (*bad)?]));
        Ok(whole.collect())
    }
}

pub fn nothing(reason: &str) -> Error {
    Error::new(Exit::RunInvalid, reason, "see the reasons in the experiments' pages")
}
