//! Loading many documents: one by one, all at once, in batches, by threads, to several hosts.
//!
//! A part holds the loads that are compared with one another: they share server and rounds.

mod analysis;
mod answer;
mod cliff;
mod finding;
mod hosts;
mod in_turn;
mod mongos;
mod parts;
mod picture;
mod spread;
mod tenths;
#[cfg(test)]
mod tests;
mod types;
mod view;

use std::io::Write;

pub use types::{BulkLoadAnalysis, Load};

use crate::definition::{Asked, Definition};
use crate::study::{Flag, Outcome, Study};
use crate::table::{cell, csv};
use base::error::Result;
use record::study_folder::StudyPart;
use report::drawing::Drawing;
use report::study::View;
use schemars::{Schema, schema_for};
use serde_json::{Value, to_value};

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

    fn schema(&self) -> Option<Schema> {
        Some(schema_for!(BulkLoadAnalysis))
    }

    fn analysis(&self, made: &Outcome<'_>) -> Value {
        to_value(analysis::analyse(made)).expect("analyses serialise")
    }

    fn view(&self, made: &Outcome<'_>) -> View {
        view::view(made, self.definition(), analysis::analyse(made))
    }

    fn drawings(&self, made: &Outcome<'_>, phase: &str) -> Result<Vec<Drawing>> {
        let loads = made.part(phase).map(analysis::loads).unwrap_or_default();
        let courses = loads.iter().filter_map(picture::course);
        Ok(picture::rates(phase, &loads).into_iter().chain(courses).collect())
    }

    /// A row a load and round.
    fn csv(&self, made: &Outcome<'_>, out: &mut dyn Write) -> Result<Vec<String>> {
        let head = ["part", "load", "driver", "round", "documents", "ms", "documents_per_s"];
        let of_load = |load: Load| {
            let rounds = (1_u32..).zip(load.rates).map(move |(round, rate)| {
                let took = rate.map(|rate| load.documents as f64 * 1e3 / rate);
                vec![
                    load.part.clone(),
                    load.phase.clone(),
                    load.arm.clone(),
                    round.to_string(),
                    load.documents.to_string(),
                    cell(took),
                    cell(rate),
                ]
            });
            rounds.collect::<Vec<_>>()
        };
        csv(out, &head, analysis::analyse(made).loads.into_iter().flat_map(of_load))
    }
}
