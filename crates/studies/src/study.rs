//! The parts of every study: the plan of its experiments, and the reading of their folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io::Write;

use crate::definition::{Asked, Definition};
use crate::frame::{self, Cells, EvidenceRow, StudyAnswer};
use base::error::{Error, Result};
use record::folder::Folder;
use record::records::{Experiment, Run};
use record::request::Request;
use record::study_folder::StudyPart;
use record::words::Words;
use report::drawing::Drawing;
use report::study::View;
use schemars::Schema;
use serde_json::{Value, to_value};
use workload::builtin;

/// A question: the experiments that are made for it, and the reading of their folders.
pub trait Study: Debug + Sync {
    /// Its name in the record and on the command line.
    fn name(&self) -> &'static str;

    /// `studies/NAME/study.toml`.
    fn definition(&self) -> Definition;

    /// Options of the command line that no other study has.
    fn flags(&self) -> &'static [Flag] {
        &[]
    }

    /// Its experiments, in their order.
    ///
    /// # Errors
    /// A scale or parameters that make no experiment.
    fn plan(&self, asked: &Asked) -> Result<Vec<StudyPart>>;

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

    /// Whether it leaves disturbed rounds out by a rule of its own, and says so in its cells.
    fn judges_disturbed(&self) -> bool {
        false
    }

    /// Changes the notes on the parts.
    fn own_notes(&self, _: &Outcome<'_>, _: &mut Vec<String>) {}

    /// Schema of [`Study::analysis`] where it is not that of all studies, [`frame::StudyTable`].
    fn schema(&self) -> Option<Schema> {
        None
    }

    /// The content of `--json`.
    fn analysis(&self, made: &Outcome<'_>) -> Value {
        to_value(frame::analyse(self, made)).expect("analyses serialise")
    }

    /// For people. The pictures are drawn apart: they read every sample.
    fn view(&self, made: &Outcome<'_>) -> View {
        frame::view(self, made)
    }

    /// Pictures beside a table of [`Study::view`], by its name.
    fn drawings(&self, made: &Outcome<'_>, table: &str) -> Result<Vec<Drawing>> {
        Ok(frame::charts(self, made, table))
    }

    /// Writes its table of figures; returns a sentence for each gap.
    fn csv(&self, made: &Outcome<'_>, out: &mut dyn Write) -> Result<Vec<String>> {
        frame::cells_csv(&frame::analyse(self, made).cells, out)
    }

    /// A script that draws the picture of [`Study::csv`].
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
        figures_only: true,
        ..asked.request.clone()
    };
    StudyPart { name: name.to_owned(), request, needs: None }
}

/// An option with a value that one study alone has.
#[derive(Debug)]
pub struct Flag {
    /// Behind `--`.
    pub name: &'static str,
    /// Its value, for the help.
    pub value: &'static str,
    /// One line of the help.
    pub help: &'static str,
}

/// A finished experiment, as far as a report may read it.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    /// Its part; empty for the one experiment of a study by an earlier version.
    pub part: &'a str,
    pub folder: &'a Folder,
    pub experiment: &'a Experiment,
    pub runs: &'a [Run],
}

/// The experiments that a study has made.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// As its plan orders them.
    pub made: Vec<Made<'a>>,
    /// Reasons by part.
    pub left_out: BTreeMap<String, String>,
    /// How a user calls the study's folder.
    pub folder: String,
    /// Its size, as a part of the original's; None of a study by an earlier version.
    pub scale: Option<f64>,
}

impl<'a> From<Made<'a>> for Outcome<'a> {
    fn from(only: Made<'a>) -> Self {
        let folder = only.folder.path().display().to_string();
        Self { made: vec![only], left_out: BTreeMap::new(), folder, scale: None }
    }
}

impl<'a> Outcome<'a> {
    /// The first, and of some studies the only one.
    pub fn only(&self) -> &Made<'a> {
        &self.made[0]
    }

    pub fn part(&self, name: &str) -> Option<&Made<'a>> {
        self.made.iter().find(|made| made.part == name)
    }

    /// Options that the names of all arms have.
    pub(crate) fn shared_options(&self) -> Option<String> {
        let arms = self.made.iter().flat_map(|it| &it.experiment.arms);
        let names = arms.filter(|it| !it.is_aa && !it.is_direct).map(|it| it.id.as_str());
        shared_options(&names.collect::<Vec<_>>())
    }

    /// By the definition and the records alone. Machine, server and arms are those of the first
    /// part: a study has one of each, and its own tables say where a part differs.
    pub(crate) fn view(&self, definition: Definition) -> View {
        let first = self.only();
        let mut view = View {
            title: definition.title,
            question: definition.question,
            notes: definition.reading,
            ..View::of(first.experiment, first.runs, &self.folder)
        };
        let others = self.made[1..].iter().flat_map(|it| &it.experiment.unavailable);
        for it in others {
            let missing = [it.adapter.clone(), it.reason.clone(), it.hint.clone()];
            if !view.unavailable.contains(&missing) {
                view.unavailable.push(missing);
            }
        }
        let words = |(part, reason): (&String, &String)| format!("{part} is left out: {reason}.");
        view.warnings.extend(self.left_out.iter().map(words));
        view
    }
}

/// `/from=folder/runtime=mono`, where two names or more have these beside each other; None where
/// they share no option.
fn shared_options(names: &[&str]) -> Option<String> {
    let first = names.first()?;
    let options = first[first.find('/')?..].split_inclusive('/').skip(1);
    let each = options.map(|it| format!("/{}", it.trim_end_matches('/')));
    let has = |name: &str, option: &str| format!("{name}/").contains(&format!("{option}/"));
    let shared: String = each.filter(|it| names.iter().all(|name| has(name, it))).collect();
    let beside = names.len() > 1 && names.iter().all(|name| has(name, &shared));
    (beside && !shared.is_empty()).then_some(shared)
}

/// The request of a part as a command line.
#[cfg(test)]
pub(crate) fn words(part: &StudyPart) -> String {
    part.request.words().expect("a study names nothing that has to be given again").join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_all_names_have_are_shared() {
        let of = ["a@1/x=1/y=2", "a@2/x=1/y=2", "a@2/api=old/x=1/y=2"];
        assert_eq!(shared_options(&of).as_deref(), Some("/x=1/y=2"));
        let within = ["a@1/x=1/y=2/w=0", "a@2/api=new/x=1/y=2/w=1", "a@3/x=1/y=2"];
        assert_eq!(shared_options(&within).as_deref(), Some("/x=1/y=2"));
        assert_eq!(shared_options(&of[..1]), None, "one arm has its whole name");
        assert_eq!(shared_options(&["a@1", "a@2/x=1"]), None);
        assert_eq!(shared_options(&["a@1/x=1", "a@2"]), None);
    }
}
