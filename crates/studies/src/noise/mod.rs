//! Two copies of every driver: which differences this machine can tell apart, and how soon.
//!
//! One experiment doubles each arm. Rejected: an experiment for each driver. All copies share the
//! rounds, and a disturbed round disturbs all of them.

mod analysis;
mod answer;
mod scatter;
#[cfg(test)]
mod tests;
mod types;

use std::io::Write;

pub use analysis::analyse;
pub use scatter::{Scatter, Told};
pub use types::{NoiseAnalysis, PhaseNoise, Row};

use crate::definition::{Asked, Definition};
use crate::evidence::Evidence;
use crate::study::{Outcome, Study, part};
use crate::table::csv;
use base::error::Result;
use format::{MISSING, change, figure};
use record::study_folder::StudyPart;
use report::drawing::Drawing;
use report::study::{Column, PhaseView, Table, TableRow, View};
use scatter::ASKED_PERCENT;
use schemars::{Schema, schema_for};
use serde_json::{Value, to_value};

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

    fn schema(&self) -> Option<Schema> {
        Some(schema_for!(NoiseAnalysis))
    }

    fn analysis(&self, made: &Outcome<'_>) -> Value {
        let made = made.only();
        to_value(analyse(made.experiment, made.runs)).expect("analyses serialise")
    }

    fn view(&self, made: &Outcome<'_>) -> View {
        let analysis = analyse(made.only().experiment, made.only().runs);
        View {
            evidence: analysis.evidence.iter().map(Evidence::view).collect(),
            phases: analysis.phases.iter().map(phase_view).collect(),
            warnings: analysis.notes,
            ..made.view(self.definition())
        }
    }

    fn drawings(&self, _: &Outcome<'_>, _: &str) -> Result<Vec<Drawing>> {
        Ok(Vec::new())
    }

    /// A row a driver and phase.
    fn csv(&self, made: &Outcome<'_>, out: &mut dyn Write) -> Result<Vec<String>> {
        let made = made.only();
        let analysis = analyse(made.experiment, made.runs);
        let told = ASKED_PERCENT.map(|percent| format!("rounds_for_{percent}_percent"));
        let head = ["phase", "driver", "rounds", "scatter_percent", "low_percent", "high_percent"];
        let named: Vec<&str> = head.into_iter().chain(told.iter().map(String::as_str)).collect();
        let mut lines = Vec::new();
        for phase in &analysis.phases {
            for row in &phase.rows {
                let mut line = vec![phase.phase.clone(), row.arm.clone(), row.rounds.to_string()];
                if let Some(scatter) = &row.scatter {
                    let percent = scatter.percent;
                    line.extend(
                        [percent.estimate, percent.low, percent.high].map(|it| it.to_string()),
                    );
                    line.extend(scatter.told.iter().map(|it| it.rounds.to_string()));
                }
                line.resize(head.len() + ASKED_PERCENT.len(), String::new());
                lines.push(line);
            }
        }
        csv(out, &named, lines)
    }
}

fn phase_view(phase: &PhaseNoise) -> PhaseView {
    let mut columns =
        vec![Column::figures("scatter", "%"), Column::words("95 % interval").page_only()];
    columns.extend(ASKED_PERCENT.map(|it| Column::figures(&format!("{it} %"), "rounds")));
    columns.extend([Column::figures("quick form", "%"), Column::words("second copy")]);
    let each = phase.rows.iter().map(|row| {
        let difference = row.difference_percent.map(|it| it.median);
        let difference =
            difference.and_then(|it| change(Some(it.estimate), Some(it.low), Some(it.high)));
        let difference = difference.unwrap_or_else(|| MISSING.to_owned());
        TableRow { arm: row.arm.clone(), cells: cells(row.scatter.as_ref(), difference) }
    });
    let all = cells(phase.all.as_ref(), String::new());
    let all = std::iter::once(TableRow { arm: "all".to_owned(), cells: all });
    PhaseView {
        name: phase.phase.clone(),
        about: "Two copies of each driver take turns in the same rounds.".to_owned(),
        table: Table {
            caption:
                "Scatter of two copies from round to round; rounds until differences of 3 and \
                      5 % are told apart; the least that the quick form tells apart; the \
                      extra time of the second copy, which is chance."
                    .to_owned(),
            columns,
            rows: each.chain(all).collect(),
        },
        figures: Vec::new(),
    }
}

fn cells(scatter: Option<&Scatter>, difference: String) -> Vec<String> {
    let Some(scatter) = scatter else {
        let missing = std::iter::repeat_n(MISSING.to_owned(), 3 + ASKED_PERCENT.len());
        return missing.chain([difference]).collect();
    };
    let percent = scatter.percent;
    let between = format!("{} to {} %", figure(percent.low), figure(percent.high));
    let mut cells = vec![figure(percent.estimate), between];
    cells.extend(scatter.told.iter().map(|it| it.rounds.to_string()));
    cells.extend([figure(scatter.quick_percent), difference]);
    cells
}
