//! The command line: clap structs only.

mod behaviour;
mod check;
mod details_flag;
mod history_flag;
mod history_flags;
mod limit_flags;
mod live_flag;
mod machine_flags;
mod order_flag;
mod progress_flag;
mod read;
mod registry;
mod run;
mod study_flags;
mod uri;
mod workloads;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

use absorber::handshake::WireVersions;
use base::clock::Epoch;
use base::units::parse_bytes;
pub use behaviour::{BehaviourArgs, FaultArgs, LoadArgs};
pub use check::{CheckArgs, CleanArgs};
pub use details_flag::DetailsArgs;
pub use history_flag::HistoryFlag;
pub use history_flags::HistoryArgs;
use judge::analysis::types::Metric;
use record::records::GateUnclear;
pub use registry::{DriversArgs, EnvironmentsAction, EnvironmentsArgs, RegistryArgs};
use report::{Format, terminal};
pub use run::{RunArgs, pairs};
use run::{gate, gate_unclear};
pub use study_flags::{ResumeArgs, SchemaName, StudyArgs};
use tap::mark::MarkFields;
pub use workloads::{WorkloadsAction, WorkloadsArgs, WorkloadsCheckArgs};

const EXIT_CODES: &str = "\
Exit codes:
  0    ok
  1    a gate or check failed
  2    the command line is wrong
  3    the workload file is wrong
  4    the server cannot be reached or refuses
  5    this machine lacks something
  6    nothing could be compared
  125  it is not shown whether a gate is kept
  130  interrupted; what was finished is kept";

const TAP_HELP: &str = "\
The tap passes bytes on first and reads them afterwards. It never changes one. It works for a
standalone server or one mongos. The members of a replica set tell drivers their own addresses, and
drivers then go past the tap. Of an encrypted connection (TLS) it counts bytes, of compressed
messages their number. Files: tap.json (sums), exchanges.bin (80 bytes a command), tap.hlog.";

/// The dynamometer for MongoDB drivers and deployments.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

/// One file in `commands/` each.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Compare drivers on a workload
    Run(Box<RunArgs>),
    /// Find the version at which a driver became slower or faster
    Bisect(Box<BisectArgs>),
    /// Answer a question with its own experiments
    Study(Box<StudyArgs>),
    /// Continue an experiment that was interrupted by Ctrl-C, a full disk or a dead server
    Resume(ResumeArgs),
    /// Print the report of an experiment again
    Report(ReportArgs),
    /// Print two experiments side by side, without a verdict
    Diff(DiffArgs),
    /// Show experiments of the same request over time, and since when a figure is another
    History(HistoryArgs),
    /// Report where the time goes in an experiment or a sweep
    Diagnose(DiagnoseArgs),
    /// Test an adapter against the contract
    Check(CheckArgs),
    /// Drop the databases that killed experiments left on a server
    Clean(CleanArgs),
    /// List the built-in workloads, or print one
    Workloads(WorkloadsArgs),
    /// List the drivers, or the releases of one
    Drivers(DriversArgs),
    /// List, install or test adapters
    Adapters(AdaptersArgs),
    /// List the installed driver environments, or remove unused ones
    Environments(EnvironmentsArgs),
    /// List, install, start and stop MongoDB servers
    Server(ServerArgs),
    /// Run a proxy that times every command between an application and its server
    #[command(after_help = TAP_HELP)]
    Tap(TapArgs),
    /// Run an in-memory server with a known load and faults
    Absorber(AbsorberArgs),
    /// Print a JSON Schema
    Schema {
        /// Schema to print
        name: SchemaName,
    },
    /// Guard a mongod that mongodyno started: end it and remove its data when mongodyno ends
    #[command(hide = true)]
    GuardServer {
        /// Arguments of the guard
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// End the processes that the children of a killed mongodyno started
    #[command(hide = true)]
    GuardChildren {
        /// Process id of that mongodyno
        mark: String,
    },
}

#[derive(Debug, Args)]
#[command(
    mut_arg("drivers", |it| it.help("Versions of one driver: NAME@GOOD..BAD, or -d for each")),
    mut_arg("rounds", |it| it.help("Rounds of the first scan [default: 8]")),
    mut_arg("sweep", |it| it.hide(true)),
    mut_arg("gate", |it| it.hide(true)),
    mut_arg("gate_unclear", |it| it.hide(true)),
    mut_arg("history", |it| it.hide(true)),
    mut_arg("plan", |it| it.hide(true)),
    mut_arg("live", |it| it.hide(true))
)]
pub struct BisectArgs {
    // First: the headings of `run` hold for all flags below them.
    /// Figure whose step is searched for
    #[arg(long, value_parser = metrics(), default_value = Metric::Throughput.word())]
    pub metric: Metric,
    #[command(flatten)]
    pub run: RunArgs,
}

