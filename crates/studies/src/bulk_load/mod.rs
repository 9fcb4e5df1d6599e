//! Loading many documents: one by one, all at once, in batches, by threads, to several hosts.
//!
//! A part holds the loads that are compared with one another: they share server and rounds.

mod analysis;
mod answer;
mod cliff;
mod parts;
mod tenths;
#[cfg(test)]
mod tests;
mod types;
mod view;

use std::io::Write;

pub use types::{BulkLoadAnalysis, Load};

use crate::definition::{Asked, Definition};
use crate::study::{Flag, Outcome, Plan, Study};
use base::error::{Error, Result};
use report::drawing::Drawing;
use report::study::View;
use schemars::{Schema, schema_for};
use serde_json::{Value, to_value};

const HOSTS: &str = "hosts";
const PARTS: &str = "parts";

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
        &[
            Flag {
                name: HOSTS,
                value: "HOST:PORT,...",
                help: "Servers that take the batches in turn [default: four of our own]",
            },
            Flag {
                name: PARTS,
                value: "NAME,...",
                help: "These parts alone, such as forms,threads [default: all]",
            },
        ]
    }

    fn plan(&self, asked: &Asked) -> Result<Plan> {
        parts::parts(&self.definition(), asked).map(Plan::Parts)
    }

    fn schema(&self) -> Schema {
        schema_for!(BulkLoadAnalysis)
    }

    fn analysis(&self, made: &Outcome<'_>) -> Value {
        to_value(analysis::analyse(made)).expect("analyses serialise")
    }

    fn view(&self, made: &Outcome<'_>) -> View {
        view::view(made, self.definition(), analysis::analyse(made))
    }

    fn drawings(&self, _: &Outcome<'_>, _: &str) -> Result<Vec<Drawing>> {
        Ok(Vec::new())
    }

    /// A row a load and round.
    fn csv(&self, made: &Outcome<'_>, out: &mut dyn Write) -> Result<Vec<String>> {
        let mut table = ::csv::Writer::from_writer(out);
        let lost = |it: ::csv::Error| Error::environment(it.to_string(), "free some disk space");
        let head = ["part", "load", "driver", "round", "documents", "ms", "documents_per_s"];
        table.write_record(head).map_err(lost)?;
        for load in analysis::analyse(made).loads {
            for (round, rate) in (1..).zip(&load.rates) {
                let took = rate.map(|rate| load.documents as f64 * 1e3 / rate);
                let figure = |it: Option<f64>| it.map_or(String::new(), |it| it.to_string());
                let line = [
                    load.part.clone(),
                    load.phase.clone(),
                    load.arm.clone(),
                    round.to_string(),
                    load.documents.to_string(),
                    figure(took),
                    figure(*rate),
                ];
                table.write_record(line).map_err(lost)?;
            }
        }
        Ok(Vec::new())
    }
}
