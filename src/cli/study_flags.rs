//! Flags of `study` and `resume`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, ValueEnum};

use super::details_flag::DetailsArgs;
use super::history_flag::HistoryFlag;
use super::live_flag::LiveFlag;
use super::machine_flags::{MachineArgs, WaitArgs};
use super::order_flag::OrderArgs;
use super::progress_flag::ProgressArgs;
use super::registry::RegistryArgs;
use super::run::{new_path, pairs};
use super::uri::UriArgs;
use crate::ask::{Here, StudyAsk};
use base::units::parse_duration;
use record::records::Conduct;
use record::request::Request;
use record::words::Words;
use studies::{Asked, STUDIES, Study};

#[derive(Debug, Args)]
pub struct StudyArgs {
    /// Study to run [default: list the studies]
    #[command(subcommand)]
    pub study: Option<StudyVerb>,
}

/// `study NAME`: a subcommand for each study.
#[derive(Debug)]
pub struct StudyVerb {
    pub study: &'static dyn Study,
    pub common: StudyFlags,
    /// The study's own flags, by name.
    pub own: BTreeMap<&'static str, String>,
}

impl StudyVerb {
    /// # Errors
    /// A `--set` without its `=`.
    pub fn ask(self) -> base::error::Result<StudyAsk> {
        let flags = self.common;
        flags.progress.apply();
        let request = Request {
            parameters: pairs(&flags.set, "--set")?,
            drivers: flags.drivers.into_iter().map(Words::new).collect(),
            quick: flags.quick,
            rounds: flags.rounds,
            conduct: Conduct { order: Some(flags.order.order), ..Conduct::default() },
            seed: flags.seed,
            server: flags.server.map(Words::new),
            uri: flags.at.uri.map(Words::new),
            no_keep_awake: flags.machine.no_keep_awake,
            ..Request::default()
        };
        let here = Here {
            out: flags.out,
            adapters_dir: flags.adapters_dir,
            offline: flags.registry.offline,
            no_wait: flags.machine.wait.no_wait,
            plan: flags.plan,
            json: flags.json,
            details: flags.details.details,
            live: flags.live.live,
            ..Here::default()
        };
        let asked = Asked { scale: flags.scale, parts: flags.parts, flags: self.own, request };
        let (budget, eject) = (flags.budget, flags.eject);
        Ok(StudyAsk { study: self.study, asked, here, budget, eject })
    }
}

impl Subcommand for StudyVerb {
    fn augment_subcommands(command: Command) -> Command {
        STUDIES.into_iter().fold(command, |command, study| {
            let definition = study.definition();
            let (one, unit) = (format::count(definition.size), definition.unit);
            let scale = format!("Size: 1 is {one} {unit} [default: {}]", definition.scale);
            let quick = format!("Scale {}, short windows and warm-ups", definition.quick_scale);
            let server =
                format!("Server to start, as `run` takes it [default: {}]", definition.server);
            let own = study.flags().iter();
            let own =
                own.map(|it| Arg::new(it.name).long(it.name).value_name(it.value).help(it.help));
            command.subcommand(
                StudyFlags::augment_args(Command::new(study.name()))
                    .about(definition.about)
                    .args(own)
                    .mut_arg("scale", |arg| arg.help(scale))
                    .mut_arg("quick", |arg| arg.help(quick))
                    .mut_arg("server", |arg| arg.help(server)),
            )
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        studies::find(name).is_some()
    }
}

impl FromArgMatches for StudyVerb {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let named = matches.subcommand();
        let named = named.and_then(|(name, matches)| Some((studies::find(name)?, matches)));
        let (study, matches) = named.ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let value = |name| Some((name, matches.get_one::<String>(name)?.clone()));
        let own = study.flags().iter().filter_map(|flag| value(flag.name)).collect();
        Ok(Self { study, common: StudyFlags::from_arg_matches(matches)?, own })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// `schema`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaName {
    /// Workload files
    Workload,
    /// Messages between core and adapter
    Messages,
    /// experiment.json
    Experiment,
    /// A line of runs.jsonl
    Run,
    /// The JSON of `run --json` and `report --format json`
    Analysis,
    /// The same for several servers
    Servers,
    /// The same for a sweep
    Sweep,
    /// The JSON of a study
    Study,
}

/// Common to all studies. The help of some flags is the study's own.
#[derive(Debug, Args)]
pub struct StudyFlags {
    #[arg(long, value_name = "N")]
    pub scale: Option<f64>,
    #[arg(long, conflicts_with = "scale")]
    pub quick: bool,
    /// Driver, as `run -d` takes it (repeatable) [default: the study's own, else all that this
    /// machine can run]
    #[arg(short = 'd', long = "driver", value_name = "DRIVER")]
    pub drivers: Vec<String>,
    /// Rounds of each experiment [default: the study's own]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: Option<u32>,
    /// Run only these parts of the study; `--plan` lists them [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub parts: Vec<String>,
    /// Set a parameter of the workload (repeatable; `mongodyno workloads NAME` shows them)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Limit the time of the study: parts that do not fit are left out, and `resume` runs them
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub order: OrderArgs,
    /// Seed of all randomness [default: drawn and recorded]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Experiment folder, new or empty [default: mongodyno-results/ID]
    #[arg(long, value_name = "DIR", value_parser = new_path())]
    pub out: Option<PathBuf>,
    /// The server that runs already.
    #[command(flatten)]
    pub at: UriArgs,
    #[arg(long, conflicts_with_all = ["uri", "uri_file"])]
    pub server: Option<String>,
    #[command(flatten)]
    pub machine: MachineArgs,
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// Print the plan and stop
    #[arg(long)]
    pub plan: bool,
    /// Write the workloads and the commands to a folder, where you can change them, and stop
    #[arg(long, value_name = "PATH", value_parser = new_path())]
    pub eject: Option<PathBuf>,
    /// Print the result as JSON on stdout
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub details: DetailsArgs,
    #[command(flatten)]
    pub live: LiveFlag,
    #[command(flatten)]
    pub progress: ProgressArgs,
    /// Folder of further adapters
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS")]
    pub adapters_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub struct ResumeArgs {
    /// Experiment folder
    pub folder: PathBuf,
    /// The server that runs already.
    #[command(flatten)]
    pub at: UriArgs,
    /// Server to start, if it was a mongod of this machine; all servers, if there were several, as
    /// `run` takes them
    #[arg(long)]
    pub server: Option<String>,
    /// Servers, if the experiment had --hosts
    #[arg(
        long,
        value_name = "HOST:PORT,...",
        value_delimiter = ',',
        conflicts_with_all = ["uri", "uri_file"]
    )]
    pub hosts: Vec<String>,
    /// Workload file, if the workload was not built in
    #[arg(long, value_name = "FILE")]
    pub workload: Option<String>,
    /// Option of all drivers that `resume` does not take from the folder (repeatable)
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    /// Print the result as JSON on stdout
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub details: DetailsArgs,
    #[command(flatten)]
    pub live: LiveFlag,
    #[command(flatten)]
    pub progress: ProgressArgs,
    #[command(flatten)]
    pub history: HistoryFlag,
    /// Folder of further adapters
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS")]
    pub adapters_dir: Option<PathBuf>,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub registry: RegistryArgs,
}
