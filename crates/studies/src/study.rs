//! The parts of every study: the plan of its experiment, and the reading of its folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io::Write;

use crate::definition::{Arm, Asked, Definition};
use base::error::{Error, Result};
use record::folder::Folder;
use record::records::{Experiment, Run};
use record::request::Request;
use record::words::Words;
use report::drawing::Drawing;
use report::study::View;
use schemars::Schema;
use serde_json::Value;
use workload::{Workload, builtin};

/// A question: the experiment that is made for it, and the reading of its folder.
pub trait Study: Debug + Sync {
    /// Its name in the record and on the command line.
    fn name(&self) -> &'static str;

    /// `studies/NAME/study.toml`.
    fn definition(&self) -> Definition;

    /// Options of the command line that no other study has.
    fn flags(&self) -> &'static [Flag] {
        &[]
    }

    /// Refuses a scale or parameters that make no experiment.
    fn plan(&self, asked: &Asked) -> Result<Plan>;

    /// Schema of [`Study::analysis`].
    fn schema(&self) -> Schema;

    /// The content of `--json`.
    fn analysis(&self, made: &Outcome<'_>) -> Value;

    /// For people. The pictures are drawn apart: they read every sample.
    fn view(&self, made: &Outcome<'_>) -> View;

    /// Of a phase of [`Study::view`], by its name.
    fn drawings(&self, made: &Outcome<'_>, phase: &str) -> Result<Vec<Drawing>>;

    /// Writes its table of figures; answers a sentence for each gap.
    fn csv(&self, made: &Outcome<'_>, out: &mut dyn Write) -> Result<Vec<String>>;

    /// A script that draws the picture of [`Study::csv`].
    fn gnuplot(&self) -> Option<&'static str> {
        None
    }
}

/// The plan of a study, of the parts that were asked for.
///
/// # Errors
/// As [`Study::plan`]; a part that there is not, a parameter that no part has.
pub fn planned(study: &dyn Study, asked: &Asked) -> Result<Plan> {
    match study.plan(asked)? {
        Plan::Parts(parts) => {
            let parts = chosen(parts, asked)?;
            let known = parts.iter().flat_map(Part::parameters);
            let known: BTreeSet<String> = known.collect();
            if let Some(name) = asked.sets.keys().find(|name| !known.contains(*name)) {
                return Err(Error::usage(
                    format!("--set {name}: no workload of these parts has this parameter"),
                    format!("it takes {}", known.into_iter().collect::<Vec<_>>().join(", ")),
                ));
            }
            Ok(Plan::Parts(parts))
        }
        one if asked.parts.is_empty() => Ok(one),
        Plan::One(_) => Err(Error::usage(
            format!("--parts: {} is one experiment", study.name()),
            "leave it out",
        )),
    }
}

/// Of these parts those that were asked for.
fn chosen(mut parts: Vec<Part>, asked: &Asked) -> Result<Vec<Part>> {
    let names: Vec<String> = parts.iter().map(|it| it.name.clone()).collect();
    if let Some(unknown) = asked.parts.iter().find(|it| !names.contains(it)) {
        let hint = format!("it has {}", names.join(", "));
        return Err(Error::usage(format!("--parts: there is no part {unknown}"), hint));
    }
    parts.retain(|it| asked.parts.is_empty() || asked.parts.contains(&it.name));
    Ok(parts)
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

/// The experiments of a study.
#[derive(Debug)]
pub enum Plan {
    /// One, in the study's folder, with options that `run` has not.
    One(Box<One>),
    /// Several, each as `run` makes it, in folders of their own.
    Parts(Vec<Part>),
}

impl Plan {
    /// The one experiment; None of several.
    pub fn one(self) -> Option<One> {
        match self {
            Self::One(one) => Some(*one),
            Self::Parts(_) => None,
        }
    }
}

/// A part of a study: an experiment that `run` could make as well.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its folder within the study's.
    pub name: String,
    /// Of a built-in workload, without a seed.
    pub request: Request,
    /// With an A/A arm and verdicts. Without, it is a table of figures and has all its rounds.
    pub compares: bool,
    /// Why it may be missing, on a machine that lacks a program; None: the study fails then.
    pub needs: Option<String>,
}

impl Part {
    /// A table of figures that cannot be missing. Parameters of the user that its workload has
    /// stand in the place of the study's `own`.
    pub(crate) fn new<'a>(
        name: &str,
        workload: &str,
        own: impl IntoIterator<Item = (&'a str, String)>,
        drivers: &[String],
        rounds: u32,
        asked: &Asked,
    ) -> Self {
        let known = builtin::parameters(workload);
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        let mut parameters: BTreeMap<String, String> = own.collect();
        let theirs = asked.sets.iter().filter(|(name, _)| known.contains(name));
        parameters.extend(theirs.map(|(name, value)| (name.clone(), value.clone())));
        let request = Request {
            workload: Words::new(workload),
            parameters,
            drivers: drivers.iter().map(Words::new).collect(),
            rounds: Some(rounds),
            ..Request::default()
        };
        Self { name: name.to_owned(), request, compares: false, needs: None }
    }

    /// With changes to its request.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Request)) -> Self {
        change(&mut self.request);
        self
    }

    /// Parameters of its workload.
    fn parameters(&self) -> Vec<String> {
        builtin::parameters(self.request.workload.given().expect("it is built in"))
    }
}

/// The one experiment of a study.
#[derive(Debug)]
pub struct One {
    pub workload: Workload,
    /// Its size, as a part of the original's.
    pub scale: f64,
    pub arms: Vec<Arm>,
    /// Rounds past the tap.
    pub rounds: u32,
    /// One more round, through the tap.
    pub tap: bool,
    /// Short windows, as `run --quick` has them.
    pub quick: bool,
    /// The reader of messages in phases with a consumer; None: the fastest.
    pub consumer: Option<String>,
}

/// A finished experiment, as far as a report may read it.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    /// Its part; empty for the one experiment of a study.
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
}

impl<'a> From<Made<'a>> for Outcome<'a> {
    fn from(only: Made<'a>) -> Self {
        let folder = only.folder.path().display().to_string();
        Self { made: vec![only], left_out: BTreeMap::new(), folder }
    }
}

impl<'a> Outcome<'a> {
    /// Of a study of one experiment.
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
pub(crate) fn words(part: &Part) -> String {
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
