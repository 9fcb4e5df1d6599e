//! A study's report in one format.

use std::io::Write as _;

use crate::study::{Made, Study};
use base::error::{Error, Result};
use base::say;
use report::Options;
use report::drawing::Drawing;
use report::study::{self, Figure};

/// `format` is a name as `--format` takes it.
pub fn render(
    study: &dyn Study,
    made: &Made<'_>,
    format: &str,
    options: &Options,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let written = match format {
        "terminal" => study::terminal(&study.view(made), options, &mut out),
        "md" => study::markdown(&study.view(made), &mut out),
        "html" => {
            let mut view = study.view(made);
            for phase in &mut view.phases {
                let drawings = study.drawings(made, &phase.name)?;
                phase.figures = drawings.iter().map(Figure::of).collect();
            }
            study::render(&view, &mut out)
        }
        "json" => writeln!(out, "{:#}", study.analysis(made)),
        "csv" => {
            for missing in study.csv(made, &mut out)? {
                say!("warning: {missing}");
            }
            Ok(())
        }
        "svg" => writeln!(out, "{}", picture(study, made)?.svg()),
        _ => {
            return Err(Error::usage(
                "a study has no such format",
                "it has terminal, html, md, json, csv and svg",
            ));
        }
    };
    written.expect("writing to memory");
    Ok(out)
}

/// All pictures of a study as one; refused for a study without pictures.
fn picture(study: &dyn Study, made: &Made<'_>) -> Result<Drawing> {
    let mut all = Vec::new();
    for phase in &made.experiment.plan.phases {
        all.extend(study.drawings(made, &phase.name)?);
    }
    if all.is_empty() {
        return Err(Error::usage("there is no picture of it", "--format html is its page"));
    }
    Ok(Drawing::stacked(&all))
}
