//! A request, and how this invocation carries it out.

use std::path::PathBuf;
use std::time::Duration;

use record::request::Request;
use studies::{Asked, Study};

/// An experiment that is asked for here and now.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    pub request: Request,
    pub here: Here,
}

/// A study that is asked for here and now.
#[derive(Debug)]
pub struct StudyAsk {
    pub study: &'static dyn Study,
    pub asked: Asked,
    pub here: Here,
    /// Time for all of its parts.
    pub budget: Option<Duration>,
    /// Folder for its workloads and commands, in place of a run.
    pub eject: Option<PathBuf>,
}

/// What concerns this invocation alone: a record keeps none of it.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)] // flags of a command line are bools
pub struct Here {
    /// `--sweep`.
    pub sweep: Option<String>,
    /// Store that gates hold the experiment against.
    pub history: Option<PathBuf>,
    /// Experiment folder.
    pub out: Option<PathBuf>,
    /// Folder of further adapters.
    pub adapters_dir: Option<PathBuf>,
    /// Whether no registry is asked and nothing installed.
    pub offline: bool,
    /// Whether a busy machine gets no time to become quiet.
    pub no_wait: bool,
    /// Whether the plan is shown and nothing else done.
    pub plan: bool,
    /// Whether the result is printed as JSON.
    pub json: bool,
    /// Whether the whole report is printed, and not its summary alone.
    pub details: bool,
    /// Whether the page of the folder is served while it fills.
    pub live: bool,
}
