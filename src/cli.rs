//! The command line: clap structs only.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

const EXIT_CODES: &str = "\
Exit codes:
  0    ok
  1    a gate or check failed
  2    the command line is wrong
  3    the workload file is wrong
  4    the server cannot be reached or refuses
  5    this machine lacks something
  6    nothing could be compared
  130  interrupted; what was finished is kept";

/// The dynamometer for MongoDB drivers and deployments.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// One file in `commands/` each.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Compare drivers on a workload
    Run(Box<RunArgs>),
    /// Show the results of an experiment again
    Report(ReportArgs),
    /// Say where the time goes, by the records of an experiment or a sweep
    Diagnose(DiagnoseArgs),
    /// Hold an adapter against the contract
    Check(CheckArgs),
    /// List the built-in workloads, or print one
    Workloads(WorkloadsArgs),
    /// List, install or test adapters
    Adapters(AdaptersArgs),
    /// List, install, start and stop MongoDB servers
    Server(ServerArgs),
    /// Print a JSON Schema: workload, messages, experiment, run, analysis
    Schema {
        /// Which one
        name: SchemaName,
    },
    /// Parent of a mongod we started: ends with us, ends it, removes its data
    #[command(hide = true)]
    GuardServer {
        /// Passed on
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// A deterministic adapter for tests
    #[command(hide = true)]
    FakeAdapter {
        /// Behaviour, `key=value`
        behaviour: Vec<String>,
    },
}

/// `run`
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // flags of a command line are bools
pub struct RunArgs {
    /// Workload: a built-in name or a path to a YAML file
    #[arg(default_value = "crud")]
    pub workload: String,
    /// Driver to compare, as ADAPTER[:PACKAGE][@VERSION][/KEY=VALUE]...; repeat it. The first one
    /// is the baseline. KEY is an option of the adapter or of connection strings (maxPoolSize)
    #[arg(short = 'd', long = "driver", value_name = "DRIVER")]
    pub drivers: Vec<String>,
    /// Driver option of every arm, as a standard URI option (maxPoolSize=10); repeat it
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    /// Set a parameter of the workload; repeat it
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Run once for each value of a parameter: threads=1,2,4
    #[arg(long, value_name = "NAME=V1,V2,…")]
    pub sweep: Option<String>,
    /// Only these phases; repeat it
    #[arg(long = "phase", value_name = "PHASE")]
    pub phases: Vec<String>,
    /// Six rounds, short windows, at most two phases, wide threshold: about two minutes
    #[arg(long)]
    pub quick: bool,
    /// Exactly so many rounds and one look, instead of looks at 10, 20 and 40
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "quick")]
    pub rounds: Option<u32>,
    /// How arms share the machine [default: turns where they fit]
    #[arg(long, value_enum)]
    pub interleave: Option<InterleaveArg>,
    /// Seed of everything random [default: drawn and recorded]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Experiment folder, new or empty [default: mongodyno-results/ID]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Server to measure against, by connection string
    #[arg(long, env = "MDYN_URI", hide_env_values = true, conflicts_with = "server")]
    pub uri: Option<String>,
    /// Server to start: embedded, embedded@VERSION, absorber, mongod (on PATH), a path to mongod,
    /// or none
    #[arg(long, default_value = "embedded")]
    pub server: String,
    /// Time every command on its way, and compare with the way past the tap
    #[arg(long)]
    pub tap: bool,
    /// Shape the way to the server: 100mbit,rtt=0.6ms or a preset (see `mongodyno tap --help`)
    #[arg(long, value_name = "LINK")]
    pub link: Option<String>,
    /// Keep the data folder of the server we start
    #[arg(long)]
    pub keep_data: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub plan: bool,
    /// Print the result as JSON on stdout
    #[arg(long)]
    pub json: bool,
    /// Further adapters: a folder of adapter folders
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS")]
    pub adapters_dir: Option<PathBuf>,
}

/// `--interleave`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InterleaveArg {
    /// Living processes take turns of some 50 ms
    Turns,
    /// Whole runs one after the other
    Runs,
}

/// `report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Experiment folder
    pub folder: PathBuf,
    /// Format
    #[arg(long, value_enum, default_value = "terminal")]
    pub format: FormatArg,
}

/// `--format`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Tables and sentences
    Terminal,
    /// One self-contained page
    Html,
    /// Markdown
    Md,
    /// JSON
    Json,
    /// One row a figure
    Csv,
    /// Go benchmark text, for benchstat
    Benchstat,
}

/// `diagnose`
#[derive(Debug, Args)]
pub struct DiagnoseArgs {
    /// Experiment folder, or the folder that `run --sweep --out` filled
    pub folder: PathBuf,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Adapter, as `run -d` takes it [default: every one this machine can run]
    #[arg(conflicts_with = "command")]
    pub adapter: Option<String>,
    /// Only what needs no server
    #[arg(long)]
    pub offline: bool,
    /// Server to check against, by connection string
    #[arg(long, env = "MDYN_URI", hide_env_values = true, conflicts_with = "server")]
    pub uri: Option<String>,
    /// Server to start
    #[arg(long, default_value = "embedded")]
    pub server: String,
    /// Further adapters: a folder of adapter folders
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS")]
    pub adapters_dir: Option<PathBuf>,
    /// Any program that speaks the contract
    #[arg(last = true)]
    pub command: Vec<String>,
}

/// `workloads`
#[derive(Debug, Args)]
pub struct WorkloadsArgs {
    /// Print this one
    pub name: Option<String>,
}

/// `adapters`
#[derive(Debug, Args)]
pub struct AdaptersArgs {
    /// What to do
    #[command(subcommand)]
    pub action: AdaptersAction,
    /// Further adapters: a folder of adapter folders
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS", global = true)]
    pub adapters_dir: Option<PathBuf>,
}

/// `adapters …`
#[derive(Debug, Subcommand)]
pub enum AdaptersAction {
    /// What is there, and whether this machine can run it
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Install an environment and print its folder
    Install {
        /// Adapter, as `run -d` takes it
        adapter: String,
    },
    /// Run an adapter's own tests in its environment
    Test {
        /// Adapter, as `run -d` takes it
        adapter: String,
    },
}

/// `server`
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// What to do
    #[command(subcommand)]
    pub action: ServerAction,
}

/// `server …`
#[derive(Debug, Subcommand)]
pub enum ServerAction {
    /// Servers of the catalogue
    List,
    /// Download a server into the cache
    Install {
        /// embedded or embedded@VERSION
        #[arg(default_value = "embedded")]
        server: String,
    },
    /// Start a server in the background
    Start {
        /// embedded, embedded@VERSION, mongod, or a path to mongod
        #[arg(default_value = "embedded")]
        server: String,
        /// Keep its data folder when it stops
        #[arg(long)]
        keep_data: bool,
    },
    /// Servers that run in the background
    Status,
    /// Stop a server of `status`, or all
    Stop {
        /// Its name in `status`
        name: Option<String>,
    },
}

/// `schema`
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaName {
    /// Workload files
    Workload,
    /// Messages of the contract
    Messages,
    /// experiment.json
    Experiment,
    /// A line of runs.jsonl
    Run,
    /// The JSON of `run --json` and `report --format json`
    Analysis,
}
