//! The reports of the study of a capped collection as message broker: a page, pictures, and one
//! line a message.
//!
//! What is concluded comes from the study's analysis and is only placed here ([`View`]); pictures
//! are drawn from plain data ([`scatter`], [`parts`]), which [`rows`] and [`parts_rows`] read from
//! the folder, one run after the other.

mod cloud;
mod csv;
mod facts;
mod page;
mod parts;
mod picture;
mod rows;
mod terminal;
mod view;

pub use cloud::{Axes, Cloud, POINTS_MAX};
pub use csv::messages;
pub use facts::{arms, facts, lost, pacing};
pub use page::{Column, EvidenceView, Figure, PhaseView, Table, TableRow, View, render};
pub use parts::{PartsRow, parts, parts_rows};
pub use picture::{Content, Measured, Panel, Row, Since, scatter};
pub use rows::{rows, taking_part};
pub use terminal::terminal;
pub use view::view;

pub use crate::drawing::Drawing;
use base::error::Result;
use record::folder::Folder;
use record::records::{Experiment, Run};
use workload::plan::Pacing;

/// The pictures of one phase: the scatter; for pacings with intended starts the same since those;
/// where the time passed, if a round went through the tap.
///
/// # Errors
/// Sample files that are there and cannot be read.
pub fn figures(
    folder: &Folder,
    experiment: &Experiment,
    runs: &[Run],
    phase: &str,
) -> Result<Vec<Figure>> {
    drawings(folder, experiment, runs, phase)
        .map(|drawings| drawings.iter().map(Figure::of).collect())
}

/// All pictures of the study as one, for a file.
///
/// # Errors
/// Sample files that are there and cannot be read.
pub fn picture(folder: &Folder, experiment: &Experiment, runs: &[Run]) -> Result<Drawing> {
    let mut all = Vec::new();
    for phase in experiment.plan.phases.iter().filter(|phase| phase.consumer) {
        all.extend(drawings(folder, experiment, runs, &phase.name)?);
    }
    Ok(Drawing::stacked(&all))
}

fn drawings(
    folder: &Folder,
    experiment: &Experiment,
    runs: &[Run],
    phase: &str,
) -> Result<Vec<Drawing>> {
    let arms = taking_part(experiment, runs, phase);
    let pacing = experiment.plan.phases.iter().find(|it| it.name == phase).map(|it| &it.pacing);
    let open = matches!(pacing, Some(Pacing::Rate { .. } | Pacing::Burst {}));
    let mut drawings = Vec::new();
    for since in [Since::Made, Since::Intended].into_iter().take(if open { 2 } else { 1 }) {
        let rows = rows(folder, &arms, runs, phase, since)?;
        drawings.push(scatter(phase, since, &rows));
    }
    let rows = parts_rows(&arms, runs, phase);
    if !rows.is_empty() {
        drawings.push(parts(phase, &rows));
    }
    Ok(drawings)
}
