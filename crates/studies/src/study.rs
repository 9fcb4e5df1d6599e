//! What every study gives: the plan of its experiment, and how the folder is read.

use std::fmt::Debug;
use std::io::Write;

use crate::definition::{Arm, Asked, Definition};
use base::error::Result;
use record::folder::Folder;
use record::records::{Experiment, Run};
use report::drawing::Drawing;
use report::study::View;
use schemars::Schema;
use serde_json::Value;
use workload::Workload;

/// A question: the experiment that is made for it, and how its folder is read.
pub trait Study: Debug + Sync {
    /// Its name in the record and on the command line.
    fn name(&self) -> &'static str;

    /// `studies/NAME/study.toml`.
    fn definition(&self) -> Definition;

    /// Options of the command line that no other study has.
    fn flags(&self) -> &'static [Flag] {
        &[]
    }

    /// What is run.
    ///
    /// # Errors
    /// A scale or parameters that make no experiment.
    fn plan(&self, asked: &Asked) -> Result<Plan>;

    /// Schema of [`Study::analysis`].
    fn schema(&self) -> Schema;

    /// What it came to: `--json`.
    fn analysis(&self, made: &Made<'_>) -> Value;

    /// What it came to, for people; the pictures are drawn apart, since they read every sample.
    fn view(&self, made: &Made<'_>) -> View;

    /// The pictures of one phase.
    ///
    /// # Errors
    /// Files of the folder that cannot be read.
    fn drawings(&self, made: &Made<'_>, phase: &str) -> Result<Vec<Drawing>>;

    /// Writes its table of figures; answers what is missing there, a sentence each.
    ///
    /// # Errors
    /// Files of the folder that cannot be read.
    fn csv(&self, made: &Made<'_>, out: &mut dyn Write) -> Result<Vec<String>>;
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

/// What a study runs: one experiment.
#[derive(Debug)]
pub struct Plan {
    /// What is done.
    pub workload: Workload,
    /// Its size, as a part of the original's.
    pub scale: f64,
    /// Who takes part.
    pub arms: Vec<Arm>,
    /// Rounds past the tap.
    pub rounds: u32,
    /// One more round, through the tap.
    pub tap: bool,
    /// Short windows, as `run --quick` has them.
    pub quick: bool,
    /// Who reads the messages of phases that have a consumer; None: the fastest.
    pub consumer: Option<String>,
}

/// What was made of it: all that a report may read.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Made<'a> {
    pub folder: &'a Folder,
    pub experiment: &'a Experiment,
    pub runs: &'a [Run],
}

impl Made<'_> {
    /// What the definition and the records alone say.
    pub(crate) fn view(&self, definition: Definition) -> View {
        let folder = self.folder.path().display().to_string();
        View {
            title: definition.title,
            question: definition.question,
            notes: definition.reading,
            ..View::of(self.experiment, self.runs, &folder)
        }
    }
}
