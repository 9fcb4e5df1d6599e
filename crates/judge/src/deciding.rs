//! Whether an experiment needs more rounds.

use crate::analysis::across::pairs_short;
use crate::objectives::ObjectiveGate;
use crate::{AnalysisOutcome, analyse};
use base::error::Result;
use record::folder::Folder;
use record::records::Experiment;
use stats::looks::Deciding;

/// What decides whether more rounds are needed. Of an experiment on one of several servers, their
/// folders count as well.
pub fn deciding(folder: &Folder, experiment: &Experiment) -> Result<Deciding> {
    let AnalysisOutcome { analysis, compared } = analyse(folder, experiment)?;
    let gates =
        experiment.settings.conduct.gates.iter().filter_map(|text| ObjectiveGate::parse(text).ok());
    Ok(Deciding {
        comparisons: compared,
        gates_open: gates.map(|gate| gate.undecided(&analysis)).sum(),
        pairs_short: pairs_short(folder, analysis.rounds)?,
    })
}
