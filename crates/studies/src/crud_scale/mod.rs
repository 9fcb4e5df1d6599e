//! What an operation costs as documents and threads grow: the measurements of 2010 again.
//!
//! [`cells`] are the parts, [`rates`] and [`analysis`] read them, [`findings`] holds them against
//! 2010.

mod analysis;
mod cells;
mod findings;
mod originals;
mod picture;
mod rates;
#[cfg(test)]
mod tests;
mod types;
mod view;

pub use analysis::analyse;
pub use cells::Series;
pub use types::{CrudScaleAnalysis, Growing, Rate, Scaling, Unwaited};

use std::io::Write;

use crate::definition::{Asked, Definition};
use crate::evidence::Evidence;
use crate::study::{Outcome, Study};
use crate::table::{cell, csv};
use base::error::Result;
use record::study_folder::StudyPart;
use report::drawing::Drawing;
use report::study::View;
use schemars::{Schema, schema_for};
use serde_json::{Value, to_value};

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
        Ok(cells::parts(&definition, asked, scale, size))
    }

    fn schema(&self) -> Option<Schema> {
        Some(schema_for!(CrudScaleAnalysis))
    }

    fn analysis(&self, made: &Outcome<'_>) -> Value {
        to_value(analyse(made)).expect("analyses serialise")
    }

    fn view(&self, made: &Outcome<'_>) -> View {
        let analysis = analyse(made);
        let common = made.view(self.definition());
        let mut warnings = common.warnings;
        warnings.extend(analysis.notes.iter().cloned());
        View {
            evidence: analysis.evidence.iter().map(Evidence::view).collect(),
            phases: view::phases(&analysis),
            warnings,
            ..common
        }
    }

    fn drawings(&self, made: &Outcome<'_>, phase: &str) -> Result<Vec<Drawing>> {
        let sized = view::SIZED.into_iter().find(|(_, name)| *name == phase);
        let draw = |(series, _)| picture::costs(&analysis::all_rates(made), series);
        Ok(sized.and_then(draw).into_iter().collect())
    }

    /// A row a part, driver and operation.
    fn csv(&self, made: &Outcome<'_>, out: &mut dyn Write) -> Result<Vec<String>> {
        let head = [
            "part",
            "driver",
            "operation",
            "documents",
            "threads",
            "rounds",
            "per_s",
            "low_per_s",
            "high_per_s",
            "per_thread_s",
            "per_s_2010",
        ];
        let row = |rate: Rate| {
            let per_s = rate.per_s.map(|it| it.median);
            let per_thread_s = rate.per_thread_s.map(|it| it.median.estimate);
            vec![
                rate.part,
                rate.arm,
                rate.operation,
                rate.documents.to_string(),
                rate.threads.to_string(),
                rate.per_s.map_or(0, |it| it.rounds).to_string(),
                cell(per_s.map(|it| it.estimate)),
                cell(per_s.map(|it| it.low)),
                cell(per_s.map(|it| it.high)),
                cell(per_thread_s),
                cell(rate.per_s_2010),
            ]
        };
        csv(out, &head, analysis::all_rates(made).into_iter().map(row))
    }
}
