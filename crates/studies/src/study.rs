//! The parts of every study: the plan of its experiments, and the reading of their folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io::Write;

use crate::definition::{Asked, Definition};
use crate::frame::{Cells, EvidenceRow, StudyAnswer};
use crate::outcome::Outcome;
use base::error::{Error, Result};
use record::records::Conduct;
use record::request::Request;
use record::study_folder::StudyPart;
use record::words::Words;
use report::drawing::Drawing;
use report::study::View;
use workload::builtin;

/// A question: the experiments that are made for it, and the reading of their folders.
pub trait Study: Debug + Sync {
    /// The study's name in the record and on the command line.
    fn name(&self) -> &'static str;

    /// `studies/NAME/study.toml`.
    fn definition(&self) -> Definition;

    /// Options of the command line that no other study has.
    fn flags(&self) -> &'static [Flag] {
        &[]
    }

    /// The study's experiments, in their order.
    ///
    /// # Errors
    /// A scale or parameters that make no experiment.
    fn plan(&self, asked: &Asked) -> Result<Vec<StudyPart>>;

    /// Whether a question is one of these parts, of which another answers another one.
    fn asks(&self, _id: &str, _parts: &[&StudyPart]) -> bool {
        true
    }

    /// Adds the cells that are the study's own to those of `study.toml`.
    fn own_cells(&self, _: &Outcome<'_>, _: &mut Cells) {}

    /// The rows of a question whose rule is the study's own.
    fn own_rows(&self, _id: &str, _: &Outcome<'_>, _: &Cells) -> Vec<EvidenceRow> {
        Vec::new()
    }

    /// The answer of a question's rows where no rule of `study.toml` settles them.
    fn own_answer(&self, _id: &str, _: &[EvidenceRow]) -> Option<StudyAnswer> {
        None
    }

    /// Whether the study itself leaves disturbed rounds out, and says so in its cells.
    fn judges_disturbed(&self) -> bool {
        false
    }

    /// Changes the notes on the parts.
    fn own_notes(&self, _: &Outcome<'_>, _: &mut Vec<String>) {}

    /// Changes what people see beside its tables and answers.
    fn own_view(&self, _: &Outcome<'_>, view: View) -> View {
        view
    }

    /// The pictures beside a table that are not charts of `study.toml`.
    ///
    /// # Errors
    /// Samples that cannot be read.
    fn own_drawings(&self, _: &Outcome<'_>, _table: &str) -> Result<Vec<Drawing>> {
        Ok(Vec::new())
    }

    /// Writes its figures where CSV is not the table of cells; returns a sentence for each gap.
    fn own_csv(&self, _: &Outcome<'_>, _: &mut dyn Write) -> Option<Result<Vec<String>>> {
        None
    }

    /// Files beside the page, as the original's program left them: names and contents.
    fn own_files(&self, _: &Cells) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// A script that draws the picture of the CSV.
    fn gnuplot(&self) -> Option<&'static str> {
        None
    }
}

/// The experiments of a study, of the parts that were asked for.
///
/// # Errors
/// As [`Study::plan`]; a part that there is not, a parameter that no part has.
pub fn planned(study: &dyn Study, asked: &Asked) -> Result<Vec<StudyPart>> {
    let mut parts = study.plan(asked)?;
    let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
    if let Some(unknown) = asked.parts.iter().find(|name| !names.contains(name)) {
        let hint = format!("it has {}", names.join(", "));
        return Err(Error::usage(format!("--parts: there is no part {unknown}"), hint));
    }
    parts.retain(|part| asked.parts.is_empty() || asked.parts.contains(&part.name));
    let known: BTreeSet<String> = parts.iter().flat_map(parameters).collect();
    if let Some(name) = asked.request.parameters.keys().find(|name| !known.contains(*name)) {
        return Err(Error::usage(
            format!("--set {name}: no workload of these parts has this parameter"),
            format!("it takes {}", known.into_iter().collect::<Vec<_>>().join(", ")),
        ));
    }
    let usual = study.definition().server;
    for StudyPart { request, .. } in &mut parts {
        if request.server.is_none() && request.uri.is_none() && request.hosts.is_empty() {
            request.server = Some(Words::new(&usual));
        }
    }
    Ok(parts)
}

/// Parameters of its workload.
fn parameters(part: &StudyPart) -> Vec<String> {
    builtin::parameters(part.request.workload.given().expect("it is built in"))
}

/// A part that only measures and cannot be missing. Parameters of the user that its workload has
/// replace the study's `own`.
pub(crate) fn part<'a>(
    name: &str,
    workload: &str,
    own: impl IntoIterator<Item = (&'a str, String)>,
    drivers: &[String],
    rounds: u32,
    asked: &Asked,
) -> StudyPart {
    let known = builtin::parameters(workload);
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
    let mut parameters: BTreeMap<String, String> = own.collect();
    let theirs = asked.request.parameters.iter().filter(|(name, _)| known.contains(name));
    parameters.extend(theirs.map(|(name, value)| (name.clone(), value.clone())));
    let request = Request {
        workload: Words::new(workload),
        parameters,
        drivers: drivers.iter().map(Words::new).collect(),
        rounds: Some(rounds),
        quick: false,
        conduct: Conduct { figures_only: true, ..asked.request.conduct.clone() },
        ..asked.request.clone()
    };
    StudyPart { name: name.to_owned(), request, needs: None }
}

/// An option with a value that one study alone has.
#[derive(Debug)]
pub struct Flag {
    /// Behind `--`.
    pub name: &'static str,
    /// The flag's value, for the help.
    pub value: &'static str,
    /// One line of the help.
    pub help: &'static str,
}

/// The request of a part as a command line.
#[cfg(test)]
pub(crate) fn words(part: &StudyPart) -> String {
    part.request.words().expect("a study names nothing that has to be given again").join(" ")
}
