//! The parts of every study: the plan of its experiment, and the reading of its folder.

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
    fn analysis(&self, made: &Made<'_>) -> Value;

    /// For people. The pictures are drawn apart: they read every sample.
    fn view(&self, made: &Made<'_>) -> View;

    fn drawings(&self, made: &Made<'_>, phase: &str) -> Result<Vec<Drawing>>;

    /// Writes its table of figures; answers a sentence for each gap.
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

/// The experiment of a study.
#[derive(Debug)]
pub struct Plan {
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

/// The finished experiment, as far as a report may read it.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    pub folder: &'a Folder,
    pub experiment: &'a Experiment,
    pub runs: &'a [Run],
}

impl Made<'_> {
    /// By the definition and the records alone.
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