fn metrics() -> impl TypedValueParser<Value = Metric> {
    let parse = |word: String| Metric::named(&word);
    PossibleValuesParser::new(Metric::compared().map(|(metric, _)| metric.word()))
        .map(move |word| parse(word).expect("clap lets no other word through"))
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders of experiments or studies; several become one report
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// Format of the report
    #[arg(long, value_parser = formats(), default_value = terminal::FORMAT.name)]
    pub format: Format,
    #[command(flatten)]
    pub details: DetailsArgs,
    /// Gate to check as well, as `run` takes it (repeatable)
    #[arg(long, value_name = "GATE", value_parser = gate)]
    pub gate: Vec<String>,
    /// Outcome of a gate that is not shown to be kept or broken [default: that of `run`]
    #[arg(long, value_name = "COUNTS", value_parser = gate_unclear())]
    pub gate_unclear: Option<GateUnclear>,
    #[command(flatten)]
    pub history: HistoryFlag,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    let value = |format: Format| PossibleValue::new(format.name).help(format.about);
    PossibleValuesParser::new(report::FORMATS.map(value))
        .map(|name| Format::named(&name).expect("clap lets no other name through"))
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Experiment folder
    pub a: PathBuf,
    /// Experiment folder to compare with the first
    pub b: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DiagnoseArgs {
    /// Folder of an experiment, of a sweep or of several servers
    pub folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct AdaptersArgs {
    #[command(subcommand)]
    pub action: AdaptersAction,
    /// Folder of further adapters
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS", global = true)]
    pub adapters_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum AdaptersAction {
    /// List the adapters, and what each lacks on this machine
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Install the environment of an adapter and print its folder
    Install {
        /// Adapter, as `run -d` takes it
        adapter: String,
        #[command(flatten)]
        registry: RegistryArgs,
    },
    /// Run the tests of an adapter in its environment
    Test {
        /// Adapter, as `run -d` takes it
        adapter: String,
        #[command(flatten)]
        registry: RegistryArgs,
        /// Connection string of the server for the tests that need one
        #[arg(long, env = "MDYN_URI", hide_env_values = true)]
        uri: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct ServerArgs {
    #[command(subcommand)]
    pub action: ServerAction,
}

#[derive(Debug, Subcommand)]
pub enum ServerAction {
    /// List the MongoDB servers that mongodyno can install
    List,
    /// Download a server into the cache
    Install {
        /// Server to download: embedded or embedded@VERSION
        #[arg(default_value = "embedded")]
        server: String,
    },
    /// Start a server in the background
    Start {
        /// Server to start: embedded, embedded@VERSION, mongod (on PATH) or a path to mongod
        #[arg(default_value = "embedded")]
        server: String,
        /// Keep the data folder when the server stops
        #[arg(long)]
        keep_data: bool,
    },
    /// List the background servers
    Status,
    /// Stop one background server, or all of them
    Stop {
        /// Name of the server, as `status` prints it [default: all]
        name: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct TapArgs {
    /// Address that the proxy listens on, for the application
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:27018")]
    pub listen: String,
    /// Address of the server
    #[arg(long, value_name = "HOST:PORT")]
    pub to: String,
    #[arg(long, value_name = "LINK", help = tap::link::HELP)]
    pub link: Option<String>,
    #[arg(long, value_name = "FIELDS", help = tap::mark::HELP)]
    pub mark: Option<MarkFields>,
    /// Folder for the recording, new or empty [default: mongodyno-results/tap-ID]
    #[arg(long, value_name = "DIR", value_parser = run::new_path())]
    pub out: Option<PathBuf>,
    /// Number of listeners, each on a free port of 127.0.0.1
    #[arg(long, hide = true, conflicts_with_all = ["listen", "out"])]
    pub arms: Option<u16>,
    /// Zero of all times
    #[arg(long, hide = true, requires = "arms")]
    pub epoch_ns: Option<Epoch>,
}

#[derive(Debug, Args)]
pub struct AbsorberArgs {
    /// Address to listen on; port 0 picks a free one. Any address other than 127.0.0.1 is open to
    /// the network, without authentication
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:27017")]
    pub listen: SocketAddr,
    /// Wire versions to announce; the absorber understands all of them
    #[arg(
        long, value_name = "MIN..MAX", default_value = "0..17", value_parser = WireVersions::parse
    )]
    pub wire: WireVersions,
    /// Announce a replica set of this name with one member, so that drivers have transactions.
    /// Their writes are done at once, and an abort leaves them
    #[arg(long, value_name = "NAME", value_parser = replica_set_name)]
    pub replica_set: Option<String>,
    /// Memory for documents, indexes, cursors and messages; inserts beyond it fail
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_bytes)]
    pub memory: u64,
    #[command(flatten)]
    pub load: LoadArgs,
    /// Log every delayed answer to this file
    #[arg(long, value_name = "FILE", value_parser = run::new_path())]
    pub holds: Option<PathBuf>,
    #[command(flatten)]
    pub faults: FaultArgs,
}

/// A name that drivers can write into a connection string, which a connection string itself is not.
fn replica_set_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let fits = !text.is_empty() && text.chars().all(plain);
    fits.then(|| text.to_owned()).ok_or_else(|| "write letters, digits, -, _ and .".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_arguments_survive_being_passed_on() {
        let load = |words: &[String]| {
            let words =
                ["mongodyno", "absorber"].iter().map(ToString::to_string).chain(words.to_vec());
            match Cli::parse_from(words).verb {
                Verb::Absorber(args) => args.load,
                _ => panic!("absorber"),
            }
        };
        let words = ["--service-time=1.5ms", "--jitter=exp", "--stall=100ms/5s", "--workers=2"];
        let first = load(&words.map(str::to_owned));
        let passed_on = first.to_words();
        assert_eq!(passed_on.len(), words.len());
        assert_eq!(format!("{:?}", load(&passed_on)), format!("{first:?}"));
        assert!(LoadArgs::default().to_words().is_empty());
    }
}
