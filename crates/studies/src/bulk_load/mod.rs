//! Loading many documents: one by one, all at once, in batches, by threads, to several hosts.
//!
//! A part holds the loads that are compared with one another: they share server and rounds.

mod derived;
mod in_turn;
mod loads;
mod parts;
mod spread;
mod tenths;
#[cfg(test)]
mod tests;

use crate::definition::{Asked, Definition};
use crate::frame::{Cells, EvidenceRow};
use crate::outcome::Outcome;
use crate::study::{Flag, Study};
use base::error::Result;
use record::study_folder::StudyPart;

const HOSTS: &str = "hosts";

/// Which way to load is the fastest, and where does a load slow down?
#[derive(Debug)]
pub struct BulkLoadStudy;

impl Study for BulkLoadStudy {
    fn name(&self) -> &'static str {
        "bulk-load"
    }

    fn definition(&self) -> Definition {
        Definition::read(include_str!("../../../../studies/bulk-load/study.toml"))
    }

    fn flags(&self) -> &'static [Flag] {
        &[Flag {
            name: HOSTS,
            value: "HOST:PORT,...",
            help: "Servers that take the batches in turn [default: four that mongodyno starts]",
        }]
    }

    fn plan(&self, asked: &Asked) -> Result<Vec<StudyPart>> {
        parts::parts(&self.definition(), asked)
    }

    fn own_cells(&self, made: &Outcome<'_>, cells: &mut Cells) {
        for part in &made.made {
            loads::push(part, cells);
        }
        derived::push(cells);
        loads::push_same_server(made, cells);
    }

    fn own_rows(&self, id: &str, _: &Outcome<'_>, cells: &Cells) -> Vec<EvidenceRow> {
        let questions = self.definition().questions;
        let question = questions.iter().find(|question| question.id == id);
        question.map(|question| derived::falls(question, cells)).unwrap_or_default()
    }
}
