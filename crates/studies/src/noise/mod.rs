//! Two copies of every driver: which differences this machine can show, and how soon.
//!
//! One experiment doubles each arm. Rejected: an experiment for each driver. All copies share the
//! rounds, and a disturbed round disturbs all of them.

mod copies;
mod scatter;
#[cfg(test)]
mod tests;

use crate::definition::{Asked, Definition};
use crate::frame::{Cells, EvidenceRow, StudyAnswer};
use crate::outcome::Outcome;
use crate::study::{Study, part};
use base::error::Result;
use copies::{ALL, Disturbed};
use record::study_folder::StudyPart;
use stats::looks::LookPlan;

/// The one part.
const COPIES: &str = "copies";
/// Seconds of each phase. Its forty turns take two, and as many again where the round is not
/// precise by then. With the three of `run`, six rounds would take more than ten minutes.
const PHASE_S: f64 = 1.0;

/// Which differences are told apart?
#[derive(Debug)]
pub struct NoiseStudy;

impl Study for NoiseStudy {
    fn name(&self) -> &'static str {
        "noise"
    }

    fn definition(&self) -> Definition {
        Definition::read(include_str!("../../../../studies/noise/study.toml"))
    }

    fn plan(&self, asked: &Asked) -> Result<Vec<StudyPart>> {
        let definition = self.definition();
        let (_, size) = definition.scale(asked)?;
        let mut drivers: Vec<String> = Vec::new();
        for driver in definition.drivers(asked) {
            // A user may have named both copies.
            if !drivers.contains(&driver) {
                drivers.extend([driver.clone(), driver]);
            }
        }
        let rounds = definition.rounds(asked, size);
        let part = part(COPIES, &definition.workload, [], &drivers, rounds, asked);
        Ok(vec![part.with(|request| {
            request.phases = definition.phases;
            request.measured_s = Some(PHASE_S);
            request.quick = asked.request.quick;
        })])
    }

    fn judges_disturbed(&self) -> bool {
        true
    }

    fn own_cells(&self, made: &Outcome<'_>, cells: &mut Cells) {
        for made in &made.made {
            copies::push(made, cells);
        }
    }

    /// One thing to do.
    fn own_rows(&self, _: &str, made: &Outcome<'_>, cells: &Cells) -> Vec<EvidenceRow> {
        let disturbed = cells.all.iter().find(|cell| cell.metric == "disturbed_rounds");
        let row = |cell| EvidenceRow {
            value: None,
            ..EvidenceRow::of(cell, StudyAnswer::Yes, hint(made, cells))
        };
        disturbed.map(row).into_iter().collect()
    }
}

fn hint(made: &Outcome<'_>, cells: &Cells) -> String {
    let (experiment, runs) = (made.only().experiment, made.only().runs);
    let disturbed = Disturbed::of(experiment, runs);
    if let Some(words) = disturbed.words.filter(|_| !disturbed.left_out) {
        return format!("Stop other programs here, or take a quieter machine: {words}");
    }
    if !experiment.settings.keep_awake {
        return "Leave --no-keep-awake away: cores that halt wake up late".to_owned();
    }
    let last = LookPlan::standard().looks().last().map_or(0, |look| look.rounds);
    let told = cells.all.iter().filter(|it| it.arm == ALL && it.metric == "rounds_for_3_percent");
    let most = told.filter_map(|it| Some(it.value?.median)).fold(0.0, f64::max);
    if most > f64::from(last) {
        return format!(
            "`run` stops after {last} rounds; for 3 % give it --rounds {most}, or take a machine \
             with cores to spare"
        );
    }
    "More rounds: to tell half the difference apart takes four times as many".to_owned()
}
