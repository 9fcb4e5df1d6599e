//! Flags of `study` and `resume`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::uri;
use crate::cli::{MachineArgs, WaitArgs};

/// `study`
#[derive(Debug, Args)]
pub struct StudyArgs {
    /// Question to answer
    #[command(subcommand)]
    pub study: StudyVerb,
}

/// `study …`
#[derive(Debug, Subcommand)]
pub enum StudyVerb {
    /// A capped collection as message broker: why does the latency of some drivers' messages grow?
    Broker(Box<BrokerArgs>),
}

/// `study broker`
#[derive(Debug, Args)]
pub struct BrokerArgs {
    /// Messages of each producer, phase and round, in units of 100,000 [default: 0.05]
    #[arg(long, value_name = "N")]
    pub scale: Option<f64>,
    /// A hundredth of the messages, and short warm-ups
    #[arg(long, conflicts_with = "scale")]
    pub quick: bool,
    /// Producer, as `run -d` takes it (repeatable) [default: those of 2014 beside today's]
    #[arg(short = 'd', long = "driver", value_name = "DRIVER")]
    pub drivers: Vec<String>,
    /// Driver that consumes the messages [default: the fastest]
    #[arg(long, value_name = "DRIVER")]
    pub consumer: Option<String>,
    /// Rounds of each producer before the one through the tap
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: Option<u32>,
    /// Set a parameter of the workload (repeatable; `mongodyno workloads broker` shows them)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Seed of all randomness [default: drawn and recorded]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Experiment folder, new or empty [default: mongodyno-results/ID]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Connection string of the server to measure against
    #[arg(long, env = "MDYN_URI", hide_env_values = true, conflicts_with = "server")]
    pub uri: Option<String>,
    /// File with the connection string: every user of the machine can read a command line
    #[arg(long, value_name = "FILE", value_parser = uri::of_file, conflicts_with_all = [
        "uri", "server",
    ])]
    pub uri_file: Option<String>,
    /// Server to start, as `run` takes it [default: embedded@4.4, which speaks with all drivers]
    #[arg(long)]
    pub server: Option<String>,
    /// The machine.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Write the workload to a file for your own changes, and stop
    #[arg(long, value_name = "FILE.yaml")]
    pub eject: Option<PathBuf>,
    /// Print the result as JSON on stdout
    #[arg(long)]
    pub json: bool,
    /// Folder of further adapters
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS")]
    pub adapters_dir: Option<PathBuf>,
}

/// `resume`
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Experiment folder
    pub folder: PathBuf,
    /// Connection string of the server, if the experiment used one
    #[arg(long, env = "MDYN_URI", hide_env_values = true)]
    pub uri: Option<String>,
    /// File with the connection string: every user of the machine can read a command line
    #[arg(long, value_name = "FILE", value_parser = uri::of_file, conflicts_with = "uri")]
    pub uri_file: Option<String>,
    /// Server to start, if it was a mongod of this machine: mongod (on PATH) or a path
    #[arg(long)]
    pub server: Option<String>,
    /// Workload, if it was a file
    #[arg(long, value_name = "FILE")]
    pub workload: Option<String>,
    /// Driver option of every arm that `resume` cannot take from the folder (repeatable)
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    /// Print the result as JSON on stdout
    #[arg(long)]
    pub json: bool,
    /// Folder of further adapters
    #[arg(long, value_name = "DIR", env = "MDYN_ADAPTERS")]
    pub adapters_dir: Option<PathBuf>,
    /// The machine.
    #[command(flatten)]
    pub wait: WaitArgs,
}
