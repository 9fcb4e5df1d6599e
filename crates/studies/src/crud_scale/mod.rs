//! What an operation costs as documents and threads grow: the measurements of 2010 again.

mod parts;
mod size_growth;
#[cfg(test)]
mod tests;
mod unwaited;

use crate::definition::{Asked, Definition};
use crate::frame::{Cells, EvidenceRow};
use crate::outcome::{Made, Outcome};
use crate::study::Study;
use base::error::Result;
use judge::analysis::rounds::Rounds;
use record::study_folder::StudyPart;
use workload::plan::Limit;

/// Two rates are the same where the interval of their ratio lies within this factor of 1.
const SAME: f64 = 1.1;
/// Level of an interval that decides.
const SURE: f64 = 0.9;

/// Which cost grows with the documents, and what do threads bring?
#[derive(Debug)]
pub struct CrudScaleStudy;

impl Study for CrudScaleStudy {
    fn name(&self) -> &'static str {
        "crud-scale"
    }

    fn definition(&self) -> Definition {
        Definition::read(include_str!("../../../../studies/crud-scale/study.toml"))
    }

    fn plan(&self, asked: &Asked) -> Result<Vec<StudyPart>> {
        let definition = self.definition();
        let (scale, size) = definition.scale(asked)?;
        Ok(parts::parts(&definition, asked, scale, size))
    }

    fn own_cells(&self, outcome: &Outcome<'_>, cells: &mut Cells) {
        for made in &outcome.made {
            push_documents(made, cells);
        }
        let mut originals = Cells::default();
        originals.add_originals(&self.definition().originals);
        size_growth::push(cells, &originals);
        size_growth::push_threads(cells, outcome.only().experiment.settings.seed);
        unwaited::push(outcome, cells);
    }

    fn own_rows(&self, id: &str, _: &Outcome<'_>, cells: &Cells) -> Vec<EvidenceRow> {
        if id == "scan-linear" { size_growth::linear_rows(cells) } else { unwaited::rows(cells) }
    }

    /// Says which runs do not count.
    fn own_notes(&self, outcome: &Outcome<'_>, notes: &mut Vec<String>) {
        // A search that misses is what that part asks about.
        for made in outcome.made.iter().filter(|made| made.part != unwaited::PART) {
            let rounds = Rounds::new(made.experiment, made.runs);
            let phases = &made.experiment.plan.phases;
            for arm in &made.experiment.arms {
                notes.extend(phases.iter().filter_map(|phase| {
                    let lost = rounds.losses(&arm.id, &phase.name);
                    let all = rounds.of(&arm.id, &phase.name).len();
                    let (part, operation, reason) = (made.part, &phase.name, lost.first()?);
                    let lost = lost.len();
                    Some(format!(
                        "{part}: {operation} does not count in {lost} of {all} rounds: {reason}."
                    ))
                }));
            }
        }
    }
}

/// By the plan: searches count in a round whose inserts do not.
fn push_documents(made: &Made<'_>, cells: &mut Cells) {
    let Some(first) = made.experiment.plan.phases.first() else { return };
    let Limit::Operations { count, .. } = first.limit else { return };
    for arm in &made.experiment.arms {
        let at = [made.part, &first.name, &arm.id, "documents"];
        cells.push_plain(at, "count", Some(count as f64));
    }
}
