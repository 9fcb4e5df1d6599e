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
use crate::study::{Outcome, Plan, Study};
use base::error::{Error, Result};
use cells::More;
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

    fn plan(&self, asked: &Asked) -> Result<Plan> {
        let definition = self.definition();
        let (scale, size) = definition.scale(asked)?;
        let arms = definition.arms(&asked.drivers);
        let drivers: Vec<String> = arms.into_iter().map(|arm| arm.driver).collect();
        let more = More { sets: &asked.sets, drivers: &drivers };
        let rounds = definition.rounds(asked, size);
        Ok(Plan::Parts(cells::parts(size, scale, asked.quick, rounds, &more)))
    }

    fn schema(&self) -> Schema {
        schema_for!(CrudScaleAnalysis)
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
        let mut table = ::csv::Writer::from_writer(out);
        let mut write = |line: &[String]| {
            let lost =
                |it: ::csv::Error| Error::environment(it.to_string(), "free some disk space");
            table.write_record(line).map_err(lost)
        };
        write(
            &[
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
            ]
            .map(str::to_owned),
        )?;
        let text = |it: Option<f64>| it.map_or(String::new(), |it| it.to_string());
        for rate in analysis::all_rates(made) {
            let per_s = rate.per_s.map(|it| it.median);
            let per_thread_s = rate.per_thread_s.map(|it| it.median.estimate);
            write(&[
                rate.part,
                rate.arm,
                rate.operation,
                rate.documents.to_string(),
                rate.threads.to_string(),
                rate.per_s.map_or(0, |it| it.rounds).to_string(),
                text(per_s.map(|it| it.estimate)),
                text(per_s.map(|it| it.low)),
                text(per_s.map(|it| it.high)),
                text(per_thread_s),
                text(rate.per_s_2010),
            ])?;
        }
        Ok(Vec::new())
    }
}
