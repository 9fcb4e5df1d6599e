//! A study's report in one format.

use std::io::{self, Write as _};

use crate::study::{Outcome, Study};
use base::error::{Error, Result};
use base::say;
use report::Options;
use report::drawing::Drawing;
use report::study::{self, Figure, View};

type Render = fn(&dyn Study, &Outcome<'_>, &Options, &mut Vec<u8>) -> Result<io::Result<()>>;

/// A format that studies alone have: the script that draws their CSV.
pub const GNUPLOT: &str = "gnuplot";

/// The formats that studies have, by their names in `--format`.
const FORMATS: [(&str, Render); 7] = [
    ("terminal", |it, made, options, out| Ok(study::terminal(&view(it, made), options, out))),
    ("html", |it, made, _, out| {
        let mut view = view(it, made);
        for phase in &mut view.phases {
            let drawings = it.drawings(made, &phase.name)?;
            phase.figures = drawings.iter().map(Figure::of).collect();
        }
        Ok(study::render(&view, out))
    }),
    ("md", |it, made, _, out| Ok(study::markdown(&view(it, made), out))),
    ("json", |it, made, _, out| Ok(writeln!(out, "{:#}", it.analysis(made)))),
    ("csv", |it, made, _, out| {
        for missing in it.csv(made, out)? {
            say!("warning: {missing}");
        }
        Ok(Ok(()))
    }),
    (GNUPLOT, |it, _, _, out| {
        let script = it.gnuplot().ok_or_else(|| {
            Error::usage("there is no gnuplot script of it", "--format csv has its figures")
        })?;
        Ok(out.write_all(script.as_bytes()))
    }),
    ("svg", |it, made, _, out| Ok(writeln!(out, "{}", picture(it, made)?.svg()))),
];

/// `format` is a name as `--format` takes it.
pub fn render(
    study: &dyn Study,
    made: &Outcome<'_>,
    format: &str,
    options: &Options,
) -> Result<Vec<u8>> {
    let Some((_, render)) = FORMATS.iter().find(|(name, _)| *name == format) else {
        return Err(Error::usage(
            "a study has no such format",
            format!("it has {}", FORMATS.map(|(name, _)| name).join(", ")),
        ));
    };
    let mut out = Vec::new();
    render(study, made, options, &mut out)?.expect("writing to memory");
    Ok(out)
}

/// Without columns that say nothing, and without an option that every arm has.
fn view(study: &dyn Study, made: &Outcome<'_>) -> View {
    let mut view = study.view(made);
    view.phases.iter_mut().for_each(|phase| phase.table.drop_empty());
    if let Some(options) = made.shared_options() {
        view.leave_out(&options);
    }
    view
}

/// All pictures of a study as one; refused for a study without pictures.
fn picture(study: &dyn Study, made: &Outcome<'_>) -> Result<Drawing> {
    let mut all = Vec::new();
    for phase in &study.view(made).phases {
        all.extend(study.drawings(made, &phase.name)?);
    }
    if all.is_empty() {
        return Err(Error::usage("there is no picture of it", "--format html is its page"));
    }
    Ok(Drawing::stacked(&all))
}
